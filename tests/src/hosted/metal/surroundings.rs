//! Hosts say how they reach others, what names resolve to and how fast their disks are; who is badly placed is used all
//! the same.

use std::time::Duration;

use kube::Client;
use kube::api::DeleteParams;
use roost_sim::{HostFaults, HostSpec, Simulator};

use super::{Environment, NAMESPACE, agent_is, agents};
use crate::hosted::HostedError;
use crate::hosted::objects::{refused, until};

const GROUP: &str = "belongs-to-majority-group";
const LATENCY: &str = "sufficient-network-latency-requirement-for-role";
const LOSS: &str = "sufficient-packet-loss-requirement-for-role";

/// Hosts that are far away, lossy or cut off from others say so, and can be used.
pub(super) async fn far_hosts(
    client: &Client,
    simulator: &Simulator,
    environment: &Environment,
) -> Result<(), HostedError> {
    let far = HostFaults { round_trip: Duration::from_millis(1500), lost_percent: 30, ..HostFaults::default() };
    let cut = HostFaults { is_cut_off: true, ..HostFaults::default() };
    let far = simulator.turn_on(HostSpec { faults: far, ..environment.host(10) });
    let cut = simulator.turn_on(HostSpec { faults: cut, ..environment.host(11) });
    shows(client, far.id(), "network", LATENCY, "failure", "1500.0 ms").await?;
    shows(client, far.id(), "network", LOSS, "failure", "30%").await?;
    shows(client, far.id(), "network", GROUP, "success", "Host reaches").await?;
    shows(client, cut.id(), "network", GROUP, "failure", "Host reaches 0 of the").await?;
    for host in [&far, &cut] {
        agent_is(client, host.id(), "known-unbound", "").await?;
    }
    let ids = [far.id().to_owned(), cut.id().to_owned()];
    drop((far, cut));
    for id in ids {
        agents(client, NAMESPACE).delete(&id, &DeleteParams::default()).await.map_err(refused("an Agent"))?;
    }
    Ok(())
}

/// A host of a cluster says what it measured on its way there.
pub(super) async fn measured(client: &Client, id: &str) -> Result<(), HostedError> {
    shows(client, id, "hardware", "sufficient-installation-disk-speed", "success", "at most 10 ms").await?;
    shows(client, id, "network", "api-domain-name-resolved-correctly", "success", "the API of its cluster").await?;
    shows(client, id, "network", "api-int-domain-name-resolved-correctly", "success", "its configuration").await?;
    until("the Agent had the speed of its disk", async || {
        let agent = agents(client, NAMESPACE).get(id).await.map_err(|error| error.to_string())?;
        let speed = &agent.data["status"]["inventory"]["disks"][0]["ioPerf"]["syncDurationMilliseconds"];
        if speed.is_number() { Ok(()) } else { Err(agent.data["status"]["inventory"]["disks"].to_string()) }
    })
    .await
}

async fn shows(
    client: &Client,
    id: &str,
    category: &str,
    check: &str,
    status: &str,
    words: &str,
) -> Result<(), HostedError> {
    until(&format!("{check} of {id} was {status} and said {words:?}"), async || {
        let agent = agents(client, NAMESPACE).get(id).await.map_err(|error| error.to_string())?;
        let all = agent.data["status"]["validationsInfo"][category].as_array().cloned().unwrap_or_default();
        let found = all.iter().find(|result| result["id"] == check).cloned().unwrap_or_default();
        let is_said = found["message"].as_str().is_some_and(|message| message.contains(words));
        if found["status"] == status && is_said { Ok(()) } else { Err(found.to_string()) }
    })
    .await
}
