use std::net::{IpAddr, Ipv4Addr};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::pod::{Outlook, Pod};
use super::of;

const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

fn at(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(1_700_000_000_000 + milliseconds).unwrap()
}

fn pod(annotations: Value, spec: Value) -> Value {
    let mut pod = json!({
        "metadata": {"name": "p", "namespace": "n", "uid": "u", "generation": 1},
        "spec": {"containers": [{"name": "a", "image": "i"}]},
    });
    pod["metadata"]["annotations"] = annotations;
    if let Value::Object(fields) = spec {
        for (key, value) in fields {
            pod["spec"][key] = value;
        }
    }
    pod
}

struct Run {
    pod: Value,
    local: Pod,
    status: Value,
}

impl Run {
    fn start(pod: Value) -> Run {
        let local = Pod::accept(&pod, Some("10.0.0.2".parse().unwrap()), at(0));
        Run { pod, local, status: json!({}) }
    }

    fn look(&mut self, milliseconds: i64) -> (Outlook, &Value) {
        let outlook = self.local.advance(&self.pod, at(milliseconds));
        self.status = of(&self.pod, &self.local, HOST, &self.status, at(milliseconds));
        (outlook, &self.status)
    }

    fn condition(&self, kind: &str) -> &Value {
        let conditions = self.status["conditions"].as_array().unwrap();
        conditions.iter().find(|condition| condition["type"] == kind).unwrap()
    }
}

#[test]
fn a_pod_becomes_ready_and_keeps_its_times() {
    let mut run =
        Run::start(pod(json!({"sim.roost.dev/start-seconds": "1", "sim.roost.dev/ready-seconds": "2"}), json!({})));
    assert_eq!(run.look(0).1["phase"], "Pending");
    assert_eq!(run.status["containerStatuses"][0]["state"]["waiting"]["reason"], "ContainerCreating");
    assert_eq!(run.local.due(&run.pod, at(0)), Some(at(1_000)));
    assert_eq!(run.look(1_000).1["phase"], "Running");
    assert_eq!(run.condition("Ready")["message"], "containers with unready status: [a]");
    assert_eq!(run.local.due(&run.pod, at(1_000)), Some(at(3_000)));
    run.look(3_000);
    assert_eq!(run.condition("Ready")["status"], "True");
    assert_eq!(run.status["podIPs"], json!([{"ip": "10.0.0.2"}]));
    let before = run.status.clone();
    assert_eq!(run.look(60_000), (Outlook::Alive, &before));
    assert_eq!(run.local.due(&run.pod, at(60_000)), None);
}

#[test]
fn a_pod_that_is_meant_to_end_succeeds_or_fails() {
    for (code, phase, reason) in [("0", "Succeeded", "PodCompleted"), ("3", "Failed", "PodFailed")] {
        let mut run = Run::start(pod(json!({"sim.roost.dev/exit-code": code}), json!({"restartPolicy": "Never"})));
        assert_eq!(run.look(500).1["phase"], "Running");
        let (outlook, status) = run.look(1_000);
        assert_eq!((outlook, &status["phase"]), (Outlook::Over, &json!(phase)));
        assert_eq!(run.condition("Ready")["reason"], reason);
        let ended = &run.status["containerStatuses"][0]["state"]["terminated"];
        assert_eq!(ended["exitCode"].to_string(), code);
        assert_eq!(run.local.due(&run.pod, at(1_000)), None);
    }
}

