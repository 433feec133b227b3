//! Several batches on their way to the disk at once: nobody waits for another tenant's sync, and nothing counts before
//! everything in front of it does.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};

use super::disk::{Disk, DiskFile, RealDisk};
use super::{FileJournal, FileOptions};
use crate::{Collection, CommitError, Expect, ListQuery, OpenError, Operation, Options, Store, Write};

/// Long enough for any machine, short enough for a test that fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// What syncs wait for, and whether the next one fails.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    shut: bool,
    waiting: usize,
    failures: usize,
}

impl Gate {
    fn shut(&self) {
        self.state.lock().shut = true;
    }

    /// Waits until so many syncs run at once.
    fn wait_for(&self, syncs: usize) {
        let mut state = self.state.lock();
        while state.waiting < syncs {
            assert!(!self.changed.wait_for(&mut state, PATIENCE).timed_out(), "only {} syncs at once", state.waiting);
        }
    }

    fn open(&self, failures: usize) {
        let mut state = self.state.lock();
        (state.shut, state.failures) = (false, failures);
        self.changed.notify_all();
    }

    fn pass(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.waiting += 1;
        self.changed.notify_all();
        while state.shut {
            self.changed.wait(&mut state);
        }
        state.waiting -= 1;
        match state.failures.checked_sub(1) {
            Some(left) => {
                state.failures = left;
                Err(io::Error::other("the disk is broken"))
            }
            None => Ok(()),
        }
    }
}

struct GatedDisk(Arc<Gate>);

struct GatedFile {
    file: Box<dyn DiskFile>,
    gate: Arc<Gate>,
}

impl Disk for GatedDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(GatedFile { file: RealDisk.create(path)?, gate: Arc::clone(&self.0) }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(GatedFile { file: RealDisk.open(path)?, gate: Arc::clone(&self.0) }))
    }
}

impl DiskFile for GatedFile {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.gate.pass()?;
        self.file.sync()
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        self.file.set_length(length)
    }

    fn reserve(&mut self, from: u64, to: u64) -> io::Result<()> {
        self.file.reserve(from, to)
    }
}

fn things(tenant: &str) -> Collection {
    Collection::new(tenant, "", "things")
}

fn write(tenant: &str, name: &str) -> Vec<Write> {
    let operation = Operation::Put(Bytes::from_static(b"a value"));
    vec![Write { collection: things(tenant), name: name.into(), expect: Expect::Absent, operation }]
}

fn names(store: &Store, tenant: &str) -> Vec<String> {
    let page = store.list(&things(tenant), ListQuery::default()).unwrap();
    page.entries.iter().map(|entry| entry.name.to_string()).collect()
}

fn open(directory: &Path) -> Result<Store, OpenError> {
    Store::open(FileJournal::open(directory, FileOptions::default())?, Options::default())
}

