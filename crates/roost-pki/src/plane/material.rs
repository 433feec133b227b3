//! What a plan writes, and why.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::WRITTEN_ANNOTATION;
use super::progress::{Progress, Stage};
use crate::Secret;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A Secret.
    Secret,
    /// A ConfigMap.
    ConfigMap,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Secret => "Secret",
            Self::ConfigMap => "ConfigMap",
        })
    }
}

pub(super) const OPAQUE: &str = "Opaque";
pub(super) const TLS: &str = "kubernetes.io/tls";

/// A whole object to be written. Its data takes the place of what was there; labels and annotations are added to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Material {
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// The type of a Secret that is made; one that exists keeps its own, which cannot be changed.
    pub secret_type: &'static str,
    /// Its data.
    pub data: BTreeMap<String, Secret<Vec<u8>>>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
}

impl Material {
    pub(super) fn new(kind: Kind, name: &str, now: Timestamp) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            secret_type: OPAQUE,
            data: BTreeMap::new(),
            labels: BTreeMap::new(),
            annotations: BTreeMap::from([(WRITTEN_ANNOTATION.to_owned(), now.to_string())]),
        }
    }

    pub(super) fn put(&mut self, key: &str, value: impl Into<Vec<u8>>) {
        self.data.insert(key.to_owned(), Secret::new(value.into()));
    }

    /// The object as the API takes it. It is no longer protected from being printed.
    pub fn to_object(&self, namespace: &str) -> Value {
        let mut metadata = json!({"name": self.name, "namespace": namespace, "annotations": self.annotations});
        if !self.labels.is_empty() {
            metadata["labels"] = json!(self.labels);
        }
        let text = |bytes: &Vec<u8>| match self.kind {
            Kind::Secret => STANDARD.encode(bytes),
            Kind::ConfigMap => String::from_utf8_lossy(bytes).into_owned(),
        };
        let data: Map<String, Value> =
            self.data.iter().map(|(key, value)| (key.clone(), text(value.expose()).into())).collect();
        let mut object = json!({"apiVersion": "v1", "kind": self.kind.to_string(), "metadata": metadata, "data": data});
        if self.kind == Kind::Secret {
            object["type"] = self.secret_type.into();
        }
        object
    }
}

/// Why something is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It does not exist.
    Missing,
    /// What exists cannot be read, or its parts do not belong together.
    Unreadable,
    /// What exists lacks a part.
    Incomplete,
    /// It ends at this time, and it is time to renew it.
    ExpiresSoon(Timestamp),
    /// It is not good before this time, which is still to come.
    NotYetGood(Timestamp),
    /// It is for another subject.
    SubjectChanged,
    /// It is for other names or addresses.
    NamesChanged,
    /// Its authority has been replaced.
    SignerRotated,
    /// Other authorities are trusted than it says.
    TrustChanged,
    /// It names another address than the published one.
    EndpointChanged,
    /// The client certificate in it is no longer the one in use.
    ClientRenewed,
    /// The rotation of an authority reaches a stage.
    Rotation(Stage),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("does not exist"),
            Self::Unreadable => f.write_str("cannot be read"),
            Self::Incomplete => f.write_str("is incomplete"),
            Self::ExpiresSoon(end) => write!(f, "expires at {end}"),
            Self::NotYetGood(start) => write!(f, "is not good before {start}"),
            Self::SubjectChanged => f.write_str("is for another subject"),
            Self::NamesChanged => f.write_str("is for other names"),
            Self::SignerRotated => f.write_str("is of a replaced authority"),
            Self::TrustChanged => f.write_str("trusted authorities changed"),
            Self::EndpointChanged => f.write_str("the published address changed"),
            Self::ClientRenewed => f.write_str("the client certificate was renewed"),
            Self::Rotation(stage) => write!(f, "rotation: {stage}"),
        }
    }
}

/// The order of writes. Those of one wave may be made at once; a wave is complete before the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wave {
    /// Authorities, keys and passwords.
    Authorities,
    /// What is trusted.
    Trust,
    /// Certificates that the authorities signed.
    Leaves,
    /// Kubeconfigs, which hold something of all.
    Kubeconfigs,
}

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// When it is its turn.
    pub wave: Wave,
    /// What is written.
    pub material: Material,
    /// Why.
    pub reason: Reason,
}

/// All that is to be done now, and when to look again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The writes, in the order of their waves. When all are made the plan is made again.
    pub writes: Vec<Write>,
    /// The first moment at which a plan of the same world may be another.
    pub next: Timestamp,
    /// When the first certificate in use ends if nobody plans again. A plane that is looked after is months away from it.
    pub good_until: Timestamp,
    /// The rotations under way.
    pub progress: Vec<Progress>,
}

impl Plan {
    /// Whether nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// The writes wave by wave.
    pub fn waves(&self) -> impl Iterator<Item = &[Write]> {
        self.writes.chunk_by(|left, right| left.wave == right.wave)
    }
}

/// One line for each write and each rotation.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Write { material, reason, .. } in &self.writes {
            writeln!(f, "write {} {}: {reason}", material.kind, material.name)?;
        }
        for progress in &self.progress {
            writeln!(f, "{progress}")?;
        }
        writeln!(f, "look again at {}", self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn materials_become_objects_and_never_print() {
        let now: Timestamp = "2026-11-01T12:00:00Z".parse().unwrap();
        let mut secret = Material::new(Kind::Secret, "a", now);
        secret.put("k", "hunter2");
        secret.labels.insert("l".into(), "v".into());
        let mut config_map = Material::new(Kind::ConfigMap, "b", now);
        config_map.put("ca.crt", "text");
        let object = secret.to_object("ns");
        assert_eq!(object["data"]["k"], "aHVudGVyMg==");
        assert_eq!(object["metadata"]["labels"]["l"], "v");
        assert_eq!(object["type"], "Opaque");
        let object = config_map.to_object("ns");
        assert_eq!((&object["data"]["ca.crt"], &object["type"]), (&json!("text"), &Value::Null));
        let write = |material| Write { wave: Wave::Trust, material, reason: Reason::Missing };
        let plan =
            Plan { writes: vec![write(secret), write(config_map)], next: now, good_until: now, progress: Vec::new() };
        let printed = format!("{plan:?} {plan}");
        assert!(printed.contains("write Secret a: does not exist\n") && printed.contains("redacted"), "{printed}");
        assert!(!printed.contains("hunter2") && !printed.contains("104, 117"), "{printed}");
        assert_eq!(plan.waves().count(), 1);
    }
}
