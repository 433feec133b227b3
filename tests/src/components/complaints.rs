//! What a component's log complains about, in words that two runs can share.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::ComponentsError;
use super::parts::read;

/// What differs between two runs of one server, and what it becomes.
const VARIABLE: &[(&str, &str)] = &[
    (r" (event|pod|podUID|containerID|interval|startTime)=.*", ""),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"\b(web|set|daemon|cron|job|manual|passing)-[0-9a-z]+(-[0-9a-z]+)?", "$1-X"),
    (r"\bnode-(ours|stock)(\.[0-9a-f]+)?", "node"),
    (r"[0-9a-f]{16,}", "HEX"),
    (r"[0-9]+(\.[0-9]+)*", "N"),
];

/// Complaints that any server gives rise to, depending on who is faster, and why.
const RACES: &[&str] = &[
    // Two controllers wrote to one object; the slower one tries again.
    "the object has been modified; please apply your changes to the latest version and try again",
    // A controller's own write has not come back to it through its watch yet.
    "is not as new as written version",
    // An object was deleted while a controller worked on it; the engine collects garbage too, and either may be first.
    r"(?i)(sync|requeuing|recheck|tracking status|removeOrphanFinalizer).* not found",
    r"has just been deleted at",
    // A controller tells of an object in a namespace that is gone by then; the engine ends namespaces in a moment.
    r#"Server rejected event.*namespaces \\"passing\\" not found"#,
    // The engine publishes the bundle too, and either of the two may be first.
    r#"configmaps \\"kube-root-ca.crt\\" already exists"#,
    // A claim is looked at before its volume.
    r#"storageclass.storage.kNs.io \\"manual\\" not found"#,
    "Error getting updated StatefulSet from lister",
    // Until its first request is approved, a kubelet has no credential of its own.
    r#"Failed to watch.*User \\"system:anonymous\\" cannot list"#,
    // The kubelet makes its lease while it registers its node, and asks for the node's uid.
    "Failed to get node when trying to set owner ref to the node lease",
    "Failed to initialize CSINode: .*nodes .*not found",
    // The kubelet reads its own node from its watch, which has not told of it yet.
    r#"Error updating node status, will retry.*error getting node \\"node\\": node \\"node\\" not found"#,
    // A definition was deleted between a controller's look at what is served, every 30 s, and its first list.
    r"Failed to watch.*the server could not find the requested resource.*PartialObjectMetadata",
    // The kubelet has not measured a new pod yet; no server has a part in it.
    "RecentStats: unable to find data in memory cache",
    "Image garbage collection failed once. Stats initialization may not have completed yet",
    // Between the kubelet and containerd, which speak gRPC; the API does not.
    "rpc error: code = |pleg has yet to be successful",
    // Go's words for a connection that the process itself closed: a kubelet does so with all of its connections when it gets
    // its certificate, and ends a WebSocket before its own reader has seen the end. What a server closes ends otherwise.
    "use of closed network connection",
    // The kubelet reads a cgroup that is gone with its pod, or a container that is.
    "(?i)failed to read .*cgroup",
    "(?i)(container|sandbox) .*not found|containerd task",
];

static REPLACEMENTS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let compile = |&(pattern, text)| (Regex::new(pattern).expect("the pattern is a constant"), text);
    VARIABLE.iter().map(compile).collect()
});

static TOLERATED: LazyLock<Vec<Regex>> =
    LazyLock::new(|| RACES.iter().map(|pattern| Regex::new(pattern).expect("the pattern is a constant")).collect());

static LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([EWF])[0-9]{4} [0-9:.]+ +[0-9]+ ([a-zA-Z0-9_]+\.go):[0-9]+\] (.*)$")
        .expect("the pattern is a constant")
});

/// Distinct complaints, and how often each was made.
#[derive(Debug, Default)]
pub(super) struct Complaints {
    counts: BTreeMap<String, usize>,
}

impl Complaints {
    /// Takes in the warnings and errors of a log.
    pub(super) fn read(&mut self, log: &Path) -> Result<(), ComponentsError> {
        let component = log.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for complaint in read(log)?.lines().filter_map(complaint) {
            *self.counts.entry(format!("{component}: {complaint}")).or_default() += 1;
        }
        Ok(())
    }

    /// How many distinct ones there are.
    pub(super) fn distinct(&self) -> usize {
        self.counts.len()
    }

    /// Those that the other side does not know.
    pub(super) fn beyond(&self, other: &Self) -> Vec<(String, usize)> {
        let unknown = self.counts.iter().filter(|(complaint, _)| !other.counts.contains_key(*complaint));
        unknown.map(|(complaint, count)| (complaint.clone(), *count)).collect()
    }
}

/// The complaint of a line: its place and its words without what varies; none for other lines and for races.
fn complaint(line: &str) -> Option<String> {
    let parts = LINE.captures(line)?;
    let mut words = parts[3].to_owned();
    for (pattern, text) in REPLACEMENTS.iter() {
        words = pattern.replace_all(&words, *text).into_owned();
    }
    let race = TOLERATED.iter().any(|pattern| pattern.is_match(&words));
    (!race).then(|| format!("{} {}] {words}", &parts[1], &parts[2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_varies_is_left_out_and_races_are_not_complaints() {
        let line = r#"E1115 07:01:58.648986    5962 daemon_controller.go:411] "Unhandled Error" err="pods \"web-6fd94dd6c-fbrck\" is bad 17""#;
        let expected = r#"E daemon_controller.go] "Unhandled Error" err="pods \"web-X\" is bad N""#;
        assert_eq!(complaint(line).as_deref(), Some(expected));
        let race =
            "E1115 07:01:58.648986    5962 a.go:4] read version: 318 is not as new as written version: 341 for group";
        assert_eq!(complaint(race), None);
        assert_eq!(complaint("I1115 07:01:58.648986    5962 a.go:4] fine"), None);
        assert_eq!(complaint("goroutine 1 [running]:"), None);
    }
}
