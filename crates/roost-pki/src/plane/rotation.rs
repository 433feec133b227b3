//! One authority: how it is kept in its Secret, and how it is replaced.

use std::cell::OnceCell;

use jiff::Timestamp;

use super::authorities::AuthoritySpec;
use super::evidence::{World, belong_together};
use super::material::{Kind, Material, OPAQUE, Reason, TLS};
use super::observed::Stored;
use super::progress::{Progress, Stage, Wait};
use super::{RETIRED_ANNOTATION, ROTATED_FOR_ANNOTATION, STAGE_ANNOTATION, STAGE_SINCE_ANNOTATION};
use crate::authority::{BACKDATE, CertificateAuthority};
use crate::bundle::CertificateBundle;
use crate::certificate::Certificate;
use crate::key::PrivateKey;
use crate::{Error, Secret};

const CERTIFICATE: &str = "ca.crt";
const KEY: &str = "ca.key";
const TLS_CERTIFICATE: &str = "tls.crt";
const TLS_KEY: &str = "tls.key";
/// The next authority while it becomes trusted.
const NEXT_CERTIFICATE: &str = "next-ca.crt";
const NEXT_KEY: &str = "next-ca.key";
/// Former authorities that are still trusted; their keys are gone.
const OLD_CERTIFICATES: &str = "old-ca.crt";

/// How many former authorities may still be trusted when the next rotation begins. Each is a way in.
const MAX_OLD: usize = 8;

/// An authority's certificate and key.
struct Held {
    certificate: Certificate,
    key: Secret<String>,
    /// Both, once something has to be signed.
    authority: OnceCell<CertificateAuthority>,
}

impl Held {
    fn make(spec: &AuthoritySpec, world: &World<'_>) -> Result<Self, Error> {
        let made = CertificateAuthority::for_subject(&spec.subject(), world.now, world.names.lifetimes.authority)?;
        let (certificate, key) = (made.certificate().clone(), made.key().to_pkcs8_pem()?);
        Ok(Self { certificate, key, authority: OnceCell::from(made) })
    }

    fn read(stored: &Stored, certificate: &str, key: &str) -> Option<Self> {
        let (certificate, key) = (stored.text(certificate)?, stored.text(key)?);
        let certificate = Certificate::from_pem(certificate).ok()?;
        let fits = certificate.is_authority() && belong_together(&certificate, key);
        fits.then(|| Self { certificate, key: Secret::new(key.to_owned()), authority: OnceCell::new() })
    }

    fn authority(&self) -> Result<&CertificateAuthority, Error> {
        if let Some(authority) = self.authority.get() {
            return Ok(authority);
        }
        let key = PrivateKey::from_pem(self.key.expose())?;
        let authority = CertificateAuthority::from_parts(self.certificate.clone(), key)?;
        Ok(self.authority.get_or_init(|| authority))
    }
}

/// A former authority that is still trusted.
struct Old {
    certificate: Certificate,
    /// When it signed for the last time.
    retired: Timestamp,
}

/// One authority as its Secret has it, or will have it.
pub(super) struct State {
    pub(super) spec: &'static AuthoritySpec,
    current: Held,
    next: Option<Held>,
    old: Vec<Old>,
    since: Timestamp,
    rotated_for: Option<Timestamp>,
}

/// What becomes of an authority in one plan.
pub(super) struct Step {
    pub(super) state: State,
    /// Why it is written, if it is.
    pub(super) reason: Option<Reason>,
    pub(super) progress: Option<Progress>,
    pub(super) look: Timestamp,
}

impl State {
    /// Reads the authority, or makes it when there is none, and takes it as far as it may go now.
    pub(super) fn step(spec: &'static AuthoritySpec, world: &World<'_>) -> Result<Step, Error> {
        let stored = world.observed.secrets.get(spec.secret);
        if let Some((stored, state)) = stored.and_then(|stored| Some((stored, Self::read(spec, stored, world.now)?))) {
            // A clock that was set back must not make a stage last until it has caught up.
            let known = stored.time(STAGE_SINCE_ANNOTATION).is_some_and(|since| since <= world.now);
            let repaired = (!known && state.stage() != Stage::Steady).then_some(Reason::Incomplete);
            let mut step = state.advance(world)?;
            step.reason = step.reason.or(repaired);
            return Ok(step);
        }
        let lost = world.still_trusted(spec);
        let old = lost.into_iter().map(|certificate| Old { certificate, retired: world.now }).collect();
        let mut step = Self::new(spec, Held::make(spec, world)?, old, world.now).advance(world)?;
        step.reason = Some(if stored.is_some() { Reason::Unreadable } else { Reason::Missing });
        Ok(step)
    }

    fn new(spec: &'static AuthoritySpec, current: Held, old: Vec<Old>, since: Timestamp) -> Self {
        Self { spec, current, next: None, old, since, rotated_for: None }
    }

