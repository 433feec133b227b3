//! A Node without a kubelet: the suite wants one that is ready before it starts.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::client::{Call, Client, ClientError};

/// A kubelet renews its lease as often.
const HEARTBEAT: Duration = Duration::from_secs(10);

const NAME: &str = "without-kubelet";

/// Keeps a Node ready until it is dropped.
#[derive(Debug)]
pub struct FakeNode {
    heartbeat: JoinHandle<()>,
}

impl Drop for FakeNode {
    fn drop(&mut self) {
        self.heartbeat.abort();
    }
}

impl FakeNode {
    /// Makes the Node and begins to renew its lease.
    pub async fn start(client: Client) -> Result<Self, ClientError> {
        let labels =
            json!({"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": NAME});
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NAME, "labels": labels}});
        client.send(Call::new(Method::POST, "/api/v1/nodes").json(&node)).await?;
        renew(&client).await?;
        // The server taints every new Node; a kubelet that is ready has the taint removed.
        let schedulable = json!({"spec": {"taints": null}});
        client.send(patch(format!("/api/v1/nodes/{NAME}"), &schedulable)).await?;
        let heartbeat = tokio::spawn(async move {
            loop {
                tokio::time::sleep(HEARTBEAT).await;
                // A lost heartbeat is made up by the next one.
                let _ = renew(&client).await;
            }
        });
        Ok(Self { heartbeat })
    }
}

async fn renew(client: &Client) -> Result<(), ClientError> {
    let now = server_time(client).await?;
    let resources = json!({"cpu": "4", "memory": "8Gi", "pods": "110", "ephemeral-storage": "10Gi"});
    let status = json!({"status": {
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now}],
        "capacity": resources, "allocatable": resources,
        "addresses": [{"type": "InternalIP", "address": "10.254.0.1"}],
    }});
    client.send(patch(format!("/api/v1/nodes/{NAME}/status"), &status)).await?;
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": NAME},
        "spec": {"holderIdentity": NAME, "leaseDurationSeconds": 40, "renewTime": now.replace('Z', ".000000Z")},
    });
    let target =
        format!("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NAME}?fieldManager=node&force=true");
    let mut call = Call::new(Method::PATCH, target).json(&lease);
    call.headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/apply-patch+yaml"));
    client.send(call).await?;
    Ok(())
}

fn patch(target: String, body: &Value) -> Call {
    let mut call = Call::new(Method::PATCH, target).json(body);
    call.headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/merge-patch+json"));
    call
}

/// The server's clock as it writes it, read from an object that it does not keep.
async fn server_time(client: &Client) -> Result<String, ClientError> {
    let body = json!({"metadata": {"name": "clock"}});
    let answer =
        client.send(Call::new(Method::POST, "/api/v1/namespaces/default/configmaps?dryRun=All").json(&body)).await?;
    let time = answer.json().pointer("/metadata/creationTimestamp").and_then(Value::as_str).map(str::to_owned);
    time.ok_or_else(|| ClientError::Exchange("the server does not tell the time".to_owned()))
}
