//! What is wrong with a HostedCluster, beyond what its definition already refuses.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

use super::dereference::{Observed, Referenced};
use crate::condition::Condition;
use crate::names::SEALED_BY;
use crate::object::{Kind, annotation};
use crate::publishing::Publishing;

/// The platforms whose clusters are run here.
const PLATFORMS: [&str; 3] = ["Agent", "KubeVirt", "None"];

/// Whether the reconcile may go on, and what to report either way.
pub(crate) struct Verdict {
    pub(crate) conditions: Vec<Condition>,
    /// Why nothing more may be done; none when all is well.
    pub(crate) blocked: Option<String>,
}

/// Checks a HostedCluster together with what it names.
pub(crate) fn validate(observed: &Observed, version: &str) -> Verdict {
    let spec = &observed.cluster["spec"];
    let mut conditions = Vec::new();
    let mut blocked = None;
    let mut problems = configuration_problems(spec);
    problems.extend(other_key(observed));
    if problems.is_empty() {
        conditions.push(Condition::good("ValidConfiguration", "Configuration passes validation"));
    } else {
        let message = problems.join("; ");
        conditions.push(Condition::bad("ValidConfiguration", "InvalidConfiguration", message.clone()));
        blocked = Some(message);
    }
    match unsupported(spec) {
        None => {
            let message = "HostedCluster is supported by operator configuration";
            conditions.push(Condition::good("SupportedHostedCluster", message));
        }
        Some(message) => {
            conditions.push(Condition::bad("SupportedHostedCluster", "UnsupportedHostedCluster", message.clone()));
            blocked = blocked.or(Some(message));
        }
    }
    conditions.extend(credentials(spec));
    let missing = missing_reference(observed);
    if let Some((condition_reason, message)) = missing {
        conditions.push(Condition::bad("ValidReleaseImage", condition_reason, message.clone()));
        blocked = blocked.or(Some(message));
    } else {
        let message = format!(
            "The embedded runtime pulls no image: it serves Kubernetes {version}, whatever release spec.release.image names"
        );
        conditions.push(Condition::good("ValidReleaseImage", message));
    }
    Verdict { conditions, blocked }
}

/// Why clusters of a platform are not run here.
fn unsupported(spec: &Value) -> Option<String> {
    let platform = spec["platform"]["type"].as_str().unwrap_or_default();
    (!PLATFORMS.contains(&platform))
        .then(|| format!("spec.platform.type {platform:?} is not run here; use {}", PLATFORMS.join(" or ")))
}

/// Whether a platform's credentials are there. Nothing is said of platforms that are not run here, nor of credentials
/// that are given and not used.
fn credentials(spec: &Value) -> Option<Condition> {
    let platform = spec["platform"]["type"].as_str()?;
    let is_without = match platform {
        "Agent" | "None" => true,
        "KubeVirt" => spec["platform"]["kubevirt"]["credentials"].is_null(),
        _ => false,
    };
    is_without
        .then(|| Condition::good("PlatformCredentialsFound", format!("The platform {platform} needs no credentials")))
}

/// The first thing that the spec names and that is not there or not as it must be.
fn missing_reference(observed: &Observed) -> Option<(&'static str, String)> {
    let namespace = observed.cluster["metadata"]["namespace"].as_str().unwrap_or_default();
    for Referenced { reference, found, .. } in &observed.references {
        if !reference.critical {
            continue;
        }
        let kind = reference.kind.name();
        let name = &reference.name;
        let Some(found) = found else {
            return Some((
                "SecretNotFound",
                format!("{} names the {kind} {namespace}/{name}, which does not exist", reference.field),
            ));
        };
        let has = |field: &str| found[field][reference.key].is_string();
        let is_there = has("data") || (reference.kind == Kind::ConfigMap && has("binaryData"));
        if !is_there {
            return Some((
                "SecretNotFound",
                format!(
                    "{} names the {kind} {namespace}/{name}, which has no key {:?}",
                    reference.field, reference.key
                ),
            ));
        }
    }
    None
}

/// What tells one encryption key from another without telling what it is.
pub(crate) fn key_fingerprint(observed: &Observed) -> Option<String> {
    let is_key = |referenced: &&Referenced| referenced.reference.field.starts_with("spec.secretEncryption");
    let secret = observed.references.iter().find(is_key)?.found.as_ref()?;
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, secret["data"]["key"].as_str()?.as_bytes());
    let start = digest.as_ref().first_chunk::<8>()?;
    Some(format!("{:016x}", u64::from_be_bytes(*start)))
}

