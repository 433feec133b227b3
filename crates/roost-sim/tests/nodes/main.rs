//! Simulated nodes on the engine, over real sockets.

mod ignition;
mod kubelet;
mod plane;
mod pods;
mod tunnel;

use jiff::SignedDuration;
use plane::{Answer, Plane};
use roost_ignition::payload::{Taint, TaintEffect};
use roost_sim::{Faults, Node, NodeSpec, Simulator, Stage, Start};
use serde_json::{Value, json};

const CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";

fn spec(plane: &Plane, name: &str) -> NodeSpec {
    NodeSpec::new(name, Start::Kubeconfig(plane.bootstrap_kubeconfig()))
}

pub(crate) fn is_ready(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// Waits until something is in the way of a node.
pub(crate) async fn trouble(node: &Node) -> String {
    let mut progress = node.progress();
    let troubled = progress.wait_for(|progress| progress.trouble.is_some()).await.expect("a node that lives");
    troubled.trouble.clone().expect("words")
}

#[tokio::test]
async fn nodes_join_and_become_schedulable() {
    let plane = Plane::start(Answer::Approved).await;
    let simulator = Simulator::new();
    let mut specs: Vec<NodeSpec> = (1..=3).map(|number| spec(&plane, &format!("node-{number}"))).collect();
    specs[0].labels.insert("role".to_owned(), "first".to_owned());
    specs[0].provider_id = Some("roost://cluster/machine".to_owned());
    specs[1].taints.push(Taint { key: "kept".to_owned(), value: "yes".to_owned(), effect: TaintEffect::NoSchedule });
    let nodes: Vec<Node> = specs.into_iter().map(|spec| simulator.spawn(spec)).collect();
    for node in &nodes {
        let progress = node.reach(Stage::Serving).await;
        let times: Vec<_> = Stage::ALL.iter().map(|stage| progress.reached(*stage).unwrap()).collect();
        assert!(times.is_sorted(), "{times:?}");
        assert!(node.statistics().failed == 0);
    }
    let first = plane.wait_for("/api/v1/nodes/node-1", |node| is_ready(node) && node["spec"]["taints"].is_null()).await;
    assert_eq!(first["metadata"]["labels"]["role"], "first");
    assert_eq!(first["spec"]["providerID"], "roost://cluster/machine");
    let taints = json!([{"key": "kept", "value": "yes", "effect": "NoSchedule"}]);
    plane.wait_for("/api/v1/nodes/node-2", |node| is_ready(node) && node["spec"]["taints"] == taints).await;
    let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-3";
    let lease = plane.wait_for(lease, |_| true).await;
    assert_eq!(lease["spec"]["holderIdentity"], "node-3");
    assert_eq!(lease["metadata"]["ownerReferences"][0]["kind"], "Node");
}

#[tokio::test]
async fn a_node_that_died_goes_on_with_what_it_kept() {
    let plane = Plane::start(Answer::Approved).await;
    let simulator = Simulator::new();
    let directory = tempfile::tempdir().unwrap();
    let mut spec = spec(&plane, "node");
    spec.disk = Some(directory.path().join("node"));
    spec.faults.dies_at = Some(Stage::Certified);
    let dead = simulator.spawn(spec.clone()).reach(Stage::Ready).await;
    assert!(dead.dead && dead.stage == Stage::Certified, "{dead:?}");
    assert!(plane.get("/api/v1/nodes/node").await.is_none());
    spec.faults.dies_at = None;
    for _ in 0..2 {
        let node = simulator.spawn(spec.clone());
        assert!(node.reach(Stage::Ready).await.reached(Stage::Requested).is_none());
        plane.wait_for("/api/v1/nodes/node", is_ready).await;
    }
    assert_eq!(plane.requests(CLIENT).await, 1);
}

#[tokio::test]
async fn a_denied_request_is_named() {
    let plane = Plane::start(Answer::Denied).await;
    let node = Simulator::new().spawn(spec(&plane, "node"));
    let words = trouble(&node).await;
    assert!(words.ends_with("was denied: the test says so"), "{words}");
    assert!(plane.get("/api/v1/nodes/node").await.is_none());
}

#[tokio::test]
async fn a_wrong_clock_trusts_nobody() {
    let plane = Plane::start(Answer::Approved).await;
    let mut spec = spec(&plane, "node");
    spec.faults = Faults { clock_offset: SignedDuration::from_hours(-48), ..Faults::default() };
    let node = Simulator::new().spawn(spec);
    let words = trouble(&node).await;
    assert!(words.contains("not valid yet"), "{words}");
}

#[tokio::test]
async fn a_foreign_credential_is_refused() {
    let plane = Plane::start(Answer::Approved).await;
    let kubeconfig = String::from_utf8(plane.bootstrap_kubeconfig()).unwrap().replace("0123456789", "9876543210");
    let node = Simulator::new().spawn(NodeSpec::new("node", Start::Kubeconfig(kubeconfig.into_bytes())));
    let words = trouble(&node).await;
    assert!(words.contains("401") || words.contains("Unauthorized"), "{words}");
}
