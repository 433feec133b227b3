//! One request on its way: who asks, for what, and what they should be warned of.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{HeaderMap, Method};
use hyper::upgrade::OnUpgrade;
use parking_lot::Mutex;
use roost_access::User;
use roost_object::field::is_printable;

use crate::cluster::Cluster;
use crate::request::{Query, RequestInfo};

/// A request that is authenticated and authorized.
pub(crate) struct Call {
    /// The tenant it addresses.
    pub(crate) cluster: Arc<Cluster>,
    /// Who asks, after impersonation.
    pub(crate) user: Arc<User>,
    /// What the path and method mean.
    pub(crate) info: Arc<RequestInfo>,
    /// The query string.
    pub(crate) query: Query,
    /// The headers.
    pub(crate) headers: HeaderMap,
    /// The method.
    pub(crate) method: Method,
    /// The connection, once both sides agree to speak something else on it.
    pub(crate) upgrade: Mutex<Option<OnUpgrade>>,
    /// What becomes `Warning` headers.
    pub(crate) warnings: Warnings,
    /// What the audit log says about the request beside who and what.
    pub(crate) annotations: Annotations,
}

impl Call {
    /// A call of the server itself, which nobody has to authorize.
    pub(crate) fn internal(cluster: &Arc<Cluster>) -> Call {
        let user = User {
            name: "system:apiserver".into(),
            groups: vec!["system:masters".into(), "system:authenticated".into()],
            ..User::default()
        };
        Call {
            cluster: Arc::clone(cluster),
            user: Arc::new(user),
            info: Arc::default(),
            query: Query::default(),
            headers: HeaderMap::new(),
            method: Method::GET,
            upgrade: Mutex::default(),
            warnings: Warnings::default(),
            annotations: Annotations::default(),
        }
    }

    /// The connection, for those who hand it on to somebody else; none unless the caller asked for it.
    pub(crate) fn take_upgrade(&self) -> Option<OnUpgrade> {
        self.headers.get(http::header::UPGRADE)?;
        self.upgrade.lock().take()
    }

    /// The owner of written fields when the caller names none: the first word of the user agent.
    pub(crate) fn manager_or_agent(&self, manager: &str) -> String {
        if !manager.is_empty() {
            return manager.to_owned();
        }
        let agent = self.headers.get(http::header::USER_AGENT).map_or(&b""[..], http::HeaderValue::as_bytes);
        manager_of_agent(&String::from_utf8_lossy(agent))
    }
}

/// The longest field manager taken from a user agent, in bytes.
const MANAGER_MAX_LENGTH: usize = 128;

fn manager_of_agent(agent: &str) -> String {
    let word = agent.split('/').next().unwrap_or_default();
    let mut manager = String::new();
    for character in word.chars().filter(|character| is_printable(*character) || "\"'\\".contains(*character)) {
        if manager.len() + character.len_utf8() > MANAGER_MAX_LENGTH {
            break;
        }
        manager.push(character);
    }
    manager
}

/// Warnings that a request has collected, each once.
#[derive(Default)]
pub(crate) struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    /// Adds a warning unless it was already given.
    pub(crate) fn add(&self, text: impl Into<String>) {
        let text = text.into();
        let mut warnings = self.0.lock();
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// Adds several warnings.
    pub(crate) fn extend(&self, texts: impl IntoIterator<Item = String>) {
        for text in texts {
            self.add(text);
        }
    }

    /// All warnings so far, cut so that they fit into the headers of an answer.
    pub(crate) fn take(&self) -> Vec<String> {
        fit(std::mem::take(&mut *self.0.lock()))
    }
}

/// How many characters all warnings of an answer have together before each is cut; stock's limit.
const WARNINGS_MAX_CHARACTERS: usize = 4 * 1024;
/// What each is cut to then.
const CUT_WARNING_CHARACTERS: usize = 256;

/// Cuts warnings that are too long together, and drops those that come after even the cut ones are too long.
fn fit(warnings: Vec<String>) -> Vec<String> {
    let shown = |text: &str| if text.contains(char::is_control) { 0 } else { text.chars().count() };
    let total: usize = warnings.iter().map(|text| shown(text)).sum();
    if total <= WARNINGS_MAX_CHARACTERS {
        return warnings;
    }
    // Stock cuts when the limit is first passed. What it had by then stays, however long.
    let (mut whole, mut before) = (0, 0);
    for text in &warnings {
        whole += 1;
        before += shown(text);
        if before > WARNINGS_MAX_CHARACTERS {
            break;
        }
    }
    let mut written = 0;
    let mut kept = Vec::with_capacity(whole);
    for (index, text) in warnings.into_iter().enumerate() {
        if index >= whole && written >= WARNINGS_MAX_CHARACTERS {
            break;
        }
        let cut: String = text.chars().take(CUT_WARNING_CHARACTERS).collect();
        written += shown(&cut);
        kept.push(cut);
    }
    kept
}

/// Annotations for the audit log, each key once.
#[derive(Default)]
pub(crate) struct Annotations(Mutex<BTreeMap<String, String>>);

impl Annotations {
    /// Adds an annotation; the first one with a key stays.
    pub(crate) fn add(&self, key: impl Into<String>, value: impl Into<String>) {
        self.0.lock().entry(key.into()).or_insert_with(|| value.into());
    }

    /// All annotations so far.
    pub(crate) fn take(&self) -> BTreeMap<String, String> {
        std::mem::take(&mut *self.0.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_cut_only_where_they_are_too_long_together() {
        let some: Vec<String> = (0..4).map(|n| n.to_string().repeat(1000)).collect();
        assert_eq!(fit(some.clone()), some);
        let many: Vec<String> = (10..40).map(|n| n.to_string().repeat(500)).collect();
        let fitting = fit(many);
        assert_eq!(fitting.len(), 16);
        assert!(fitting.iter().all(|text| text.len() == CUT_WARNING_CHARACTERS));
    }
}
