//! `MutatingAdmissionWebhook` and `ValidatingAdmissionWebhook`: services that have a say in writes.

mod call;
mod mutating;
mod select;
mod validating;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use roost_admission::policy::Conditions;
use roost_admission::webhook::Webhook;
use roost_store::Revision;

use crate::derived::Index;
use crate::stored::Stored;

pub(super) use mutating::{Rounds, mutate};
pub(super) use select::{matches_labels, matches_namespace};
pub(super) use validating::validate;

/// A webhook and its conditions, which are compiled when they are first needed.
pub(super) struct Hook {
    webhook: Webhook,
    conditions: OnceLock<Conditions>,
}

impl Hook {
    fn new(webhook: Webhook) -> Hook {
        Hook { webhook, conditions: OnceLock::new() }
    }

    fn conditions(&self) -> &Conditions {
        self.conditions.get_or_init(|| Conditions::of_webhook(&self.webhook.conditions, self.webhook.fails_open))
    }
}

impl Deref for Hook {
    type Target = Webhook;

    fn deref(&self) -> &Webhook {
        &self.webhook
    }
}

/// The configurations of a tenant, as two lists in the order in which webhooks are called.
#[derive(Default)]
pub(super) struct Webhooks {
    configurations: [BTreeMap<String, Vec<Arc<Hook>>>; 2],
    lists: [Arc<[Arc<Hook>]>; 2],
}

/// The place of the mutating configurations among the sources, and of their webhooks among the lists.
const MUTATING: usize = 0;
/// The place of the validating ones.
const VALIDATING: usize = 1;

impl Webhooks {
    /// The collections that hold configurations, by place.
    pub(super) const SOURCES: [&'static str; 2] = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];

    fn list(&self, place: usize) -> Option<Arc<[Arc<Hook>]>> {
        (!self.lists[place].is_empty()).then(|| Arc::clone(&self.lists[place]))
    }

    fn rebuild(&mut self, place: usize) {
        self.lists[place] = self.configurations[place].values().flatten().cloned().collect();
    }
}

impl Index for Webhooks {
    fn insert(&mut self, source: usize, name: &str, object: &Stored, revision: Revision) {
        let Ok(object) = object.decode("admissionregistration.k8s.io/v1", "", revision) else { return };
        let webhooks = Webhook::read_all(&object, decode_base64).into_iter().map(|one| Arc::new(Hook::new(one)));
        self.configurations[source].insert(name.to_owned(), webhooks.collect());
        self.rebuild(source);
    }

    fn remove(&mut self, source: usize, name: &str) {
        self.configurations[source].remove(name);
        self.rebuild(source);
    }
}

/// Bytes from base64; what is none is nothing.
fn decode_base64(text: &str) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(text).unwrap_or_default()
}
