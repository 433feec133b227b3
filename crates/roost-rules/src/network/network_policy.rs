//! Network policies.

use roost_object::Value;
use roost_object::field::{Error, Errors};

use super::texts;
use crate::address_range;
use crate::check::{SelectorValues, Spot, elements, label_selector, text};
use crate::fill::Fill;

const RULES: [(&str, &str); 2] = [("ingress", "from"), ("egress", "to")];

pub(super) fn defaults(policy: &mut Value) {
    let spec = policy.at_or_empty("spec");
    for (rules, _) in RULES {
        for rule in spec.each(rules) {
            for port in rule.each("ports") {
                port.fill("protocol", "TCP");
            }
        }
    }
    if elements(&spec["policyTypes"]).is_empty() {
        let types = if elements(&spec["egress"]).is_empty() { vec!["Ingress"] } else { vec!["Ingress", "Egress"] };
        spec.put("policyTypes", types);
    }
}

pub(super) fn validate(policy: &Value, old: Option<&Value>, errors: &mut Errors) {
    let values = match old {
        Some(old) if selector_is_bad(&old["spec"]["podSelector"]) => SelectorValues::Trusted,
        _ => SelectorValues::Checked,
    };
    let known = old.map(known_ranges).unwrap_or_default();
    let root = Spot::root(policy);
    let spec = root.field("spec");
    label_selector(&spec.field("podSelector"), values, errors);
    for (rules, peers) in RULES {
        spec.field(rules).each(|_, rule| {
            rule.field("ports").each(|_, port| validate_port(port, errors));
            rule.field(peers).each(|_, peer| validate_peer(peer, values, &known, errors));
        });
    }
    let types = spec.field("policyTypes");
    if types.elements().len() > 2 {
        return types.invalid("may not specify more than two policyTypes", errors);
    }
    types.each(|_, one| {
        if !matches!(one.text(), "Ingress" | "Egress") {
            errors.push(Error::not_supported(&one.path, one.text(), &["Ingress", "Egress"]));
        }
    });
}

fn selector_is_bad(selector: &Value) -> bool {
    let mut found = Errors::new();
    label_selector(&Spot::root(selector), SelectorValues::Checked, &mut found);
    !found.is_empty()
}

/// The ranges that a policy already has, which need not be changed even if they would not be allowed today.
fn known_ranges(policy: &Value) -> Vec<&str> {
    let mut known = Vec::new();
    for (rules, peers) in RULES {
        for rule in elements(&policy["spec"][rules]) {
            for peer in elements(&rule[peers]) {
                known.push(text(&peer["ipBlock"], "cidr"));
                known.extend(texts(&peer["ipBlock"]["except"]));
            }
        }
    }
    known.retain(|range| !range.is_empty());
    known
}

fn validate_port(port: &Spot<'_>, errors: &mut Errors) {
    let protocol = port.field("protocol");
    if protocol.given() && !matches!(protocol.text(), "TCP" | "UDP" | "SCTP") {
        errors.push(Error::not_supported(&protocol.path, protocol.text(), &["TCP", "UDP", "SCTP"]));
    }
    let (first, last) = (port.field("port"), port.field("endPort"));
    match first.value {
        Value::Null if last.given() => last.invalid("may not be specified when `port` is not specified", errors),
        Value::Null => {}
        Value::String(_) => {
            if last.given() {
                last.invalid("may not be specified when `port` is non-numeric", errors);
            }
            first.port(errors);
        }
        _ => {
            first.port(errors);
            if last.given() {
                if last.number() < first.number() {
                    let words = "must be greater than or equal to `port`";
                    errors.push(Error::invalid(&last.path, first.number(), words));
                }
                last.port(errors);
            }
        }
    }
}

fn validate_peer(peer: &Spot<'_>, values: SelectorValues, known: &[&str], errors: &mut Errors) {
    let (pods, namespaces, block) = (peer.field("podSelector"), peer.field("namespaceSelector"), peer.field("ipBlock"));
    label_selector(&pods, values, errors);
    label_selector(&namespaces, values, errors);
    if block.given() {
        validate_block(&block, known, errors);
    }
    match (block.given(), pods.given() || namespaces.given()) {
        (false, false) => errors.push(Error::required(&peer.path, "must specify a peer")),
        (true, true) => peer.forbidden("may not specify both ipBlock and another peer", errors),
        _ => {}
    }
}

fn validate_block(block: &Spot<'_>, known: &[&str], errors: &mut Errors) {
    let range = block.field("cidr");
    if !range.filled() {
        return errors.push(Error::required(&range.path, ""));
    }
    address_range::validate(range.text(), known, &range.path, errors);
    let Some((_, outer)) = address_range::parse_leniently(range.text()) else { return };
    block.field("except").each(|_, except| {
        address_range::validate(except.text(), known, &except.path, errors);
        if let Some((_, inner)) = address_range::parse_leniently(except.text())
            && (!outer.contains(&inner.network()) || outer.prefix_len() >= inner.prefix_len())
        {
            except.invalid("must be a strict subset of `cidr`", errors);
        }
    });
}

pub(super) fn warnings(policy: &Value, warnings: &mut Vec<String>) {
    let root = Spot::root(policy);
    let spec = root.field("spec");
    for (rules, peers) in RULES {
        spec.field(rules).each(|_, rule| {
            rule.field(peers).each(|_, peer| {
                let block = peer.field("ipBlock");
                let range = block.field("cidr");
                address_range::warn(range.text(), &range.path, warnings);
                block.field("except").each(|_, except| address_range::warn(except.text(), &except.path, warnings));
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn types_follow_the_rules() {
        let mut policy = json!({"spec": {"podSelector": {}, "egress": [{"ports": [{"port": 53}]}]}});
        defaults(&mut policy);
        assert_eq!(
            policy["spec"],
            json!({"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "egress": [{"ports": [{"port": 53, "protocol": "TCP"}]}]})
        );
    }

    #[test]
    fn ports_and_peers_are_checked() {
        let policy = json!({"spec": {"ingress": [{"ports": [{"port": 80, "endPort": 79}, {"port": "web", "endPort": 1}, {"endPort": 1, "protocol": "X"}],
            "from": [{}, {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/8", "10.1.0.1/16"]}, "podSelector": {}}]}], "policyTypes": ["Odd"]}});
        assert_eq!(
            words(|errors| validate(&policy, None, errors)),
            [
                "spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`",
                "spec.ingress[0].ports[1].endPort: Invalid value: 1: may not be specified when `port` is non-numeric",
                r#"spec.ingress[0].ports[2].protocol: Unsupported value: "X": supported values: "TCP", "UDP", "SCTP""#,
                "spec.ingress[0].ports[2].endPort: Invalid value: 1: may not be specified when `port` is not specified",
                "spec.ingress[0].from[0]: Required value: must specify a peer",
                r#"spec.ingress[0].from[1].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`"#,
                r#"spec.ingress[0].from[1].ipBlock.except[1]: Invalid value: "10.1.0.1/16": must not have bits set beyond the prefix length"#,
                "spec.ingress[0].from[1]: Forbidden: may not specify both ipBlock and another peer",
                r#"spec.policyTypes[0]: Unsupported value: "Odd": supported values: "Ingress", "Egress""#,
            ]
        );
    }
}
