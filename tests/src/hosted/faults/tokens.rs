//! Tokens that are not good, or not any more, and images of others.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use roost_discovery::{Claims, Signer};
use roost_pki::{PrivateKey, Secret};
use roost_sim::{Host, HostSpec};

use super::super::HostedError;
use super::super::metal::Environment;
use super::super::objects::{decode, refused, scale, secrets, until};
use super::{Faults, NAME};

/// How long the service's tokens are good.
const LIFE: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How long a token is still good whose host has to get another one.
const REST: Duration = Duration::from_secs(8);

/// Signs as the service does: with its key.
pub(super) async fn signer(client: &Client) -> Result<Signer, HostedError> {
    let secret = secrets(client, "hypershift").get("assisted-servicelocal-auth").await.map_err(refused("the key"))?;
    let pem = decode(secret.data["data"]["ec-private-key.pem"].as_str().unwrap_or_default()).unwrap_or_default();
    let key = PrivateKey::from_pem(&pem).map_err(|error| HostedError::Wrong(error.to_string()))?;
    Ok(Signer::new(vec![key]))
}

/// A token of the service that ends at a time.
fn ending(signer: &Signer, environment: &Environment, expires: Timestamp) -> Result<Secret<String>, HostedError> {
    let (infra_env_id, issued) = (environment.host(0).infra_env, expires - LIFE);
    let token = signer.issue(&Claims { infra_env_id, issued, expires, revision: String::new() });
    token.ok_or_else(|| HostedError::Wrong("the service has no key".to_owned()))
}

/// A token that was good until a minute ago.
pub(super) fn expired(signer: &Signer, environment: &Environment) -> Result<Secret<String>, HostedError> {
    ending(signer, environment, Timestamp::now() - SignedDuration::from_mins(1))
}

impl Faults<'_> {
    /// Whoever has no good token is refused, and is no Agent.
    pub(super) async fn strangers(
        &self,
        environment: &Environment,
        other: &Environment,
        signer: &Signer,
    ) -> Result<(), HostedError> {
        let good = environment.host(21);
        let mut forged = good.token.expose().to_owned();
        let signature = forged.rfind('.').map_or(0, |dot| dot + 1);
        forged.replace_range(signature.., &"A".repeat(86));
        let not_ours = "not made by this service";
        for (token, code, words) in [
            (other.host(21).token, "403", "of another infra-env"),
            (Secret::new(forged), "401", not_ours),
            (Secret::new("nothing".to_owned()), "401", not_ours),
            (expired(signer, environment)?, "401", "expired; boot the host from an image that was downloaded today"),
        ] {
            let stranger = self.simulator.turn_on(HostSpec { token, ..good.clone() });
            is_told(&stranger, code, words).await?;
            let found = self.agents().get_opt(stranger.id()).await.map_err(refused("not read"))?;
            if found.is_some() {
                return Err(HostedError::Wrong("a host without a good token became an Agent".to_owned()));
            }
        }
        Ok(())
    }

    /// A host whose token is about to end shows another one from its first answer on.
    pub(super) async fn renewed(
        &self,
        environment: &Environment,
        signer: &Signer,
        nodes: usize,
    ) -> Result<(), HostedError> {
        let token = ending(signer, environment, Timestamp::now() + SignedDuration::try_from(REST).unwrap_or_default())?;
        let over = tokio::time::Instant::now() + REST;
        let host = self.simulator.turn_on(HostSpec { token, ..environment.host(22) });
        self.is_in(host.id(), "known-unbound", "").await?;
        tokio::time::sleep_until(over).await;
        self.approve(host.id()).await?;
        scale(self.client, self.cluster, u16::try_from(nodes + 1).unwrap_or_default()).await?;
        self.nodes_are(nodes + 1).await?;
        self.is_in(host.id(), "added-to-existing-cluster", "").await?;
        scale(self.client, self.cluster, u16::try_from(nodes).unwrap_or_default()).await?;
        self.is_in(host.id(), "known-unbound", "").await?;
        self.nodes_are(nodes).await?;
        if host.progress().borrow().registrations < 2 {
            return Err(HostedError::Wrong("a host that was given back did not introduce itself anew".to_owned()));
        }
        let id = host.id().to_owned();
        drop(host);
        self.forget(&[id].into()).await
    }

    /// A host that is started from the image of another InfraEnv is that one's, and has to be approved there; in the place
    /// of a node it is refused.
    pub(super) async fn other_images(&self, environment: &Environment, other: &Environment) -> Result<(), HostedError> {
        let host = self.simulator.turn_on(environment.host(23));
        let id = host.id().to_owned();
        self.is_in(&id, "known-unbound", "").await?;
        self.approve(&id).await?;
        self.belongs_to(&id, NAME, true).await?;
        drop(host);
        let moved = self.simulator.turn_on(other.host(23));
        self.belongs_to(&id, "others", false).await?;
        self.is_in(&id, "known-unbound", "").await?;
        drop(moved);
        self.forget(&[id].into()).await?;
        let mut stranger = other.host(1);
        stranger.address = IpAddr::V4(Ipv4Addr::new(127, 120, 1, 11));
        let stranger = self.simulator.turn_on(stranger);
        is_told(&stranger, "403", "in a cluster, by the infra-env faults; start it from the image of that").await?;
        self.belongs_to(stranger.id(), NAME, true).await
    }

    /// Waits until an Agent is of an InfraEnv, and is approved or not.
    async fn belongs_to(&self, id: &str, environment: &str, is_approved: bool) -> Result<(), HostedError> {
        until(&format!("{id} belonged to {environment}, approved: {is_approved}"), async || {
            let agent = self.agents().get(id).await.map_err(|error| error.to_string())?;
            let owner = agent.metadata.owner_references.clone().unwrap_or_default().pop().map(|owner| owner.name);
            let is_so = owner.as_deref() == Some(environment) && agent.data["spec"]["approved"] == is_approved;
            if is_so { Ok(()) } else { Err(format!("{owner:?}: {}", agent.data["spec"])) }
        })
        .await
    }
}

/// Waits until a host was refused with a code, and in words.
async fn is_told(host: &Host, code: &str, words: &str) -> Result<(), HostedError> {
    let mut progress = host.progress();
    let is_so = |told: &String| told.contains(code) && told.contains(words);
    let refused = progress.wait_for(|progress| progress.trouble.as_ref().is_some_and(is_so));
    let refused = tokio::time::timeout(Duration::from_mins(1), refused).await.map(drop);
    refused.map_err(|_| {
        let told = host.progress().borrow().trouble.clone();
        HostedError::Wrong(format!("a host was not refused with {code} {words:?} but with {told:?}"))
    })
}
