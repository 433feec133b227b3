//! Whether a request for a node's certificate is right: a pure function of the request, the facts and the time.

use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use roost_pki::{AlternativeName, CertificateRequest, PublicKey};

use super::facts::{Facts, Machine};
use super::request::{
    AUTHENTICATED, BOOTSTRAPPERS, MACHINE_GROUP_PREFIX, NODE_PREFIX, NODES, Request, Requester, Signer,
};
use super::rule::{Rule, Verdict};

/// How far the clocks of a hosted API and of the operator may be apart.
const SKEW: SignedDuration = SignedDuration::from_secs(10);
/// How long after its fetch a host may join: as long as its bootstrap token lives.
pub(crate) const JOIN_WINDOW: SignedDuration = SignedDuration::from_hours(2);
/// Client certificates for one credential: a kubelet that is restarted before it stored its key asks again, and one that is
/// counted but not given, because the operator ended in between, counts too.
const MAX_APPROVALS: u32 = 10;
/// Requests that may wait beyond one a machine, before somebody is flooding the cluster.
const PENDING_ALLOWANCE: usize = 100;
/// The text of a request; honest ones have about one kilobyte.
const MAX_PEM: usize = 64 * 1024;

const PEM_BEGIN: &str = "-----BEGIN CERTIFICATE REQUEST-----";
const PEM_END: &str = "-----END CERTIFICATE REQUEST-----";

/// Decides on a request.
pub(crate) fn decide(request: &Request, facts: &Facts<'_>, now: Timestamp) -> Verdict {
    if facts.pending > facts.known + PENDING_ALLOWANCE {
        return Verdict::Wait(Rule::TooManyPending { pending: facts.pending, known: facts.known });
    }
    let outcome = match (request.signer, request.requester()) {
        (_, Requester::Other) => {
            Err(Verdict::Wait(Rule::Requester { username: request.username.chars().take(253).collect() }))
        }
        (Signer::Serving, Requester::Machine { .. }) => Err(Verdict::Deny(Rule::ServingByToken)),
        (Signer::Client, Requester::Machine { token_id, machine }) => first(request, facts, token_id, machine, now),
        (Signer::Client, Requester::Node { name }) => renewal(request, facts, name),
        (Signer::Serving, Requester::Node { name }) => serving(request, facts, name),
    };
    match outcome {
        Ok(()) => Verdict::Approve,
        Err(verdict) => verdict,
    }
}

/// A host's first client certificate, by its bootstrap token.
fn first(
    request: &Request,
    facts: &Facts<'_>,
    token_id: &str,
    machine_name: &str,
    now: Timestamp,
) -> Result<(), Verdict> {
    let own_group = format!("{MACHINE_GROUP_PREFIX}{machine_name}");
    groups(request, &[BOOTSTRAPPERS, AUTHENTICATED, &own_group], BOOTSTRAPPERS).map_err(Verdict::Deny)?;
    let parsed = parse(request).map_err(Verdict::Deny)?;
    client_shape(request, &parsed).map_err(Verdict::Deny)?;
    let machine = facts
        .machine
        .filter(|machine| machine.name == machine_name)
        .ok_or_else(|| Verdict::Deny(Rule::NoMachine { machine: machine_name.to_owned() }))?;
    living(machine).map_err(Verdict::Deny)?;
    if token_id.is_empty() || machine.token_id != token_id {
        let (token_id, machine) = (token_id.to_owned(), machine.name.clone());
        return Err(Verdict::Deny(Rule::Credential { token_id, machine }));
    }
    common_name(&parsed, &machine.node_name).map_err(Verdict::Deny)?;
    if let Some(holder) = facts.rival {
        let (name, holder) = (machine.node_name.clone(), holder.to_owned());
        return Err(Verdict::Wait(Rule::NameTaken { name, holder }));
    }
    let from = machine.fetched_at.saturating_sub(SKEW).unwrap_or(machine.fetched_at);
    let until = machine.fetched_at.saturating_add(JOIN_WINDOW).unwrap_or(machine.fetched_at);
    if request.created < from || request.created > until || now > until {
        return Err(Verdict::Deny(Rule::Window { created: request.created, from, until }));
    }
    if let Some(later) = facts.later {
        return Err(Verdict::Deny(Rule::Superseded { later: later.to_owned() }));
    }
    if machine.approvals >= MAX_APPROVALS {
        return Err(Verdict::Deny(Rule::TooManyApprovals { count: machine.approvals }));
    }
    match facts.node {
        Some(node) if !node.is_of(machine) => {
            Err(Verdict::Wait(Rule::NodeForeign { node: node.name.clone(), machine: machine.name.clone() }))
        }
        Some(node) if node.is_ready => Err(Verdict::Wait(Rule::NodeAlive { node: node.name.clone() })),
        _ => Ok(()),
    }
}

