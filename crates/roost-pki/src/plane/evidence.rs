//! What the observed objects prove: which certificates are in use, and who is trusted where.

use jiff::{SignedDuration, Timestamp};

use super::authorities::{Authority, AuthoritySpec};
use super::kubeconfigs::{self, KUBECONFIGS, Reach};
use super::leaves::{LEAVES, LeafSpec, SERVER_LEAF};
use super::names::PlaneNames;
use super::observed::{Observed, Stored};
use super::planner::Wishes;
use super::progress::Wait;
use super::trust::{BUNDLE_KEY, BUNDLES, BundleSpec};
use crate::bundle::CertificateBundle;
use crate::certificate::Certificate;
use crate::key::PrivateKey;
use crate::pem;
use crate::subject::AlternativeName;

/// How soon a caller that has not confirmed is asked again; a confirmation itself should wake it earlier.
const CONFIRMATION_LOOK: SignedDuration = SignedDuration::from_secs(10);

/// How much of the end of an encoded public key is looked for in a private key.
const PUBLIC_KEY_END: usize = 64;

/// Whether a certificate and a key in PEM belong together. Usual encodings of private keys contain the public key, which
/// is found much faster than it is computed.
pub(super) fn belong_together(certificate: &Certificate, key: &str) -> bool {
    let public = certificate.public_key_der();
    let end = &public[public.len().saturating_sub(PUBLIC_KEY_END)..];
    let Ok(sections) = pem::sections(key) else { return false };
    let Some((_, der)) = sections.first() else { return false };
    der.windows(end.len()).any(|part| part == end)
        || PrivateKey::from_pem(key).is_ok_and(|key| key.public_key().to_der() == public)
}

/// A leaf that exists and can be read.
pub(super) struct SeenLeaf<'a> {
    pub(super) certificate: Certificate,
    pub(super) certificate_text: &'a str,
    pub(super) key_text: &'a str,
    pub(super) stored: &'a Stored,
}

impl<'a> SeenLeaf<'a> {
    fn read(spec: &LeafSpec, stored: &'a Stored) -> Option<Self> {
        let (certificate_text, key_text) = (stored.text(spec.files.certificate)?, stored.text(spec.files.key)?);
        let certificate = Certificate::from_pem(certificate_text).ok()?;
        belong_together(&certificate, key_text).then_some(Self { certificate, certificate_text, key_text, stored })
    }
}

/// A leaf that the plane wants, and what there is of it.
pub(super) struct WantedLeaf<'a> {
    pub(super) spec: &'static LeafSpec,
    pub(super) names: Vec<AlternativeName>,
    /// Names that it is no longer wanted for, but that clients still use.
    pub(super) carried: Vec<AlternativeName>,
    pub(super) exists: bool,
    pub(super) seen: Option<SeenLeaf<'a>>,
}

/// Whether something holds everywhere, and when the last object that makes it so was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Evidence {
    holds: bool,
    latest: Timestamp,
}

impl Evidence {
    const NOTHING: Self = Self { holds: true, latest: Timestamp::MIN };

    fn add(&mut self, holds: bool, stored: Option<&Stored>, now: Timestamp) {
        self.holds &= holds;
        // A time that is still to come was written by a clock that has been set back since; it says nothing.
        if let Some(written) = stored.and_then(Stored::written).filter(|written| *written <= now) {
            self.latest = self.latest.max(written);
        }
    }
}

/// The world as one plan sees it.
pub(super) struct World<'a> {
    pub(super) names: &'a PlaneNames,
    pub(super) observed: &'a Observed,
    pub(super) wishes: &'a Wishes,
    pub(super) now: Timestamp,
    pub(super) leaves: Vec<WantedLeaf<'a>>,
}

impl<'a> World<'a> {
    pub(super) fn new(names: &'a PlaneNames, observed: &'a Observed, wishes: &'a Wishes, now: Timestamp) -> Self {
        let wanted = LEAVES.iter().filter(|spec| names.parts.contain(spec.part));
        let leaves = wanted.filter_map(|spec| {
            let stored = observed.secrets.get(spec.secret);
            let seen = stored.and_then(|stored| SeenLeaf::read(spec, stored));
            let (names, exists) = (spec.alternative_names(names)?, stored.is_some());
            Some(WantedLeaf { spec, names, carried: Vec::new(), exists, seen })
        });
        let leaves = leaves.collect();
        let mut world = Self { names, observed, wishes, now, leaves };
        let hosts = world.published_hosts();
        for leaf in world.leaves.iter_mut().filter(|leaf| leaf.spec.secret == SERVER_LEAF) {
            leaf.carried = hosts.iter().filter(|host| !leaf.names.contains(host)).cloned().collect();
        }
        world
    }

