//! The token and user-data Secrets of a pool: which there should be, which go, and which tokens are good. Pure.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::{SignedDuration, Timestamp};
use roost_api::hypershift::names::annotation::NODE_POOL;
use roost_ignition::{Pointer, hash::ContentHash, user_data};
use roost_pki::Secret;
use serde_json::{Map, Value, json};

use super::dereference::{Observed, secret_text};
use super::validate::Wanted;
use crate::enrolment::REACHED;
use crate::machine::pool_label;
use crate::names::POOL_LABEL;
use crate::object::{Kind, Reference, annotation, has_all};

/// How long a token is good.
const LIFE: SignedDuration = SignedDuration::from_hours(11);
/// When it is replaced. The one before stays good until the next replacement.
const ROTATION: SignedDuration = SignedDuration::from_mins(11 * 60 / 2);
/// How long the token of an outdated configuration is still good: machines may be booting with it.
const OUTDATED: SignedDuration = SignedDuration::from_hours(2);

const IGNITION_CONFIG: &str = "hypershift.openshift.io/ignition-config";
const UPGRADE_TYPE: &str = "hypershift.openshift.io/node-pool-upgrade-type";
const GENERATED_AT: &str = "hypershift.openshift.io/last-token-generation-time";
const EXPIRATION: &str = "hypershift.openshift.io/ignition-token-expiration-timestamp";

/// What to write and remove, and what holds then.
pub(crate) struct Plan {
    pub(crate) apply: Vec<Value>,
    pub(crate) delete: Vec<Reference>,
    pub(crate) token_secret: String,
    pub(crate) user_data_secret: String,
    /// Tokens and until when each is good.
    pub(crate) tokens: Vec<(Secret<String>, Timestamp)>,
    /// Whether a host fetched with the current token.
    pub(crate) is_reached: bool,
    /// When something has to be done again.
    pub(crate) next: Timestamp,
}

/// Plans a pool's Secrets. `fresh` is a token that nobody has yet.
pub(crate) fn plan(observed: &Observed, wanted: &Wanted, fresh: &str, now: Timestamp) -> Plan {
    let name = observed.pool["metadata"]["name"].as_str().unwrap_or_default();
    let token_secret = format!("token-{name}-{}", wanted.hash);
    let user_data_secret = format!("user-data-{name}-{}", wanted.hash);
    let find = |name: &str| observed.secrets.iter().find(|secret| secret["metadata"]["name"] == name);
    let mut plan = Plan {
        apply: Vec::new(),
        delete: Vec::new(),
        is_reached: find(&token_secret).is_some_and(|secret| annotation(secret, REACHED) == "True"),
        token_secret,
        user_data_secret,
        tokens: Vec::new(),
        next: now,
    };
    let live = find(&plan.token_secret);
    let current = Current::of(live, fresh, now);
    plan.next = current.generated.saturating_add(ROTATION).unwrap_or(now);
    let until = current.generated.saturating_add(LIFE).unwrap_or(now);
    plan.tokens.push((Secret::new(current.token.clone()), until));
    if let Some(old) = &current.old_token {
        plan.tokens.push((Secret::new(old.clone()), plan.next));
    }
    let document = token_document(observed, wanted, &plan.token_secret, &current);
    let is_expiring = live.is_some_and(|live| !annotation(live, EXPIRATION).is_empty());
    if is_expiring || !live.is_some_and(|live| has_all(live, &document)) {
        plan.apply.push(document);
    }
    let document = user_data_document(observed, wanted, &plan.user_data_secret, &current.token);
    if !find(&plan.user_data_secret).is_some_and(|live| has_all(live, &document)) {
        plan.apply.push(document);
    }
    for secret in &observed.secrets {
        outdated(secret, &mut plan, now);
    }
    plan
}

/// A Secret of an earlier configuration: its token is good for a while, its user-data no longer given to anybody.
fn outdated(secret: &Value, plan: &mut Plan, now: Timestamp) {
    let name = secret["metadata"]["name"].as_str().unwrap_or_default();
    if name == plan.token_secret || name == plan.user_data_secret {
        return;
    }
    let reference = Reference::of(secret);
    if !name.starts_with("token-") {
        plan.delete.push(reference);
        return;
    }
    let expiration: Option<Timestamp> = annotation(secret, EXPIRATION).parse().ok();
    if expiration.is_some_and(|expiration| expiration <= now) {
        plan.delete.push(reference);
        return;
    }
    let until = expiration.unwrap_or_else(|| now.saturating_add(OUTDATED).unwrap_or(now));
    if expiration.is_none() {
        plan.apply.push(json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": name, "namespace": secret["metadata"]["namespace"],
                "labels": secret["metadata"]["labels"],
                "annotations": with(&secret["metadata"]["annotations"], EXPIRATION, &until.to_string()),
            },
            "data": secret["data"],
        }));
    }
    plan.next = plan.next.min(until);
    for key in ["token", "old_token"] {
        plan.tokens.extend(secret_text(Some(secret), key).map(|token| (Secret::new(token), until)));
    }
}

