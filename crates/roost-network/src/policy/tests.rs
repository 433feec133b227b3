use std::net::IpAddr;

use serde_json::{Value, json};

use super::{Plan, Who, plan};
use crate::Settings;
use crate::filter::ruleset;
use crate::model::tests::{node, pod, policy};
use crate::model::{Direction, Kind, Model, Protocol};

const WEB: &str = "10.1.0.5";
const OTHER_WEB: &str = "10.1.1.5";
const DB: &str = "10.1.0.6";
const GUEST: &str = "10.1.1.7";
const OUTSIDE: &str = "192.0.2.9";

/// Pods of two nodes and two namespaces, and some policies.
fn model(policies: &[Value]) -> Model {
    let mut model = Model::default();
    model.put(Kind::Node, &node("a", "10.0.0.1", "10.1.0.0/24"));
    model.put(Kind::Node, &node("b", "10.0.0.2", "10.1.1.0/24"));
    for (name, team) in [("default", "home"), ("guests", "away")] {
        model.put(Kind::Namespace, &json!({"metadata": {"name": name, "labels": {"team": team}}}));
    }
    model.put(Kind::Pod, &pod("web-0", &json!({"app": "web"}), "a", WEB));
    model.put(Kind::Pod, &pod("web-1", &json!({"app": "web"}), "b", OTHER_WEB));
    model.put(Kind::Pod, &pod("db", &json!({"app": "db"}), "a", DB));
    let mut guest = pod("guest", &json!({"app": "web"}), "b", GUEST);
    guest["metadata"]["namespace"] = json!("guests");
    model.put(Kind::Pod, &guest);
    for (number, spec) in policies.iter().enumerate() {
        model.put(Kind::NetworkPolicy, &policy(&format!("p{number}"), spec));
    }
    model
}

/// Whether a plan lets a connection through, read as the packet filter reads it.
fn lets(plan: &Plan, from: &str, to: &str, protocol: Protocol, port: u16) -> bool {
    let (from, to): (IpAddr, IpAddr) = (from.parse().unwrap(), to.parse().unwrap());
    let passes = |direction: Direction, own: IpAddr, other: IpAddr| {
        let Some(number) = plan.pods.get(&(direction, own)) else { return true };
        plan.chains[*number].1.iter().any(|allowed| {
            let who = match &allowed.who {
                Who::Anybody => true,
                Who::Pods(number) => plan.peers[*number].contains(&other),
                Who::Places(number) => plan.places[*number].contains(&(other, protocol, port)),
                Who::Block(network, except) => {
                    network.contains(&other) && !except.iter().any(|part| part.contains(&other))
                }
            };
            let is_port = allowed.ports.as_ref().is_none_or(|(of, ranges)| {
                *of == protocol
                    && (ranges.is_empty() || ranges.iter().any(|(first, last)| (*first..=*last).contains(&port)))
            });
            who && is_port
        })
    };
    passes(Direction::Egress, from, to) && passes(Direction::Ingress, to, from)
}

