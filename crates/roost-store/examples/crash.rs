//! Kills a writing process again and again, and checks that no acknowledged write is lost and no revision is used twice.
//!
//! `crash <rounds> [<directory>]` is the checker; it starts itself as `crash --write <directory>` and kills that.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use roost_store::journal::file::{FileJournal, FileOptions};
use roost_store::{Collection, Expect, Operation, Options, Revision, Store, Write};

/// Small files, so that the process is also killed while it rotates and compacts.
const FILES: FileOptions = FileOptions { segment_bytes: 8 << 10, compact_bytes: 16 << 10 };
const WRITERS: u32 = 8;
const TENANTS: u8 = 3;

type Failure = Box<dyn Error>;

fn open(directory: &Path) -> Result<Store, Failure> {
    let options = Options { history_min_events: 50, history_max_bytes: 8 << 10, ..Options::default() };
    Ok(Store::open(FileJournal::open(directory, FILES)?, options)?)
}

/// Writers of three tenants, whose batches are on their way to the disk at once.
fn collection(name: &str) -> Collection {
    let tenant = name.bytes().last().unwrap_or_default() % TENANTS;
    Collection::new(&format!("tenant-{tenant}"), "", "counters")
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--write", directory] => write(Path::new(directory)),
        [rounds, directory] => check(rounds.parse()?, Path::new(directory)),
        [rounds] => {
            let directory = std::env::temp_dir().join(format!("store-crash-{}", std::process::id()));
            let result = check(rounds.parse()?, &directory);
            std::fs::remove_dir_all(&directory)?;
            result
        }
        _ => Err("usage: crash <rounds> [<directory>]".into()),
    }
}

/// Every writer counts up in an object of its own and prints what was acknowledged: name, count, revision.
fn write(directory: &Path) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let store = open(directory)?;
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..WRITERS {
            let store = store.clone();
            writers.spawn(async move {
                let name = format!("writer-{writer}");
                let current = store.get(&collection(&name), &name);
                let mut count = current.as_ref().map_or(0, |entry| parse_count(&entry.value));
                let mut expect = current.map_or(Expect::Absent, |entry| Expect::Revision(entry.modified));
                loop {
                    count += 1;
                    let value = format!("{count} {}", "x".repeat((count % 300) as usize));
                    let operation = Operation::Put(Bytes::from(value));
                    let write = Write { collection: collection(&name), name: name.as_str().into(), expect, operation };
                    match store.commit(vec![write]).await {
                        Ok(revision) => {
                            let line = format!("{name} {count} {revision}\n");
                            if std::io::stdout().lock().write_all(line.as_bytes()).is_err() {
                                return;
                            }
                            expect = Expect::Revision(revision);
                        }
                        Err(error) => return eprintln!("{error}"),
                    }
                }
            });
        }
        writers.join_all().await;
        Ok(())
    })
}

fn parse_count(value: &[u8]) -> u64 {
    String::from_utf8_lossy(value).split(' ').next().and_then(|count| count.parse().ok()).unwrap_or_default()
}

fn check(rounds: u32, directory: &Path) -> Result<(), Failure> {
    let mut acknowledged: BTreeMap<String, (u64, Revision)> = BTreeMap::new();
    let mut revisions: BTreeMap<Revision, String> = BTreeMap::new();
    for round in 0..rounds {
        let mut child =
            Command::new(std::env::current_exe()?).arg("--write").arg(directory).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or("the writer has no output")?;
        let reader =
            std::thread::spawn(move || BufReader::new(output).lines().map_while(Result::ok).collect::<Vec<_>>());
        std::thread::sleep(Duration::from_millis(u64::from(30 + round * 37 % 170)));
        child.kill()?;
        child.wait()?;
        for line in reader.join().map_err(|_| "the reader panicked")? {
            // The last line may be cut.
            let [name, count, revision] = line.split(' ').collect::<Vec<_>>()[..] else { continue };
            let (Ok(count), Ok(revision)) = (count.parse(), revision.parse::<Revision>()) else { continue };
            if let Some(other) = revisions.insert(revision, line.clone()) {
                return Err(format!("revision {revision} was acknowledged twice: {other} and {line}").into());
            }
            acknowledged.insert(name.into(), (count, revision));
        }
        let store = open(directory)?;
        let newest = revisions.keys().next_back().copied().unwrap_or(1);
        if store.revision() < newest {
            return Err(format!("revision {newest} was acknowledged, the store has {}", store.revision()).into());
        }
        for (name, (count, revision)) in &mut acknowledged {
            let entry = store.get(&collection(name), name).ok_or_else(|| format!("{name} is gone"))?;
            let found = parse_count(&entry.value);
            // One more may have become durable without its writer being told.
            if entry.modified < *revision || found < *count || found > *count + 1 {
                return Err(format!("{name} counts {found}, acknowledged was {count}").into());
            }
            // The next writer begins here, and may be killed before it is told anything.
            (*count, *revision) = (found, entry.modified);
        }
        let objects = store.size().objects;
        println!("round {round}: revision {}, {objects} objects, {} acknowledged", store.revision(), revisions.len());
    }
    Ok(())
}
