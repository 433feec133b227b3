//! Following the pods of a plane: when each got its node, and a kubelet for all of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::WorkloadsError;
use super::api::Api;
use super::pretend;

/// How many pods the kubelets see to at a time.
const TOGETHER: usize = 16;
/// The pause before a watch that ended is begun again.
const PAUSE: Duration = Duration::from_millis(50);

/// When each pod was first seen on a node.
pub(super) type Placed = Arc<Mutex<HashMap<String, Instant>>>;

/// Kubelets that follow all pods; dropping them ends them.
pub(super) struct Followers {
    /// When each pod was first seen on a node.
    pub(super) placed: Placed,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Followers {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Lets pods run as soon as they have a node, and go when they are asked to.
pub(super) fn follow(api: &Api) -> Followers {
    let placed = Placed::default();
    let (sender, receiver) = mpsc::unbounded_channel();
    let watch = tokio::spawn({
        let (api, placed) = (api.clone(), Arc::clone(&placed));
        async move {
            loop {
                let _ = watch(&api, &placed, &sender).await;
                tokio::time::sleep(PAUSE).await;
            }
        }
    });
    let kubelets = tokio::spawn({
        let api = api.clone();
        async move {
            let pods = futures::stream::unfold(receiver, |mut receiver: mpsc::UnboundedReceiver<Value>| async move {
                Some((receiver.recv().await?, receiver))
            });
            pods.for_each_concurrent(TOGETHER, |pod| {
                let api = api.clone();
                async move {
                    let _ = pretend::step(&api, &pod, pretend::Addresses::Same).await;
                }
            })
            .await;
        }
    });
    Followers { placed, tasks: vec![watch, kubelets] }
}

async fn watch(api: &Api, placed: &Placed, pods: &mpsc::UnboundedSender<Value>) -> Result<(), WorkloadsError> {
    let mut stream = api.stream("/api/v1/pods?watch=true").await?;
    let mut rest = Vec::new();
    while let Some(bytes) = stream.next().await? {
        rest.extend_from_slice(&bytes);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let Ok(mut event) = serde_json::from_slice::<Value>(&line) else { continue };
            if event["type"] == "DELETED" {
                continue;
            }
            let pod = event["object"].take();
            if pod["spec"]["nodeName"].is_null() {
                continue;
            }
            let name = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            placed.lock().entry(name).or_insert_with(Instant::now);
            let _ = pods.send(pod);
        }
    }
    Ok(())
}
