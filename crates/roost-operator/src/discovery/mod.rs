//! The discovery service as the controllers run it: its keys, its listener, and who is connected.

mod environments;
pub(crate) mod files;
pub(crate) mod keys;
mod listener;
pub(crate) mod measuring;
mod membership;
mod presence;
mod registry;
mod report;
mod watching;

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use parking_lot::RwLock;
use roost_discovery::{Claims, Logs, Signer};
use roost_image_server::OsImage;
use roost_pki::Secret;

pub(crate) use environments::Environments;
pub(crate) use listener::Listener;
pub(crate) use presence::{Place, Presence};
pub(crate) use report::{REPORT, Report};
pub(crate) use watching::watch;

use crate::hosts::Hosts;
use crate::images::ImageService;
use crate::object::Objects;
use crate::queue::{Controller, Key, Queue};

/// How long a token is good: an image is downloaded today and booted in some weeks.
pub(crate) const TOKEN_LIFE: SignedDuration = SignedDuration::from_hours(30 * 24);
/// When a token is replaced where it is shown.
pub(crate) const TOKEN_ROTATION: SignedDuration = SignedDuration::from_hours(15 * 24);

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
    /// What hosts boot.
    pub(crate) images: ImageService,
    /// What hosts said whose installation failed.
    logs: Logs,
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
    pub(crate) fn new(
        objects: Objects,
        queue: Arc<Queue>,
        hosts: Arc<Hosts>,
        images: ImageService,
        logs: Logs,
    ) -> Self {
        Self {
            objects,
            queue,
            hosts,
            presence: Presence::default(),
            environments: Environments::default(),
            published: RwLock::default(),
            waived: RwLock::default(),
            images,
            logs,
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
    pub(crate) fn configure(&self, waived: BTreeSet<String>, os_images: Vec<OsImage>) {
        *self.waived.write() = waived;
        if self.images.configure(os_images) {
            // The version is in the links.
            for (namespace, name) in self.environments.all() {
                self.queue.add(Key::new(Controller::InfraEnv, &namespace, &name));
            }
        }
    }
}
