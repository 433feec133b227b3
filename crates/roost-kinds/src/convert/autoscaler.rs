//! The horizontal pod autoscaler. Version 1 knows processor utilization only; everything else of version 2 is kept in
//! annotations, as JSON.

use serde_json::{Map, Value, json};

use crate::generated::autoscaling_v1::{
    AUTOSCALING_V1_HORIZONTAL_POD_AUTOSCALER_CONDITION as CONDITION, AUTOSCALING_V1_METRIC_SPEC as METRIC_SPEC,
    AUTOSCALING_V1_METRIC_STATUS as METRIC_STATUS,
};
use crate::json;
use crate::table::Type;

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
/// The annotations that a conversion may have written, and that are dropped before the next.
const KEPT: [&str; 6] = [
    METRICS,
    BEHAVIOR,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
    CURRENT_METRICS,
    CONDITIONS,
];
/// What version 1 aims at when nothing is said, in percent.
const DEFAULT_UTILIZATION: i64 = 80;

/// The names of a behavior's fields: in version 2, and in the annotation, which has those of a Go struct without tags.
const RULES: [(&str, &str); 4] = [
    ("stabilizationWindowSeconds", "StabilizationWindowSeconds"),
    ("selectPolicy", "SelectPolicy"),
    ("policies", "Policies"),
    ("tolerance", "Tolerance"),
];
const POLICY: [(&str, &str); 3] = [("type", "Type"), ("value", "Value"), ("periodSeconds", "PeriodSeconds")];

pub(super) fn to_v2(mut fields: Map<String, Value>) -> Map<String, Value> {
    let kept = take_kept(&mut fields);
    let mut spec = object(fields.remove("spec"));
    let mut status = object(fields.remove("status"));
    let mut metrics: Vec<Value> =
        read_list(kept.get(METRICS), &METRIC_SPEC).unwrap_or_default().iter().map(metric_to_v2).collect();
    if let Some(percent) = spec.remove("targetCPUUtilizationPercentage").filter(|percent| !percent.is_null()) {
        metrics.push(utilization_metric(&percent));
    }
    if metrics.is_empty() {
        metrics.push(utilization_metric(&DEFAULT_UTILIZATION.into()));
    }
    spec.insert("metrics".into(), metrics.into());
    if let Some(behavior) = kept.get(BEHAVIOR).and_then(behavior_to_v2) {
        spec.insert("behavior".into(), behavior);
    }
    if let Some(percent) = status.remove("currentCPUUtilizationPercentage").filter(|percent| !percent.is_null()) {
        let resource = json!({"name": "cpu", "current": {"averageUtilization": percent}});
        status.insert("currentMetrics".into(), json!([{"type": "Resource", "resource": resource}]));
    }
    if let Some(current) = read_list(kept.get(CURRENT_METRICS), &METRIC_STATUS) {
        status.insert("currentMetrics".into(), current.iter().map(status_to_v2).collect());
    }
    if let Some(conditions) = read_list(kept.get(CONDITIONS), &CONDITION) {
        status.insert("conditions".into(), conditions.into());
    }
    fields.insert("spec".into(), spec.into());
    fields.insert("status".into(), status.into());
    fields
}

pub(super) fn to_v1(mut fields: Map<String, Value>) -> Map<String, Value> {
    take_kept(&mut fields);
    let mut spec = object(fields.remove("spec"));
    let mut status = object(fields.remove("status"));
    let mut kept = Map::new();

    let metrics = list(spec.remove("metrics"));
    if let Some(percent) = metrics.iter().find_map(|metric| utilization(metric, "target")) {
        spec.insert("targetCPUUtilizationPercentage".into(), percent.clone());
    }
    let others: Vec<_> =
        metrics.iter().filter(|metric| utilization(metric, "target").is_none()).map(metric_to_v1).collect();
    if !others.is_empty() {
        kept.insert(METRICS.into(), written(others, &METRIC_SPEC).into());
    }
    let current = list(status.remove("currentMetrics"));
    if let Some(percent) = current.iter().filter_map(|metric| utilization(metric, "current")).next_back() {
        status.insert("currentCPUUtilizationPercentage".into(), percent.clone());
    }
    if !current.is_empty() {
        let statuses = current.iter().map(status_to_v1).collect();
        kept.insert(CURRENT_METRICS.into(), written(statuses, &METRIC_STATUS).into());
    }
    if let Some(behavior) = spec.remove("behavior").filter(|behavior| !behavior.is_null()) {
        kept.insert(BEHAVIOR.into(), behavior_to_v1(&behavior).into());
    }
    let conditions = list(status.remove("conditions"));
    if !conditions.is_empty() {
        kept.insert(CONDITIONS.into(), written(conditions, &CONDITION).into());
    }

    if !kept.is_empty() {
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        let annotations = &mut metadata["annotations"];
        let mut all = object(Some(annotations.take()));
        all.extend(kept);
        *annotations = all.into();
    }
    fields.insert("spec".into(), spec.into());
    fields.insert("status".into(), status.into());
    fields
}

