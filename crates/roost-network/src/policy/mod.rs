//! Network policies, decided: for each pod of a node that a policy is about, what is let through to it and from it.
//!
//! A pod that no policy is about is not in the plan, and everything reaches it. One that policies are about gets what any
//! of them lets through, and nothing else.

mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use roost_object::selector::Selector;
use serde_json::Value;

use crate::model::{Direction, Key, Labels, Model, Number, Peer, Pod, Port, Protocol, Rule};

pub(crate) use text::{CHAIN, write};

/// What is let through on a node. Sets and chains go by their place in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Addresses of pods at the other end.
    pub peers: Vec<BTreeSet<IpAddr>>,
    /// Ports of pods at the other end that were given by name.
    pub places: Vec<BTreeSet<Place>>,
    /// Everything that is let through, the same for many pods.
    pub chains: Vec<(Direction, Vec<Allowed>)>,
    /// Which chain is for which address of a pod.
    pub pods: BTreeMap<(Direction, IpAddr), usize>,
}

/// A port of a pod.
pub type Place = (IpAddr, Protocol, u16);

/// Something that is let through.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Allowed {
    /// Who is at the other end.
    pub who: Who,
    /// By which protocol, and at which ports.
    pub ports: Option<(Protocol, Ports)>,
}

/// Who is at the other end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// Anybody.
    Anybody,
    /// Pods, as a set of addresses.
    Pods(usize),
    /// Ports of pods, as a set of places.
    Places(usize),
    /// Addresses, and which of them not.
    Block(IpNet, Vec<IpNet>),
}

/// Ports of one protocol: all of them where there is none.
pub type Ports = Vec<(u16, u16)>;

/// Decides for a node.
pub fn plan(model: &Model, node: &str) -> Plan {
    let mut plan = Plan::default();
    let mut chains = BTreeMap::new();
    let here: Vec<(&Key, &Pod)> = model.pods.iter().filter(|(_, pod)| pod.node == node).collect();
    for direction in Direction::ALL {
        let policies = compiled(model, &here, direction, &mut plan);
        for ((namespace, _), pod) in &here {
            let mut allowed = BTreeSet::new();
            let mut is_isolated = false;
            for policy in policies.iter().filter(|policy| policy.is_about(namespace, pod)) {
                is_isolated = true;
                allowed.extend(policy.rules.iter().flat_map(|rule| rule.allowed(pod, direction)));
            }
            if !is_isolated {
                continue;
            }
            let chain = (direction, allowed.into_iter().collect::<Vec<_>>());
            let number = *chains.entry(chain).or_insert_with_key(|chain| {
                plan.chains.push(chain.clone());
                plan.chains.len() - 1
            });
            plan.pods.extend(pod.addresses.iter().map(|address| ((direction, *address), number)));
        }
    }
    plan
}

/// A policy whose selectors were followed.
struct Compiled<'a> {
    namespace: &'a str,
    pods: Selector,
    rules: Vec<CompiledRule<'a>>,
}

/// A rule whose selectors were followed.
struct CompiledRule<'a> {
    who: Vec<Who>,
    ports: Option<&'a [Port]>,
    /// The ports of peers that go by name, where the connection is to those peers.
    places: Option<Who>,
}

impl Compiled<'_> {
    fn is_about(&self, namespace: &str, pod: &Pod) -> bool {
        self.namespace == namespace && self.pods.matches(&pod.labels)
    }
}

/// The policies that are about a direction and any of these pods.
fn compiled<'a>(model: &'a Model, here: &[(&Key, &Pod)], direction: Direction, plan: &mut Plan) -> Vec<Compiled<'a>> {
    let mut found = Vec::new();
    for (key, policy) in &model.policies {
        let Some(rules) = policy.rules(direction) else { continue };
        let mut compiled = Compiled { namespace: &key.0, pods: selector(&policy.pods), rules: Vec::new() };
        if here.iter().any(|((namespace, _), pod)| compiled.is_about(namespace, pod)) {
            compiled.rules = rules.iter().map(|rule| follow(model, key, rule, direction, plan)).collect();
            found.push(compiled);
        }
    }
    found
}

