//! What a machine is booted with: a small config that says where the real one is, in the wrapping of each platform.

mod cloud_init;
mod format;

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roost_pki::Secret;
use serde_json::{Map, Value, json};

use crate::config::Config;
use crate::payload::{Artifact, Proxy};

pub use format::{Format, InvalidFormat, UserData, UserDataError};

/// Where a machine finds its payload, and what it shows there.
#[derive(Clone, Debug)]
pub struct Pointer {
    /// Host and port of the ignition server, as published; the port may be left out.
    pub endpoint: String,
    /// The address to use where the host's name does not resolve. Ignition can only be sent to the address itself, for
    /// which the server's certificate has to be good, too; other hosts keep the name and are told its address.
    pub address: Option<IpAddr>,
    /// Whose certificate the server shows, in PEM.
    pub certificate_authority: String,
    /// The pool's token, as it stands in the token Secret.
    pub token: Secret<String>,
    /// The pool, as `<namespace>/<name>`.
    pub node_pool: String,
    /// The hash of the configuration that the token is for.
    pub config_hash: String,
    /// The way out, where there is no direct one.
    pub proxy: Option<Proxy>,
    /// The agent, for hosts without Ignition; where none is named it has to be there already.
    pub agent: Option<Artifact>,
}

impl Pointer {
    /// Host and port with another name for the host.
    #[must_use]
    pub fn with_host(mut self, host: &str) -> Self {
        let port = port_of(&self.endpoint).map(|port| format!(":{port}")).unwrap_or_default();
        self.endpoint = format!("{host}{port}");
        self
    }

    /// The host that machines reach, without its port.
    pub fn host(&self) -> &str {
        host_of(&self.endpoint)
    }

    /// The URL of the payload.
    pub fn url(&self) -> String {
        match self.address {
            None => format!("https://{}/ignition", self.endpoint),
            Some(address) => {
                let port = port_of(&self.endpoint).map(|port| format!(":{port}")).unwrap_or_default();
                match address {
                    IpAddr::V4(address) => format!("https://{address}{port}/ignition"),
                    IpAddr::V6(address) => format!("https://[{address}]{port}/ignition"),
                }
            }
        }
    }
}

/// The host of `host:port`, `[address]:port` or a host alone.
fn host_of(endpoint: &str) -> &str {
    if let Some((address, _)) = endpoint.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address;
    }
    endpoint.split_once(':').map_or(endpoint, |(host, _)| host)
}

/// The port of `host:port`, `[address]:port` or a host alone.
fn port_of(endpoint: &str) -> Option<u16> {
    let after = endpoint.rsplit_once(']').map_or(endpoint, |(_, after)| after);
    after.rsplit_once(':').and_then(|(_, port)| port.parse().ok())
}

/// The config that points to the payload: spec 3.2.0, as upstream writes it.
pub fn user_data(pointer: &Pointer) -> Config {
    let authority = STANDARD.encode(&pointer.certificate_authority);
    let token = STANDARD.encode(pointer.token.expose());
    let mut ignition = json!({
        "version": "3.2.0",
        "security": {"tls": {"certificateAuthorities": [{"source": format!("data:text/plain;base64,{authority}")}]}},
        "config": {"merge": [{
            "source": pointer.url(),
            "httpHeaders": [
                {"name": "Authorization", "value": format!("Bearer {token}")},
                {"name": "NodePool", "value": pointer.node_pool},
                {"name": "TargetConfigVersionHash", "value": pointer.config_hash},
            ],
        }]},
    });
    if let Some(proxy) = &pointer.proxy {
        let mut fields = Map::new();
        for (name, value) in [("httpProxy", &proxy.http), ("httpsProxy", &proxy.https)] {
            if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
                fields.insert(name.to_owned(), value.into());
            }
        }
        if !proxy.no_proxy.is_empty() {
            fields.insert("noProxy".to_owned(), json!(proxy.no_proxy));
        }
        if !fields.is_empty() {
            ignition["proxy"] = Value::Object(fields);
        }
    }
    Config::from_value(json!({"ignition": ignition})).expect("every field of a pointer has its type")
}

impl Pointer {
    /// Reads a pointer config back: where the payload is, and what has to be shown there. None for other configs.
    pub fn read(config: &Config) -> Option<Target> {
        let ignition = Value::Object(config.section("ignition")?.clone());
        let merge = ignition.pointer("/config/merge/0")?;
        let authorities = ignition.pointer("/security/tls/certificateAuthorities").and_then(Value::as_array);
        let mut certificate_authority = String::new();
        for source in authorities.into_iter().flatten().filter_map(|authority| authority.get("source")?.as_str()) {
            let pem = String::from_utf8(crate::data_url::decode(source).ok()?).ok()?;
            certificate_authority.push_str(&pem);
            if !pem.ends_with('\n') {
                certificate_authority.push('\n');
            }
        }
        let headers = merge.get("httpHeaders").and_then(Value::as_array).into_iter().flatten();
        Some(Target {
            url: merge.get("source")?.as_str()?.to_owned(),
            headers: headers
                .filter_map(|header| {
                    let text = |name: &str| header.get(name)?.as_str().map(str::to_owned);
                    Some((text("name")?, Secret::new(text("value")?)))
                })
                .collect(),
            certificate_authority,
        })
    }
}

impl Pointer {
    /// Reads a whole pointer back from the config that it was written as. None for configs that are none of ours.
    pub fn from_config(config: &Config) -> Option<Self> {
        let target = Self::read(config)?;
        let header = |wanted: &str| target.headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
        let token = STANDARD.decode(header("Authorization")?.expose().strip_prefix("Bearer ")?).ok()?;
        let proxy = config.section("ignition")?.get("proxy").map(|proxy| {
            let text = |name: &str| proxy.get(name).and_then(Value::as_str).map(str::to_owned);
            let around = proxy.get("noProxy").and_then(Value::as_array).into_iter().flatten();
            Proxy {
                http: text("httpProxy"),
                https: text("httpsProxy"),
                no_proxy: around.filter_map(|host| host.as_str().map(str::to_owned)).collect(),
            }
        });
        Some(Self {
            endpoint: target.url.strip_prefix("https://")?.strip_suffix("/ignition")?.to_owned(),
            address: None,
            token: Secret::new(String::from_utf8(token).ok()?),
            node_pool: header("NodePool")?.expose().clone(),
            config_hash: header("TargetConfigVersionHash")?.expose().clone(),
            certificate_authority: target.certificate_authority,
            proxy,
            agent: None,
        })
    }
}

/// What a pointer config says, for clients that are not Ignition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where the payload is.
    pub url: String,
    /// The headers to send, the token among them.
    pub headers: Vec<(String, Secret<String>)>,
    /// Whose certificate the server shows, in PEM; empty for those that the host trusts already.
    pub certificate_authority: String,
}

#[cfg(test)]
#[path = "user_data/tests.rs"]
mod tests;