/// Takes the annotations of earlier conversions out of the metadata.
fn take_kept(fields: &mut Map<String, Value>) -> Map<String, Value> {
    let mut kept = Map::new();
    let annotations = fields.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"));
    if let Some(Value::Object(annotations)) = annotations {
        for name in KEPT {
            if let Some(text) = annotations.remove(name) {
                kept.insert(name.into(), text);
            }
        }
    }
    kept
}

fn object(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn list(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(elements)) => elements,
        _ => Vec::new(),
    }
}

/// Reads a list from an annotation; what cannot be read is as good as absent.
fn read_list(text: Option<&Value>, ty: &'static Type) -> Option<Vec<Value>> {
    let document = roost_object::json::read(text?.as_str()?.as_bytes()).ok()?.value;
    let Value::Array(elements) = document else { return None };
    elements.into_iter().map(|element| json::decode(element, ty).ok().map(|decoded| decoded.value)).collect()
}

/// Writes a list for an annotation as Go would.
fn written(elements: Vec<Value>, ty: &'static Type) -> String {
    let mut out = vec![b'['];
    for (index, element) in elements.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        if let Ok(decoded) = json::decode(element, ty) {
            json::write(&mut out, &decoded.value, ty);
        }
    }
    out.push(b']');
    String::from_utf8_lossy(&out).into_owned()
}

fn utilization_metric(percent: &Value) -> Value {
    let target = json!({"type": "Utilization", "averageUtilization": percent});
    json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})
}

/// The processor utilization that a metric of version 2 is about, if it is.
fn utilization<'a>(metric: &'a Value, side: &str) -> Option<&'a Value> {
    let resource = metric.get("resource")?;
    let about = metric.get("type")? == "Resource" && resource.get("name")? == "cpu";
    resource.get(side)?.get("averageUtilization").filter(|percent| about && !percent.is_null())
}

fn field(value: &Value, name: &str) -> Value {
    value.get(name).cloned().unwrap_or(Value::Null)
}

fn below(value: &Value, name: &str, inner: &str) -> Value {
    value.get(name).map_or(Value::Null, |value| field(value, inner))
}

/// Converts each source that a metric has, keeping its type.
fn each_source(metric: &Value, convert: impl Fn(&str, &Value) -> Value) -> Value {
    let mut converted = json!({"type": field(metric, "type")});
    for name in ["object", "pods", "resource", "containerResource", "external"] {
        if let Some(source) = metric.get(name).filter(|source| !source.is_null()) {
            converted[name] = convert(name, source);
        }
    }
    converted
}

fn metric_to_v2(metric: &Value) -> Value {
    each_source(metric, |name, source| {
        let value = field(source, "targetValue");
        let average = match name {
            "object" => field(source, "averageValue"),
            _ => field(source, "targetAverageValue"),
        };
        let percent = field(source, "targetAverageUtilization");
        let is_zero = roost_object::Quantity::from_value(&value).is_ok_and(|quantity| quantity.is_zero());
        let target = match name {
            "object" if average.is_null() => json!({"type": "Value", "value": value}),
            "object" if is_zero => json!({"type": "AverageValue", "averageValue": average}),
            "object" => json!({"type": "AverageValue", "value": value, "averageValue": average}),
            "pods" => json!({"type": "AverageValue", "averageValue": average}),
            "external" => {
                let aim = if value.is_null() { "AverageValue" } else { "Value" };
                json!({"type": aim, "value": value, "averageValue": average})
            }
            _ => {
                let aim = if percent.is_null() { "AverageValue" } else { "Utilization" };
                json!({"type": aim, "averageValue": average, "averageUtilization": percent})
            }
        };
        with_identity(name, source, "target", target)
    })
}

