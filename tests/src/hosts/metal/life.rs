//! The life of one machine, from its first boot to the last look at its Agent.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::PATIENCE;
use super::controller::ManagedMachine;
use super::machine::Machine;
use super::objects::{self, BARE_METAL_HOST, POOL, SPACE};
use crate::hosts::HostsError;
use crate::hosts::journey::ready_without_taint;
use crate::hosts::plane::{CLUSTER, ControlPlane};
use crate::hosts::shell::until;

/// What an emulated machine may need for anything, on a machine that does other things, too.
const MACHINE_PATIENCE: Duration = Duration::from_mins(12);

/// Who turns the machine on and off.
pub(super) enum Power {
    /// Somebody who stands before it.
    Person(Machine),
    /// Its management controller.
    Controller(ManagedMachine),
}

/// A machine that was turned on, and who looks at it.
pub(super) struct Life<'a> {
    pub(super) plane: &'a ControlPlane,
    pub(super) hcp: &'a Path,
    pub(super) power: Power,
    pub(super) begin: Instant,
    pub(super) tell: &'a mut dyn FnMut(&str),
}

impl Life<'_> {
    /// All of it: a node twice, given back by its pool and by the end of its cluster, and off in the end.
    pub(super) fn live(&mut self) -> Result<(), HostsError> {
        self.is_discovered()?;
        self.plane.apply_to_management(&objects::pool())?;
        self.scale(1)?;
        self.becomes_a_node()?;
        self.has_an_empty_drive()?;
        println!("{}", self.plane.management(&["get", "agents", "-n", SPACE])?.trim_end());
        self.scale(0)?;
        self.becomes_free()?;
        self.leaves_no_node()?;
        self.tell("given back by its pool: the host left its cluster and is free again");
        self.scale(1)?;
        self.becomes_a_node()?;
        self.plane.management(&["delete", "hostedcluster", "-n", "clusters", CLUSTER, "--wait=false"])?;
        self.becomes_free()?;
        until("no hosted cluster", MACHINE_PATIENCE, || {
            let left = self.plane.management(&["get", "hostedclusters", "-n", "clusters", "-o", "name"]);
            let left = left.map_err(|error| error.to_string())?;
            if left.trim().is_empty() { Ok(()) } else { Err(left) }
        })?;
        self.tell("its cluster was destroyed: the host is free again");
        println!("{}", self.plane.management(&["get", "agents", "-n", SPACE])?.trim_end());
        self.turns_off()?;
        self.tell("off");
        Ok(())
    }

    fn tell(&mut self, words: &str) {
        let seconds = self.begin.elapsed().as_secs_f64();
        (self.tell)(&format!("{words} ({seconds:.0} s after power-on)"));
    }

    fn scale(&mut self, replicas: u8) -> Result<(), HostsError> {
        let replicas = format!("--replicas={replicas}");
        self.plane.management(&["scale", "nodepool", "-n", "clusters", POOL, &replicas])?;
        self.tell(&format!("kubectl scale nodepool {replicas}"));
        Ok(())
    }

    /// The machine shows itself, and somebody lets it in; who started it by its controller has done so.
    fn is_discovered(&mut self) -> Result<(), HostsError> {
        let id = until("an Agent that may be used", MACHINE_PATIENCE, || {
            let agent = self.agent()?;
            let state = &agent["status"]["debugInfo"];
            if state["state"] != "known-unbound" {
                return Err(state.to_string());
            }
            Ok(agent["metadata"]["name"].as_str().unwrap_or_default().to_owned())
        })?;
        self.tell(&format!("the machine appeared as the Agent {id}"));
        if let Power::Person(_) = self.power {
            self.plane.hcp(self.hcp, &["approve", "host", &id, "-n", SPACE])?;
        }
        until("an Agent that is approved", PATIENCE, || {
            let agent = self.agent()?;
            if agent["spec"]["approved"] == true { Ok(()) } else { Err(agent["spec"].to_string()) }
        })?;
        self.tell("it is approved");
        Ok(())
    }

    fn becomes_a_node(&mut self) -> Result<(), HostsError> {
        let mut stage = String::new();
        until("a host that is a node", MACHINE_PATIENCE, || {
            let agent = self.agent()?;
            let (state, progress) = (&agent["status"]["debugInfo"], &agent["status"]["progress"]);
            let now = progress["currentStage"].as_str().unwrap_or_default();
            if now != stage {
                now.clone_into(&mut stage);
                let info = progress["progressInfo"].as_str().unwrap_or_default();
                self.tell(format!("stage: {now} {info}").trim_end());
            }
            match state["state"].as_str() {
                Some("added-to-existing-cluster") => Ok(Ok(())),
                Some("error") => Ok(Err(HostsError::Wrong(format!("{state} {progress}")))),
                _ => Err(format!("{state} {progress}")),
            }
        })??;
        let node = until("a Ready node", MACHINE_PATIENCE, || {
            let node = self.node()?;
            ready_without_taint(&node)?;
            Ok(node)
        })?;
        let info = &node["status"]["nodeInfo"];
        self.tell(&format!(
            "the node {} is Ready: kubelet {}, {}, Linux {}",
            node["metadata"]["name"].as_str().unwrap_or_default(),
            info["kubeletVersion"].as_str().unwrap_or_default(),
            info["osImage"].as_str().unwrap_or_default(),
            info["kernelVersion"].as_str().unwrap_or_default(),
        ));
        Ok(())
    }

    /// A controller that started the machine from an image has nothing in its drive any more.
    fn has_an_empty_drive(&mut self) -> Result<(), HostsError> {
        let Power::Controller(machine) = &self.power else { return Ok(()) };
        until("an empty drive", PATIENCE, || match machine.is_drive_full() {
            Ok(false) => Ok(()),
            other => Err(format!("{other:?}")),
        })?;
        self.tell("the image was taken out of the virtual drive");
        Ok(())
    }

    /// The host belongs to nobody, and may be taken by anybody.
    fn becomes_free(&self) -> Result<(), HostsError> {
        until("a free host", MACHINE_PATIENCE, || {
            let agent = self.agent()?;
            let (state, spec) = (&agent["status"]["debugInfo"], &agent["spec"]);
            let is_bound = spec["clusterDeploymentName"]["name"].is_string();
            let is_free = state["state"] == "known-unbound" && !is_bound && spec["approved"] == true;
            if is_free { Ok(()) } else { Err(format!("{state} {spec}")) }
        })
    }

    fn leaves_no_node(&self) -> Result<(), HostsError> {
        until("a cluster without nodes", PATIENCE, || {
            let nodes = self.plane.guest(&["get", "nodes", "-o", "name"]).map_err(|error| error.to_string())?;
            if nodes.trim().is_empty() { Ok(()) } else { Err(nodes) }
        })
    }

    fn turns_off(&mut self) -> Result<(), HostsError> {
        match &mut self.power {
            Power::Person(machine) => machine.turn_off(),
            Power::Controller(machine) => {
                let off = r#"{"spec":{"online":false}}"#;
                let host = ["patch", "baremetalhost", "-n", SPACE, BARE_METAL_HOST, "--type=merge", "-p", off];
                self.plane.management(&host)?;
                until("a machine that is off", MACHINE_PATIENCE, || match machine.is_on() {
                    Ok(false) => Ok(()),
                    other => Err(format!("{other:?}")),
                })
            }
        }
    }

    /// The only Agent.
    fn agent(&self) -> Result<Value, String> {
        let list = object(self.plane, &["get", "agents", "-n", SPACE])?;
        match list["items"].as_array().map(Vec::as_slice) {
            Some([agent]) => Ok(agent.clone()),
            other => Err(format!("{} Agents", other.map_or(0, <[Value]>::len))),
        }
    }

    fn node(&self) -> Result<Value, String> {
        let text = self.plane.guest(&["get", "nodes", "-o", "json"]).map_err(|error| error.to_string())?;
        let nodes: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        Ok(nodes["items"][0].clone())
    }
}

/// An object of the management plane.
pub(super) fn object(plane: &ControlPlane, arguments: &[&str]) -> Result<Value, String> {
    let arguments: Vec<&str> = arguments.iter().copied().chain(["-o", "json"]).collect();
    let text = plane.management(&arguments).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}
