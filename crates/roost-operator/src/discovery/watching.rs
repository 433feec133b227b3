//! From changes of InfraEnvs, Agents, AgentClassifications, BareMetalHosts and AgentMachines to what has to be looked at.

use std::sync::Arc;
use std::time::Duration;

use futures::pin_mut;
use kube::api::{Api, DynamicObject};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use roost_api::agent_install::names::{annotation as names, label};

use super::Discovery;
use crate::object::{Kind, Objects, annotation};
use crate::queue::{Controller, Key, Queue};
use crate::watch::{Seen, follow, next, pool_of};

/// How long a machine's report may lag behind its host.
const REPORT: Duration = Duration::from_millis(100);

/// Follows all kinds of discovery until the future is dropped.
pub(crate) async fn watch(objects: &Objects, queue: &Queue, discovery: &Arc<Discovery>) {
    tokio::join!(
        agents(objects, queue, discovery),
        follow(objects, Kind::InfraEnv, None, |change| {
            let (namespace, name) = change.identity();
            if change.is_meaningful {
                queue.add(Key::new(Controller::InfraEnv, namespace, name));
            }
        }),
        follow(objects, Kind::AgentServiceConfig, None, |change| {
            let (_, name) = change.identity();
            if change.is_meaningful {
                queue.add(Key::new(Controller::AgentServiceConfig, "", name));
            }
        }),
        follow(objects, Kind::AgentClassification, None, |change| {
            let (namespace, name) = change.identity();
            if change.is_meaningful {
                queue.add(Key::new(Controller::AgentClassification, namespace, name));
                // Who gets its label is each Agent's to find out.
                for (space, agent) in discovery.hosts.all_of(namespace) {
                    queue.add(Key::new(Controller::Agent, &space, &agent));
                }
            }
        }),
        follow(objects, Kind::NMStateConfig, None, |change| {
            let (namespace, _) = change.identity();
            for (space, name) in discovery.environments.all() {
                if change.is_meaningful && space == namespace {
                    queue.add_within(Key::new(Controller::InfraEnv, &space, &name), REPORT);
                }
            }
        }),
        follow(objects, Kind::BareMetalHost, None, |change| {
            let (namespace, name) = change.identity();
            if change.is_meaningful {
                queue.add(Key::new(Controller::BareMetalHost, namespace, name));
            }
        }),
        follow(objects, Kind::AgentMachine, None, |change| {
            let (namespace, name) = change.identity();
            if change.is_meaningful {
                queue.add(Key::new(Controller::AgentMachine, namespace, name));
                if let Some((space, pool)) = pool_of(change.metadata) {
                    queue.add(Key::new(Controller::AgentPool, space, pool));
                }
            }
        }),
    );
}

/// Agents are followed whole, for what of their status matters to pools.
async fn agents(objects: &Objects, queue: &Queue, discovery: &Discovery) {
    let api: Api<DynamicObject> = Api::all_with(objects.client(), &Kind::Agent.resource());
    let events = watcher::watcher(api, watcher::Config::default()).default_backoff();
    pin_mut!(events);
    let mut seen = Seen::default();
    while let Some(event) = next(&mut events, Kind::Agent).await {
        let (object, is_gone) = match event {
            Event::Apply(object) | Event::InitApply(object) => (object, false),
            Event::Delete(object) => (object, true),
            Event::Init => {
                seen.clear();
                discovery.hosts.restart();
                continue;
            }
            Event::InitDone => {
                discovery.hosts.complete();
                continue;
            }
        };
        let is_new = is_gone || seen.is_new(&object.metadata);
        if is_gone {
            seen.forget(&object.metadata);
        }
        let agent = serde_json::to_value(object).unwrap_or_default();
        let text = |field: &str| agent["metadata"][field].as_str().unwrap_or_default().to_owned();
        let place = (text("namespace"), text("name"));
        if is_gone {
            discovery.hosts.forget(&place);
        } else {
            for (space, pool) in discovery.hosts.learn(&agent) {
                queue.add(Key::new(Controller::AgentPool, &space, &pool));
            }
        }
        if is_new {
            queue.add(Key::new(Controller::Agent, &place.0, &place.1));
        }
        if let Some(machine) = agent["metadata"]["labels"][label::AGENT_MACHINE].as_str() {
            let namespace = annotation(&agent, names::AGENT_MACHINE_NAMESPACE);
            queue.add_within(Key::new(Controller::AgentMachine, namespace, machine), REPORT);
        }
        if let Some(host) = agent["metadata"]["labels"][label::BARE_METAL_HOST].as_str() {
            queue.add_within(Key::new(Controller::BareMetalHost, &place.0, host), REPORT);
        }
        discovery.presence.wake(&place);
    }
}