fn status_to_v2(metric: &Value) -> Value {
    each_source(metric, |name, source| {
        let current = match name {
            "object" => json!({"value": field(source, "currentValue"), "averageValue": field(source, "averageValue")}),
            "pods" => json!({"averageValue": field(source, "currentAverageValue")}),
            "external" => {
                json!({"value": field(source, "currentValue"), "averageValue": field(source, "currentAverageValue")})
            }
            _ => json!({
                "averageValue": field(source, "currentAverageValue"),
                "averageUtilization": field(source, "currentAverageUtilization"),
            }),
        };
        with_identity(name, source, "current", current)
    })
}

/// What a source of version 2 says about which metric it means, from one of version 1.
fn with_identity(name: &str, source: &Value, side: &str, value: Value) -> Value {
    let selector = if name == "external" { "metricSelector" } else { "selector" };
    let metric = json!({"name": field(source, "metricName"), "selector": field(source, selector)});
    let mut converted = match name {
        "object" => json!({"describedObject": field(source, "target"), "metric": metric}),
        "pods" | "external" => json!({"metric": metric}),
        "containerResource" => json!({"name": field(source, "name"), "container": field(source, "container")}),
        _ => json!({"name": field(source, "name")}),
    };
    converted[side] = value;
    converted
}

fn metric_to_v1(metric: &Value) -> Value {
    each_source(metric, |name, source| {
        let mut converted = identity_to_v1(name, source);
        let (value, average) = (below(source, "target", "value"), below(source, "target", "averageValue"));
        match name {
            "object" => {
                converted["targetValue"] = value;
                converted["averageValue"] = average;
            }
            "pods" => converted["targetAverageValue"] = average,
            "external" => {
                converted["targetValue"] = value;
                converted["targetAverageValue"] = average;
            }
            _ => {
                converted["targetAverageUtilization"] = below(source, "target", "averageUtilization");
                converted["targetAverageValue"] = average;
            }
        }
        converted
    })
}

fn status_to_v1(metric: &Value) -> Value {
    each_source(metric, |name, source| {
        let mut converted = identity_to_v1(name, source);
        let (value, average) = (below(source, "current", "value"), below(source, "current", "averageValue"));
        match name {
            "object" => {
                converted["currentValue"] = value;
                converted["averageValue"] = average;
            }
            "pods" => converted["currentAverageValue"] = average,
            "external" => {
                converted["currentValue"] = value;
                converted["currentAverageValue"] = average;
            }
            _ => {
                converted["currentAverageUtilization"] = below(source, "current", "averageUtilization");
                converted["currentAverageValue"] = average;
            }
        }
        converted
    })
}

fn identity_to_v1(name: &str, source: &Value) -> Value {
    let (metric, selector) = (below(source, "metric", "name"), below(source, "metric", "selector"));
    match name {
        "object" => json!({"target": field(source, "describedObject"), "metricName": metric, "selector": selector}),
        "pods" => json!({"metricName": metric, "selector": selector}),
        "external" => json!({"metricName": metric, "metricSelector": selector}),
        "containerResource" => json!({"name": field(source, "name"), "container": field(source, "container")}),
        _ => json!({"name": field(source, "name")}),
    }
}

/// Takes a field by its Go name, in whatever case.
fn any_case(value: &Value, name: &str) -> Option<Value> {
    let fields = value.as_object()?;
    let found = fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
    Some(found.1.clone()).filter(|value| !value.is_null())
}

fn behavior_to_v2(text: &Value) -> Option<Value> {
    let behavior = roost_object::json::read(text.as_str()?.as_bytes()).ok()?.value;
    let mut converted = Map::new();
    for (name, go) in [("scaleUp", "ScaleUp"), ("scaleDown", "ScaleDown")] {
        let Some(rules) = any_case(&behavior, go) else { continue };
        let mut side = Map::new();
        for (name, go) in RULES {
            let Some(mut value) = any_case(&rules, go) else { continue };
            for policy in value.as_array_mut().into_iter().flatten() {
                let fields = POLICY.iter().filter_map(|(name, go)| Some(((*name).to_owned(), any_case(policy, go)?)));
                *policy = Value::Object(fields.collect());
            }
            side.insert(name.into(), value);
        }
        converted.insert(name.into(), side.into());
    }
    Some(Value::Object(converted)).filter(|behavior| behavior != &json!({}))
}

