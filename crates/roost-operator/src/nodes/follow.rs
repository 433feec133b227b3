//! Watching a hosted cluster's nodes and requests, and handing on what changed.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt as _};
use futures::{Stream, pin_mut};
use kube::api::{Api, DynamicObject};
use kube::runtime::watcher::{self, Event};
use roost_runtime::Runtime;
use serde_json::Value;

use super::Cluster;
use super::answer::answer;
use crate::approver::Request;
use crate::object::{Kind, Objects};
use crate::queue::{Controller, Key};

/// How soon a hosted API that went away is asked again.
const RETRY: Duration = Duration::from_millis(500);
/// How often open requests are looked at again, beside when something changes.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// Requests of one cluster that are being answered at the same time.
const CONCURRENCY: usize = 16;

/// Follows a cluster until the task is aborted.
pub(super) async fn follow<R: Runtime>(cluster: Arc<Cluster>, runtime: Arc<R>) {
    loop {
        // A plane that was started anew is another one behind the same name.
        if let Some(client) = runtime.client(&cluster.plane) {
            watch(&cluster, &Objects::new(client)).await;
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// What has to be looked at, each once.
#[derive(Default)]
struct Due {
    order: VecDeque<String>,
    known: HashSet<String>,
}

impl Due {
    fn add(&mut self, name: String) {
        if self.known.insert(name.clone()) {
            self.order.push_back(name);
        }
    }

    fn take(&mut self) -> Option<String> {
        let name = self.order.pop_front()?;
        self.known.remove(&name);
        Some(name)
    }
}

/// Follows until the hosted API no longer answers.
async fn watch(cluster: &Cluster, guest: &Objects) {
    let (nodes, requests) = (events(guest, Kind::Node), events(guest, Kind::CertificateSigningRequest));
    pin_mut!(nodes, requests);
    let mut due = Due::default();
    let mut working = FuturesUnordered::new();
    let mut seen = HashSet::new();
    let mut again = tokio::time::interval(LOOK_AGAIN);
    again.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let is_ready = cluster.memory.lock().knows_nodes && cluster.fleet.is_synced();
        while is_ready && working.len() < CONCURRENCY {
            let Some(name) = due.take() else { break };
            working.push(answer(cluster, guest, name));
        }
        tokio::select! {
            event = nodes.next() => match event {
                Some(Ok(event)) => node(cluster, event, &mut seen, &mut due),
                _ => break,
            },
            event = requests.next() => match event {
                Some(Ok(event)) => request(cluster, event, &mut due),
                _ => break,
            },
            Some(unfinished) = working.next(), if !working.is_empty() => {
                if let Some(name) = unfinished {
                    due.add(name);
                }
            }
            () = cluster.settings_changed.notified() => all(cluster, &mut due),
            () = cluster.node_changed.notified() => touched(cluster, &mut due),
            _ = again.tick() => all(cluster, &mut due),
        }
    }
    let mut memory = cluster.memory.lock();
    memory.knows_nodes = false;
    memory.requests.clear();
}

fn events(guest: &Objects, kind: Kind) -> impl Stream<Item = Result<Event<DynamicObject>, watcher::Error>> {
    let api: Api<DynamicObject> = Api::all_with(guest.client(), &kind.resource());
    watcher::watcher(api, watcher::Config::default())
}

fn all(cluster: &Cluster, due: &mut Due) {
    for name in cluster.memory.lock().requests.keys() {
        due.add(name.clone());
    }
}

/// The requests of the nodes that something changed for, and of no others: with many that join, all would be too many.
fn touched(cluster: &Cluster, due: &mut Due) {
    let nodes = std::mem::take(&mut *cluster.touched.lock());
    let memory = cluster.memory.lock();
    for request in nodes.iter().flat_map(|node| memory.requests_of(node)) {
        due.add(request);
    }
}

fn node(cluster: &Cluster, event: Event<DynamicObject>, seen: &mut HashSet<String>, due: &mut Due) {
    let mut memory = cluster.memory.lock();
    let name = match event {
        Event::Init => {
            seen.clear();
            return;
        }
        Event::InitDone => {
            memory.keep_nodes(seen);
            return;
        }
        Event::Apply(object) | Event::InitApply(object) => {
            let name = object.metadata.name.clone().unwrap_or_default();
            seen.insert(name.clone());
            let object = serde_json::to_value(object).unwrap_or_default();
            if !memory.learn_node(&object) {
                return;
            }
            name
        }
        Event::Delete(object) => {
            let name = object.metadata.name.unwrap_or_default();
            seen.remove(&name);
            memory.forget_node(&name);
            name
        }
    };
    for request in memory.requests_of(&name) {
        due.add(request);
    }
    drop(memory);
    if let Some(machine) = cluster.fleet.holder(&cluster.namespace, &name) {
        cluster.queue.add(Key::new(Controller::Machine, &cluster.namespace, &machine));
    }
}

fn request(cluster: &Cluster, event: Event<DynamicObject>, due: &mut Due) {
    let (object, is_gone) = match event {
        Event::Apply(object) | Event::InitApply(object) => (object, false),
        Event::Delete(object) => (object, true),
        Event::Init | Event::InitDone => return,
    };
    let name = object.metadata.name.clone().unwrap_or_default();
    let mut memory = cluster.memory.lock();
    if is_gone {
        memory.forget_request(&name);
        return;
    }
    let object: Value = serde_json::to_value(object).unwrap_or_default();
    if let Some(request) = Request::read(&object)
        && memory.learn_request(request)
    {
        due.add(name);
    }
}
