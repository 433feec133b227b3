//! The kinds that make pods, and those that watch over them.

use serde_json::Value;

use crate::column::{AGE, Cell, Column, NAME, Table};
use crate::duration;
use crate::read::{self, at, being_deleted, condition_holds, integer, labels, list, plain, text};

const CONTAINERS: Column = Column::text("Containers", Cell::Made(|object, _| containers(object, "name")))
    .says("The names of the template's containers.");
const IMAGES: Column = Column::text("Images", Cell::Made(|object, _| containers(object, "image")))
    .says("The images of the template's containers.");
const SELECTOR: Column =
    Column::text("Selector", Cell::Made(|object, _| selector(at(object, "spec.selector")))).doc("spec.selector").wide();
const READY: Column = Column::text(
    "Ready",
    Cell::Made(|object, _| {
        format!("{}/{}", integer(object, "status.readyReplicas"), integer(object, "spec.replicas")).into()
    }),
)
.says("How many of the pods are ready.");

pub(crate) static TABLES: &[Table] = &[
    Table {
        kind: "PodTemplate",
        columns: &[
            NAME,
            CONTAINERS,
            IMAGES,
            Column::text("Pod Labels", Cell::Made(|object, _| labels(at(object, "template.metadata.labels")).into()))
                .says("The labels of the pods."),
        ],
        ..Table::EMPTY
    },
    Table {
        kind: "ReplicationController",
        columns: &[
            NAME,
            Column::number("Desired", "spec.replicas"),
            Column::number("Current", "status.replicas"),
            Column::number("Ready", "status.readyReplicas"),
            AGE,
            CONTAINERS.wide(),
            IMAGES.wide(),
            Column::text("Selector", Cell::Made(|object, _| labels(at(object, "spec.selector")).into()))
                .doc("spec.selector")
                .wide(),
        ],
        ..Table::EMPTY
    },
    Table {
        group: "apps",
        kind: "ReplicaSet",
        columns: &[
            NAME,
            Column::number("Desired", "spec.replicas"),
            Column::number("Current", "status.replicas"),
            Column::number("Ready", "status.readyReplicas"),
            AGE,
            CONTAINERS.wide(),
            IMAGES.wide(),
            SELECTOR,
        ],
        ..Table::EMPTY
    },
    Table {
        group: "apps",
        kind: "DaemonSet",
        columns: &[
            NAME,
            Column::number("Desired", "status.desiredNumberScheduled"),
            Column::number("Current", "status.currentNumberScheduled"),
            Column::number("Ready", "status.numberReady"),
            Column::number("Up-to-date", "status.updatedNumberScheduled"),
            Column::number("Available", "status.numberAvailable"),
            Column::text(
                "Node Selector",
                Cell::Made(|object, _| labels(at(object, "spec.template.spec.nodeSelector")).into()),
            )
            .doc("spec.template.spec.nodeSelector"),
            AGE,
            CONTAINERS.wide(),
            IMAGES.wide(),
            SELECTOR,
        ],
        ..Table::EMPTY
    },
    Table {
        group: "apps",
        kind: "Deployment",
        columns: &[
            NAME,
            READY,
            Column::text("Up-to-date", Cell::Integer("status.updatedReplicas")).doc("status.updatedReplicas"),
            Column::text("Available", Cell::Integer("status.availableReplicas")).doc("status.availableReplicas"),
            AGE,
            CONTAINERS.wide(),
            IMAGES.wide(),
            Column::text("Selector", Cell::Made(deployment_selector)).doc("spec.selector").wide(),
        ],
        ..Table::EMPTY
    },
    Table {
        group: "apps",
        kind: "StatefulSet",
        columns: &[NAME, READY, AGE, CONTAINERS.wide(), IMAGES.wide()],
        ..Table::EMPTY
    },
    Table {
        group: "apps",
        kind: "ControllerRevision",
        columns: &[
            NAME,
            Column::text("Controller", Cell::Made(controller)).says("The object's controller."),
            Column::text("Revision", Cell::Integer("revision")).doc("revision"),
            AGE,
        ],
        ..Table::EMPTY
    },
    Table {
        group: "batch",
        kind: "Job",
        columns: &[
            NAME,
            Column::text("Status", Cell::Made(job_status)).says("How the job is doing."),
            Column::text("Completions", Cell::Made(completions)).doc("status.succeeded"),
            Column::text("Duration", Cell::Made(job_duration)).says("How long the job has been running, or ran."),
            AGE,
            CONTAINERS.wide(),
            IMAGES.wide(),
            SELECTOR,
        ],
        ..Table::EMPTY
    },
    Table {
        group: "batch",
        kind: "CronJob",
        columns: &[
            NAME,
            Column::field("Schedule", "spec.schedule"),
            Column::text("Timezone", Cell::TextOr("spec.timeZone", "<none>")).doc("spec.timeZone"),
            Column::boolean("Suspend", Cell::Made(suspended)).doc("spec.suspend"),
            Column::integer("Active", Cell::Count(&["status.active"])).doc("status.active"),
            Column::text("Last Schedule", Cell::Made(last_schedule)).doc("status.lastScheduleTime"),
            AGE,
            CONTAINERS.wide(),
            IMAGES.wide(),
            Column::text("Selector", Cell::Made(|object, _| selector(at(object, "spec.jobTemplate.spec.selector"))))
                .doc("spec.jobTemplate.spec.selector")
                .wide(),
        ],
        ..Table::EMPTY
    },
    Table {
        group: "policy",
        kind: "PodDisruptionBudget",
        columns: &[
            NAME,
            Column::text("Min Available", Cell::Made(|object, _| bound(object, "spec.minAvailable")))
                .says("How many pods must stay available."),
            Column::text("Max Unavailable", Cell::Made(|object, _| bound(object, "spec.maxUnavailable")))
                .says("How many pods may be unavailable."),
            Column::integer("Allowed Disruptions", Cell::Integer("status.disruptionsAllowed"))
                .says("How many pods may be disrupted now."),
            AGE,
        ],
        ..Table::EMPTY
    },
    Table {
        group: "autoscaling",
        kind: "HorizontalPodAutoscaler",
        columns: &[
            NAME,
            Column::text("Reference", Cell::Made(scale_target)).doc("spec.scaleTargetRef"),
            Column::text("Targets", Cell::Made(targets)).doc("spec.metrics"),
            Column::text("MinPods", Cell::Made(minimum_pods)).doc("spec.minReplicas"),
            Column::text("MaxPods", Cell::Integer("spec.maxReplicas")).doc("spec.maxReplicas"),
            Column::text("Replicas", Cell::Integer("status.currentReplicas")).doc("status.currentReplicas"),
            AGE,
        ],
        ..Table::EMPTY
    },
    Table {
        group: "autoscaling",
        kind: "Scale",
        columns: &[
            Column::field("Name", "metadata.name"),
            Column::number("Desired", "spec.replicas"),
            Column::number("Available", "status.replicas"),
            AGE,
        ],
        ..Table::EMPTY
    },
    Table {
        group: "scheduling.k8s.io",
        kind: "PriorityClass",
        columns: &[
            NAME,
            Column::number("Value", "value"),
            Column::boolean("Global-Default", Cell::Boolean("globalDefault", false)).doc("globalDefault"),
            AGE,
            Column::field("PreemptionPolicy", "preemptionPolicy"),
        ],
        ..Table::EMPTY
    },
];