/// A key that is not the one that the data are sealed with would make them unreadable.
fn other_key(observed: &Observed) -> Option<String> {
    let sealed_by = annotation(&observed.cluster, SEALED_BY);
    let fingerprint = key_fingerprint(observed)?;
    (!sealed_by.is_empty() && sealed_by != fingerprint).then(|| {
        "spec.secretEncryption.aescbc.activeKey names another key than the one that Secrets are sealed with; the embedded \
         runtime cannot change keys, so name the earlier one again"
            .to_owned()
    })
}

/// Networks that overlap, addresses inside networks, and endpoints that cannot be published.
fn configuration_problems(spec: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    let mut networks: Vec<(&'static str, IpNet)> = Vec::new();
    for (field, pointer) in [
        ("spec.networking.clusterNetwork", "/networking/clusterNetwork"),
        ("spec.networking.serviceNetwork", "/networking/serviceNetwork"),
        ("spec.networking.machineNetwork", "/networking/machineNetwork"),
    ] {
        for entry in spec.pointer(pointer).and_then(Value::as_array).into_iter().flatten() {
            let text = entry["cidr"].as_str().unwrap_or_default();
            match text.parse::<IpNet>() {
                Ok(network) => networks.push((field, network)),
                Err(_) => problems.push(format!("{field} has {text:?}, which is not a network such as 10.132.0.0/14")),
            }
        }
    }
    for (index, (field, network)) in networks.iter().enumerate() {
        for (other_field, other) in &networks[index + 1..] {
            if network.contains(other) || other.contains(network) {
                problems.push(format!("{field} {network} overlaps with {other_field} {other}; choose networks apart"));
            }
        }
    }
    if let Some(text) = spec.pointer("/networking/apiServer/advertiseAddress").and_then(Value::as_str) {
        match text.parse::<IpAddr>() {
            Ok(address) => {
                if let Some((field, network)) = networks.iter().find(|(_, network)| network.contains(&address)) {
                    problems.push(format!(
                        "spec.networking.apiServer.advertiseAddress {address} is inside {field} {network}"
                    ));
                }
            }
            Err(_) => problems.push(format!(
                "spec.networking.apiServer.advertiseAddress {text:?} is not an address such as 172.20.0.1"
            )),
        }
    }
    match Publishing::of_api_server(spec) {
        Ok(Publishing::NodePort { address, port }) => {
            let service = networks.iter().filter(|(field, _)| field.ends_with("serviceNetwork"));
            if let Ok(ip) = address.parse::<IpAddr>()
                && let Some((field, network)) = service.into_iter().find(|(_, network)| network.contains(&ip))
            {
                problems.push(format!("the API server's node port address {ip} is inside {field} {network}"));
            }
            if let Some(port) = port
                && !crate::publishing::NODE_PORTS.contains(&port)
            {
                problems.push(format!("the API server's node port {port} is not between 30000 and 32767"));
            }
        }
        Ok(_) => {}
        Err(problem) => problems.push(problem.to_string()),
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec() -> Value {
        json!({
            "networking": {
                "clusterNetwork": [{"cidr": "10.132.0.0/14"}],
                "serviceNetwork": [{"cidr": "172.31.0.0/16"}],
            },
            "services": [{"service": "APIServer",
                "servicePublishingStrategy": {"type": "NodePort", "nodePort": {"address": "192.0.2.1"}}}],
        })
    }

    #[test]
    fn a_plain_cluster_is_fine() {
        assert_eq!(configuration_problems(&spec()), Vec::<String>::new());
    }

    #[test]
    fn platforms_are_checked() {
        let of = |platform: Value| json!({"platform": platform});
        assert_eq!(unsupported(&of(json!({"type": "Agent"}))), None);
        assert!(unsupported(&of(json!({"type": "AWS"}))).is_some_and(|words| words.contains("AWS")));
        assert!(credentials(&of(json!({"type": "None"}))).is_some());
        assert!(credentials(&of(json!({"type": "AWS"}))).is_none());
        assert!(credentials(&of(json!({"type": "KubeVirt", "kubevirt": {"credentials": {}}}))).is_none());
    }

    #[test]
    fn every_problem_is_named() {
        let mut bad = spec();
        bad["networking"]["machineNetwork"] = json!([{"cidr": "10.133.0.0/24"}, {"cidr": "nonsense"}]);
        bad["networking"]["apiServer"] = json!({"advertiseAddress": "172.31.0.1"});
        bad["services"][0]["servicePublishingStrategy"]["nodePort"] = json!({"address": "172.31.9.9", "port": 80});
        let problems = configuration_problems(&bad);
        for part in ["overlaps", "nonsense", "advertiseAddress 172.31.0.1", "address 172.31.9.9", "node port 80"] {
            assert!(problems.iter().any(|problem| problem.contains(part)), "{part}: {problems:?}");
        }
    }
}
