//! How much somebody who behaves is slowed down by somebody who does not.
//!
//! Whoever disturbs runs in a process of its own, which gets the processor only where nobody else wants it: on real networks
//! it has a machine of its own, and only what the server does for it may count.

mod aside;
mod busy;
mod hostile;
mod reading;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;
use tokio::task::JoinSet;

use aside::Aside;
pub use reading::{Reading, reading};

use super::planes::{PlanesError, client_of};
use super::processes::{processor, processor_seconds};
use super::{Latency, NAMESPACE, collection, object};
use crate::client::{Call, Client, ClientError};
use crate::hosted::{HostedCluster, create, kubeconfig_of, wait_until_ready};
use crate::plane::{Plane, PlaneError};

/// How often the one who behaves asks, in a second; few enough that requests never queue behind each other.
const REQUESTS_PER_SECOND: u32 = 200;

/// Alone and beside take turns this long. The moment in which somebody begins, whom nobody knows yet, is a part of each.
const TURN: Duration = Duration::from_secs(15);

/// What somebody does to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// Bombs, floods and stalled connections, with few rights.
    Hostile,
    /// All that an administrator may do, as fast as it goes.
    Busy,
    /// Nothing to the server itself; but no processor is ever idle.
    Spinning,
}

/// How long the one who behaves had to wait.
#[derive(Debug, Clone, Copy)]
pub struct Waits {
    /// For all answers, three of four of which are to reads.
    pub all: Latency,
    /// For what was read.
    pub reads: Latency,
    /// For what was written, which is on the disk by then.
    pub writes: Latency,
}

/// The processor time of one turn alone and of the one beside the disturbance after it.
#[derive(Debug, Clone, Copy)]
pub struct Spent {
    /// How long each of them was.
    pub turn: Duration,
    /// By the server, alone.
    pub alone: Duration,
    /// By the server, beside the disturbance.
    pub beside: Duration,
    /// By the server in the first second of that, when nobody knows yet what a newcomer sends.
    pub first_second: Duration,
    /// By whoever disturbs.
    pub disturbance: Duration,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Disturbed {
    /// Alone.
    pub alone: Waits,
    /// Beside the disturbance.
    pub beside: Waits,
    /// How many requests of the disturbance were answered meanwhile.
    pub answered: u64,
    /// The processor time of each pair of turns.
    pub spent: Vec<Spent>,
}

/// Measures beside somebody on the same API.
pub async fn beside_another(
    plane: &Plane,
    period: Duration,
    disturb: impl FnOnce(&Path) -> Command,
) -> Result<Disturbed, PlaneError> {
    let client = plane.administrator()?;
    prepare(&client).await?;
    measure(plane, &client, period, disturb(&plane.kubeconfig)).await
}

/// Measures in one hosted cluster beside another that is as busy as it can be.
pub async fn beside_a_busy_cluster(
    plane: &Plane,
    period: Duration,
    disturb: impl FnOnce(&Path) -> Command,
) -> Result<Disturbed, PlanesError> {
    let management = client_of(&plane.kubeconfig).await?;
    let directory = tempfile::tempdir().map_err(PlaneError::from)?;
    let mut kubeconfigs = Vec::new();
    for name in ["quiet", "busy"] {
        let cluster = HostedCluster::new(name, [127, 0, 0, 1].into());
        create(&management, &cluster).await?;
        wait_until_ready(&management, &cluster).await?;
        let path = directory.path().join(name);
        std::fs::write(&path, kubeconfig_of(&management, &cluster).await?).map_err(PlaneError::from)?;
        prepare(&Plane::running(name, &path).administrator()?).await?;
        kubeconfigs.push(path);
    }
    let quiet = Plane::running("quiet", &kubeconfigs[0]).administrator()?;
    Ok(measure(plane, &quiet, period, disturb(&kubeconfigs[1])).await?)
}

/// Disturbs a server until the input of this process ends; then says how many requests were answered.
pub async fn disturb(kubeconfig: &Path, disturbance: Disturbance) -> Result<(), PlaneError> {
    let _aside = Aside::step();
    let plane = Plane::running("disturbed", kubeconfig);
    let mut disturber = Disturber::default();
    match disturbance {
        Disturbance::Hostile => hostile::attack(&plane, &mut disturber).await?,
        Disturbance::Busy => busy::work(&plane.administrator()?, &mut disturber),
        Disturbance::Spinning => spin(&disturber.stopping),
    }
    println!("begun");
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::stdin().lines().count();
        let _ = ended.send(());
    });
    // A sender that is gone says the same.
    let _ = end.await;
    println!("{}", disturber.end().await);
    Ok(())
}

