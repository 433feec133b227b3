//! Who a host becomes when it fetches its configuration: a Machine, a node name, and a credential of its own, all
//! written before a byte of the configuration leaves.

mod credential;
mod offers;
mod refresh;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::DynamicObject;
use roost_ignition::payload::Node;
use roost_ignition_server::{Authority, Fetch, HostIdentity, Payload, Purpose, Refresh, Refusal};
use roost_pki::Secret;
use roost_runtime::{PlaneId, Runtime};
use serde_json::{Value, json};

pub(crate) use offers::{Offer, Offers};

use crate::context::words;
use crate::event::{self, Tone};
use crate::fleet::{Conflict, Fleet, Host};
use crate::machine::{self, Record, TOKEN_ID, machine_name, provider_id, token_secret};
use crate::object::{Kind, ObjectError, Objects, Reference, annotation, is_deleting};
use credential::Credential;

/// On a token Secret: a host fetched with it.
pub(crate) const REACHED: &str = "hypershift.openshift.io/ignition-reached";
/// The digits of a host's identity in the name of its Machine.
const DIGITS: usize = 8;
/// The digits for a host whose first ones another host has.
const MORE_DIGITS: usize = 16;
/// Addresses of one host that are believed.
const MAX_ADDRESSES: usize = 32;
/// How soon a host that is being answered may ask again.
const BUSY: Duration = Duration::from_secs(1);

/// What stands behind the ignition servers.
pub(crate) struct Enrolment<R> {
    pub(crate) objects: Objects,
    pub(crate) runtime: Arc<R>,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) offers: Arc<Offers>,
}

impl<R: Runtime> Authority for Enrolment<R> {
    async fn refresh(&self, refresh: Refresh) -> Result<Payload, Refusal> {
        self.renew(refresh, Timestamp::now()).await
    }

    async fn payload(&self, fetch: Fetch) -> Result<Payload, Refusal> {
        let now = Timestamp::now();
        let offer = self.offers.find(fetch.plane.as_str(), &fetch.token, now).ok_or(Refusal::UnknownToken)?;
        let (namespace, pool) = &offer.pool;
        let pool_text = format!("{namespace}/{pool}");
        if fetch.purpose == Purpose::Inspect {
            // As long as an answer would be, and about nobody.
            let nobody = Node { name: String::new(), bootstrap_token: Secret::new(String::new()), provider_id: None };
            return Ok(payload(&offer, &nobody).of_pool(pool_text));
        }
        let outcome = self.enrol(&offer, &fetch.host, fetch.peer, now).await;
        match outcome {
            Ok(node) => {
                self.tell(&offer, Tone::Normal, "GetPayload", &format!("{} fetched its configuration", node.name));
                Ok(payload(&offer, &node).of_pool(pool_text))
            }
            Err(refusal) => {
                self.tell(&offer, Tone::Warning, "GetPayloadFailed", &format!("{}: {refusal}", fetch.peer.ip()));
                Err(refusal)
            }
        }
    }
}

