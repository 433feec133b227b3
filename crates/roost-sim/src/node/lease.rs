//! The lease of a node: its heartbeat.

use std::time::{Duration, Instant};

use http::StatusCode;
use serde_json::{Value, json};

use crate::client::{Client, ClientError};
use crate::clock::{Clock, microseconds};
use crate::progress::Reporter;
use crate::retry::Backoff;
use crate::timing;

const PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/// Renews the lease for as long as the node lives. `share`, different for every node, keeps renewals apart.
pub(crate) async fn keep(client: &Client, name: &str, uid: &str, clock: Clock, reporter: &Reporter, share: u8) {
    let mut backoff = Backoff::new(timing::LEASE_RETRY, timing::LEASE_LONGEST_RETRY);
    let mut held: Option<Value> = None;
    let mut due = Instant::now();
    loop {
        match renew(client, name, uid, clock, held.take()).await {
            Ok(lease) => {
                held = Some(lease);
                backoff.reset();
                reporter.heartbeat(due.elapsed() > timing::LATE);
                let jitter = timing::LEASE_JITTER * u64::from(share) / 256;
                let pause = timing::LEASE_RENEWAL + Duration::from_millis(10 * jitter);
                due = Instant::now() + pause;
                tokio::time::sleep(pause).await;
            }
            Err(error) => {
                reporter.missed();
                tracing::debug!(%error, name, "the lease was not renewed");
                backoff.wait().await;
            }
        }
    }
}

/// Writes the time into the lease, which is read first unless it is at hand, and made where there is none.
async fn renew(
    client: &Client,
    name: &str,
    uid: &str,
    clock: Clock,
    held: Option<Value>,
) -> Result<Value, ClientError> {
    let target = format!("{PATH}/{name}");
    let mut lease = match held {
        Some(lease) => lease,
        None => match client.get(&target).await {
            Ok(lease) => lease,
            Err(error) if error.is(StatusCode::NOT_FOUND) => {
                return client.create(PATH, &first(name, uid, clock)).await;
            }
            Err(error) => return Err(error),
        },
    };
    lease["spec"]["renewTime"] = json!(microseconds(clock.now()));
    match client.update(&target, &lease).await {
        Err(error) if error.is(StatusCode::NOT_FOUND) => client.create(PATH, &first(name, uid, clock)).await,
        outcome => outcome,
    }
}

fn first(name: &str, uid: &str, clock: Clock) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {
            "name": name, "namespace": "kube-node-lease",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}],
        },
        "spec": {
            "holderIdentity": name,
            "leaseDurationSeconds": timing::LEASE_SECONDS,
            "renewTime": microseconds(clock.now()),
        },
    })
}
