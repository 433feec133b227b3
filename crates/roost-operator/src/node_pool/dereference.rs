//! Everything that a decision about a NodePool depends on, read in one go.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::try_join_all;
use roost_ignition_server::Artifacts;
use serde_json::Value;

use crate::hosted_cluster::control_plane_namespace;
use crate::machine::pool_label;
use crate::names::POOL_LABEL;
use crate::object::{Kind, ObjectError, Objects};

/// A NodePool and what is around it, as they are now.
pub(crate) struct Observed {
    pub(crate) pool: Value,
    pub(crate) cluster: Option<Value>,
    /// The HostedControlPlane.
    pub(crate) plane: Option<Value>,
    /// The control plane's namespace.
    pub(crate) namespace: String,
    /// The ConfigMaps that the spec names.
    pub(crate) configs: Vec<(String, Option<Value>)>,
    /// The pool's own Secrets.
    pub(crate) secrets: Vec<Value>,
    pub(crate) machines: Vec<Value>,
    /// Whose certificate the ignition server shows.
    pub(crate) ignition_certificate: Option<Value>,
    pub(crate) api_trust: Option<Value>,
    pub(crate) kubelet_client_trust: Option<Value>,
    pub(crate) pull_secret: Option<Value>,
    pub(crate) ssh_key: Option<Value>,
    pub(crate) trust_bundle: Option<Value>,
    /// The large files that this management plane has for nodes.
    pub(crate) artifacts: Arc<Artifacts>,
}

impl Observed {
    /// A pool that wants no machines and never had any: nothing around it matters.
    pub(crate) fn idle(pool: Value) -> Self {
        Self {
            pool,
            cluster: None,
            plane: None,
            namespace: String::new(),
            configs: Vec::new(),
            secrets: Vec::new(),
            machines: Vec::new(),
            ignition_certificate: None,
            api_trust: None,
            kubelet_client_trust: None,
            pull_secret: None,
            ssh_key: None,
            trust_bundle: None,
            artifacts: Arc::default(),
        }
    }
}

/// Reads a NodePool's surroundings.
pub(crate) async fn dereference(objects: &Objects, pool: Value) -> Result<Observed, ObjectError> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (space, name) = (text(&pool["metadata"]["namespace"]), text(&pool["metadata"]["name"]));
    let cluster_name = text(&pool["spec"]["clusterName"]);
    let namespace = control_plane_namespace(&space, &cluster_name);
    let configs: Vec<_> =
        config_names(&pool["spec"]).into_iter().map(|config| find_config(objects, &space, config)).collect();
    let selector = format!("{POOL_LABEL}={}", pool_label(&space, &name));
    let secret = |name: &'static str| objects.find(Kind::Secret, &namespace, name);
    let map = |name: &'static str| objects.find(Kind::ConfigMap, &namespace, name);
    let (cluster, plane, configs, secrets, machines) = tokio::try_join!(
        objects.find(Kind::HostedCluster, &space, &cluster_name),
        objects.find(Kind::HostedControlPlane, &namespace, &cluster_name),
        try_join_all(configs),
        objects.list_labelled(Kind::Secret, &namespace, &selector),
        objects.list_labelled(Kind::Machine, &namespace, &selector),
    )?;
    let (ignition_certificate, pull_secret, ssh_key, api_trust, kubelet_client_trust, trust_bundle) = tokio::try_join!(
        secret("ignition-server-serving-cert"),
        secret("pull-secret"),
        secret("ssh-key"),
        map("root-ca"),
        map("kubelet-client-ca"),
        map("user-ca-bundle"),
    )?;
    Ok(Observed {
        pool,
        cluster,
        plane,
        namespace: namespace.clone(),
        configs,
        secrets,
        machines,
        ignition_certificate,
        api_trust,
        kubelet_client_trust,
        pull_secret,
        ssh_key,
        trust_bundle,
        artifacts: Arc::default(),
    })
}

/// The ConfigMaps that a NodePool's spec names.
pub(crate) fn config_names(spec: &Value) -> Vec<String> {
    let entries = spec["config"].as_array().into_iter().flatten();
    entries.filter_map(|entry| entry["name"].as_str().map(str::to_owned)).collect()
}

async fn find_config(objects: &Objects, namespace: &str, name: String) -> Result<(String, Option<Value>), ObjectError> {
    let found = objects.find(Kind::ConfigMap, namespace, &name).await?;
    Ok((name, found))
}

/// A value of a Secret, as text.
pub(crate) fn secret_text(secret: Option<&Value>, key: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(secret?["data"][key].as_str()?).ok()?).ok()
}
