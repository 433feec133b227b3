//! A HostedControlPlane's spec, parsed: what the rest of the controller works with.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ipnet::IpNet;
use roost_pki::Secret;
use roost_runtime::PlaneId;
use serde_json::Value;

use super::dereference::Observed;
use crate::names::{HIBERNATE, ROTATE};
use crate::object::annotation;
use crate::publishing::Publishing;

/// A control plane as it is wanted.
pub(crate) struct Wanted {
    pub(crate) id: PlaneId,
    pub(crate) infra_id: String,
    pub(crate) service_networks: Vec<IpNet>,
    pub(crate) publishing: Publishing,
    /// Where machines fetch their configuration, if there are any.
    pub(crate) ignition: Publishing,
    pub(crate) advertise_address: Option<IpAddr>,
    pub(crate) custom_host: Option<String>,
    pub(crate) issuer: String,
    pub(crate) encryption_key: Option<Secret<[u8; 32]>>,
    pub(crate) parked: bool,
    pub(crate) rotation: Option<String>,
}

/// The services that a hosted cluster has when nobody said which.
const DEFAULT_SERVICE_NETWORK: &str = "172.31.0.0/16";

/// Reads a spec. The error is a sentence for a condition.
pub(crate) fn validate(observed: &Observed) -> Result<Wanted, String> {
    let plane = &observed.plane;
    let spec = &plane["spec"];
    let text = |pointer: &str| spec.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let id = text("/clusterID").ok_or("spec.clusterID is not set yet")?;
    let id = id.parse().map_err(|problem| format!("spec.clusterID {id:?}: {problem}"))?;
    let mut service_networks = Vec::new();
    for entry in spec.pointer("/networking/serviceNetwork").and_then(Value::as_array).into_iter().flatten() {
        let cidr = entry["cidr"].as_str().unwrap_or_default();
        let network =
            cidr.parse().map_err(|_| format!("spec.networking.serviceNetwork has {cidr:?}, not a network"))?;
        service_networks.push(network);
    }
    if service_networks.is_empty() {
        service_networks.extend(DEFAULT_SERVICE_NETWORK.parse::<IpNet>());
    }
    let advertise_address = match text("/networking/apiServer/advertiseAddress") {
        None => None,
        Some(address) => Some(
            address
                .parse()
                .map_err(|_| format!("spec.networking.apiServer.advertiseAddress {address:?} is not an address"))?,
        ),
    };
    Ok(Wanted {
        id,
        infra_id: text("/infraID").unwrap_or_default().to_owned(),
        service_networks,
        publishing: Publishing::of_api_server(spec).map_err(|problem| problem.to_string())?,
        ignition: Publishing::of_ignition(spec).map_err(|problem| problem.to_string())?,
        advertise_address,
        custom_host: text("/kubeAPIServerDNSName").map(str::to_owned),
        issuer: text("/issuerURL").unwrap_or("https://kubernetes.default.svc").to_owned(),
        encryption_key: encryption_key(observed, text("/secretEncryption/aescbc/activeKey/name"))?,
        parked: annotation(plane, HIBERNATE) == "true",
        rotation: Some(annotation(plane, ROTATE)).filter(|text| !text.is_empty()).map(str::to_owned),
    })
}

/// The key that Secrets at rest are sealed with.
fn encryption_key(observed: &Observed, name: Option<&str>) -> Result<Option<Secret<[u8; 32]>>, String> {
    let Some(name) = name else { return Ok(None) };
    let secret = observed.secrets.iter().find(|secret| secret["metadata"]["name"] == name);
    let secret = secret.ok_or_else(|| format!("the encryption key Secret {name} has not been copied yet"))?;
    let bytes = secret["data"]["key"].as_str().and_then(|text| STANDARD.decode(text).ok());
    let key = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    key.map(|key| Some(Secret::new(key)))
        .ok_or_else(|| format!("the encryption key Secret {name} must have a key \"key\" of exactly 32 bytes"))
}