fn open_gated(directory: &Path) -> (Arc<Gate>, Store) {
    let gate = Arc::new(Gate::default());
    let disk = Arc::new(GatedDisk(Arc::clone(&gate)));
    let journal = FileJournal::open_on(disk, directory, FileOptions::default()).unwrap();
    (gate, Store::open(journal, Options::default()).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_does_not_wait_for_the_sync_of_another() {
    let directory = tempfile::tempdir().unwrap();
    let (gate, store) = open_gated(directory.path());
    gate.shut();
    let commits = ["one", "two", "three"].map(|tenant| {
        let store = store.clone();
        let commit = tokio::spawn(async move { store.commit(write(tenant, "a")).await });
        gate.wait_for(["one", "two", "three"].iter().position(|known| *known == tenant).unwrap() + 1);
        commit
    });
    // The second of one tenant is in line behind its first, and nothing is visible before it is durable.
    let second = tokio::spawn({
        let store = store.clone();
        async move { store.commit(write("one", "a")).await }
    });
    assert_eq!(store.revision(), 1);
    assert_eq!(gate.state.lock().waiting, 3);
    gate.open(0);
    let mut revisions = Vec::new();
    for commit in commits {
        revisions.push(commit.await.unwrap().unwrap());
    }
    assert_eq!(revisions, [2, 3, 4]);
    assert!(matches!(second.await.unwrap(), Err(CommitError::Conflict { .. })));
    store.close().await;
    assert_eq!(open(directory.path()).unwrap().revision(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_behind_a_failed_sync_fails_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let (gate, store) = open_gated(directory.path());
    store.commit(write("one", "before")).await.unwrap();
    gate.shut();
    let commits = ["one", "two", "three"].map(|tenant| {
        let store = store.clone();
        let commit = tokio::spawn(async move { store.commit(write(tenant, "a")).await });
        gate.wait_for(["one", "two", "three"].iter().position(|known| *known == tenant).unwrap() + 1);
        commit
    });
    gate.open(1);
    let mut durable = Vec::new();
    for (tenant, commit) in ["one", "two", "three"].into_iter().zip(commits) {
        match commit.await.unwrap() {
            Ok(_) => durable.push(tenant),
            Err(CommitError::Storage(_)) => {}
            Err(other) => panic!("{other}"),
        }
    }
    // Which of the three syncs fails is the disk's choice; those before it stand, those behind it do not.
    assert!(durable.len() < 3 && ["one", "two", "three"].starts_with(&durable), "{durable:?}");
    assert_eq!(store.revision(), 2 + durable.len() as u64);
    for tenant in ["three", "two", "one"] {
        let expected: &[&str] = if durable.contains(&tenant) { &["a"] } else { &[] };
        assert_eq!(names(&store, tenant).iter().filter(|name| *name == "a").collect::<Vec<_>>(), expected);
    }
    store.commit(write("three", "after")).await.unwrap();
    let revision = store.revision();
    store.close().await;
    let store = open(directory.path()).unwrap();
    assert_eq!(store.revision(), revision);
    assert!(names(&store, "three").contains(&"after".to_owned()));
    assert!(names(&store, "one").contains(&"before".to_owned()));
}

/// Three frames, of which the last two were on their way together; then the one in the middle is lost.
async fn lose_the_middle(directory: &Path, together: bool) -> Result<Store, OpenError> {
    let (gate, store) = open_gated(directory);
    store.commit(write("one", "before")).await.unwrap();
    let middle = store.size().disk_bytes as usize;
    if together {
        gate.shut();
    }
    let lost = tokio::spawn({
        let store = store.clone();
        async move { store.commit(write("one", "lost")).await }
    });
    if together {
        gate.wait_for(1);
    } else {
        lost.await.unwrap().unwrap();
    }
    let end = store.size().disk_bytes as usize;
    let kept = tokio::spawn({
        let store = store.clone();
        async move { store.commit(write("two", "kept")).await }
    });
    if together {
        gate.wait_for(2);
    } else {
        kept.await.unwrap().unwrap();
    }
    let path = directory.join("log-00000000000000000002");
    let mut log = fs::read(&path).unwrap();
    log[middle..end].fill(0);
    gate.open(0);
    drop(store);
    let copy = directory.join("copy");
    fs::create_dir(&copy).unwrap();
    fs::write(copy.join("log-00000000000000000002"), log).unwrap();
    open(&copy)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_frame_behind_a_torn_one_does_not_count_when_both_were_on_their_way() {
    let directory = tempfile::tempdir().unwrap();
    let store = lose_the_middle(directory.path(), true).await.unwrap();
    assert_eq!((store.revision(), names(&store, "two")), (2, Vec::new()));
    assert_eq!(store.commit(write("two", "next")).await.unwrap(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_frame_behind_a_broken_one_that_was_durable_is_damage() {
    let directory = tempfile::tempdir().unwrap();
    let refused = lose_the_middle(directory.path(), false).await.err();
    assert!(refused.is_some_and(|error| error.to_string().contains("valid data follows")));
}
