//! The pods of one node: hears of them, lets time pass for them, and says what became of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::addresses::Addresses;
use super::pod::{Outlook, Pod};
use super::status;
use super::view::View;
use crate::client::{Client, ClientError};
use crate::clock::{Clock, seconds};
use crate::retry::Backoff;
use crate::timing;
use crate::watch::{Change, Event, Watch};

/// A timer that is due is looked at this much later, so that what happens at once is said at once.
const SETTLE: Duration = Duration::from_millis(2);
/// How long to wait before a status that could not be written is written again.
const RETRY: Duration = Duration::from_secs(1);

/// A pod as the API has it and as it is here.
struct Entry {
    object: Value,
    local: Pod,
    said: Value,
    /// When to say it again that could not be said.
    again: Option<Timestamp>,
}

/// Runs the pods of one node.
pub(crate) struct Worker<'a> {
    pub(crate) client: &'a Client,
    pub(crate) node: &'a str,
    pub(crate) host: IpAddr,
    pub(crate) clock: Clock,
    pub(crate) range: watch::Receiver<Option<String>>,
    pub(crate) addresses: Addresses,
    pub(crate) view: View,
}

impl Worker<'_> {
    /// Runs for as long as the node lives.
    pub(crate) async fn run(mut self) {
        let mut pods: HashMap<String, Entry> = HashMap::new();
        let mut backoff = Backoff::new(timing::RETRY, timing::LONGEST_RETRY);
        loop {
            match self.follow(&mut pods).await {
                Ok(()) => backoff.reset(),
                Err(error) => {
                    tracing::debug!(%error, node = self.node, "the pods are read anew");
                    backoff.wait().await;
                }
            }
        }
    }

    /// Lists the pods and then watches them until the watch ends.
    async fn follow(&mut self, pods: &mut HashMap<String, Entry>) -> Result<(), ClientError> {
        let base = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{}", self.node);
        let list = self.client.get(&base).await?;
        let mut version = list["metadata"]["resourceVersion"].as_str().unwrap_or("0").to_owned();
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let listed = |uid: &String| items.iter().any(|item| item["metadata"]["uid"] == uid.as_str());
        let gone: Vec<String> = pods.keys().filter(|uid| !listed(uid)).cloned().collect();
        for uid in gone {
            self.forget(pods, &uid);
        }
        for item in items {
            self.take(pods, item).await;
        }
        let target = |version: &str| {
            let seconds = timing::WATCH.as_secs();
            format!("{base}&watch=true&allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds={seconds}")
        };
        let mut watch: Option<Watch> = None;
        loop {
            let stream = match &mut watch {
                Some(stream) => stream,
                None => watch.insert(self.client.watch(&target(&version)).await?),
            };
            let wait = wait(pods, self.clock.now());
            let event = tokio::select! {
                event = stream.next() => Some(event),
                () = pause(wait) => None,
            };
            match event {
                Some(Ok(Some(event))) => {
                    if let Some(seen) = event.object["metadata"]["resourceVersion"].as_str() {
                        seen.clone_into(&mut version);
                    }
                    self.hear(pods, event).await;
                }
                Some(Ok(None)) => watch = None,
                Some(Err(error)) => return Err(error),
                None => self.pass(pods).await,
            }
        }
    }

    async fn hear(&mut self, pods: &mut HashMap<String, Entry>, event: Event) {
        match event.change {
            Change::Added | Change::Modified => self.take(pods, event.object).await,
            Change::Deleted => {
                let uid = event.object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
                self.forget(pods, &uid);
            }
            Change::Bookmark | Change::Error => {}
        }
    }

    fn forget(&mut self, pods: &mut HashMap<String, Entry>, uid: &str) {
        let Some(entry) = pods.remove(uid) else { return };
        self.view.forget(&entry.local);
        if let Some(address) = entry.local.address.filter(|address| *address != self.host) {
            self.addresses.free(address);
        }
    }

    /// Takes what the API says about a pod, and acts on it.
    async fn take(&mut self, pods: &mut HashMap<String, Entry>, mut object: Value) {
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        if let Some(entry) = pods.get_mut(&uid) {
            entry.object = object;
        } else {
            let over = matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
            if over && object["metadata"]["deletionTimestamp"].is_null() {
                return;
            }
            let address = self.address(&object).await;
            let local = Pod::accept(&object, address, self.clock.now());
            let said = object["status"].clone();
            pods.insert(uid.clone(), Entry { object, local, said, again: None });
        }
        if let Some(entry) = pods.get_mut(&uid) {
            self.act(entry).await;
        }
    }

    /// The address for a pod: the node's, the one that it had, or a new one.
    async fn address(&mut self, pod: &Value) -> Option<IpAddr> {
        if pod["spec"]["hostNetwork"] == true {
            return Some(self.host);
        }
        self.refresh_range().await;
        let had = pod["status"]["podIP"].as_str().and_then(|text| text.parse().ok());
        match had {
            Some(address) if self.addresses.take_again(address) => Some(address),
            _ => self.addresses.take(),
        }
    }

    /// Takes addresses of the node's range as soon as it has one. The range comes a little after the node.
    async fn refresh_range(&mut self) {
        if self.range.has_changed().unwrap_or(false) || self.range.borrow().is_none() {
            let mut range = self.range.borrow_and_update().clone();
            if range.is_none() {
                let node = self.client.get(&format!("/api/v1/nodes/{}", self.node)).await.unwrap_or_default();
                range = node["spec"]["podCIDR"].as_str().map(str::to_owned);
            }
            if let Some(addresses) = range.as_deref().and_then(Addresses::of_range)
                && !self.addresses.is_same_range(&addresses)
            {
                self.addresses = addresses;
            }
        }
    }

    /// Lets time pass for all pods.
    async fn pass(&mut self, pods: &mut HashMap<String, Entry>) {
        let now = self.clock.now();
        for entry in pods.values_mut() {
            let due = entry.local.due(&entry.object, now).into_iter().chain(entry.again).any(|due| due <= now);
            if due {
                self.act(entry).await;
            }
        }
    }

    /// Lets time pass for a pod and says what is new; a pod that has ended on request is removed.
    async fn act(&self, entry: &mut Entry) {
        let now = self.clock.now();
        entry.again = None;
        let outlook = entry.local.advance(&entry.object, now);
        self.view.write(&entry.local);
        let said = status::of(&entry.object, &entry.local, self.host, &entry.said, now);
        if said != entry.said && !self.say(entry, said).await {
            entry.again = now.checked_add(RETRY).ok();
            return;
        }
        if outlook == Outlook::Gone && !self.remove(entry).await {
            entry.again = now.checked_add(RETRY).ok();
        }
    }

    /// Writes the status; true when there is nothing more to write.
    async fn say(&self, entry: &mut Entry, said: Value) -> bool {
        let Pod { namespace, name, uid, .. } = &entry.local;
        let target = format!("/api/v1/namespaces/{namespace}/pods/{name}/status");
        let patch = json!({"metadata": {"uid": uid}, "status": said});
        match self.client.patch(&target, &patch).await {
            Ok(_) => {
                entry.said = said;
                true
            }
            // Gone, or another of the same name: the watch tells.
            Err(error) if error.is(StatusCode::NOT_FOUND) || error.is(StatusCode::CONFLICT) => true,
            Err(error) => {
                tracing::debug!(%error, namespace, name, at = seconds(self.clock.now()), "a status was not written");
                false
            }
        }
    }

    async fn remove(&self, entry: &Entry) -> bool {
        let Pod { namespace, name, uid, .. } = &entry.local;
        let target = format!("/api/v1/namespaces/{namespace}/pods/{name}");
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "preconditions": {"uid": uid},
        });
        match self.client.delete(&target, &options).await {
            Ok(_) => true,
            Err(error) => error.is(StatusCode::NOT_FOUND) || error.is(StatusCode::CONFLICT),
        }
    }
}

/// How long it is until something is due; none while nothing is.
fn wait(pods: &HashMap<String, Entry>, now: Timestamp) -> Option<Duration> {
    let due =
        pods.values().flat_map(|entry| entry.local.due(&entry.object, now).into_iter().chain(entry.again)).min()?;
    Some(Duration::try_from(due.duration_since(now)).unwrap_or_default() + SETTLE)
}

async fn pause(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}
