//! The checks of what is around a host: other hosts, and the names that lead to its cluster.
//!
//! A worker of a hosted cluster needs its control plane and no neighbours, so how it reaches other hosts is shown and keeps
//! nobody from being used, unless the host's NodePool requires it.

use std::time::Duration;

use roost_api::agent_install::validation::network as id;

use super::{Check, Facts, Finding};
use crate::measurement::{MOST_LOSS, MOST_ROUND_TRIP, Reachability};

/// What is known of the way to other hosts.
#[derive(Clone, Copy, Debug)]
pub enum Surroundings<'a> {
    /// There is no other host to reach.
    Alone,
    /// There are others, and the host did not say yet how it reaches them.
    Unmeasured,
    /// What it said.
    Measured(&'a Reachability),
}

/// A name that leads to a host's cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededName {
    /// What it is needed for.
    pub purpose: Purpose,
    /// The name, or an address.
    pub name: String,
    /// What it resolves to on the host; unknown until the host said so.
    pub addresses: Option<Vec<String>>,
}

/// What a name is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Nodes reach the API by it.
    Api,
    /// Hosts fetch their configuration by it; where that is, is upstream's internal name.
    Configuration,
    /// People reach applications by it. No node needs it.
    Applications,
}

impl NeededName {
    /// Whether nothing has to be resolved.
    pub fn is_address(&self) -> bool {
        self.name.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok()
    }
}

pub(super) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = vec![group(facts), latency(facts), loss(facts)];
    if facts.is_bound {
        findings.extend(facts.names.iter().map(|name| resolution(facts, name)));
    }
    findings
}

/// What a check says while there is nothing to judge.
fn unmeasured<'a>(facts: &Facts<'a>, check: Check) -> Result<&'a Reachability, Finding> {
    match facts.surroundings {
        Surroundings::Alone => Err(check.pass("There is no other host to reach")),
        Surroundings::Unmeasured => Err(check.wait("Host has not said yet how it reaches other hosts")),
        Surroundings::Measured(known) => Ok(known),
    }
}

fn group(facts: &Facts<'_>) -> Finding {
    let check = || Check::network(id::BELONGS_TO_MAJORITY_GROUP).informative();
    let known = match unmeasured(facts, check()) {
        Ok(known) => known,
        Err(finding) => return finding,
    };
    let reached = known.asked - known.missed.len().min(known.asked);
    if reached * 2 > known.asked || known.asked == 0 {
        check().pass(format!("Host reaches {reached} of the {} other hosts that it tried", known.asked))
    } else {
        check().fail(format!(
            "Host reaches {reached} of the {} other hosts that it tried (not {}), and more than half are wanted; let ICMP echo pass between the networks of the hosts, or leave it so: a worker needs its control plane only",
            known.asked,
            known.missed.join(", "),
        ))
    }
}

fn latency(facts: &Facts<'_>) -> Finding {
    let check = || Check::network(id::SUFFICIENT_LATENCY).informative();
    let known = match unmeasured(facts, check()) {
        Ok(known) => known,
        Err(finding) => return finding,
    };
    let Some((time, host)) = &known.slowest else {
        return check().fail("Host reaches none of the other hosts that it tried, so no time was measured; let ICMP echo pass between the networks of the hosts, or leave it so");
    };
    let time = Duration::from_micros(*time);
    let words = format!("a packet to {host} and back takes {}", milliseconds(time));
    if time <= MOST_ROUND_TRIP {
        check().pass(format!("Of all other hosts that it tried, {words}, which is the longest"))
    } else {
        check().fail(format!(
            "From the host {words}, and at most {} are wanted; look for what is slow between both, or leave it so: a worker needs its control plane only",
            milliseconds(MOST_ROUND_TRIP)
        ))
    }
}

fn loss(facts: &Facts<'_>) -> Finding {
    let check = || Check::network(id::SUFFICIENT_PACKET_LOSS).informative();
    let known = match unmeasured(facts, check()) {
        Ok(known) => known,
        Err(finding) => return finding,
    };
    let Some((percent, host)) = &known.worst_loss else {
        return check().fail("Host reaches none of the other hosts that it tried, so all packets are lost; let ICMP echo pass between the networks of the hosts, or leave it so");
    };
    if *percent <= MOST_LOSS {
        check().pass(format!("Of the packets to {host} {percent}% are lost, which is the most"))
    } else {
        check().fail(format!(
            "Of the packets to {host} {percent}% are lost, and at most {MOST_LOSS}% are wanted; check cables and cards between both, or leave it so: a worker needs its control plane only"
        ))
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

fn resolution(facts: &Facts<'_>, needed: &NeededName) -> Finding {
    let (check, what) = match needed.purpose {
        Purpose::Api => (Check::network(id::API_NAME_RESOLVES), "the API of its cluster"),
        Purpose::Configuration => (Check::network(id::INTERNAL_API_NAME_RESOLVES), "its configuration"),
        Purpose::Applications => {
            (Check::network(id::APPS_NAME_RESOLVES).informative(), "the applications of its cluster")
        }
    };
    let name = &needed.name;
    if needed.is_address() {
        return check.pass(format!("{name}, which leads to {what}, is an address and has not to be resolved"));
    }
    let own = |address: &&String| facts.inventory.is_some_and(|inventory| has_address(inventory, address));
    match &needed.addresses {
        None => {
            let waits = check.wait(format!("Host has not said yet whether it resolves {name}, which leads to {what}"));
            if facts.tells_reach { waits } else { waits.gateless() }
        }
        Some(addresses) if addresses.is_empty() => check.fail(format!(
            "Host does not resolve {name}, which leads to {what}, and needs one address; add the name to the DNS servers that the host asks, or name others by DHCP or in its NMStateConfig"
        )),
        Some(addresses) if addresses.iter().any(|address| own(&address)) => check.fail(format!(
            "Host resolves {name}, which leads to {what}, to its own address {}; correct the name in DNS",
            addresses.join(", ")
        )),
        Some(addresses) => check.pass(format!("Host resolves {name}, which leads to {what}, to {}", addresses.join(", "))),
    }
}

fn has_address(inventory: &roost_api::agent_install::Inventory, address: &str) -> bool {
    let cards = inventory.interfaces.iter();
    let mut own = cards.flat_map(|card| card.ipv4_addresses.iter().chain(&card.ipv6_addresses));
    own.any(|text| text.split('/').next() == Some(address))
}
