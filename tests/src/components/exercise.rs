//! The workload of the components and the disturbances that keep them busy.

use std::time::Duration;

use serde_json::{Value, json};

use super::kubectl::Kubectl;
use super::{ComponentsError, Nodes};

/// One of each kind that a stock controller works on.
const WORKLOAD: &str = include_str!("workload.yaml");
/// Pods of a namespace that goes. They run by then and end when they are told to: the controller looks 5 s later, and pods that
/// are told to end while they start take about as long; it looks again after 32 s, and the end of those that have to be
/// killed after 30 s is a race, too.
const PASSING: &str = r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "passing", "namespace": "passing"},
    "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "passing"}}, "template": {"metadata": {"labels": {"app": "passing"}},
    "spec": {"containers": [{"name": "passing", "image": "registry.test/pause:1", "imagePullPolicy": "Never",
    "command": ["/bin/busybox", "sh", "-c", "trap exit TERM; while :; do /bin/busybox sleep 0.2; done"]}]}}}}"#;
/// Pods that stay: three of the Deployment, two of the `StatefulSet`, one of the `DaemonSet`.
const LASTING_PODS: usize = 6;
/// Between two rounds of disturbance, in which leases are renewed and watches are idle.
const PAUSE: Duration = Duration::from_secs(15);

/// What is done to one plane.
pub(super) struct Exercise<'a> {
    /// The way in.
    pub(super) kubectl: &'a Kubectl,
    /// Who runs the pods.
    pub(super) nodes: Nodes,
}

impl Exercise<'_> {
    /// Makes the workload and waits until all of it runs.
    pub(super) async fn begin(&self) -> Result<(), ComponentsError> {
        let account =
            |items: &[Value]| items.iter().any(|item| item.pointer("/metadata/name") == Some(&json!("default")));
        self.kubectl.wait_for("the default service account", "get serviceaccounts", account).await?;
        self.kubectl.with_input("apply -f -", WORKLOAD).await?;
        self.settle().await?;
        let bound = |items: &[Value]| items.iter().all(|item| item.pointer("/status/phase") == Some(&json!("Bound")));
        self.kubectl.wait_for("the binding of the claim", "get persistentvolumeclaims", bound).await?;
        let three = |items: &[Value]| {
            items.iter().any(|item| item["endpoints"].as_array().is_some_and(|endpoints| endpoints.len() == 3))
        };
        let line = "get endpointslices -l kubernetes.io/service-name=web";
        self.kubectl.wait_for("the endpoints of the service", line, three).await?;
        // It looks every 15 s; what it says of the missing metrics is then said on either plane.
        let without_metrics = |items: &[Value]| {
            let conditions = |item: &Value| item.pointer("/status/conditions").and_then(Value::as_array).cloned();
            items.iter().filter_map(conditions).flatten().any(|condition| {
                condition["type"] == "ScalingActive" && condition["reason"] == "FailedGetResourceMetric"
            })
        };
        self.kubectl.wait_for("the word of the autoscaler", "get horizontalpodautoscalers", without_metrics).await?;
        let gadget = r#"{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"gadget"}}"#;
        self.kubectl.with_input("create -f -", gadget).await?;
        Ok(())
    }

    /// Does once what ends objects and what asks for subresources.
    pub(super) async fn disturb(&self) -> Result<(), ComponentsError> {
        let kubectl = self.kubectl;
        kubectl.run("create namespace passing").await?;
        kubectl.with_input("create -f -", PASSING).await?;
        if self.nodes == Nodes::Kubelet {
            kubectl.run("rollout status deployment passing --namespace passing --timeout=150s").await?;
        }
        kubectl.run("create token default").await?;
        kubectl.run("create job manual --from=cronjob/cron").await?;
        let pods = kubectl.items("get pods -l app=web").await?;
        let pod =
            pods.first().and_then(|pod| pod.pointer("/metadata/name")).and_then(Value::as_str).unwrap_or_default();
        let eviction =
            json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": "default"}});
        let line = format!("create --raw /api/v1/namespaces/default/pods/{pod}/eviction -f -");
        kubectl.with_input(&line, &eviction.to_string()).await?;
        kubectl.run("delete namespace passing --wait=false").await?;
        kubectl.run("delete customresourcedefinition gadgets.example.com").await?;
        kubectl.run("delete job manual --cascade=foreground --wait=false").await?;
        kubectl.run("delete statefulset set --cascade=orphan").await?;
        kubectl.with_input("apply -f -", WORKLOAD).await?;
        kubectl.run("delete customresourcedefinition gadgets.example.com").await?;
        self.settle().await?;
        if self.nodes == Nodes::Kubelet {
            kubectl.run("wait --for=delete namespace/passing --timeout=150s").await?;
        }
        Ok(())
    }

    /// Goes into a pod by way of the server and its kubelet.
    pub(super) async fn reach(&self) -> Result<(), ComponentsError> {
        if self.nodes == Nodes::Pretended {
            return Ok(());
        }
        let kubectl = self.kubectl;
        let running = "get pods -l app=web --field-selector=status.phase=Running";
        let pods = kubectl.items(running).await?;
        let pods = pods.iter().filter(|pod| pod.pointer("/metadata/deletionTimestamp").is_none());
        let mut names = pods.filter_map(|pod| {
            let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str);
            Some((text("/metadata/name")?.to_owned(), text("/spec/nodeName")?.to_owned()))
        });
        let (pod, node) = names.next().unwrap_or_default();
        kubectl.run(&format!("logs {pod}")).await?;
        for (line, input, expected) in [
            (format!("exec {pod} -- /bin/busybox cat /page/text"), "", "hello"),
            (format!("exec --stdin {pod} -- /bin/busybox tr a-z A-Z"), "through and back", "THROUGH AND BACK"),
            (format!("get --raw /api/v1/nodes/{node}/proxy/healthz"), "", "ok"),
        ] {
            let seen = kubectl.with_input(&line, input).await?;
            if seen != expected {
                return Err(kubectl.failed(&line, format!("expected {expected:?}, got {seen:?}")));
            }
        }
        let page = kubectl.forwarded(&format!("port-forward pod/{pod} :80"), "GET /page/text HTTP/1.0\r\n\r\n").await?;
        if !page.ends_with("hello") {
            return Err(kubectl.failed("port-forward", format!("expected a page that ends in hello, got {page:?}")));
        }
        Ok(())
    }

    /// Rolls the workload over and lets it rest.
    pub(super) async fn again(&self) -> Result<(), ComponentsError> {
        self.kubectl.run("rollout restart deployment/web daemonset/daemon").await?;
        self.settle().await?;
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }

    /// Waits until every lasting pod of the newest generation is bound and ready.
    async fn settle(&self) -> Result<(), ComponentsError> {
        if self.nodes == Nodes::Kubelet {
            for workload in ["deployment/web", "statefulset/set", "daemonset/daemon"] {
                self.kubectl.run(&format!("rollout status {workload} --timeout=150s")).await?;
            }
            return Ok(());
        }
        let mut rolled_out = false;
        while !rolled_out {
            self.pretend_to_run().await?;
            let workloads = self.kubectl.items("get deployments,statefulsets,daemonsets").await?;
            rolled_out = workloads.iter().all(is_rolled_out);
        }
        let lasting = |items: &[Value]| items.iter().filter(|pod| is_bound(pod)).count() >= LASTING_PODS;
        self.kubectl.wait_for("the binding of the pods", "get pods -l app", lasting).await?;
        Ok(())
    }

    /// Does to the pods what a kubelet would: those that are bound run, those that are going are gone.
    async fn pretend_to_run(&self) -> Result<(), ComponentsError> {
        for (index, pod) in
            self.kubectl.items("get pods --all-namespaces").await?.iter().filter(|pod| is_bound(pod)).enumerate()
        {
            let metadata = &pod["metadata"];
            let [name, namespace] = ["name", "namespace"].map(|field| metadata[field].as_str().unwrap_or_default());
            let outcome = if metadata.get("deletionTimestamp").is_some() {
                self.kubectl
                    .run(&format!("delete pod {name} --namespace={namespace} --force --grace-period=0 --wait=false"))
                    .await
            } else if is_ready(pod) {
                continue;
            } else {
                let line =
                    format!("patch pod {name} --namespace={namespace} --subresource=status --patch-file=/dev/stdin");
                self.kubectl.with_input(&line, &running(pod, index).to_string()).await
            };
            // A controller may have deleted the pod in between.
            if let Err(error) = outcome
                && !error.to_string().contains("not found")
            {
                return Err(error);
            }
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        Ok(())
    }
}

