//! Which hosted clusters there are, as a watch tells.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, pin_mut};
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::runtime::watcher::{self, Event};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::hosted::{HostedCluster, HostedError, hosted_clusters};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_mins(5);

/// Which clusters there are, and whether they are available, as a watch tells.
pub(super) struct Seen {
    clusters: Arc<Mutex<HashMap<String, bool>>>,
    changed: Arc<Notify>,
    task: tokio::task::JoinHandle<()>,
}

impl Seen {
    pub(super) fn follow(client: &Client) -> Seen {
        let clusters: Arc<Mutex<HashMap<String, bool>>> = Arc::default();
        let changed = Arc::new(Notify::new());
        let (list, told, api) = (Arc::clone(&clusters), Arc::clone(&changed), hosted_clusters(client));
        let task = tokio::spawn(async move { watch(api, &list, &told).await });
        Seen { clusters, changed, task }
    }

    async fn until(&self, what: &str, holds: impl Fn(&HashMap<String, bool>) -> bool) -> Result<(), HostedError> {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                if holds(&self.clusters.lock()) {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.map_err(|_| HostedError::Late {
            what: what.to_owned(),
            seconds: PATIENCE.as_secs(),
            seen: format!("{} available", self.clusters.lock().values().filter(|available| **available).count()),
        })
    }

    pub(super) async fn available(&self, name: &str) -> Result<(), HostedError> {
        self.until(name, |clusters| clusters.get(name) == Some(&true)).await
    }

    pub(super) async fn all(&self, wanted: &[HostedCluster]) -> Result<(), HostedError> {
        self.until("all are available", |clusters| {
            wanted.iter().all(|cluster| clusters.get(&cluster.name) == Some(&true))
        })
        .await
    }

    pub(super) async fn none_of(&self, wanted: &[HostedCluster]) -> Result<(), HostedError> {
        self.until("all are gone", |clusters| !wanted.iter().any(|cluster| clusters.contains_key(&cluster.name))).await
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn watch(api: Api<DynamicObject>, clusters: &Mutex<HashMap<String, bool>>, changed: &Notify) {
    let events = watcher::watcher(api, watcher::Config::default());
    pin_mut!(events);
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => {
                let conditions = object.data["status"]["conditions"].as_array();
                let available = conditions
                    .into_iter()
                    .flatten()
                    .any(|condition| condition["type"] == "Available" && condition["status"] == "True")
                    && object.data["status"]["kubeconfig"].is_object();
                clusters.lock().insert(object.metadata.name.unwrap_or_default(), available);
            }
            Ok(Event::Delete(object)) => {
                clusters.lock().remove(&object.metadata.name.unwrap_or_default());
            }
            Ok(Event::Init | Event::InitDone) => {}
            // The kinds come a moment after the plane itself.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
        changed.notify_waiters();
    }
}
