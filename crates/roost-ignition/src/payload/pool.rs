//! What is known about a pool and about one of its nodes.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use roost_network::Settings;
use roost_object::names;
use roost_pki::Secret;

use super::RenderError;

/// Names and values beyond these are wrong, and would make payloads of any size.
const MAX_LABELS: usize = 256;
const MAX_TAINTS: usize = 64;
const MAX_SSH_KEYS: usize = 256;
const MAX_MIRRORS: usize = 1024;
const MAX_ARTIFACTS: usize = 64;

/// Everything that all nodes of a pool get. Fields that a pool has nothing to say about keep their default.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    /// The pool's name, for people.
    pub name: String,
    /// The hosted cluster's name, for people and in kubeconfigs.
    pub cluster_name: String,
    /// The version of the release, such as `1.36.3`.
    pub release_version: String,
    /// Where nodes reach the API, as published; never an internal name.
    pub api: Endpoint,
    /// Whose serving certificate the API shows, in PEM.
    pub api_trust: String,
    /// Whose client certificates the kubelet believes, in PEM; empty for the same as above.
    pub kubelet_client_trust: String,
    /// The addresses of the cluster's DNS Service; empty leaves pods with the host's resolver.
    pub cluster_dns: Vec<IpAddr>,
    /// The cluster's domain; empty for `cluster.local`.
    pub cluster_domain: String,
    /// The networks of pods, as CIDR blocks.
    pub pod_networks: Vec<String>,
    /// The networks of Services, as CIDR blocks.
    pub service_networks: Vec<String>,
    /// Whether the agent makes the pod network, Services and cluster DNS on the nodes; otherwise somebody else does.
    pub has_default_network: bool,
    /// Settings of the kubelet.
    pub kubelet: Kubelet,
    /// What runs the containers.
    pub runtime: Runtime,
    /// Labels from the first registration on; see [`super::left_for_controllers`] for those that a kubelet may not set.
    pub labels: BTreeMap<String, String>,
    /// Taints from the first registration on.
    pub taints: Vec<Taint>,
    /// What images are pulled with: a `.dockerconfigjson`.
    pub pull_secret: Option<Secret<String>>,
    /// The account that the keys open; empty for `core`.
    pub ssh_user: String,
    /// Public keys that open the nodes' account.
    pub ssh_keys: Vec<String>,
    /// The way out, where there is no direct one.
    pub proxy: Option<Proxy>,
    /// Authorities that the whole node trusts, in PEM.
    pub trust_bundle: Option<String>,
    /// Where images are pulled from instead.
    pub mirrors: Vec<Mirror>,
    /// The user's manifests, in any order.
    pub user_configs: Vec<UserConfig>,
    /// Large files that are fetched by digest.
    pub artifacts: Vec<Artifact>,
    /// Whose certificate the source of the artifacts shows, in PEM; empty for those that the host trusts already.
    pub artifact_trust: String,
    /// Where nodes that have joined fetch later configurations; none where nothing does that.
    pub ignition: Option<IgnitionServer>,
}

/// Where configurations come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnitionServer {
    /// The address of a configuration.
    pub url: String,
    /// Whose certificate it shows, in PEM.
    pub certificate_authority: String,
}

impl IgnitionServer {
    pub(crate) fn to_text(&self) -> String {
        serde_json::json!({"url": self.url, "certificateAuthority": self.certificate_authority}).to_string()
    }

    /// Reads what a payload says of it, as it lies on a node.
    pub fn read(text: &[u8]) -> Option<Self> {
        let document = roost_object::json::read(text).ok()?.value;
        let field = |name: &str| document[name].as_str().map(str::to_owned);
        Some(Self { url: field("url")?, certificate_authority: field("certificateAuthority")? })
    }
}

/// Where the API is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// A name or an address.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Endpoint {
    /// The URL of the API.
    pub fn url(&self) -> String {
        if self.host.contains(':') {
            format!("https://[{}]:{}", self.host, self.port)
        } else {
            format!("https://{}:{}", self.host, self.port)
        }
    }
}

