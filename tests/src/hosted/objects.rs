//! The objects of a hosted cluster as a user makes and sees them.

use std::net::IpAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use super::HostedError;

/// Longer than a host that was turned off between two calls is still counted on.
const PATIENCE: Duration = Duration::from_mins(2);
/// How often states are looked at.
const INTERVAL: Duration = Duration::from_millis(20);

/// The name of a hosted cluster and where it is published.
#[derive(Clone, Debug)]
pub struct HostedCluster {
    /// Its name; its namespace is always `clusters`.
    pub name: String,
    /// How its services are published, as its spec says it.
    pub publishing: Value,
    /// The namespace of the discovered hosts that become its nodes; without it, nobody makes machines.
    pub agents: Option<String>,
    /// How its pool changes its nodes, as the pool's spec says it.
    pub management: Value,
}

/// The namespace of all hosted clusters.
pub(super) const NAMESPACE: &str = "clusters";

impl HostedCluster {
    /// A cluster with ports of its own at an address.
    pub fn new(name: impl Into<String>, address: IpAddr) -> Self {
        Self::published(name, json!({"type": "NodePort", "nodePort": {"address": address.to_string()}}))
    }

    /// A cluster that is published in a way of its own.
    pub fn published(name: impl Into<String>, publishing: Value) -> Self {
        let management = json!({"upgradeType": "InPlace", "autoRepair": false});
        Self { name: name.into(), publishing, agents: None, management }
    }

    /// A cluster of discovered hosts.
    pub fn on_agents(name: impl Into<String>, address: IpAddr, agents: impl Into<String>) -> Self {
        Self { agents: Some(agents.into()), ..Self::new(name, address) }
    }

    pub(crate) fn control_plane_namespace(&self) -> String {
        format!("{NAMESPACE}-{}", self.name)
    }

    fn documents(&self) -> [Value; 4] {
        let name = &self.name;
        let service = |service: &str| json!({"service": service, "servicePublishingStrategy": self.publishing});
        let (platform, pool_platform) = match &self.agents {
            None => (json!({"type": "None"}), json!({"type": "None"})),
            Some(agents) => {
                (json!({"type": "Agent", "agent": {"agentNamespace": agents}}), json!({"type": "Agent", "agent": {}}))
            }
        };
        let services = ["APIServer", "Ignition", "Konnectivity", "OAuthServer"].map(service);
        [
            json!({"apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": format!("{name}-pull-secret"), "namespace": NAMESPACE},
                "stringData": {".dockerconfigjson": "{\"auths\":{}}"}}),
            json!({"apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": format!("{name}-etcd-encryption-key"), "namespace": NAMESPACE},
                "data": {"key": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}}),
            json!({"apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "dns": {"baseDomain": "example.test"},
                "etcd": {"managementType": "Managed", "managed": {"storage":
                    {"type": "PersistentVolume", "persistentVolume": {"size": "8Gi"}}}},
                "networking": {"clusterNetwork": [{"cidr": "10.132.0.0/14"}],
                    "serviceNetwork": [{"cidr": "172.31.0.0/16"}], "networkType": "OVNKubernetes"},
                "platform": platform,
                "pullSecret": {"name": format!("{name}-pull-secret")},
                "release": {"image": "embedded:v1.36.3"},
                "secretEncryption": {"type": "aescbc",
                    "aescbc": {"activeKey": {"name": format!("{name}-etcd-encryption-key")}}},
                "services": services,
                "sshKey": {},
            }}),
            json!({"apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool",
                "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": {"clusterName": name, "replicas": 0, "arch": "amd64",
                    "management": self.management,
                    "platform": pool_platform, "release": {"image": "embedded:v1.36.3"}}}),
        ]
    }
}

/// An API of a kind that has no Rust type here.
pub(crate) fn api(client: &Client, api_version: &str, kind: &str, plural: &str, namespace: &str) -> Api<DynamicObject> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
    if namespace.is_empty() {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), namespace, &resource)
    }
}

