//! What a NodePool's spec and surroundings mean: the payload of its nodes, or why there is none yet.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use jiff::Timestamp;
use roost_ignition::hash;
use roost_ignition::payload::{
    self, Artifact, Endpoint, IgnitionServer, Pool, Proxy, Taint, TaintEffect, UserConfig, Written,
};
use roost_ignition_server::ARTIFACTS_PATH;
use roost_pki::Secret;
use serde_json::Value;

use super::dereference::{Observed, secret_text};
use super::version::{self, Version};
use crate::condition::{Condition, Truth};
use crate::machine;
use crate::pause::Pause;

/// The services that a hosted cluster has when nobody said which.
const DEFAULT_SERVICE_NETWORK: &str = "172.31.0.0/16";
/// Which address of the first service network cluster DNS has.
const DNS_PLACE: usize = 9;

/// A pool as it is wanted.
pub(crate) struct Wanted {
    pub(crate) written: Arc<Written>,
    /// The hash of configuration and version.
    pub(crate) hash: String,
    /// The hash of the configuration alone.
    pub(crate) config_hash: String,
    /// All manifests of the user, as one text.
    pub(crate) raw_config: String,
    pub(crate) version: String,
    /// Host and port of the ignition server.
    pub(crate) endpoint: String,
    /// Whose certificate it shows.
    pub(crate) ignition_trust: String,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) cluster_id: String,
    pub(crate) infra_id: String,
}

/// What is to be said of the spec, and what it means if it means something.
pub(crate) struct Verdict {
    pub(crate) conditions: Vec<Condition>,
    pub(crate) outcome: Result<Wanted, Block>,
    pub(crate) version: String,
}

/// Why a pool has no payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// It wants no machines and has none.
    Idle,
    /// Something is wrong, or not there yet.
    Waiting(String),
}

impl From<String> for Block {
    fn from(problem: String) -> Self {
        Block::Waiting(problem)
    }
}

/// Goes through the chain; the first link that breaks is what the pool waits for.
pub(crate) fn validate(observed: &Observed, cluster: &Value, cluster_version: &str, now: Timestamp) -> Verdict {
    let mut conditions = Vec::new();
    let image = observed.pool["spec"]["release"]["image"].as_str().unwrap_or_default();
    let version = version_of(image, cluster, cluster_version);
    let outcome = chain(observed, cluster, cluster_version, &version, now, &mut conditions);
    Verdict { conditions, outcome, version }
}

/// Whether a spec asks for machines.
pub(crate) fn wants_machines(spec: &Value) -> bool {
    spec["replicas"].as_u64().is_some_and(|replicas| replicas > 0)
        || spec["autoScaling"]["max"].as_u64().is_some_and(|max| max > 0)
}

