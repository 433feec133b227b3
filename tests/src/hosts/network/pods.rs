//! The pods of the test, and whether they find each other.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::super::HostsError;
use super::super::host::Host;
use super::super::journey::PATIENCE;
use super::super::plane::ControlPlane;
use super::super::shell::{output, until};

/// How many times a Service is asked, so that each of its two pods answers.
const TRIES: usize = 24;
const NODE_PORT: u16 = 30_080;

/// What runs on both hosts.
pub(super) struct Pods<'a> {
    plane: &'a ControlPlane,
    busybox: PathBuf,
    addresses: [String; 2],
}

/// A container that says its own name.
pub(super) fn container() -> Value {
    let command = "hostname >/tmp/index.html; hostname; exec httpd -f -p 8080 -h /tmp";
    json!({
        "name": "web", "image": "registry.test/pause:1", "imagePullPolicy": "Never",
        "command": ["/bin/sh", "-c", command],
        "ports": [{"name": "http", "containerPort": 8080}],
        "readinessProbe": {"httpGet": {"path": "/index.html", "port": 8080}, "periodSeconds": 1},
    })
}

fn workloads() -> Value {
    let soon = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5});
    let pod = |name: &str| {
        json!({
            "metadata": {"labels": {"app": name}},
            "spec": {
                "terminationGracePeriodSeconds": 1,
                "tolerations": [soon("node.kubernetes.io/unreachable"), soon("node.kubernetes.io/not-ready")],
                "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
                    "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"app": name}}}],
                "containers": [container()],
            },
        })
    };
    let of = |kind: &str, name: &str, extra: Value| {
        let mut object = json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": pod(name)}});
        for (field, value) in extra.as_object().into_iter().flatten() {
            object["spec"][field] = value.clone();
        }
        object
    };
    let service = |name: &str, spec: Value| {
        let mut spec = spec;
        spec["selector"] = json!({"app": name.split('-').next()});
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"}, "spec": spec})
    };
    let ports = json!([{"name": "http", "port": 80, "targetPort": 8080}]);
    json!({"apiVersion": "v1", "kind": "List", "items": [
        of("Deployment", "web", json!({})),
        of("StatefulSet", "db", json!({"serviceName": "db", "podManagementPolicy": "Parallel"})),
        service("web", json!({"ports": ports})),
        service("web-outside", json!({"type": "NodePort",
            "ports": [{"name": "http", "port": 80, "targetPort": 8080, "nodePort": NODE_PORT}]})),
        service("web-sticky", json!({"ports": ports, "sessionAffinity": "ClientIP"})),
        service("web-near", json!({"ports": ports, "internalTrafficPolicy": "Local"})),
        service("nobody", json!({"ports": ports})),
        service("db", json!({"ports": ports, "clusterIP": "None"})),
    ]})
}

/// Starts them, and waits until they are ready, one of each on each host.
pub(super) fn start<'a>(
    plane: &'a ControlPlane,
    first: &Host,
    second: &Host,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Pods<'a>, HostsError> {
    plane.apply_to_guest(&workloads())?;
    let busybox = output(Command::new("sh").args(["-c", "command -v busybox"]))?;
    let addresses = [first, second].map(|host| format!("10.211.0.{}", host.number));
    let pods = Pods { plane, busybox: PathBuf::from(busybox.trim()), addresses };
    for app in ["web", "db"] {
        let nodes = until(&format!("the pods of {app}"), PATIENCE, || pods.ready(app).map(|pods| nodes_of(&pods)))?;
        if nodes.len() != 2 {
            return Err(HostsError::Wrong(format!("the pods of {app} are not on both nodes: {nodes:?}")));
        }
    }
    tell("pods run on both nodes");
    Ok(pods)
}

pub(super) fn nodes_of(pods: &[Value]) -> BTreeSet<String> {
    pods.iter().map(|pod| text(pod, "/spec/nodeName")).collect()
}

pub(super) fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn wrong(words: String) -> HostsError {
    HostsError::Wrong(words)
}