    /// The hosts by which the kubeconfigs that exist reach the API server from outside.
    fn published_hosts(&self) -> Vec<AlternativeName> {
        let published = KUBECONFIGS.iter().filter(|spec| matches!(spec.reach, Reach::Published | Reach::Custom));
        let texts = published.filter_map(|spec| {
            let stored = self.observed.secrets.get(&spec.secret(self.names))?;
            let contents = kubeconfigs::read(stored.text(spec.key)?)?;
            let (host, _) = contents.server.strip_prefix("https://")?.rsplit_once(':')?;
            Some(AlternativeName::host(host.trim_start_matches('[').trim_end_matches(']')))
        });
        let mut hosts: Vec<AlternativeName> = Vec::new();
        for host in texts.filter(AlternativeName::is_encodable) {
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        hosts
    }

    /// The bundles that the plane wants.
    pub(super) fn bundles(&self) -> impl Iterator<Item = &'static BundleSpec> {
        let parts = self.names.parts;
        BUNDLES.iter().filter(move |spec| parts.contain(spec.part))
    }

    /// Whether an authority's certificate is trusted wherever the authority is.
    pub(super) fn trusts(&self, authority: Authority, certificate: &Certificate) -> Evidence {
        let text = certificate.to_pem();
        let mut evidence = Evidence::NOTHING;
        for bundle in self.bundles().filter(|spec| spec.authorities.contains(&authority)) {
            let stored = self.observed.config_maps.get(bundle.config_map);
            let holds = stored.and_then(|stored| stored.text(BUNDLE_KEY)).is_some_and(|own| own.contains(&text));
            evidence.add(holds, stored, self.now);
        }
        for leaf in self.leaves.iter().filter(|leaf| leaf.spec.signer == authority) {
            if let Some(key) = leaf.spec.files.trust {
                let stored = leaf.seen.as_ref().map(|seen| seen.stored);
                let holds = stored.and_then(|stored| stored.text(key)).is_some_and(|own| own.contains(&text));
                evidence.add(holds, stored, self.now);
            }
        }
        if authority == Authority::Root {
            for (stored, contents) in self.kubeconfigs(|_| true) {
                let holds = contents.is_some_and(|contents| contents.trust.contains(&text));
                evidence.add(holds, stored, self.now);
            }
        }
        evidence
    }

    /// Whether everything that an authority signs for the plane is of one certificate of it.
    pub(super) fn issued(&self, authority: Authority, certificate: &Certificate) -> Evidence {
        let mut evidence = Evidence::NOTHING;
        for leaf in self.leaves.iter().filter(|leaf| leaf.spec.signer == authority) {
            let holds = leaf.seen.as_ref().is_some_and(|seen| seen.certificate.is_issued_by(certificate));
            evidence.add(holds, leaf.seen.as_ref().map(|seen| seen.stored), self.now);
            let Some(seen) = &leaf.seen else { continue };
            for (stored, contents) in self.kubeconfigs(|client| client == leaf.spec.secret) {
                let holds = contents.is_some_and(|contents| contents.certificate == seen.certificate_text);
                evidence.add(holds, stored, self.now);
            }
        }
        evidence
    }

    fn kubeconfigs(
        &self,
        of_client: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = (Option<&'a Stored>, Option<kubeconfigs::Contents>)> {
        let wanted = KUBECONFIGS.iter().filter(move |spec| of_client(spec.client));
        wanted.filter(|spec| spec.server(self.names).is_some()).map(|spec| {
            let stored = self.observed.secrets.get(&spec.secret(self.names));
            (stored, stored.and_then(|stored| kubeconfigs::read(stored.text(spec.key)?)))
        })
    }

    /// The certificates of an authority that are still trusted though its Secret has been lost.
    pub(super) fn still_trusted(&self, spec: &AuthoritySpec) -> Vec<Certificate> {
        let bundles = self.bundles().filter(|bundle| bundle.authorities.contains(&spec.authority));
        let bundles = bundles.filter_map(|bundle| self.observed.config_maps.get(bundle.config_map)?.text(BUNDLE_KEY));
        let leaves = self.leaves.iter().filter(|leaf| leaf.spec.signer == spec.authority);
        let leaves = leaves.filter_map(|leaf| leaf.seen.as_ref()?.stored.text(leaf.spec.files.trust?));
        let subject = spec.subject();
        let mut found = CertificateBundle::default();
        for text in bundles.chain(leaves) {
            for certificate in CertificateBundle::from_pem(text).unwrap_or_default().certificates() {
                if certificate.subject().is_same_as(&subject) && certificate.is_valid_at(self.now) {
                    found.add(certificate.clone());
                }
            }
        }
        found.certificates().to_vec()
    }

    /// Whether a stage that needs something to hold is over, or what it waits for and when to look again.
    pub(super) fn gate(
        &self,
        evidence: Evidence,
        since: Timestamp,
        least: SignedDuration,
    ) -> Result<(), (Wait, Timestamp)> {
        if !evidence.holds {
            return Err((Wait::Writes, Timestamp::MAX));
        }
        let until = evidence.latest.max(since).checked_add(least).unwrap_or(Timestamp::MAX);
        if self.now < until {
            return Err((Wait::Readers { until }, until));
        }
        if !self.wishes.confirmed {
            return Err((Wait::Confirmation, self.now.checked_add(CONFIRMATION_LOOK).unwrap_or(Timestamp::MAX)));
        }
        Ok(())
    }
}
