//! The plan: from what a plane is called and what there is to what has to be written.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use aws_lc_rs::digest::{Context, SHA256};
use aws_lc_rs::rand;
use jiff::Timestamp;

use super::authorities::{AUTHORITIES, Authority};
use super::evidence::{WantedLeaf, World};
use super::kubeconfigs::{self, KUBECONFIGS, KubeconfigSpec};
use super::material::{Kind, Material, Plan, Reason, TLS, Wave, Write};
use super::names::PlaneNames;
use super::observed::Observed;
use super::progress::Rotation;
use super::rotation::State;
use super::trust::{BUNDLE_KEY, BundleSpec, ROOT_BUNDLE};
use super::{PASSWORD_KEY, PASSWORD_SECRET, SIGNING_KEY_PRIVATE, SIGNING_KEY_PUBLIC, SIGNING_KEY_SECRET};
use crate::certificate::Certificate;
use crate::key::PrivateKey;
use crate::public_key::PublicKey;
use crate::{Error, Secret};

/// What the caller wants beside a plane that is in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wishes {
    /// Authorities to be replaced.
    pub rotation: Option<Rotation>,
    /// Whether all servers that the caller knows of have loaded what is observed: the trusted authorities, and the
    /// certificates that they show. A rotation goes no further without it.
    pub confirmed: bool,
}

impl Default for Wishes {
    fn default() -> Self {
        Self { rotation: None, confirmed: true }
    }
}

/// Makes the plan. It is empty when everything is in order, and the same for the same world except for new keys.
pub fn plan(desired: &PlaneNames, observed: &Observed, wishes: &Wishes, now: Timestamp) -> Result<Plan, Error> {
    let world = World::new(desired, observed, wishes, now);
    let mut planner = Planner { world: &world, writes: Vec::new(), next: Timestamp::MAX, good_until: Timestamp::MAX };
    let mut states = BTreeMap::new();
    let mut progress = Vec::new();
    for spec in AUTHORITIES.iter().filter(|spec| desired.parts.contain(spec.part)) {
        let step = State::step(spec, &world)?;
        planner.look_at(step.look);
        progress.extend(step.progress);
        if let Some(reason) = step.reason {
            planner.write(Wave::Authorities, step.state.material(now), reason);
        }
        planner.good_until = planner.good_until.min(step.state.current().not_after());
        let trust = step.state.trusted().into_iter().map(Certificate::to_pem).collect();
        states.insert(spec.authority, Signing { state: step.state, trust });
    }
    planner.signing_key()?;
    planner.password()?;
    for spec in world.bundles() {
        planner.bundle(spec, &states);
    }
    let mut clients = BTreeMap::new();
    for leaf in &world.leaves {
        if let Some(signing) = states.get(&leaf.spec.signer) {
            clients.insert(leaf.spec.secret, planner.leaf(leaf, signing)?);
        }
    }
    for spec in &KUBECONFIGS {
        if let (Some(client), Some(root)) = (clients.get(spec.client), states.get(&Authority::Root)) {
            planner.kubeconfig(spec, client, &root.trust);
        }
    }
    let Planner { writes, next, good_until, .. } = planner;
    Ok(Plan { writes, next, good_until, progress })
}

/// What a caller keeps between plans of one plane, so that one that has nothing to do costs almost nothing.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    settled: Option<Settled>,
}

/// An empty plan, and the world that it was made of.
#[derive(Clone, Debug)]
struct Settled {
    digest: [u8; 32],
    since: Timestamp,
    plan: Plan,
}

impl Memory {
    /// As [`plan`], but without looking closer at a world that has not changed since nothing was to be done in it.
    pub fn plan(
        &mut self,
        desired: &PlaneNames,
        observed: &Observed,
        wishes: &Wishes,
        now: Timestamp,
    ) -> Result<Plan, Error> {
        let digest = digest_of(desired, observed, wishes);
        if let Some(settled) = &self.settled
            && settled.digest == digest
            && (settled.since..settled.plan.next).contains(&now)
        {
            return Ok(settled.plan.clone());
        }
        let plan = plan(desired, observed, wishes, now)?;
        self.settled = plan.is_empty().then(|| Settled { digest, since: now, plan: plan.clone() });
        Ok(plan)
    }
}

/// Feeds whatever is hashed into a digest that nobody can find a second world for.
struct Digester(Context);

