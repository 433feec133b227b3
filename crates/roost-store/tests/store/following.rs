//! Cursors: complete, in order, woken only by what they watch.

use std::time::Duration;

use roost_store::{Collection, Compacted, Expect, Operation, Options, Store};

use crate::scene::{delete, nodes, open, open_tiny, pods, put};

/// Long enough that only a cursor that is never woken reaches it.
const FOREVER: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_and_watchers_at_once_leave_no_gap() {
    const WRITERS: usize = 8;
    const COMMITS: usize = 100;
    let directory = tempfile::tempdir().unwrap();
    for store in [Store::memory(Options::default()), open(directory.path())] {
        let mut watchers = Vec::new();
        for watcher in 0..8 {
            let mut cursor =
                if watcher % 2 == 0 { store.watch(&pods(), 1).unwrap() } else { store.watch_all(1).unwrap() };
            watchers.push(tokio::spawn(async move {
                let mut last = 1;
                let mut seen = 0;
                while seen < WRITERS * COMMITS {
                    for event in tokio::time::timeout(FOREVER, cursor.next()).await.unwrap().unwrap() {
                        assert!(event.revision > last);
                        last = event.revision;
                        seen += usize::from(event.collection == pods());
                    }
                }
                assert_eq!(seen, WRITERS * COMMITS);
            }));
        }
        let mut writers = Vec::new();
        for writer in 0..WRITERS {
            let store = store.clone();
            writers.push(tokio::spawn(async move {
                for number in 0..COMMITS {
                    let name = format!("{writer}/{}", number % 7);
                    store.commit(vec![put(&nodes(), &name, "n"), put(&pods(), &name, "p")]).await.unwrap();
                }
            }));
        }
        for task in writers {
            task.await.unwrap();
        }
        assert_eq!(store.revision(), 1 + 2 * (WRITERS * COMMITS) as u64);
        for task in watchers {
            task.await.unwrap();
        }
        assert_eq!(store.size().watched_collections, 0);
    }
}

#[tokio::test]
async fn a_write_wakes_only_those_who_watch_its_collection() {
    let store = Store::memory(Options::default());
    let mut other = store.watch(&nodes(), 1).unwrap();
    let mut sleeping = Box::pin(other.next());
    assert!(futures::poll!(&mut sleeping).is_pending());
    store.commit(vec![put(&pods(), "a", "1")]).await.unwrap();
    assert!(futures::poll!(&mut sleeping).is_pending());
    drop(sleeping);
    assert_eq!(other.position(), 2, "it has missed nothing, so it has moved on with the store");
    store.commit(vec![put(&nodes(), "n", "1")]).await.unwrap();
    assert_eq!(other.position(), 2);
    assert_eq!(other.next().await.unwrap()[0].revision, 3);
    assert_eq!(other.position(), 3);
}

#[tokio::test]
async fn a_quiet_cursor_survives_any_amount_of_foreign_history() {
    let options = Options { history_min_events: 4, history_max_bytes: 0, ..Options::default() };
    let store = Store::memory(options);
    let mut quiet = store.watch(&nodes(), 1).unwrap();
    let mut behind = store.watch(&pods(), 1).unwrap();
    for _ in 0..100 {
        store.commit(vec![put(&pods(), "a", "1")]).await.unwrap();
    }
    store.commit(vec![put(&nodes(), "n", "1")]).await.unwrap();
    assert_eq!(quiet.next().await.unwrap().len(), 1);
    assert!(matches!(behind.next().await, Err(Compacted { oldest: 98 })));
    assert!(store.watch(&pods(), 97).is_err());
    assert!(store.watch(&pods(), 98).is_ok());
}

#[tokio::test]
async fn long_histories_come_in_batches() {
    let store = Store::memory(Options::default());
    store.commit((0..1000).map(|number| put(&pods(), &number.to_string(), "")).collect()).await.unwrap();
    let mut cursor = store.watch(&pods(), 1).unwrap();
    let mut seen = 0;
    while seen < 1000 {
        let events = cursor.next().await.unwrap();
        assert!(events.len() <= 256);
        seen += events.len();
        assert_eq!(cursor.position(), 1 + seen as u64);
    }
    assert!(cursor.try_next().unwrap().is_empty());
}

#[tokio::test]
async fn events_tell_what_was_before() {
    let store = Store::memory(Options::default());
    store.commit(vec![put(&pods(), "a", "1")]).await.unwrap();
    store.commit(vec![put(&pods(), "a", "2"), delete(&pods(), "a"), put(&pods(), "a", "3")]).await.unwrap();
    let events = store.watch(&pods(), 1).unwrap().try_next().unwrap();
    let told: Vec<_> = events
        .iter()
        .map(|event| {
            let previous = event.previous.as_deref();
            (event.revision, event.created, event.previous_revision, event.value.as_deref(), previous)
        })
        .collect();
    let (one, two, three) = (Some(&b"1"[..]), Some(&b"2"[..]), Some(&b"3"[..]));
    assert_eq!(told, [(2, 2, 0, one, None), (3, 2, 2, two, one), (4, 2, 3, None, two), (5, 5, 0, three, None)]);
}

#[tokio::test]
async fn a_value_is_not_kept_alive_by_a_larger_buffer() {
    let store = Store::memory(Options::default());
    let body = bytes::Bytes::from(vec![b'x'; 1 << 20]);
    let mut write = put(&pods(), "a", "");
    write.operation = Operation::Put(body.slice(..10));
    store.commit(vec![write]).await.unwrap();
    assert!(body.is_unique());
}

#[tokio::test]
async fn history_goes_by_age_too() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { history_min_events: 0, history_age: Duration::from_millis(1), ..Options::default() };
    let store = open_tiny(directory.path(), options);
    let mut write = put(&pods(), "a", "1");
    write.expect = Expect::Absent;
    store.commit(vec![write]).await.unwrap();
    while store.size().oldest < 2 {
        tokio::time::sleep(Duration::from_millis(2)).await;
        store.commit(vec![put(&nodes(), "n", "1")]).await.unwrap();
    }
    assert!(matches!(store.watch(&pods(), 1), Err(Compacted { oldest: 2 })));
    assert!(store.watch(&pods(), 2).is_ok());
}

#[tokio::test]
async fn a_thousand_stores_are_cheap() {
    let begin = std::time::Instant::now();
    let stores: Vec<_> = (0..1000).map(|_| Store::memory(Options::default())).collect();
    assert!(begin.elapsed() < Duration::from_millis(100), "{:?}", begin.elapsed());
    let collection = Collection::new("t", "", "pods");
    assert!(stores.iter().all(|store| store.get(&collection, "a").is_none()));
}