fn follow<'a>(model: &Model, key: &Key, rule: &'a Rule, direction: Direction, plan: &mut Plan) -> CompiledRule<'a> {
    let pods: Vec<&Pod> = match &rule.peers {
        None => model.pods.values().collect(),
        Some(peers) => {
            let chosen: Vec<Chosen> = peers.iter().filter_map(|peer| Chosen::of(peer, &key.0)).collect();
            let is_chosen = |key: &Key, pod: &Pod| chosen.iter().any(|chosen| chosen.has(model, &key.0, &pod.labels));
            model.pods.iter().filter(|(key, pod)| is_chosen(key, pod)).map(|(_, pod)| pod).collect()
        }
    };
    let mut who = Vec::new();
    match &rule.peers {
        None => who.push(Who::Anybody),
        Some(peers) => {
            let addresses: BTreeSet<IpAddr> = pods.iter().flat_map(|pod| &pod.addresses).copied().collect();
            who.extend(numbered(&mut plan.peers, addresses).map(Who::Pods));
            who.extend(peers.iter().filter_map(|peer| match peer {
                // The kernel refuses parts that overlap.
                Peer::Block { network, except } => Some(Who::Block(*network, IpNet::aggregate(except))),
                Peer::Pods { .. } => None,
            }));
        }
    }
    let places = (direction == Direction::Egress).then(|| places(&pods, rule));
    let places = places.and_then(|places| numbered(&mut plan.places, places)).map(Who::Places);
    CompiledRule { who, ports: rule.ports.as_deref(), places }
}

/// The ports of pods that a rule has by name.
fn places(pods: &[&Pod], rule: &Rule) -> BTreeSet<Place> {
    let mut places = BTreeSet::new();
    for port in rule.ports.iter().flatten() {
        let Number::Name(name) = &port.number else { continue };
        for pod in pods {
            let number = pod.port(name, port.protocol);
            places.extend(
                number
                    .into_iter()
                    .flat_map(|number| pod.addresses.iter().map(move |address| (*address, port.protocol, number))),
            );
        }
    }
    places
}

/// The place of a set in a list; the same for the same set, and none for an empty one.
fn numbered<T: Ord>(list: &mut Vec<BTreeSet<T>>, set: BTreeSet<T>) -> Option<usize> {
    if set.is_empty() {
        return None;
    }
    let known = list.iter().position(|other| *other == set);
    Some(known.unwrap_or_else(|| {
        list.push(set);
        list.len() - 1
    }))
}

impl CompiledRule<'_> {
    /// What it lets through for a pod that it is about.
    fn allowed(&self, pod: &Pod, direction: Direction) -> Vec<Allowed> {
        let Some(ports) = self.ports else {
            return self.who.iter().map(|who| Allowed { who: who.clone(), ports: None }).collect();
        };
        let mut by_protocol: BTreeMap<Protocol, Option<BTreeSet<(u16, u16)>>> = BTreeMap::new();
        for port in ports {
            let range = match &port.number {
                Number::Any => {
                    by_protocol.insert(port.protocol, None);
                    continue;
                }
                Number::Range(first, last) => (*first, *last),
                // Of a connection from the pod, the name is one that the other end gives.
                Number::Name(_) if direction == Direction::Egress => continue,
                Number::Name(name) => match pod.port(name, port.protocol) {
                    Some(number) => (number, number),
                    None => continue,
                },
            };
            if let Some(ranges) = by_protocol.entry(port.protocol).or_insert_with(|| Some(BTreeSet::new())) {
                ranges.insert(range);
            }
        }
        let mut allowed = Vec::new();
        for (protocol, ranges) in by_protocol {
            let ranges: Ports = ranges.into_iter().flatten().collect();
            let with = |who: &Who| Allowed { who: who.clone(), ports: Some((protocol, ranges.clone())) };
            allowed.extend(self.who.iter().map(with));
        }
        allowed.extend(self.places.iter().map(|who| Allowed { who: who.clone(), ports: None }));
        allowed
    }
}

/// Pods that a rule is about, with their selectors read.
struct Chosen {
    /// None where only the policy's own namespace is meant.
    namespaces: Option<Selector>,
    own: String,
    pods: Selector,
}

impl Chosen {
    fn of(peer: &Peer, own: &str) -> Option<Self> {
        let Peer::Pods { namespaces, pods } = peer else { return None };
        let pods = pods.as_ref().map_or_else(Selector::everything, selector);
        Some(Self { namespaces: namespaces.as_ref().map(selector), own: own.to_owned(), pods })
    }

    fn has(&self, model: &Model, namespace: &str, labels: &Labels) -> bool {
        let is_there = match &self.namespaces {
            None => namespace == self.own,
            Some(selector) => model.namespaces.get(namespace).is_some_and(|labels| selector.matches(labels)),
        };
        is_there && self.pods.matches(labels)
    }
}

/// One that cannot be read selects nothing.
fn selector(value: &Value) -> Selector {
    Selector::from_object(value).unwrap_or_else(|_| Selector::nothing())
}

#[cfg(test)]
mod tests;