/// What a kubelet says of a pod that runs.
fn running(pod: &Value, index: usize) -> Value {
    let since = &pod["metadata"]["creationTimestamp"];
    let conditions: Vec<Value> = ["Ready", "ContainersReady", "Initialized"]
        .iter()
        .map(|name| json!({"type": name, "status": "True", "lastTransitionTime": since}))
        .collect();
    let container = pod.pointer("/spec/containers/0/name").cloned().unwrap_or_default();
    json!({"status": {
        "phase": "Running", "podIP": format!("10.254.1.{}", index + 2), "conditions": conditions,
        "podIPs": [{"ip": format!("10.254.1.{}", index + 2)}],
        "containerStatuses": [{
            "name": container, "image": "pause", "imageID": "pause", "ready": true, "started": true,
            "restartCount": 0, "state": {"running": {"startedAt": since}},
        }],
    }})
}

fn is_bound(pod: &Value) -> bool {
    pod.pointer("/spec/nodeName").is_some()
}

fn is_ready(pod: &Value) -> bool {
    pod.pointer("/status/phase") == Some(&json!("Running"))
}

/// Whether the controller has seen the newest generation and all of its pods are ready.
fn is_rolled_out(workload: &Value) -> bool {
    let number = |pointer: &str| workload.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    let wanted = number("/spec/replicas").max(number("/status/desiredNumberScheduled")).max(1);
    let updated = number("/status/updatedReplicas").max(number("/status/updatedNumberScheduled"));
    let ready = number("/status/readyReplicas").max(number("/status/numberReady"));
    number("/status/observedGeneration") == number("/metadata/generation") && updated >= wanted && ready >= wanted
}
