//! A control plane's namespace without a cluster around it, and all that must hold in it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use roost_pki::plane::{
    Authority, BUNDLE_KEY, BUNDLES, CLIENT_BUNDLE, Data, Endpoint, Ends, KUBECONFIGS, LEAVES, Memory, Observed, Plan,
    PlaneNames, Reach, Wishes, leaf,
};
use roost_pki::{AlternativeName, Certificate, CertificateBundle};

/// When every story begins.
pub(crate) fn start() -> Timestamp {
    "2026-11-01T12:00:00Z".parse().unwrap()
}

/// A plane with everything published.
pub(crate) fn names() -> PlaneNames {
    let mut names = PlaneNames::new("clusters-demo", "demo", "demo-x2x2x");
    names.api = Some(Endpoint::new("api.demo.example.test", 31000));
    names.service_addresses = vec!["172.31.0.1".parse().unwrap(), "fd02::1".parse().unwrap()];
    names.advertise_address = Some("172.20.0.1".parse().unwrap());
    names.konnectivity_host = Some("192.0.2.7".into());
    names.oauth_host = Some("oauth.demo.example.test".into());
    names.ignition_host = Some("ignition.demo.example.test".into());
    names.ingress_domain = Some("apps.demo.example.test".into());
    names
}

/// A namespace, a clock and a caller.
pub(crate) struct World {
    pub(crate) names: PlaneNames,
    pub(crate) observed: Observed,
    pub(crate) wishes: Wishes,
    pub(crate) now: Timestamp,
    memory: Memory,
    /// Whether everyone was believed at the beginning, and has to be ever after.
    pub(crate) is_whole: bool,
    /// What has been read once, by its text.
    read: RefCell<HashMap<String, Rc<CertificateBundle>>>,
    /// What has been verified once, as a hash of both sides.
    verified: RefCell<HashSet<u64>>,
    /// Until when everything that was checked last is good.
    good_until: Cell<Timestamp>,
}

impl World {
    pub(crate) fn new(names: PlaneNames) -> Self {
        Self {
            names,
            observed: Observed::default(),
            wishes: Wishes::default(),
            now: start(),
            memory: Memory::default(),
            is_whole: false,
            read: RefCell::default(),
            verified: RefCell::default(),
            good_until: Cell::new(start()),
        }
    }

    /// A namespace in which everything has been made.
    pub(crate) fn made(names: PlaneNames) -> Self {
        let mut world = Self::new(names);
        world.settle();
        world.check();
        world
    }

    pub(crate) fn plan(&mut self) -> Plan {
        self.memory.plan(&self.names, &self.observed, &self.wishes, self.now).unwrap()
    }

    pub(crate) fn advance(&mut self, by: SignedDuration) {
        self.now += by;
    }

    /// Carries out plans at this moment until nothing is left to do; says how many writes there were.
    pub(crate) fn settle(&mut self) -> usize {
        let mut writes = 0;
        for _ in 0..10 {
            let plan = self.plan();
            if plan.is_empty() {
                return writes;
            }
            for wave in plan.waves() {
                for write in wave {
                    self.observed.apply(write);
                }
                if self.is_whole {
                    self.check();
                }
            }
            self.is_whole = true;
            writes += plan.writes.len();
        }
        panic!("plans do not end: {}", self.plan());
    }

    /// Goes from one moment that matters to the next until no rotation is under way.
    pub(crate) fn finish_rotations(&mut self) {
        for _ in 0..1000 {
            self.settle();
            let plan = self.plan();
            if plan.progress.is_empty() {
                return;
            }
            assert!(plan.next > self.now, "{plan}");
            self.now = plan.next;
        }
        panic!("rotations do not end: {}", self.plan());
    }

    pub(crate) fn secret(&self, name: &str) -> &Data {
        &self.observed.secrets[name].data
    }

    /// The certificates of a PEM text. Reading takes long without optimizations, so it is done once.
    fn read(&self, text: &str) -> Rc<CertificateBundle> {
        if let Some(read) = self.read.borrow().get(text) {
            return Rc::clone(read);
        }
        let read = Rc::new(CertificateBundle::from_pem(text).unwrap());
        assert!(!read.is_empty(), "{text}");
        self.read.borrow_mut().insert(text.to_owned(), Rc::clone(&read));
        read
    }

    pub(crate) fn certificate(&self, secret: &str) -> Certificate {
        let spec = leaf(secret).unwrap();
        let read = self.read(std::str::from_utf8(&self.secret(secret)[spec.files.certificate]).unwrap());
        read.certificates()[0].clone()
    }

    pub(crate) fn bundle(&self, config_map: &str) -> Option<Rc<CertificateBundle>> {
        let text = self.observed.config_maps.get(config_map)?.data.get(BUNDLE_KEY)?;
        Some(self.read(std::str::from_utf8(text).unwrap()))
    }

