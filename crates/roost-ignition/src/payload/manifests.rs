//! The user's manifests: which kinds are understood, and what they mean together.

mod kubelet_config;
mod machine_config;
mod runtime_config;

use serde_json::{Map, Value};

use super::pool::{Mirror, UserConfig};
use crate::config::Config;

pub(super) use runtime_config::RuntimeSettings;

/// All texts together; a ConfigMap holds one megabyte.
const MAX_TEXT: usize = 16 << 20;

/// Manifests of one pool.
const MAX_MANIFESTS: usize = 1000;

/// What is understood, for those who wrote something else.
const KINDS: &str = "MachineConfig, KubeletConfig, ContainerRuntimeConfig, ImageDigestMirrorSet and \
                     ImageContentSourcePolicy";

/// A manifest that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{config}: {manifest}: {problem}")]
pub struct ManifestError {
    /// The ConfigMap.
    pub config: String,
    /// Kind and name of the manifest, or where in the text it stands.
    pub manifest: String,
    /// What is wrong with it.
    pub problem: String,
}

/// The user's manifests, understood and in a fixed order.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    documents: Vec<Value>,
    configs: Vec<Config>,
    kubelet: Map<String, Value>,
    kubelet_verbosity: Option<u8>,
    runtime: RuntimeSettings,
    mirrors: Vec<Mirror>,
}

impl Manifests {
    /// Reads all texts. Their order does not matter: manifests of a kind count in the order of their names.
    pub fn read(texts: &[UserConfig]) -> Result<Self, ManifestError> {
        let mut found = Vec::new();
        let mut size = 0_usize;
        for user in texts {
            let failed =
                |manifest: String, problem: String| ManifestError { config: user.name.clone(), manifest, problem };
            size = size.saturating_add(user.text.len());
            if size > MAX_TEXT {
                return Err(failed("all manifests".to_owned(), format!("must be no more than {MAX_TEXT} bytes")));
            }
            for (index, text) in documents(&user.text).enumerate() {
                let place = format!("document {}", index + 1);
                let document = roost_object::yaml::read(text.as_bytes())
                    .map_err(|error| failed(place.clone(), error.to_string()))?;
                if let Some(duplicate) = document.duplicates.first() {
                    return Err(failed(place, duplicate.clone()));
                }
                if document.value.is_null() {
                    continue;
                }
                found.push(Manifest::new(document.value).map_err(|problem| failed(place, problem))?.of(&user.name));
                if found.len() > MAX_MANIFESTS {
                    return Err(failed("all manifests".to_owned(), format!("must be no more than {MAX_MANIFESTS}")));
                }
            }
        }
        found.sort_by(|left, right| left.order().cmp(&right.order()));
        let mut manifests = Self::default();
        for manifest in found {
            manifests.add(&manifest).map_err(|problem| ManifestError {
                config: manifest.config.clone(),
                manifest: format!("{} {}", manifest.kind, manifest.name),
                problem,
            })?;
            manifests.documents.push(manifest.value);
        }
        Ok(manifests)
    }

    fn add(&mut self, manifest: &Manifest) -> Result<(), String> {
        match (manifest.group.as_str(), manifest.kind.as_str()) {
            ("machineconfiguration.openshift.io", "MachineConfig") => {
                self.configs.extend(machine_config::read(&manifest.value)?);
            }
            ("machineconfiguration.openshift.io", "KubeletConfig") => {
                let settings = kubelet_config::read(&manifest.value)?;
                merge_values(&mut self.kubelet, &settings.kubelet);
                self.kubelet_verbosity = settings.verbosity.or(self.kubelet_verbosity);
            }
            ("machineconfiguration.openshift.io", "ContainerRuntimeConfig") => {
                let settings = runtime_config::read(&manifest.value)?;
                self.runtime.merge(settings);
            }
            ("config.openshift.io", "ImageDigestMirrorSet") => {
                self.mirrors.extend(mirrors(&manifest.value, "imageDigestMirrors")?);
            }
            ("operator.openshift.io", "ImageContentSourcePolicy") => {
                self.mirrors.extend(mirrors(&manifest.value, "repositoryDigestMirrors")?);
            }
            (group, _) => {
                let group = if group.is_empty() { "the core group".to_owned() } else { format!("group {group:?}") };
                return Err(format!("this kind of {group} does not configure nodes; {KINDS} do"));
            }
        }
        Ok(())
    }

