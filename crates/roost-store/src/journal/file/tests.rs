//! The log on a disk that refuses at any point: what was acknowledged is there, what was not is there whole or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use proptest::prelude::*;

use super::disk::{Disk, DiskFile, RealDisk};
use super::{FileJournal, FileOptions};
use crate::{Collection, CommitError, Expect, ListQuery, Operation, Options, Revision, Store, Write};

const FILES: FileOptions = FileOptions { segment_bytes: 300, compact_bytes: 500 };

/// Every call of a file or disk takes a step; from the planned step on, so many calls fail.
#[derive(Default)]
struct Faults {
    calls_before: AtomicUsize,
    failures: AtomicUsize,
}

impl Faults {
    fn plan(&self, fault: Option<(usize, usize)>) {
        let (calls_before, failures) = fault.unwrap_or_default();
        self.calls_before.store(calls_before, Ordering::SeqCst);
        self.failures.store(failures, Ordering::SeqCst);
    }

    fn step(&self) -> io::Result<()> {
        let take = |left: usize| left.checked_sub(1);
        if self.calls_before.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok() {
            return Ok(());
        }
        match self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) {
            Ok(_) => Err(io::Error::from(io::ErrorKind::StorageFull)),
            Err(_) => Ok(()),
        }
    }
}

struct FaultyDisk(Arc<Faults>);

struct FaultyFile {
    file: Box<dyn DiskFile>,
    faults: Arc<Faults>,
}

impl Disk for FaultyDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.0.step()?;
        Ok(Box::new(FaultyFile { file: RealDisk.create(path)?, faults: Arc::clone(&self.0) }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.0.step()?;
        Ok(Box::new(FaultyFile { file: RealDisk.open(path)?, faults: Arc::clone(&self.0) }))
    }
}

impl DiskFile for FaultyFile {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if let Err(error) = self.faults.step() {
            self.file.write_all_at(&bytes[..bytes.len() / 2], offset)?;
            return Err(error);
        }
        self.file.write_all_at(bytes, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.faults.step()?;
        self.file.sync()
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        self.faults.step()?;
        self.file.set_length(length)
    }

    fn reserve(&mut self, from: u64, to: u64) -> io::Result<()> {
        self.faults.step()?;
        self.file.reserve(from, to)
    }
}

fn collection() -> Collection {
    Collection::new("t", "", "things")
}

fn write(name: u8, value: String) -> Write {
    Write {
        collection: collection(),
        name: format!("thing-{name}").into(),
        expect: Expect::Anything,
        operation: Operation::Put(Bytes::from(value)),
    }
}

fn contents(store: &Store) -> BTreeMap<String, Bytes> {
    let page = store.list(&collection(), ListQuery::default()).unwrap();
    page.entries.into_iter().map(|entry| (entry.name.to_string(), entry.value)).collect()
}

/// Opens a copy of the directory, as a machine does that lost its power now.
fn open_copy(directory: &Path) -> (tempfile::TempDir, Store) {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    let store = Store::open(FileJournal::open(copy.path(), FILES).unwrap(), Options::default()).unwrap();
    (copy, store)
}

#[derive(Clone, Debug)]
enum Step {
    Commit { names: Vec<u8>, fault: Option<(usize, usize)> },
    Compact { fault: Option<(usize, usize)> },
    LosePower,
}

fn step() -> impl Strategy<Value = Step> {
    let fault = || prop::option::of((0..8_usize, 1..6_usize));
    prop_oneof![
        8 => (prop::collection::vec(0..5_u8, 1..4), fault()).prop_map(|(names, fault)| Step::Commit { names, fault }),
        1 => fault().prop_map(|fault| Step::Compact { fault }),
        4 => Just(Step::LosePower),
    ]
}

