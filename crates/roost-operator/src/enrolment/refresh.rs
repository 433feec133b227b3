//! The configuration of a host that has joined: its kubelet's certificate says who it is.

use jiff::Timestamp;
use roost_ignition::payload::Node;
use roost_ignition_server::{Payload, Refresh, Refusal};
use roost_pki::plane::{BUNDLE_KEY, CLIENT_BUNDLE};
use roost_pki::{Certificate, CertificateBundle, ClientIdentity, Secret};
use roost_runtime::Runtime;

use super::Enrolment;
use crate::context::words;
use crate::event::Tone;
use crate::machine::{NODE_NAME, pool_of};
use crate::object::{Kind, ObjectError, annotation, is_deleting};

const NODE_USER: &str = "system:node:";
const NODE_GROUP: &str = "system:nodes";

impl<R: Runtime> Enrolment<R> {
    /// The payload of a node whose turn to change has come.
    pub(super) async fn renew(&self, refresh: Refresh, now: Timestamp) -> Result<Payload, Refusal> {
        let forbidden = |text: String| Refusal::Forbidden(text);
        let unavailable = |error: ObjectError| Refusal::Unavailable(words(&error));
        let cluster = refresh.plane.as_str();
        let namespace = self.offers.namespace(cluster).ok_or(Refusal::NotBuilt)?;
        let trust = self.objects.find(Kind::ConfigMap, &namespace, CLIENT_BUNDLE).await.map_err(unavailable)?;
        let trust = trust.as_ref().and_then(|trust| trust["data"][BUNDLE_KEY].as_str());
        let trust = trust.and_then(|pem| CertificateBundle::from_pem(pem).ok()).ok_or(Refusal::NotBuilt)?;
        let node = node_of(&trust, &refresh.chain, now).map_err(forbidden)?;
        let holder = self.fleet.holder(&namespace, &node);
        let machine = match holder {
            Some(name) => self.objects.find(Kind::Machine, &namespace, &name).await.map_err(unavailable)?,
            None => None,
        };
        let machine = machine.filter(|machine| !is_deleting(machine) && annotation(machine, NODE_NAME) == node);
        let machine = machine.ok_or_else(|| forbidden(format!("no Machine stands for the node {node}")))?;
        let (space, pool) = pool_of(&machine).unwrap_or_default();
        let offer = self.offers.of_pool(cluster, space, pool).ok_or(Refusal::NotBuilt)?;
        if refresh.hash.as_ref().is_some_and(|hash| *hash != offer.hash) {
            return Err(Refusal::Conflict(format!("the configuration of the pool is {} by now", offer.hash)));
        }
        let provider_id = machine["spec"]["providerID"].as_str().map(str::to_owned);
        let personal = Node { name: node, bootstrap_token: Secret::new(String::new()), provider_id };
        let config = offer.written.for_update(&personal).map_err(|_| Refusal::InvalidPayload)?;
        let text = format!("{} fetched the configuration {}", personal.name, offer.hash);
        self.tell(&offer, Tone::Normal, "GetPayload", &text);
        Ok(Payload::from_config(&config).of_pool(format!("{space}/{pool}")))
    }
}

/// The node that a certificate is for.
fn node_of(trust: &CertificateBundle, chain: &[Certificate], now: Timestamp) -> Result<String, String> {
    let (leaf, between) = chain.split_first().ok_or("no certificate was shown")?;
    trust.verify_client(leaf, between, now).map_err(|error| format!("the certificate is not good here: {error}"))?;
    let identity = ClientIdentity::of(leaf).ok().flatten().ok_or("the certificate names nobody")?;
    let name = identity.name.strip_prefix(NODE_USER).filter(|name| !name.is_empty());
    match name {
        Some(name) if identity.groups.iter().any(|group| group == NODE_GROUP) => Ok(name.to_owned()),
        _ => Err(format!("the certificate of {} is not that of a node", identity.name)),
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use roost_pki::CertificateAuthority;

    use super::*;

    #[test]
    fn only_nodes_of_the_cluster_are_nodes() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let day = SignedDuration::from_hours(24);
        let ours = CertificateAuthority::new("ours", now, day).unwrap();
        let other = CertificateAuthority::new("other", now, day).unwrap();
        let trust: CertificateBundle = [ours.certificate().clone()].into_iter().collect();
        let issued = |authority: &CertificateAuthority, name: &str, group: &str| {
            vec![authority.issue_client(name, &[group], now, day).unwrap().certificate]
        };
        assert_eq!(node_of(&trust, &issued(&ours, "system:node:a", NODE_GROUP), now).as_deref(), Ok("a"));
        for (chain, words) in [
            (issued(&other, "system:node:a", NODE_GROUP), "not good here"),
            (issued(&ours, "system:node:a", "system:masters"), "not that of a node"),
            (issued(&ours, "system:node:", NODE_GROUP), "not that of a node"),
            (issued(&ours, "admin", NODE_GROUP), "not that of a node"),
            (Vec::new(), "no certificate"),
        ] {
            let refused = node_of(&trust, &chain, now).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
        let late = now + day + day;
        assert!(node_of(&trust, &issued(&ours, "system:node:a", NODE_GROUP), late).is_err());
    }
}
