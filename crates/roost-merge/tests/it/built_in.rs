//! Ownership in built-in kinds, as recorded from a stock server.

use roost_kinds::TypeRef;
use roost_merge::apply::{self, Tracking};
use roost_merge::managed::Filter;
use roost_merge::{built_in, scale};
use serde_json::{Value, json};

use crate::updates::{EARLIER, NOW};

fn deployment() -> &'static roost_kinds::Type {
    roost_kinds::type_of("apps/v1", "Deployment").expect("a built-in kind")
}

fn body() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": {"app": "web"}},
        "spec": {
            "replicas": 3, "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [{
                        "name": "web", "image": "nginx", "resources": {},
                        "ports": [{"containerPort": 80, "protocol": "TCP"}],
                        "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}],
                    }],
                    "nodeSelector": {"a": "b"},
                    "volumes": [{"name": "v", "emptyDir": {}}],
                },
            },
        },
        "status": {},
    })
}

#[test]
fn structs_that_are_always_there_are_not_owned() {
    let empty = roost_kinds::json::decode(json!({}), deployment()).unwrap().value;
    let filter = Filter::except_fields(&[&["status"]]);
    let request = Tracking { filter: &filter, empty: &empty, ..Tracking::new("m", "apps/v1", NOW) };
    let mut new = body();
    apply::update(None, &mut new, &request, TypeRef::from(deployment()));
    assert_eq!(
        new["metadata"]["managedFields"][0]["fieldsV1"],
        json!({
            "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
            "f:spec": {
                "f:replicas": {}, "f:selector": {},
                "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}}, "f:type": {}},
                "f:template": {
                    "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                    "f:spec": {
                        "f:containers": {"k:{\"name\":\"web\"}": {
                            ".": {}, "f:name": {}, "f:image": {}, "f:resources": {},
                            "f:ports": {".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}, "f:protocol": {}}},
                            "f:env": {
                                ".": {},
                                "k:{\"name\":\"A\"}": {".": {}, "f:name": {}, "f:value": {}},
                                "k:{\"name\":\"B\"}": {".": {}, "f:name": {}, "f:valueFrom": {".": {}, "f:fieldRef": {}}},
                            },
                        }},
                        "f:nodeSelector": {},
                        "f:volumes": {".": {}, "k:{\"name\":\"v\"}": {".": {}, "f:emptyDir": {}, "f:name": {}}},
                    },
                },
            },
        })
    );
}

#[test]
fn wrong_types_read_as_stock_words_them() {
    let request = Tracking { kind: "Deployment", ..Tracking::new("m", "apps/v1", NOW) };
    for (pointer, value, expected) in [
        ("/spec/replicas", json!("3"), ".spec.replicas: expected numeric (int or float), got string"),
        ("/spec/selector", json!("x"), ".spec.selector: expected map, got &{x}"),
        ("/spec/template", json!(5), ".spec.template: expected map, got &{5}"),
        (
            "/spec/template/spec/containers/0/resources",
            json!({"limits": {"cpu": [1]}}),
            r#".spec.template.spec.containers[name="web"].resources.limits.cpu: expected any scalar, got &{[1]}"#,
        ),
        (
            "/spec/template/spec/containers/0/image",
            json!(1),
            r#".spec.template.spec.containers[name="web"].image: expected string, got &value.valueUnstructured{Value:1}"#,
        ),
        (
            "/spec/template/spec/containers/0/env",
            json!({"a": "b"}),
            r#".spec.template.spec.containers[name="web"].env: expected list, got &{map[a:b]}"#,
        ),
        (
            "/metadata/labels",
            json!({"a": 1}),
            ".metadata.labels.a: expected string, got &value.valueUnstructured{Value:1}",
        ),
        ("/metadata/labels", json!({"a": "b"}), ""),
    ] {
        let mut config = body();
        *config.pointer_mut(pointer).unwrap() = value;
        let outcome = apply::check(&config, &request, TypeRef::from(deployment()), built_in::holds);
        let text = outcome.err().map(|error| error.to_string()).unwrap_or_default();
        let prefix = "failed to create typed patch object (/d; apps/v1, Kind=Deployment): ";
        assert_eq!(text.strip_prefix(prefix).unwrap_or(&text), expected);
    }
}