fn chain(
    observed: &Observed,
    cluster: &Value,
    cluster_version: &str,
    version: &str,
    now: Timestamp,
    conditions: &mut Vec<Condition>,
) -> Result<Wanted, Block> {
    let spec = &observed.pool["spec"];
    settled(conditions, autoscaling(spec))?;
    settled(conditions, management(spec))?;
    let image = spec["release"]["image"].as_str().unwrap_or_default();
    let current = observed.pool["status"]["version"].as_str().and_then(Version::read);
    let skew = match (Version::read(version), Version::read(cluster_version)) {
        (Some(pool), Some(cluster)) => version::check(pool, cluster, current),
        _ => Ok(()),
    };
    conditions.push(match &skew {
        Ok(()) => Condition::good("ValidReleaseImage", format!("Using release image: {image}")),
        Err(problem) => Condition::bad("ValidReleaseImage", "ValidationFailed", problem.clone()),
    });
    conditions.push(architecture(spec));
    conditions.push(active(spec, now));
    conditions.push(match &skew {
        Ok(()) => Condition::good("SupportedVersionSkew", format!("NodePool {version}, cluster {cluster_version}")),
        Err(problem) => Condition::bad("SupportedVersionSkew", "UnsupportedSkew", problem.clone()),
    });
    skew?;
    if !wants_machines(spec) && observed.machines.is_empty() {
        return Err(Block::Idle);
    }
    let name = cluster["metadata"]["name"].as_str().unwrap_or_default();
    let endpoint = cluster["status"]["ignitionEndpoint"].as_str().unwrap_or_default();
    if endpoint.is_empty() {
        let problem = format!("The HostedCluster {name} has no ignition endpoint yet");
        conditions.push(Condition::bad("IgnitionEndpointAvailable", "IgnitionEndpointMissing", problem.clone()));
        return Err(problem.into());
    }
    let Some(ignition_trust) = secret_text(observed.ignition_certificate.as_ref(), "ca.crt") else {
        let problem = "The Secret ignition-server-serving-cert with the ignition CA does not exist yet".to_owned();
        conditions.push(Condition::bad("IgnitionEndpointAvailable", "IgnitionCACertMissing", problem.clone()));
        return Err(problem.into());
    };
    let pool = match describe(observed, cluster, version) {
        Ok(pool) => {
            let artifacts = artifacts(observed, endpoint, version);
            let ignition = Some(IgnitionServer {
                url: format!("https://{endpoint}/ignition"),
                certificate_authority: ignition_trust.clone(),
            });
            Pool { artifacts, artifact_trust: ignition_trust.clone(), ignition, ..pool }
        }
        Err(Problem::Config(problem)) => {
            conditions.push(Condition::bad("ValidMachineConfig", "ValidationFailed", problem.clone()));
            return Err(problem.into());
        }
        Err(Problem::Waiting(problem)) => return Err(problem.into()),
    };
    let made = (hash::of_pool(&pool), hash::of_pool_without_version(&pool));
    let (Ok(hash), Ok(config_hash)) = made else {
        let problem = made.0.err().map(|error| error.to_string()).unwrap_or_default();
        conditions.push(Condition::bad("ValidMachineConfig", "ValidationFailed", problem.clone()));
        return Err(problem.into());
    };
    let rendered = payload::render(&pool).map_err(|error| {
        let is_ours = matches!(error, payload::RenderError::Pool { .. });
        (if is_ours { "ValidGeneratedPayload" } else { "ValidMachineConfig" }, crate::context::words(&error))
    });
    let written = rendered.and_then(|rendered| {
        let version = rendered.shared().version();
        rendered.written(version).map_err(|error| ("ValidGeneratedPayload", crate::context::words(&error)))
    });
    let written = match written {
        Ok(written) => Arc::new(written),
        Err((kind, problem)) => {
            conditions.push(Condition::bad(kind, "ValidationFailed", problem.clone()));
            return Err(problem.into());
        }
    };
    conditions.push(Condition::good("ValidMachineConfig", ""));
    conditions.push(Condition::good("ValidGeneratedPayload", "Payload generated successfully"));
    let texts: Vec<&str> = pool.user_configs.iter().map(|config| config.text.as_str()).collect();
    Ok(Wanted {
        written,
        hash: hash.to_string(),
        config_hash: config_hash.to_string(),
        raw_config: texts.join("\n---\n"),
        version: version.to_owned(),
        endpoint: endpoint.to_owned(),
        ignition_trust,
        proxy: pool.proxy,
        cluster_id: cluster["spec"]["clusterID"].as_str().unwrap_or_default().to_owned(),
        infra_id: cluster["spec"]["infraID"].as_str().unwrap_or_default().to_owned(),
    })
}

/// A condition that ends the chain when its reason says so.
fn settled(conditions: &mut Vec<Condition>, condition: Condition) -> Result<(), String> {
    let problem = (condition.reason == "ValidationFailed").then(|| condition.message.clone());
    conditions.push(condition);
    problem.map_or(Ok(()), Err)
}

fn autoscaling(spec: &Value) -> Condition {
    let (min, max) = (spec["autoScaling"]["min"].as_i64(), spec["autoScaling"]["max"].as_i64());
    let Some(max) = max else { return Condition::bad("AutoscalingEnabled", "AsExpected", "") };
    if !spec["replicas"].is_null() {
        let message = "only one of spec.replicas and spec.autoScaling can be set";
        return Condition::bad("AutoscalingEnabled", "ValidationFailed", message);
    }
    let min = min.unwrap_or_default();
    if spec["platform"]["type"] == "None" {
        let message = format!(
            "Maximum nodes: {max}, Minimum nodes: {min}; on the platform None nobody can add machines, so boot or remove them yourself"
        );
        return Condition::bad("AutoscalingEnabled", "PlatformNone", message);
    }
    Condition::good("AutoscalingEnabled", format!("Maximum nodes: {max}, Minimum nodes: {min}"))
}

