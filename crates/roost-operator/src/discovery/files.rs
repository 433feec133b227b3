//! What hosts and boot loaders download: the discovery configuration, the boot script, and a host's own configuration.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roost_api::agent_install::HostState;
use roost_discovery::{Document, FileQuery, Refusal};
use roost_host::wire::ReachRequest;
use roost_ignition::{Config, SpecVersion};
use roost_image_server::ScriptRequest;
use roost_pki::Secret;
use serde_json::{Value, json};

use super::{Discovery, Published};
use crate::agent;
use crate::context::words;
use crate::infra_env;
use crate::object::{Kind, ObjectError, Objects};

/// What Ignition configs are sent as.
const IGNITION: &str = "application/vnd.coreos.ignition+json";
/// Where the agent finds the service.
const SETTINGS_FILE: &str = "/etc/roost/discovery.json";
/// Who vouches for the service. Upstream's path.
const AUTHORITY_FILE: &str = "/etc/assisted-service/service-ca-cert.crt";
/// Certificates that the user wants trusted. Upstream's path.
const TRUST_FILE: &str = "/etc/pki/ca-trust/source/anchors/assisted-infraenv-additional-trust-bundle.pem";
const AGENT_UNIT: &str = "[Unit]\nDescription=Shows this host to the discovery service\nWants=network-online.target\n\
    After=network-online.target\n\n[Service]\nExecStart=/usr/local/bin/hcp-agent discover --settings /etc/roost/discovery.json\n\
    Restart=always\nRestartSec=3\n\n[Install]\nWantedBy=multi-user.target\n";

fn unavailable(error: &ObjectError) -> Refusal {
    Refusal::Unavailable(words(error))
}

/// A file of an environment.
pub(super) async fn file(
    discovery: &Discovery,
    published: &Published,
    environment: &Value,
    query: &FileQuery,
) -> Result<Document, Refusal> {
    match query.name.as_str() {
        "discovery.ign" => {
            let token = fresh_token(published, environment)?;
            let config = discovery_ignition(&discovery.objects, published, environment, token.expose()).await?;
            Ok(Document { content_type: IGNITION, body: config.to_bytes().into() })
        }
        "ipxe-script" => boot_script(discovery, published, environment, query),
        other => Err(Refusal::NotFound(format!("there is no file {other:?}; there are discovery.ign and ipxe-script"))),
    }
}

/// A token that is as young as can be, for what is downloaded now.
pub(super) fn fresh_token(published: &Published, environment: &Value) -> Result<Secret<String>, Refusal> {
    let id = environment["metadata"]["uid"].as_str().unwrap_or_default();
    let token = published.token(id, &infra_env::revision(environment), jiff::Timestamp::now());
    token.ok_or_else(|| Refusal::Unavailable("no token can be signed".to_owned()))
}

/// The configuration of the discovery system.
pub(crate) async fn discovery_ignition(
    objects: &Objects,
    published: &Published,
    environment: &Value,
    token: &str,
) -> Result<Config, Refusal> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (metadata, spec) = (&environment["metadata"], &environment["spec"]);
    let mut config = Config::new(SpecVersion::V3_1);
    config.put_file(AUTHORITY_FILE, 0o644, published.authority.as_bytes());
    let settings = json!({
        "url": published.url, "infra_env_id": metadata["uid"], "token": token, "certificate_authority": AUTHORITY_FILE,
    });
    config.put_file(SETTINGS_FILE, 0o600, settings.to_string().as_bytes());
    config.put_unit("agent.service", Some(true), Some(AGENT_UNIT));
    let (namespace, secret) = (text(&metadata["namespace"]), text(&spec["pullSecretRef"]["name"]));
    let found = objects.find(Kind::Secret, &namespace, &secret).await.map_err(|error| unavailable(&error))?;
    let pull_secret = found.and_then(|found| STANDARD.decode(found["data"][".dockerconfigjson"].as_str()?).ok());
    if let Some(pull_secret) = pull_secret {
        config.put_file("/root/.docker/config.json", 0o600, &pull_secret);
    }
    if let Some(bundle) = spec["additionalTrustBundle"].as_str().filter(|bundle| !bundle.is_empty()) {
        config.put_file(TRUST_FILE, 0o644, bundle.as_bytes());
    }
    let keys: Vec<String> = spec["sshAuthorizedKey"]
        .as_str()
        .unwrap_or_default()
        .lines()
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    if !keys.is_empty() {
        config.put_ssh_keys("core", &keys);
    }
    let networks = infra_env::network::read(objects, environment).await.map_err(|error| unavailable(&error))?;
    networks.map_err(Refusal::Invalid)?.put(&mut config);
    match spec["ignitionConfigOverride"].as_str().filter(|text| !text.trim().is_empty()) {
        None => Ok(config),
        Some(text) => Config::parse(text.as_bytes())
            .map(|child| config.merge(child))
            .map_err(|error| Refusal::Invalid(format!("spec.ignitionConfigOverride: {error}"))),
    }
}

