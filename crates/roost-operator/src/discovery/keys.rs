//! What the discovery service signs tokens with, and what it shows to hosts: two Secrets in the operator's namespace.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use roost_discovery::Signer;
use roost_pki::{CertificateAuthority, PrivateKey, Secret};
use serde_json::{Value, json};

use crate::context::ReconcileError;
use crate::install::NAMESPACE;
use crate::object::{Kind, Objects, annotation};

/// The keys that tokens are signed with. Upstream's name.
const SIGNING_SECRET: &str = "assisted-servicelocal-auth";
/// Who vouches for the service's certificate.
const AUTHORITY_SECRET: &str = "assisted-service-ca";
/// When the newest key was made.
const GENERATED_AT: &str = "roost.dev/generated-at";
/// How long a key signs. It is known for as long again, which is longer than any token is good.
const SIGNING_LIFE: SignedDuration = SignedDuration::from_hours(60 * 24);
const AUTHORITY_LIFE: SignedDuration = SignedDuration::from_hours(10 * 365 * 24);
const SERVING_LIFE: SignedDuration = SignedDuration::from_hours(365 * 24);

const KEY: &str = "ec-private-key.pem";
const PUBLIC_KEY: &str = "ec-public-key.pem";
const EARLIER_KEY: &str = "ec-private-key-earlier.pem";

/// What the service shows.
#[derive(Clone)]
pub(crate) struct Serving {
    /// Who vouches for it.
    pub(crate) authority: String,
    pub(crate) certificate: String,
    pub(crate) key: Secret<String>,
    /// When it has to be replaced.
    pub(crate) renewal: Timestamp,
}

fn text(secret: &Value, key: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(secret["data"][key].as_str()?).ok()?).ok()
}

fn failed(error: &roost_pki::Error) -> ReconcileError {
    ReconcileError::Refused(format!("the keys of the discovery service could not be made: {error}"))
}

/// The keys for tokens: those that there are, or new ones.
pub(crate) async fn signer(objects: &Objects, now: Timestamp) -> Result<(Signer, Timestamp), ReconcileError> {
    let live = objects.find(Kind::Secret, NAMESPACE, SIGNING_SECRET).await?;
    let generated: Option<Timestamp> = live.as_ref().and_then(|live| annotation(live, GENERATED_AT).parse().ok());
    let read = |key: &str| PrivateKey::from_pem(&text(live.as_ref()?, key)?).ok();
    let current = read(KEY);
    if let (Some(current), Some(generated)) = (current, generated) {
        let renewal = generated.saturating_add(SIGNING_LIFE).unwrap_or(now);
        if renewal > now {
            return Ok((Signer::new([Some(current), read(EARLIER_KEY)].into_iter().flatten().collect()), renewal));
        }
    }
    let fresh = PrivateKey::generate().map_err(|error| failed(&error))?;
    let pem = fresh.to_pkcs8_pem().map_err(|error| failed(&error))?;
    let mut data = json!({
        (KEY): STANDARD.encode(pem.expose()),
        (PUBLIC_KEY): STANDARD.encode(fresh.public_key().to_pem()),
    });
    if let Some(earlier) = live.as_ref().and_then(|live| text(live, KEY)) {
        data[EARLIER_KEY] = json!(STANDARD.encode(earlier));
    }
    let document = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": SIGNING_SECRET, "namespace": NAMESPACE, "annotations": {(GENERATED_AT): now.to_string()}},
        "data": data,
    });
    objects.apply(&document).await?;
    let renewal = now.saturating_add(SIGNING_LIFE).unwrap_or(now);
    Ok((Signer::new([Some(fresh), read(KEY)].into_iter().flatten().collect()), renewal))
}

/// What the service shows on an address.
pub(crate) async fn serving(objects: &Objects, host: &str, now: Timestamp) -> Result<Serving, ReconcileError> {
    let live = objects.find(Kind::Secret, NAMESPACE, AUTHORITY_SECRET).await?;
    let known = live.as_ref().and_then(|live| {
        let (certificate, key) = (text(live, "tls.crt")?, text(live, "tls.key")?);
        CertificateAuthority::from_pem(&certificate, &Secret::new(key)).ok()
    });
    let soon = now.saturating_add(SERVING_LIFE).unwrap_or(now);
    let authority = match known.filter(|known| known.certificate().not_after() > soon) {
        Some(known) => known,
        None => make_authority(objects, now).await?,
    };
    let names = [host, "assisted-service", "assisted-service.hypershift.svc", "localhost"];
    let issued =
        authority.issue_server("assisted-service", &names, now, SERVING_LIFE).map_err(|error| failed(&error))?;
    Ok(Serving {
        authority: authority.certificate().to_pem(),
        certificate: issued.certificate.to_pem(),
        key: issued.key_pem().map_err(|error| failed(&error))?,
        renewal: now.saturating_add(SERVING_LIFE / 2).unwrap_or(now),
    })
}

async fn make_authority(objects: &Objects, now: Timestamp) -> Result<CertificateAuthority, ReconcileError> {
    let made = CertificateAuthority::new("assisted-service-ca", now, AUTHORITY_LIFE).map_err(|error| failed(&error))?;
    let key = made.key().to_pkcs8_pem().map_err(|error| failed(&error))?;
    let document = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"name": AUTHORITY_SECRET, "namespace": NAMESPACE},
        "data": {
            "tls.crt": STANDARD.encode(made.certificate().to_pem()),
            "tls.key": STANDARD.encode(key.expose()),
        },
    });
    objects.apply(&document).await?;
    Ok(made)
}
