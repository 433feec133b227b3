//! Where pods go, and what is said when they go nowhere.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::{Budget, Preemption, preempt};
use super::*;

fn node(name: &str, zone: &str, cpu: &str) -> Node {
    Node::from_value(&json!({
        "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone, "size": cpu}},
        "status": {"allocatable": {"cpu": cpu, "memory": "4Gi", "pods": "5"}},
    }))
    .expect("a node")
}

fn pod(name: &str, spec: impl std::borrow::Borrow<Value>) -> Arc<Pod> {
    let mut value = json!({
        "metadata": {"name": name, "namespace": "d", "uid": name, "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
    });
    for (field, content) in spec.borrow().as_object().into_iter().flatten() {
        value["spec"][field.as_str()] = content.clone();
    }
    Arc::new(serde_json::from_value(value).expect("a pod"))
}

fn three() -> State {
    let mut state = State::default();
    for (name, zone) in [("a", "x"), ("b", "x"), ("c", "y")] {
        state.set_node(node(name, zone, "2"));
    }
    state
}

fn place(state: &mut State, pod: &Arc<Pod>) -> Result<String, String> {
    let choice = choose(state, pod, &Surroundings::default()).map_err(|unfit| unfit.message(""))?;
    state.assume(pod, &choice.node);
    Ok(choice.node)
}

#[test]
fn words_are_those_of_stock() {
    assert_eq!(place(&mut State::default(), &pod("p", json!({}))), Err("no nodes available to schedule pods".into()));
    let mut tainted = three();
    let mut first = node("a", "x", "2");
    first.taints = vec![super::super::Taint { key: "k".into(), value: "v".into(), effect: "NoSchedule".into() }];
    tainted.set_node(first);
    let mut second = node("b", "x", "2");
    second.unschedulable = true;
    tainted.set_node(second);
    let large = json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": "3", "memory": "8Gi"}}}]});
    let expected = "0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, \
        1 node(s) had untolerated taint(s), 1 node(s) were unschedulable.";
    assert_eq!(place(&mut tainted, &pod("p", large)), Err(expected.into()));
    let tolerant = json!({"tolerations": [{"operator": "Exists"}], "nodeSelector": {"kubernetes.io/hostname": "b"}});
    assert_eq!(place(&mut tainted, &pod("p", tolerant)), Ok("b".into()));
}

#[test]
fn every_filter_rejects_what_it_should() {
    let port = json!({"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]});
    let anti = json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "topology.kubernetes.io/zone"}]}}});
    let near = json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "topology.kubernetes.io/zone"}]}}});
    let spread = json!({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "missing",
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}]});
    for (spec, expected) in [
        (json!({"nodeSelector": {"size": "9"}}), "3 node(s) didn't match Pod's node affinity/selector"),
        (
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "size", "operator": "Gt", "values": ["2"]}]}]}}}}),
            "3 node(s) didn't match Pod's node affinity/selector",
        ),
        (near, "3 node(s) didn't match pod affinity rules"),
        (spread, "3 node(s) didn't match pod topology spread constraints (missing required label)"),
    ] {
        let message = format!("0/3 nodes are available: {expected}.");
        assert_eq!(place(&mut three(), &pod("p", spec)), Err(message));
    }
    let mut state = three();
    for number in 0..3 {
        assert!(place(&mut state, &pod(&format!("port-{number}"), port.clone())).is_ok());
    }
    let message = "0/3 nodes are available: 3 node(s) didn't have free ports for the requested pod ports.";
    assert_eq!(place(&mut state, &pod("more", port)), Err(message.into()));
    let mut state = three();
    for number in 0..2 {
        assert!(place(&mut state, &pod(&format!("anti-{number}"), anti.clone())).is_ok());
    }
    let message = "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.";
    assert_eq!(place(&mut state, &pod("more", anti)), Err(message.into()));
    let message = "0/3 nodes are available: 3 node(s) didn't satisfy existing pods anti-affinity rules.";
    assert_eq!(place(&mut state, &pod("plain", json!({}))), Err(message.into()));
}

#[test]
fn pods_are_spread_and_room_comes_back() {
    let must = json!({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}]});
    let mut state = three();
    let zones: Vec<&str> = (0..4)
        .map(|number| place(&mut state, &pod(&format!("p{number}"), must.clone())).expect("room"))
        .map(|name| if name == "c" { "y" } else { "x" })
        .collect();
    assert_eq!(zones.iter().filter(|zone| **zone == "y").count(), 2, "{zones:?}");
    assert!(place(&mut state, &pod("p4", must.clone())).is_ok());
    let message =
        "0/3 nodes are available: 1 node(s) didn't match pod topology spread constraints, 2 Insufficient cpu.";
    assert_eq!(place(&mut state, &pod("more", must.clone())), Err(message.into()));
    for number in 0..5 {
        state.remove_pod(&format!("p{number}"));
    }
    assert!(place(&mut state, &pod("more", must)).is_ok());
    state.remove_pod("more");
    assert_eq!(state.with_terms, 0);
    assert!(state.places.values().all(|place| place.requested.is_nothing() && place.groups.is_empty()));
}