/// What iPXE is told: the same as the server of images says, for those who can ask over TLS.
fn boot_script(
    discovery: &Discovery,
    published: &Published,
    environment: &Value,
    query: &FileQuery,
) -> Result<Document, Refusal> {
    let id = environment["metadata"]["uid"].as_str().unwrap_or_default();
    let token = fresh_token(published, environment)?;
    let request = ScriptRequest { card: &query.address, is_controlled: query.script_type == "boot-order-control" };
    match discovery.images.images.boot_script(id, token.expose(), request, discovery) {
        Ok(Some(text)) => Ok(Document { content_type: "text/plain", body: text.into() }),
        Ok(None) => Err(Refusal::NotFound("the host boots its disk".to_owned())),
        Err(error) => Err(Refusal::Unavailable(error.to_string())),
    }
}

/// An environment, as upstream's image service reads it.
pub(super) fn environment(id: &str, environment: &Value) -> Document {
    let spec = &environment["spec"];
    let arguments: Vec<Value> = spec["kernelArguments"].as_array().cloned().unwrap_or_default();
    let body = json!({
        "id": id, "kind": "InfraEnv", "name": environment["metadata"]["name"],
        "cpu_architecture": infra_env::architecture(environment), "type": infra_env::image_type(environment),
        "kernel_arguments": Value::from(arguments).to_string(),
    });
    Document { content_type: "application/json", body: body.to_string().into() }
}

/// The pool's configuration that an Agent is bound to.
pub(super) async fn user_data(objects: &Objects, agent: &Value) -> Result<Option<Value>, ObjectError> {
    let reference = &agent["spec"]["ignitionEndpointTokenReference"];
    let (Some(name), Some(namespace)) = (reference["name"].as_str(), reference["namespace"].as_str()) else {
        return Ok(None);
    };
    let Some(name) = name.strip_prefix(crate::agent_pool::TOKEN_PREFIX) else { return Ok(None) };
    let found = objects.find(Kind::Secret, namespace, name).await?;
    let value = found.and_then(|found| STANDARD.decode(found["data"]["value"].as_str()?).ok());
    Ok(value.and_then(|value| serde_json::from_slice(&value).ok()))
}

/// Where a configuration is fetched from.
pub(super) fn source(pointer: &Value) -> &str {
    pointer["ignition"]["config"]["merge"][0]["source"].as_str().unwrap_or_default()
}

/// Where a host tries whether it will reach its configuration: the door, not the configuration, which would make it a
/// machine.
pub(super) async fn reach(objects: &Objects, agent: &Value) -> Result<Option<ReachRequest>, Refusal> {
    let pointer = user_data(objects, agent).await.map_err(|error| unavailable(&error))?;
    let Some(pointer) = pointer else { return Ok(None) };
    let ignition = &pointer["ignition"];
    let Some(base) = source(&pointer).strip_suffix("/ignition") else { return Ok(None) };
    let authority = &ignition["security"]["tls"]["certificateAuthorities"][0]["source"];
    let authority = authority.as_str().and_then(|source| source.rsplit_once(',')).map_or("", |(_, text)| text);
    Ok(Some(ReachRequest { url: format!("{base}/healthz"), ca_certificate: authority.to_owned() }))
}

/// What a host is installed with: where its configuration is, and who it says it is there.
pub(super) async fn host_ignition(objects: &Objects, agent: &Value) -> Result<Document, Refusal> {
    let state = agent::state_of(agent);
    if !state.is_installing() && state != HostState::Known {
        return Err(Refusal::Conflict(format!("a host in the state {state} has no configuration")));
    }
    let pointer = user_data(objects, agent).await.map_err(|error| unavailable(&error))?;
    let mut pointer =
        pointer.ok_or_else(|| Refusal::Unavailable("the node pool has no configuration yet".to_owned()))?;
    if let Some(headers) = pointer["ignition"]["config"]["merge"][0]["httpHeaders"].as_array_mut() {
        let identity = [
            ("Roost-Host-Id", agent["metadata"]["name"].as_str().unwrap_or_default().to_owned()),
            ("Roost-Host-Name", agent::hostname(agent)),
            ("Roost-Host-Addresses", agent::addresses(agent).join(",")),
        ];
        let identity = identity.into_iter().filter(|(_, value)| !value.is_empty());
        headers.extend(identity.map(|(name, value)| json!({"name": name, "value": value})));
    }
    let invalid = |error: roost_ignition::ConfigError| Refusal::Unavailable(words(&error));
    let mut config = Config::from_value(pointer).map_err(invalid)?;
    config.put_file("/etc/hostname", 0o644, format!("{}\n", agent::hostname(agent)).as_bytes());
    if let Some(text) = agent["spec"]["ignitionConfigOverrides"].as_str().filter(|text| !text.trim().is_empty()) {
        let child = Config::parse(text.as_bytes())
            .map_err(|error| Refusal::Invalid(format!("spec.ignitionConfigOverrides: {error}")))?;
        config = config.merge(child);
    }
    Ok(Document { content_type: IGNITION, body: config.to_bytes().into() })
}
