//! The control plane of the hosts: `hcp up` in a network namespace, one hosted cluster, and a pool for each host.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::HostsError;
use super::host::{namespace, script};
use super::shell::{output, until};
use crate::assets;
use crate::process::Process;

/// The address of the control plane; the script has the same one.
const ADDRESS: &str = "10.211.0.1";
pub(super) const CLUSTER: &str = "demo";
/// How long the control plane may need for anything.
const PATIENCE: Duration = Duration::from_mins(1);

/// Who makes the network of the pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    /// The agent on each node.
    Default,
    /// The pool's own configuration, for pods of one node.
    Other,
}

/// What the control plane hands out, and to whom.
pub(super) struct Supplies<'a> {
    /// The large files of nodes.
    pub(super) artifacts: &'a Path,
    /// What discovered hosts boot.
    pub(super) images: Option<&'a Path>,
    /// Where the machines of its hosted cluster come from.
    pub(super) platform: Value,
    /// Who makes their network.
    pub(super) network: Network,
}

/// The control plane. Dropping it ends it.
#[derive(Debug)]
pub(super) struct ControlPlane {
    network: Network,
    management: PathBuf,
    guest: PathBuf,
    kubectl: PathBuf,
    _process: Process,
}

impl ControlPlane {
    /// Starts it and waits for its hosted cluster.
    pub(super) fn start(hcp: &Path, work: &Path, supplies: &Supplies<'_>) -> Result<Self, HostsError> {
        output(&mut script("clean", &[]))?;
        output(&mut script("network", &[]))?;
        let data = work.join("data");
        let net = format!("--net=/run/netns/{}", namespace());
        let listen = format!("{ADDRESS}:6443");
        let mut arguments = vec![net.into(), hcp.into(), "up".into(), "--data-dir".into(), data.clone().into()];
        arguments.extend(["--listen", &listen, "--server-name", ADDRESS, "--artifacts"].map(Into::into));
        arguments.push(supplies.artifacts.into());
        if let Some(images) = supplies.images {
            arguments.extend(["--images".into(), images.into()]);
        }
        let process = Process::start("hcp", Path::new("nsenter"), arguments, work)?;
        let plane = Self {
            network: supplies.network,
            management: data.join("admin.kubeconfig"),
            guest: work.join("guest.kubeconfig"),
            kubectl: assets::binary("kubectl")?,
            _process: process,
        };
        until("the management plane", PATIENCE, || {
            plane.kubectl(&plane.management, &["get", "--raw", "/readyz"]).map_err(|error| error.to_string())
        })?;
        until("a hosted cluster that is accepted", PATIENCE, || {
            plane.apply(&plane.management, &cluster(supplies)).map_err(|error| error.to_string())
        })?;
        let secret = format!("{CLUSTER}-admin-kubeconfig");
        let kubeconfig = until("the kubeconfig of the hosted cluster", PATIENCE, || {
            let path = "jsonpath={.data.kubeconfig}";
            let arguments = ["get", "secret", "-n", "clusters", &secret, "-o", path];
            let text = plane.kubectl(&plane.management, &arguments).map_err(|error| error.to_string())?;
            STANDARD.decode(text.trim()).ok().filter(|bytes| !bytes.is_empty()).ok_or(text)
        })?;
        write(&plane.guest, &kubeconfig)?;
        until("the API of the hosted cluster", PATIENCE, || {
            plane.guest(&["get", "namespaces"]).map_err(|error| error.to_string())
        })?;
        Ok(plane)
    }

    fn kubectl(&self, kubeconfig: &Path, arguments: &[&str]) -> Result<String, HostsError> {
        let mut command = Self::beside(&self.kubectl);
        output(command.arg("--kubeconfig").arg(kubeconfig).args(arguments))
    }

    /// A command that runs where the control plane runs.
    pub(super) fn beside(program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", namespace())).arg(program);
        command
    }

    /// A client of the hosted cluster that goes on until it is ended.
    pub(super) fn guest_command(&self, arguments: &[&str]) -> Command {
        let mut command = Self::beside(&self.kubectl);
        command.arg("--kubeconfig").arg(&self.guest).args(arguments);
        command
    }

    /// The kubeconfig of the hosted cluster's administrator.
    pub(super) fn guest_kubeconfig(&self) -> &Path {
        &self.guest
    }

    /// Asks the hosted cluster.
    pub(super) fn guest(&self, arguments: &[&str]) -> Result<String, HostsError> {
        self.kubectl(&self.guest, arguments)
    }

    fn apply(&self, kubeconfig: &Path, objects: &Value) -> Result<(), HostsError> {
        let name = objects["items"][0]["metadata"]["name"].as_str().unwrap_or("objects");
        let path = kubeconfig.with_file_name(format!("apply-{name}.json"));
        write(&path, objects.to_string().as_bytes())?;
        self.kubectl(kubeconfig, &["apply", "-f", &path.to_string_lossy()]).map(drop)
    }

    /// Asks the management plane.
    pub(super) fn management(&self, arguments: &[&str]) -> Result<String, HostsError> {
        self.kubectl(&self.management, arguments)
    }

    /// Runs a command of `hcp` for the management plane.
    pub(super) fn hcp(&self, hcp: &Path, arguments: &[&str]) -> Result<String, HostsError> {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", namespace())).arg(hcp).args(arguments);
        output(command.arg("--kubeconfig").arg(&self.management))
    }

