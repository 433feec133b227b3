//! Measures what an empty tenant needs: makes many on one store and prints the memory of each.

use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use roost_apiserver::{Cluster, ClusterConfig, Engine, Identity};
use roost_store::{Options, Store};

/// Tenants to make when the command line does not say.
const DEFAULT_TENANTS: usize = 1000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tenants = std::env::args().nth(1).map_or(Ok(DEFAULT_TENANTS), |text| text.parse())?;
    let directory = std::env::temp_dir().join(format!("roost-tenants-{}", std::process::id()));
    let store = Store::open_file(&directory, Options::default())?;
    let engine = Engine::new(store.clone());
    let inside = tokio::spawn(Arc::clone(&engine).run());
    // The first tenant also pays for what all share: tables of kinds and the like.
    engine.add(tenant(&store, 0).await?);
    let before = resident_mebibytes();
    let start = Instant::now();
    for number in 1..=tenants {
        engine.add(tenant(&store, number).await?);
    }
    let elapsed = start.elapsed();
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let after = resident_mebibytes();
    let size = store.size();
    println!("{:<26} {before:>10.1} MiB", "one tenant, in all");
    println!("{:<26} {:>10.3} MiB", "each further tenant", (after - before) / tenants as f64);
    println!("{:<26} {:>10.3} MiB", "  of it in the store", size.memory_bytes as f64 / 1_048_576.0 / tenants as f64);
    println!("{:<26} {:>10.1} ms", "made in", elapsed.as_secs_f64() * 1e3 / tenants as f64);
    inside.abort();
    store.close().await;
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

async fn tenant(store: &Store, number: usize) -> Result<Arc<Cluster>, Box<dyn std::error::Error>> {
    let config = ClusterConfig {
        service_cidr: "10.96.0.0/12".parse()?,
        node_ports: 30_000..=32_767,
        encryption_key: Some([7; 32]),
        advertised: Some(([192, 0, 2, 1].into(), 6443)),
    };
    let cluster = Cluster::new(
        &format!("tenant-{number}"),
        store.clone(),
        config,
        Identity::generate(Timestamp::now(), "https://kubernetes.default.svc.cluster.local")?,
    );
    cluster.bootstrap().await.map_err(|status| status.message)?;
    Ok(cluster)
}

fn resident_mebibytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}