/// How the kubelet counts and limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CgroupDriver {
    /// Through systemd.
    #[default]
    Systemd,
    /// By itself.
    Cgroupfs,
}

/// Settings of the kubelet that are not a user's to make in a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kubelet {
    /// Pods a node; the kubelet's own default when none.
    pub max_pods: Option<u32>,
    /// How it counts and limits.
    pub cgroup_driver: CgroupDriver,
    /// How much it writes to its log; 2 when none.
    pub verbosity: Option<u8>,
    /// Where network plugins lie; [`super::paths::CNI_BINARIES`] when none.
    pub cni_binaries: Option<String>,
    /// The image that holds a pod's namespaces; the runtime's own when none.
    pub pause_image: Option<String>,
}

/// What runs the containers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Runtime {
    /// containerd, version 1.6 or later.
    #[default]
    Containerd,
    /// CRI-O.
    CriO,
}

impl Runtime {
    /// The socket that the kubelet calls.
    pub fn endpoint(self) -> &'static str {
        match self {
            Self::Containerd => "unix:///run/containerd/containerd.sock",
            Self::CriO => "unix:///var/run/crio/crio.sock",
        }
    }

    /// The unit that the kubelet needs.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Containerd => "containerd.service",
            Self::CriO => "crio.service",
        }
    }
}

/// What a taint does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaintEffect {
    /// New pods stay away.
    NoSchedule,
    /// New pods stay away where they can.
    PreferNoSchedule,
    /// All pods go.
    NoExecute,
}

impl TaintEffect {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::NoSchedule, Self::PreferNoSchedule, Self::NoExecute];

    /// As Kubernetes writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

/// A taint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value, which may be empty.
    pub value: String,
    /// What it does.
    pub effect: TaintEffect,
}

impl fmt::Display for Taint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}={}:{}", self.key, self.value, self.effect.name())
    }
}

/// The way out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxy {
    /// For plain requests.
    pub http: Option<String>,
    /// For TLS.
    pub https: Option<String>,
    /// What is reached directly, beyond the cluster's own networks and names, which are added.
    pub no_proxy: Vec<String>,
}

/// Where images are pulled from instead.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mirror {
    /// A registry or a repository.
    pub source: String,
    /// The places that are tried first, in this order.
    pub mirrors: Vec<String>,
    /// Whether the source itself is never asked.
    pub never_contact_source: bool,
}

/// One ConfigMap's text: manifests in YAML or JSON, several with `---` between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserConfig {
    /// The ConfigMap's name, for messages only.
    pub name: String,
    /// The text.
    pub text: String,
}

/// A large file that is fetched by digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Where it goes.
    pub path: String,
    /// Its mode.
    pub mode: u32,
    /// Where it comes from.
    pub url: String,
    /// What it is checked with: `sha256-…` or `sha512-…` in hex.
    pub hash: String,
}

/// What only one node gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The name that it registers with.
    pub name: String,
    /// Its own bootstrap token, as `id.secret`.
    pub bootstrap_token: Secret<String>,
    /// What its Machine is known by.
    pub provider_id: Option<String>,
}

impl Pool {
    /// What the agent has to know to make the network.
    pub(crate) fn network(&self) -> Settings {
        let parsed = |networks: &[String]| networks.iter().filter_map(|network| network.parse().ok()).collect();
        Settings {
            pod_networks: parsed(&self.pod_networks),
            service_networks: parsed(&self.service_networks),
            dns: self.cluster_dns.clone(),
            domain: self.domain().to_owned(),
        }
    }

    /// The cluster's domain.
    pub(crate) fn domain(&self) -> &str {
        if self.cluster_domain.is_empty() { "cluster.local" } else { &self.cluster_domain }
    }