impl<R: Runtime> Enrolment<R> {
    /// Writes all that a host needs to join, and says who it is.
    async fn enrol(
        &self,
        offer: &Offer,
        host: &HostIdentity,
        peer: SocketAddr,
        now: Timestamp,
    ) -> Result<Node, Refusal> {
        let plane: PlaneId = offer.cluster_id.parse().map_err(|_| Refusal::NotBuilt)?;
        let guest = self.runtime.client(&plane).map(Objects::new);
        let guest =
            guest.ok_or_else(|| Refusal::Unavailable("the hosted API does not run at this moment".to_owned()))?;
        let (namespace, pool) = (&offer.pool.0, &offer.pool.1);
        let default = machine_name(pool, &host.id, DIGITS);
        let choose = |known: Option<&Host>| match (&host.name, known) {
            (Some(name), _) => name.clone(),
            (None, Some(known)) => known.node_name.clone(),
            (None, None) => default.clone(),
        };
        let claimed = self.fleet.claim(&offer.namespace, &format!("{namespace}/{pool}"), &host.id, choose);
        let (claim, node_name) = match claimed {
            Ok(claimed) => claimed,
            Err(conflict) => return Err(self.refuse(offer, conflict).await),
        };
        let credential = Credential::generate()
            .ok_or_else(|| Refusal::Unavailable("the system gives no random numbers".to_owned()))?;
        let addresses = addresses(host, peer);
        let record = Record {
            namespace: &offer.namespace,
            name: claim.machine.as_ref().map_or(&default, |known| &known.machine),
            pool: (namespace, pool),
            infra_id: &offer.infra_id,
            cluster_id: &offer.cluster_id,
            version: &offer.version,
            user_data: &offer.user_data_secret,
            host_id: &host.id,
            node_name: &node_name,
            addresses: &addresses,
            token_id: &credential.id,
            config_hash: &offer.hash,
            fetched_at: now,
        };
        let (machine, earlier) = self.write_machine(&record).await?;
        let name = machine["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        // From here on, nobody else gets the name, even before the watch tells of it.
        if let Ok(object) = serde_json::from_value::<DynamicObject>(machine.clone()) {
            self.fleet.learn(&object.metadata);
        }
        let unavailable = |error: ObjectError| Refusal::Unavailable(words(&error));
        guest.create(&credential.document(&name, now)).await.map_err(unavailable)?;
        if let Some(earlier) = earlier.filter(|id| *id != credential.id) {
            let secret = Reference::new(Kind::Secret, "kube-system", &token_secret(&earlier));
            guest.delete(&secret).await.map_err(unavailable)?;
        }
        self.reached(offer).await;
        drop(claim);
        let provider_id = Some(provider_id(&offer.cluster_id, &name));
        Ok(Node { name: node_name, bootstrap_token: credential.text(), provider_id })
    }

    /// Makes a host's Machine, or finds the one that it has. Returns it and the token that it had before.
    async fn write_machine(&self, record: &Record<'_>) -> Result<(Value, Option<String>), Refusal> {
        let unavailable = |error: ObjectError| Refusal::Unavailable(words(&error));
        let objects = &self.objects;
        let longer = machine_name(record.pool.1, record.host_id, MORE_DIGITS);
        for name in [record.name, &longer] {
            let record = Record { name, ..*record };
            if let Some(made) = objects.create(&record.document()).await.map_err(unavailable)? {
                return Ok((made, None));
            }
            let live = objects.find(Kind::Machine, record.namespace, name).await.map_err(unavailable)?;
            let live = live.ok_or(Refusal::Limited { retry_after: BUSY })?;
            if annotation(&live, machine::HOST_ID) != record.host_id {
                // The digits of two hosts' identities are the same.
                continue;
            }
            if is_deleting(&live) {
                return Err(Refusal::Unavailable(format!("the Machine {name} is being deleted; try again")));
            }
            let node = live["status"]["nodeRef"]["name"].as_str();
            if let Some(node) = node.filter(|node| *node != record.node_name) {
                return Err(Refusal::Conflict(format!(
                    "this host is the node {node} already; delete the Machine {name} before it gets another name"
                )));
            }
            let earlier = Some(annotation(&live, TOKEN_ID).to_owned()).filter(|id| !id.is_empty());
            let changed = objects.merge(&Reference::of(&live), &record.change(&live)).await;
            return match changed {
                Ok(changed) => Ok((changed, earlier)),
                Err(error) if error.is_race() => Err(Refusal::Limited { retry_after: BUSY }),
                Err(error) => Err(unavailable(error)),
            };
        }
        Err(Refusal::Conflict("two other hosts have the digits of this host's identity".to_owned()))
    }

    /// Turns a host away, and says so on the Machine whose name or identity it wanted.
    async fn refuse(&self, offer: &Offer, conflict: Conflict) -> Refusal {
        let message = conflict.to_string();
        match &conflict {
            Conflict::NotSynced => Refusal::Unavailable(message),
            Conflict::Busy => Refusal::Limited { retry_after: BUSY },
            Conflict::NameTaken { holder: machine, .. } | Conflict::OtherPool { machine, .. } => {
                if let Ok(Some(found)) = self.objects.find(Kind::Machine, &offer.namespace, machine).await {
                    let uid = found["metadata"]["uid"].as_str().unwrap_or_default();
                    let about = Reference::of(&found);
                    let reason = "HostRefused";
                    let words = format!("another fetch was refused: {message}");
                    event::record(&self.objects, &about, uid, Tone::Warning, reason, &words).await;
                }
                Refusal::Conflict(message)
            }
        }
    }

    /// Says once that a host fetched with a token.
    async fn reached(&self, offer: &Offer) {
        if offer.is_reached.swap(true, Ordering::Relaxed) {
            return;
        }
        let secret = Reference::new(Kind::Secret, &offer.namespace, &offer.token_secret);
        let change = json!({"metadata": {"annotations": {(REACHED): "True"}}});
        if let Err(error) = self.objects.merge(&secret, &change).await {
            offer.is_reached.store(false, Ordering::Relaxed);
            tracing::debug!(%secret, error = words(&error), "that it was reached was not written");
        }
    }

    /// An event on the token Secret. Nobody waits for it.
    fn tell(&self, offer: &Offer, tone: Tone, reason: &'static str, message: &str) {
        let about = Reference::new(Kind::Secret, &offer.namespace, &offer.token_secret);
        let (objects, message) = (self.objects.clone(), message.to_owned());
        tokio::spawn(async move { event::record(&objects, &about, "", tone, reason, &message).await });
    }
}

fn payload(offer: &Offer, node: &Node) -> Payload {
    Payload::from_bytes(offer.written.version(), offer.written.for_node(node))
}

/// What a host says of its addresses, and the one that it called from.
fn addresses(host: &HostIdentity, peer: SocketAddr) -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> = Vec::new();
    let peer = peer.ip().to_canonical();
    for address in std::iter::once(peer).chain(host.addresses.iter().map(IpAddr::to_canonical)) {
        // Only who calls from this machine can have an address that means this machine.
        let is_possible = !address.is_unspecified() && (!address.is_loopback() || peer.is_loopback());
        if is_possible && !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    addresses.truncate(MAX_ADDRESSES);
    addresses
}