/// Policies, and connections with whether both nodes let them through.
type Case = (&'static str, Vec<Value>, Vec<(&'static str, &'static str, u16, bool)>);

fn cases() -> Vec<Case> {
    let db = json!({"matchLabels": {"app": "db"}});
    let web = json!({"podSelector": {"matchLabels": {"app": "web"}}});
    let to_db = |rule: Value| json!({"podSelector": db, "policyTypes": ["Ingress"], "ingress": [rule]});
    let from_web = |rules: Value| json!({"podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Egress"], "egress": rules});
    vec![
        ("without a policy everything flows", vec![], vec![(WEB, DB, 80, true), (OUTSIDE, DB, 80, true)]),
        (
            "a policy without rules lets nothing in, and everything out",
            vec![json!({"podSelector": db})],
            vec![(WEB, DB, 80, false), (OUTSIDE, DB, 80, false), (DB, WEB, 80, true), (WEB, OTHER_WEB, 80, true)],
        ),
        (
            "an empty selector is about all pods of the namespace, and no other",
            vec![json!({"podSelector": {}, "policyTypes": ["Ingress", "Egress"]})],
            vec![
                (WEB, DB, 80, false),
                (WEB, OUTSIDE, 80, false),
                (GUEST, OUTSIDE, 80, true),
                (OUTSIDE, GUEST, 1, true),
            ],
        ),
        ("an empty rule lets everybody in", vec![to_db(json!({}))], vec![(WEB, DB, 80, true), (OUTSIDE, DB, 1, true)]),
        (
            "pods by label are those of the same namespace",
            vec![to_db(json!({"from": [web]}))],
            vec![(WEB, DB, 80, true), (OTHER_WEB, DB, 80, true), (GUEST, DB, 80, false), (OUTSIDE, DB, 80, false)],
        ),
        (
            "namespaces by label bring all their pods",
            vec![to_db(json!({"from": [{"namespaceSelector": {"matchLabels": {"team": "away"}}}]}))],
            vec![(GUEST, DB, 80, true), (WEB, DB, 80, false)],
        ),
        (
            "both selectors of one peer must hold",
            vec![to_db(json!({"from": [{"namespaceSelector": {}, "podSelector": {"matchLabels": {"app": "db"}}}]}))],
            vec![(GUEST, DB, 80, false), (WEB, DB, 80, false)],
        ),
        (
            "of two peers one is enough, and so of two policies",
            vec![
                to_db(json!({"from": [web, {"ipBlock": {"cidr": "198.51.100.0/24"}}]})),
                to_db(json!({"from": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]})),
            ],
            vec![(WEB, DB, 80, true), (OUTSIDE, DB, 80, true), ("198.51.100.7", DB, 80, true), (GUEST, DB, 80, false)],
        ),
        (
            "a block has exceptions, which may overlap",
            vec![to_db(json!({"from": [{"ipBlock": {"cidr": "192.0.2.0/24",
                "except": ["192.0.2.8/29", "192.0.2.9/32"]}}]}))],
            vec![(OUTSIDE, DB, 80, false), ("192.0.2.16", DB, 80, true)],
        ),
        (
            "ports by number, range and name",
            vec![to_db(
                json!({"from": [web], "ports": [{"port": 80}, {"port": 9000, "endPort": 9002}, {"port": "http"}]}),
            )],
            vec![
                (WEB, DB, 80, true),
                (WEB, DB, 81, false),
                (WEB, DB, 9002, true),
                (WEB, DB, 9003, false),
                (WEB, DB, 8080, true),
                (OUTSIDE, DB, 80, false),
            ],
        ),
        (
            "a name that the pod does not have is no port, and another protocol is another port",
            vec![to_db(json!({"ports": [{"port": "metrics"}, {"protocol": "UDP"}]}))],
            vec![(WEB, DB, 80, false), (WEB, DB, 8080, false)],
        ),
        (
            "names of ports that pods go out to are those of the other end",
            vec![from_web(json!([{"to": [{"podSelector": db}], "ports": [{"port": "http"}]}]))],
            vec![
                (WEB, DB, 8080, true),
                (WEB, DB, 80, false),
                (WEB, OTHER_WEB, 8080, false),
                (WEB, OUTSIDE, 8080, false),
            ],
        ),
        (
            "what lets something out is about what goes out",
            vec![json!({"podSelector": {"matchLabels": {"app": "web"}},
                "egress": [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}], "ports": [{"port": 443}]}]})],
            vec![(WEB, OUTSIDE, 443, true), (WEB, OUTSIDE, 80, false), (DB, WEB, 80, false), (DB, OUTSIDE, 80, true)],
        ),
        (
            "both ends must let it through",
            vec![from_web(json!([])), to_db(json!({}))],
            vec![(WEB, DB, 80, false), (GUEST, DB, 80, true)],
        ),
        (
            "what cannot be read lets nobody through",
            vec![to_db(json!({"from": [{"ipBlock": {"cidr": "everywhere"}}, {"podSelector": {"matchExpressions":
                [{"key": "app", "operator": "Near"}]}}]}))],
            vec![(WEB, DB, 80, false), (OUTSIDE, DB, 80, false)],
        ),
    ]
}

#[test]
fn policies_let_through_what_they_say() {
    for (name, policies, connections) in cases() {
        let model = model(&policies);
        let plans = ["a", "b"].map(|node| plan(&model, node));
        for (from, to, port, expected) in connections {
            let passes = plans.iter().all(|plan| lets(plan, from, to, Protocol::Tcp, port));
            assert_eq!(passes, expected, "{name}: {from} to {to} at {port}");
        }
    }
}

#[test]
fn a_node_has_only_what_its_own_pods_need() {
    let model =
        model(&[json!({"podSelector": {"matchLabels": {"app": "db"}}, "ingress": [{"from": [{"podSelector": {}}]}]})]);
    assert_eq!(plan(&model, "a").pods.len(), 1);
    assert_eq!(plan(&model, "b"), Plan::default());
}

#[test]
fn the_part_of_the_table_that_policies_make() {
    let rule = json!({"from": [{"podSelector": {"matchLabels": {"app": "web"}}},
            {"ipBlock": {"cidr": "192.0.2.0/24", "except": ["192.0.2.8/29", "192.0.2.9/32"]}}],
        "ports": [{"port": 80}, {"port": 9000, "endPort": 9002}, {"port": 9002, "endPort": 9010}, {"protocol": "UDP"}]});
    let out = json!({"to": [{"namespaceSelector": {}}], "ports": [{"port": "http"}]});
    let both = ["Ingress", "Egress"];
    let model = model(&[
        json!({"podSelector": {"matchLabels": {"app": "db"}}, "policyTypes": both, "ingress": [rule], "egress": [out]}),
        json!({"podSelector": {"matchLabels": {"app": "web"}}, "ingress": [{"ports": [{"port": 8080}]}]}),
    ]);
    let text = ruleset(&model, &Settings::default(), "a");
    let from = text.find("set peers-0-4").unwrap();
    let until = text.find("chain dispatch").unwrap();
    insta::assert_snapshot!(&text[from..until]);
}
