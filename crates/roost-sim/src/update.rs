//! Changing a node's configuration in place, as the agent on a host does it.

use http::StatusCode;
use parking_lot::Mutex;
use roost_ignition::payload::config_hash;
use serde_json::{Value, json};

use crate::client::{Client, ClientError, words};
use crate::configure;
use crate::disk::Disk;
use crate::faults::UpdateFault;
use crate::identity::Identity;
use crate::ignition::Fetcher;
use crate::node::{CURRENT_CONFIG, Facts};
use crate::progress::Reporter;
use crate::retry::Backoff;
use crate::spec::Start;
use crate::timing;
use crate::watch::Change;

/// Which configuration the node should have.
const DESIRED_CONFIG: &str = "roost.dev/desired-config";
/// A configuration that the host could not take, and why.
const UPDATE_FAILED: &str = "roost.dev/update-failed";

/// What the agent of one host works with.
pub(crate) struct Updater<'a> {
    pub(crate) client: &'a Client,
    pub(crate) fetcher: Fetcher<'a>,
    pub(crate) facts: &'a Facts,
    pub(crate) identity: &'a Mutex<Identity>,
    pub(crate) disk: &'a Disk,
    pub(crate) reporter: &'a Reporter,
}

impl Updater<'_> {
    /// Does what the Node says should be done, for as long as the node lives.
    pub(crate) async fn run(&self) {
        let Start::UserData(user_data) = &self.fetcher.spec.start else { return };
        let mut backoff = Backoff::new(timing::RETRY, timing::LONGEST_RETRY);
        loop {
            match self.follow(user_data).await {
                Ok(()) => backoff.reset(),
                Err(error) => self.reporter.trouble(error),
            }
            backoff.wait().await;
        }
    }

    /// Follows the Node until it was changed or the watch ends: what was seen before a change says nothing after it.
    async fn follow(&self, user_data: &[u8]) -> Result<(), String> {
        let failed = |error: ClientError| format!("the node's own object cannot be followed: {error}");
        let name = &self.facts.name;
        let node = match self.client.get(&format!("/api/v1/nodes/{name}")).await {
            Err(error) if error.is(StatusCode::NOT_FOUND) => return Ok(()),
            node => node.map_err(failed)?,
        };
        if self.consider(user_data, &node).await? {
            return Ok(());
        }
        let version = node["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        let seconds = timing::WATCH.as_secs();
        let target = format!(
            "/api/v1/nodes?watch=true&fieldSelector=metadata.name%3D{name}&resourceVersion={version}&timeoutSeconds={seconds}"
        );
        let mut watch = self.client.watch(&target).await.map_err(failed)?;
        while let Some(event) = watch.next().await.map_err(failed)? {
            if event.change == Change::Deleted || self.consider(user_data, &event.object).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Changes the configuration if the Node says so; whether it did.
    async fn consider(&self, user_data: &[u8], node: &Value) -> Result<bool, String> {
        let text = |key: &str| node["metadata"]["annotations"][key].as_str().unwrap_or_default();
        let desired = text(DESIRED_CONFIG);
        let has_failed = text(UPDATE_FAILED).split(':').next() == Some(desired);
        if desired.is_empty() || desired == text(CURRENT_CONFIG) || has_failed {
            return Ok(false);
        }
        Box::pin(self.change(user_data, desired)).await.map(|()| true)
    }

    async fn change(&self, user_data: &[u8], desired: &str) -> Result<(), String> {
        let identity = self.identity.lock().clone();
        let payload = self.fetcher.refresh(user_data, &identity, desired).await.map_err(|error| words(&error))?;
        let hash = config_hash(&payload).ok_or("the payload does not say which configuration it is")?;
        self.say_ready(false).await?;
        tokio::time::sleep(timing::RESTART).await;
        let annotations = match self.fetcher.spec.faults.update {
            Some(UpdateFault::Dies) => {
                self.reporter.end_life();
                return std::future::pending().await;
            }
            Some(UpdateFault::GoesBack) => {
                json!({(UPDATE_FAILED): format!("{desired}: the kubelet was not ready with it in time")})
            }
            None => {
                configure::keep_hash(self.disk, &hash).map_err(|error| error.to_string())?;
                json!({(CURRENT_CONFIG): hash, (UPDATE_FAILED): null})
            }
        };
        self.say_ready(true).await?;
        let target = format!("/api/v1/nodes/{}", self.facts.name);
        let written = self.client.patch(&target, &json!({"metadata": {"annotations": annotations}})).await;
        written.map(drop).map_err(|error| format!("the node's configuration could not be reported: {error}"))
    }

    async fn say_ready(&self, is_ready: bool) -> Result<(), String> {
        let now = self.fetcher.clock.now();
        let target = format!("/api/v1/nodes/{}/status", self.facts.name);
        let said = self.client.patch(&target, &json!({"status": self.facts.status(now, now, is_ready)})).await;
        said.map(drop).map_err(|error| format!("the node's status could not be reported: {error}"))
    }
}