/// A node's next client certificate, by the one that it has.
fn renewal(request: &Request, facts: &Facts<'_>, name: &str) -> Result<(), Verdict> {
    groups(request, &[NODES, AUTHENTICATED], NODES).map_err(Verdict::Deny)?;
    let parsed = parse(request).map_err(Verdict::Deny)?;
    client_shape(request, &parsed).map_err(Verdict::Deny)?;
    common_name(&parsed, name).map_err(Verdict::Deny)?;
    own_node(facts, name).map(drop)
}

/// A node's serving certificate, by its client certificate. Renewals have to pass the same rules: they pin what a
/// certificate may say to what is known of the host, not to what an earlier certificate said.
fn serving(request: &Request, facts: &Facts<'_>, name: &str) -> Result<(), Verdict> {
    groups(request, &[NODES, AUTHENTICATED], NODES).map_err(Verdict::Deny)?;
    let parsed = parse(request).map_err(Verdict::Deny)?;
    organizations(&parsed).map_err(Verdict::Deny)?;
    common_name(&parsed, name).map_err(Verdict::Deny)?;
    usages(request, "server auth").map_err(Verdict::Deny)?;
    if parsed.alternative_names().is_empty() {
        return Err(Verdict::Deny(Rule::NoAlternativeName));
    }
    let mut addresses = Vec::new();
    for alternative in parsed.alternative_names() {
        match alternative {
            AlternativeName::Dns(host) if host == name => {}
            AlternativeName::Dns(host) => {
                return Err(Verdict::Deny(Rule::HostName { found: cut(host), wanted: name.to_owned() }));
            }
            AlternativeName::Ip(address) => addresses.push(address.to_canonical()),
            AlternativeName::Email(text) | AlternativeName::Uri(text) => {
                return Err(Verdict::Deny(Rule::ServingNameKind { found: cut(text) }));
            }
        }
    }
    for &address in &addresses {
        if let Some(why) = impossible(address, facts) {
            return Err(Verdict::Deny(Rule::Address { address, why }));
        }
    }
    let machine = own_node(facts, name)?;
    for &address in &addresses {
        if let Some(node) = facts.addresses.get(&address).filter(|&node| node != name) {
            return Err(Verdict::Wait(Rule::AddressTaken { address, node: node.clone() }));
        }
        if machine.addresses.contains(&address) {
            continue;
        }
        if address.is_loopback() {
            let why = "it is a loopback address, and the host was never seen to have it";
            return Err(Verdict::Deny(Rule::Address { address, why }));
        }
        // The machine network also holds the addresses of the cluster's endpoints.
        let is_near = facts.networks.machines.iter().any(|network| network.contains(&address));
        if !is_near || facts.networks.endpoints.contains(&address) {
            return Err(Verdict::Wait(Rule::AddressUnknown { address, machine: machine.name.clone() }));
        }
    }
    Ok(())
}

/// The Machine that became the node that asks.
fn own_node<'a>(facts: &Facts<'a>, name: &str) -> Result<&'a Machine, Verdict> {
    let machine = facts
        .machine
        .filter(|machine| machine.node_name == name)
        .ok_or_else(|| Verdict::Wait(Rule::NoMachineOfNode { node: name.to_owned() }))?;
    living(machine).map_err(Verdict::Deny)?;
    match facts.node.filter(|node| node.name == name) {
        None => Err(Verdict::Wait(Rule::NodeMissing { node: name.to_owned() })),
        Some(node) if !node.is_of(machine) => {
            Err(Verdict::Wait(Rule::NodeForeign { node: name.to_owned(), machine: machine.name.clone() }))
        }
        Some(_) => Ok(machine),
    }
}