    /// Checks that everyone of a world that has not changed is still believed.
    pub(crate) fn check_time(&self) {
        assert!(self.now <= self.good_until.get(), "something ended at {}", self.good_until.get());
    }

    /// Checks that everyone who is there is believed by everyone whom they meet.
    pub(crate) fn check(&self) {
        self.good_until.set(Timestamp::MAX);
        self.check_between(&self.observed, &self.observed);
    }

    /// Checks that those who have loaded one state are believed by those who have loaded another.
    pub(crate) fn check_between(&self, shown: &Observed, believed: &Observed) {
        let text = |data: &Data, key: &str| String::from_utf8(data[key].clone()).unwrap();
        for spec in LEAVES.iter().filter(|spec| shown.secrets.contains_key(spec.secret)) {
            let certificate = self.read(&text(&shown.secrets[spec.secret].data, spec.files.certificate));
            let bundles = BUNDLES.iter().filter(|bundle| bundle.authorities.contains(&spec.signer));
            let bundles =
                bundles.filter_map(|bundle| Some(text(&believed.config_maps.get(bundle.config_map)?.data, BUNDLE_KEY)));
            let mut bundles: Vec<String> = bundles.collect();
            if let (Some(key), Some(peer)) = (spec.files.trust, believed.secrets.get(spec.secret)) {
                bundles.push(text(&peer.data, key));
            }
            if spec.signer == Authority::Ignition
                && let Some(peer) = believed.secrets.get(spec.signer.spec().secret)
            {
                bundles.push(text(&peer.data, "tls.crt"));
            }
            for bundle in bundles {
                self.verify(&self.read(&bundle), &certificate.certificates()[0], spec.ends, spec.secret);
            }
        }
        for spec in &KUBECONFIGS {
            if let Some(stored) = believed.secrets.get(&spec.secret(&self.names)) {
                self.check_kubeconfig(&text(&stored.data, spec.key), spec.reach, shown);
            }
        }
    }

    fn verify(&self, bundle: &CertificateBundle, certificate: &Certificate, ends: Ends, name: &str) {
        let now = self.now;
        let issuer = bundle.certificates().iter().find(|authority| certificate.is_issued_by(authority));
        let Some(issuer) = issuer else { panic!("{name} at {now}: {certificate:?} is not trusted by {bundle:?}") };
        assert!(
            issuer.is_valid_at(now) && certificate.is_valid_at(now),
            "{name} at {now}: {certificate:?}, {issuer:?}"
        );
        self.good_until.set(self.good_until.get().min(issuer.not_after()).min(certificate.not_after()));
        let mut hasher = DefaultHasher::new();
        bundle.certificates().iter().for_each(|own| own.der().hash(&mut hasher));
        (certificate.der(), ends != Ends::Client, ends != Ends::Server).hash(&mut hasher);
        if !self.verified.borrow_mut().insert(hasher.finish()) {
            return;
        }
        if ends != Ends::Client {
            assert_eq!(bundle.verify_server(certificate, &[], now), Ok(()), "{name} at {now}: {certificate:?}");
        }
        if ends != Ends::Server {
            assert_eq!(bundle.verify_client(certificate, &[], now), Ok(()), "{name} at {now}: {certificate:?}");
        }
    }

    fn check_kubeconfig(&self, text: &str, reach: Reach, servers: &Observed) {
        let lines: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.trim().split_once(": ")).collect();
        let decoded = |key: &str| String::from_utf8(STANDARD.decode(lines[key]).unwrap()).unwrap();
        let trust = self.read(&decoded("certificate-authority-data"));
        let client = self.read(&decoded("client-certificate-data")).certificates()[0].clone();
        let serving = match reach {
            Reach::ServiceNetwork => "kas-server-private-crt",
            _ => "kas-server-crt",
        };
        let server = self.read(std::str::from_utf8(&servers.secrets[serving].data["tls.crt"]).unwrap());
        let server = &server.certificates()[0];
        self.verify(&trust, server, Ends::Server, "kubeconfig");
        let host = lines["server"].trim_matches('"').strip_prefix("https://").unwrap().rsplit_once(':').unwrap().0;
        let host = AlternativeName::host(host.trim_matches(['[', ']']));
        assert!(server.alternative_names().contains(&host), "{host} at {}", self.now);
        if let Some(clients) = servers.config_maps.get(CLIENT_BUNDLE) {
            let clients = self.read(std::str::from_utf8(&clients.data[BUNDLE_KEY]).unwrap());
            self.verify(&clients, &client, Ends::Client, "kubeconfig");
        }
    }
}