    /// The manifests as values, in a fixed order; what a content hash is taken of.
    pub fn documents(&self) -> &[Value] {
        &self.documents
    }

    pub(super) fn configs(&self) -> impl Iterator<Item = &Config> {
        self.configs.iter()
    }

    pub(super) fn kubelet(&self) -> &Map<String, Value> {
        &self.kubelet
    }

    pub(super) fn kubelet_verbosity(&self) -> Option<u8> {
        self.kubelet_verbosity
    }

    pub(super) fn runtime(&self) -> &RuntimeSettings {
        &self.runtime
    }

    pub(super) fn mirrors(&self) -> &[Mirror] {
        &self.mirrors
    }
}

/// One manifest, known by name.
struct Manifest {
    config: String,
    group: String,
    kind: String,
    name: String,
    value: Value,
    text: String,
}

impl Manifest {
    fn new(value: Value) -> Result<Self, String> {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let Some(kind) = text("/kind").filter(|kind| !kind.is_empty()) else {
            return Err("a manifest needs apiVersion, kind and metadata.name".to_owned());
        };
        let version = text("/apiVersion").unwrap_or_default();
        let group = version.split_once('/').map(|(group, _)| group.to_owned()).unwrap_or_default();
        let name = text("/metadata/name").unwrap_or_default();
        let canonical = value.to_string();
        Ok(Self { config: String::new(), group, kind, name, value, text: canonical })
    }

    fn of(mut self, config: &str) -> Self {
        config.clone_into(&mut self.config);
        self
    }

    /// By kind and name, and by content where names are the same.
    fn order(&self) -> (&str, &str, &str) {
        (&self.kind, &self.name, &self.text)
    }
}

/// The documents of a text with `---` lines between them.
fn documents(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut lines = text.lines().peekable();
    std::iter::from_fn(move || {
        lines.peek()?;
        let mut document = String::new();
        for line in lines.by_ref() {
            if line == "---" || line.starts_with("--- ") || line.starts_with("---\t") {
                let rest = line[3..].trim_start();
                if document.trim().is_empty() {
                    rest.clone_into(&mut document);
                    document.push('\n');
                    continue;
                }
                break;
            }
            document.push_str(line);
            document.push('\n');
        }
        Some(document)
    })
    .filter(|document| !document.trim().is_empty())
}

/// Objects are merged field by field, everything else is replaced.
pub(super) fn merge_values(target: &mut Map<String, Value>, source: &Map<String, Value>) {
    for (key, value) in source {
        match (target.get_mut(key), value) {
            (Some(Value::Object(target)), Value::Object(source)) => merge_values(target, source),
            _ => {
                target.insert(key.clone(), value.clone());
            }
        }
    }
}

fn mirrors(manifest: &Value, list: &str) -> Result<Vec<Mirror>, String> {
    let Some(entries) = manifest.pointer("/spec").and_then(|spec| spec.get(list)) else { return Ok(Vec::new()) };
    let entries = entries.as_array().ok_or_else(|| format!("spec.{list} must be a list"))?;
    let mut mirrors = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let source = entry.get("source").and_then(Value::as_str);
        let source = source.ok_or_else(|| format!("spec.{list}[{index}].source must be a registry or a repository"))?;
        let places = entry.get("mirrors").and_then(Value::as_array).into_iter().flatten();
        mirrors.push(Mirror {
            source: source.to_owned(),
            mirrors: places.filter_map(Value::as_str).map(str::to_owned).collect(),
            never_contact_source: entry.get("mirrorSourcePolicy") == Some(&Value::from("NeverContactSource")),
        });
    }
    Ok(mirrors)
}

#[cfg(test)]
#[path = "manifests/tests.rs"]
mod tests;
