//! The node that the pods are bound to: a pretended one, or a stock kubelet with containerd in namespaces.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::assets;
use crate::conformance::FakeNode;
use crate::kubeconfig::Kubeconfig;
use crate::pki;
use crate::plane::Plane;

use super::ComponentsError;
use super::forward::Forward;
use super::kubectl::Kubectl;

/// Starts and stops the namespaces.
const SCRIPT: &str = "tests/src/components/node.sh";
const TOKEN_ID: &str = "abcdef";
const TOKEN_SECRET: &str = "0123456789abcdef";

/// A node; dropping it ends it and removes what it made.
pub(super) enum Node {
    /// An object that says it is ready.
    Pretended { _heartbeat: FakeNode },
    /// A real one.
    Kubelet(Namespaces),
}

/// A kubelet with its runtime.
pub(super) struct Namespaces {
    plane: String,
    name: String,
    network: String,
    directory: PathBuf,
    forward: Option<Forward>,
}

impl Node {
    /// Makes a Node object and keeps it ready.
    pub(super) async fn pretend(plane: &Plane) -> Result<Self, ComponentsError> {
        Ok(Self::Pretended { _heartbeat: FakeNode::start(plane.administrator()?).await? })
    }

    /// Lets a kubelet join with a bootstrap token and waits until its node is ready.
    pub(super) async fn kubelet(
        plane: &str,
        server: &Kubeconfig,
        kubectl: &Kubectl,
        directory: &Path,
        network: &str,
    ) -> Result<Self, ComponentsError> {
        let directory = directory.join("node");
        std::fs::create_dir_all(&directory)
            .map_err(|source| ComponentsError::File { path: directory.clone(), source })?;
        let port = server.server.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_default();
        pki::write(&directory.join("ca.crt"), &server.authority)?;
        pki::write(&directory.join("bootstrap.kubeconfig"), &bootstrap_kubeconfig(server, port).to_string())?;
        kubectl.with_input("apply -f -", &bootstrap_objects().to_string()).await?;
        let name = format!("node-{plane}");
        let mut node =
            Namespaces { plane: plane.to_owned(), name, network: network.to_owned(), directory, forward: None };
        node.script("network", &[]).await?;
        let near = format!("{network}.1:{port}").parse::<SocketAddr>().expect("a network is three numbers");
        let far = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let forward = Forward::start(near, far).await;
        node.forward = Some(forward.map_err(|source| ComponentsError::File { path: near.to_string().into(), source })?);
        node.script("start", &[&assets::binary("kubelet")?]).await?;
        node.join(kubectl).await?;
        Ok(Self::Kubelet(node))
    }

    /// Where it complains.
    pub(super) fn log(&self) -> Option<PathBuf> {
        match self {
            Self::Pretended { .. } => None,
            Self::Kubelet(node) => Some(node.directory.join("kubelet.log")),
        }
    }
}

impl Namespaces {
    /// Approves both requests of the kubelet, as they come.
    async fn join(&self, kubectl: &Kubectl) -> Result<(), ComponentsError> {
        for signer in ["kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"] {
            let from_signer =
                |items: &[Value]| items.iter().any(|item| item.pointer("/spec/signerName") == Some(&json!(signer)));
            let line = "get certificatesigningrequests";
            let requests = kubectl.wait_for("the request of the kubelet", line, from_signer).await?;
            let names = requests.iter().filter_map(|request| request.pointer("/metadata/name")?.as_str());
            kubectl.run(&format!("certificate approve {}", names.collect::<Vec<_>>().join(" "))).await?;
        }
        kubectl.run(&format!("wait --for=condition=Ready node/{} --timeout=150s", self.name)).await?;
        Ok(())
    }

    async fn script(&self, action: &str, further: &[&Path]) -> Result<(), ComponentsError> {
        let failed = |output: String| ComponentsError::Command {
            plane: self.plane.clone(),
            command: format!("node.sh {action}"),
            output,
        };
        // The output goes to a file, since a pipe would stay open as long as what the script leaves running.
        let log = self.directory.join("script.log");
        let file = std::fs::File::create(&log).map_err(|error| failed(error.to_string()))?;
        let errors = file.try_clone().map_err(|error| failed(error.to_string()))?;
        let status = Command::new("sh")
            .arg(assets::repository().join(SCRIPT))
            .arg(action)
            .arg(&self.directory)
            .args([&self.name, &self.network])
            .args(further)
            .stdout(file)
            .stderr(errors)
            .status()
            .await
            .map_err(|error| failed(error.to_string()))?;
        if status.success() { Ok(()) } else { Err(failed(super::parts::read(&log)?)) }
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        let stopped = std::process::Command::new("sh")
            .arg(assets::repository().join(SCRIPT))
            .arg("stop")
            .arg(&self.directory)
            .args([&self.name, &self.network])
            .status();
        if !stopped.is_ok_and(|status| status.success()) {
            eprintln!("the node {} was not cleaned up", self.name);
        }
    }
}

fn bootstrap_kubeconfig(server: &Kubeconfig, port: u16) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "plane",
        "contexts": [{"name": "plane", "context": {"cluster": "plane", "user": "bootstrap"}}],
        "clusters": [{"name": "plane", "cluster": {
            "server": format!("https://kubernetes:{port}"),
            "certificate-authority-data": STANDARD.encode(&server.authority),
        }}],
        "users": [{"name": "bootstrap", "user": {"token": format!("{TOKEN_ID}.{TOKEN_SECRET}")}}],
    })
}

/// The token of the kubelet, and the permission to ask for a certificate with it.
fn bootstrap_objects() -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {
            "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
            "metadata": {"name": format!("bootstrap-token-{TOKEN_ID}"), "namespace": "kube-system"},
            "stringData": {
                "token-id": TOKEN_ID, "token-secret": TOKEN_SECRET, "usage-bootstrap-authentication": "true",
                "auth-extra-groups": "system:bootstrappers:components",
            },
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "bootstrappers"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:node-bootstrapper"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:bootstrappers"}],
        },
    ]})
}
