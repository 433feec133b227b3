//! Measures a durable store: commits of 1 KiB by so many writers at once, alone and with watchers, and opening with 100,000
//! objects.
//!
//! `cargo run --release -p roost-store --example throughput [<directory>]`

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use roost_store::{Collection, Expect, Operation, Options, Store, Write};

const VALUE_BYTES: usize = 1024;
const OBJECTS: usize = 100_000;
const PERIOD: Duration = Duration::from_secs(3);

type Failure = Box<dyn Error>;

fn write(name: String) -> Write {
    Write {
        collection: Collection::new("tenant", "", "configmaps"),
        name: name.into(),
        expect: Expect::Anything,
        operation: Operation::Put(Bytes::from(vec![b'x'; VALUE_BYTES])),
    }
}

fn main() -> Result<(), Failure> {
    let parent = std::env::args().nth(1).map_or_else(std::env::temp_dir, Into::into);
    let directory = parent.join(format!("store-throughput-{}", std::process::id()));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    println!("{:>8} {:>12} {:>10} {:>10}", "writers", "commits/s", "p50 ms", "p99 ms");
    for (writers, elsewhere, here) in [(1, 0, 0), (16, 0, 0), (64, 0, 0), (256, 0, 0), (64, 10_000, 0), (64, 0, 100)] {
        let store = Store::open_file(&directory, Options::default())?;
        for watcher in 0..elsewhere + here {
            let collection = if watcher < elsewhere { format!("other-{watcher}") } else { "configmaps".into() };
            let mut cursor = store.watch(&Collection::new("tenant", "", &collection), 1)?;
            runtime.spawn(async move { while cursor.next().await.is_ok() {} });
        }
        match (elsewhere, here) {
            (0, 0) => {}
            (0, _) => println!("with {here} watchers of what is written"),
            _ => println!("with {elsewhere} watchers of other collections"),
        }
        runtime.block_on(measure(&store, writers))?;
        drop(store);
        std::fs::remove_dir_all(&directory)?;
    }
    runtime.block_on(open_many(&directory))?;
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

async fn measure(store: &Store, writers: usize) -> Result<(), Failure> {
    let begin = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..writers {
        let store = store.clone();
        tasks.spawn(async move {
            let mut times = Vec::new();
            while begin.elapsed() < PERIOD {
                let start = Instant::now();
                store.commit(vec![write(format!("namespace/{writer}-{}", times.len() % 500))]).await?;
                times.push(start.elapsed());
            }
            Ok::<_, roost_store::CommitError>(times)
        });
    }
    let mut times = Vec::new();
    while let Some(task) = tasks.join_next().await {
        times.extend(task??);
    }
    let rate = times.len() as f64 / begin.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1000.0;
    println!("{writers:>8} {rate:>12.0} {:>10.3} {:>10.3}", at(0.5), at(0.99));
    Ok(())
}

async fn open_many(directory: &Path) -> Result<(), Failure> {
    let store = Store::open_file(directory, Options::default())?;
    for thousand in 0..OBJECTS / 1000 {
        store.commit((0..1000).map(|number| write(format!("namespace/{thousand:03}-{number:03}"))).collect()).await?;
    }
    store.close().await;
    drop(store);
    for kind in ["the log", "a snapshot"] {
        let begin = Instant::now();
        let store = Store::open_file(directory, Options::default())?;
        println!("opened {} objects from {kind} in {:.0?}", store.size().objects, begin.elapsed());
        let begin = Instant::now();
        store.compact(store.revision()).await?;
        println!("compacted in {:.0?}", begin.elapsed());
        store.close().await;
    }
    Ok(())
}
