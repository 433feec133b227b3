//! All certificate authorities of a hosted cluster are replaced while clients work that read their kubeconfig again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use parking_lot::Mutex;
use roost_pki::plane::{AUTHORITIES, AuthoritySpec};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::journey::Step;
use super::objects::{refused, secrets};
use super::{
    HostedCluster, HostedError, Management, create, hosted_clusters, kubeconfig_of, wait_until_gone, wait_until_ready,
};
use crate::client::{Call, Client};
use crate::kubeconfig::Kubeconfig;

/// Clients at work at the same time.
const CLIENTS: u32 = 10;
/// How often each of them asks something.
const INTERVAL: Duration = Duration::from_millis(100);
/// How often a client begins with a new connection, as a program that is started anew does.
const CONNECTION_REQUESTS: usize = 5;
/// How long each stage lasts at least.
const PACE: &str = "4s";
/// How long all of it may take.
const PATIENCE: Duration = Duration::from_mins(3);
/// How long clients go on when all is over.
const AFTERWARDS: Duration = Duration::from_secs(3);

/// What clients noticed.
#[derive(Default)]
struct Notes {
    requests: usize,
    failures: Vec<String>,
}

/// Replaces everything, and fails when a client noticed.
pub async fn rotate_under_load(management: &Management, tell: Step<'_>) -> Result<(), HostedError> {
    let client = &management.client;
    let cluster = HostedCluster::new("rotating", management.address);
    create(client, &cluster).await?;
    wait_until_ready(client, &cluster).await?;
    let before = authorities(client, &cluster).await?;
    let notes = Arc::new(Mutex::new(Notes::default()));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(work(client.clone(), cluster.clone(), Arc::clone(&notes)));
    }
    let start = Instant::now();
    let wish = json!({"metadata": {"annotations": {
        "roost.dev/rotation-pace": PACE,
        "roost.dev/rotate-ca": format!("all@{}", Timestamp::now()),
    }}});
    let asked = hosted_clusters(client).patch(&cluster.name, &PatchParams::default(), &Patch::Merge(wish)).await;
    asked.map_err(refused("the rotation was not asked for"))?;
    loop {
        let now = authorities(client, &cluster).await?;
        let waiting: Vec<&str> =
            AUTHORITIES.iter().filter(|spec| !is_over(spec, &before, &now)).map(|spec| spec.secret).collect();
        if waiting.is_empty() {
            break;
        }
        if start.elapsed() > PATIENCE {
            let seen = waiting.join(", ");
            return Err(HostedError::Late { what: "all were replaced".into(), seconds: PATIENCE.as_secs(), seen });
        }
        tokio::time::sleep(INTERVAL).await;
    }
    let took = start.elapsed();
    tokio::time::sleep(AFTERWARDS).await;
    clients.shutdown().await;
    let notes = std::mem::take(&mut *notes.lock());
    let rate = notes.requests as f64 / start.elapsed().as_secs_f64();
    if let Some(first) = notes.failures.first() {
        let (failed, all) = (notes.failures.len(), notes.requests);
        return Err(HostedError::Wrong(format!("{failed} of {all} requests failed, the first one: {first}")));
    }
    tell(&format!(
        "{} authorities replaced in {:.0} s; {} requests, {rate:.0} a second, none failed",
        before.len(),
        took.as_secs_f64(),
        notes.requests
    ));
    let deleted = hosted_clusters(client).delete(&cluster.name, &kube::api::DeleteParams::default()).await;
    deleted.map_err(refused("the cluster was not deleted"))?;
    wait_until_gone(client, &cluster).await
}

/// The certificates of every authority that the control plane has, and whether a former one is still trusted.
type Authorities = BTreeMap<&'static str, (String, bool)>;

async fn authorities(client: &kube::Client, cluster: &HostedCluster) -> Result<Authorities, HostedError> {
    let list = secrets(client, &cluster.control_plane_namespace()).list(&kube::api::ListParams::default()).await;
    let list = list.map_err(refused("the control plane's Secrets were not listed"))?;
    let mut found = Authorities::new();
    for spec in &AUTHORITIES {
        let secret = list.items.iter().find(|secret| secret.metadata.name.as_deref() == Some(spec.secret));
        let Some(secret) = secret else { continue };
        let data = &secret.data["data"];
        let certificate = data["ca.crt"].as_str().or(data["tls.crt"].as_str()).unwrap_or_default();
        let has_old = data["old-ca.crt"].as_str().is_some_and(|old| !old.is_empty());
        found.insert(spec.secret, (certificate.to_owned(), has_old));
    }
    Ok(found)
}

/// Whether an authority is another one, and the former one is no longer trusted. The one that signs for nodes stays
/// trusted for as long as their certificates last.
fn is_over(spec: &AuthoritySpec, before: &Authorities, now: &Authorities) -> bool {
    let Some((earlier, _)) = before.get(spec.secret) else { return true };
    let Some((current, has_old)) = now.get(spec.secret) else { return false };
    current != earlier && (spec.signs_for_others || !has_old)
}

/// Asks something again and again, each time as the kubeconfig says now.
async fn work(management: kube::Client, cluster: HostedCluster, notes: Arc<Mutex<Notes>>) {
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut guest: Option<(String, Client)> = None;
    let mut count = 0;
    loop {
        ticks.tick().await;
        let outcome = ask(&management, &cluster, &mut guest, count).await;
        count += 1;
        let mut notes = notes.lock();
        notes.requests += 1;
        if let Err(problem) = outcome {
            notes.failures.push(format!("{}: {problem}", Timestamp::now()));
        }
    }
}

async fn ask(
    management: &kube::Client,
    cluster: &HostedCluster,
    guest: &mut Option<(String, Client)>,
    count: usize,
) -> Result<(), String> {
    let text = kubeconfig_of(management, cluster).await.map_err(|error| error.to_string())?;
    let known = guest.take().filter(|(known, _)| *known == text && !count.is_multiple_of(CONNECTION_REQUESTS));
    let client = if let Some((_, client)) = known {
        client
    } else {
        let kubeconfig = Kubeconfig::parse(&text, Path::new("kubeconfig")).map_err(|error| error.to_string())?;
        Client::administrator(&kubeconfig).map_err(|error| error.to_string())?
    };
    let answer = client.send(Call::get("/api/v1/namespaces/default")).await.map_err(|error| error.to_string())?;
    *guest = Some((text, client));
    if answer.status.is_success() {
        Ok(())
    } else {
        Err(format!("{}: {}", answer.status, String::from_utf8_lossy(&answer.body)))
    }
}
