//! Token requests: `POST …/serviceaccounts/<name>/token`.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use roost_object::field::{Error as FieldError, Path, quote};
use roost_object::{GroupKind, GroupResource, Status};
use roost_pki::Secret;
use serde_json::{Value, json};

use super::bound::BoundClaims;
use super::claims::{ObjectReference, StandardClaims};
use super::issue::TokenIssuer;
use crate::user::service_account_name;

/// What a kubelet asks for when a pod gets its token. Tokens of that lifetime live longer, so that programs that do not
/// read them again keep working, and their late uses are reported.
const WARN_ONLY_SECONDS: i64 = 3607;
const SHORTEST_SECONDS: i64 = 600;
const LONGEST_SECONDS: i64 = 1 << 32;
const DEFAULT_SECONDS: i64 = 3600;

/// How the server makes tokens.
#[derive(Clone, Debug)]
pub struct TokenRequestSettings {
    /// The audiences of the API server, for requests that name none.
    pub audiences: Vec<String>,
    /// The longest lifetime in seconds; none for no limit.
    pub longest_seconds: Option<i64>,
    /// The real lifetime of tokens for pods that asked for the usual one; none to keep what was asked for.
    pub extended_seconds: Option<i64>,
}

impl TokenRequestSettings {
    /// What the stock server does without flags: no limit, a year for tokens of pods.
    pub fn new(audiences: Vec<String>) -> Self {
        Self { audiences, longest_seconds: None, extended_seconds: Some(365 * 24 * 3600) }
    }
}

/// The object that a token shall be bound to. The caller reads it and hands it to [`TokenRequest::issue`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoundReference {
    /// A pod of the account's namespace.
    Pod(String),
    /// A node.
    Node(String),
    /// A secret of the account's namespace.
    Secret(String),
}

/// A checked request.
#[derive(Clone, Debug)]
pub struct TokenRequest {
    object: Value,
    account: Arc<Value>,
    bound: Option<BoundReference>,
    audiences: Vec<String>,
    seconds: i64,
    warnings: Vec<String>,
}

/// A token and the answer that carries it.
#[derive(Clone, Debug)]
pub struct IssuedToken {
    /// The `TokenRequest` object with its status. It holds the token.
    pub answer: Secret<Value>,
    /// Warnings for the response.
    pub warnings: Vec<String>,
    /// The credential id, for the audit annotation `authentication.kubernetes.io/issued-credential-id`.
    pub credential_id: String,
}

fn kind() -> GroupKind {
    GroupKind::new("authentication.k8s.io", "TokenRequest")
}

impl TokenRequest {
    /// Checks that a request's body does not name another account than its URL: before the account is looked for.
    pub fn check_name(object: &Value, namespace: &str, name: &str) -> Result<(), Status> {
        for (field, expected) in [("name", name), ("namespace", namespace)] {
            let given = object["metadata"][field].as_str().unwrap_or_default();
            if !given.is_empty() && given != expected {
                let words = format!("must match the service account {field} if specified");
                let metadata = Path::new("metadata");
                let error = FieldError::invalid(&metadata.child(field), given, words);
                return Err(Status::invalid(&kind(), name, &[error]));
            }
        }
        Ok(())
    }

