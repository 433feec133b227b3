//! What of an Agent matters to those who look for a host.

use std::collections::BTreeMap;

use roost_api::agent_install::HostState;
use roost_api::agent_install::names::{annotation as names, label};
use roost_host::measurement::{RemoteCard, RemoteHost};
use serde_json::Value;

use crate::agent;
use crate::discovery::Place;
use crate::object::{annotation, is_deleting};

/// On an Agent: how often an installation on its host failed since it last succeeded.
pub(crate) const FAILURES: &str = "roost.dev/failed-installations";

/// A host that failed so often is left alone until a person removes the annotation: else a pool of broken hosts would
/// install for ever.
const MOST_FAILURES: u32 = 3;

/// The labels of an Agent that say where its host stands.
const ZONE: &str = "topology.kubernetes.io/zone";
const RACK: &str = "topology.kubernetes.io/rack";

/// Addresses of one card that others are told.
const MOST_ADDRESSES: usize = 4;

/// A zone and a rack in it.
pub(crate) type Standing = (String, String);

/// How good a host is in itself: the lower, the better. Hosts that failed come last, then the largest.
pub(crate) type Rank = (u32, i64, i64, String);

/// What of an Agent matters to those who look for a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) place: Place,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) is_approved: bool,
    pub(crate) is_deleting: bool,
    pub(crate) state: HostState,
    /// The AgentMachine that has it.
    pub(crate) machine: Option<Place>,
    /// The cluster that it belongs to.
    pub(crate) cluster: Option<Place>,
    pub(crate) hostname: String,
    pub(crate) processors: i64,
    pub(crate) mebibytes: i64,
    pub(crate) failures: u32,
    /// The Secret with the token of its configuration.
    pub(crate) configuration: Option<String>,
    pub(super) cards: Vec<RemoteCard>,
}

/// The hosts among which one tries how it reaches others: those of its cluster, or of its environment while it has none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Circle {
    Cluster(Place),
    Environment(Place),
}

impl Host {
    pub(crate) fn of(agent: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let metadata = &agent["metadata"];
        let place = (text(&metadata["namespace"])?, text(&metadata["name"])?);
        let labels: BTreeMap<String, String> = metadata["labels"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.clone(), text(value)?)))
            .collect();
        let machine = labels
            .get(label::AGENT_MACHINE)
            .map(|name| (annotation(agent, names::AGENT_MACHINE_NAMESPACE).to_owned(), name.clone()));
        let cluster = &agent["spec"]["clusterDeploymentName"];
        let inventory = &agent["status"]["inventory"];
        let cards = inventory["interfaces"].as_array().into_iter().flatten();
        Some(Self {
            place,
            labels,
            is_approved: agent["spec"]["approved"] == true,
            is_deleting: is_deleting(agent),
            state: agent::state_of(agent),
            machine,
            cluster: text(&cluster["name"]).map(|name| (text(&cluster["namespace"]).unwrap_or_default(), name)),
            hostname: agent::hostname(agent),
            processors: inventory["cpu"]["count"].as_i64().unwrap_or_default(),
            mebibytes: inventory["memory"]["physicalBytes"].as_i64().unwrap_or_default() >> 20,
            failures: annotation(agent, FAILURES).parse().unwrap_or_default(),
            configuration: text(&agent["spec"]["ignitionEndpointTokenReference"]["name"]),
            cards: cards.filter_map(card).collect(),
        })
    }

    pub(super) fn circle(&self) -> Option<Circle> {
        let environment =
            || Some(Circle::Environment((self.place.0.clone(), self.labels.get(label::INFRA_ENV)?.clone())));
        self.cluster.clone().map(Circle::Cluster).or_else(environment)
    }

    /// What others are told to reach; none while nobody would answer.
    pub(super) fn as_peer(&self) -> Option<RemoteHost> {
        let is_there = matches!(
            self.state,
            HostState::KnownUnbound
                | HostState::InsufficientUnbound
                | HostState::Known
                | HostState::Insufficient
                | HostState::AddedToExistingCluster
        );
        let nics: Vec<RemoteCard> = self.cards.iter().filter(|card| !card.ip_addresses.is_empty()).cloned().collect();
        (is_there && !nics.is_empty()).then(|| RemoteHost { host_id: self.place.1.clone(), nics })
    }

    /// Where it stands.
    pub(crate) fn standing(&self) -> Standing {
        let label = |key: &str| self.labels.get(key).cloned().unwrap_or_default();
        (label(ZONE), label(RACK))
    }

    /// How good it is in itself, among the hosts of its namespace.
    pub(crate) fn rank(&self) -> Rank {
        (self.failures, self.processors, self.mebibytes, self.place.1.clone())
    }

    /// Why no pool may take it; none when one may.
    pub(super) fn reason(&self) -> Option<&'static str> {
        if self.is_free() {
            None
        } else if self.machine.is_some() || self.cluster.is_some() {
            Some("taken")
        } else if !self.is_approved {
            Some("not approved")
        } else if self.failures >= MOST_FAILURES {
            Some("failed three times (remove their annotation roost.dev/failed-installations to try again)")
        } else if self.state == HostState::InsufficientUnbound {
            Some("insufficient")
        } else if matches!(self.state, HostState::DisconnectedUnbound | HostState::UnbindingPendingUserAction) {
            Some("disconnected")
        } else {
            Some("not ready yet")
        }
    }

    /// Whether a pool may take it.
    pub(crate) fn is_free(&self) -> bool {
        self.is_approved
            && !self.is_deleting
            && self.machine.is_none()
            && self.cluster.is_none()
            && self.state == HostState::KnownUnbound
            && self.failures < MOST_FAILURES
    }
}

fn card(card: &Value) -> Option<RemoteCard> {
    let lists = [&card["ipV4Addresses"], &card["ipV6Addresses"]];
    let texts = lists.into_iter().filter_map(Value::as_array).flatten().filter_map(Value::as_str);
    let plain = texts.filter_map(|text| text.split('/').next()).filter(|text| !text.starts_with("fe80"));
    Some(RemoteCard {
        name: card["name"].as_str().unwrap_or_default().to_owned(),
        mac: card["macAddress"].as_str()?.to_ascii_lowercase(),
        ip_addresses: plain.take(MOST_ADDRESSES).map(str::to_owned).collect(),
    })
}