    pub(crate) fn check(&self) -> Result<(), RenderError> {
        let wrong = |field, problem: String| Err(RenderError::Pool { field, problem });
        if self.api.host.is_empty() || self.api.host.bytes().any(|byte| !is_host_byte(byte)) {
            return wrong("api.host", format!("{:?} is neither a name nor an address", self.api.host));
        }
        if self.api.port == 0 {
            return wrong("api.port", "must not be 0".to_owned());
        }
        for (field, pem, is_required) in [
            ("api_trust", &self.api_trust, true),
            ("kubelet_client_trust", &self.kubelet_client_trust, false),
            ("artifact_trust", &self.artifact_trust, false),
        ] {
            if (is_required || !pem.is_empty()) && !is_pem(pem) {
                return wrong(field, "must be certificates in PEM".to_owned());
            }
        }
        if self.trust_bundle.as_ref().is_some_and(|pem| !pem.contains("-----BEGIN CERTIFICATE-----")) {
            return wrong("trust_bundle", "must be certificates in PEM".to_owned());
        }
        if let Some(problem) = names::is_dns1123_subdomain(self.domain()).into_iter().next() {
            return wrong("cluster_domain", problem);
        }
        self.check_labels()?;
        if self.ssh_keys.len() > MAX_SSH_KEYS || self.ssh_keys.iter().any(|key| key.contains(['\n', '\r', '\0'])) {
            return wrong("ssh_keys", format!("must be single lines, and no more than {MAX_SSH_KEYS}"));
        }
        if self.mirrors.len() > MAX_MIRRORS {
            return wrong("mirrors", format!("must be no more than {MAX_MIRRORS}"));
        }
        if self.artifacts.len() > MAX_ARTIFACTS {
            return wrong("artifacts", format!("must be no more than {MAX_ARTIFACTS}"));
        }
        if let Some(secret) = &self.pull_secret {
            let document = roost_object::json::read(secret.expose().as_bytes());
            if !document.is_ok_and(|document| document.value.get("auths").is_some_and(serde_json::Value::is_object)) {
                return wrong("pull_secret", "must be JSON with the field auths".to_owned());
            }
        }
        if let Some(proxy) = &self.proxy {
            let texts = proxy.http.iter().chain(&proxy.https).chain(&proxy.no_proxy);
            if texts.into_iter().any(|text| text.bytes().any(|byte| byte.is_ascii_control() || b"\"\\".contains(&byte)))
            {
                return wrong("proxy", "must not hold quotes or control characters".to_owned());
            }
        }
        for text in self.kubelet.cni_binaries.iter().chain(&self.kubelet.pause_image) {
            if text.bytes().any(|byte| !byte.is_ascii_graphic() || b"\"\\".contains(&byte)) {
                return wrong("kubelet", format!("{text:?} is neither a path nor an image"));
            }
        }
        Ok(())
    }

    fn check_labels(&self) -> Result<(), RenderError> {
        let wrong = |field, problem: String| Err(RenderError::Pool { field, problem });
        if self.labels.len() > MAX_LABELS {
            return wrong("labels", format!("must be no more than {MAX_LABELS}"));
        }
        for (key, value) in &self.labels {
            let problems = names::is_qualified_name(key).into_iter().chain(names::is_label_value(value)).next();
            if let Some(problem) = problems {
                return wrong("labels", format!("{key:?}={value:?}: {problem}"));
            }
        }
        if self.taints.len() > MAX_TAINTS {
            return wrong("taints", format!("must be no more than {MAX_TAINTS}"));
        }
        for taint in &self.taints {
            let (key, value) = (&taint.key, &taint.value);
            let problems = names::is_qualified_name(key).into_iter().chain(names::is_label_value(value)).next();
            if let Some(problem) = problems {
                return wrong("taints", format!("{key:?}={value:?}: {problem}"));
            }
        }
        Ok(())
    }
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".-:".contains(&byte)
}

fn is_pem(text: &str) -> bool {
    roost_pki::CertificateBundle::from_pem(text).is_ok_and(|bundle| !bundle.is_empty())
}
