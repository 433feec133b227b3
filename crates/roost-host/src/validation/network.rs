//! The checks of a host's network.

use ipnet::IpNet;
use jiff::SignedDuration;
use roost_api::agent_install::Inventory;
use roost_api::agent_install::validation::network as id;

use super::{Check, Facts, Finding};

/// How far a host's clock may be behind ours: certificates that it gets must be good already.
const MOST_BEHIND: SignedDuration = SignedDuration::from_mins(20);
/// How far it may be ahead. A minute less than upstream's value, because what is wrong by a time zone is wrong by an hour.
const MOST_AHEAD: SignedDuration = SignedDuration::from_mins(59);

pub(super) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = vec![connected(facts), media(facts), route(facts), clock(facts), time_servers(facts)];
    if facts.is_bound {
        findings.push(reach(facts));
        for check in [id::MACHINE_CIDR_DEFINED, id::BELONGS_TO_MACHINE_CIDR] {
            findings.push(Check::network(check).pass("Not needed by a worker of a hosted cluster, wherever it is"));
        }
    }
    findings.extend(facts.inventory.map(subnets));
    findings
}

fn connected(facts: &Facts<'_>) -> Finding {
    let check = Check::network(id::CONNECTED);
    if facts.is_connected {
        check.pass("Host is connected")
    } else {
        check.fail("Host has stopped asking for instructions; check its power, network and agent")
    }
}

fn media(facts: &Facts<'_>) -> Finding {
    let check = Check::network(id::MEDIA_CONNECTED);
    if facts.is_media_lost {
        check.fail("The medium that the host runs from cannot be read; insert it again and restart the host")
    } else {
        check.pass("Media is connected")
    }
}

fn route(facts: &Facts<'_>) -> Finding {
    let check = Check::network(id::HAS_DEFAULT_ROUTE);
    match facts.has_default_route {
        Some(true) => check.pass("Host has been configured with at least one default route."),
        Some(false) => check.fail(
            "Host has no default route, and needs one with a gateway; set a gateway by DHCP or in its NMStateConfig",
        ),
        None => check.wait("The routes of the host are not known yet"),
    }
}

fn clock(facts: &Facts<'_>) -> Finding {
    let check = Check::network(id::TIME_SYNCED);
    let Some(ahead) = facts.clock_ahead else { return check.wait("The clock of the host is not known yet").gateless() };
    let seconds = ahead.as_secs();
    if ahead > MOST_AHEAD || ahead < -MOST_BEHIND {
        let side = if seconds > 0 { "ahead of" } else { "behind" };
        check.fail(format!(
            "The clock of the host is {} s {side} the service, and at most {} s ahead or {} s behind are good; name a reachable server in additionalNTPSources or set the hardware clock",
            seconds.abs(),
            MOST_AHEAD.as_secs(),
            MOST_BEHIND.as_secs(),
        ))
    } else {
        check.pass("Host clock is synchronized with service")
    }
}

fn time_servers(facts: &Facts<'_>) -> Finding {
    let check = Check::network(id::NTP_SYNCED).informative();
    match facts.time_servers {
        Some((_, followed)) if followed > 0 => check.pass("Host NTP is synced"),
        Some((known, _)) => check.fail(format!(
            "Host follows none of its {known} time servers, and one is enough; add a reachable one to additionalNTPSources"
        )),
        None => check.wait("The time servers of the host are not known yet"),
    }
}

fn reach(facts: &Facts<'_>) -> Finding {
    let check = Check::network(id::IGNITION_DOWNLOADABLE);
    match facts.reach {
        Some((true, _)) => check.pass("Ignition is downloadable"),
        Some((false, why)) => check.fail(format!(
            "Host does not reach the ignition endpoint of its cluster ({why}); open the way from the host to the address of the service Ignition of the HostedCluster"
        )),
        None if facts.tells_reach => check.wait("Host has not tried the ignition endpoint of its cluster yet"),
        None => check.wait("The agent of the host does not try the ignition endpoint before it installs").gateless(),
    }
}

fn subnets(inventory: &Inventory) -> Finding {
    let check = Check::network(id::NON_OVERLAPPING_SUBNETS);
    let mut all: Vec<(&str, IpNet)> = Vec::new();
    for interface in &inventory.interfaces {
        let name = interface.name.as_deref().unwrap_or_default();
        for text in interface.ipv4_addresses.iter().chain(&interface.ipv6_addresses) {
            if let Ok(network) = text.parse::<IpNet>() {
                all.push((name, network.trunc()));
            }
        }
    }
    let is_link_local = |network: &IpNet| match network {
        IpNet::V4(network) => network.addr().is_link_local(),
        IpNet::V6(network) => network.addr().is_unicast_link_local(),
    };
    all.retain(|(_, network)| !is_link_local(network));
    all.truncate(MAX_SUBNETS);
    for (place, (name, network)) in all.iter().enumerate() {
        for (other, second) in &all[place + 1..] {
            if name != other && (network.contains(second) || second.contains(network)) {
                return check.fail(format!(
                    "The networks {network} of {name} and {second} of {other} overlap; give one of the interfaces another network or take its address away"
                ));
            }
        }
    }
    check.pass("Host subnets are not overlapping")
}

/// Each is compared with each.
const MAX_SUBNETS: usize = 256;

impl Finding {
    /// The same, but the host can be used all the same.
    pub(super) fn gateless(mut self) -> Self {
        self.is_gate = false;
        self
    }
}

#[cfg(test)]
mod tests {
    use roost_api::agent_install::{Interface, ValidationStatus};

    use super::*;

    #[test]
    fn two_cards_in_one_network_are_named() {
        let card = |name: &str, address: &str| Interface {
            name: Some(name.to_owned()),
            ipv4_addresses: vec![address.to_owned()],
            ..Interface::default()
        };
        let apart = Inventory {
            interfaces: vec![card("a", "192.0.2.1/25"), card("b", "192.0.2.129/25"), card("c", "169.254.1.1/16")],
            ..Inventory::default()
        };
        assert_eq!(subnets(&apart).status, ValidationStatus::Success);
        let together = Inventory { interfaces: vec![card("a", "192.0.2.1/24"), card("b", "192.0.2.129/25")], ..apart };
        assert!(subnets(&together).message.contains("192.0.2.0/24 of a and 192.0.2.128/25 of b"));
    }
}
