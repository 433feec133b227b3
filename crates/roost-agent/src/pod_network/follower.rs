//! Following one kind of object: all of them once, then what changes, and all of them again where that had a gap.

use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use roost_network::model::Kind;
use serde_json::Value;

use super::say;
use crate::cluster::{Cluster, ClusterError};
use crate::root::Root;
use crate::words;

/// How long one stream goes on; the server ends it then.
const STREAM: Duration = Duration::from_mins(5);
/// How much longer it may be silent.
const GRACE: Duration = Duration::from_secs(30);
/// How soon a server that does not answer is asked again: first, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));
/// How many objects are asked for at a time.
const PAGE: usize = 500;
/// The longest event that is taken.
const LONGEST_EVENT: usize = 8 << 20;

/// What happened.
#[derive(Debug)]
pub(super) enum Change {
    /// These are all objects of the kind.
    All(Kind, Vec<Value>),
    /// An object is there.
    Put(Kind, Value),
    /// An object is gone.
    Gone(Kind, Value),
}

/// Follows for as long as somebody listens.
pub(super) fn follow(kind: Kind, changes: &SyncSender<Change>) {
    let root = Root::new(Path::new("/"));
    let mut version: Option<String> = None;
    let mut pause = PAUSES.0;
    let mut said = String::new();
    loop {
        // The kubelet renews its certificate, so it is read each time.
        let outcome = Cluster::of_node(&root).and_then(|cluster| match &mut version {
            None => {
                let (objects, reached) = all(&cluster, kind)?;
                version = reached;
                Ok(Some(Change::All(kind, objects)))
            }
            Some(version) => {
                let begin = Instant::now();
                let ended = stream(&cluster, kind, version, changes);
                // A server that ends streams at once is not asked in a circle.
                std::thread::sleep(PAUSES.0.saturating_sub(begin.elapsed()));
                ended.map(|()| None)
            }
        });
        match outcome {
            Ok(change) => {
                if change.is_some_and(|change| changes.send(change).is_err()) {
                    return;
                }
                pause = PAUSES.0;
                said.clear();
            }
            Err(ClusterError::Refused { status: 410, .. }) => version = None,
            Err(error) => {
                let reason = words::with_causes(&error);
                if reason != said {
                    say(&format!("{} cannot be followed, the last state stays: {reason}", kind.path()));
                    said = reason;
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(PAUSES.1);
            }
        }
    }
}

/// All objects of a kind, page by page, and the version that they are of.
fn all(cluster: &Cluster, kind: Kind) -> Result<(Vec<Value>, Option<String>), ClusterError> {
    let mut objects = Vec::new();
    let mut path = format!("{}?limit={PAGE}", kind.path());
    loop {
        let mut list = cluster.get(&path)?;
        if let Value::Array(items) = list["items"].take() {
            objects.extend(items);
        }
        let text = |field: &str| list["metadata"][field].as_str().filter(|text| !text.is_empty());
        match text("continue") {
            Some(token) => path = format!("{}?limit={PAGE}&continue={token}", kind.path()),
            None => return Ok((objects, text("resourceVersion").map(str::to_owned))),
        }
    }
}

/// Hands on what changes until the stream ends. `version` is how far it came.
fn stream(
    cluster: &Cluster,
    kind: Kind,
    version: &mut String,
    changes: &SyncSender<Change>,
) -> Result<(), ClusterError> {
    let path = format!(
        "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={version}",
        kind.path(),
        STREAM.as_secs(),
    );
    let mut is_gone = false;
    let mut take = |line: &[u8]| {
        let mut event: Value = serde_json::from_slice(line).map_err(io::Error::from)?;
        let object = event["object"].take();
        if let Some(reached) = object["metadata"]["resourceVersion"].as_str() {
            reached.clone_into(version);
        }
        let change = match event["type"].as_str() {
            Some("ADDED" | "MODIFIED") => Change::Put(kind, object),
            Some("DELETED") => Change::Gone(kind, object),
            Some("BOOKMARK") => return Ok(()),
            _ => {
                is_gone = object["code"] == 410;
                return Err(io::Error::other(object["message"].as_str().unwrap_or("it gave no reason").to_owned()));
            }
        };
        changes.send(change).map_err(|_| io::Error::other("nobody listens"))
    };
    let outcome = cluster.follow(&path, STREAM + GRACE, &mut Lines { buffer: Vec::new(), take: &mut take });
    if is_gone {
        return Err(ClusterError::Refused { status: 410, words: "what changed is forgotten".to_owned() });
    }
    outcome
}

/// Cuts a stream into lines.
struct Lines<'a> {
    buffer: Vec<u8>,
    take: &'a mut dyn FnMut(&[u8]) -> io::Result<()>,
}

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.buffer.extend_from_slice(&rest[..end]);
            if !self.buffer.is_empty() {
                (self.take)(&self.buffer)?;
            }
            self.buffer.clear();
            rest = &rest[end + 1..];
        }
        if self.buffer.len() + rest.len() > LONGEST_EVENT {
            return Err(io::Error::other("an event is too long"));
        }
        self.buffer.extend_from_slice(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::Lines;

    #[test]
    fn lines_come_whole_however_they_were_cut() {
        let mut seen = Vec::new();
        let mut take = |line: &[u8]| {
            seen.push(String::from_utf8_lossy(line).into_owned());
            Ok(())
        };
        let mut lines = Lines { buffer: Vec::new(), take: &mut take };
        for part in ["{\"a\"", ":1}\n{}", "\n\n", "x\ny"] {
            lines.write_all(part.as_bytes()).unwrap();
        }
        assert_eq!(seen, ["{\"a\":1}", "{}", "x"]);
    }
}
