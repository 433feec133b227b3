//! A disk that refuses: commits fail with words, nothing is half applied, and writing goes on when it can.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use roost_store::journal::file::{FileJournal, FileOptions};
use roost_store::journal::{Batch, Completion, Journal, Replay, Snapshot, SyncWork};
use roost_store::{CommitError, Expect, OpenError, Options, Revision, StorageError, Store};

use crate::scene::{contents, open, pods, put};

/// A journal whose next appends fail.
struct Refusing<J> {
    inner: J,
    failures: Arc<AtomicU32>,
}

impl<J: Journal> Journal for Refusing<J> {
    fn load(&mut self, replay: &mut Replay<'_>) -> Result<(), OpenError> {
        self.inner.load(replay)
    }

    fn append(&mut self, batch: Batch<'_>) -> Result<Option<SyncWork>, StorageError> {
        let spend = |left: u32| left.checked_sub(1);
        if self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, spend).is_ok() {
            return Err(StorageError::new("no space left on device"));
        }
        self.inner.append(batch)
    }

    fn must_settle(&self) -> bool {
        self.inner.must_settle()
    }

    fn take_back(&mut self, first: Revision) {
        self.inner.take_back(first);
    }

    fn worth_compacting(&self, mark: Revision) -> bool {
        self.inner.worth_compacting(mark)
    }

    fn compact(&mut self, snapshot: Snapshot, done: Completion) {
        self.inner.compact(snapshot, done);
    }

    fn stored_bytes(&self) -> u64 {
        self.inner.stored_bytes()
    }

    fn close(&mut self) {
        self.inner.close();
    }
}

#[tokio::test]
async fn a_full_disk_fails_commits_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let failures = Arc::new(AtomicU32::new(0));
    let inner = FileJournal::open(directory.path(), FileOptions::default()).unwrap();
    let store = Store::open(Refusing { inner, failures: Arc::clone(&failures) }, Options::default()).unwrap();
    let revision = store.commit(vec![put(&pods(), "a", "1")]).await.unwrap();
    let mut cursor = store.watch(&pods(), revision).unwrap();

    failures.store(2, Ordering::SeqCst);
    for _ in 0..2 {
        let refused = store.commit(vec![put(&pods(), "a", "2"), put(&pods(), "b", "2")]).await;
        let Err(CommitError::Storage(error)) = refused else { panic!("{refused:?}") };
        assert_eq!(error.to_string(), "no space left on device");
        assert!(store.failure().is_some());
        assert_eq!(store.revision(), revision);
        assert_eq!(contents(&store, &pods()), [("a".into(), "1".into())]);
        assert!(cursor.try_next().unwrap().is_empty());
    }
    assert_eq!(store.commit(vec![put(&pods(), "b", "3")]).await.unwrap(), revision + 1);
    assert!(store.failure().is_none());
    assert_eq!(cursor.next().await.unwrap().len(), 1);

    drop(store);
    let store = open(directory.path());
    assert_eq!(contents(&store, &pods()), [("a".into(), "1".into()), ("b".into(), "3".into())]);
}

#[tokio::test]
async fn a_conflict_with_a_write_that_failed_is_not_told_as_a_conflict() {
    let directory = tempfile::tempdir().unwrap();
    let failures = Arc::new(AtomicU32::new(u32::MAX));
    let inner = FileJournal::open(directory.path(), FileOptions::default()).unwrap();
    let store = Store::open(Refusing { inner, failures: Arc::clone(&failures) }, Options::default()).unwrap();
    let mut write = put(&pods(), "a", "1");
    write.expect = Expect::Absent;
    let commits = (0..64).map(|_| store.commit(vec![write.clone()]));
    let results = futures::future::join_all(commits).await;
    assert!(results.iter().all(|result| matches!(result, Err(CommitError::Storage(_)))), "{results:?}");
    failures.store(0, Ordering::SeqCst);
    let commits = (0..64).map(|_| store.commit(vec![write.clone()]));
    let results = futures::future::join_all(commits).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    for result in results {
        match result {
            Ok(revision) => assert_eq!(revision, 2),
            Err(CommitError::Conflict { index: 0, current: Some(current) }) => assert_eq!(current.modified, 2),
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[tokio::test]
async fn a_closed_store_says_so_and_still_reads() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    store.commit(vec![put(&pods(), "a", "1")]).await.unwrap();
    store.close().await;
    store.close().await;
    assert!(matches!(store.commit(vec![put(&pods(), "b", "1")]).await, Err(CommitError::Closed)));
    assert!(matches!(store.compact(1).await, Err(CommitError::Closed)));
    assert_eq!(contents(&store, &pods()).len(), 1);
    assert_eq!(contents(&open(directory.path()), &pods()).len(), 1);
}

#[tokio::test]
async fn what_no_journal_could_keep_is_refused() {
    let store = Store::memory(Options::default());
    for write in [put(&pods(), &"n".repeat(70_000), ""), put(&pods(), "a", &"v".repeat(130 << 20))] {
        assert!(matches!(store.commit(vec![write]).await, Err(CommitError::Storage(_))));
    }
    assert_eq!(store.revision(), 1);
}
