//! A Machine's object: made once for a host, and read back.

use std::net::IpAddr;

use jiff::Timestamp;
use roost_api::cluster_api::names::finalizer::MACHINE as MACHINE_FINALIZER;
use roost_api::cluster_api::names::label::CLUSTER_NAME;
use roost_api::hypershift::names::{annotation, label};
use serde_json::{Value, json};

use super::names::{
    APPROVALS, CONFIG_HASH, FETCHED_AT, HOST_ADDRESSES, HOST_ID, NODE_NAME, TOKEN_ID, label_value, pool_label,
    provider_id,
};
use crate::approver::Machine;
use crate::names::POOL_LABEL;
use crate::object::{Kind, annotation as text_of, is_deleting};

/// A host that fetched its configuration, and what it got.
pub(crate) struct Record<'a> {
    /// The control plane's namespace.
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// The pool's namespace and name.
    pub(crate) pool: (&'a str, &'a str),
    pub(crate) infra_id: &'a str,
    pub(crate) cluster_id: &'a str,
    pub(crate) version: &'a str,
    pub(crate) user_data: &'a str,
    pub(crate) host_id: &'a str,
    pub(crate) node_name: &'a str,
    pub(crate) addresses: &'a [IpAddr],
    pub(crate) token_id: &'a str,
    pub(crate) config_hash: &'a str,
    pub(crate) fetched_at: Timestamp,
}

impl Record<'_> {
    fn annotations(&self) -> Value {
        let addresses: Vec<String> = self.addresses.iter().map(ToString::to_string).collect();
        json!({
            (annotation::NODE_POOL): format!("{}/{}", self.pool.0, self.pool.1),
            (HOST_ID): self.host_id,
            (NODE_NAME): self.node_name,
            (HOST_ADDRESSES): addresses.join(","),
            (TOKEN_ID): self.token_id,
            (CONFIG_HASH): self.config_hash,
            (FETCHED_AT): self.fetched_at.to_string(),
        })
    }

    /// The Machine of a host that is seen for the first time.
    pub(crate) fn document(&self) -> Value {
        let (pool_namespace, pool) = self.pool;
        json!({
            "apiVersion": Kind::Machine.api_version(), "kind": Kind::Machine.name(),
            "metadata": {
                "name": self.name, "namespace": self.namespace,
                "labels": {
                    (label::NODE_POOL): label_value(pool),
                    (POOL_LABEL): pool_label(pool_namespace, pool),
                    (CLUSTER_NAME): self.infra_id,
                },
                "annotations": self.annotations(),
                "finalizers": [MACHINE_FINALIZER],
            },
            "spec": {
                "clusterName": self.infra_id,
                "providerID": provider_id(self.cluster_id, self.name),
                "version": self.version,
                "bootstrap": {"dataSecretName": self.user_data},
                "infrastructureRef": {
                    "apiVersion": Kind::NodePool.api_version(), "kind": Kind::NodePool.name(),
                    "namespace": pool_namespace, "name": pool,
                },
            },
        })
    }

    /// What changes when the same host fetches again.
    pub(crate) fn change(&self, live: &Value) -> Value {
        let mut annotations = self.annotations();
        // A name that became a Node stays; addresses that a person added are no longer vouched for.
        annotations[APPROVALS] = Value::Null;
        json!({
            "metadata": {"annotations": annotations, "resourceVersion": live["metadata"]["resourceVersion"]},
            "spec": {"version": self.version, "bootstrap": {"dataSecretName": self.user_data}},
        })
    }
}

/// What the approver knows of a Machine.
pub(crate) fn read(machine: &Value) -> Machine {
    let token_id = text_of(machine, TOKEN_ID).to_owned();
    Machine {
        name: machine["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        node_name: text_of(machine, NODE_NAME).to_owned(),
        fetched_at: text_of(machine, FETCHED_AT).parse().unwrap_or_default(),
        addresses: addresses(machine),
        provider_id: machine["spec"]["providerID"].as_str().unwrap_or_default().to_owned(),
        node_uid: machine["status"]["nodeRef"]["uid"].as_str().map(str::to_owned),
        is_deleting: is_deleting(machine),
        approvals: approvals(machine, &token_id),
        token_id,
    }
}

/// The addresses that a Machine's host had when it fetched its configuration.
pub(crate) fn addresses(machine: &Value) -> Vec<IpAddr> {
    text_of(machine, HOST_ADDRESSES).split(',').filter_map(|address| address.trim().parse().ok()).collect()
}

/// How many client certificates were approved for a token.
fn approvals(machine: &Value, token_id: &str) -> u32 {
    let counted = text_of(machine, APPROVALS).split_once(':').filter(|(id, _)| *id == token_id);
    counted.and_then(|(_, count)| count.parse().ok()).unwrap_or_default()
}

/// One more approval for the token that the Machine has. It is refused when the Machine changed since it was read.
pub(crate) fn approval(machine: &Value) -> Value {
    let token_id = text_of(machine, TOKEN_ID);
    let count = approvals(machine, token_id) + 1;
    json!({"metadata": {
        "annotations": {(APPROVALS): format!("{token_id}:{count}")},
        "resourceVersion": machine["metadata"]["resourceVersion"],
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_a_new_token_starts_at_none() {
        let addresses = ["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()];
        let mut record = Record {
            namespace: "clusters-demo",
            name: "workers-0a0b0c0d",
            pool: ("clusters", "workers"),
            infra_id: "demo-abcde",
            cluster_id: "c",
            version: "v1.36.3",
            user_data: "user-data-workers-00",
            host_id: "host-1",
            node_name: "node-1",
            addresses: &addresses,
            token_id: "abcdef",
            config_hash: "00",
            fetched_at: "2026-01-01T00:00:00Z".parse().unwrap(),
        };
        let mut live = record.document();
        let machine = read(&live);
        assert_eq!(machine.addresses, addresses);
        assert_eq!((machine.token_id.as_str(), machine.approvals), ("abcdef", 0));
        for count in 1..3 {
            live["metadata"]["annotations"][APPROVALS] = approval(&live)["metadata"]["annotations"][APPROVALS].clone();
            assert_eq!(read(&live).approvals, count);
        }
        record.token_id = "fedcba";
        let change = record.change(&live);
        assert_eq!(change["metadata"]["annotations"][APPROVALS], Value::Null);
        live["metadata"]["annotations"][TOKEN_ID] = change["metadata"]["annotations"][TOKEN_ID].clone();
        assert_eq!(read(&live).approvals, 0);
    }
}
