//! Pods: the one kind whose status has to be worked out from the state of its containers.

use serde_json::Value;

use crate::column::{AGE, Cell, Column, Condition, NAME, Table};
use crate::duration;
use crate::read::{at, being_deleted, condition_holds, flag, integer, list, text};

pub(crate) static TABLES: &[Table] = &[Table {
    kind: "Pod",
    columns: &[
        NAME,
        Column::text("Ready", Cell::Made(|pod, _| Summary::of(pod).ready.into()))
            .says("How many of the pod's containers are ready to serve."),
        Column::text("Status", Cell::Made(|pod, _| Summary::of(pod).reason.into()))
            .says("The state of the pod, summed up over its containers."),
        Column::text("Restarts", Cell::Made(restarts))
            .says("How often the pod's containers were restarted, and when last."),
        AGE,
        Column::text("IP", Cell::Made(address)).doc("status.podIP").wide(),
        Column::text("Node", Cell::FilledOr("spec.nodeName", "<none>")).doc("spec.nodeName").wide(),
        Column::text("Nominated Node", Cell::FilledOr("status.nominatedNodeName", "<none>"))
            .doc("status.nominatedNodeName")
            .wide(),
        Column::text("Readiness Gates", Cell::Made(readiness_gates)).doc("spec.readinessGates").wide(),
    ],
    condition,
    ..Table::EMPTY
}];

