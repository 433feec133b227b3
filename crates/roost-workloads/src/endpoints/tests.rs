//! Who answers for a Service.

use jiff::Timestamp;

use super::*;
use crate::Action;

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "web", "namespace": "d", "uid": "s", "labels": {"team": "a"}},
        "spec": {"clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"], "selector": {"app": "web"},
            "ports": [{"name": "http", "port": 80, "targetPort": "web", "protocol": "TCP"}]},
    })
}

fn pod(name: &str, ip: &str, ready: &str, port: i64) -> Arc<Pod> {
    let value = json!({
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"nodeName": "n", "containers": [{"ports": [{"name": "web", "containerPort": port, "protocol": "TCP"}]}]},
        "status": {"podIP": ip, "podIPs": [{"ip": ip}], "conditions": [{"type": "Ready", "status": ready}]},
    });
    Arc::new(serde_json::from_value(value).expect("a pod"))
}

fn view<'a>(service: &'a Value, pods: &'a [Arc<Pod>]) -> View<'a> {
    View { service, pods, zone: &|_| Some("z".to_owned()) }
}

#[test]
fn slices_name_pods_by_the_ports_that_they_serve() {
    let service = service();
    let pods =
        [pod("a", "10.1.0.2", "True", 8080), pod("b", "10.1.0.1", "False", 8080), pod("c", "10.1.0.3", "True", 9)];
    let made: Vec<Value> = slices(&view(&service, &pods), &[], now())
        .into_iter()
        .map(|action| match action {
            Action::Create(slice) => slice,
            other => panic!("a new slice, not {other:?}"),
        })
        .collect();
    assert_eq!(made.len(), 2);
    let first = &made[0];
    assert_eq!(first["ports"], json!([{"name": "http", "port": 8080, "protocol": "TCP"}]));
    assert_eq!(first["endpoints"][0]["addresses"], json!(["10.1.0.1"]));
    assert_eq!(first["endpoints"][0]["conditions"], json!({"ready": false, "serving": false, "terminating": false}));
    assert_eq!(first["endpoints"][1]["conditions"]["ready"], true);
    assert_eq!(first["endpoints"][1]["zone"], "z");
    assert_eq!(first["metadata"]["labels"]["team"], "a");
    assert_eq!(slices(&view(&service, &pods), &made, now()), [], "what is right stays");
    let fewer = slices(&view(&service, &pods[..1]), &made, now());
    assert!(matches!(fewer.as_slice(), [Action::Update(_), Action::Delete { .. }]), "{fewer:?}");
}

#[test]
fn a_service_without_pods_has_an_empty_slice() {
    let service = service();
    let actions = slices(&view(&service, &[]), &[], now());
    let [Action::Create(slice)] = actions.as_slice() else { panic!("a slice, not {actions:?}") };
    assert_eq!((&slice["endpoints"], &slice["ports"]), (&json!([]), &Value::Null));
    assert_eq!(slices(&view(&service, &[]), std::slice::from_ref(slice), now()), []);
}

#[test]
fn the_older_object_tells_ready_from_unready() {
    let service = service();
    let pods = [pod("a", "10.1.0.2", "True", 8080), pod("b", "10.1.0.1", "False", 8080)];
    let Some(Action::Create(made)) = legacy(&view(&service, &pods), &Value::Null, now()) else { panic!("new ones") };
    let subset = &made["subsets"][0];
    assert_eq!(subset["addresses"][0]["ip"], "10.1.0.2");
    assert_eq!(subset["notReadyAddresses"][0]["targetRef"]["name"], "b");
    assert_eq!(subset["ports"], json!([{"name": "http", "port": 8080, "protocol": "TCP"}]));
    assert_eq!(legacy(&view(&service, &pods), &made, now()), None);
    let Some(Action::Update(next)) = legacy(&view(&service, &[]), &made, now()) else { panic!("a change") };
    assert!(next.get("subsets").is_none());
}