impl Hasher for Digester {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

fn digest_of(desired: &PlaneNames, observed: &Observed, wishes: &Wishes) -> [u8; 32] {
    let mut digester = Digester(Context::new(&SHA256));
    (desired, observed, wishes).hash(&mut digester);
    let mut digest = [0; 32];
    digest.copy_from_slice(digester.0.finish().as_ref());
    digest
}

/// An authority after this plan, and what trusts it.
struct Signing {
    state: State,
    trust: String,
}

/// A client's certificate after this plan.
struct Client {
    certificate: String,
    key: Secret<String>,
}

struct Planner<'a> {
    world: &'a World<'a>,
    writes: Vec<Write>,
    next: Timestamp,
    good_until: Timestamp,
}

impl Planner<'_> {
    fn look_at(&mut self, time: Timestamp) {
        self.next = self.next.min(time);
    }

    fn write(&mut self, wave: Wave, material: Material, reason: Reason) {
        self.writes.push(Write { wave, material, reason });
    }

    fn bundle(&mut self, spec: &BundleSpec, states: &BTreeMap<Authority, Signing>) {
        let mut wanted: String =
            spec.authorities.iter().filter_map(|authority| states.get(authority)).map(|own| &*own.trust).collect();
        if let Some(further) = self.world.names.further_trust.get(spec.config_map) {
            wanted.push_str(further);
        }
        let stored = self.world.observed.config_maps.get(spec.config_map);
        if stored.and_then(|stored| stored.text(BUNDLE_KEY)) == Some(&*wanted) {
            return;
        }
        let reason = if stored.is_some() { Reason::TrustChanged } else { Reason::Missing };
        let mut material = Material::new(Kind::ConfigMap, spec.config_map, self.world.now);
        material.put(BUNDLE_KEY, wanted);
        self.write(Wave::Trust, material, reason);
    }

    /// Why a leaf has to be signed anew; none when it is good.
    fn fault(&mut self, leaf: &WantedLeaf<'_>, signing: &Signing) -> Option<Reason> {
        let Some(seen) = &leaf.seen else {
            return Some(if leaf.exists { Reason::Unreadable } else { Reason::Missing });
        };
        let (certificate, now) = (&seen.certificate, self.world.now);
        let renewal = self.world.names.lifetimes.renewal_of(certificate);
        if renewal <= now {
            return Some(Reason::ExpiresSoon(certificate.not_after()));
        }
        if now < certificate.not_before() {
            return Some(Reason::NotYetGood(certificate.not_before()));
        }
        if !certificate.subject().is_same_as(&leaf.spec.subject()) {
            return Some(Reason::SubjectChanged);
        }
        if !leaf.names.iter().all(|name| certificate.alternative_names().contains(name)) {
            return Some(Reason::NamesChanged);
        }
        if !signing.state.signs(certificate) {
            if !signing.state.signed(certificate, now) {
                return Some(Reason::SignerRotated);
            }
            let evidence = self.world.trusts(leaf.spec.signer, signing.state.current());
            match self.world.gate(evidence, Timestamp::MIN, self.world.names.pace.announce) {
                Ok(()) => return Some(Reason::SignerRotated),
                Err((_, look)) => self.look_at(look),
            }
        }
        self.look_at(renewal);
        None
    }

    fn leaf(&mut self, leaf: &WantedLeaf<'_>, signing: &Signing) -> Result<Client, Error> {
        let (spec, now) = (leaf.spec, self.world.now);
        let (client, reason) = match (self.fault(leaf, signing), &leaf.seen) {
            (None, Some(seen)) => {
                self.good_until = self.good_until.min(seen.certificate.not_after());
                let trust = spec.files.trust.map(|key| seen.stored.text(key).unwrap_or_default());
                let client = Client {
                    certificate: seen.certificate_text.to_owned(),
                    key: Secret::new(seen.key_text.to_owned()),
                };
                if trust.is_none_or(|trust| trust == signing.trust) {
                    return Ok(client);
                }
                (client, Reason::TrustChanged)
            }
            (fault, _) => {
                let lifetime = self.world.names.lifetimes.leaf;
                let signer = signing.state.signer()?;
                let names = [&*leaf.names, &leaf.carried].concat();
                let made = signer.issue(&spec.subject(), &names, spec.ends.usages(), now, lifetime)?;
                self.good_until = self.good_until.min(made.certificate.not_after());
                let client = Client { certificate: made.certificate.to_pem(), key: made.key_pem()? };
                (client, fault.unwrap_or(Reason::Missing))
            }
        };
        let mut material = Material::new(Kind::Secret, spec.secret, now);
        material.put(spec.files.certificate, &*client.certificate);
        material.put(spec.files.key, &**client.key.expose());
        if let Some(key) = spec.files.trust {
            material.put(key, &*signing.trust);
        }
        if spec.signer == Authority::Ignition {
            material.secret_type = TLS;
        }
        self.write(Wave::Leaves, material, reason);
        Ok(client)
    }

    fn kubeconfig(&mut self, spec: &KubeconfigSpec, client: &Client, trust: &str) {
        let Some(server) = spec.server(self.world.names) else { return };
        let name = spec.secret(self.world.names);
        let further = self.world.names.further_trust.get(ROOT_BUNDLE).map(String::as_str).unwrap_or_default();
        let trust = format!("{trust}{further}");
        let wanted = kubeconfigs::write(&server, &trust, &client.certificate, client.key.expose());
        let stored = self.world.observed.secrets.get(&name);
        let text = stored.and_then(|stored| stored.text(spec.key));
        if text == Some(&**wanted.expose()) {
            return;
        }
        let reason = match (stored, text.and_then(kubeconfigs::read)) {
            (None, _) => Reason::Missing,
            (Some(_), None) => Reason::Unreadable,
            (_, Some(contents)) if contents.server != server.to_string() => Reason::EndpointChanged,
            (_, Some(contents)) if contents.trust != trust => Reason::TrustChanged,
            _ => Reason::ClientRenewed,
        };
        let mut material = Material::new(Kind::Secret, &name, self.world.now);
        material.put(spec.key, wanted.into_exposed());
        material.labels.extend(spec.labels(self.world.names));
        self.write(Wave::Kubeconfigs, material, reason);
    }

    fn signing_key(&mut self) -> Result<(), Error> {
        let stored = self.world.observed.secrets.get(SIGNING_KEY_SECRET);
        let private = stored.and_then(|stored| stored.text(SIGNING_KEY_PRIVATE));
        let public = stored.and_then(|stored| stored.text(SIGNING_KEY_PUBLIC));
        if let (Some(private), Some(public)) = (private, public)
            && !private.is_empty()
            && PublicKey::all_from_pem(public).is_ok()
        {
            return Ok(());
        }
        let (key, reason) = match (stored, private.and_then(|text| PrivateKey::from_pem(text).ok())) {
            (None, _) => (PrivateKey::generate()?, Reason::Missing),
            (Some(_), Some(key)) => (key, Reason::Incomplete),
            (Some(_), None) => (PrivateKey::generate()?, Reason::Unreadable),
        };
        let mut material = Material::new(Kind::Secret, SIGNING_KEY_SECRET, self.world.now);
        material.put(SIGNING_KEY_PRIVATE, key.to_pkcs8_pem()?.into_exposed());
        material.put(SIGNING_KEY_PUBLIC, key.public_key().to_pem());
        self.write(Wave::Authorities, material, reason);
        Ok(())
    }

    fn password(&mut self) -> Result<(), Error> {
        let stored = self.world.observed.secrets.get(PASSWORD_SECRET);
        if !self.world.names.kubeadmin || stored.is_some_and(|stored| stored.text(PASSWORD_KEY).is_some()) {
            return Ok(());
        }
        let reason = if stored.is_some() { Reason::Incomplete } else { Reason::Missing };
        let mut material = Material::new(Kind::Secret, PASSWORD_SECRET, self.world.now);
        material.put(PASSWORD_KEY, password()?.into_exposed());
        self.write(Wave::Authorities, material, reason);
        Ok(())
    }
}

/// A password of four groups of five, of characters that nobody mistakes for others.
fn password() -> Result<Secret<String>, Error> {
    const CHARACTERS: &[u8; 56] = b"abcdefghijkmnpqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ2345678";
    const LENGTH: usize = 23;
    let mut password = String::with_capacity(LENGTH);
    while password.len() < LENGTH {
        if password.len() % 6 == 5 {
            password.push('-');
            continue;
        }
        let mut drawn = [0; 1];
        rand::fill(&mut drawn).map_err(|_| Error::Cryptography("draw a password"))?;
        // Only whole multiples of the alphabet are taken, so that no character is likelier than another.
        if usize::from(drawn[0]) < 256 - 256 % CHARACTERS.len() {
            password.push(char::from(CHARACTERS[usize::from(drawn[0]) % CHARACTERS.len()]));
        }
    }
    Ok(Secret::new(password))
}