/// One field of each container of the object's pod template.
fn containers(object: &Value, field: &str) -> Value {
    let template = ["spec.template", "template", "spec.jobTemplate.spec.template"]
        .into_iter()
        .find_map(|path| at(object, path))
        .unwrap_or(&Value::Null);
    list(template, "spec.containers")
        .iter()
        .map(|container| text(container, field))
        .collect::<Vec<_>>()
        .join(",")
        .into()
}

fn selector(value: Option<&Value>) -> Value {
    match read::selector(value) {
        None => "<error>".into(),
        Some(query) if query.is_empty() => "<none>".into(),
        Some(query) => query.into(),
    }
}

fn deployment_selector(object: &Value, _now: i64) -> Value {
    read::selector(at(object, "spec.selector")).map_or_else(|| "<invalid>".into(), Value::from)
}

fn controller(object: &Value, _now: i64) -> Value {
    let owners = list(object, "metadata.ownerReferences");
    let Some(owner) = owners.iter().find(|owner| read::flag(owner, "controller")) else { return "<none>".into() };
    let kind = text(owner, "kind").to_lowercase();
    match text(owner, "apiVersion").split_once('/') {
        Some((group, _)) => format!("{kind}.{group}/{}", text(owner, "name")).into(),
        None => format!("{kind}/{}", text(owner, "name")).into(),
    }
}

fn job_status(job: &Value, _now: i64) -> Value {
    let conditions = list(job, "status.conditions");
    let of = |r#type: &&str| condition_holds(conditions, r#type);
    if let Some(end) = ["Complete", "Failed"].into_iter().find(of) {
        return end.into();
    }
    if being_deleted(job) {
        return "Terminating".into();
    }
    ["Suspended", "FailureTarget", "SuccessCriteriaMet"].into_iter().find(of).unwrap_or("Running").into()
}

fn completions(job: &Value, _now: i64) -> Value {
    let succeeded = integer(job, "status.succeeded");
    match (at(job, "spec.completions"), integer(job, "spec.parallelism")) {
        (Some(completions), _) => format!("{succeeded}/{completions}").into(),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}").into(),
        _ => format!("{succeeded}/1").into(),
    }
}

