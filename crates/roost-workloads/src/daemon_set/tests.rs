//! One pod on every node.

use super::*;

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}

fn set() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "d", "uid": "u", "generation": 1, "annotations": {GENERATION: "1"}},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "revisionHistoryLimit": 10,
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
            "template": {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"image": "a"}]}}},
    })
}

fn node(name: &str, taint: Option<&str>) -> Node {
    let taints: Vec<Value> = taint.map(|effect| json!({"key": "k", "effect": effect})).into_iter().collect();
    Node::from_value(&json!({"metadata": {"name": name}, "spec": {"taints": taints}})).expect("a node")
}

fn run(mut pod: Value, name: &str) -> Arc<Pod> {
    pod["metadata"]["name"] = name.into();
    pod["metadata"]["uid"] = name.into();
    pod["status"] = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
    Arc::new(serde_json::from_value(pod).expect("a pod"))
}

fn revision(plan: &Plan) -> Option<Value> {
    plan.before.iter().find_map(|action| match action {
        Action::Create(revision) => Some(revision.clone()),
        _ => None,
    })
}

#[test]
fn nodes_get_a_pod_unless_a_taint_keeps_it_away() {
    let nodes = [node("a", None), node("b", Some("NoSchedule")), node("c", None)];
    let nodes: Vec<&Node> = nodes.iter().collect();
    let first = plan(&set(), Vec::new(), Vec::new(), &nodes, now());
    assert_eq!(first.create.len(), 2);
    let revision = revision(&first).expect("a revision");
    let pods: Vec<Arc<Pod>> = first.create.iter().zip(["p", "q"]).map(|(pod, name)| run(pod.clone(), name)).collect();
    assert_eq!(target(&pods[1]).as_deref(), Some("c"));
    let second = plan(&set(), vec![revision.clone()], pods.clone(), &nodes, now());
    assert!(second.create.is_empty() && second.delete.is_empty() && second.before.is_empty(), "{second:?}");
    let Some(Action::UpdateStatus(next)) = second.after.first() else { panic!("a status") };
    let status = &next["status"];
    assert_eq!((&status["desiredNumberScheduled"], &status["numberAvailable"]), (&json!(2), &json!(2)));
    let tainted = [node("a", Some("NoExecute")), node("c", None)];
    let tainted: Vec<&Node> = tainted.iter().collect();
    assert_eq!(plan(&set(), vec![revision], pods, &tainted, now()).delete.len(), 1);
}

#[test]
fn a_new_template_replaces_pods_one_by_one_or_by_surge() {
    let nodes = [node("a", None), node("b", None)];
    let nodes: Vec<&Node> = nodes.iter().collect();
    let first = plan(&set(), Vec::new(), Vec::new(), &nodes, now());
    let revision = revision(&first).expect("a revision");
    let pods: Vec<Arc<Pod>> = first.create.iter().zip(["p", "q"]).map(|(pod, name)| run(pod.clone(), name)).collect();
    let mut changed = set();
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "b".into();
    changed["metadata"]["annotations"][GENERATION] = "2".into();
    let rolled = plan(&changed, vec![revision.clone()], pods.clone(), &nodes, now());
    assert_eq!((rolled.delete.len(), rolled.create.len()), (1, 0));
    changed["spec"]["updateStrategy"]["rollingUpdate"] = json!({"maxUnavailable": 0, "maxSurge": 1});
    let surged = plan(&changed, vec![revision], pods, &nodes, now());
    assert_eq!((surged.delete.len(), surged.create.len()), (0, 1));
}