    fn read(spec: &'static AuthoritySpec, stored: &Stored, now: Timestamp) -> Option<Self> {
        let current = if spec.is_tls_secret {
            Held::read(stored, TLS_CERTIFICATE, TLS_KEY)?
        } else {
            Held::read(stored, CERTIFICATE, KEY)?
        };
        let since = stored.time(STAGE_SINCE_ANNOTATION).filter(|since| *since <= now).unwrap_or(now);
        let mut state = Self::new(spec, current, Vec::new(), since);
        state.next = Held::read(stored, NEXT_CERTIFICATE, NEXT_KEY);
        state.rotated_for = stored.time(ROTATED_FOR_ANNOTATION);
        let retired = stored.annotations.get(RETIRED_ANNOTATION).map(String::as_str).unwrap_or_default();
        let mut retired = retired.split(',').map(|time| time.parse().ok());
        let old = stored.text(OLD_CERTIFICATES).and_then(|text| CertificateBundle::from_pem(text).ok());
        for certificate in old.unwrap_or_default().certificates() {
            let retired = retired.next().flatten().unwrap_or(since);
            state.old.push(Old { certificate: certificate.clone(), retired });
        }
        Some(state)
    }

    fn stage(&self) -> Stage {
        match (&self.next, &*self.old) {
            (Some(_), _) => Stage::TrustBoth,
            (None, [_, ..]) => Stage::IssueNew,
            (None, []) => Stage::Steady,
        }
    }

    /// The certificate that signs.
    pub(super) fn current(&self) -> &Certificate {
        &self.current.certificate
    }

    /// Whether a leaf is of an authority that signs now or soon.
    pub(super) fn signs(&self, leaf: &Certificate) -> bool {
        let next = self.next.iter().any(|next| leaf.is_issued_by(&next.certificate));
        next || leaf.is_issued_by(&self.current.certificate)
    }

    /// Whether a leaf is of a former authority that is still trusted.
    pub(super) fn signed(&self, leaf: &Certificate, now: Timestamp) -> bool {
        self.old.iter().any(|old| old.certificate.is_valid_at(now) && leaf.is_issued_by(&old.certificate))
    }

    /// Everything that is trusted, in an order that a rotation does not change.
    pub(super) fn trusted(&self) -> Vec<&Certificate> {
        let mut all: Vec<&Certificate> = vec![&self.current.certificate];
        all.extend(self.next.iter().map(|next| &next.certificate));
        all.extend(self.old.iter().map(|old| &old.certificate));
        all.sort_by_cached_key(|certificate| (certificate.not_before(), certificate.fingerprint()));
        all.dedup();
        all
    }

    /// The authority that signs.
    pub(super) fn signer(&self) -> Result<&CertificateAuthority, Error> {
        self.current.authority()
    }

    /// The Secret.
    pub(super) fn material(&self, now: Timestamp) -> Material {
        let mut material = Material::new(Kind::Secret, self.spec.secret, now);
        let certificate = self.current.certificate.to_pem();
        let key = self.current.key.expose();
        if self.spec.is_tls_secret {
            let others = self.trusted().into_iter().filter(|other| **other != self.current.certificate);
            let others: String = others.map(Certificate::to_pem).collect();
            material.put(TLS_CERTIFICATE, certificate + &others);
            material.secret_type = TLS;
        } else {
            material.put(CERTIFICATE, certificate.clone());
            material.put(KEY, key.clone());
            material.put(TLS_CERTIFICATE, certificate);
            material.secret_type = OPAQUE;
        }
        material.put(TLS_KEY, key.clone());
        if let Some(next) = &self.next {
            material.put(NEXT_CERTIFICATE, next.certificate.to_pem());
            material.put(NEXT_KEY, next.key.expose().clone());
        }
        if !self.old.is_empty() {
            let old: String = self.old.iter().map(|old| old.certificate.to_pem()).collect();
            material.put(OLD_CERTIFICATES, old);
        }
        let retired: Vec<String> = self.old.iter().map(|old| old.retired.to_string()).collect();
        let mut annotate = |name: &str, value: String| material.annotations.insert(name.to_owned(), value);
        annotate(STAGE_ANNOTATION, self.stage().to_string());
        annotate(STAGE_SINCE_ANNOTATION, self.since.to_string());
        annotate(RETIRED_ANNOTATION, retired.join(","));
        if let Some(time) = self.rotated_for {
            annotate(ROTATED_FOR_ANNOTATION, time.to_string());
        }
        material
    }

    fn advance(mut self, world: &World<'_>) -> Result<Step, Error> {
        let mut outcome = Outcome { reason: None, waits: None, look: Timestamp::MAX };
        self.drop_old(world, &mut outcome);
        if self.next.is_some() {
            self.promote(world, &mut outcome)?;
        } else {
            self.begin(world, &mut outcome)?;
        }
        let (authority, since) = (self.spec.authority, self.since);
        let progress = outcome.waits.map(|(stage, waits_for)| Progress { authority, stage, since, waits_for });
        Ok(Step { state: self, reason: outcome.reason, progress, look: outcome.look })
    }