/// Writes a behavior with the names and in the order of the Go struct.
fn behavior_to_v1(behavior: &Value) -> String {
    let rules = |name: &str| {
        let Some(rules) = behavior.get(name).filter(|rules| !rules.is_null()) else { return "null".to_owned() };
        named(rules, &RULES, |value| match value {
            Value::Array(policies) => {
                let policies: Vec<_> = policies.iter().map(|policy| named(policy, &POLICY, plain)).collect();
                format!("[{}]", policies.join(","))
            }
            other => plain(other),
        })
    };
    format!(r#"{{"ScaleUp":{},"ScaleDown":{}}}"#, rules("scaleUp"), rules("scaleDown"))
}

fn named(value: &Value, names: &[(&str, &str)], write: impl Fn(&Value) -> String) -> String {
    let fields: Vec<_> = names
        .iter()
        .map(|(name, go)| format!("\"{go}\":{}", write(value.get(*name).unwrap_or(&Value::Null))))
        .collect();
    format!("{{{}}}", fields.join(","))
}

fn plain(value: &Value) -> String {
    let mut out = Vec::new();
    json::write_untyped(&mut out, value);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::convert;

    fn autoscaler() -> Value {
        json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "h", "annotations": {"keep": "a", METRICS: "stale"}},
            "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}, "maxReplicas": 5,
                "metrics": [
                    {"type": "Object", "object": {
                        "describedObject": {"kind": "Ingress", "name": "i"}, "metric": {"name": "rps"},
                        "target": {"type": "AverageValue", "averageValue": "5"}
                    }},
                    {"type": "External", "external": {
                        "metric": {"name": "q"}, "target": {"type": "Value", "value": "30"}
                    }},
                    {"type": "ContainerResource", "containerResource": {
                        "name": "cpu", "container": "c", "target": {"type": "Utilization", "averageUtilization": 60}
                    }},
                    {"type": "Resource", "resource": {
                        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 55}
                    }}
                ],
                "behavior": {"scaleDown": {
                    "stabilizationWindowSeconds": 60, "policies": [{"type": "Percent", "value": 10, "periodSeconds": 60}]
                }}
            },
            "status": {
                "currentReplicas": 2, "desiredReplicas": 3,
                "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}],
                "currentMetrics": [{"type": "Resource", "resource": {
                    "name": "cpu", "current": {"averageValue": "100m", "averageUtilization": 40}
                }}]
            }
        })
    }

    #[test]
    fn version_1_keeps_in_annotations_what_it_cannot_say() {
        let v1 = convert(autoscaler(), "autoscaling/v2", "autoscaling/v1").unwrap();
        assert_eq!(v1["spec"]["targetCPUUtilizationPercentage"], 55);
        assert_eq!(v1["status"]["currentCPUUtilizationPercentage"], 40);
        assert_eq!(
            v1["metadata"]["annotations"],
            json!({
                "keep": "a",
                METRICS: r#"[{"type":"Object","object":{"target":{"kind":"Ingress","name":"i"},"metricName":"rps","targetValue":"0","averageValue":"5"}},{"type":"External","external":{"metricName":"q","targetValue":"30"}},{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":60,"container":"c"}}]"#,
                CURRENT_METRICS: r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":40,"currentAverageValue":"100m"}}]"#,
                BEHAVIOR: r#"{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":60,"SelectPolicy":null,"Policies":[{"Type":"Percent","Value":10,"PeriodSeconds":60}],"Tolerance":null}}"#,
                CONDITIONS: r#"[{"type":"AbleToScale","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"}]"#,
            })
        );
    }

    #[test]
    fn there_and_back_nothing_is_lost() {
        let v1 = convert(autoscaler(), "autoscaling/v2", "autoscaling/v1").unwrap();
        let mut expected = autoscaler();
        expected["metadata"]["annotations"] = json!({"keep": "a"});
        assert_eq!(convert(v1, "autoscaling/v1", "autoscaling/v2").unwrap(), expected);
    }

    #[test]
    fn version_1_without_a_target_aims_at_the_default() {
        let v1 = json!({
            "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {},
            "spec": {"scaleTargetRef": {"kind": "D", "name": "d"}, "maxReplicas": 1}, "status": {}
        });
        let v2 = convert(v1, "autoscaling/v1", "autoscaling/v2").unwrap();
        assert_eq!(v2["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 80);
        assert_eq!(v2["status"], json!({"currentMetrics": null, "desiredReplicas": 0}));
    }
}
