//! Very many Agents: whether pages, passes and pools are as quick with a hundred thousand of them as with a thousand.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use http::Method;
use roost_sim::{Host, Simulator};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::hosts::{approvals, is_in, seen_when};
use super::nodes::{NodesError, management, raise_file_limit};
use super::{Latency, processes};
use crate::client::{Answer, Call, Client, ClientError};
use crate::hosted::{HostedCluster, agents as api, create, prepare_environment, scale, wait_until_ready};
use crate::plane::{Plane, PlaneError};

const NAME: &str = "agents";
const NAMESPACE: &str = "hardware";
const COLLECTION: &str = "/apis/agent-install.openshift.io/v1beta1/namespaces/hardware/agents";
/// Clients that make Agents at the same time.
const CLIENTS: usize = 16;
/// What kubectl asks for at a time.
const PAGE: usize = 500;
/// How often something is done whose time is taken.
const TIMES: usize = 50;
/// Hosts that are there beside the Agents, for each number of those.
const LIVE: u16 = 10;
/// How long a change may take until it shows.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long all passes over new Agents may take.
const SETTLING: Duration = Duration::from_mins(10);
/// Below this share of a processor, in percent, nothing is left to do.
const CALM: f64 = 15.0;

/// What was found with so many Agents.
#[derive(Debug)]
pub struct Agents {
    /// How many.
    pub count: usize,
    /// The first page of a list.
    pub page: Latency,
    /// Each page of the whole list, one after the other.
    pub walk: Latency,
    /// From a change of an Agent's spec to the condition that says so.
    pub condition: Latency,
    /// From the approval of a host to its pool.
    pub bound: Latency,
    /// Resident memory of the plane, in MiB.
    pub memory: f64,
}

/// Makes Agents until there are so many, once for each number, and measures each time.
pub async fn agents(plane: &Plane, counts: &[usize], mut tell: impl FnMut(&Agents)) -> Result<(), NodesError> {
    raise_file_limit();
    let kube = management(plane).await?;
    let client = plane.administrator()?;
    let cluster = HostedCluster::on_agents(NAME, IpAddr::V4(Ipv4Addr::LOCALHOST), NAMESPACE);
    create(&kube, &cluster).await?;
    wait_until_ready(&kube, &cluster).await?;
    let environment = prepare_environment(&kube, NAMESPACE, NAME).await?;
    let (simulator, live) = (Simulator::new(), format!("infraenvs.agent-install.openshift.io={NAME}"));
    let (mut hosts, mut made): (Vec<Host>, usize) = (Vec::new(), 0);
    let all = api(&kube, NAMESPACE);
    for &count in counts {
        let first = u16::try_from(hosts.len()).unwrap_or_default() + 1;
        let new: Vec<Host> =
            (first..first + LIVE).map(|number| simulator.turn_on(environment.host_of(number))).collect();
        let ids: Vec<String> = new.iter().map(|host| host.id().to_owned()).collect();
        hosts.extend(new);
        let is_new = |agent: &kube::api::DynamicObject| {
            is_in("known-unbound")(agent) && agent.metadata.name.as_ref().is_some_and(|name| ids.contains(name))
        };
        seen_when(&all, Some(&live), ids.len(), is_new).await?;
        let sample = all.get(&ids[0]).await.map_err(|error| NodesError::Client(error.to_string()))?;
        fill(&client, made..count, &sample.data["status"]).await?;
        made = made.max(count);
        settle(plane).await;
        let (page, walk) = (pages(&client).await?, walk(&client).await?);
        let condition = conditions(&client, count).await?;
        scale(&kube, &cluster, u16::try_from(hosts.len()).unwrap_or(u16::MAX)).await?;
        tokio::time::sleep(Duration::from_secs(5)).await;
        let bound = approvals(&all, Some(&live), &ids).await?;
        tell(&Agents { count, page, walk, condition, bound, memory: processes::memory(plane) });
    }
    Ok(())
}