    /// Until when certificates of a former authority may be in use.
    fn needed_until(&self, old: &Old, world: &World<'_>) -> Timestamp {
        if !self.spec.signs_for_others {
            return old.retired;
        }
        let last = old.retired.checked_add(world.names.lifetimes.requested).unwrap_or(Timestamp::MAX);
        last.min(old.certificate.not_after())
    }

    fn drop_old(&mut self, world: &World<'_>, outcome: &mut Outcome) {
        let Some(first_end) = self.old.iter().map(|old| old.certificate.not_after()).min() else { return };
        let before = self.old.len();
        let evidence = world.issued(self.spec.authority, self.current());
        let gate = world.gate(evidence, self.since, world.names.pace.settle);
        let keep: Vec<bool> = self
            .old
            .iter()
            .map(|old| {
                let needed = gate.is_err() || world.now < self.needed_until(old, world);
                needed && old.certificate.not_after() >= world.now
            })
            .collect();
        let mut keep = keep.into_iter();
        self.old.retain(|_| keep.next().unwrap_or(true));
        if self.old.len() < before {
            outcome.reason = Some(Reason::Rotation(self.stage()));
        }
        outcome.look_at(first_end);
        match gate {
            Err((wait, look)) if !self.old.is_empty() => {
                outcome.waits = Some((Stage::IssueNew, wait));
                outcome.look_at(look);
            }
            _ => {
                let ends = self.old.iter().map(|old| self.needed_until(old, world));
                if let (Some(first), Some(last)) = (ends.clone().min(), ends.max()) {
                    outcome.waits = Some((Stage::DropOld, Wait::Holders { until: last }));
                    outcome.look_at(first);
                }
            }
        }
    }

    fn promote(&mut self, world: &World<'_>, outcome: &mut Outcome) -> Result<(), Error> {
        let Some(next) = &self.next else { return Ok(()) };
        if world.now < next.certificate.not_before() {
            // It was made before the clock was set back, and nobody would believe it yet.
            self.next = Some(Held::make(self.spec, world)?);
            self.enter(Stage::TrustBoth, world, outcome);
            return Ok(());
        }
        let end = self.current.certificate.not_after();
        let last_call = world.names.lifetimes.last_call_of(&self.current.certificate);
        let evidence = world.trusts(self.spec.authority, &next.certificate);
        let gate = world.gate(evidence, self.since, world.names.pace.announce);
        // Whoever does not confirm must not bring everyone else down with an authority that ends.
        let unconfirmed = matches!(gate, Err((Wait::Confirmation, _)));
        let is_urgent = end < world.now || unconfirmed && last_call <= world.now;
        if let Err((wait, look)) = gate
            && !is_urgent
        {
            outcome.waits = Some((Stage::TrustBoth, wait));
            outcome.look_at(look);
            outcome.look_at(if last_call <= world.now { end } else { last_call });
        } else if let Some(next) = self.next.take() {
            let former = std::mem::replace(&mut self.current, next).certificate;
            self.old.push(Old { certificate: former, retired: world.now });
            self.enter(Stage::IssueNew, world, outcome);
        }
        Ok(())
    }

    fn begin(&mut self, world: &World<'_>, outcome: &mut Outcome) -> Result<(), Error> {
        let due = world.names.lifetimes.rotation_of(self.current());
        let made = self.current().not_before().checked_add(BACKDATE).unwrap_or(Timestamp::MAX);
        let wish = world.wishes.rotation.as_ref().filter(|wish| wish.wants(self.spec.authority));
        let wish = wish.map(|wish| wish.requested_at);
        let wish = wish.filter(|requested| *requested > made && self.rotated_for != Some(*requested));
        if world.now < due && wish.is_none() {
            outcome.look_at(due);
            return Ok(());
        }
        let end = self.current().not_after();
        let issuing = matches!(outcome.waits, Some((Stage::IssueNew, _)));
        if end < world.now {
            // Nobody believes the present one any more, so nothing is gained by stages.
            self.current = Held::make(self.spec, world)?;
            self.since = world.now;
            outcome.reason = Some(Reason::ExpiresSoon(end));
        } else if self.old.len() >= MAX_OLD {
            outcome.waits = Some((Stage::DropOld, Wait::Room));
            outcome.look_at(end);
        } else if !issuing {
            self.next = Some(Held::make(self.spec, world)?);
            self.rotated_for = wish.or(self.rotated_for);
            self.enter(Stage::TrustBoth, world, outcome);
        }
        Ok(())
    }

    fn enter(&mut self, stage: Stage, world: &World<'_>, outcome: &mut Outcome) {
        self.since = world.now;
        outcome.reason = Some(Reason::Rotation(stage));
        outcome.waits = Some((stage, Wait::Writes));
    }
}

struct Outcome {
    reason: Option<Reason>,
    waits: Option<(Stage, Wait)>,
    look: Timestamp,
}

impl Outcome {
    fn look_at(&mut self, time: Timestamp) {
        self.look = self.look.min(time);
    }
}