#[test]
fn pods_of_one_owner_go_to_different_nodes() {
    let mut state = three();
    let surroundings =
        Surroundings { same_kind: Some(crate::selector::read(&json!({"matchLabels": {"app": "web"}}))), volumes: None };
    let mut names: Vec<String> = (0..3)
        .map(|number| {
            let pod = pod(&format!("p{number}"), json!({"containers": [{"name": "c"}]}));
            let node = choose(&mut state, &pod, &surroundings).expect("room").node;
            state.assume(&pod, &node);
            node
        })
        .collect();
    names.sort();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn the_least_important_pods_make_room() {
    let mut state = three();
    let around = Surroundings::default();
    for number in 0..6 {
        let name = ["a", "b", "c"][number % 3];
        let spec = json!({"priority": number % 3, "nodeName": name});
        let placed = pod(&format!("p{number}"), spec);
        state.assume(&placed, &placed.spec.node_name);
    }
    let important = pod("important", json!({"priority": 2}));
    let unfit = choose(&mut state, &important, &Surroundings::default()).expect_err("no room");
    let Preemption::Victims { node, victims } = preempt(&mut state, &important, &unfit, &around, &[]) else {
        panic!("victims")
    };
    assert_eq!((node.as_str(), victims.len()), ("a", 1));
    // Where the least would be lost, a budget lets nobody go.
    let budget =
        Budget::read(&json!({"metadata": {"namespace": "n"}, "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 1, "disruptedPods": {}}}));
    let strict = Budget::read(&json!({"metadata": {"namespace": "n"},
        "spec": {"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}},
        "status": {"disruptionsAllowed": 0}}));
    let mut budgets = vec![budget];
    let mut node_with = |budgets: &[Budget]| match preempt(&mut state, &important, &unfit, &around, budgets) {
        Preemption::Victims { node, .. } => node,
        Preemption::Ineligible(words) | Preemption::Impossible(words) => words,
    };
    assert_eq!(node_with(&budgets), "a");
    budgets.push(strict);
    assert_eq!(node_with(&budgets), "a", "where all are protected, the least important go all the same");
    let unimportant = pod("unimportant", json!({"priority": 0}));
    let unfit = choose(&mut state, &unimportant, &Surroundings::default()).expect_err("no room");
    let Preemption::Impossible(words) = preempt(&mut state, &unimportant, &unfit, &around, &[]) else {
        panic!("no victims")
    };
    assert_eq!(
        unfit.message(&words),
        "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: \
            0/3 nodes are available: 3 No preemption victims found for incoming pod."
    );
}

#[test]
fn room_that_is_made_is_kept_from_lesser_pods() {
    let mut state = three();
    let around = Surroundings::default();
    for number in 0..6 {
        let name = ["a", "b", "c"][number % 3];
        let placed = pod(&format!("p{number}"), json!({"priority": 0, "nodeName": name}));
        state.set_pod(&placed);
    }
    let wide = json!({"priority": 5, "containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]});
    let important = pod("important", &wide);
    let unfit = choose(&mut state, &important, &around).expect_err("no room");
    let Preemption::Victims { node, victims } = preempt(&mut state, &important, &unfit, &around, &[]) else {
        panic!("victims")
    };
    assert_eq!(victims.len(), 2);
    assert!(state.nominate(&important, &node).is_empty());
    state.remove_pod(&victims[0].metadata.uid);
    let lesser = pod("lesser", json!({"priority": 4}));
    let message = "0/3 nodes are available: 3 Insufficient cpu.";
    assert_eq!(place(&mut state, &lesser), Err(message.into()));
    let greater = pod("greater", json!({"priority": 6, "nodeSelector": {"kubernetes.io/hostname": node}}));
    assert_eq!(place(&mut state, &greater), Ok(node.clone()), "who is more important does not wait");
    state.remove_pod("greater");
    state.remove_pod(&victims[1].metadata.uid);
    assert_eq!(place(&mut state, &lesser), Err(message.into()));
    let mut nominated = Pod::clone(&important);
    nominated.status.nominated_node_name.clone_from(&node);
    assert_eq!(place(&mut state, &Arc::new(nominated)), Ok(node.clone()));
    state.remove_pod("important");
    assert_eq!(place(&mut state, &lesser), Ok(node));
}

#[test]
fn a_greater_pod_takes_the_room_that_is_made_for_a_lesser() {
    let mut state = three();
    let (small, large) = (pod("small", json!({"priority": 1})), pod("large", json!({"priority": 2})));
    assert!(state.nominate(&small, "a").is_empty());
    let lesser = state.nominate(&large, "a");
    assert_eq!(lesser.iter().map(|pod| pod.metadata.name.as_str()).collect::<Vec<_>>(), ["small"]);
    state.renounce(&large);
    assert_eq!(state.nominations.nodes().count(), 0);
}

#[test]
fn many_nodes_are_not_all_looked_at() {
    assert_eq!((enough_of(99), enough_of(100), enough_of(1000), enough_of(10_000)), (99, 100, 420, 500));
}
