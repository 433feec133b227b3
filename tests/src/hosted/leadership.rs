//! Two operators on one management plane: one works, and the other goes on when it is killed.

use std::time::{Duration, Instant};

use roost_operator::Candidate;

use super::journey::Step;
use super::objects::{create, until, wait_until_gone, wait_until_ready, write_into};
use super::{HostedCluster, HostedError, Management, hosted_clusters};

/// How long a Lease lasts without its holder.
const DURATION: Duration = Duration::from_secs(3);

/// Kills the leader of two, and lets the other one finish.
pub async fn two_operators(management: &mut Management, tell: Step<'_>) -> Result<(), HostedError> {
    management.kill_operator();
    let client = &management.client;
    let (one, _stop_one) = management.compete(Candidate::replica("one").with_duration(DURATION));
    let first = HostedCluster::new("led-by-one", management.address);
    create(client, &first).await?;
    wait_until_ready(client, &first).await?;
    let (two, stop_two) = management.compete(Candidate::replica("two").with_duration(DURATION));
    tell("one of two operators works");
    let second = HostedCluster::new("led-by-two", management.address);
    one.abort();
    let start = Instant::now();
    create(client, &second).await?;
    let guest = wait_until_ready(client, &second).await?;
    write_into(&guest, "written").await?;
    let took = start.elapsed();
    if took > DURATION * 4 {
        return Err(HostedError::Wrong(format!("the second operator took over after {} ms", took.as_millis())));
    }
    tell(&format!("the other made a cluster {} ms after the first was killed", took.as_millis()));
    for cluster in [&first, &second] {
        let deleted = hosted_clusters(client).delete(&cluster.name, &kube::api::DeleteParams::default()).await;
        deleted.map_err(super::objects::refused("a cluster was not deleted"))?;
        wait_until_gone(client, cluster).await?;
    }
    let _ = stop_two.send(true);
    until("the second operator ended", async || if two.is_finished() { Ok(()) } else { Err("it works".to_owned()) })
        .await?;
    let leases = super::objects::api(client, "coordination.k8s.io/v1", "Lease", "leases", "hypershift");
    let lease = leases.get("roost-operator").await.map_err(super::objects::refused("the Lease was not read"))?;
    match lease.data["spec"]["holderIdentity"].as_str() {
        None | Some("") => {}
        Some(holder) => return Err(HostedError::Wrong(format!("the Lease was not given back; {holder} has it"))),
    }
    tell("the Lease is given back at the end");
    management.start_operator();
    Ok(())
}