#[test]
fn containers_that_prepare_come_first() {
    let spec = json!({
        "initContainers": [{"name": "one", "image": "i"}, {"name": "side", "image": "i", "restartPolicy": "Always"}],
        "restartPolicy": "Never",
    });
    let mut run = Run::start(pod(json!({"one.sim.roost.dev/run-seconds": "2"}), spec.clone()));
    assert_eq!(run.look(1_000).1["phase"], "Pending");
    assert_eq!(run.condition("Initialized")["message"], "containers with incomplete status: [one side]");
    assert_eq!(run.status["containerStatuses"][0]["state"]["waiting"]["reason"], "PodInitializing");
    assert_eq!(run.look(2_500).1["phase"], "Running");
    assert_eq!(run.condition("Initialized")["status"], "True");
    let (outlook, status) = run.look(3_000);
    assert_eq!((outlook, &status["phase"]), (Outlook::Over, &json!("Succeeded")));
    assert!(status["initContainerStatuses"][1]["state"]["terminated"].is_object());
    let mut failing = Run::start(pod(json!({"one.sim.roost.dev/exit-code": "1"}), spec));
    assert_eq!(failing.look(10).1["phase"], "Failed");
}

#[test]
fn a_pod_that_crashes_says_so() {
    let mut run = Run::start(pod(json!({"sim.roost.dev/run-seconds": "1", "sim.roost.dev/exit-code": "1"}), json!({})));
    let (_, status) = run.look(5_000);
    assert_eq!(status["phase"], "Running");
    let waiting = &status["containerStatuses"][0]["state"]["waiting"];
    assert_eq!(waiting["reason"], "CrashLoopBackOff");
    assert_eq!(waiting["message"], "back-off 10s restarting failed container=a pod=p_n(u)");
    assert_eq!(status["containerStatuses"][0]["restartCount"], 1);
    assert_eq!(status["containerStatuses"][0]["lastState"]["terminated"]["exitCode"], 1);
}

#[test]
fn an_image_that_cannot_be_had_keeps_a_pod_pending() {
    let mut run = Run::start(pod(json!({"sim.roost.dev/pull-error": "true"}), json!({})));
    let (_, status) = run.look(100);
    assert_eq!(status["phase"], "Pending");
    assert_eq!(status["containerStatuses"][0]["state"]["waiting"]["message"], "Back-off pulling image \"i\"");
}

#[test]
fn deletion_waits_for_those_who_do_not_listen() {
    let mut run = Run::start(pod(json!({"sim.roost.dev/ignore-term": "true"}), json!({})));
    run.look(0);
    run.pod["metadata"]["deletionTimestamp"] = json!("2023-11-14T22:13:21Z");
    run.pod["metadata"]["deletionGracePeriodSeconds"] = json!(2);
    assert_eq!(run.look(1_000).0, Outlook::Alive);
    assert_eq!(run.local.due(&run.pod, at(1_000)), Some(at(3_000)));
    let (outlook, status) = run.look(3_000);
    assert_eq!((outlook, &status["phase"]), (Outlook::Gone, &json!("Failed")));
    let mut obedient = Run::start(pod(json!({}), json!({})));
    obedient.look(0);
    obedient.pod["metadata"]["deletionTimestamp"] = json!("2023-11-14T22:13:21Z");
    let (outlook, status) = obedient.look(1_000);
    assert_eq!((outlook, &status["phase"]), (Outlook::Gone, &json!("Succeeded")));
}

#[test]
fn gates_of_others_are_waited_for() {
    let mut run = Run::start(pod(json!({}), json!({"readinessGates": [{"conditionType": "example.com/ok"}]})));
    run.look(0);
    assert_eq!(run.condition("Ready")["reason"], "ReadinessGatesNotReady");
    assert_eq!(run.condition("ContainersReady")["status"], "True");
    run.pod["status"] = json!({"conditions": [{"type": "example.com/ok", "status": "True"}]});
    run.look(0);
    assert_eq!(run.condition("Ready")["status"], "True");
}

#[test]
fn a_pod_of_an_earlier_life_counts_a_restart() {
    let mut object = pod(json!({}), json!({}));
    object["status"] = json!({"containerStatuses": [{"name": "a", "containerID": "x", "restartCount": 4}]});
    let mut run = Run::start(object);
    assert_eq!(run.look(0).1["containerStatuses"][0]["restartCount"], 5);
}
