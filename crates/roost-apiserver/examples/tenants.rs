//! Measures what empty tenants need: makes many on one store, asks each of them something, and starts again with them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use jiff::Timestamp;
use roost_access::User;
use roost_apiserver::{ApiService, Cluster, ClusterConfig, Engine, Identity, InProcess};
use roost_store::{Options, Store};
use tower::ServiceExt as _;

type Failure = Box<dyn std::error::Error>;

/// Tenants to make when the command line does not say.
const DEFAULT_TENANTS: usize = 1000;

/// The controllers inside are done when so long nothing needed the processor.
const QUIET: Duration = Duration::from_millis(300);

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let tenants = std::env::args().nth(1).map_or(Ok(DEFAULT_TENANTS), |text| text.parse())?;
    let directory = std::env::temp_dir().join(format!("roost-tenants-{}", std::process::id()));
    let measured = measure(&directory, tenants).await;
    std::fs::remove_dir_all(directory)?;
    measured
}

async fn measure(directory: &Path, tenants: usize) -> Result<(), Failure> {
    let plane = Plane::open(directory)?;
    // The first tenant also pays for what all share: tables of kinds and the like.
    let first = plane.add(0).await?;
    ask(&first, nobody()).await?;
    let each = |bytes: f64| bytes / tenants as f64;
    let (start, before) = (Spent::now(), resident_kibibytes());
    println!("{:<34} {:>9.1} MiB", "one tenant, in all", before / 1024.0);
    let mut clusters = Vec::new();
    for number in 1..=tenants {
        clusters.push(plane.add(number).await?);
    }
    start.print("made, each", tenants);
    wait_until_quiet().await;
    start.print("  and cared for, each", tenants);
    println!("{:<34} {:>9.0} KiB", "each further tenant", each(resident_kibibytes() - before));
    let size = plane.store.size();
    println!("{:<34} {:>9.0} KiB", "  of it objects and their history", each(size.memory_bytes as f64 / 1024.0));
    let start = Spent::now();
    for cluster in &clusters {
        ask(cluster, nobody()).await?;
    }
    start.print("asked by one without rights, each", tenants);
    println!("{:<34} {:>9.0} KiB", "each tenant afterwards", each(resident_kibibytes() - before));
    let idle = Spent::now();
    tokio::time::sleep(Duration::from_secs(10)).await;
    println!("{:<34} {:>9.3} %", "processor while idle", idle.processor() / idle.wall() * 100.0);
    drop(clusters);
    plane.close().await;

    let start = Spent::now();
    let plane = Plane::open(directory)?;
    start.print("opened again, all", 1);
    for number in 0..=tenants {
        let cluster = plane.add(number).await?;
        ask(&cluster, nobody()).await?;
    }
    start.print("every tenant has answered, all", 1);
    wait_until_quiet().await;
    start.print("  and is cared for, all", 1);
    plane.close().await;
    Ok(())
}

/// A store and the tenants on it.
struct Plane {
    store: Store,
    engine: Arc<Engine>,
    inside: tokio::task::JoinHandle<()>,
}

impl Plane {
    fn open(directory: &Path) -> Result<Plane, Failure> {
        let store = Store::open_file(directory, Options::default())?;
        let engine = Engine::new(store.clone());
        let inside = tokio::spawn(Arc::clone(&engine).run());
        Ok(Plane { store, engine, inside })
    }

    async fn add(&self, number: usize) -> Result<Arc<Cluster>, Failure> {
        let config = ClusterConfig {
            encryption_key: Some([7; 32]),
            advertised: Some(([192, 0, 2, 1].into(), 6443)),
            ..ClusterConfig::default()
        };
        let identity = Identity::generate(Timestamp::now(), "https://kubernetes.default.svc.cluster.local")?;
        let cluster = Cluster::new(&format!("tenant-{number}"), self.store.clone(), config, identity);
        cluster.bootstrap().await.map_err(|status| status.message)?;
        self.engine.add(Arc::clone(&cluster));
        Ok(cluster)
    }

    async fn close(self) {
        self.inside.abort();
        self.store.close().await;
    }
}

/// Someone whose rights must be looked up.
fn nobody() -> User {
    User::new("nobody", ["system:authenticated"])
}

async fn ask(cluster: &Arc<Cluster>, user: User) -> Result<(), Failure> {
    let mut request = Request::get("/api/v1/namespaces/default").body(Full::<Bytes>::default())?;
    request.extensions_mut().insert(InProcess(user));
    let response = ApiService::new(Arc::clone(cluster)).oneshot(request).await?;
    if response.status().as_u16() == 403 { Ok(()) } else { Err(format!("answered {}", response.status()).into()) }
}

async fn wait_until_quiet() {
    loop {
        let spent = Spent::now();
        tokio::time::sleep(QUIET).await;
        if spent.processor() < 0.01 {
            return;
        }
    }
}

/// Time and processor time since a moment.
struct Spent {
    start: Instant,
    processor: f64,
}

impl Spent {
    fn now() -> Spent {
        Spent { start: Instant::now(), processor: processor_seconds() }
    }

    fn wall(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn processor(&self) -> f64 {
        processor_seconds() - self.processor
    }

    fn print(&self, name: &str, count: usize) {
        let milliseconds = |seconds: f64| seconds * 1e3 / count as f64;
        let (wall, processor) = (milliseconds(self.wall()), milliseconds(self.processor()));
        println!("{name:<34} {wall:>9.2} ms   of the processor {processor:>9.2} ms");
    }
}

fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

fn resident_kibibytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0)
}
