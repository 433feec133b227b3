//! Kills the engine at random moments under concurrent writes and checks what it remembers.
//!
//! Writers, each with objects of its own, note what was acknowledged. Watchers note every event and resume after each
//! kill from the last version they saw. The notes are checked against a model: no acknowledged write is lost, no
//! version is used twice, no watcher misses an event.

mod history;
mod watcher;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;

use crate::client::{Call, Client};
use crate::kubeconfig::Kubeconfig;
use crate::ours;
use crate::plane::{PlaneError, free_port};
use crate::process::Process;

use crate::random::Random;
use history::History;

/// Tasks that write at once.
const WRITERS: usize = 8;

/// Tasks that watch at once.
const WATCHERS: usize = 3;

/// The engine lives at most this long before it is killed.
const LONGEST_LIFE_MILLISECONDS: u64 = 300;

/// How long a restart may take before it counts as broken.
const RESTART_LIMIT: Duration = Duration::from_secs(30);

/// How long the watchers may take to see the last write.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(30);

/// The namespace of all objects.
const NAMESPACE: &str = "crash";

/// What a run found.
#[derive(Debug)]
pub struct Outcome {
    /// How often the engine was killed.
    pub kills: usize,
    /// How many writes were acknowledged.
    pub acknowledged: usize,
    /// How many events the watchers saw in all.
    pub events: usize,
    /// The longest time from a start to the first answer.
    pub slowest_start: Duration,
    /// What must not have happened, in words.
    pub violations: Vec<String>,
}

/// What the tasks of one run share.
struct Shared {
    client: Client,
    history: History,
    /// How often the engine was killed so far.
    life: AtomicUsize,
    /// The largest version that anybody saw acknowledged.
    newest: AtomicU64,
    stop: AtomicBool,
}

/// Runs `binary` on a fresh data directory and kills it `kills` times.
pub async fn run(binary: &Path, kills: usize, seed: u64) -> Result<Outcome, PlaneError> {
    let directory = tempfile::Builder::new().prefix("roost-crash-").tempdir()?;
    let data = directory.path().join("data");
    let port = free_port()?;
    let mut process = ours::serve(binary, directory.path(), &data, port)?;
    let kubeconfig = wait_for_kubeconfig(&mut process, &data.join("admin.kubeconfig")).await?;
    let client = Client::administrator(&kubeconfig)?;
    let mut slowest_start = wait_until_ready(&mut process, &client).await?;
    let namespace = json!({"metadata": {"name": NAMESPACE}});
    client.send(Call::new(Method::POST, "/api/v1/namespaces").json(&namespace)).await?;

    let shared = Arc::new(Shared {
        client: client.clone(),
        history: History::default(),
        life: AtomicUsize::new(0),
        newest: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    });
    let writers: Vec<_> =
        (0..WRITERS).map(|number| tokio::spawn(writer::write(shared.clone(), number, seed))).collect();
    let watchers: Vec<_> = (0..WATCHERS).map(|number| tokio::spawn(watcher::watch(shared.clone(), number))).collect();

    let mut random = Random::new(seed);
    for _ in 0..kills {
        let life = Duration::from_millis(random.below(LONGEST_LIFE_MILLISECONDS));
        tokio::time::sleep(life).await;
        process.kill();
        shared.life.fetch_add(1, Ordering::SeqCst);
        process = ours::serve(binary, directory.path(), &data, port)?;
        slowest_start = slowest_start.max(wait_until_ready(&mut process, &client).await?);
    }
    shared.stop.store(true, Ordering::SeqCst);
    for writer in writers {
        // A writer that panicked would have lost its notes; the check below would not see its writes.
        if writer.await.is_err() {
            shared.history.violation("a writer broke off".to_owned());
        }
    }
    let newest = shared.newest.load(Ordering::SeqCst);
    let start = Instant::now();
    while shared.history.slowest_watcher(WATCHERS) < newest {
        if start.elapsed() > CATCH_UP_LIMIT {
            shared.history.violation(format!("a watcher did not reach version {newest}"));
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for watcher in watchers {
        watcher.abort();
    }
    Ok(Outcome {
        kills,
        acknowledged: shared.history.acknowledged(),
        events: shared.history.events(),
        slowest_start,
        violations: shared.history.check(),
    })
}

async fn wait_for_kubeconfig(process: &mut Process, path: &Path) -> Result<Kubeconfig, PlaneError> {
    let start = Instant::now();
    loop {
        if let Ok(kubeconfig) = Kubeconfig::read(path) {
            return Ok(kubeconfig);
        }
        process.check_running()?;
        if start.elapsed() > RESTART_LIMIT {
            return Err(process.not_ready(RESTART_LIMIT.as_secs()).into());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn wait_until_ready(process: &mut Process, client: &Client) -> Result<Duration, PlaneError> {
    let start = Instant::now();
    loop {
        if let Ok(answer) = client.send(Call::get("/readyz")).await
            && answer.status.is_success()
        {
            return Ok(start.elapsed());
        }
        process.check_running()?;
        if start.elapsed() > RESTART_LIMIT {
            return Err(process.not_ready(RESTART_LIMIT.as_secs()).into());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
