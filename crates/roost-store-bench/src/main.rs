//! Measures the store's own log against the same store on redb and on `SQLite`, in the same run, and prints ratios.
//!
//! `cargo run --release -p roost-store-bench [<directory>]`

mod record;
mod redb_journal;
mod sqlite_journal;

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use roost_store::journal::file::{FileJournal, FileOptions};
use roost_store::{Collection, CommitError, Expect, Operation, Options, Store, Write};

use self::redb_journal::RedbJournal;
use self::sqlite_journal::SqliteJournal;

const VALUE_BYTES: usize = 1024;
const OBJECTS: usize = 100_000;
const PERIOD: Duration = Duration::from_secs(1);
/// The journals take turns, and the median of the rounds counts, so that a busy machine disturbs all of them alike.
const ROUNDS: usize = 7;
const WRITERS: [usize; 3] = [1, 16, 256];

type Failure = Box<dyn Error>;
type Open = fn(&Path) -> Result<Store, Failure>;

/// What is compared. Each is a journal under the same store, so that only the journal differs.
const JOURNALS: [(&str, Open); 3] = [
    ("own log", |directory| {
        Ok(Store::open(FileJournal::open(directory, FileOptions::default())?, Options::default())?)
    }),
    ("redb", |directory| Ok(Store::open(RedbJournal::open(directory)?, Options::default())?)),
    ("SQLite", |directory| Ok(Store::open(SqliteJournal::open(directory)?, Options::default())?)),
];

/// What one journal did, round by round.
struct Measured {
    name: &'static str,
    /// Commits per second and 99th percentile, by the number of writers.
    commits: [Vec<(f64, Duration)>; WRITERS.len()],
    opened: Vec<Duration>,
}

fn main() -> Result<(), Failure> {
    let parent = std::env::args().nth(1).map_or_else(std::env::temp_dir, Into::into);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut lines = JOURNALS.map(|(name, _)| Measured { name, commits: Default::default(), opened: Vec::new() });
    for _ in 0..ROUNDS {
        for (position, writers) in WRITERS.into_iter().enumerate() {
            for ((_, open), line) in JOURNALS.iter().zip(&mut lines) {
                let directory = tempfile::tempdir_in(&parent)?;
                let store = open(directory.path())?;
                line.commits[position].push(runtime.block_on(commit_for_a_while(&store, writers))?);
            }
        }
        for ((name, open), line) in JOURNALS.iter().zip(&mut lines) {
            let directory = tempfile::tempdir_in(&parent)?;
            runtime.block_on(fill(&open(directory.path())?))?;
            let begin = Instant::now();
            let store = open(directory.path())?;
            line.opened.push(begin.elapsed());
            if store.size().objects != OBJECTS as u64 {
                return Err(format!("{name} came back with {} objects", store.size().objects).into());
            }
        }
    }
    print(&lines);
    Ok(())
}

fn write(name: String) -> Write {
    Write {
        collection: Collection::new("tenant", "", "configmaps"),
        name: name.into(),
        expect: Expect::Anything,
        operation: Operation::Put(Bytes::from(vec![b'x'; VALUE_BYTES])),
    }
}

async fn commit_for_a_while(store: &Store, writers: usize) -> Result<(f64, Duration), Failure> {
    let begin = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..writers {
        let store = store.clone();
        tasks.spawn(async move {
            let mut times = Vec::new();
            while begin.elapsed() < PERIOD {
                let start = Instant::now();
                store.commit(vec![write(format!("namespace/{writer}-{}", times.len() % 100))]).await?;
                times.push(start.elapsed());
            }
            Ok::<_, CommitError>(times)
        });
    }
    let mut times = Vec::new();
    while let Some(task) = tasks.join_next().await {
        times.extend(task??);
    }
    let rate = times.len() as f64 / begin.elapsed().as_secs_f64();
    times.sort_unstable();
    Ok((rate, times[(times.len() - 1) * 99 / 100]))
}

async fn fill(store: &Store) -> Result<(), Failure> {
    for thousand in 0..OBJECTS / 1000 {
        store.commit((0..1000).map(|number| write(format!("namespace/{thousand:03}-{number:03}"))).collect()).await?;
    }
    store.close().await;
    Ok(())
}

fn median<T: PartialOrd + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable_by(|one, other| one.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal));
    values.get(values.len() / 2).copied()
}

impl Measured {
    fn rate(&self, position: usize) -> f64 {
        median(self.commits[position].iter().map(|round| round.0)).unwrap_or_default()
    }

    fn slowest(&self, position: usize) -> f64 {
        median(self.commits[position].iter().map(|round| round.1)).unwrap_or_default().as_secs_f64() * 1000.0
    }

    fn opened(&self) -> f64 {
        median(self.opened.iter().copied()).unwrap_or_default().as_secs_f64() * 1000.0
    }
}

fn print(lines: &[Measured]) {
    print!("| journal |");
    for writers in WRITERS {
        print!(" commits/s, {writers} writers | p99 |");
    }
    println!(" open {OBJECTS} objects |\n|---|{}---:|", "---:|---:|".repeat(WRITERS.len()));
    let own = &lines[0];
    for line in lines {
        print!("| {} |", line.name);
        for position in 0..WRITERS.len() {
            let (rate, slowest) = (line.rate(position), line.slowest(position));
            print!(" {rate:.0} ({:.2}x) | {slowest:.2} ms |", rate / own.rate(position));
        }
        println!(" {:.0} ms ({:.2}x) |", line.opened(), line.opened() / own.opened());
    }
}
