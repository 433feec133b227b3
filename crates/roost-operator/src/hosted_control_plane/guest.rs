//! What the hosted cluster says about itself: `ClusterVersion` and `ClusterOperator` objects that tell what really
//! runs.

use jiff::Timestamp;
use roost_runtime::Component;
use serde_json::{Value, json};

use crate::condition::{self, Condition};
use crate::object::{Kind, ObjectError, Objects, Reference, has_all};

/// The one ClusterVersion of a cluster.
const NAME: &str = "version";

/// Makes the hosted cluster's own objects tell the truth.
pub(crate) async fn report(
    guest: &Objects,
    cluster_id: &str,
    version_status: &Value,
    components: &[Component],
    has_default_network: bool,
    version: &str,
    now: Timestamp,
) -> Result<(), ObjectError> {
    let known = guest.find(Kind::CustomResourceDefinition, "", "clusterversions.config.openshift.io").await?;
    if known.is_none() {
        guest.apply_all(&[cluster_versions(), cluster_operators()]).await?;
    }
    let document = json!({
        "apiVersion": Kind::ClusterVersion.api_version(), "kind": Kind::ClusterVersion.name(),
        "metadata": {"name": NAME},
        "spec": {"clusterID": cluster_id, "desiredUpdate": {
            "image": version_status["desired"]["image"], "version": version_status["desired"]["version"]}},
    });
    let live = guest.find(Kind::ClusterVersion, "", NAME).await?;
    let live = match live {
        Some(live) if has_all(&live, &document) => live,
        _ => guest.apply(&document).await?,
    };
    let mut status = version_status.clone();
    status["versionHash"] = json!("");
    let conditions = [
        Condition::good("Available", format!("Done applying {version}")),
        Condition::bad("Failing", "AsExpected", ""),
        Condition::bad("Progressing", "AsExpected", format!("Cluster version is {version}")),
        Condition::good("ReleaseAccepted", "The embedded runtime accepts any release and pulls none"),
    ];
    status["conditions"] = condition::merge(&live["status"]["conditions"], now, 0, &conditions);
    forget_generations(&mut status["conditions"]);
    if status != live["status"] {
        guest.set_status(&Reference::of(&live), &status).await?;
    }
    let operators = components.iter().filter(|component| component.is_operator);
    for component in operators.chain([network(has_default_network)]) {
        operator(guest, component, version, now).await?;
    }
    Ok(())
}

/// Who makes the pod network.
fn network(has_default_network: bool) -> &'static Component {
    const DEFAULT: Component = Component {
        name: "network",
        needs: &[],
        role: "hcp-agent makes the pod network, Services, NetworkPolicies and cluster DNS on each node",
        is_operator: true,
    };
    const OTHER: Component = Component {
        name: "network",
        needs: &[],
        role: "networkType is Other: the pod network, Services and cluster DNS are brought by whoever runs the cluster",
        is_operator: true,
    };
    if has_default_network { &DEFAULT } else { &OTHER }
}

async fn operator(guest: &Objects, component: &Component, version: &str, now: Timestamp) -> Result<(), ObjectError> {
    let live = if let Some(live) = guest.find(Kind::ClusterOperator, "", component.name).await? {
        live
    } else {
        let document = json!({
            "apiVersion": Kind::ClusterOperator.api_version(), "kind": Kind::ClusterOperator.name(),
            "metadata": {"name": component.name}, "spec": {},
        });
        guest.apply(&document).await?
    };
    let conditions = [
        Condition::new("Available", condition::Truth::True, "AsExpected", component.role),
        Condition::bad("Progressing", "AsExpected", ""),
        Condition::bad("Degraded", "AsExpected", ""),
        Condition::new("Upgradeable", condition::Truth::True, "AsExpected", ""),
    ];
    let mut conditions = condition::merge(&live["status"]["conditions"], now, 0, &conditions);
    forget_generations(&mut conditions);
    let status = json!({"conditions": conditions, "versions": [{"name": "operator", "version": version}]});
    if status != live["status"] {
        guest.set_status(&Reference::of(&live), &status).await?;
    }
    Ok(())
}

/// These two kinds' conditions have no generations.
fn forget_generations(conditions: &mut Value) {
    for condition in conditions.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        condition.remove("observedGeneration");
    }
}

fn cluster_versions() -> Value {
    definition(
        "clusterversions",
        "clusterversion",
        "ClusterVersion",
        &[],
        &json!([
            {"name": "Version", "type": "string", "jsonPath": ".status.history[?(@.state==\"Completed\")].version"},
            {"name": "Available", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Available\")].status"},
            {"name": "Progressing", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Progressing\")].status"},
            {"name": "Since", "type": "date", "jsonPath": ".status.conditions[?(@.type==\"Progressing\")].lastTransitionTime"},
            {"name": "Status", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Progressing\")].message"},
        ]),
    )
}

fn cluster_operators() -> Value {
    definition(
        "clusteroperators",
        "clusteroperator",
        "ClusterOperator",
        &["co"],
        &json!([
            {"name": "Version", "type": "string", "jsonPath": ".status.versions[?(@.name==\"operator\")].version"},
            {"name": "Available", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Available\")].status"},
            {"name": "Progressing", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Progressing\")].status"},
            {"name": "Degraded", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Degraded\")].status"},
            {"name": "Since", "type": "date", "jsonPath": ".status.conditions[?(@.type==\"Available\")].lastTransitionTime"},
            {"name": "Message", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Available\")].message"},
        ]),
    )
}

/// A definition whose objects may hold anything: the hosted cluster's users read them, nobody but us writes them.
fn definition(plural: &str, singular: &str, kind: &str, short: &[&str], columns: &Value) -> Value {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": Kind::CustomResourceDefinition.api_version(), "kind": Kind::CustomResourceDefinition.name(),
        "metadata": {"name": format!("{plural}.config.openshift.io")},
        "spec": {
            "group": "config.openshift.io",
            "names": {"plural": plural, "singular": singular, "kind": kind, "listKind": format!("{kind}List"), "shortNames": short},
            "scope": "Cluster",
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}},
            }],
        },
    })
}
