//! Hosted clusters of one `hcp up` beside each other: each is found where it is published, and nothing that opens one
//! opens another or the management plane.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use http::header::{AUTHORIZATION, HeaderValue};
use http::{Method, StatusCode};
use roost_tests::client::{Call, Client};
use roost_tests::hosted::{self, HostedCluster};
use roost_tests::kubeconfig::Kubeconfig;
use roost_tests::pki::{self, Identity};
use roost_tests::process::Process;
use roost_tests::{assets, hostile, plane};
use serde_json::{Value, json};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(50);
const SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";

/// How many were started.
static STARTED: AtomicU8 = AtomicU8::new(1);

/// A running `hcp up` and where it listens.
struct Up {
    _process: Process,
    directory: tempfile::TempDir,
    listen: String,
}

impl Up {
    async fn start() -> Up {
        let directory = tempfile::tempdir().expect("a directory");
        // Ports of hosted clusters come from one range, so this plane has a loopback address of its own.
        let own = u8::try_from(std::process::id() % 250).unwrap_or_default() + 1;
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let listen = format!("127.{own}.78.{number}:{}", plane::free_port().expect("a port"));
        let data = directory.path().join("data");
        let words = ["up", "--data-dir", &data.to_string_lossy(), "--listen", &listen].map(OsString::from);
        let binary = hostile::binary().expect("a server");
        let process = Process::start("hcp", &binary, words, directory.path()).expect("a process");
        let up = Up { _process: process, directory, listen };
        let start = Instant::now();
        while !matches!(kubectl(&up.admin(), &["get", "hostedclusters", "-A"]), output if output.status.success()) {
            assert!(start.elapsed() < PATIENCE, "the kinds are not there");
            tokio::time::sleep(PAUSE).await;
        }
        up
    }

    fn admin(&self) -> PathBuf {
        self.directory.path().join("data").join("admin.kubeconfig")
    }

    /// Makes a cluster and writes its kubeconfig as soon as it is available.
    async fn host(&self, name: &str, publishing: Value) -> PathBuf {
        let cluster = HostedCluster::published(name, publishing);
        let client = management(&self.admin()).await;
        hosted::create(&client, &cluster).await.expect("a cluster that is accepted");
        printed(
            &self.admin(),
            &["wait", "-n", "clusters", "--for=condition=Available", "--timeout=60s", &format!("hostedcluster/{name}")],
        );
        let path = self.directory.path().join(name);
        let text = hosted::kubeconfig_of(&client, &cluster).await.expect("a kubeconfig");
        std::fs::write(&path, text).expect("a file");
        path
    }
}

fn kubectl(kubeconfig: &Path, words: &[&str]) -> Output {
    let kubectl = assets::binary("kubectl").expect("kubectl");
    Command::new(kubectl).arg("--kubeconfig").arg(kubeconfig).args(words).output().expect("kubectl runs")
}

