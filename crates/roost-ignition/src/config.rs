//! One Ignition config, and what can be done with it.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::data_url;
use crate::finding::{ConfigError, Finding};
use crate::version::SpecVersion;
use crate::{merge, read, schema, translate, validate};

/// A config of spec 3.0 to 3.5: every field of it is known to its version and has its type.
///
/// Its text form has sorted keys and no white space, so that equal configs are equal bytes. `Debug` shows no contents,
/// because configs carry credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct Config {
    version: SpecVersion,
    root: Map<String, Value>,
}

impl Config {
    /// A config that does nothing.
    pub fn new(version: SpecVersion) -> Self {
        let mut root = Map::new();
        root.insert("ignition".to_owned(), json!({"version": version.to_string()}));
        Self { version, root }
    }

    /// Reads a config. Fields that its version does not know are left out, as Ignition leaves them out.
    ///
    /// This checks types; see [`Config::validate`] for the rest.
    pub fn parse(bytes: &[u8]) -> Result<Self, ConfigError> {
        Self::parse_with_ignored(bytes).map(|(config, _)| config)
    }

    /// The same, with the fields that were left out.
    pub fn parse_with_ignored(bytes: &[u8]) -> Result<(Self, Vec<Finding>), ConfigError> {
        let read = read::read(bytes)?;
        Ok((Self { version: read.version, root: read.root }, read.ignored))
    }

    /// Takes a config that is part of another document.
    pub fn from_value(value: Value) -> Result<Self, ConfigError> {
        let read = read::from_value(value)?;
        Ok(Self { version: read.version, root: read.root })
    }

    /// The version that it is written in.
    pub fn version(&self) -> SpecVersion {
        self.version
    }

    /// What Ignition would refuse about it.
    pub fn findings(&self) -> Vec<Finding> {
        validate::findings(self)
    }

    /// Fails where Ignition would refuse it.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let findings = self.findings();
        if findings.is_empty() { Ok(()) } else { Err(ConfigError::Invalid(findings)) }
    }

    /// Merges a child by Ignition's rules. The result has the higher of both versions.
    #[must_use]
    pub fn merge(self, child: Self) -> Self {
        let version = self.version.max(child.version);
        let root = merge::records(schema::CONFIG, self.root, child.root);
        Self { version, root }.labelled(version)
    }

    /// The same config in another version; fails when that has no words for something.
    pub fn translate(&self, version: SpecVersion) -> Result<Self, ConfigError> {
        let mut translated = self.clone();
        if version < self.version {
            let mut fields = Vec::new();
            translate::reduce(schema::CONFIG, version.minor(), "", &mut translated.root, &mut fields);
            if !fields.is_empty() {
                return Err(ConfigError::Untranslatable { version, fields });
            }
        }
        Ok(translated.labelled(version))
    }

    fn labelled(mut self, version: SpecVersion) -> Self {
        self.version = version;
        self.entry("ignition").insert("version".to_owned(), Value::String(version.to_string()));
        self
    }

    /// The text form.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.root).expect("keys of a config are texts")
    }

    /// The config as a value.
    pub fn to_value(&self) -> Value {
        Value::Object(self.root.clone())
    }

    pub(crate) fn section(&self, name: &str) -> Option<&Map<String, Value>> {
        self.root.get(name).and_then(Value::as_object)
    }

    pub(crate) fn root(&self) -> &Map<String, Value> {
        &self.root
    }

    fn entry(&mut self, name: &str) -> &mut Map<String, Value> {
        let value = self.root.entry(name).or_insert_with(|| Value::Object(Map::new()));
        if !value.is_object() {
            *value = Value::Object(Map::new());
        }
        value.as_object_mut().expect("was made an object above")
    }

    /// Puts an item into a list, in place of one with the same key.
    fn put(&mut self, section: &str, list: &str, key: &str, item: Value) {
        let list = self.entry(section).entry(list).or_insert_with(|| Value::Array(Vec::new()));
        let Value::Array(items) = list else { return };
        match items.iter_mut().find(|other| other[key] == item[key]) {
            Some(other) => *other = item,
            None => items.push(item),
        }
    }

    /// Puts a file with these contents on the host, replacing what lies there.
    pub fn put_file(&mut self, path: &str, mode: u32, contents: &[u8]) {
        let item = json!({
            "path": path, "mode": mode, "overwrite": true, "contents": {"source": data_url::encode(contents)},
        });
        self.put("storage", "files", "path", item);
    }

    /// Has a file fetched from a URL and checked with a hash of the form `sha256-…` or `sha512-…`.
    pub fn put_remote_file(&mut self, path: &str, mode: u32, url: &str, hash: &str) {
        let item = json!({
            "path": path, "mode": mode, "overwrite": true,
            "contents": {"source": url, "verification": {"hash": hash}},
        });
        self.put("storage", "files", "path", item);
    }

    /// Makes a directory.
    pub fn put_directory(&mut self, path: &str, mode: u32) {
        self.put("storage", "directories", "path", json!({"path": path, "mode": mode}));
    }

    /// Writes a unit and enables it, or leaves that to others.
    pub fn put_unit(&mut self, name: &str, enabled: Option<bool>, contents: Option<&str>) {
        let mut item = json!({"name": name});
        if let Some(enabled) = enabled {
            item["enabled"] = enabled.into();
        }
        if let Some(contents) = contents {
            item["contents"] = contents.into();
        }
        self.put("systemd", "units", "name", item);
    }

    /// Adds to a unit without replacing it.
    pub fn put_dropin(&mut self, unit: &str, enabled: Option<bool>, name: &str, contents: &str) {
        let mut item = json!({"name": unit, "dropins": [{"name": name, "contents": contents}]});
        if let Some(enabled) = enabled {
            item["enabled"] = enabled.into();
        }
        self.put("systemd", "units", "name", item);
    }

    /// Opens an account to the holders of keys.
    pub fn put_ssh_keys(&mut self, user: &str, keys: &[String]) {
        self.put("passwd", "users", "name", json!({"name": user, "sshAuthorizedKeys": keys}));
    }

    /// Has authorities trusted while the rest is fetched.
    pub fn trust_authority(&mut self, pem: &str) {
        let source = format!("data:text/plain;base64,{}", base64_of(pem.as_bytes()));
        let ignition = self.entry("ignition");
        let security = ignition.entry("security").or_insert_with(|| json!({"tls": {"certificateAuthorities": []}}));
        if let Some(Value::Array(authorities)) = security.pointer_mut("/tls/certificateAuthorities") {
            let authority = json!({"source": source});
            if !authorities.contains(&authority) {
                authorities.push(authority);
            }
        }
    }

    /// Has Ignition itself use a proxy.
    pub(crate) fn set_ignition_field(&mut self, name: &str, value: Value) {
        self.entry("ignition").insert(name.to_owned(), value);
    }
}

fn base64_of(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

impl fmt::Debug for Config {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Config")
            .field("version", &self.version.to_string())
            .field("files", &self.files().map(|file| file.path()).collect::<Vec<_>>())
            .field("units", &self.units().map(|unit| unit.name()).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