    /// Checks a request's body against its URL and the account, and fills in what it leaves open.
    pub fn new(
        mut object: Value,
        namespace: &str,
        name: &str,
        account: Arc<Value>,
        settings: &TokenRequestSettings,
        now: Timestamp,
    ) -> Result<Self, Status> {
        if !object.is_object() {
            object = json!({});
        }
        for part in ["metadata", "spec"] {
            if !object[part].is_object() {
                object[part] = json!({});
            }
        }
        Self::check_name(&object, namespace, name)?;
        let uid = account["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let given = object["metadata"]["uid"].as_str().unwrap_or_default();
        if !given.is_empty() && given != uid {
            let resource = GroupResource::new("authentication.k8s.io", "TokenRequest");
            let words =
                format!("the UID in the token request ({given}) does not match the UID of the service account ({uid})");
            return Err(Status::conflict(&resource, name, &words));
        }
        let texts = object["spec"]["audiences"].as_array();
        let mut audiences: Vec<String> =
            texts.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        if audiences.is_empty() {
            audiences.clone_from(&settings.audiences);
        }
        let mut seconds = object["spec"]["expirationSeconds"].as_i64().unwrap_or(DEFAULT_SECONDS);
        check_lifetime(seconds)?;
        let bound = read_bound(&object["spec"]["boundObjectRef"])?;
        let mut warnings = Vec::new();
        if let Some(longest) = settings.longest_seconds.filter(|longest| *longest > 0 && seconds > *longest) {
            warnings.push(format!("requested expiration of {seconds} seconds shortened to {longest} seconds"));
            seconds = longest;
        }
        object["metadata"]["name"] = json!(name);
        object["metadata"]["namespace"] = json!(namespace);
        object["metadata"]["uid"] = json!(uid);
        object["metadata"]["creationTimestamp"] = json!(whole_seconds(now).to_string());
        object["spec"]["audiences"] = json!(audiences);
        object["spec"]["expirationSeconds"] = json!(seconds);
        if object["spec"].get("boundObjectRef").is_none() {
            object["spec"]["boundObjectRef"] = Value::Null;
        }
        Ok(Self { object, account, bound, audiences, seconds, warnings })
    }

    /// What the token shall be bound to.
    pub fn bound(&self) -> Option<&BoundReference> {
        self.bound.as_ref()
    }

    /// The node of the pod that the token shall be bound to.
    pub fn node_of(pod: &Value) -> Option<&str> {
        pod["spec"]["nodeName"].as_str().filter(|name| !name.is_empty())
    }

    /// Makes the token. `target` is the object of [`TokenRequest::bound`]; `pod_node` the node of that pod, when there
    /// is one and it exists. `id` is a new UUID.
    pub fn issue(
        mut self,
        issuer: &TokenIssuer,
        settings: &TokenRequestSettings,
        target: Option<&Value>,
        pod_node: Option<&Value>,
        id: String,
        now: Timestamp,
    ) -> Result<IssuedToken, Status> {
        let text = |field: &str| self.account["metadata"][field].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text("namespace"), text("name"));
        let second = now.as_second();
        let mut claims = BoundClaims { service_account: ObjectReference::of(&self.account), ..BoundClaims::default() };
        if let Some(bound) = &self.bound {
            let target = target.unwrap_or(&Value::Null);
            let reference = ObjectReference::of(target);
            let asked = self.object["spec"]["boundObjectRef"]["uid"].as_str().unwrap_or_default();
            let (kind, asked_name) = match bound {
                BoundReference::Pod(asked_name) => {
                    if target["spec"]["serviceAccountName"].as_str() != Some(&name) {
                        return Err(Status::bad_request(format!(
                            "cannot bind token for serviceaccount {} to pod running with different serviceaccount name.",
                            quote(&name)
                        )));
                    }
                    claims.pod = Some(reference.clone());
                    claims.node = Self::node_of(target).map(|node| {
                        let known = pod_node.map(ObjectReference::of);
                        known.unwrap_or_else(|| ObjectReference { name: node.to_owned(), uid: String::new() })
                    });
                    ("Pod", asked_name)
                }
                BoundReference::Node(asked_name) => {
                    claims.node = Some(reference.clone());
                    ("Node", asked_name)
                }
                BoundReference::Secret(asked_name) => {
                    claims.secret = Some(reference.clone());
                    ("Secret", asked_name)
                }
            };
            if !asked.is_empty() && asked != reference.uid {
                let words = format!(
                    "the UID in the bound object reference ({asked}) does not match the UID in record. The object might \
                     have been deleted and then recreated"
                );
                return Err(Status::conflict(&GroupResource::new("", kind), asked_name, &words));
            }
        }
        let mut lifetime = self.seconds;
        let is_for_server = self.audiences.iter().all(|audience| settings.audiences.contains(audience));
        if let Some(extended) = settings.extended_seconds
            && claims.pod.is_some()
            && lifetime == WARN_ONLY_SECONDS
            && is_for_server
        {
            claims.warn_after = Some(second.saturating_add(lifetime));
            lifetime = extended;
        }
        claims.standard = StandardClaims {
            issuer: String::new(),
            subject: service_account_name(&namespace, &name),
            audiences: std::mem::take(&mut self.audiences),
            expires_at: Some(second.saturating_add(lifetime)),
            not_before: Some(second),
            issued_at: Some(second),
            id,
        };
        claims.namespace = namespace;
        let token =
            issuer.mint(&claims).map_err(|error| Status::internal(format!("failed to generate token: {error}")))?;
        let end = whole_seconds(now).checked_add(SignedDuration::from_secs(self.seconds)).unwrap_or(Timestamp::MAX);
        self.object["status"] = json!({"token": token.expose(), "expirationTimestamp": end.to_string()});
        Ok(IssuedToken {
            answer: Secret::new(self.object),
            warnings: self.warnings,
            credential_id: format!("JTI={}", claims.standard.id),
        })
    }
}

fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

fn check_lifetime(seconds: i64) -> Result<(), Status> {
    let spec = Path::new("spec");
    let path = spec.child("expirationSeconds");
    let words = if seconds < SHORTEST_SECONDS {
        "may not specify a duration less than 10 minutes"
    } else if seconds > LONGEST_SECONDS {
        "may not specify a duration larger than 2^32 seconds"
    } else {
        return Ok(());
    };
    Err(Status::invalid(&kind(), "", &[FieldError::invalid(&path, seconds, words)]))
}

