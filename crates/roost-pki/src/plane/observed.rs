//! The Secrets and ConfigMaps of a control plane's namespace as they are.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value;

use super::authorities::AUTHORITIES;
use super::kubeconfigs::KUBECONFIGS;
use super::leaves::LEAVES;
use super::material::{Kind, Write};
use super::names::PlaneNames;
use super::trust::BUNDLES;
use super::{ANNOTATION_PREFIX, PASSWORD_SECRET, SIGNING_KEY_SECRET, WRITTEN_ANNOTATION};

/// The data of a Secret or ConfigMap.
pub type Data = BTreeMap<String, Vec<u8>>;

/// A Secret or ConfigMap as it is.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Stored {
    /// Its data.
    pub data: Data,
    /// Its annotations, as far as they are those of this module.
    pub annotations: BTreeMap<String, String>,
}

impl Stored {
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        std::str::from_utf8(self.data.get(key)?).ok().filter(|text| !text.is_empty())
    }

    pub(super) fn time(&self, annotation: &str) -> Option<Timestamp> {
        self.annotations.get(annotation)?.parse().ok()
    }

    /// When it was written from here; none when others wrote it.
    pub(super) fn written(&self) -> Option<Timestamp> {
        self.time(WRITTEN_ANNOTATION)
    }
}

/// The keys, never the values.
impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored").field("keys", &self.data.keys()).field("annotations", &self.annotations).finish()
    }
}

/// All that exists of a control plane's keys, by name. Whatever else is in the namespace may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Observed {
    /// The Secrets.
    pub secrets: BTreeMap<String, Stored>,
    /// The ConfigMaps.
    pub config_maps: BTreeMap<String, Stored>,
}

impl Observed {
    /// Adds a Secret or ConfigMap object as the API has it. False when it is neither, or not readable.
    pub fn add_object(&mut self, object: &Value) -> bool {
        let Some(name) = object["metadata"]["name"].as_str() else { return false };
        let annotations = object["metadata"]["annotations"].as_object().into_iter().flatten();
        let annotations = annotations
            .filter(|(key, _)| key.starts_with(ANNOTATION_PREFIX))
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect();
        let entries = object["data"].as_object().into_iter().flatten();
        let texts = entries.filter_map(|(key, value)| Some((key, value.as_str()?)));
        match object["kind"].as_str() {
            Some("Secret") => {
                let decode = |(key, text): (&String, &str)| STANDARD.decode(text).map(|bytes| (key.clone(), bytes));
                let Ok(data) = texts.map(decode).collect() else { return false };
                self.secrets.insert(name.to_owned(), Stored { data, annotations });
                true
            }
            Some("ConfigMap") => {
                let data = texts.map(|(key, text)| (key.clone(), text.as_bytes().to_vec())).collect();
                self.config_maps.insert(name.to_owned(), Stored { data, annotations });
                true
            }
            _ => false,
        }
    }

    /// What is there once a write is done.
    pub fn apply(&mut self, write: &Write) {
        let material = &write.material;
        let objects = match material.kind {
            Kind::Secret => &mut self.secrets,
            Kind::ConfigMap => &mut self.config_maps,
        };
        let stored = objects.entry(material.name.clone()).or_default();
        stored.data = material.data.iter().map(|(key, value)| (key.clone(), value.expose().clone())).collect();
        stored.annotations.extend(material.annotations.clone());
    }
}

impl PlaneNames {
    /// Whether the planner wants to see this object: one that it may write.
    pub fn concerns(&self, kind: Kind, name: &str) -> bool {
        match kind {
            Kind::ConfigMap => BUNDLES.iter().any(|spec| spec.config_map == name),
            Kind::Secret => {
                name == SIGNING_KEY_SECRET
                    || name == PASSWORD_SECRET
                    || AUTHORITIES.iter().any(|spec| spec.secret == name)
                    || LEAVES.iter().any(|spec| spec.secret == name)
                    || KUBECONFIGS.iter().any(|spec| spec.secret(self) == name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_read_and_never_printed() {
        let mut observed = Observed::default();
        let annotations = json!({WRITTEN_ANNOTATION: "2026-11-01T12:00:00Z", "other": "x"});
        let secret = json!({"kind": "Secret", "metadata": {"name": "a", "annotations": annotations}, "data": {"k": "aHVudGVyMg=="}});
        assert!(observed.add_object(&secret));
        assert!(
            observed.add_object(&json!({"kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"ca.crt": "text"}}))
        );
        assert!(!observed.add_object(&json!({"kind": "Secret", "metadata": {"name": "c"}, "data": {"k": "?"}})));
        assert!(!observed.add_object(&json!({"kind": "Pod", "metadata": {"name": "d"}})));
        assert!(!observed.add_object(&json!({"kind": "Secret"})));
        let stored = &observed.secrets["a"];
        assert_eq!(stored.data["k"], b"hunter2");
        assert_eq!(stored.annotations.len(), 1);
        assert!(stored.written().is_some());
        assert_eq!(observed.config_maps["b"].text("ca.crt"), Some("text"));
        let printed = format!("{observed:?}");
        assert!(printed.contains("\"k\"") && !printed.contains("hunter2") && !printed.contains("104"), "{printed}");
    }
}
