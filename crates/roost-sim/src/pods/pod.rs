//! One pod on a simulated node: its containers in their order, its end, and what it has to say.

use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::container::{Container, Role, State, after};

/// How a pod is, as far as others act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// It lives.
    Alive,
    /// Its containers have ended for good.
    Over,
    /// It was deleted, its containers have ended, and the object can go.
    Gone,
}

/// A pod on a node.
#[derive(Clone, Debug)]
pub(super) struct Pod {
    pub(super) uid: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) accepted: Timestamp,
    pub(super) address: Option<IpAddr>,
    pub(super) containers: Vec<Container>,
    /// When it was first seen that it is to go.
    stopping: Option<Timestamp>,
    stopped: bool,
}

impl Pod {
    /// Takes a pod on. One that ran here before this host was started again runs again.
    pub(super) fn accept(pod: &Value, address: Option<IpAddr>, now: Timestamp) -> Self {
        let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let restarts = |list: &str, name: &Value| {
            let statuses = pod["status"][list].as_array().into_iter().flatten();
            let known = statuses.into_iter().find(|status| &status["name"] == name);
            known
                .filter(|status| status["containerID"].is_string())
                .map_or(0, |status| status["restartCount"].as_u64().unwrap_or_default() + 1)
        };
        let list = |field: &str| pod["spec"][field].as_array().cloned().unwrap_or_default();
        let initial = list("initContainers").into_iter().map(|spec| {
            let role = if spec["restartPolicy"] == "Always" { Role::Sidecar } else { Role::Initial };
            let restarts = restarts("initContainerStatuses", &spec["name"]);
            Container::new(pod, &spec, role, restarts)
        });
        let main = list("containers").into_iter().map(|spec| {
            let restarts = restarts("containerStatuses", &spec["name"]);
            Container::new(pod, &spec, Role::Main, restarts)
        });
        Self {
            uid: text("/metadata/uid"),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
            accepted: now,
            address,
            containers: initial.chain(main).collect(),
            stopping: None,
            stopped: false,
        }
    }

    /// Lets time pass.
    pub(super) fn advance(&mut self, pod: &Value, now: Timestamp) -> Outlook {
        if pod["metadata"]["deletionTimestamp"].is_string() {
            self.stopping.get_or_insert(now);
        }
        if let Some(deadline) = self.deadline(pod) {
            if deadline <= now && !self.stopped {
                self.containers.iter_mut().for_each(|container| container.stop(now));
                self.stopped = true;
            }
            return if self.stopped { Outlook::Gone } else { Outlook::Alive };
        }
        // A container that begins lets others begin, so that one pass after the other finds less to do.
        for place in 0..self.containers.len() {
            let (before, rest) = self.containers.split_at_mut(place);
            let Some(container) = rest.first_mut() else { break };
            let held = before.iter().any(|earlier| !earlier.lets_others_begin());
            if !held {
                let turn = before.iter().filter(|earlier| earlier.role != Role::Main).filter_map(begun).max();
                container.release(turn.unwrap_or(self.accepted).min(now));
            }
            container.advance(now);
        }
        if self.outcome().is_some() {
            self.containers.iter_mut().filter(|container| container.role == Role::Sidecar).for_each(|sidecar| {
                sidecar.stop(now);
            });
            return Outlook::Over;
        }
        Outlook::Alive
    }

    /// Whether the pod succeeded, once its containers have ended for good.
    pub(super) fn outcome(&self) -> Option<bool> {
        let initial = self.containers.iter().filter(|container| container.role == Role::Initial);
        if initial.filter_map(Container::is_over).any(|code| code != 0) {
            return Some(false);
        }
        let mut succeeded = true;
        for container in self.containers.iter().filter(|container| container.role == Role::Main) {
            succeeded &= container.is_over()? == 0;
        }
        Some(succeeded)
    }

    /// Whether it is being ended, and all has ended.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped
    }

    fn deadline(&self, pod: &Value) -> Option<Timestamp> {
        let stopping = self.stopping?;
        if self.containers.iter().any(|container| container.behaviour.ignores_term && is_running(container)) {
            let grace = pod["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or_default();
            return Some(after(stopping, SignedDuration::from_secs(grace.clamp(0, 86_400))));
        }
        Some(stopping)
    }

    /// When something happens next by itself.
    pub(super) fn due(&self, pod: &Value, now: Timestamp) -> Option<Timestamp> {
        if let Some(deadline) = self.deadline(pod) {
            return (!self.stopped).then_some(deadline);
        }
        if self.outcome().is_some() {
            return None;
        }
        let ready = self.containers.iter().filter_map(Container::ready_at).filter(|time| *time > now);
        self.containers.iter().filter_map(Container::due).chain(ready).min()
    }
}

fn is_running(container: &Container) -> bool {
    matches!(container.state, State::Running(_))
}

/// When a container that others wait for was through.
fn begun(container: &Container) -> Option<Timestamp> {
    match container.state {
        State::Ended(end) => Some(end.finished),
        State::Running(since) => Some(since),
        _ => None,
    }
}
