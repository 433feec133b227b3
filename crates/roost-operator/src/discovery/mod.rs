//! The discovery service as the controllers run it: its keys, its listener, and who is connected.

mod environments;
mod files;
mod keys;
mod listener;
mod presence;
mod registry;
mod report;
mod watching;

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use parking_lot::RwLock;
use roost_discovery::{Claims, Signer};
use roost_pki::Secret;

pub(crate) use environments::Environments;
pub(crate) use listener::Listener;
pub(crate) use presence::{Place, Presence};
pub(crate) use report::{REPORT, Report};
pub(crate) use watching::watch;

use crate::hosts::Hosts;
use crate::object::Objects;
use crate::queue::{Controller, Key, Queue};

/// How long a token is good: an image is downloaded today and booted in some weeks.
pub(crate) const TOKEN_LIFE: SignedDuration = SignedDuration::from_hours(30 * 24);
/// When a token is replaced where it is shown.
pub(crate) const TOKEN_ROTATION: SignedDuration = SignedDuration::from_hours(15 * 24);

/// The version of our own live image.
const OWN_IMAGE: &str = "live";

/// What stands behind the service.
pub(crate) struct Discovery {
    pub(crate) objects: Objects,
    pub(crate) queue: Arc<Queue>,
    pub(crate) hosts: Arc<Hosts>,
    pub(crate) presence: Presence,
    pub(crate) environments: Environments,
    /// How the service is reached and what it signs with, once it runs.
    published: RwLock<Option<Published>>,
    /// Checks that do not matter on this management plane, as upstream's ConfigMap says.
    waived: RwLock<BTreeSet<String>>,
    /// The version of the image that hosts boot when nobody names one.
    os_version: RwLock<String>,
}

/// A service that runs.
#[derive(Clone)]
pub(crate) struct Published {
    /// Where it is, as `https://host:port`.
    pub(crate) url: String,
    /// Who vouches for its certificate.
    pub(crate) authority: String,
    signer: Arc<Signer>,
}

impl Published {
    /// A token for an environment.
    pub(crate) fn token(&self, infra_env_id: &str, revision: &str, now: Timestamp) -> Option<Secret<String>> {
        self.signer.issue(&Claims {
            infra_env_id: infra_env_id.to_owned(),
            issued: now,
            expires: now.saturating_add(TOKEN_LIFE).unwrap_or(now),
            revision: revision.to_owned(),
        })
    }

    /// What a token says.
    pub(crate) fn read(&self, token: &str, now: Timestamp) -> Option<Claims> {
        self.signer.verify(token, now).ok()
    }
}

impl Discovery {
    pub(crate) fn new(objects: Objects, queue: Arc<Queue>, hosts: Arc<Hosts>) -> Self {
        Self {
            objects,
            queue,
            hosts,
            presence: Presence::default(),
            environments: Environments::default(),
            published: RwLock::default(),
            waived: RwLock::default(),
            os_version: RwLock::new(OWN_IMAGE.to_owned()),
        }
    }

    pub(crate) fn published(&self) -> Option<Published> {
        self.published.read().clone()
    }

    /// The checks that do not matter on this management plane.
    pub(crate) fn waived(&self) -> BTreeSet<String> {
        self.waived.read().clone()
    }

    /// What upstream's service configuration says, as far as it matters here.
    pub(crate) fn configure(&self, waived: BTreeSet<String>, os_version: Option<String>) {
        *self.waived.write() = waived;
        let os_version = os_version.unwrap_or_else(|| OWN_IMAGE.to_owned());
        let before = std::mem::replace(&mut *self.os_version.write(), os_version.clone());
        if before != os_version {
            // The version is in the links.
            for (namespace, name) in self.environments.all() {
                self.queue.add(Key::new(Controller::InfraEnv, &namespace, &name));
            }
        }
    }

    pub(crate) fn os_version(&self) -> String {
        self.os_version.read().clone()
    }
}
