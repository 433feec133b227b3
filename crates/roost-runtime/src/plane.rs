//! What a hosted control plane is to a runtime.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use roost_pki::Secret;

/// A hosted cluster's identity: its cluster ID, which never changes. Its data are kept under it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaneId(uuid::Uuid);

/// The text is no cluster ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a cluster ID is a UUID in lower case, such as 4f4e6e7a-6b5c-4c8e-9a37-1d0f3c1a2b3c")]
pub struct InvalidPlaneId;

impl FromStr for PlaneId {
    type Err = InvalidPlaneId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        uuid::Uuid::try_parse(text).map(PlaneId).map_err(|_| InvalidPlaneId)
    }
}

impl fmt::Display for PlaneId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_hyphenated().fmt(formatter)
    }
}

/// A wanted control plane.
#[derive(Clone)]
pub struct Plane {
    /// Whose data these are.
    pub id: PlaneId,
    /// The control plane's namespace, which names it to people.
    pub namespace: String,
    /// The addresses that the hosted cluster's Services get.
    pub service_network: IpNet,
    /// The port that the API is published on.
    pub port: u16,
    /// The address that nodes and pods are told for the API, where it is an address and not a name.
    pub advertised: Option<IpAddr>,
    /// The names by which a shared listener finds the plane.
    pub server_names: Vec<String>,
    /// What it trusts and shows.
    pub keys: PlaneKeys,
    /// What its Secrets are sealed with.
    pub encryption_key: Option<Secret<[u8; 32]>>,
    /// Whether it sleeps until somebody calls.
    pub parked: bool,
}

/// The keys and certificates of a plane, as PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct PlaneKeys {
    /// The certificate that the API shows, leaf first.
    pub serving_certificate: String,
    /// The key of that certificate.
    pub serving_key: Secret<String>,
    /// What clients verify the API with; published in the hosted cluster.
    pub serving_trust: String,
    /// Whose client certificates the API believes.
    pub client_trust: String,
    /// The authority that signs certificate requests.
    pub signer_certificate: String,
    /// The key of that authority.
    pub signer_key: Secret<String>,
    /// The certificate that the API shows to kubelets.
    pub kubelet_client_certificate: String,
    /// The key of that certificate.
    pub kubelet_client_key: Secret<String>,
    /// Signs service-account tokens.
    pub token_key: Secret<String>,
    /// The public keys whose tokens are believed.
    pub token_trust: String,
    /// The issuer that tokens name.
    pub issuer: String,
}

/// How a plane is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Its API answers.
    Ready,
    /// It sleeps, and wakes when somebody calls.
    Parked,
    /// It does not answer as it should.
    Failing(String),
    /// It is not running.
    Absent,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_uuids() {
        let text = "4f4e6e7a-6b5c-4c8e-9a37-1d0f3c1a2b3c";
        assert_eq!(text.parse::<PlaneId>().map(|id| id.to_string()), Ok(text.to_owned()));
        assert_eq!("management".parse::<PlaneId>(), Err(InvalidPlaneId));
        assert_eq!("".parse::<PlaneId>(), Err(InvalidPlaneId));
    }
}