fn entry(manager: &str, operation: &str, version: &str, subresource: &str, time: &str, fields: &Value) -> Value {
    let mut entry = json!({
        "manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": fields,
    });
    for (name, value) in [("subresource", subresource), ("time", time)] {
        if !value.is_empty() {
            entry[name] = json!(value);
        }
    }
    entry
}

#[test]
fn owners_of_replicas_move_between_a_deployment_and_its_scale() {
    let paths: scale::ReplicasPaths<'_> = &[("apps/v1", Some(&["spec", "replicas"]))];
    let replicas = json!({"f:spec": {"f:replicas": {}}});
    let creator = |fields: &Value| entry("creator", "Update", "apps/v1", "", EARLIER, fields);
    let parent = [creator(&json!({"f:spec": {"f:replicas": {}, "f:selector": {}}}))];
    let below = scale::to_subresource(&parent, paths).unwrap();
    assert_eq!(below, [entry("creator", "Update", "autoscaling/v1", "", EARLIER, &replicas)]);
    let written = [entry("scaler", "Update", "autoscaling/v1", "scale", NOW, &replicas)];
    let moved = scale::to_parent(&parent, &written, "apps/v1", paths).unwrap();
    assert_eq!(
        moved,
        [entry("scaler", "Update", "apps/v1", "scale", "", &replicas), creator(&json!({"f:spec": {"f:selector": {}}})),]
    );
    let kept = scale::to_parent(&parent, &below, "apps/v1", paths).unwrap();
    assert_eq!(
        kept,
        [entry("creator", "Update", "apps/v1", "", "", &replicas), creator(&json!({"f:spec": {"f:selector": {}}})),]
    );
    let applier = [entry("owner", "Apply", "apps/v1", "", EARLIER, &replicas)];
    let below = scale::to_subresource(&applier, paths).unwrap();
    assert_eq!(scale::to_parent(&applier, &below, "apps/v1", paths).unwrap(), applier);
    assert_eq!(scale::to_parent(&applier, &[], "apps/v1", paths).unwrap(), [] as [Value; 0]);
}

#[test]
fn versions_that_differ_are_compared_each_in_its_own_fields() {
    let autoscaler = |cpu: u32| {
        json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "h", "namespace": "n", "uid": "u"},
            "spec": {
                "maxReplicas": 5, "scaleTargetRef": {"kind": "Deployment", "name": "d"},
                "metrics": [{"type": "Resource", "resource": {
                    "name": "cpu", "target": {"type": "Utilization", "averageUtilization": cpu},
                }}],
            },
            "status": {"currentMetrics": null, "desiredReplicas": 0},
        })
    };
    let fields = json!({"f:spec": {"f:maxReplicas": {}, "f:targetCPUUtilizationPercentage": {}}});
    let mut live = autoscaler(50);
    live["metadata"]["managedFields"] = json!([
        entry("old", "Update", "autoscaling/v1", "", EARLIER, &fields),
        entry("gone", "Update", "autoscaling/v9", "", EARLIER, &fields),
    ]);
    let versions = built_in::ServedVersions { api_version: "autoscaling/v2", kind: "HorizontalPodAutoscaler" };
    let node =
        TypeRef::from(roost_kinds::type_of("autoscaling/v2", "HorizontalPodAutoscaler").expect("a built-in kind"));
    let mut new = autoscaler(60);
    let request = Tracking::new("new", "autoscaling/v2", NOW);
    apply::update_in_versions(Some(&live), &mut new, &request, node, &versions);
    assert_eq!(
        new["metadata"]["managedFields"],
        json!([
            entry("old", "Update", "autoscaling/v1", "", EARLIER, &json!({"f:spec": {"f:maxReplicas": {}}})),
            entry("new", "Update", "autoscaling/v2", "", NOW, &json!({"f:spec": {"f:metrics": {}}})),
        ])
    );
}