fn management(spec: &Value) -> Condition {
    let management = &spec["management"];
    let is_zero = |value: &Value| *value == 0 || *value == "0" || *value == "0%";
    let problem = match management["upgradeType"].as_str().unwrap_or_default() {
        "Replace" if management["inPlace"].is_object() => {
            Some("spec.management.inPlace is set although upgradeType is Replace")
        }
        "Replace" => {
            let rolling = &management["replace"]["rollingUpdate"];
            (is_zero(&rolling["maxSurge"]) && is_zero(&rolling["maxUnavailable"]))
                .then_some("spec.management.replace.rollingUpdate: maxSurge and maxUnavailable cannot both be 0")
        }
        "InPlace" => is_zero(&management["inPlace"]["maxUnavailable"])
            .then_some("spec.management.inPlace.maxUnavailable cannot be 0"),
        _ => Some("spec.management.upgradeType has to be Replace or InPlace"),
    };
    match problem {
        None => Condition::good("UpdateManagementEnabled", ""),
        Some(problem) => Condition::bad("UpdateManagementEnabled", "ValidationFailed", problem),
    }
}

fn architecture(spec: &Value) -> Condition {
    let platform = spec["platform"]["type"].as_str().unwrap_or_default();
    let arch = spec["arch"].as_str().unwrap_or("amd64");
    let is_known = match arch {
        "amd64" => true,
        "arm64" => matches!(platform, "AWS" | "Azure" | "Agent" | "GCP" | "None"),
        "ppc64le" => platform != "KubeVirt",
        "s390x" => matches!(platform, "KubeVirt" | "None" | "Agent"),
        _ => false,
    };
    if is_known {
        Condition::good("ValidArchPlatform", "")
    } else {
        let message = format!("the architecture {arch} is not possible on the platform {platform}");
        Condition::bad("ValidArchPlatform", "InvalidArchPlatform", message)
    }
}

fn active(spec: &Value, now: Timestamp) -> Condition {
    let kind = "ReconciliationActive";
    match Pause::of(spec["pausedUntil"].as_str(), now) {
        Pause::Active => Condition::new(kind, Truth::True, kind, "Reconciliation active on resource"),
        Pause::Unreadable => Condition::new(
            kind,
            Truth::True,
            "InvalidPausedUntilValue",
            "spec.pausedUntil is neither a time nor true or false; going on",
        ),
        Pause::Forever | Pause::Until(_) => Condition::bad(kind, "ReconciliationPaused", "Reconciliation paused"),
    }
}

/// The version that an image's tag names; the cluster's where it names none, since no image is pulled.
fn version_of(image: &str, cluster: &Value, cluster_version: &str) -> String {
    let cluster_image = cluster["spec"]["release"]["image"].as_str().unwrap_or_default();
    if image == cluster_image {
        return cluster_version.to_owned();
    }
    let tag = Version::of_image(image);
    tag.map_or_else(|| cluster_version.to_owned(), |version| version.to_string())
}

pub(super) enum Problem {
    /// A user's ConfigMap is missing or wrong.
    Config(String),
    /// Something of the control plane is not there yet.
    Waiting(String),
}

