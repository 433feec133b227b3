//! A pool's Secrets and its report, from what was read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::dereference::{Observed, secret_text};
use super::plan::{Plan, plan};
use super::status::{Pass, status};
use super::validate::{Block, Verdict, validate};
use crate::object::annotation;

const EXPIRATION: &str = "hypershift.openshift.io/ignition-token-expiration-timestamp";

pub(super) fn authority() -> String {
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let lifetime = SignedDuration::from_hours(24);
    let authority = roost_pki::CertificateAuthority::new("test", now, lifetime).unwrap();
    authority.certificate().to_pem()
}

pub(super) fn observed(replicas: u32) -> (Observed, Value) {
    let pem = authority();
    let pool = json!({
        "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool",
        "metadata": {"name": "workers", "namespace": "clusters", "generation": 1},
        "spec": {"clusterName": "demo", "replicas": replicas, "platform": {"type": "None"},
            "management": {"upgradeType": "InPlace"}, "release": {"image": "embedded:v1.36.3"}},
    });
    let cluster = json!({
        "metadata": {"name": "demo", "namespace": "clusters"},
        "spec": {"clusterID": "c", "infraID": "demo-abcde", "release": {"image": "embedded:v1.36.3"},
            "networking": {"clusterNetwork": [{"cidr": "10.132.0.0/14"}], "serviceNetwork": [{"cidr": "172.31.0.0/16"}]}},
        "status": {"ignitionEndpoint": "192.0.2.1:31000", "controlPlaneEndpoint": {"host": "192.0.2.1", "port": 30000}},
    });
    let observed = Observed {
        cluster: Some(cluster.clone()),
        namespace: "clusters-demo".to_owned(),
        ignition_certificate: Some(json!({"data": {"ca.crt": STANDARD.encode(&pem)}})),
        api_trust: Some(json!({"data": {"ca.crt": pem}})),
        ..Observed::idle(pool)
    };
    (observed, cluster)
}