fn living(machine: &Machine) -> Result<(), Rule> {
    if machine.is_deleting { Err(Rule::MachineDeleting { machine: machine.name.clone() }) } else { Ok(()) }
}

/// Groups are rights; a requester with others than its own is somebody else.
fn groups(request: &Request, allowed: &[&str], needed: &'static str) -> Result<(), Rule> {
    for group in [needed, AUTHENTICATED] {
        if !request.has_group(group) {
            return Err(Rule::GroupMissing { group });
        }
    }
    match request.groups.iter().find(|group| !allowed.contains(&group.as_str())) {
        Some(group) => Err(Rule::Group { group: cut(group) }),
        None => Ok(()),
    }
}

/// Exactly one block and nothing around it, whose signature fits a key that is strong enough.
fn parse(request: &Request) -> Result<CertificateRequest, Rule> {
    let text = request.pem.trim_ascii();
    let body = text.strip_prefix(PEM_BEGIN).and_then(|rest| rest.strip_suffix(PEM_END)).ok_or(Rule::Pem)?;
    if body.contains("-----") || body.contains(':') || text.len() > MAX_PEM {
        return Err(Rule::Pem);
    }
    let parsed =
        CertificateRequest::from_pem(text).map_err(|error| Rule::Malformed { problem: cut(&error.to_string()) })?;
    PublicKey::from_der(parsed.public_key_der()).map_err(|_| Rule::Key)?;
    if parsed.is_plain() { Ok(parsed) } else { Err(Rule::NotPlain) }
}

fn client_shape(request: &Request, parsed: &CertificateRequest) -> Result<(), Rule> {
    organizations(parsed)?;
    if let Some(found) = parsed.alternative_names().first() {
        let found = match found {
            AlternativeName::Dns(text) | AlternativeName::Email(text) | AlternativeName::Uri(text) => cut(text),
            AlternativeName::Ip(address) => address.to_string(),
        };
        return Err(Rule::ClientAlternativeName { found });
    }
    usages(request, "client auth")
}

fn organizations(parsed: &CertificateRequest) -> Result<(), Rule> {
    let found = parsed.subject().organizations();
    if found == [NODES] {
        Ok(())
    } else {
        Err(Rule::Organizations { found: found.iter().take(8).map(|text| cut(text)).collect() })
    }
}

fn common_name(parsed: &CertificateRequest, node: &str) -> Result<(), Rule> {
    let found = &parsed.subject().common_name;
    let wanted = format!("{NODE_PREFIX}{node}");
    if *found == wanted && !node.is_empty() { Ok(()) } else { Err(Rule::CommonName { found: cut(found), wanted }) }
}

/// The two usages that a kubelet asks for, or three with an RSA key.
fn usages(request: &Request, purpose: &str) -> Result<(), Rule> {
    let mut found: Vec<&str> = request.usages.iter().map(String::as_str).collect();
    found.sort_unstable();
    let mut two = ["digital signature", purpose];
    two.sort_unstable();
    let mut three = ["digital signature", "key encipherment", purpose];
    three.sort_unstable();
    if found == two || found == three {
        Ok(())
    } else {
        Err(Rule::Usages { found: found.into_iter().take(16).map(cut).collect() })
    }
}

/// Why an address can be no node's.
fn impossible(address: IpAddr, facts: &Facts<'_>) -> Option<&'static str> {
    let is_broadcast = matches!(address, IpAddr::V4(four) if four.is_broadcast());
    if address.is_unspecified() || address.is_multicast() || is_broadcast {
        return Some("it is a multicast, broadcast or unspecified address");
    }
    let within = |networks: &[ipnet::IpNet]| networks.iter().any(|network| network.contains(&address));
    if within(&facts.networks.services) {
        return Some("it is inside the service network");
    }
    if within(&facts.networks.pods) {
        return Some("it is inside the pod network");
    }
    None
}

/// Enough of a text of unknown length to recognise it.
fn cut(text: &str) -> String {
    const LONGEST: usize = 120;
    if text.chars().count() <= LONGEST { text.to_owned() } else { text.chars().take(LONGEST).chain(['…']).collect() }
}