#[test]
fn a_reservation_that_failed_does_not_overwrite_what_came_after_it() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let faults = Arc::new(Faults::default());
    let disk = Arc::new(FaultyDisk(Arc::clone(&faults)));
    let journal = FileJournal::open_on(disk, directory.path(), FileOptions::default()).unwrap();
    let store = Store::open(journal, Options::default()).unwrap();
    // The segment is opened for the sync first.
    faults.plan(Some((1, 1)));
    for name in 0..3 {
        runtime.block_on(store.commit(vec![write(name, "kept".into())])).unwrap();
    }
    let (_copy, copied) = open_copy(directory.path());
    assert_eq!(contents(&copied), contents(&store));
}

#[test]
fn a_busy_log_moves_on_to_a_segment_that_was_prepared() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    // No segment that grows as it is written has this length: those grow by whole mebibytes.
    let options = FileOptions { segment_bytes: 5 << 19, compact_bytes: 64 << 20 };
    let store = Store::open(FileJournal::open(directory.path(), options).unwrap(), Options::default()).unwrap();
    let value = "x".repeat(50 << 10);
    let is_prepared = |entry: fs::DirEntry| {
        let path = entry.path();
        path.extension().is_none() && fs::metadata(path).is_ok_and(|file| file.len() == options.segment_bytes)
    };
    let deadline = Instant::now() + Duration::from_mins(1);
    while !fs::read_dir(directory.path()).unwrap().filter_map(Result::ok).any(is_prepared) {
        assert!(Instant::now() < deadline, "no segment was prepared");
        runtime.block_on(store.commit(vec![write(0, value.clone())])).unwrap();
    }
    runtime.block_on(store.commit(vec![write(1, "after".to_owned())])).unwrap();
    let (_copy, copied) = open_copy(directory.path());
    assert_eq!((contents(&copied), copied.revision()), (contents(&store), store.revision()));
    runtime.block_on(store.close());
    assert!(!directory.path().join("log-spare.new").exists());
    let again = Store::open(FileJournal::open(directory.path(), options).unwrap(), Options::default()).unwrap();
    assert_eq!((contents(&again), again.revision()), (contents(&store), store.revision()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn a_disk_that_refuses_loses_nothing_that_was_acknowledged(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let faults = Arc::new(Faults::default());
        let journal = FileJournal::open_on(Arc::new(FaultyDisk(Arc::clone(&faults))), directory.path(), FILES).unwrap();
        let store = Store::open(journal, Options::default()).unwrap();
        let mut acknowledged: (Revision, BTreeMap<String, Bytes>) = (1, BTreeMap::new());
        // What refused commits would have made of it: until the next one succeeds, one may turn up after a power loss.
        let mut refused: Vec<(Revision, BTreeMap<String, Bytes>)> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Commit { names, fault } => {
                    faults.plan(fault);
                    let writes: Vec<_> = names.iter().map(|name| write(*name, format!("value {number}"))).collect();
                    let mut after = acknowledged.clone();
                    for write in &writes {
                        after.0 += 1;
                        after.1.insert(write.name.to_string(), Bytes::from(format!("value {number}")));
                    }
                    match runtime.block_on(store.commit(writes)) {
                        Ok(revision) => {
                            prop_assert_eq!(revision, after.0);
                            acknowledged = after;
                            refused.clear();
                        }
                        Err(CommitError::Storage(_)) => refused.push(after),
                        Err(error) => prop_assert!(false, "{error:?}"),
                    }
                }
                Step::Compact { fault } => {
                    faults.plan(fault);
                    let _ = runtime.block_on(store.compact(acknowledged.0));
                }
                Step::LosePower => {
                    let (_copy, store) = open_copy(directory.path());
                    let found = (store.revision(), contents(&store));
                    prop_assert!(found == acknowledged || refused.contains(&found), "{found:?}");
                }
            }
            prop_assert_eq!(&contents(&store), &acknowledged.1);
            prop_assert_eq!(store.revision(), acknowledged.0);
        }
        faults.plan(None);
        let revision = runtime.block_on(store.commit(vec![write(9, "last".into())])).unwrap();
        prop_assert_eq!(revision, acknowledged.0 + 1);
        acknowledged.1.insert("thing-9".into(), "last".into());
        drop(store);
        let (_copy, store) = open_copy(directory.path());
        prop_assert_eq!(contents(&store), acknowledged.1);
    }
}
