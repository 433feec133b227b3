//! Authentication: client certificates, service-account tokens, bootstrap tokens, and nobody in particular.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use http::{Extensions, HeaderMap};
use jiff::Timestamp;
use parking_lot::Mutex;
use roost_access::User;
use roost_object::Status;
use roost_pki::{Certificate, ClientIdentity};
use rustls_pki_types::CertificateDer;

use crate::cluster::Cluster;
use crate::identity::Identity;

/// How long a connection's certificates are believed without another look: a signature costs more than a read.
const BELIEVED: Duration = Duration::from_secs(10);

/// The certificates that a client showed in its TLS handshake, and who they were found to stand for.
#[derive(Clone)]
pub struct PeerCertificates(Arc<Peer>);

struct Peer {
    /// The client's own first.
    chain: Vec<CertificateDer<'static>>,
    known: Mutex<Option<Known>>,
}

struct Known {
    user: User,
    /// The keys by which the certificates were judged: once those are replaced, nothing is known any more.
    judged_by: Weak<Identity>,
    until: Instant,
    expires: Timestamp,
}

impl PeerCertificates {
    /// The certificates of one connection, the client's own first.
    pub fn new(chain: Vec<CertificateDer<'static>>) -> PeerCertificates {
        PeerCertificates(Arc::new(Peer { chain, known: Mutex::new(None) }))
    }

    /// Whether they stand for anybody.
    pub(crate) fn are_good(&self, cluster: &Cluster) -> bool {
        self.user(cluster).is_some_and(|found| found.is_ok())
    }

    /// Who the certificates stand for; none when there are none.
    fn user(&self, cluster: &Cluster) -> Option<Result<User, Status>> {
        let (leaf, rest) = self.0.chain.split_first()?;
        let mut known = self.0.known.lock();
        let identity = cluster.identity();
        if let Some(known) = &*known
            && std::ptr::eq(known.judged_by.as_ptr(), Arc::as_ptr(&identity))
            && Instant::now() < known.until
            && Timestamp::now() < known.expires
        {
            return Some(Ok(known.user.clone()));
        }
        *known = None;
        let found = by_certificate(&identity, leaf, rest);
        Some(found.map(|(user, expires)| {
            let judged_by = Arc::downgrade(&identity);
            *known = Some(Known { user: user.clone(), judged_by, until: Instant::now() + BELIEVED, expires });
            user
        }))
    }
}

/// A caller in the same process, who is who they say.
#[derive(Clone)]
pub struct InProcess(pub User);

/// Who sent a request. Without any credential that is nobody in particular; a bad one is refused.
pub(crate) fn authenticate(cluster: &Cluster, headers: &HeaderMap, extensions: &Extensions) -> Result<Found, Status> {
    if let Some(found) = extensions.get::<PeerCertificates>().and_then(|peer| peer.user(cluster)) {
        return found.map(Found::new);
    }
    match bearer(headers) {
        Some(token) => by_token(cluster, token),
        None => Ok(Found::new(User::anonymous())),
    }
}

/// Who sent a request.
pub(crate) struct Found {
    /// The user.
    pub(crate) user: User,
    /// The namespace and name of the Secret that holds the token, where an old one was shown.
    pub(crate) secret: Option<(String, String)>,
}

impl Found {
    /// A user who showed no token of a Secret.
    pub(crate) fn new(user: User) -> Found {
        Found { user, secret: None }
    }
}

fn by_certificate(
    identity: &Identity,
    leaf: &CertificateDer<'_>,
    rest: &[CertificateDer<'static>],
) -> Result<(User, Timestamp), Status> {
    let refused = |why: &dyn std::fmt::Display| {
        tracing::debug!(%why, "a client certificate was refused");
        Status::unauthorized()
    };
    let certificate = Certificate::from_der(leaf).map_err(|error| refused(&error))?;
    let intermediates: Vec<Certificate> = rest.iter().filter_map(|bytes| Certificate::from_der(bytes).ok()).collect();
    identity
        .client_trust
        .verify_client(&certificate, &intermediates, Timestamp::now())
        .map_err(|error| refused(&error))?;
    match ClientIdentity::of(&certificate) {
        Ok(Some(identity)) => Ok((user_of(&identity).authenticated(), certificate.not_after())),
        Ok(None) => Err(refused(&"it names no user")),
        Err(error) => Err(refused(&error)),
    }
}

/// What is to be said of a header that was meant to carry a token, but is ignored.
pub(crate) fn ignored_token(headers: &HeaderMap, extensions: &Extensions) -> Option<&'static str> {
    if extensions.get::<PeerCertificates>().is_some_and(|peer| !peer.0.chain.is_empty()) {
        return None;
    }
    let value = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let words: Vec<&str> = value.trim().splitn(3, ' ').collect();
    let [scheme, "", _] = words.as_slice() else { return None };
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some("the provided Authorization header contains extra space before the bearer token, and is ignored")
}

/// The token of an `Authorization: Bearer` header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let mut words = value.trim().splitn(3, ' ');
    let (scheme, token) = (words.next()?, words.next()?);
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn by_token(cluster: &Cluster, token: &str) -> Result<Found, Status> {
    match crate::tokens::authenticate(cluster, token, &[]) {
        Ok(Some(found)) => Ok(Found { user: found.user, secret: found.secret }),
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
