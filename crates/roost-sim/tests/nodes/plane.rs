//! An API to join: the engine in this process, on a real socket, with somebody who answers signing requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use roost_apiserver::{Cluster, ClusterConfig, Engine, Host, Identity, ServingCertificate, serve, tls_config};
use roost_pki::{Credential, Kubeconfig, Secret};
use roost_store::{Options, Store};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long a state may take to come about before a test gives up.
const PATIENCE: Duration = Duration::from_mins(1);
const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const TOKEN_ID: &str = "abcdef";
const TOKEN_SECRET: &str = "0123456789abcdef";

/// The credential of every host here.
pub(crate) fn bootstrap_token() -> Secret<String> {
    Secret::new(format!("{TOKEN_ID}.{TOKEN_SECRET}"))
}

/// How signing requests are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Approved,
    Denied,
}

pub(crate) struct Plane {
    pub(crate) cluster: Arc<Cluster>,
    client: kube::Client,
    pub(crate) authority: String,
    pub(crate) port: u16,
    tasks: Vec<JoinHandle<()>>,
    _stop: watch::Sender<bool>,
}

impl Drop for Plane {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Plane {
    pub(crate) async fn start(answer: Answer) -> Plane {
        let store = Store::memory(Options::default());
        let config = ClusterConfig::default();
        let now = Timestamp::now();
        let identity = Identity::generate(now, "https://kubernetes.default.svc").expect("keys");
        let authority = identity.authority.certificate().to_pem();
        let server = identity.authority.issue_server("server", &["127.0.0.1"], now, SignedDuration::from_hours(24));
        let server = server.expect("a certificate");
        let key = server.key.to_pkcs8_der().expect("a key").into_exposed();
        let certificate = ServingCertificate::new(vec![server.certificate.to_tls()], rustls_key(key)).expect("TLS");
        let tls = Arc::new(tls_config(certificate).expect("TLS"));
        let cluster = Cluster::new("test", store.clone(), config, identity);
        cluster.bootstrap().await.expect("the first objects");
        let engine = Engine::new(store);
        engine.add(Arc::clone(&cluster));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (stop, stopping) = watch::channel(false);
        let client = cluster.client();
        let tasks = vec![
            tokio::spawn(engine.run()),
            tokio::spawn(serve(Host { cluster: Arc::clone(&cluster), tls }, listener, stopping)),
            tokio::spawn(answer_requests(client.clone(), answer)),
        ];
        let plane = Plane { cluster, client, authority, port, tasks, _stop: stop };
        plane.allow_bootstrap().await;
        plane
    }

    /// What a host is given to ask for its first certificate.
    pub(crate) fn bootstrap_kubeconfig(&self) -> Vec<u8> {
        let token = Credential::Token(bootstrap_token());
        let server = format!("https://127.0.0.1:{}", self.port);
        Kubeconfig::new("test", &server, &self.authority, "kubelet", token).to_yaml().into_exposed().into_bytes()
    }

    async fn allow_bootstrap(&self) {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
            "metadata": {"name": format!("bootstrap-token-{TOKEN_ID}"), "namespace": "kube-system"},
            "stringData": {
                "token-id": TOKEN_ID, "token-secret": TOKEN_SECRET, "usage-bootstrap-authentication": "true",
            },
        });
        self.create("/api/v1/namespaces/kube-system/secrets", &secret).await;
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "bootstrappers"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:node-bootstrapper",
            },
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:bootstrappers"}],
        });
        self.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding).await;
    }

    pub(crate) async fn create(&self, path: &str, object: &Value) -> Value {
        self.try_create(path, object).await.expect("an object")
    }

    pub(crate) async fn try_create(&self, path: &str, object: &Value) -> Result<Value, kube::Error> {
        send(&self.client, "POST", path, Some(object)).await
    }

    pub(crate) async fn delete(&self, path: &str) {
        send(&self.client, "DELETE", path, None).await.expect("an object that goes");
    }

    pub(crate) async fn wait_until_gone(&self, path: &str) {
        let start = Instant::now();
        while let Some(object) = self.get(path).await {
            assert!(start.elapsed() < PATIENCE, "{path} is still {object}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Option<Value> {
        self.try_get(path).await.ok()
    }

    pub(crate) async fn try_get(&self, path: &str) -> Result<Value, kube::Error> {
        send(&self.client, "GET", path, None).await
    }

    /// The requests that nodes made for one kind of certificate.
    pub(crate) async fn requests(&self, signer: &str) -> usize {
        let list = self.get(REQUESTS).await.expect("a list");
        let items = list["items"].as_array().expect("items");
        items.iter().filter(|item| item["spec"]["signerName"] == signer).count()
    }

    /// Waits until an object is as it should be.
    pub(crate) async fn wait_for(&self, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let object = self.get(path).await;
            if let Some(object) = object.as_ref().filter(|object| holds(object)) {
                return object.clone();
            }
            assert!(start.elapsed() < PATIENCE, "{path} is still {object:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn rustls_key(pkcs8: Vec<u8>) -> rustls_pki_types::PrivateKeyDer<'static> {
    rustls_pki_types::PrivateKeyDer::Pkcs8(pkcs8.into())
}

async fn answer_requests(client: kube::Client, answer: Answer) {
    loop {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let Ok(list) = send(&client, "GET", REQUESTS, None).await else { continue };
        for mut request in list["items"].as_array().cloned().unwrap_or_default() {
            if request["status"]["conditions"].is_array() {
                continue;
            }
            let kind = if answer == Answer::Approved { "Approved" } else { "Denied" };
            request["status"]["conditions"] =
                json!([{"type": kind, "status": "True", "reason": "Test", "message": "the test says so"}]);
            let name = request["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let _ = send(&client, "PUT", &format!("{REQUESTS}/{name}/approval"), Some(&request)).await;
        }
    }
}

async fn send(client: &kube::Client, method: &str, path: &str, body: Option<&Value>) -> Result<Value, kube::Error> {
    let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
    let request = http::Request::builder().method(method).uri(path).header("content-type", "application/json");
    client.request(request.body(bytes).expect("a request")).await
}