/// All that a pool's nodes get.
pub(super) fn describe(observed: &Observed, cluster: &Value, version: &str) -> Result<Pool, Problem> {
    let spec = &observed.pool["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let cluster_spec = &cluster["spec"];
    let endpoint = &cluster["status"]["controlPlaneEndpoint"];
    let port = endpoint["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or_default();
    if endpoint["host"].as_str().is_none_or(str::is_empty) || port == 0 {
        return Err(Problem::Waiting("The HostedCluster has no API endpoint yet".to_owned()));
    }
    let bundle = |map: Option<&Value>| map.and_then(|map| map["data"]["ca.crt"].as_str()).map(str::to_owned);
    let api_trust = bundle(observed.api_trust.as_ref())
        .ok_or_else(|| Problem::Waiting("The ConfigMap root-ca of the control plane is not there yet".to_owned()))?;
    let mut user_configs = Vec::new();
    for (name, found) in &observed.configs {
        let config = found.as_ref().and_then(|map| map["data"]["config"].as_str());
        let space = observed.pool["metadata"]["namespace"].as_str().unwrap_or_default();
        let config = config.ok_or_else(|| {
            Problem::Config(format!(
                "spec.config names the ConfigMap {space}/{name}, which {}",
                if found.is_some() { "has no key \"config\"" } else { "does not exist" }
            ))
        })?;
        user_configs.push(UserConfig { name: name.clone(), text: config.to_owned() });
    }
    let mut pod_networks = networks(cluster_spec, "clusterNetwork");
    let mut service_networks = networks(cluster_spec, "serviceNetwork");
    if service_networks.is_empty() {
        service_networks.push(DEFAULT_SERVICE_NETWORK.to_owned());
    }
    pod_networks.dedup();
    let dns = service_networks.first().and_then(|network| network.parse::<IpNet>().ok());
    let cluster_dns: Vec<IpAddr> = dns.and_then(|network| network.hosts().nth(DNS_PLACE)).into_iter().collect();
    let taints = spec["taints"].as_array().into_iter().flatten().filter_map(taint).collect();
    Ok(Pool {
        name: text(&observed.pool["metadata"]["name"]),
        cluster_name: text(&cluster["metadata"]["name"]),
        release_version: version.to_owned(),
        api: Endpoint { host: text(&endpoint["host"]), port },
        api_trust,
        kubelet_client_trust: bundle(observed.kubelet_client_trust.as_ref()).unwrap_or_default(),
        cluster_dns,
        pod_networks,
        service_networks,
        has_default_network: has_default_network(cluster_spec),
        labels: machine::labels(&observed.pool),
        taints,
        pull_secret: secret_text(observed.pull_secret.as_ref(), ".dockerconfigjson").map(Secret::new),
        ssh_keys: secret_text(observed.ssh_key.as_ref(), "id_rsa.pub")
            .iter()
            .flat_map(|text| text.lines())
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty())
            .collect(),
        proxy: proxy(cluster_spec),
        trust_bundle: observed
            .trust_bundle
            .as_ref()
            .and_then(|map| map["data"]["ca-bundle.crt"].as_str())
            .map(str::to_owned),
        user_configs,
        ..Pool::default()
    })
}

/// Whether nodes make their network themselves; people who bring another one say so.
pub(crate) fn has_default_network(cluster_spec: &Value) -> bool {
    cluster_spec["networking"]["networkType"] != "Other"
}

/// The large files of a pool's nodes, which they fetch where they fetched their configuration.
fn artifacts(observed: &Observed, endpoint: &str, version: &str) -> Vec<Artifact> {
    let architecture = observed.pool["spec"]["arch"].as_str().unwrap_or("amd64");
    let files = observed.artifacts.for_node(version, architecture).into_iter();
    files
        .map(|file| Artifact {
            path: file.path.clone(),
            mode: file.mode,
            url: format!("https://{endpoint}{ARTIFACTS_PATH}{}", file.digest),
            hash: file.digest.clone(),
        })
        .collect()
}

fn networks(spec: &Value, field: &str) -> Vec<String> {
    let entries = spec["networking"][field].as_array().into_iter().flatten();
    entries.filter_map(|entry| entry["cidr"].as_str().map(str::to_owned)).collect()
}

fn taint(value: &Value) -> Option<Taint> {
    let effect = TaintEffect::ALL.into_iter().find(|effect| value["effect"] == effect.name())?;
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    Some(Taint { key: text("key"), value: text("value"), effect })
}

fn proxy(spec: &Value) -> Option<Proxy> {
    let proxy = &spec["configuration"]["proxy"];
    let text = |field: &str| proxy[field].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let (http, https) = (text("httpProxy"), text("httpsProxy"));
    if http.is_none() && https.is_none() {
        return None;
    }
    let places = text("noProxy").unwrap_or_default();
    let no_proxy = places.split(',').map(|place| place.trim().to_owned()).filter(|place| !place.is_empty()).collect();
    Some(Proxy { http, https, no_proxy })
}
