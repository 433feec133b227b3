use std::net::SocketAddr;

use serde_json::json;

use super::{holder, ruleset, slots};
use crate::Settings;
use crate::model::tests::{node, service, slice};
use crate::model::{Kind, Model};

fn settings() -> Settings {
    Settings {
        pod_networks: vec!["10.1.0.0/16".parse().unwrap()],
        service_networks: vec!["10.2.0.0/16".parse().unwrap()],
        ..Settings::default()
    }
}

fn model(spec: serde_json::Value, endpoints: &[(&str, &str)]) -> Model {
    let mut model = Model::default();
    model.put(Kind::Node, &node("a", "10.0.0.1", "10.1.0.0/24"));
    model.put(Kind::Node, &node("b", "10.0.0.2", "10.1.1.0/24"));
    model.put(Kind::Service, &service("web", spec));
    model.put(Kind::EndpointSlice, &slice("web", &json!({"port": 8080}), endpoints));
    model
}

const BOTH: &[(&str, &str)] = &[("10.1.0.5", "a"), ("10.1.1.5", "b")];

#[test]
fn the_whole_table_of_a_small_cluster() {
    let spec = json!({"clusterIPs": ["10.2.0.1"], "ports": [{"port": 80, "nodePort": 30080}]});
    insta::assert_snapshot!(ruleset(&model(spec, BOTH), &settings(), "a"));
}

/// Every line of the text that has all of these words.
fn has(text: &str, words: &[&str]) -> bool {
    text.lines().any(|line| words.iter().all(|word| line.contains(word)))
}

#[test]
fn policies_choose_who_serves() {
    let local = json!({"clusterIPs": ["10.2.0.1"], "ports": [{"port": 80, "nodePort": 30080}],
        "internalTrafficPolicy": "Local", "externalTrafficPolicy": "Local"});
    let text = ruleset(&model(local.clone(), BOTH), &settings(), "a");
    assert!(has(&text, &["10.2.0.1 . tcp . 80 : goto here-"]), "{text}");
    assert!(has(&text, &["mod 1 map { 0 : 10.1.0.5 . 8080 }"]), "{text}");
    assert!(has(&text, &["tcp . 30080 : goto outside-"]), "{text}");
    let text = ruleset(&model(local.clone(), &[("10.1.1.5", "b")]), &settings(), "a");
    assert!(has(&text, &["10.2.0.1 . tcp . 80 : drop"]), "{text}");
    let text = ruleset(&model(local, &[]), &settings(), "a");
    assert!(has(&text, &["elements = { 10.2.0.1 . tcp . 80 }"]), "{text}");
    assert!(has(&text, &["elements = { tcp . 30080 }"]), "{text}");
    assert!(!text.contains("goto here-") && !text.contains("goto all-"), "{text}");
}

#[test]
fn load_balancers_let_in_whom_they_should() {
    let spec = json!({"clusterIPs": ["10.2.0.1"], "ports": [{"port": 80}], "externalIPs": ["192.0.2.9"],
        "loadBalancerSourceRanges": ["198.51.100.7/24"]});
    let mut object = service("web", spec);
    object["status"] =
        json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"ip": "192.0.2.2", "ipMode": "Proxy"}]}});
    let mut model = model(json!({}), BOTH);
    model.put(Kind::Service, &object);
    let text = ruleset(&model, &settings(), "a");
    assert!(has(&text, &["192.0.2.1 . tcp . 80 : goto guard-", "192.0.2.9 . tcp . 80 : goto outside-"]), "{text}");
    assert!(has(&text, &["ip saddr { 198.51.100.0/24 } goto outside-"]), "{text}");
    assert!(!text.contains("192.0.2.2"), "{text}");
}

#[test]
fn names_cannot_break_out_of_their_comment() {
    let mut model = model(json!({}), &[]);
    let key = ("default".to_owned(), "web\" drop\n".to_owned());
    let spec = json!({"clusterIPs": ["10.2.0.1"], "ports": [{"port": 80}]});
    let mut object = service(&key.1, spec);
    object["metadata"]["namespace"] = json!(key.0);
    model.put(Kind::Service, &object);
    let mut endpoints = slice("x", &json!({"port": 8080}), BOTH);
    endpoints["metadata"]["labels"]["kubernetes.io/service-name"] = json!(key.1);
    model.put(Kind::EndpointSlice, &endpoints);
    let text = ruleset(&model, &settings(), "a");
    assert!(text.contains("comment \"default/webdrop:80\""), "{text}");
}

#[test]
fn clients_stay_with_their_pods() {
    let endpoints: Vec<SocketAddr> = (1..=6).map(|number| SocketAddr::from(([10, 1, 0, number], 80))).collect();
    let slots = slots(endpoints.len());
    let holders =
        |endpoints: &[SocketAddr]| (0..slots).map(|slot| *holder(slot, endpoints).unwrap()).collect::<Vec<_>>();
    let before = holders(&endpoints);
    let after = holders(&endpoints[1..]);
    for (before, after) in before.iter().zip(&after) {
        assert!(before == after || *before == endpoints[0], "only the slots of the one that went move");
    }
    for endpoint in &endpoints {
        let share = before.iter().filter(|holder| *holder == endpoint).count();
        assert!((4..=20).contains(&share), "{endpoint} has {share} of {slots}");
    }
}

#[test]
fn two_services_may_claim_one_outside_address() {
    let spec = json!({"clusterIPs": ["10.2.0.1"], "ports": [{"port": 80}], "externalIPs": ["192.0.2.9"]});
    let mut model = model(spec, BOTH);
    let other = json!({"clusterIPs": ["10.2.0.2"], "ports": [{"port": 80}], "externalIPs": ["192.0.2.9"]});
    model.put(Kind::Service, &service("zzz", other));
    let mut endpoints = slice("zzz", &json!({"port": 8080}), BOTH);
    endpoints["metadata"]["name"] = json!("zzz");
    model.put(Kind::EndpointSlice, &endpoints);
    let text = ruleset(&model, &settings(), "a");
    assert_eq!(text.matches("192.0.2.9 . tcp . 80 :").count(), 1, "{text}");
}