    /// Applies to the management plane.
    pub(super) fn apply_to_management(&self, objects: &Value) -> Result<(), HostsError> {
        self.apply(&self.management, objects)
    }

    /// Applies to the hosted cluster.
    pub(super) fn apply_to_guest(&self, objects: &Value) -> Result<(), HostsError> {
        self.apply(&self.guest, objects)
    }

    /// Makes a pool for one host and returns its user-data.
    pub(super) fn user_data(&self, host: &str, number: u8) -> Result<Vec<u8>, HostsError> {
        self.apply(&self.management, &pool(host, number, self.network))?;
        let prefix = format!("user-data-{host}-");
        until(&format!("the user-data of {host}"), PATIENCE, || {
            let namespace = format!("clusters-{CLUSTER}");
            let arguments = ["get", "secrets", "-n", &namespace, "-o", "json"];
            let text = self.kubectl(&self.management, &arguments).map_err(|error| error.to_string())?;
            let list: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            let found = list["items"]
                .as_array()
                .into_iter()
                .flatten()
                .find(|secret| secret["metadata"]["name"].as_str().is_some_and(|name| name.starts_with(&prefix)));
            let value = found.and_then(|secret| secret["data"]["value"].as_str()).unwrap_or_default();
            STANDARD.decode(value).ok().filter(|bytes| !bytes.is_empty()).ok_or_else(|| self.conditions(host))
        })
    }

    fn conditions(&self, pool: &str) -> String {
        let path = "jsonpath={range .status.conditions[?(@.status!=\"True\")]}{.type}: {.message}; {end}";
        self.kubectl(&self.management, &["get", "nodepool", "-n", "clusters", pool, "-o", path])
            .unwrap_or_else(|error| error.to_string())
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // The process ends before its network only if it is told to; the kernel keeps the namespace until then.
        if output(&mut script("clean", &[])).is_err() {
            eprintln!("the network of the control plane was not removed");
        }
    }
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), HostsError> {
    std::fs::write(path, bytes).map_err(|source| HostsError::File { path: path.to_owned(), source })
}

fn cluster(supplies: &Supplies<'_>) -> Value {
    let platform = &supplies.platform;
    let network_type = if supplies.network == Network::Default { "OVNKubernetes" } else { "Other" };
    let service = |service: &str| json!({"service": service, "servicePublishingStrategy": {"type": "NodePort", "nodePort": {"address": ADDRESS}}});
    let services = ["APIServer", "Ignition", "Konnectivity", "OAuthServer"].map(service);
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull-secret", "namespace": "clusters"},
            "type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{\"auths\":{}}"}},
        {"apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster",
            "metadata": {"name": CLUSTER, "namespace": "clusters"},
            "spec": {
                "dns": {"baseDomain": "example.test"},
                "etcd": {"managementType": "Managed", "managed": {"storage":
                    {"type": "PersistentVolume", "persistentVolume": {"size": "8Gi"}}}},
                "networking": {"clusterNetwork": [{"cidr": "10.212.0.0/16"}],
                    "serviceNetwork": [{"cidr": "10.213.0.0/16"}], "networkType": network_type},
                "platform": platform,
                "pullSecret": {"name": "pull-secret"},
                "release": {"image": "embedded:v1.36.3"},
                "services": services,
                "sshKey": {},
            }},
    ]})
}

/// A pool with what the machine under the hosts needs: it has control groups of version 1, and nobody may lower
/// anything's chance to be killed.
fn pool(host: &str, number: u8, network: Network) -> Value {
    let runtime = "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\nsandbox_image = \"registry.test/pause:1\"\nrestrict_oom_score_adj = true\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nbin_dir = \"/opt/cni/bin\"\nconf_dir = \"/etc/cni/net.d\"\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\nruntime_type = \"io.containerd.runc.v2\"\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\nSystemdCgroup = false\n";
    let plugins = json!({"cniVersion": "0.4.0", "name": "pods", "plugins": [
        {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true,
            "ipam": {"type": "host-local", "ranges": [[{"subnet": format!("10.212.{number}.0/24")}]]}},
        {"type": "portmap", "capabilities": {"portMappings": true}},
    ]});
    let kubelet = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "cgroupDriver": "cgroupfs", "cgroupRoot": format!("/test-{host}"), "oomScoreAdj": 0,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
    });
    let file = |path: &str, text: &str| {
        let source = format!("data:text/plain;base64,{}", STANDARD.encode(text));
        json!({"path": path, "mode": 0o644, "overwrite": true, "contents": {"source": source}})
    };
    let mut files = vec![
        file("/etc/containerd/config.toml", runtime),
        file("/etc/kubernetes/kubelet.conf.d/10-host.conf", &kubelet.to_string()),
    ];
    if network == Network::Other {
        files.push(file("/etc/cni/net.d/10-pods.conflist", &plugins.to_string()));
    }
    let machine = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig", "metadata": {"name": "host"},
        "spec": {"config": {"ignition": {"version": "3.2.0"}, "storage": {"files": files}}},
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": host, "namespace": "clusters"},
            "data": {"config": machine.to_string()}},
        {"apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool",
            "metadata": {"name": host, "namespace": "clusters"},
            "spec": {"clusterName": CLUSTER, "replicas": 1, "arch": "amd64", "config": [{"name": host}],
                "management": {"upgradeType": "InPlace", "autoRepair": false},
                "platform": {"type": "None"}, "release": {"image": "embedded:v1.36.3"}}},
    ]})
}
