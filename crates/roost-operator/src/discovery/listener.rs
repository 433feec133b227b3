//! The service's listener: open while there is an InfraEnv, with a Service that says where.

use std::net::SocketAddr;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use roost_discovery::{Server, Settings};
use roost_ignition_server::ServingCertificate;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Discovery, Published, keys};
use crate::context::{Front, ReconcileError};
use crate::install::NAMESPACE;
use crate::object::{Kind, Reference, has_all};

/// The Service that hosts reach. Upstream's name.
const SERVICE: &str = "assisted-service";

/// The listener, if it is open.
#[derive(Default)]
pub(crate) struct Listener {
    running: Mutex<Option<Running>>,
    /// Two passes that open the same port would be in each other's way.
    opening: tokio::sync::Mutex<()>,
}

struct Running {
    address: SocketAddr,
    renewal: Timestamp,
    published: Published,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

impl Listener {
    /// Makes sure that the service runs, and says how it is reached; none while its Service has no port.
    pub(crate) async fn ensure(
        &self,
        discovery: &Arc<Discovery>,
        front: Front,
        now: Timestamp,
    ) -> Result<Option<Published>, ReconcileError> {
        let _opening = self.opening.lock().await;
        let objects = &discovery.objects;
        let live = objects.find(Kind::Service, NAMESPACE, SERVICE).await?;
        let document = service();
        let live = match live {
            Some(live) if has_all(&live, &document) => live,
            _ => objects.apply(&document).await?,
        };
        let Some(port) = node_port(&live) else { return Ok(None) };
        let address = SocketAddr::new(front.listen, port);
        let known = {
            let running = self.running.lock();
            let good =
                |running: &&Running| running.address == address && running.renewal > now && !running.task.is_finished();
            running.as_ref().filter(good).map(|running| running.published.clone())
        };
        if let Some(known) = known {
            return Ok(Some(known));
        }
        // Whoever is there already leaves the port before it is taken again.
        if let Some(running) = self.running.lock().take() {
            running.task.abort();
        }
        let (signer, signing_renewal) = keys::signer(objects, now).await?;
        let serving = keys::serving(objects, &front.address.to_string(), now).await?;
        let certificate = ServingCertificate::from_pem(&serving.certificate, &serving.key)
            .map_err(|error| ReconcileError::Refused(error.to_string()))?;
        let opened = TcpListener::bind(address).await.map_err(|error| {
            ReconcileError::Refused(format!("the discovery service cannot listen on {address}: {error}"))
        })?;
        let host = match front.address {
            std::net::IpAddr::V4(address) => address.to_string(),
            std::net::IpAddr::V6(address) => format!("[{address}]"),
        };
        let published =
            Published { url: format!("https://{host}:{port}"), authority: serving.authority, signer: Arc::new(signer) };
        *discovery.published.write() = Some(published.clone());
        let server = Server::new(Arc::clone(discovery), Settings::default());
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(async move {
            if let Err(error) = server.serve(opened, certificate, stopped).await {
                tracing::error!(%error, "the discovery service ended");
            }
        });
        let renewal = serving.renewal.min(signing_renewal);
        let running = Running { address, renewal, published: published.clone(), stop, task };
        *self.running.lock() = Some(running);
        Ok(Some(published))
    }

    /// Closes the service: there is no InfraEnv any more.
    pub(crate) async fn close(&self, discovery: &Discovery) -> Result<(), ReconcileError> {
        let _opening = self.opening.lock().await;
        let was_open = self.running.lock().take().is_some();
        *discovery.published.write() = None;
        if was_open {
            discovery.objects.delete(&Reference::new(Kind::Service, NAMESPACE, SERVICE)).await?;
        }
        Ok(())
    }
}

fn node_port(service: &Value) -> Option<u16> {
    service["spec"]["ports"][0]["nodePort"].as_u64().and_then(|port| u16::try_from(port).ok()).filter(|&port| port > 0)
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": Kind::Service.name(),
        "metadata": {"name": SERVICE, "namespace": NAMESPACE, "labels": {"app": SERVICE}},
        "spec": {"type": "NodePort", "ports": [{"name": "https", "port": 8090, "protocol": "TCP", "targetPort": 8090}]},
    })
}
