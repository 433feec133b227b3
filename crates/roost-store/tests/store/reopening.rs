//! What comes back after a restart: everything, with its history.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use roost_store::{ListError, ListQuery, Options, Store};

use crate::scene::{contents, delete, nodes, open, open_tiny, pods, put};

fn segments(directory: &Path) -> usize {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_str().unwrap().starts_with("log-")).count()
}

#[tokio::test]
async fn a_watch_goes_on_from_before_the_restart() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    for number in 0..10 {
        store.commit(vec![put(&pods(), "a", &number.to_string())]).await.unwrap();
    }
    let before: Vec<_> = store.watch(&pods(), 4).unwrap().try_next().unwrap();
    drop(store);
    let store = open(directory.path());
    let mut cursor = store.watch(&pods(), 4).unwrap();
    let after = cursor.try_next().unwrap();
    assert_eq!(format!("{before:?}"), format!("{after:?}"));
    store.commit(vec![delete(&pods(), "a")]).await.unwrap();
    let deleted = &cursor.next().await.unwrap()[0];
    assert_eq!((deleted.revision, deleted.created, deleted.previous.as_deref()), (12, 2, Some(&b"9"[..])));
}

#[tokio::test]
async fn a_compacted_store_comes_back_with_the_history_after_the_mark() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::default();
    let store = open_tiny(directory.path(), options.clone());
    store.commit(vec![put(&nodes(), "n", "1")]).await.unwrap();
    for number in 0..50 {
        store.commit(vec![put(&pods(), &format!("a/{}", number % 5), &number.to_string())]).await.unwrap();
    }
    let before = segments(directory.path());
    store.compact(40).await.unwrap();
    assert!(segments(directory.path()) < before);
    let at_45 = |store: &Store| store.list(&pods(), ListQuery { at: Some(45), ..ListQuery::default() });
    let expected = at_45(&store).unwrap();
    drop(store);
    let store = open_tiny(directory.path(), options);
    assert_eq!(store.revision(), 52);
    assert_eq!(at_45(&store).unwrap(), expected);
    let too_old = store.list(&pods(), ListQuery { at: Some(39), ..ListQuery::default() });
    assert!(matches!(too_old, Err(ListError::Compacted(_))));
    assert!(store.watch(&pods(), 40).is_ok());
    assert!(store.watch(&nodes(), 2).is_ok(), "nothing of the nodes was lost since");
    assert_eq!(store.state(&nodes()).modified, 2);
    assert_eq!(contents(&store, &nodes()), [("n".into(), "1".into())]);
}

#[tokio::test]
async fn files_are_replaced_by_themselves() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { history_min_events: 10, history_max_bytes: 0, ..Options::default() };
    let store = open_tiny(directory.path(), options.clone());
    for number in 0..400 {
        store.commit(vec![put(&pods(), &format!("a/{}", number % 5), &"v".repeat(50))]).await.unwrap();
    }
    let tidy = async {
        while store.size().disk_bytes > 5000 {
            store.commit(vec![put(&pods(), "a/0", "v")]).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), tidy).await.unwrap();
    let expected = contents(&store, &pods());
    let revision = store.revision();
    drop(store);
    let store = open_tiny(directory.path(), options);
    assert_eq!((store.revision(), contents(&store, &pods())), (revision, expected));
}

#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("several/levels/deep");
    let store = open(&directory);
    store.commit(vec![put(&pods(), "secret", "1")]).await.unwrap();
    store.compact(2).await.unwrap();
    assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
    for entry in fs::read_dir(&directory).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.file_name());
    }
}

#[tokio::test]
async fn a_snapshot_does_not_stop_writes() {
    let directory = tempfile::tempdir().unwrap();
    let store = open_tiny(directory.path(), Options::default());
    for number in 0..200 {
        store.commit(vec![put(&pods(), &format!("a/{number}"), &"v".repeat(50))]).await.unwrap();
    }
    let (compacted, written) = tokio::join!(store.compact(150), store.commit(vec![put(&pods(), "b", "1")]));
    compacted.unwrap();
    assert_eq!(written.unwrap(), 202);
    let two = tokio::join!(store.compact(180), store.compact(190));
    assert!(two.0.is_ok() && two.1.is_ok());
    assert_eq!(store.size().oldest, 190);
    drop(store);
    assert_eq!(contents(&open(directory.path()), &pods()).len(), 201);
}

#[tokio::test]
async fn leftovers_of_an_interrupted_compaction_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let copy = tempfile::tempdir().unwrap();
    let store = open_tiny(directory.path(), Options::default());
    for number in 0..30 {
        store.commit(vec![put(&pods(), &format!("a/{number}"), &"v".repeat(50))]).await.unwrap();
    }
    store.compact(10).await.unwrap();
    for entry in fs::read_dir(directory.path()).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    store.compact(20).await.unwrap();
    drop(store);
    // As if the process had ended after the second snapshot got its name and before anything was deleted.
    for entry in fs::read_dir(copy.path()).unwrap() {
        let path = entry.unwrap().path();
        let target = directory.path().join(path.file_name().unwrap());
        if !target.exists() {
            fs::copy(&path, target).unwrap();
        }
    }
    fs::write(directory.path().join("snapshot-00000000000000000025.new"), "half").unwrap();
    fs::write(directory.path().join("log-00000000000000000099.new"), "half").unwrap();
    let before = segments(directory.path());
    let store = open_tiny(directory.path(), Options::default());
    assert_eq!(contents(&store, &pods()).len(), 30);
    assert!(segments(directory.path()) < before);
    let names: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.iter().filter(|name| name.starts_with("snapshot-")).count(), 1, "{names:?}");
    assert!(!names.iter().any(|name| name.contains(".new")), "{names:?}");
}