/// All hosted clusters.
pub fn hosted_clusters(client: &Client) -> Api<DynamicObject> {
    api(client, "hypershift.openshift.io/v1beta1", "HostedCluster", "hostedclusters", NAMESPACE)
}

/// Says how many machines the first pool of a cluster wants; it has user-data only when it wants any.
pub(crate) async fn scale(client: &Client, cluster: &HostedCluster, replicas: u16) -> Result<(), HostedError> {
    let pools = api(client, "hypershift.openshift.io/v1beta1", "NodePool", "nodepools", NAMESPACE);
    let change = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    let scaled = pools.patch(&cluster.name, &PatchParams::default(), &change).await;
    scaled.map(drop).map_err(refused("the pool was not scaled"))
}

pub(crate) fn secrets(client: &Client, namespace: &str) -> Api<DynamicObject> {
    api(client, "v1", "Secret", "secrets", namespace)
}

pub(super) fn refused(what: impl Into<String>) -> impl FnOnce(kube::Error) -> HostedError {
    let what = what.into();
    move |source| HostedError::Refused { what, source: Box::new(source) }
}

/// Asks for a cluster.
pub async fn create(client: &Client, cluster: &HostedCluster) -> Result<(), HostedError> {
    for document in cluster.documents() {
        let kind = document["kind"].as_str().unwrap_or_default().to_owned();
        let plural = format!("{}s", kind.to_lowercase());
        let api = api(client, document["apiVersion"].as_str().unwrap_or_default(), &kind, &plural, NAMESPACE);
        let object: DynamicObject =
            serde_json::from_value(document).map_err(|error| HostedError::Wrong(error.to_string()))?;
        // On a plane that has just started, the kinds and the namespace come a moment later.
        until(&format!("{kind} {} was accepted", cluster.name), async || {
            match api.create(&PostParams::default(), &object).await {
                Ok(_) => Ok(()),
                Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
                Err(error) => Err(error.to_string()),
            }
        })
        .await?;
    }
    Ok(())
}

/// Waits until something holds; the error of the last look says what was seen.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Result<T, String>) -> Result<T, HostedError> {
    let start = Instant::now();
    loop {
        match look().await {
            Ok(value) => return Ok(value),
            Err(seen) if start.elapsed() > PATIENCE => {
                return Err(HostedError::Late { what: what.to_owned(), seconds: PATIENCE.as_secs(), seen });
            }
            Err(_) => tokio::time::sleep(INTERVAL).await,
        }
    }
}

/// A condition of an object as `True`, `False` or `Unknown`, and its message.
pub(crate) fn condition(object: &DynamicObject, kind: &str) -> (String, String) {
    let conditions = object.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == kind);
    let text = |field: &str| found.and_then(|found| found[field].as_str()).unwrap_or("missing").to_owned();
    (text("status"), text("message"))
}

/// The administrator's kubeconfig of an available cluster.
pub async fn kubeconfig_of(client: &Client, cluster: &HostedCluster) -> Result<String, HostedError> {
    let name = format!("{}-admin-kubeconfig", cluster.name);
    let secret = secrets(client, NAMESPACE).get(&name).await.map_err(refused(name))?;
    let text = decode(secret.data["data"]["kubeconfig"].as_str().unwrap_or_default());
    text.ok_or_else(|| HostedError::Wrong("the kubeconfig is not text".to_owned()))
}

/// Makes a cluster on a plane and writes its kubeconfig into a file.
pub async fn publish(plane: &Path, name: &str, file: &Path) -> Result<(), HostedError> {
    let text = std::fs::read_to_string(plane).map_err(|error| HostedError::Wrong(error.to_string()))?;
    let management = connect(&text).await?;
    let cluster = HostedCluster::new(name, [127, 0, 0, 1].into());
    create(&management, &cluster).await?;
    wait_until_ready(&management, &cluster).await?;
    let kubeconfig = kubeconfig_of(&management, &cluster).await?;
    std::fs::write(file, kubeconfig).map_err(|error| HostedError::Wrong(error.to_string()))
}

