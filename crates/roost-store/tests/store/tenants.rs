//! Tenants share a store and nothing else.

use roost_store::{Collection, CommitError, Compacted, ListError, ListQuery, Options, Store};

use crate::scene::{contents, delete, open, put};

fn pods_of(tenant: &str) -> Collection {
    Collection::new(tenant, "", "pods")
}

#[tokio::test]
async fn a_dropped_tenant_is_gone_at_one_revision() {
    let directory = tempfile::tempdir().unwrap();
    for store in [Store::memory(Options::default()), open(directory.path())] {
        for tenant in ["one", "two"] {
            store.commit(vec![put(&pods_of(tenant), "a", "1")]).await.unwrap();
        }
        let across = vec![put(&pods_of("one"), "b", "1"), put(&pods_of("two"), "b", "1")];
        assert!(matches!(store.commit(across).await, Err(CommitError::Storage(_))));
        store.commit(vec![put(&Collection::new("one", "apps", "deployments"), "a", "1")]).await.unwrap();
        assert_eq!(store.tenants(), ["one", "two"]);
        assert_eq!(store.collections("one").len(), 2);
        let mut mine = store.watch(&pods_of("one"), 4).unwrap();
        let mut other = store.watch(&pods_of("two"), 4).unwrap();
        let mut all = store.watch_all(4).unwrap();

        store.drop_tenant("one").await.unwrap();
        assert_eq!(store.revision(), 5);
        assert_eq!(store.tenants(), ["two"]);
        assert_eq!(contents(&store, &pods_of("one")), []);
        assert_eq!(store.size().objects, 1);
        assert_eq!(store.state(&pods_of("one")).modified, 5);
        assert_eq!(mine.next().await.unwrap_err(), Compacted { oldest: 5 });
        assert!(other.try_next().unwrap().is_empty());
        let events = all.next().await.unwrap();
        assert!(events.len() == 1 && events[0].drops_tenant() && events[0].collection.tenant() == "one");

        store.drop_tenant("one").await.unwrap();
        store.drop_tenant("never was").await.unwrap();
        assert_eq!(store.revision(), 5);

        store.commit(vec![put(&pods_of("one"), "b", "1")]).await.unwrap();
        assert_eq!(mine.try_next().unwrap_err(), Compacted { oldest: 5 });
        let before = ListQuery { at: Some(4), ..ListQuery::default() };
        assert_eq!(store.list(&pods_of("one"), before), Err(ListError::Compacted(Compacted { oldest: 5 })));
        assert_eq!(store.watch(&pods_of("one"), 5).unwrap().try_next().unwrap().len(), 1);
        assert_eq!(contents(&store, &pods_of("one")), [("b".into(), "1".into())]);
    }
    let store = open(directory.path());
    assert_eq!(store.revision(), 6);
    assert_eq!(contents(&store, &pods_of("one")), [("b".into(), "1".into())]);
    assert_eq!(contents(&store, &pods_of("two")), [("a".into(), "1".into())]);
    assert!(store.watch(&pods_of("one"), 4).is_err());
}

#[tokio::test]
async fn a_snapshot_from_before_a_drop_still_replays() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    for number in 0..10 {
        store.commit(vec![put(&pods_of("one"), &number.to_string(), "1")]).await.unwrap();
    }
    store.commit(vec![crate::scene::delete(&pods_of("one"), "3")]).await.unwrap();
    store.drop_tenant("one").await.unwrap();
    store.commit(vec![put(&pods_of("one"), "3", "2")]).await.unwrap();
    store.compact(8).await.unwrap();
    let events = format!("{:?}", store.watch_all(8).unwrap().try_next().unwrap());
    drop(store);
    let store = open(directory.path());
    assert_eq!(format!("{:?}", store.watch_all(8).unwrap().try_next().unwrap()), events);
    assert_eq!(contents(&store, &pods_of("one")), [("3".into(), "2".into())]);
}

#[tokio::test]
async fn what_a_dropped_tenant_held_counts_as_history_and_goes_with_it() {
    let options = Options { history_min_events: 1, history_max_bytes: 10_000, ..Options::default() };
    let store = Store::memory(options);
    store.commit(vec![put(&pods_of("one"), "a", &"x".repeat(100_000))]).await.unwrap();
    store.drop_tenant("one").await.unwrap();
    assert!(store.size().memory_bytes > 100_000);
    store.commit(vec![put(&pods_of("two"), "a", "1")]).await.unwrap();
    assert!(store.size().memory_bytes < 10_000, "{:?}", store.size());
}

#[tokio::test]
async fn history_is_no_larger_than_the_objects_beside_it() {
    let options = Options { history_min_events: 1, history_least_bytes: 10_000, ..Options::default() };
    let store = Store::memory(options);
    store.commit(vec![put(&pods_of("one"), "large", &"x".repeat(100_000))]).await.unwrap();
    for _ in 0..4 {
        store.commit(vec![put(&pods_of("one"), "a", &"x".repeat(20_000))]).await.unwrap();
    }
    assert!(store.size().memory_bytes > 180_000, "beside the large object there is place for it: {:?}", store.size());
    store.commit(vec![delete(&pods_of("one"), "large"), delete(&pods_of("one"), "a")]).await.unwrap();
    store.commit(vec![put(&pods_of("one"), "b", "1")]).await.unwrap();
    assert!(store.size().memory_bytes < 20_000, "{:?}", store.size());
}