fn condition(pod: &Value) -> Option<Condition> {
    let (reason, message) = match text(pod, "status.phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(Condition { r#type: "Completed", status: "True", reason, message })
}

fn restarts(pod: &Value, now: i64) -> Value {
    let summary = Summary::of(pod);
    match summary.last_restart {
        Some(time) if summary.restarts != 0 => {
            format!("{} ({} ago)", summary.restarts, duration::human(now.saturating_sub(time))).into()
        }
        _ => summary.restarts.to_string().into(),
    }
}

fn address(pod: &Value, _now: i64) -> Value {
    let first = list(pod, "status.podIPs").first().map(|address| text(address, "ip")).unwrap_or_default();
    if first.is_empty() { "<none>".into() } else { first.into() }
}

fn readiness_gates(pod: &Value, _now: i64) -> Value {
    let gates = list(pod, "spec.readinessGates");
    if gates.is_empty() {
        return "<none>".into();
    }
    let conditions = list(pod, "status.conditions");
    let open = gates.iter().filter(|gate| condition_holds(conditions, text(gate, "conditionType"))).count();
    format!("{open}/{}", gates.len()).into()
}

/// What is told about a pod in a few words.
struct Summary {
    ready: String,
    reason: String,
    restarts: i64,
    last_restart: Option<i64>,
}

/// The containers of one kind, counted.
#[derive(Default)]
struct Count {
    ready: usize,
    restarts: i64,
    last_restart: Option<i64>,
}

impl Count {
    fn add_restarts(&mut self, status: &Value) {
        self.restarts = self.restarts.saturating_add(integer(status, "restartCount"));
        let finished = duration::unix_seconds(text(status, "lastState.terminated.finishedAt"));
        self.last_restart = self.last_restart.max(finished);
    }
}

impl Summary {
    fn of(pod: &Value) -> Self {
        let phase = text(pod, "status.phase");
        let mut reason = match text(pod, "status.reason") {
            "" => phase.to_owned(),
            reason => reason.to_owned(),
        };
        let conditions = list(pod, "status.conditions");
        if conditions.iter().any(|condition| {
            text(condition, "type") == "PodScheduled" && text(condition, "reason") == "SchedulingGated"
        }) {
            "SchedulingGated".clone_into(&mut reason);
        }

        let sidecars = list(pod, "spec.initContainers").iter().filter(|container| is_sidecar(container)).count();
        let total = list(pod, "spec.containers").len() + sidecars;
        let mut all = Count::default();
        let mut of_sidecars = Count::default();
        let stopped_at = initialize(pod, &mut all, &mut of_sidecars);
        if let Some(word) = &stopped_at {
            reason.clone_from(word);
        }
        all.ready = of_sidecars.ready;
        if stopped_at.is_none() || condition_holds(conditions, "Initialized") {
            all = of_sidecars;
            run(pod, &mut all, &mut reason, condition_holds(conditions, "Ready"));
        }

        if being_deleted(pod) {
            if text(pod, "status.reason") == "NodeLost" {
                "Unknown".clone_into(&mut reason);
            } else if phase != "Succeeded" && phase != "Failed" {
                "Terminating".clone_into(&mut reason);
            }
        }
        Self { ready: format!("{}/{total}", all.ready), reason, restarts: all.restarts, last_restart: all.last_restart }
    }
}

fn is_sidecar(container: &Value) -> bool {
    text(container, "restartPolicy") == "Always"
}

/// Walks the init containers up to the one that is not done yet, and says why it is not.
fn initialize(pod: &Value, all: &mut Count, of_sidecars: &mut Count) -> Option<String> {
    let containers = list(pod, "spec.initContainers");
    for (index, status) in list(pod, "status.initContainerStatuses").iter().enumerate() {
        let name = text(status, "name");
        let sidecar = containers.iter().any(|container| text(container, "name") == name && is_sidecar(container));
        all.add_restarts(status);
        if sidecar {
            of_sidecars.add_restarts(status);
        }
        let terminated = at(status, "state.terminated");
        if terminated.is_some_and(|state| integer(state, "exitCode") == 0) {
            continue;
        }
        if sidecar && flag(status, "started") {
            of_sidecars.ready += usize::from(flag(status, "ready"));
            continue;
        }
        let waiting = text(status, "state.waiting.reason");
        return Some(match terminated {
            Some(state) => format!("Init:{}", ending(state)),
            None if !waiting.is_empty() && waiting != "PodInitializing" => format!("Init:{waiting}"),
            None => format!("Init:{index}/{}", containers.len()),
        });
    }
    None
}

/// Walks the containers from last to first, so that the first one's reason is the one that stays.
fn run(pod: &Value, count: &mut Count, reason: &mut String, pod_is_ready: bool) {
    let mut running = false;
    let mut failure = None;
    for status in list(pod, "status.containerStatuses").iter().rev() {
        count.add_restarts(status);
        let waiting = text(status, "state.waiting.reason");
        if !waiting.is_empty() {
            waiting.clone_into(reason);
        } else if let Some(state) = at(status, "state.terminated") {
            *reason = ending(state);
            if integer(state, "exitCode") != 0 {
                failure = Some(reason.clone());
            }
        } else if flag(status, "ready") && at(status, "state.running").is_some() {
            running = true;
            count.ready += 1;
        }
    }
    if reason == "Completed" {
        if running && pod_is_ready {
            "Running".clone_into(reason);
        } else if let Some(failure) = failure {
            *reason = failure;
        } else if running {
            "NotReady".clone_into(reason);
        }
    }
}

fn ending(terminated: &Value) -> String {
    match (text(terminated, "reason"), integer(terminated, "signal")) {
        ("", 0) => format!("ExitCode:{}", integer(terminated, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    fn row(pod: &Value) -> Vec<String> {
        let cells = crate::cells("", "Pod", pod, 1_000_000);
        cells[1..4].iter().map(|cell| cell.as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn the_status_is_the_most_telling_reason() {
        let two = json!([{"name": "a"}, {"name": "b"}]);
        let cases = [
            (json!({"spec": {"containers": two}, "status": {"phase": "Pending"}}), ["0/2", "Pending", "0"]),
            (
                json!({"spec": {"containers": two}, "status": {"phase": "Running", "containerStatuses": [
                    {"ready": true, "restartCount": 3, "state": {"running": {}}},
                    {"restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                     "lastState": {"terminated": {"finishedAt": "1970-01-12T13:45:40Z"}}}]}}),
                ["1/2", "CrashLoopBackOff", "6 (60s ago)"],
            ),
            (
                json!({"spec": {"containers": two}, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
                    "containerStatuses": [
                    {"state": {"terminated": {"reason": "Completed", "exitCode": 0}}},
                    {"ready": true, "state": {"running": {}}}]}}),
                ["1/2", "Running", "0"],
            ),
            (
                json!({"spec": {"initContainers": [{"name": "i"}], "containers": two}, "status": {"phase": "Pending",
                    "initContainerStatuses": [{"name": "i", "restartCount": 2, "state": {"terminated": {"exitCode": 1}}}]}}),
                ["0/2", "Init:ExitCode:1", "2"],
            ),
            (
                json!({"spec": {"initContainers": [{"name": "s", "restartPolicy": "Always"}], "containers": two},
                    "status": {"phase": "Running", "initContainerStatuses": [
                        {"name": "s", "started": true, "ready": true, "restartCount": 1, "state": {"running": {}}}],
                    "containerStatuses": [{"ready": true, "state": {"running": {}}}, {"state": {"running": {}}}]}}),
                ["2/3", "Running", "1"],
            ),
            (
                json!({"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}, "spec": {"containers": two}, "status": {"phase": "Running"}}),
                ["0/2", "Terminating", "0"],
            ),
            (
                json!({"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}, "spec": {"containers": two}, "status": {"phase": "Failed", "reason": "Evicted"}}),
                ["0/2", "Evicted", "0"],
            ),
        ];
        for (pod, expected) in cases {
            assert_eq!(row(&pod), expected, "{pod}");
        }
    }

    #[test]
    fn finished_pods_have_a_row_condition() {
        let condition = crate::conditions("", "Pod", &json!({"status": {"phase": "Failed"}})).unwrap();
        assert_eq!((condition.r#type, condition.reason), ("Completed", "Failed"));
        assert_eq!(crate::conditions("", "Pod", &json!({"status": {"phase": "Running"}})), None);
    }
}
