//! A HostedCluster's end: what has to go, in which order, and what is being waited for.

use futures::future::try_join_all;
use serde_json::Value;

use super::names::control_plane_namespace;
use crate::names::{CLUSTER, KEEP_NAMESPACE};
use crate::object::{Kind, ObjectError, Objects, Reference, annotation, finalizers, is_deleting};
use crate::pools::Pools;

/// Hosts on their way back that are told of; more of them would hide the rest.
const HOSTS_NAMED: usize = 3;

/// What is left of a cluster.
pub(crate) struct Remains {
    pub(crate) node_pools: Vec<Value>,
    pub(crate) control_plane: Option<Value>,
    pub(crate) namespace: Option<Value>,
    pub(crate) managed_cluster: Option<Value>,
    /// The hosts that are on their way back, and how they are.
    pub(crate) hosts: Vec<String>,
}

/// The next thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// A word for the condition.
    pub(crate) reason: &'static str,
    /// What is being waited for.
    pub(crate) message: String,
    /// What to ask to go, where nobody has asked yet.
    pub(crate) delete: Vec<Reference>,
}

/// Reads what is left of a cluster.
pub(crate) async fn dereference(objects: &Objects, pools: &Pools, cluster: &Value) -> Result<Remains, ObjectError> {
    let (namespace, name) = (text(&cluster["metadata"]["namespace"]), text(&cluster["metadata"]["name"]));
    let inside = control_plane_namespace(namespace, name);
    let (node_pools, control_plane, space, managed) = tokio::try_join!(
        node_pools(objects, pools, namespace, name),
        objects.find(Kind::HostedControlPlane, &inside, name),
        objects.find(Kind::Namespace, "", &inside),
        objects.find(Kind::ManagedCluster, "", name),
    )?;
    let identity = format!("{namespace}/{name}");
    let node_pools = if node_pools.is_empty() && control_plane.is_none() && space.is_none() {
        // The watch may not have told of a pool yet that was made a moment ago, and after this nobody would ask again.
        of_cluster(objects.list(Kind::NodePool, namespace).await?, name)
    } else {
        node_pools
    };
    let namespace = space.filter(|space| annotation(space, CLUSTER) == identity);
    Ok(Remains {
        node_pools,
        control_plane,
        hosts: if namespace.as_ref().is_some_and(is_deleting) { hosts(objects, &inside).await? } else { Vec::new() },
        namespace,
        managed_cluster: managed.filter(|managed| annotation(managed, CLUSTER) == identity),
    })
}

/// The hosts that a cluster's machines have not given back yet.
async fn hosts(objects: &Objects, inside: &str) -> Result<Vec<String>, ObjectError> {
    let mut told = Vec::new();
    for machine in objects.list(Kind::AgentMachine, inside).await?.iter().take(HOSTS_NAMED) {
        let reference = &machine["status"]["agentRef"];
        let (space, name) = (text(&reference["namespace"]), text(&reference["name"]));
        if name.is_empty() {
            continue;
        }
        if let Some(agent) = objects.find(Kind::Agent, space, name).await? {
            let state = &agent["status"]["debugInfo"];
            told.push(format!("the host {space}/{name} is {}: {}", text(&state["state"]), text(&state["stateInfo"])));
        }
    }
    Ok(told)
}

/// The NodePools of a cluster: those that the watch told of, or all are read while it has not told of all.
async fn node_pools(objects: &Objects, pools: &Pools, namespace: &str, name: &str) -> Result<Vec<Value>, ObjectError> {
    let found = match pools.all_of(namespace, name) {
        Some(names) => {
            let reads = names.iter().map(|pool| objects.find(Kind::NodePool, namespace, pool));
            try_join_all(reads).await?.into_iter().flatten().collect()
        }
        None => objects.list(Kind::NodePool, namespace).await?,
    };
    Ok(of_cluster(found, name))
}

fn of_cluster(pools: Vec<Value>, name: &str) -> Vec<Value> {
    pools.into_iter().filter(|pool| pool["spec"]["clusterName"] == name).collect()
}