fn job_duration(job: &Value, now: i64) -> Value {
    let Some(start) = duration::unix_seconds(text(job, "status.startTime")) else { return "".into() };
    let end = duration::unix_seconds(text(job, "status.completionTime")).unwrap_or(now);
    duration::human(end.saturating_sub(start)).into()
}

fn suspended(job: &Value, _now: i64) -> Value {
    match at(job, "spec.suspend") {
        Some(Value::Bool(true)) => "True".into(),
        Some(_) => "False".into(),
        None => "<unset>".into(),
    }
}

fn last_schedule(job: &Value, now: i64) -> Value {
    match at(job, "status.lastScheduleTime").and_then(Value::as_str) {
        Some(time) => duration::since(time, now).into(),
        None => "<none>".into(),
    }
}

fn bound(budget: &Value, path: &str) -> Value {
    at(budget, path).map_or_else(|| "N/A".into(), |value| plain(Some(value)).into())
}

fn scale_target(object: &Value, _now: i64) -> Value {
    format!("{}/{}", text(object, "spec.scaleTargetRef.kind"), text(object, "spec.scaleTargetRef.name")).into()
}

fn minimum_pods(object: &Value, _now: i64) -> Value {
    at(object, "spec.minReplicas").map_or_else(|| "<unset>".into(), |count| count.to_string().into())
}

fn targets(object: &Value, _now: i64) -> Value {
    const SHOWN: usize = 2;
    let metrics = list(object, "spec.metrics");
    if metrics.is_empty() {
        return "<none>".into();
    }
    let current = list(object, "status.currentMetrics");
    let shown: Vec<_> =
        metrics.iter().enumerate().take(SHOWN).map(|(index, metric)| target(metric, current.get(index))).collect();
    match metrics.len().saturating_sub(SHOWN) {
        0 => shown.join(", ").into(),
        more => format!("{} + {more} more...", shown.join(", ")).into(),
    }
}

/// One metric as `now/wanted`.
fn target(metric: &Value, status: Option<&Value>) -> String {
    let source = match text(metric, "type") {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let metric = metric.get(source).unwrap_or(&Value::Null);
    let current =
        status.and_then(|status| status.get(source)).map(|status| status.get("current").unwrap_or(&Value::Null));
    let unknown = || "<unknown>".to_owned();
    let average = at(metric, "target.averageValue");
    match source {
        "resource" | "containerResource" => {
            let name = text(metric, "name");
            if let Some(average) = average {
                let now = current.map_or_else(unknown, |current| quantity(current.get("averageValue")));
                return format!("{name}: {now}/{}", plain(Some(average)));
            }
            let percent = |value: &Value| format!("{value}%");
            let now = current.and_then(|current| current.get("averageUtilization")).map_or_else(unknown, percent);
            let wanted = at(metric, "target.averageUtilization").map_or_else(|| "<auto>".to_owned(), percent);
            format!("{name}: {now}/{wanted}")
        }
        "pods" => {
            let now = current.map_or_else(unknown, |current| quantity(current.get("averageValue")));
            format!("{now}/{}", quantity(average))
        }
        _ => {
            if let Some(average) = average {
                let now = current.and_then(|current| current.get("averageValue"));
                return format!("{}/{} (avg)", now.map_or_else(unknown, |now| plain(Some(now))), plain(Some(average)));
            }
            let now = current.map_or_else(unknown, |current| quantity(current.get("value")));
            format!("{now}/{}", quantity(at(metric, "target.value")))
        }
    }
}

/// A quantity that may be missing, which the stock server prints as a nil pointer.
fn quantity(value: Option<&Value>) -> String {
    value.map_or_else(|| "<nil>".to_owned(), |value| plain(Some(value)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn autoscalers_show_what_is_and_what_should_be() {
        let object = json!({"metadata": {"name": "a"}, "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "web"},
            "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}},
                {"type": "Pods", "pods": {"metric": {"name": "x"}, "target": {"type": "AverageValue", "averageValue": "100m"}}},
                {"type": "External", "external": {"metric": {"name": "x"}, "target": {"type": "Value", "value": "1"}}}]},
            "status": {"currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 12}}}]}});
        let cells = crate::cells("autoscaling", "HorizontalPodAutoscaler", &object, 0);
        assert_eq!(
            cells[1..6],
            [
                json!("Deployment/web"),
                json!("cpu: 12%/80%, <unknown>/100m + 1 more..."),
                json!("<unset>"),
                json!(3),
                json!(0)
            ]
        );
    }

    #[test]
    fn jobs_show_progress() {
        let job = json!({"spec": {"parallelism": 4}, "status": {"succeeded": 1, "startTime": "1970-01-01T00:00:00Z",
            "conditions": [{"type": "Suspended", "status": "True"}]}});
        let cells = crate::cells("batch", "Job", &job, 300);
        assert_eq!(cells[1..4], [json!("Suspended"), json!("1/1 of 4"), json!("5m")]);
    }
}
