//! A node that is cut off: its own pods keep their network, others take their place elsewhere, and it heals by itself.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::HostsError;
use super::super::host::{Host, namespace};
use super::super::journey::{PATIENCE, ready_without_taint};
use super::super::plane::ControlPlane;
use super::super::shell::{output, until};
use super::pods::{Pods, nodes_of, text};

fn cable(host: &Host, state: &str) -> Result<(), HostsError> {
    let link = format!("v-{}", host.name);
    output(Command::new("ip").args(["-n", &namespace(), "link", "set", &link, state])).map(drop)
}

/// Cuts the second node off, and lets it come back.
pub(super) fn and_return(
    plane: &ControlPlane,
    pods: &Pods<'_>,
    first: &Host,
    second: &Host,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<(), HostsError> {
    let service = plane.guest(&["get", "service", "web", "-o", "jsonpath={.spec.clusterIP}"])?;
    cable(second, "down")?;
    let begin = Instant::now();
    tell(&format!("{}: cut off", second.name));
    keeps_its_network(second, service.trim())?;
    tell(&format!("{}: makes its packet filter anew from what it kept, without its cluster", second.name));
    until("pods in place of those that were cut off", PATIENCE, || {
        let web = pods.ready("web")?;
        let elsewhere: Vec<String> = web.iter().map(|pod| text(pod, "/spec/nodeName")).collect();
        if elsewhere.iter().all(|node| *node == first.name) { Ok(()) } else { Err(elsewhere.join(" and ")) }
    })?;
    tell(&format!("its pods were replaced on {} {} s after it was cut off", first.name, begin.elapsed().as_secs()));
    until("a Service that leads to the living alone", Duration::from_secs(30), || {
        let web = pods.ready("web")?;
        let found =
            pods.asked_from_outside(&format!("10.211.0.{}", first.number)).map_err(|error| error.to_string())?;
        let wanted = web.iter().map(|pod| text(pod, "/metadata/name")).collect();
        if found == wanted { Ok(()) } else { Err(format!("{found:?} and not {wanted:?}")) }
    })?;
    cable(second, "up")?;
    let back = Instant::now();
    until("the node that was cut off", PATIENCE, || {
        let text = plane.guest(&["get", "node", &second.name, "-o", "json"]).map_err(|error| error.to_string())?;
        ready_without_taint(&serde_json::from_str::<Value>(&text).map_err(|error| error.to_string())?)
    })?;
    tell(&format!("{}: Ready {} s after it was back", second.name, back.elapsed().as_secs()));
    plane.guest(&["delete", "pods", "-l", "app=web", "--wait=false"])?;
    until("pods on both nodes again", PATIENCE, || {
        let web = pods.ready("web")?;
        let nodes = nodes_of(&web);
        let states = pods.ready("db").map_err(|reason| format!("db: {reason}"))?;
        if nodes.len() == 2 && states.len() == 2 { Ok(()) } else { Err(format!("{nodes:?}")) }
    })?;
    pods.find_each_other(&|_| ())?;
    tell("after that everything is reached as before");
    Ok(())
}

/// The agent starts anew, without a cluster and with an empty packet filter; its pods do not notice.
fn keeps_its_network(host: &Host, service: &str) -> Result<(), HostsError> {
    host.run(&["systemctl", "stop", "hcp-agent.service"])?;
    host.run(&["nft", "delete", "table", "inet", "roost"])?;
    host.run(&["systemctl", "start", "hcp-agent.service"])?;
    until("a packet filter from what was kept", Duration::from_secs(20), || {
        let table = host.run(&["nft", "list", "table", "inet", "roost"]).map_err(|error| error.to_string())?;
        if table.contains(&format!("{service} . tcp . 80 : goto all-")) { Ok(()) } else { Err(table) }
    })
}
