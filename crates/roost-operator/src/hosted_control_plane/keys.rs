//! The keys of a control plane: planned, written, and handed to the runtime.

use jiff::Timestamp;
use roost_pki::Secret;
use roost_pki::plane::{
    self, CLIENT_BUNDLE, Endpoint, LifetimeError, Lifetimes, Observed as Keys, Pace, Parts, PlaneNames, Progress,
    ROOT_BUNDLE, Rotation, RotationError, SIGNING_KEY_SECRET, Stored, Wishes,
};
use roost_runtime::PlaneKeys;
use serde_json::Value;

use super::dereference::Observed;
use super::validate::Wanted;
use crate::names::CLUSTER;
use crate::object::{ObjectError, Objects, annotation};

/// Plans that may follow each other in one pass. Each one builds on what the one before wrote.
const ROUNDS: usize = 4;

/// Why a control plane has no keys.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeysError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error("the keys of the control plane cannot be planned")]
    Plan(#[from] roost_pki::Error),
    #[error("the annotations for certificate lifetimes cannot be followed")]
    Lifetimes(#[from] LifetimeError),
    #[error("the annotation roost.dev/rotate-ca cannot be followed")]
    Rotation(#[from] RotationError),
    #[error("{0} is missing or incomplete although it was just written")]
    Incomplete(&'static str),
}

/// A control plane's keys, and when to look at them again.
pub(crate) struct Ready {
    pub(crate) keys: PlaneKeys,
    pub(crate) next: Timestamp,
    pub(crate) progress: Vec<Progress>,
    /// What the ignition server shows, where there is one.
    pub(crate) ignition: Option<ServingPair>,
}

/// A serving certificate and its key, in PEM.
pub(crate) struct ServingPair {
    pub(crate) certificate: String,
    pub(crate) key: Secret<String>,
}

/// Makes sure that all keys are there and good.
pub(crate) async fn ensure(
    objects: &Objects,
    observed: &Observed,
    wanted: &Wanted,
    endpoint: &Endpoint,
    ignition_host: Option<&str>,
    now: Timestamp,
) -> Result<Ready, KeysError> {
    let mut names = names(observed, wanted, endpoint)?;
    if let Some(host) = ignition_host {
        names.parts.ignition = true;
        names.ignition_host = Some(host.to_owned());
    }
    let wishes =
        Wishes { rotation: wanted.rotation.as_deref().map(str::parse::<Rotation>).transpose()?, confirmed: true };
    let mut keys = Keys::default();
    for (kind, list) in [(plane::Kind::Secret, &observed.secrets), (plane::Kind::ConfigMap, &observed.config_maps)] {
        for object in list {
            if names.concerns(kind, object["metadata"]["name"].as_str().unwrap_or_default()) {
                keys.add_object(object);
            }
        }
    }
    let mut plan = plane::plan(&names, &keys, &wishes, now)?;
    for _ in 0..ROUNDS {
        if plan.is_empty() {
            break;
        }
        tracing::debug!(namespace = names.namespace, %plan, "keys are written");
        for wave in plan.waves() {
            let documents: Vec<Value> = wave.iter().map(|write| document(&observed.plane, write)).collect();
            objects.apply_all(&documents).await?;
            for write in wave {
                keys.apply(write);
            }
        }
        plan = plane::plan(&names, &keys, &wishes, now)?;
    }
    let ignition = ignition_host.map(|_| ignition_pair(&keys)).transpose()?;
    Ok(Ready { keys: for_runtime(&keys, &wanted.issuer)?, next: plan.next, progress: plan.progress, ignition })
}

fn ignition_pair(keys: &Keys) -> Result<ServingPair, KeysError> {
    const NAME: &str = "ignition-server-serving-cert";
    let stored = keys.secrets.get(NAME).ok_or(KeysError::Incomplete(NAME))?;
    let text = |key: &str| {
        let bytes = stored.data.get(key).ok_or(KeysError::Incomplete(NAME))?;
        String::from_utf8(bytes.clone()).map_err(|_| KeysError::Incomplete(NAME))
    };
    Ok(ServingPair { certificate: text("tls.crt")?, key: Secret::new(text("tls.key")?) })
}

fn names(observed: &Observed, wanted: &Wanted, endpoint: &Endpoint) -> Result<PlaneNames, KeysError> {
    let metadata = &observed.plane["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
    let mut names = PlaneNames::new(text("namespace"), text("name"), wanted.infra_id.clone());
    names.api = Some(endpoint.clone());
    names.custom_api = wanted.custom_host.as_ref().map(|host| Endpoint::new(host.clone(), endpoint.port));
    names.advertise_address = wanted.advertise_address;
    names.service_addresses = wanted.service_networks.iter().filter_map(|network| network.hosts().next()).collect();
    names.parts = Parts::API_SERVER;
    let lookup = |name: &str| Some(annotation(&observed.plane, name)).filter(|text| !text.is_empty());
    names.lifetimes = Lifetimes::from_annotations(lookup)?;
    names.pace = Pace::from_annotations(lookup)?;
    Ok(names)
}

fn document(control_plane: &Value, write: &plane::Write) -> Value {
    let metadata = &control_plane["metadata"];
    let mut document = write.material.to_object(metadata["namespace"].as_str().unwrap_or_default());
    document["metadata"]["annotations"][CLUSTER] = metadata["annotations"][CLUSTER].clone();
    document
}

/// What the API server is started with.
fn for_runtime(keys: &Keys, issuer: &str) -> Result<PlaneKeys, KeysError> {
    let secret = |name: &'static str| keys.secrets.get(name).ok_or(KeysError::Incomplete(name));
    let bundle = |name: &'static str| keys.config_maps.get(name).ok_or(KeysError::Incomplete(name));
    let text = |stored: &Stored, key: &str, name: &'static str| {
        let bytes = stored.data.get(key).ok_or(KeysError::Incomplete(name))?;
        String::from_utf8(bytes.clone()).map_err(|_| KeysError::Incomplete(name))
    };
    let serving = secret("kas-server-crt")?;
    let signer = secret("cluster-signer-ca")?;
    let tokens = secret(SIGNING_KEY_SECRET)?;
    let kubelets = secret("kas-kubelet-client-crt")?;
    Ok(PlaneKeys {
        serving_certificate: text(serving, "tls.crt", "kas-server-crt")?,
        serving_key: Secret::new(text(serving, "tls.key", "kas-server-crt")?),
        serving_trust: text(bundle(ROOT_BUNDLE)?, plane::BUNDLE_KEY, ROOT_BUNDLE)?,
        client_trust: text(bundle(CLIENT_BUNDLE)?, plane::BUNDLE_KEY, CLIENT_BUNDLE)?,
        signer_certificate: text(signer, "ca.crt", "cluster-signer-ca")?,
        signer_key: Secret::new(text(signer, "ca.key", "cluster-signer-ca")?),
        kubelet_client_certificate: text(kubelets, "tls.crt", "kas-kubelet-client-crt")?,
        kubelet_client_key: Secret::new(text(kubelets, "tls.key", "kas-kubelet-client-crt")?),
        token_key: Secret::new(text(tokens, plane::SIGNING_KEY_PRIVATE, SIGNING_KEY_SECRET)?),
        token_trust: text(tokens, plane::SIGNING_KEY_PUBLIC, SIGNING_KEY_SECRET)?,
        issuer: issuer.to_owned(),
    })
}