/// All annotations but those of others' tools, and one more.
fn with(annotations: &Value, name: &str, value: &str) -> Value {
    let mut all = Map::new();
    for (key, value) in annotations.as_object().into_iter().flatten() {
        if key.starts_with("hypershift.openshift.io/") {
            all.insert(key.clone(), value.clone());
        }
    }
    all.insert(name.to_owned(), value.into());
    all.into()
}

/// The token as it should be.
struct Current {
    token: String,
    old_token: Option<String>,
    generated: Timestamp,
}

impl Current {
    fn of(live: Option<&Value>, fresh: &str, now: Timestamp) -> Self {
        let new = Self { token: fresh.to_owned(), old_token: None, generated: now };
        let token = secret_text(live, "token").filter(|token| !token.is_empty());
        let generated = live.and_then(|live| annotation(live, GENERATED_AT).parse::<Timestamp>().ok());
        let (Some(token), Some(generated)) = (token, generated) else { return new };
        let age = now.duration_since(generated);
        if age >= LIFE || age < SignedDuration::ZERO - SignedDuration::from_hours(1) {
            new
        } else if age >= ROTATION {
            Self { old_token: Some(token), ..new }
        } else {
            Self { token, old_token: secret_text(live, "old_token"), generated }
        }
    }
}

fn metadata(observed: &Observed, name: &str) -> Value {
    let text = |field: &str| observed.pool["metadata"][field].as_str().unwrap_or_default();
    json!({
        "name": name, "namespace": observed.namespace,
        "labels": {(POOL_LABEL): pool_label(text("namespace"), text("name"))},
        "annotations": {(NODE_POOL): format!("{}/{}", text("namespace"), text("name"))},
    })
}

/// What the token Secret of a configuration says of it; the token itself is none.
pub(super) fn token_document_of(observed: &Observed, wanted: &Wanted) -> Value {
    let current = Current { token: String::new(), old_token: None, generated: Timestamp::UNIX_EPOCH };
    token_document(observed, wanted, "", &current)
}

fn token_document(observed: &Observed, wanted: &Wanted, name: &str, current: &Current) -> Value {
    let mut metadata = metadata(observed, name);
    let annotations = &mut metadata["annotations"];
    annotations[IGNITION_CONFIG] = json!("true");
    annotations[UPGRADE_TYPE] = observed.pool["spec"]["management"]["upgradeType"].clone();
    annotations[GENERATED_AT] = json!(current.generated.to_string());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let digest = |value: &Value| ContentHash::of_value(value).to_string();
    let cluster = observed.cluster.as_ref().map_or(&Value::Null, |cluster| &cluster["spec"]);
    let data_of = |secret: &Option<Value>| secret.as_ref().map_or(Value::Null, |secret| secret["data"].clone());
    let mut data = vec![
        ("token", current.token.clone()),
        ("release", text(&observed.pool["spec"]["release"]["image"])),
        ("release-version", wanted.version.clone()),
        ("config", compressed(&wanted.raw_config)),
        ("pull-secret-hash", digest(&data_of(&observed.pull_secret))),
        ("additional-trust-bundle-hash", digest(&data_of(&observed.trust_bundle))),
        ("hc-configuration-hash", digest(&cluster["configuration"])),
        ("os-stream", String::new()),
    ];
    data.extend(current.old_token.clone().map(|token| ("old_token", token)));
    secret(&metadata, data)
}

fn user_data_document(observed: &Observed, wanted: &Wanted, name: &str, token: &str) -> Value {
    let text = |field: &str| observed.pool["metadata"][field].as_str().unwrap_or_default();
    let pointer = Pointer {
        endpoint: wanted.endpoint.clone(),
        address: None,
        certificate_authority: wanted.ignition_trust.clone(),
        token: Secret::new(token.to_owned()),
        node_pool: format!("{}/{}", text("namespace"), text("name")),
        config_hash: wanted.hash.clone(),
        proxy: wanted.proxy.clone(),
        agent: None,
    };
    let value = String::from_utf8(user_data(&pointer).to_bytes()).unwrap_or_default();
    secret(&metadata(observed, name), vec![("value", value), ("disableTemplating", STANDARD.encode("true"))])
}

fn secret(metadata: &Value, data: Vec<(&'static str, String)>) -> Value {
    let data: Map<String, Value> =
        data.into_iter().map(|(key, text)| (key.to_owned(), STANDARD.encode(text).into())).collect();
    json!({"apiVersion": "v1", "kind": Kind::Secret.name(), "metadata": metadata, "data": data})
}

/// As upstream keeps it: compressed, then as text.
fn compressed(text: &str) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(text.as_bytes());
    let bytes = encoder.finish().unwrap_or_default();
    if written.is_ok() { STANDARD.encode(bytes) } else { String::new() }
}