/// The next step; none when nothing is left but the data.
pub(crate) fn plan(cluster: &Value, remains: &Remains) -> Option<Step> {
    if !remains.node_pools.is_empty() {
        return Some(step("WaitingForNodePools", &remains.node_pools));
    }
    if let Some(plane) = &remains.control_plane {
        return Some(step("WaitingForControlPlane", std::slice::from_ref(plane)));
    }
    let mut rest: Vec<Value> = Vec::new();
    rest.extend(remains.managed_cluster.clone());
    if annotation(cluster, KEEP_NAMESPACE) != "true" {
        rest.extend(remains.namespace.clone());
    }
    if rest.is_empty() {
        return None;
    }
    let mut step = step("WaitingForNamespace", &rest);
    for host in &remains.hosts {
        step.message += "; ";
        step.message += host;
    }
    Some(step)
}

fn step(reason: &'static str, objects: &[Value]) -> Step {
    let waiting: Vec<String> = objects.iter().map(waiting_for).collect();
    Step {
        reason,
        message: format!("Waiting for {}", waiting.join(", ")),
        delete: objects.iter().filter(|object| !is_deleting(object)).map(Reference::of).collect(),
    }
}

/// An object that is not gone yet, and what holds it.
fn waiting_for(object: &Value) -> String {
    let reference = Reference::of(object);
    let mut held: Vec<String> = Vec::new();
    if reference.kind == Kind::Namespace {
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        let telling = conditions.filter(|condition| condition["status"] == "True");
        held.extend(telling.filter_map(|condition| condition["message"].as_str()).map(str::to_owned));
    }
    let finalizers: Vec<&str> = finalizers(object).collect();
    if !finalizers.is_empty() {
        held.push(format!("held by the finalizers {}", finalizers.join(", ")));
    }
    if held.is_empty() { reference.to_string() } else { format!("{reference} ({})", held.join("; ")) }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(kind: Kind, namespace: &str, name: &str) -> Value {
        json!({"apiVersion": kind.api_version(), "kind": kind.name(), "metadata": {"name": name, "namespace": namespace}})
    }

    #[test]
    fn pools_go_first_and_the_namespace_last() {
        let cluster = object(Kind::HostedCluster, "clusters", "demo");
        let mut remains = Remains {
            node_pools: vec![object(Kind::NodePool, "clusters", "demo")],
            control_plane: Some(object(Kind::HostedControlPlane, "clusters-demo", "demo")),
            namespace: Some(object(Kind::Namespace, "", "clusters-demo")),
            managed_cluster: None,
            hosts: Vec::new(),
        };
        assert_eq!(plan(&cluster, &remains).map(|step| step.reason), Some("WaitingForNodePools"));
        remains.node_pools.clear();
        assert_eq!(plan(&cluster, &remains).map(|step| step.reason), Some("WaitingForControlPlane"));
        remains.control_plane = None;
        let step = plan(&cluster, &remains).expect("a step");
        assert_eq!(step.message, "Waiting for Namespace clusters-demo");
        assert_eq!(step.delete, [Reference::new(Kind::Namespace, "", "clusters-demo")]);
        remains.hosts = vec!["the host metal/one is reclaiming: Host is leaving its cluster".to_owned()];
        let step = plan(&cluster, &remains).expect("a step");
        assert_eq!(
            step.message,
            "Waiting for Namespace clusters-demo; the host metal/one is reclaiming: Host is leaving its cluster"
        );
        remains.namespace = None;
        assert_eq!(plan(&cluster, &remains), None);
    }

    #[test]
    fn what_is_going_already_is_only_waited_for_and_its_holder_named() {
        let mut pool = object(Kind::NodePool, "clusters", "demo");
        pool["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        pool["metadata"]["finalizers"] = json!(["example.com/keep"]);
        let remains = Remains {
            node_pools: vec![pool],
            control_plane: None,
            namespace: None,
            managed_cluster: None,
            hosts: Vec::new(),
        };
        let step = plan(&object(Kind::HostedCluster, "clusters", "demo"), &remains).expect("a step");
        assert!(step.delete.is_empty());
        assert_eq!(step.message, "Waiting for NodePool clusters/demo (held by the finalizers example.com/keep)");
    }
}