fn read_bound(reference: &Value) -> Result<Option<BoundReference>, Status> {
    if !reference.is_object() {
        return Ok(None);
    }
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let api_version = text("apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let name = text("name").to_owned();
    match (group, text("kind")) {
        ("", "Pod") => Ok(Some(BoundReference::Pod(name))),
        ("", "Node") => Ok(Some(BoundReference::Node(name))),
        ("", "Secret") => Ok(Some(BoundReference::Secret(name))),
        (group, kind) => {
            let words = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            Err(Status::bad_request(words))
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use roost_pki::PrivateKey;

    use super::*;

    fn now() -> Timestamp {
        "2026-11-01T12:00:00.5Z".parse().unwrap()
    }

    fn account() -> Arc<Value> {
        Arc::new(json!({"metadata": {"name": "bot", "namespace": "ns", "uid": "u1"}}))
    }

    fn settings() -> TokenRequestSettings {
        TokenRequestSettings::new(vec!["api".into()])
    }

    fn payload(answer: &Value) -> Value {
        let token = answer["status"]["token"].as_str().unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn an_open_request_is_filled_in() {
        let issuer = TokenIssuer::new("iss", PrivateKey::generate().unwrap());
        let request = TokenRequest::new(json!({}), "ns", "bot", account(), &settings(), now()).unwrap();
        let issued = request.issue(&issuer, &settings(), None, None, "id".into(), now()).unwrap();
        let answer = issued.answer.expose();
        assert_eq!(answer["spec"], json!({"audiences": ["api"], "expirationSeconds": 3600, "boundObjectRef": null}));
        assert_eq!(answer["status"]["expirationTimestamp"], "2026-11-01T13:00:00Z");
        assert_eq!(answer["metadata"]["creationTimestamp"], "2026-11-01T12:00:00Z");
        assert_eq!(
            payload(answer)["kubernetes.io"],
            json!({"namespace": "ns", "serviceaccount": {"name": "bot", "uid": "u1"}})
        );
        assert_eq!(issued.credential_id, "JTI=id");
        assert!(!format!("{issued:?}").contains("ey"));
    }

    #[test]
    fn tokens_of_pods_live_longer_and_carry_the_node() {
        let issuer = TokenIssuer::new("iss", PrivateKey::generate().unwrap());
        let body = json!({"spec": {"expirationSeconds": 3607, "audiences": ["api"],
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u2"}}});
        let pod =
            json!({"metadata": {"name": "p", "uid": "u2"}, "spec": {"serviceAccountName": "bot", "nodeName": "n"}});
        let request = || TokenRequest::new(body.clone(), "ns", "bot", account(), &settings(), now()).unwrap();
        assert_eq!(request().bound(), Some(&BoundReference::Pod("p".into())));
        let issued = request().issue(&issuer, &settings(), Some(&pod), None, "id".into(), now()).unwrap();
        let claims = payload(issued.answer.expose());
        assert_eq!(claims["exp"].as_i64().unwrap() - now().as_second(), 365 * 24 * 3600);
        assert_eq!(claims["kubernetes.io"]["warnafter"].as_i64().unwrap() - now().as_second(), 3607);
        assert_eq!(claims["kubernetes.io"]["node"], json!({"name": "n"}));
        let mut other = pod.clone();
        other["metadata"]["uid"] = json!("new");
        let refused = request().issue(&issuer, &settings(), Some(&other), None, "id".into(), now()).unwrap_err();
        assert_eq!(
            refused.message,
            "Operation cannot be fulfilled on Pod \"p\": the UID in the bound object reference (u2) does not match the \
             UID in record. The object might have been deleted and then recreated"
        );
        other["spec"]["serviceAccountName"] = json!("x");
        let refused = request().issue(&issuer, &settings(), Some(&other), None, "id".into(), now()).unwrap_err();
        assert_eq!(
            refused.message,
            "cannot bind token for serviceaccount \"bot\" to pod running with different serviceaccount name."
        );
    }

    #[test]
    fn bad_requests_are_refused_in_stock_words() {
        let cases = [
            (
                json!({"metadata": {"name": "x"}}),
                "TokenRequest.authentication.k8s.io \"bot\" is invalid: metadata.name: Invalid value: \"x\": must match the \
                 service account name if specified",
            ),
            (
                json!({"metadata": {"uid": "x"}}),
                "Operation cannot be fulfilled on TokenRequest.authentication.k8s.io \"bot\": the UID in the token request \
                 (x) does not match the UID of the service account (u1)",
            ),
            (
                json!({"spec": {"expirationSeconds": 5}}),
                "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 5: may not \
                 specify a duration less than 10 minutes",
            ),
            (
                json!({"spec": {"boundObjectRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}}}),
                "cannot bind token to object of type apps/v1, Kind=Deployment",
            ),
        ];
        for odd in [json!(null), json!("x"), json!({"metadata": "x", "spec": [1]})] {
            assert!(TokenRequest::new(odd, "ns", "bot", account(), &settings(), now()).is_ok());
        }
        for (body, message) in cases {
            let refused = TokenRequest::new(body, "ns", "bot", account(), &settings(), now()).unwrap_err();
            assert_eq!(refused.message, message);
        }
    }
}
