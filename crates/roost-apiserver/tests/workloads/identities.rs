//! StatefulSets and DaemonSets.

use serde_json::{Value, json};

use crate::plane::Plane;

const SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";
const DAEMONS: &str = "/apis/apps/v1/namespaces/default/daemonsets";
const PODS: &str = "/api/v1/namespaces/default/pods";
const REVISIONS: &str = "/apis/apps/v1/namespaces/default/controllerrevisions";

fn set(image: &str) -> Value {
    json!({"metadata": {"name": "db"}, "spec": {"replicas": 3, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
        "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": image}]}},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}}}]}})
}

fn names(pods: &[Value]) -> Vec<&str> {
    pods.iter().filter_map(|pod| pod["metadata"]["name"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stateful_set_comes_in_order_rolls_and_shrinks() {
    let plane = Plane::start(2).await;
    for number in 0..3 {
        let volume = json!({"metadata": {"name": format!("disk-{number}")}, "spec": {"capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp/disk"}}});
        plane.create("/api/v1/persistentvolumes", volume).await;
    }
    plane.create(SETS, set("a")).await;
    let path = format!("{SETS}/db");
    let done = plane
        .until(&path, |set| set["status"]["availableReplicas"] == 3 && set["status"]["currentReplicas"] == 3)
        .await;
    assert_eq!(names(&plane.list(PODS).await), ["db-0", "db-1", "db-2"]);
    plane.until_event("SuccessfulCreate", "Create Claim data-db-0 Pod db-0 in StatefulSet db success").await;
    plane.until_event("SuccessfulCreate", "Create Pod db-2 in StatefulSet db successful").await;
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "b"}]}}}});
    plane.patch(&path, image).await;
    let rolled = plane
        .until(&path, |set| {
            let status = &set["status"];
            status["updatedReplicas"] == 3
                && status["currentRevision"] == status["updateRevision"]
                && status["currentRevision"] != done["status"]["currentRevision"]
        })
        .await;
    assert_eq!(rolled["status"]["currentReplicas"], 3);
    assert_eq!(plane.list(REVISIONS).await.len(), 2);
    plane.patch(&format!("{path}/scale"), json!({"spec": {"replicas": 1}})).await;
    let left = plane.until_count(PODS, 1).await;
    assert_eq!(names(&left), ["db-0"]);
    assert_eq!(plane.list("/api/v1/namespaces/default/persistentvolumeclaims").await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_set_follows_the_nodes() {
    let plane = Plane::start(2).await;
    let daemon = json!({"metadata": {"name": "agent"}, "spec": {"selector": {"matchLabels": {"app": "agent"}},
        "template": {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "c", "image": "a"}]}}}});
    plane.create(DAEMONS, daemon).await;
    let path = format!("{DAEMONS}/agent");
    plane.until(&path, |set| set["status"]["numberAvailable"] == 2).await;
    plane.create("/api/v1/nodes", json!({"metadata": {"name": "late"}})).await;
    let status = json!({"status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "5"},
        "conditions": [{"type": "Ready", "status": "True"}]}});
    plane.patch("/api/v1/nodes/late/status", status).await;
    plane.until(&path, |set| set["status"]["numberAvailable"] == 3).await;
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "b"}]}}}});
    plane.patch(&path, image).await;
    plane
        .until(&path, |set| {
            set["status"]["observedGeneration"] == set["metadata"]["generation"]
                && set["status"]["updatedNumberScheduled"] == 3
                && set["status"]["numberAvailable"] == 3
        })
        .await;
    let pods = plane.list(PODS).await;
    assert!(pods.iter().all(|pod| pod["spec"]["containers"][0]["image"] == "b"));
    assert_eq!(plane.list(REVISIONS).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taint_drives_pods_away() {
    let plane = Plane::start(2).await;
    let pod = json!({"metadata": {"name": "guest"}, "spec": {"nodeName": "node-0", "containers": [{"name": "c", "image": "a"}]}});
    plane.create(PODS, pod).await;
    plane.until(&format!("{PODS}/guest"), |pod| pod["status"]["phase"] == "Running").await;
    plane.patch("/api/v1/nodes/node-0", json!({"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}})).await;
    plane.until(&format!("{PODS}/guest"), Value::is_null).await;
    plane.until_event("TaintManagerEviction", "Marking for deletion Pod default/guest").await;
}
