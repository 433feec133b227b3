//! The listeners that images come from: open while there is an InfraEnv, with a Service that says where.

use std::net::SocketAddr;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use roost_ignition_server::{ServingCertificate, tls_config};
use roost_image_server::{Exposure, Gate, Limits, Server};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::context::{Front, ReconcileError};
use crate::discovery::{Discovery, keys};
use crate::install::NAMESPACE;
use crate::object::{Kind, Reference, has_all};

/// The Service that hosts and management controllers reach. Upstream's name.
const SERVICE: &str = "assisted-image-service";

/// Where images are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoints {
    /// Everything, over TLS.
    pub(crate) images: String,
    /// What firmware fetches that knows no TLS.
    pub(crate) boot: String,
}

/// The listeners, if they are open.
#[derive(Default)]
pub(crate) struct ImageListener {
    running: Mutex<Option<Running>>,
    /// Two passes that open the same ports would be in each other's way.
    opening: tokio::sync::Mutex<()>,
}

struct Running {
    ports: (u16, u16),
    renewal: Timestamp,
    endpoints: Endpoints,
    stop: watch::Sender<bool>,
    tasks: [JoinHandle<()>; 2],
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

impl Gate for Discovery {
    fn environment(&self, token: &str) -> Option<String> {
        self.published()?.read(token, Timestamp::now()).map(|claims| claims.infra_env_id)
    }

    fn boots_disk(&self, infra_env: &str, card: &str) -> bool {
        self.environments.find(infra_env).is_some_and(|(namespace, _)| self.hosts.is_installed(&namespace, card))
    }
}

/// The discovery service, which the server of images shares.
struct Shared(Arc<Discovery>);

impl Gate for Shared {
    fn environment(&self, token: &str) -> Option<String> {
        self.0.environment(token)
    }

    fn boots_disk(&self, infra_env: &str, card: &str) -> bool {
        self.0.boots_disk(infra_env, card)
    }
}

impl ImageListener {
    /// Makes sure that images are served, and says where; none while the Service has no ports.
    pub(crate) async fn ensure(
        &self,
        discovery: &Arc<Discovery>,
        front: Front,
        now: Timestamp,
    ) -> Result<Option<Endpoints>, ReconcileError> {
        let _opening = self.opening.lock().await;
        let objects = &discovery.objects;
        let document = service();
        let live = match objects.find(Kind::Service, NAMESPACE, SERVICE).await? {
            Some(live) if has_all(&live, &document) => live,
            _ => objects.apply(&document).await?,
        };
        let (Some(secure), Some(plain)) = (node_port(&live, "https"), node_port(&live, "http")) else {
            return Ok(None);
        };
        let known = {
            let running = self.running.lock();
            let is_good = |running: &&Running| {
                running.ports == (secure, plain)
                    && running.renewal > now
                    && !running.tasks.iter().any(JoinHandle::is_finished)
            };
            running.as_ref().filter(is_good).map(|running| running.endpoints.clone())
        };
        if let Some(known) = known {
            return Ok(Some(known));
        }
        // Whoever is there already leaves the ports before they are taken again.
        if let Some(running) = self.running.lock().take() {
            running.tasks.iter().for_each(JoinHandle::abort);
        }
        let serving = keys::serving(objects, &front.address.to_string(), now).await?;
        let refused = |error: roost_ignition_server::CertificateError| ReconcileError::Refused(error.to_string());
        let certificate = ServingCertificate::from_pem(&serving.certificate, &serving.key).map_err(refused)?;
        let tls = Arc::new(tls_config(certificate).map_err(refused)?);
        let (secure_listener, plain_listener) = (open(front, secure).await?, open(front, plain).await?);
        let server =
            Server::new(Arc::clone(&discovery.images.images), Shared(Arc::clone(discovery)), Limits::default());
        let (stop, stopped) = watch::channel(false);
        let tasks = [
            tokio::spawn(Arc::clone(&server).serve(secure_listener, Some(tls), Exposure::Everything, stopped.clone())),
            tokio::spawn(server.serve(plain_listener, None, Exposure::BootOnly, stopped)),
        ];
        let endpoints = Endpoints {
            images: format!("https://{}", SocketAddr::new(front.address, secure)),
            boot: format!("http://{}", SocketAddr::new(front.address, plain)),
        };
        discovery.images.publish(Some(endpoints.clone()));
        let ports = (secure, plain);
        *self.running.lock() =
            Some(Running { ports, renewal: serving.renewal, endpoints: endpoints.clone(), stop, tasks });
        Ok(Some(endpoints))
    }

    /// Closes the listeners: there is no InfraEnv any more.
    pub(crate) async fn close(&self, discovery: &Discovery) -> Result<(), ReconcileError> {
        let _opening = self.opening.lock().await;
        let was_open = self.running.lock().take().is_some();
        discovery.images.publish(None);
        if was_open {
            discovery.objects.delete(&Reference::new(Kind::Service, NAMESPACE, SERVICE)).await?;
        }
        Ok(())
    }
}

async fn open(front: Front, port: u16) -> Result<TcpListener, ReconcileError> {
    let address = SocketAddr::new(front.listen, port);
    let refused = |error| ReconcileError::Refused(format!("the server of images cannot listen on {address}: {error}"));
    TcpListener::bind(address).await.map_err(refused)
}

fn node_port(service: &Value, name: &str) -> Option<u16> {
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    let port = ports.filter(|port| port["name"] == name).find_map(|port| port["nodePort"].as_u64())?;
    u16::try_from(port).ok().filter(|&port| port > 0)
}

fn service() -> Value {
    let port = |name: &str, port: u16| json!({"name": name, "port": port, "protocol": "TCP", "targetPort": port});
    json!({
        "apiVersion": "v1", "kind": Kind::Service.name(),
        "metadata": {"name": SERVICE, "namespace": NAMESPACE, "labels": {"app": SERVICE}},
        "spec": {"type": "NodePort", "ports": [port("https", 8080), port("http", 8081)]},
    })
}
