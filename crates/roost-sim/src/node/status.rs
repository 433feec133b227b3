//! The status of a node: said once it is ready, and again from time to time.

use jiff::Timestamp;
use serde_json::json;
use tokio::sync::watch;

use super::object::Facts;
use crate::client::Client;
use crate::clock::Clock;
use crate::progress::{Reporter, Stage};
use crate::retry::Backoff;
use crate::timing;

/// Reports that the node is ready, and how it is, for as long as it lives. What the API says about the network of its
/// pods goes to whom it concerns.
pub(crate) async fn keep(
    client: &Client,
    facts: &Facts,
    clock: Clock,
    reporter: &Reporter,
    network: &watch::Sender<Option<String>>,
) {
    let target = format!("/api/v1/nodes/{}/status", facts.name);
    let mut backoff = Backoff::new(timing::RETRY, timing::STATUS_UPDATE);
    let since: Timestamp = clock.now();
    loop {
        let status = json!({"status": facts.status(clock.now(), since, true)});
        match tokio::time::timeout(timing::STATUS_UPDATE, client.patch(&target, &status)).await {
            Ok(Ok(node)) => {
                backoff.reset();
                reporter.reach(Stage::Ready);
                let range = node["spec"]["podCIDR"].as_str().map(str::to_owned);
                network.send_if_modified(|known| std::mem::replace(known, range.clone()) != range);
                // Who was not heard of may count as lost, which a kubelet sees and corrects.
                let _ = tokio::time::timeout(timing::STATUS_REPORT, reporter.strayed()).await;
            }
            Ok(Err(error)) => {
                reporter.trouble(format!("the node's status could not be reported: {error}"));
                backoff.wait().await;
            }
            Err(_) => reporter.trouble("the node's status could not be reported in time".to_owned()),
        }
    }
}
