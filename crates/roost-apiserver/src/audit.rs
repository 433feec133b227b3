//! The audit log: one JSON line a request, in Kubernetes' own audit format at the level `Metadata`.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use http::Uri;
use jiff::Timestamp;
use parking_lot::Mutex;
use roost_access::User;
use serde_json::{Value, json};

use crate::clock;
use crate::request::RequestInfo;

/// An answered request.
pub(crate) struct Entry<'a> {
    /// The request's own id.
    pub(crate) id: &'a str,
    /// Who made it.
    pub(crate) user: &'a User,
    /// As whom, if as someone else.
    pub(crate) impersonated: Option<&'a User>,
    /// What was asked for.
    pub(crate) info: &'a RequestInfo,
    /// The path and query as they came.
    pub(crate) uri: &'a Uri,
    /// The status code of the answer.
    pub(crate) code: u16,
    /// When it came.
    pub(crate) received: Timestamp,
    /// What admission had to say.
    pub(crate) annotations: BTreeMap<String, String>,
}

/// A log file that requests are appended to.
pub struct AuditLog {
    file: Mutex<BufWriter<File>>,
}

impl AuditLog {
    /// Opens a log, readable by its owner only.
    pub fn open(path: &Path) -> io::Result<AuditLog> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        Ok(AuditLog { file: Mutex::new(BufWriter::new(file)) })
    }

    /// Records an answered request. Bodies are never recorded, so no secret can be.
    pub(crate) fn record(&self, entry: Entry<'_>) {
        let Entry { id, user, impersonated, info, uri, code, received, annotations } = entry;
        let mut event = json!({
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "auditID": id,
            "stage": "ResponseComplete",
            "requestURI": uri.to_string(),
            "verb": info.verb,
            "user": user.to_object(),
            "responseStatus": {"metadata": {}, "code": code},
            "requestReceivedTimestamp": clock::micro_text(received),
            "stageTimestamp": clock::now_micro_text(),
        });
        if let Some(user) = impersonated {
            event["impersonatedUser"] = user.to_object();
        }
        if !annotations.is_empty() {
            event["annotations"] = annotations.into_iter().map(|(key, value)| (key, Value::from(value))).collect();
        }
        if info.is_resource {
            let mut reference = serde_json::Map::new();
            for (name, value) in [
                ("resource", &info.resource),
                ("namespace", &info.namespace),
                ("name", &info.name),
                ("apiGroup", &info.group),
                ("apiVersion", &info.version),
                ("subresource", &info.subresource),
            ] {
                if !value.is_empty() {
                    reference.insert(name.into(), value.as_str().into());
                }
            }
            event["objectRef"] = Value::Object(reference);
        }
        let mut file = self.file.lock();
        let written = serde_json::to_writer(&mut *file, &event)
            .map_err(io::Error::from)
            .and_then(|()| file.write_all(b"\n"))
            .and_then(|()| file.flush());
        if let Err(error) = written {
            tracing::error!(%error, "the audit log cannot be written");
        }
    }
}
