//! Authentication: client certificates, service-account tokens, bootstrap tokens, and nobody in particular.

use std::sync::Arc;

use http::{Extensions, HeaderMap};
use jiff::Timestamp;
use roost_access::User;
use roost_object::Status;
use roost_pki::{Certificate, ClientIdentity};
use rustls_pki_types::CertificateDer;

use crate::cluster::{Cluster, ClusterConfig};

/// The certificates that a client showed in its TLS handshake, its own first.
#[derive(Clone)]
pub struct PeerCertificates(pub Arc<Vec<CertificateDer<'static>>>);

/// A caller in the same process, who is who they say.
#[derive(Clone)]
pub struct InProcess(pub User);

/// The authenticator of one tenant.
pub(crate) struct Authenticator {}

impl Authenticator {
    /// An authenticator; what it believes lies in the tenant's identity.
    pub(crate) fn new(_tenant: &str, _config: &ClusterConfig) -> Authenticator {
        Authenticator {}
    }

    /// Who sent a request. Without any credential that is nobody in particular; a bad one is refused.
    pub(crate) fn authenticate(
        &self,
        cluster: &Cluster,
        headers: &HeaderMap,
        extensions: &Extensions,
    ) -> Result<User, Status> {
        if let Some(PeerCertificates(chain)) = extensions.get::<PeerCertificates>()
            && let Some((leaf, rest)) = chain.split_first()
        {
            return by_certificate(cluster, leaf, rest);
        }
        match bearer(headers) {
            Some(token) => by_token(cluster, token),
            None => Ok(User::anonymous()),
        }
    }
}

fn by_certificate(
    cluster: &Cluster,
    leaf: &CertificateDer<'_>,
    rest: &[CertificateDer<'static>],
) -> Result<User, Status> {
    let refused = |why: &dyn std::fmt::Display| {
        tracing::debug!(%why, "a client certificate was refused");
        Status::unauthorized()
    };
    let certificate = Certificate::from_der(leaf).map_err(|error| refused(&error))?;
    let intermediates: Vec<Certificate> = rest.iter().filter_map(|bytes| Certificate::from_der(bytes).ok()).collect();
    cluster
        .config
        .identity
        .client_trust
        .verify_client(&certificate, &intermediates, Timestamp::now())
        .map_err(|error| refused(&error))?;
    match ClientIdentity::of(&certificate) {
        Ok(Some(identity)) => Ok(user_of(&identity).authenticated()),
        Ok(None) => Err(refused(&"it names no user")),
        Err(error) => Err(refused(&error)),
    }
}

/// The token of an `Authorization: Bearer` header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let mut words = value.trim().splitn(3, ' ');
    let (scheme, token) = (words.next()?, words.next()?);
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn by_token(cluster: &Cluster, token: &str) -> Result<User, Status> {
    match crate::tokens::authenticate(cluster, token, &[]) {
        Ok(Some(found)) => Ok(found.user),
        Ok(None) => Err(Status::unauthorized()),
        Err(error) => {
            tracing::debug!(%error, "a token was refused");
            Err(Status::unauthorized())
        }
    }
}

fn user_of(identity: &ClientIdentity) -> User {
    let mut user = User::new(identity.name.clone(), identity.groups.clone());
    user.uid.clone_from(&identity.uid);
    user.extra.insert("authentication.kubernetes.io/credential-id".into(), vec![identity.credential_id.clone()]);
    user
}