fn id(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012x}")
}

/// Makes Agents that look like one that a host made.
async fn fill(client: &Client, numbers: std::ops::Range<usize>, status: &Value) -> Result<(), PlaneError> {
    let mut tasks = JoinSet::new();
    for worker in 0..CLIENTS {
        let (client, mut status, numbers) = (client.with_own_connections(), status.clone(), numbers.clone());
        tasks.spawn(async move {
            for number in numbers.skip(worker).step_by(CLIENTS) {
                let body = json!({
                    "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent",
                    "metadata": {"name": id(number), "labels": {"infraenvs.agent-install.openshift.io": "fleet"}},
                    "spec": {"approved": false, "role": "auto-assign"},
                });
                good(&client.send(Call::new(Method::POST, COLLECTION).json(&body)).await?)?;
                status["inventory"]["hostname"] = json!(format!("fleet-{number}"));
                let patch = json!({"status": status});
                good(&client.send(merge(&format!("{COLLECTION}/{}/status", id(number)), &patch)).await?)?;
            }
            Ok::<_, ClientError>(())
        });
    }
    while let Some(result) = tasks.join_next().await {
        result.map_err(|error| ClientError::Exchange(error.to_string()))??;
    }
    Ok(())
}

/// Waits until the controllers have looked at everything.
async fn settle(plane: &Plane) {
    let deadline = Instant::now() + SETTLING;
    while processes::usage_over(plane, Duration::from_secs(2)).await.processor > CALM && Instant::now() < deadline {}
}

async fn pages(client: &Client) -> Result<Latency, PlaneError> {
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let start = Instant::now();
        good(&client.send(Call::get(format!("{COLLECTION}?limit={PAGE}"))).await?)?;
        times.push(start.elapsed());
    }
    Ok(Latency::of(times))
}

async fn walk(client: &Client) -> Result<Latency, PlaneError> {
    let (mut times, mut rest) = (Vec::new(), String::new());
    loop {
        let start = Instant::now();
        let answer = client.send(Call::get(format!("{COLLECTION}?limit={PAGE}{rest}"))).await?;
        times.push(start.elapsed());
        good(&answer)?;
        match answer.json()["metadata"]["continue"].as_str().filter(|token| !token.is_empty()) {
            Some(token) => rest = format!("&continue={token}"),
            None => return Ok(Latency::of(times)),
        }
    }
}

/// How long it takes until an Agent says that its spec cannot be.
async fn conditions(client: &Client, count: usize) -> Result<Latency, PlaneError> {
    let mut times = Vec::new();
    for turn in 0..TIMES {
        let target = format!("{COLLECTION}/{}", id(turn * count / TIMES));
        let spec = json!({"spec": {"installation_disk_id": "a", "installation_disk_path": "b"}});
        let start = Instant::now();
        good(&client.send(merge(&target, &spec)).await?)?;
        let is_wrong = |condition: &Value| condition["type"] == "SpecSynced" && condition["reason"] == "InputError";
        loop {
            let agent = client.send(Call::get(target.as_str())).await?.json();
            if agent["status"]["conditions"].as_array().is_some_and(|all| all.iter().any(is_wrong)) {
                break;
            }
            if start.elapsed() > PATIENCE {
                return Err(ClientError::Exchange(format!("{target} does not say what is wrong with it")).into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        times.push(start.elapsed());
        good(&client.send(merge(&target, &json!({"spec": {"installation_disk_path": null}}))).await?)?;
    }
    Ok(Latency::of(times))
}

fn merge(target: &str, body: &Value) -> Call {
    let mut call = Call::new(Method::PATCH, target).json(body);
    call.headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/merge-patch+json"));
    call
}

fn good(answer: &Answer) -> Result<(), ClientError> {
    if answer.status.is_success() {
        Ok(())
    } else {
        Err(ClientError::Exchange(format!("{}: {}", answer.status, String::from_utf8_lossy(&answer.body))))
    }
}