/// Keeps every processor busy.
fn spin(stopping: &Arc<AtomicBool>) {
    for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
        let stopping = Arc::clone(stopping);
        std::thread::spawn(move || {
            while !stopping.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
    }
}

/// Clients that do not stop by themselves.
#[derive(Default)]
struct Disturber {
    clients: JoinSet<()>,
    stopping: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
}

impl Disturber {
    /// Adds a client that sends again and again; whatever is answered is fine.
    fn add<Sent>(&mut self, pause: Duration, mut send: impl FnMut(u64) -> Sent + Send + 'static)
    where
        Sent: Future + Send,
        Sent::Output: Send,
    {
        let (stopping, answered) = (Arc::clone(&self.stopping), Arc::clone(&self.answered));
        self.clients.spawn(async move {
            let mut count = 0;
            while !stopping.load(Ordering::Relaxed) {
                send(count).await;
                count += 1;
                answered.fetch_add(1, Ordering::Relaxed);
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
            }
        });
    }

    async fn end(mut self) -> u64 {
        self.stopping.store(true, Ordering::Relaxed);
        while self.clients.join_next().await.is_some() {}
        self.answered.load(Ordering::Relaxed)
    }
}

async fn prepare(client: &Client) -> Result<(), ClientError> {
    let namespace = json!({"metadata": {"name": NAMESPACE}});
    client.send(Call::new(Method::POST, "/api/v1/namespaces").json(&namespace)).await?;
    client.send(Call::new(Method::POST, collection()).json(&object("victim", "x"))).await?;
    Ok(())
}

/// Measures alone and beside in turns: a disk or a host that is slower for a minute is so for both.
async fn measure(
    plane: &Plane,
    client: &Client,
    period: Duration,
    mut disturb: Command,
) -> Result<Disturbed, PlaneError> {
    let turn = period.min(TURN);
    behave(client, turn, &mut Durations::default()).await?;
    let (mut alone, mut beside) = (Durations::default(), Durations::default());
    let (start, mut answered, mut spent) = (Instant::now(), 0, Vec::new());
    while start.elapsed() < 2 * period {
        let (spent_alone, outcome) = measure_processor(plane, behave(client, turn, &mut alone)).await;
        outcome?;
        let (mut child, mut output) = start_disturbing(&mut disturb)?;
        let first_second = measure_processor(plane, tokio::time::sleep(Duration::from_secs(1)));
        let both = async { tokio::join!(behave(client, turn, &mut beside), first_second) };
        let (spent_beside, (outcome, (first_second, ()))) = measure_processor(plane, both).await;
        let disturbance = Duration::from_secs_f64(processor_seconds(child.id()));
        spent.push(Spent { turn, alone: spent_alone, beside: spent_beside, first_second, disturbance });
        drop(child.stdin.take());
        let mut count = String::new();
        output.read_line(&mut count)?;
        child.wait()?;
        outcome?;
        answered += count.trim().parse::<u64>().map_err(|_| std::io::Error::other("the disturbance ended early"))?;
    }
    Ok(Disturbed { alone: alone.into(), beside: beside.into(), answered, spent })
}

/// The processor time that a plane spends meanwhile.
async fn measure_processor<Work: Future>(plane: &Plane, work: Work) -> (Duration, Work::Output) {
    let before = processor(plane);
    let outcome = work.await;
    (Duration::from_secs_f64((processor(plane) - before).max(0.0)), outcome)
}

/// Starts the other process and waits until it has begun.
fn start_disturbing(disturb: &mut Command) -> Result<(Child, BufReader<std::process::ChildStdout>), std::io::Error> {
    let mut child = disturb.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().ok_or_else(|| std::io::Error::other("the disturbance has no output"))?;
    let mut output = BufReader::new(output);
    output.read_line(&mut String::new())?;
    Ok((child, output))
}

/// How long each request took.
#[derive(Default)]
struct Durations {
    reads: Vec<Duration>,
    writes: Vec<Duration>,
}

impl From<Durations> for Waits {
    fn from(Durations { reads, writes }: Durations) -> Waits {
        let all = reads.iter().chain(&writes).copied().collect();
        Waits { all: Latency::of(all), reads: Latency::of(reads), writes: Latency::of(writes) }
    }
}

/// Reads, and writes now and then, at a steady pace.
async fn behave(client: &Client, period: Duration, durations: &mut Durations) -> Result<(), ClientError> {
    let mut timer = tokio::time::interval(Duration::from_secs(1) / REQUESTS_PER_SECOND);
    let target = format!("{}/victim", collection());
    let start = Instant::now();
    for count in 0_u64.. {
        timer.tick().await;
        if start.elapsed() >= period {
            break;
        }
        let (call, kind) = match count % 4 {
            0 => (Call::new(Method::PUT, &target).json(&object("victim", &count.to_string())), &mut durations.writes),
            _ => (Call::get(&target), &mut durations.reads),
        };
        let begin = Instant::now();
        client.send(call).await?;
        kind.push(begin.elapsed());
    }
    Ok(())
}