/// What kubectl prints when all is well.
fn printed(kubeconfig: &Path, words: &[&str]) -> String {
    let output = kubectl(kubeconfig, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

async fn management(kubeconfig: &Path) -> kube::Client {
    let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.expect("a configuration");
    kube::Client::try_from(config).expect("a client")
}

/// Something that opens one plane.
enum Credential {
    Certificate(Identity),
    Token(String),
}

/// A plane and all kinds of credentials that it gives out.
struct Home {
    name: &'static str,
    client: Client,
    credentials: Vec<(&'static str, Credential)>,
}

impl Home {
    async fn new(name: &'static str, number: u8, kubeconfig: &Path) -> Home {
        let kubeconfig = Kubeconfig::read(kubeconfig).expect("a kubeconfig");
        let client = Client::administrator(&kubeconfig).expect("a client");
        let credentials = vec![
            ("the administrator's certificate", Credential::Certificate(kubeconfig.administrator.clone())),
            ("a certificate that it signed", Credential::Certificate(signed(&client).await)),
            ("a token of a service account", Credential::Token(account_token(&client).await)),
            ("a bootstrap token", Credential::Token(bootstrap_token(&client, number).await)),
        ];
        Home { name, client, credentials }
    }

    /// The answer to somebody with a credential, of whatever plane.
    async fn answer(&self, credential: &Credential, mut call: Call) -> StatusCode {
        let client = match credential {
            Credential::Certificate(identity) => self.client.with_identity(Some(identity)),
            Credential::Token(token) => {
                let value = HeaderValue::from_str(&format!("Bearer {token}")).expect("a token is visible text");
                call.headers.insert(AUTHORIZATION, value);
                self.client.with_identity(None)
            }
        };
        client.expect("a client").send(call).await.expect("an answer").status
    }
}

async fn made(client: &Client, path: &str, body: &Value) -> Value {
    let answer = client.send(Call::new(Method::POST, path).json(body)).await.expect("an answer");
    assert_eq!(answer.status, StatusCode::CREATED, "{path}: {}", String::from_utf8_lossy(&answer.body));
    answer.json()
}

/// A client certificate of somebody who may do everything, by the way that everybody can ask for one.
async fn signed(client: &Client) -> Identity {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::STANDARD;
    let (request, key) = pki::signing_request("somebody", &["team"], &[]).expect("a request");
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let body = json!({"metadata": {"name": "somebody"}, "spec": {
        "request": engine.encode(request), "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}});
    let mut object = made(client, path, &body).await;
    object["status"] = json!({"conditions": [{"type": "Approved", "status": "True", "reason": "Test"}]});
    let approval = Call::new(Method::PUT, format!("{path}/somebody/approval")).json(&object);
    assert!(client.send(approval).await.expect("an answer").status.is_success());
    let binding = json!({"metadata": {"name": "somebody"}, "subjects": [{"kind": "User", "name": "somebody"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}});
    made(client, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding).await;
    let start = Instant::now();
    loop {
        let object = client.send(Call::get(format!("{path}/somebody"))).await.expect("an answer").json();
        if let Some(certificate) = object["status"]["certificate"].as_str() {
            let certificate = engine.decode(certificate).expect("base64");
            return Identity { certificate: String::from_utf8(certificate).expect("PEM"), key };
        }
        assert!(start.elapsed() < PATIENCE, "not signed: {object}");
        tokio::time::sleep(PAUSE).await;
    }
}

async fn account_token(client: &Client) -> String {
    made(client, "/api/v1/namespaces/kube-system/serviceaccounts", &json!({"metadata": {"name": "robot"}})).await;
    let path = "/api/v1/namespaces/kube-system/serviceaccounts/robot/token";
    let binding = json!({"metadata": {"name": "robot"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "kube-system"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}});
    made(client, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding).await;
    made(client, path, &json!({"spec": {}})).await["status"]["token"].as_str().expect("a token").to_owned()
}

/// All have the same id, and secrets of their own.
async fn bootstrap_token(client: &Client, number: u8) -> String {
    let token_secret = format!("0123456789abcde{number}");
    let secret = json!({"metadata": {"name": "bootstrap-token-abcdef"}, "type": "bootstrap.kubernetes.io/token",
        "stringData": {"token-id": "abcdef", "token-secret": token_secret, "usage-bootstrap-authentication": "true",
            "auth-extra-groups": "system:bootstrappers:test"}});
    made(client, SECRETS, &secret).await;
    let binding = json!({"metadata": {"name": "bootstrappers"},
        "subjects": [{"kind": "Group", "name": "system:bootstrappers:test"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}});
    made(client, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding).await;
    format!("abcdef.{token_secret}")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_opens_one_plane_opens_no_other() {
    let up = Up::start().await;
    let (address, _) = up.listen.split_once(':').expect("an address");
    let node_port = json!({"type": "NodePort", "nodePort": {"address": address}});
    let one = up.host("one", node_port.clone()).await;
    let two = up.host("two", node_port).await;
    let homes = [
        Home::new("the management plane", 1, &up.admin()).await,
        Home::new("one", 2, &one).await,
        Home::new("two", 3, &two).await,
    ];
    for home in &homes {
        for (what, credential) in &home.credentials {
            for target in &homes {
                let wanted = if target.name == home.name { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
                let answer = target.answer(credential, Call::get(SECRETS)).await;
                assert_eq!(answer, wanted, "{what} of {} at {}", home.name, target.name);
            }
        }
    }
    let nobody = homes[2].client.with_identity(None).expect("a client");
    assert_eq!(nobody.send(Call::get(SECRETS)).await.expect("an answer").status, StatusCode::FORBIDDEN);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_found_where_it_is_published() {
    let up = Up::start().await;
    let server = format!("https://{}", up.listen);
    let named = up.host("named", json!({"type": "Route", "route": {"hostname": "api.named.example.test"}})).await;
    let other = up.host("other", json!({"type": "Route", "route": {"hostname": "api.other.example.test"}})).await;
    let balanced = up.host("balanced", json!({"type": "LoadBalancer", "loadBalancer": {}})).await;

    // A load balancer is this machine, and says so.
    assert!(printed(&balanced, &["get", "namespaces"]).contains("kube-system"));
    let service = ["-n", "clusters-balanced", "get", "service", "kube-apiserver", "-o"];
    let (address, port) = up.listen.split_once(':').expect("an address");
    let shown =
        printed(&up.admin(), &[&service[..], &["jsonpath={.spec.type} {.status.loadBalancer.ingress[0].ip}"]].concat());
    assert_eq!(shown, format!("LoadBalancer {address}"));

    // Names share one listener, which is the management plane's; whoever gives no name is there for that.
    let written = std::fs::read_to_string(&named).expect("a kubeconfig");
    assert!(written.contains(&format!("https://api.named.example.test:{port}")), "{written}");
    let by_name = |kubeconfig: &Path, name: &str| {
        kubectl(
            kubeconfig,
            &["--server", &server, "--tls-server-name", name, "get", "configmaps", "-n", "kube-public", "-o", "name"],
        )
    };
    for (kubeconfig, name) in [(&named, "api.named.example.test"), (&other, "api.other.example.test")] {
        let output = by_name(kubeconfig, name);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let guessed = by_name(&named, "api.other.example.test");
    assert!(!guessed.status.success());
    let words = String::from_utf8_lossy(&guessed.stderr);
    assert!(words.contains("certificate signed by unknown authority") || words.contains("Unauthorized"), "{words}");
}
