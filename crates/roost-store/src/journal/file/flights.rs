//! Several batches on their way to the disk at once: nobody waits for another tenant's sync, and nothing counts before
//! everything in front of it does.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

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
    /// The name of the thread that came last.
    thread: Option<String>,
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
        state.thread = std::thread::current().name().map(str::to_owned);
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

/// Answers each byte; what is not zero is written before.
async fn answer(store: Store, mut connection: tokio::net::TcpStream) -> io::Result<()> {
    for number in 0.. {
        if connection.read_u8().await? > 0 {
            store.commit(write("one", &number.to_string())).await.map_err(io::Error::other)?;
        }
        connection.write_u8(1).await?;
    }
    Ok(())
}

fn ask(connection: &mut TcpStream, byte: u8) -> io::Result<()> {
    connection.write_all(&[byte])?;
    connection.read_exact(&mut [0])
}

/// One who writes again and again is left to it sooner or later. Then the disk stalls in the middle of it.
fn stall_on_own_thread(gate: &Gate, connection: &mut TcpStream) {
    while gate.state.lock().thread.as_deref() != Some("tokio-rt-worker") {
        ask(connection, 1).unwrap();
    }
    gate.shut();
    connection.write_all(&[1]).unwrap();
    gate.wait_for(1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_are_served_while_a_caller_waits_for_the_disk() {
    let directory = tempfile::tempdir().unwrap();
    let (gate, store) = open_gated(directory.path());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        loop {
            let (connection, _) = listener.accept().await.unwrap();
            connection.set_nodelay(true).unwrap();
            tokio::spawn(answer(store.clone(), connection));
        }
    });
    let clients = move || {
        let [mut one, mut other] = [(); 2].map(|()| {
            let connection = TcpStream::connect(address).unwrap();
            connection.set_nodelay(true).unwrap();
            connection.set_read_timeout(Some(PATIENCE)).unwrap();
            connection
        });
        for _ in 0..10 {
            stall_on_own_thread(&gate, &mut one);
            let served = ask(&mut other, 0);
            gate.open(0);
            served.unwrap();
            one.read_exact(&mut [0]).unwrap();
        }
    };
    tokio::task::spawn_blocking(clients).await.unwrap();
    server.abort();
}