pub(super) fn encoded(text: &str) -> String {
    STANDARD.encode(text)
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn judged(observed: &Observed, cluster: &Value) -> Verdict {
    validate(observed, cluster, "1.36.3", time("2026-01-01T00:00:00Z"))
}

pub(super) fn planned(observed: &Observed, cluster: &Value, fresh: &str, now: &str) -> Plan {
    let verdict = judged(observed, cluster);
    let Ok(wanted) = &verdict.outcome else { panic!("{:?}", verdict.conditions) };
    plan(observed, wanted, fresh, time(now))
}

/// Counts what was planned as there.
pub(super) fn carry_out(observed: &mut Observed, plan: &Plan) {
    for document in &plan.apply {
        observed.secrets.retain(|secret| secret["metadata"]["name"] != document["metadata"]["name"]);
        observed.secrets.push(document.clone());
    }
    observed.secrets.retain(|secret| plan.delete.iter().all(|gone| secret["metadata"]["name"] != gone.name));
}

pub(super) fn tokens(plan: &Plan) -> Vec<&str> {
    plan.tokens.iter().map(|(token, _)| token.expose().as_str()).collect()
}

#[test]
fn a_token_is_made_once_and_replaced_at_half_of_its_life_with_the_old_one_still_good() {
    let (mut observed, cluster) = observed(1);
    let first = planned(&observed, &cluster, "one", "2026-01-01T00:00:00Z");
    assert_eq!(first.apply.len(), 2);
    assert!(first.token_secret.starts_with("token-workers-"));
    let user_data = secret_text(first.apply.last(), "value").unwrap();
    assert!(user_data.contains(&STANDARD.encode("one")), "{user_data}");
    assert_eq!(secret_text(first.apply.last(), "disableTemplating").as_deref(), Some("dHJ1ZQ=="));
    carry_out(&mut observed, &first);
    let same = planned(&observed, &cluster, "two", "2026-01-01T05:29:00Z");
    assert!(same.apply.is_empty() && same.delete.is_empty(), "nothing changed");
    assert_eq!(tokens(&same), ["one"]);
    let rotated = planned(&observed, &cluster, "two", "2026-01-01T05:30:00Z");
    assert_eq!(tokens(&rotated), ["two", "one"]);
    assert_eq!(rotated.token_secret, first.token_secret, "a rotation is no rollout");
    carry_out(&mut observed, &rotated);
    let again = planned(&observed, &cluster, "three", "2026-01-01T10:59:00Z");
    assert_eq!(tokens(&again), ["two", "one"]);
    let next = planned(&observed, &cluster, "three", "2026-01-01T11:00:00Z");
    assert_eq!(tokens(&next), ["three", "two"]);
    let late = planned(&observed, &cluster, "four", "2026-01-03T00:00:00Z");
    assert_eq!(tokens(&late), ["four"], "what nobody replaced in time is good for nothing");
}

#[test]
fn the_token_of_an_outdated_configuration_expires_and_its_user_data_go_at_once() {
    let (mut observed, cluster) = observed(1);
    let first = planned(&observed, &cluster, "one", "2026-01-01T00:00:00Z");
    carry_out(&mut observed, &first);
    observed.pull_secret = Some(json!({"data": {".dockerconfigjson": STANDARD.encode("{\"auths\":{\"a\":{}}}")}}));
    let second = planned(&observed, &cluster, "two", "2026-01-01T01:00:00Z");
    assert_ne!(second.token_secret, first.token_secret);
    assert_eq!(tokens(&second), ["two", "one"]);
    let gone: Vec<&str> = second.delete.iter().map(|gone| gone.name.as_str()).collect();
    assert_eq!(gone, [first.user_data_secret.as_str()]);
    carry_out(&mut observed, &second);
    let old = observed.secrets.iter().find(|secret| secret["metadata"]["name"] == first.token_secret).unwrap();
    assert_eq!(annotation(old, EXPIRATION), "2026-01-01T03:00:00Z");
    assert_eq!(secret_text(Some(old), "token").as_deref(), Some("one"));
    let still = planned(&observed, &cluster, "three", "2026-01-01T02:59:00Z");
    assert!(still.apply.is_empty() && still.delete.is_empty());
    assert_eq!(still.next, time("2026-01-01T03:00:00Z"));
    let over = planned(&observed, &cluster, "three", "2026-01-01T03:00:00Z");
    assert_eq!(tokens(&over), ["two"]);
    assert_eq!(over.delete.len(), 1);
    observed.pull_secret = None;
    let back = planned(&observed, &cluster, "three", "2026-01-01T02:00:00Z");
    assert_eq!(back.token_secret, first.token_secret);
    let revived = back.apply.iter().find(|document| document["metadata"]["name"] == first.token_secret).unwrap();
    assert_eq!(annotation(revived, EXPIRATION), "", "a configuration that came back does not expire");
}

#[test]
fn no_op_edits_are_no_rollout() {
    let (mut observed, cluster) = observed(1);
    let map = |text: &str| Some(json!({"data": {"config": text}}));
    let manifest = |name: &str| {
        format!(
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: {name}\nspec:\n  config:\n    ignition: {{version: 3.2.0}}\n"
        )
    };
    observed.configs = vec![("a".to_owned(), map(&manifest("a"))), ("b".to_owned(), map(&manifest("b")))];
    let first = planned(&observed, &cluster, "one", "2026-01-01T00:00:00Z").token_secret;
    observed.configs.reverse();
    assert_eq!(planned(&observed, &cluster, "one", "2026-01-01T00:00:00Z").token_secret, first);
    observed.configs[0].1 = map(&format!("# words\n{}", manifest("b")));
    observed.pool["spec"]["replicas"] = json!(7);
    observed.pool["metadata"]["annotations"] = json!({"example.com/x": "y"});
    assert_eq!(planned(&observed, &cluster, "one", "2026-01-01T00:00:00Z").token_secret, first);
    observed.configs[0].1 = map(&manifest("c"));
    assert_ne!(planned(&observed, &cluster, "one", "2026-01-01T00:00:00Z").token_secret, first);
}

fn reported(observed: &Observed, cluster: &Value, now: &str) -> Value {
    let verdict = judged(observed, cluster);
    status(&Pass { observed, verdict: &verdict, failed: None, rollout: None, is_reached: false, now: time(now) })
}

fn condition<'a>(status: &'a Value, kind: &str) -> (&'a str, &'a str, &'a str) {
    let conditions = status["conditions"].as_array().unwrap();
    let found = conditions.iter().find(|condition| condition["type"] == kind);
    let text = |field: &str| found.map_or("absent", |found| found[field].as_str().unwrap());
    (text("status"), text("reason"), text("message"))
}

