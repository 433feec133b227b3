//! Asking for a certificate: a signing request, and the wait for its answer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use roost_pki::{AlternativeName, Certificate, CertificateRequest, PrivateKey, Subject};
use serde_json::{Value, json};

use crate::client::{Client, ClientError};
use crate::identity::Identity;
use crate::retry::Backoff;
use crate::timing;
use crate::watch::Change;

const PATH: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificateError {
    #[error("the signing request could not be made")]
    Make(#[from] roost_pki::Error),
    #[error("the signing request could not be sent: {0}")]
    Send(#[from] ClientError),
    #[error("the signing request {name} was denied: {message}")]
    Denied { name: String, message: String },
    #[error("the signing request {name} failed: {message}")]
    Failed { name: String, message: String },
    #[error("the signing request {0} was removed before it was answered")]
    Removed(String),
    #[error(
        "the signing request {0} was not answered in time; a person may approve it with: kubectl certificate approve {0}"
    )]
    Unanswered(String),
    #[error("the certificate of {name} is no use")]
    Useless { name: String, source: roost_pki::Error },
}

/// What a certificate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To be somebody at the API.
    Client,
    /// To be called.
    Serving,
}

impl Purpose {
    fn signer(self) -> &'static str {
        match self {
            Self::Client => "kubernetes.io/kube-apiserver-client-kubelet",
            Self::Serving => "kubernetes.io/kubelet-serving",
        }
    }

    fn usages(self) -> [&'static str; 2] {
        match self {
            Self::Client => ["digital signature", "client auth"],
            Self::Serving => ["digital signature", "server auth"],
        }
    }
}

/// A step on the way to a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Requested,
    Approved,
}

/// Asks for a certificate for a new key and waits for it.
pub(crate) async fn obtain(
    client: &Client,
    purpose: Purpose,
    node: &str,
    names: &[AlternativeName],
    told: impl Fn(Step),
) -> Result<Identity, CertificateError> {
    let key = PrivateKey::generate()?;
    let subject = Subject::new(format!("system:node:{node}"), ["system:nodes"]);
    let request = CertificateRequest::new(&subject, names, &key)?;
    let created = client.create(PATH, &object(purpose, &request)).await?;
    told(Step::Requested);
    let name = created["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let wait = wait(client, &name, created, told);
    let answer = tokio::time::timeout(timing::REQUEST_PATIENCE, wait).await;
    let pem = answer.map_err(|_| CertificateError::Unanswered(name.clone()))??;
    let useless = |source| CertificateError::Useless { name: name.clone(), source };
    let certificate = Certificate::from_pem(&pem).map_err(useless)?;
    Identity::new(&key, certificate).map_err(useless)
}

fn object(purpose: Purpose, request: &CertificateRequest) -> Value {
    json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"generateName": "csr-"},
        "spec": {
            "request": STANDARD.encode(request.to_pem()),
            "signerName": purpose.signer(),
            "usages": purpose.usages(),
        },
    })
}

async fn wait(client: &Client, name: &str, created: Value, told: impl Fn(Step)) -> Result<String, CertificateError> {
    let mut backoff = Backoff::new(timing::RETRY, timing::LONGEST_RETRY);
    let mut state = created;
    loop {
        if let Some(certificate) = judge(name, &state, &told)? {
            return Ok(certificate);
        }
        match follow(client, name, &state, &told).await {
            Ok(Some(certificate)) => return Ok(certificate),
            Ok(None) => {}
            Err(CertificateError::Send(error)) if !matches!(error, ClientError::Refused { .. }) => {
                tracing::debug!(%error, name, "the wait for a certificate is begun anew");
            }
            Err(error) => return Err(error),
        }
        state = loop {
            match client.get(&format!("{PATH}/{name}")).await {
                Ok(state) => break state,
                Err(error) if error.is(StatusCode::NOT_FOUND) => {
                    return Err(CertificateError::Removed(name.to_owned()));
                }
                Err(error @ ClientError::Refused { .. }) => return Err(error.into()),
                Err(_) => backoff.wait().await,
            }
        };
    }
}

/// Watches a request from a state on; none when the watch ended first.
async fn follow(
    client: &Client,
    name: &str,
    state: &Value,
    told: &impl Fn(Step),
) -> Result<Option<String>, CertificateError> {
    let version = state["metadata"]["resourceVersion"].as_str().unwrap_or("0");
    let seconds = timing::WATCH.as_secs();
    let target = format!(
        "{PATH}?watch=true&fieldSelector=metadata.name%3D{name}&resourceVersion={version}&timeoutSeconds={seconds}"
    );
    let mut watch = match client.watch(&target).await {
        Err(error) if error.is_expired() => return Ok(None),
        watch => watch?,
    };
    loop {
        let event = match watch.next().await {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(None),
            Err(error) if error.is_expired() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if event.change == Change::Deleted {
            return Err(CertificateError::Removed(name.to_owned()));
        }
        if let Some(certificate) = judge(name, &event.object, told)? {
            return Ok(Some(certificate));
        }
    }
}

/// The certificate of a request, when it is there.
fn judge(name: &str, state: &Value, told: &impl Fn(Step)) -> Result<Option<String>, CertificateError> {
    let conditions = state["status"]["conditions"].as_array();
    let condition = |kind: &str| conditions.into_iter().flatten().find(|condition| condition["type"] == kind);
    let message = |condition: &Value| {
        let of = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        if of("message").is_empty() { of("reason") } else { of("message") }
    };
    if let Some(denied) = condition("Denied") {
        return Err(CertificateError::Denied { name: name.to_owned(), message: message(denied) });
    }
    if let Some(failed) = condition("Failed") {
        return Err(CertificateError::Failed { name: name.to_owned(), message: message(failed) });
    }
    if condition("Approved").is_none() {
        return Ok(None);
    }
    told(Step::Approved);
    let certificate = state["status"]["certificate"].as_str().and_then(|data| STANDARD.decode(data).ok());
    Ok(certificate.and_then(|pem| String::from_utf8(pem).ok()).filter(|pem| !pem.is_empty()))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::json;

    use super::{CertificateError, Step, judge};

    #[test]
    fn a_request_is_judged_by_its_conditions() {
        let told = RefCell::new(Vec::new());
        let tell = |step| told.borrow_mut().push(step);
        assert_eq!(judge("a", &json!({}), &tell).unwrap(), None);
        let approved = json!({"status": {"conditions": [{"type": "Approved", "status": "True"}]}});
        assert_eq!(judge("a", &approved, &tell).unwrap(), None);
        let issued = json!({"status": {"conditions": [{"type": "Approved"}], "certificate": "UEVN"}});
        assert_eq!(judge("a", &issued, &tell).unwrap().as_deref(), Some("PEM"));
        assert_eq!(*told.borrow(), [Step::Approved, Step::Approved]);
        let denied = json!({"status": {"conditions": [{"type": "Denied", "reason": "No", "message": "not you"}]}});
        let error = judge("a", &denied, &tell).unwrap_err();
        assert_eq!(error.to_string(), "the signing request a was denied: not you");
        let failed = json!({"status": {"conditions": [{"type": "Failed", "reason": "Why"}]}});
        assert!(matches!(judge("a", &failed, &tell), Err(CertificateError::Failed { .. })));
    }
}