/// A client of an available cluster's API.
pub async fn guest_of(client: &Client, cluster: &HostedCluster) -> Result<Client, HostedError> {
    connect(&kubeconfig_of(client, cluster).await?).await
}

/// Waits until a cluster is available and there is a kubeconfig, and returns a client of its API.
pub async fn wait_until_ready(client: &Client, cluster: &HostedCluster) -> Result<Client, HostedError> {
    let name = &cluster.name;
    let text = until(&format!("{name} was available"), async || {
        let object = hosted_clusters(client).get(name).await.map_err(|error| error.to_string())?;
        let (status, message) = condition(&object, "Available");
        if status != "True" {
            return Err(message);
        }
        let secret = object.data["status"]["kubeconfig"]["name"].as_str().ok_or("no kubeconfig is named")?;
        let secret = secrets(client, NAMESPACE).get(secret).await.map_err(|error| error.to_string())?;
        let bytes = secret.data["data"]["kubeconfig"].as_str().ok_or("the kubeconfig is empty")?;
        decode(bytes).ok_or_else(|| "the kubeconfig is not text".to_owned())
    })
    .await?;
    connect(&text).await
}

/// A client of a kubeconfig's text.
pub(super) async fn connect(kubeconfig: &str) -> Result<Client, HostedError> {
    let wrong = |error: &dyn std::fmt::Display| HostedError::Wrong(format!("the kubeconfig cannot be used: {error}"));
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).map_err(|error| wrong(&error))?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(|error| wrong(&error))?;
    Client::try_from(config).map_err(|error| wrong(&error))
}

pub(super) fn decode(text: &str) -> Option<String> {
    use base64::Engine as _;
    String::from_utf8(base64::engine::general_purpose::STANDARD.decode(text).ok()?).ok()
}

/// Writes a ConfigMap through a hosted cluster's API.
pub async fn write_into(guest: &Client, name: &str) -> Result<(), HostedError> {
    let document = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}});
    let object = serde_json::from_value(document).map_err(|error| HostedError::Wrong(error.to_string()))?;
    let maps = api(guest, "v1", "ConfigMap", "configmaps", "default");
    maps.create(&PostParams::default(), &object).await.map_err(refused(format!("ConfigMap {name} was not written")))?;
    Ok(())
}

/// Waits until nothing is left of a cluster: no object, no namespace.
pub async fn wait_until_gone(client: &Client, cluster: &HostedCluster) -> Result<(), HostedError> {
    let name = &cluster.name;
    until(&format!("{name} was gone"), async || {
        let gone = |error: kube::Error| error.to_string();
        if let Some(object) = hosted_clusters(client).get_opt(name).await.map_err(gone)? {
            return Err(condition(&object, "HostedClusterDestroyed").1);
        }
        let spaces = api(client, "v1", "Namespace", "namespaces", "");
        if spaces.get_opt(&cluster.control_plane_namespace()).await.map_err(gone)?.is_some() {
            return Err("the control-plane namespace is there".to_owned());
        }
        let pools = api(client, "hypershift.openshift.io/v1beta1", "NodePool", "nodepools", NAMESPACE);
        if pools.get_opt(name).await.map_err(gone)?.is_some() {
            return Err("the NodePool is there".to_owned());
        }
        let managed = api(client, "cluster.open-cluster-management.io/v1", "ManagedCluster", "managedclusters", "");
        if managed.get_opt(name).await.map_err(gone)?.is_some() {
            return Err("the ManagedCluster is there".to_owned());
        }
        for secret in ["admin-kubeconfig", "kubeadmin-password"] {
            if secrets(client, NAMESPACE).get_opt(&format!("{name}-{secret}")).await.map_err(gone)?.is_some() {
                return Err(format!("the Secret {name}-{secret} is there"));
            }
        }
        Ok(())
    })
    .await
}
