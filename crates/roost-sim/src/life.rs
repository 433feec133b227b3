//! The life of a simulated node, from its bootstrap credential to its heartbeats.

use std::sync::Arc;

use parking_lot::Mutex;
use roost_pki::AlternativeName;
use tokio::sync::watch;

use crate::access::Access;
use crate::certificate::{self, CertificateError, Purpose, Step};
use crate::client::{Client, words};
use crate::clock::Clock;
use crate::configure::{self, Configuration, ConfigureError};
use crate::disk::Disk;
use crate::identity::Identity;
use crate::ignition::Fetcher;
use crate::kubelet::{self, Disks, Kubelet, Shown};
use crate::network::Network;
use crate::node::{self, Facts};
use crate::pods::{Addresses, View, Worker};
use crate::progress::{Reporter, Stage};
use crate::retry::Backoff;
use crate::spec::NodeSpec;
use crate::timing;
use crate::trust::{Trust, TrustError};
use crate::update::Updater;

const HTTP2: &[u8] = b"h2";
/// Where a kubelet keeps its client certificate and key.
const CLIENT_FILE: &str = "kubelet-client-current.pem";
/// Where a kubelet keeps its serving certificate and key.
const SERVING_FILE: &str = "kubelet-server-current.pem";

/// Why a node comes no further for now.
#[derive(Debug, thiserror::Error)]
enum LifeError {
    #[error(transparent)]
    Configure(#[from] ConfigureError),
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error("the node's keys could not be kept")]
    Disk(#[from] std::io::Error),
    #[error("the node's keys could not be written down")]
    Keys(#[from] roost_pki::Error),
}

impl LifeError {
    /// Whether the API does not know the node's credential any more.
    fn is_unknown(&self) -> bool {
        matches!(self, Self::Certificate(CertificateError::Send(error)) if error.is(http::StatusCode::UNAUTHORIZED))
    }
}

/// All that a node lives with.
pub(crate) struct Life {
    spec: NodeSpec,
    trust: Arc<Trust>,
    clock: Clock,
    network: Arc<Network>,
    disk: Disk,
    reporter: Reporter,
    number: u32,
}

impl Life {
    pub(crate) fn new(
        spec: NodeSpec,
        trust: Arc<Trust>,
        network: Arc<Network>,
        reporter: Reporter,
        number: u32,
    ) -> Self {
        let clock = Clock::with_offset(spec.faults.clock_offset);
        let disk = Disk::new(spec.disk.clone());
        Self { spec, trust, clock, network, disk, reporter, number }
    }

    /// Lives until the future is dropped.
    pub(crate) async fn run(self) {
        let mut backoff = Backoff::new(timing::RETRY, timing::LONGEST_RETRY);
        let (configuration, identity) = loop {
            match Box::pin(self.become_known()).await {
                Ok(known) => break known,
                Err(error) => {
                    if error.is_unknown() {
                        // A host that was off for longer than its credential was good is provisioned anew.
                        configure::forget(&self.disk);
                    }
                    self.reporter.trouble(words(&error));
                    backoff.wait().await;
                }
            }
        };
        self.reporter.reach(Stage::Certified);
        loop {
            match self.serve(&configuration, &identity).await {
                Ok(never) => match never {},
                Err(error) => {
                    self.reporter.trouble(words(&error));
                    backoff.wait().await;
                }
            }
        }
    }

    /// The way to the API and a certificate for it: the one that was kept, or a new one.
    async fn become_known(&self) -> Result<(Configuration, Identity), LifeError> {
        let Self { spec, network, trust, clock, .. } = self;
        let fetcher = Fetcher { spec, network, trust, clock: *clock };
        let configuration = configure::configure(&fetcher, &self.disk, |words| self.reporter.trouble(words)).await?;
        self.reporter.reach(Stage::Configured);
        if let Some(identity) = self.kept(CLIENT_FILE) {
            return Ok((configuration, identity));
        }
        let client = self.client(configuration.access.clone(), None)?;
        let identity = certificate::obtain(&client, Purpose::Client, &configuration.name, &[], |step| {
            self.reporter.reach(match step {
                Step::Requested => Stage::Requested,
                Step::Approved => Stage::Approved,
            });
        })
        .await?;
        self.keep(CLIENT_FILE, &identity)?;
        Ok((configuration, identity))
    }

    fn kept(&self, file: &str) -> Option<Identity> {
        let identity = Identity::from_pem(&self.disk.read(file)?).ok()?;
        identity.certificate().is_valid_at(self.clock.now()).then_some(identity)
    }

    fn keep(&self, file: &str, identity: &Identity) -> Result<(), LifeError> {
        self.disk.write(file, identity.to_pem()?.expose())?;
        Ok(())
    }

    fn client(&self, mut access: Access, identity: Option<&Identity>) -> Result<Client, LifeError> {
        if identity.is_some() {
            // The bootstrap credential is good for one certificate and nothing else.
            access.token = None;
        }
        let tls = self.trust.client(&access.authorities, identity, self.clock, HTTP2)?;
        Ok(Client::new(access, Arc::clone(&self.network), tls, &self.spec.version))
    }

    /// Registers and then keeps everything alive that a node has.
    async fn serve(
        &self,
        configuration: &Configuration,
        identity: &Identity,
    ) -> Result<std::convert::Infallible, LifeError> {
        let Configuration { name, access, .. } = configuration;
        let client = Arc::new(self.client(access.clone(), Some(identity))?);
        let listener = kubelet::listen(self.spec.address).await;
        let facts = Facts::of(&self.spec, configuration, kubelet::port(listener.as_ref()));
        let shown = Arc::new(Shown::default());
        let tls = kubelet::tls(&self.trust, Arc::clone(&shown), &configuration.callers)?;
        let view = View::default();
        let kubelet = Kubelet {
            node: name.clone(),
            client: Arc::clone(&client),
            clock: self.clock,
            view: view.clone(),
            disks: Disks::default(),
        };
        let kubelet = async {
            if let Some(listener) = listener {
                kubelet.serve(listener, tls).await;
            }
        };
        let current = Mutex::new(identity.clone());
        let Self { spec, network, trust, clock, disk, reporter, .. } = self;
        let fetcher = Fetcher { spec, network, trust, clock: *clock };
        let updater = Updater { client: &client, fetcher, facts: &facts, identity: &current, disk, reporter };
        let uid = self.register(&client, &facts).await;
        let share = share(name);
        let range = watch::Sender::new(None);
        let pods = Worker {
            client: &client,
            node: name,
            host: self.spec.address,
            clock: self.clock,
            range: range.subscribe(),
            addresses: Addresses::fallback(self.number),
            view,
        };
        tokio::join!(
            pods.run(),
            kubelet,
            node::keep_lease(&client, name, &uid, self.clock, &self.reporter, share),
            node::keep_status(&client, &facts, self.clock, &self.reporter, &range),
            self.keep_client_certificate(&client, configuration, &current, share),
            updater.run(),
            self.keep_serving_certificate(&client, name, &shown, share),
        );
        Ok(std::future::pending().await)
    }

    async fn register(&self, client: &Client, facts: &Facts) -> String {
        let mut backoff = Backoff::new(timing::RETRY, timing::LONGEST_RETRY);
        loop {
            match node::register(client, facts, self.clock.now()).await {
                Ok(node) => {
                    self.reporter.reach(Stage::Registered);
                    return node["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
                }
                Err(error) => self.reporter.trouble(format!("the node could not be registered: {error}")),
            }
            backoff.wait().await;
        }
    }

    async fn keep_client_certificate(
        &self,
        client: &Client,
        configuration: &Configuration,
        current: &Mutex<Identity>,
        share: u8,
    ) {
        let Configuration { name, access, .. } = configuration;
        let mut backoff = Backoff::new(timing::RETRY, timing::LONGEST_RETRY);
        let mut renewal = current.lock().renewal(share);
        loop {
            tokio::time::sleep(self.clock.until(renewal)).await;
            let renewed = async {
                let identity = Box::pin(certificate::obtain(client, Purpose::Client, name, &[], |_| {})).await?;
                self.keep(CLIENT_FILE, &identity)?;
                let tls = self.trust.client(&access.authorities, Some(&identity), self.clock, HTTP2)?;
                let renewal = identity.renewal(share);
                *current.lock() = identity;
                Ok::<_, LifeError>((renewal, tls))
            };
            match renewed.await {
                Ok((next, tls)) => {
                    backoff.reset();
                    renewal = next;
                    client.set_tls(tls).await;
                }
                Err(error) => {
                    self.reporter.trouble(words(&error));
                    backoff.wait().await;
                }
            }
        }
    }

    async fn keep_serving_certificate(&self, client: &Client, name: &str, shown: &Shown, share: u8) {
        let mut backoff = Backoff::new(timing::RETRY, timing::LONGEST_RETRY);
        let mut kept = self.kept(SERVING_FILE);
        loop {
            let identity = match kept.take() {
                Some(identity) => Ok(identity),
                None => self.new_serving_certificate(client, name).await,
            };
            let identity = identity.and_then(|identity| {
                shown.set(&identity, &self.trust)?;
                Ok(identity)
            });
            match identity {
                Ok(identity) => {
                    backoff.reset();
                    self.reporter.reach(Stage::Serving);
                    tokio::time::sleep(self.clock.until(identity.renewal(share))).await;
                }
                Err(error) => {
                    self.reporter.trouble(words(&error));
                    backoff.wait().await;
                }
            }
        }
    }

    async fn new_serving_certificate(&self, client: &Client, name: &str) -> Result<Identity, LifeError> {
        let names = [AlternativeName::Dns(name.to_owned()), AlternativeName::Ip(self.spec.address)];
        let identity = Box::pin(certificate::obtain(client, Purpose::Serving, name, &names, |_| {})).await?;
        self.keep(SERVING_FILE, &identity)?;
        Ok(identity)
    }
}

/// A number of its own for every name, so that what many nodes do now and then is spread.
fn share(name: &str) -> u8 {
    name.bytes().fold(7u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte))
}