pub(super) fn machine(observed: &Observed, cluster: &Value, name: &str, ready: &str) -> Value {
    let hash = planned(observed, cluster, "x", "2026-01-01T00:00:00Z").token_secret.replace("token-workers-", "");
    let condition = |kind: &str| {
        json!({"type": kind, "status": ready, "reason": "NodeNotReady", "message": "words",
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    json!({
        "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {"roost.dev/config-hash": hash, "roost.dev/node-name": format!("node-{name}")}},
        "status": {"nodeRef": {"name": name}, "nodeInfo": {"kubeletVersion": "v1.36.3"},
            "conditions": [condition("Ready"), condition("NodeHealthy")]},
    })
}

#[test]
fn a_pool_says_what_is_missing_what_is_broken_and_what_is_too_much() {
    let (mut observed, cluster) = observed(2);
    let now = "2026-01-01T00:10:00Z";
    let none = reported(&observed, &cluster, now);
    assert_eq!(condition(&none, "AllMachinesReady"), ("False", "NotFound", "No Machines are created"));
    assert_eq!(condition(&none, "Ready").1, "MachinesMissing");
    assert_eq!(condition(&none, "ReachedIgnitionEndpoint").1, "ignitionNotReached");
    let good = machine(&observed, &cluster, "a", "True");
    let bad = machine(&observed, &cluster, "b", "False");
    observed.machines = vec![good.clone(), bad];
    observed.pool["spec"]["management"]["autoRepair"] = json!(true);
    let half = reported(&observed, &cluster, now);
    assert_eq!(half["replicas"], 1);
    assert_eq!(condition(&half, "Ready").1, "NodesNotReady");
    assert!(condition(&half, "AllNodesHealthy").2.contains("1 of 2 machines are not healthy"));
    assert_eq!(condition(&half, "AutorepairEnabled"), ("True", "AsExpected", ""));
    assert_eq!(half["nodesInfo"]["nodeVersions"][0]["unreadyNodeCount"], 1);
    let broken = reported(&observed, &cluster, "2026-01-01T00:16:00Z");
    assert!(condition(&broken, "AutorepairEnabled").2.contains("node-b since 2026-01-01T00:00:00Z"));
    observed.machines =
        vec![good.clone(), machine(&observed, &cluster, "b", "True"), machine(&observed, &cluster, "c", "True")];
    let many = reported(&observed, &cluster, now);
    assert_eq!(condition(&many, "Ready").1, "MachinesSurplus");
    assert!(condition(&many, "Ready").2.contains("clusters-demo c"), "{}", condition(&many, "Ready").2);
    observed.machines.pop();
    assert_eq!(condition(&reported(&observed, &cluster, now), "Ready").0, "True");
    observed.machines[0]["metadata"]["annotations"]["roost.dev/config-hash"] = json!("other");
    let outdated = reported(&observed, &cluster, now);
    assert_eq!(condition(&outdated, "UpdatingConfig").0, "True");
    assert!(outdated["version"].is_null(), "a version that not all nodes have is not claimed");
}

#[test]
fn the_first_broken_link_is_what_is_waited_for() {
    let (mut observed, mut cluster) = observed(1);
    let blocked = |observed: &Observed, cluster: &Value| match judged(observed, cluster).outcome {
        Err(Block::Waiting(problem)) => problem,
        Err(Block::Idle) => "idle".to_owned(),
        Ok(_) => "nothing".to_owned(),
    };
    assert_eq!(blocked(&observed, &cluster), "nothing");
    observed.configs = vec![("absent".to_owned(), None)];
    assert!(blocked(&observed, &cluster).contains("clusters/absent, which does not exist"));
    observed.configs =
        vec![("odd".to_owned(), Some(json!({"data": {"config": "kind: Pod\napiVersion: v1\nmetadata: {name: x}"}})))];
    assert_ne!(blocked(&observed, &cluster), "nothing");
    observed.configs.clear();
    cluster["status"]["ignitionEndpoint"] = json!("");
    let verdict = judged(&observed, &cluster);
    assert!(verdict.conditions.iter().any(|condition| condition.reason == "IgnitionEndpointMissing"));
    observed.pool["spec"]["replicas"] = json!(0);
    assert_eq!(blocked(&observed, &cluster), "idle");
    observed.pool["spec"]["release"]["image"] = json!("kubernetes:v1.37.0");
    assert!(blocked(&observed, &cluster).contains("newer than the cluster's"));
    observed.pool["spec"]["autoScaling"] = json!({"min": 1, "max": 2});
    assert!(blocked(&observed, &cluster).contains("only one of"));
}
