//! The simulated hosts of the demonstration, and how far each is.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use roost_sim::{Node, NodeSpec, Progress as Reached, Simulator, Stage, Start};
use serde_json::Value;

use super::{CLUSTER, HOSTS, LOOK};
use crate::conditions::condition;
use crate::plane::{NODES, Plane};
use crate::progress::{Progress, State, Step};

/// Every host has a loopback address of its own, by which it is told from the others.
const NETWORK: [u8; 3] = [127, 77, 0];

/// Starts the hosts, each with a disk of its own.
pub(super) fn start(simulator: &Simulator, user_data: &[u8], disks: &Path) -> Vec<Node> {
    (1..=HOSTS)
        .map(|number| {
            let name = format!("{CLUSTER}-{number}");
            let mut spec = NodeSpec::new(&name, Start::UserData(user_data.to_vec()));
            let [first, second, third] = NETWORK;
            spec.address = IpAddr::V4(Ipv4Addr::new(first, second, third, number));
            spec.host_id = format!("simulated-{name}");
            spec.disk = Some(disks.join(&name));
            simulator.spawn(spec)
        })
        .collect()
}

/// Shows the hosts until all are nodes that pods can be sent to.
pub(super) async fn follow(hosts: &[Node], hosted: &Plane, before: Vec<Step>, progress: &mut Progress) {
    loop {
        // Between two looks the API may be away; the next look tells more.
        let objects = hosted.list(&NODES, "", "").await.unwrap_or_default();
        let steps: Vec<Step> = hosts.iter().map(|host| step(host, &objects)).collect();
        let done = steps.iter().all(|step| step.state == State::Done);
        progress.show(before.iter().cloned().chain(steps).collect());
        if done {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn step(host: &Node, objects: &[Value]) -> Step {
    let object = objects.iter().find(|object| object["metadata"]["name"] == host.name());
    let (state, detail) = describe(&host.progress().borrow(), object);
    Step::new(format!("node {}", host.name()), state, detail)
}

/// How far a host is, in words.
fn describe(reached: &Reached, object: Option<&Value>) -> (State, String) {
    if let Some(trouble) = &reached.trouble {
        return (State::Waiting, trouble.clone());
    }
    let ready = object.and_then(|object| condition(object, "Ready")).is_some_and(|found| found.is_true());
    let tainted = object.is_some_and(|object| object["spec"]["taints"].as_array().is_some_and(|all| !all.is_empty()));
    let words = match reached.stage {
        Stage::Ready | Stage::Serving if ready && !tainted => return (State::Done, "Ready".to_owned()),
        Stage::Started => "fetching its configuration from the ignition server",
        Stage::Configured => "asking for its certificate",
        Stage::Requested => "waiting for its certificate to be approved",
        Stage::Approved => "waiting for its certificate",
        Stage::Certified => "registering",
        Stage::Registered => "becoming ready",
        Stage::Ready | Stage::Serving => "waiting until pods may be sent to it",
    };
    (State::Waiting, words.to_owned())
}