impl Pods<'_> {
    /// The two ready pods of an application.
    pub(super) fn ready(&self, app: &str) -> Result<Vec<Value>, String> {
        let selector = format!("app={app}");
        let words = self.plane.guest(&["get", "pods", "-l", &selector, "-o", "json"]);
        let list: Value =
            serde_json::from_str(&words.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
        let is_ready = |pod: &&Value| {
            let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
            let ready = |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
            conditions.into_iter().flatten().any(ready) && pod.pointer("/metadata/deletionTimestamp").is_none()
        };
        let found: Vec<Value> = list["items"].as_array().into_iter().flatten().filter(is_ready).cloned().collect();
        if found.len() == 2 { Ok(found) } else { Err(format!("{} of 2 are ready: {}", found.len(), describe(&list))) }
    }

    /// What a pod gets from an address.
    pub(super) fn fetch(&self, pod: &str, place: &str) -> Result<String, HostsError> {
        let line = ["exec", pod, "--", "wget", "-q", "-O", "-", place];
        self.plane.guest(&line).map(|text| text.trim().to_owned())
    }

    /// Who answers from there, asked many times.
    fn answers(&self, pod: &str, place: &str) -> Result<BTreeSet<String>, HostsError> {
        let line = format!("for i in $(seq {TRIES}); do wget -q -O - {place} || echo failed; done");
        let words = self.plane.guest(&["exec", pod, "--", "/bin/sh", "-c", &line])?;
        Ok(words.lines().map(|line| line.trim().to_owned()).collect())
    }

    /// Every way by which pods find each other.
    pub(super) fn find_each_other(&self, tell: &(dyn Fn(&str) + Sync)) -> Result<(), HostsError> {
        let web = self.ready("web").map_err(wrong)?;
        let names: BTreeSet<String> = web.iter().map(|pod| text(pod, "/metadata/name")).collect();
        for pod in &web {
            let name = text(pod, "/metadata/name");
            for other in &web {
                let place = format!("http://{}:8080/", text(other, "/status/podIP"));
                let answer = self.fetch(&name, &place)?;
                if answer != text(other, "/metadata/name") {
                    return Err(wrong(format!("{name} got {answer:?} from {place}")));
                }
            }
        }
        tell("pods reach each other by address, on the same node and on the other");
        let address = self.plane.guest(&["get", "service", "web", "-o", "jsonpath={.spec.clusterIP}"])?;
        for pod in &names {
            for place in [address.trim(), "web", "web.default", "web.default.svc.cluster.local"] {
                let found = self.answers(pod, &format!("http://{place}/"))?;
                if found != names {
                    return Err(wrong(format!("{pod} got {found:?} from {place}, and not {names:?}")));
                }
            }
            let found = self.answers(pod, "http://web-sticky/")?;
            if found.len() != 1 || !found.is_subset(&names) {
                return Err(wrong(format!("{pod} does not stay with one pod: {found:?}")));
            }
            let found = self.answers(pod, "http://web-near/")?;
            if found != BTreeSet::from([pod.clone()]) {
                return Err(wrong(format!("{pod} is not served on its own node: {found:?}")));
            }
            for name in ["db-0", "db-1"] {
                let answer = self.fetch(pod, &format!("http://{name}.db:8080/"))?;
                if answer != name {
                    return Err(wrong(format!("{pod} got {answer:?} from {name}.db")));
                }
            }
            let refused = self.plane.guest(&["exec", pod, "--", "wget", "-O", "-", "http://nobody/"]);
            match refused {
                Err(HostsError::Command { output, .. }) if output.contains("refused") => {}
                other => return Err(wrong(format!("a Service without endpoints does not refuse: {other:?}"))),
            }
        }
        tell(
            "Services by address and by name, from themselves, sticky, near, by pod name, and refused without endpoints",
        );
        for node in &self.addresses {
            let found = self.asked_from_outside(node)?;
            if found != names {
                return Err(wrong(format!("{node}:{NODE_PORT} gave {found:?}, and not {names:?}")));
            }
        }
        tell("node ports of both nodes from outside lead to both pods");
        Ok(())
    }

    /// Who answers at a node's port.
    pub(super) fn asked_from_outside(&self, node: &str) -> Result<BTreeSet<String>, HostsError> {
        let mut found = BTreeSet::new();
        for _ in 0..TRIES {
            let place = format!("http://{node}:{NODE_PORT}/");
            let mut command = ControlPlane::beside(&self.busybox);
            found.insert(output(command.args(["wget", "-q", "-O", "-", &place]))?.trim().to_owned());
        }
        Ok(found)
    }

    /// Removes everything.
    pub(super) fn stop(&self) -> Result<(), HostsError> {
        self.plane.guest(&["delete", "deployment/web", "statefulset/db", "--wait=false"])?;
        self.plane.guest(&["delete", "service", "web", "web-outside", "web-sticky", "web-near", "nobody", "db"])?;
        self.plane.guest(&["wait", "pods", "--all", "--for=delete", "--timeout=120s"]).map(drop)
    }
}

fn describe(list: &Value) -> String {
    let of = |pod: &Value| {
        let name = text(pod, "/metadata/name");
        format!(
            "{name} on {:?} {} {}",
            text(pod, "/spec/nodeName"),
            text(pod, "/status/phase"),
            pod["status"]["containerStatuses"]
        )
    };
    list["items"].as_array().into_iter().flatten().map(of).collect::<Vec<_>>().join("; ")
}
