//! Which level and version a namespace's labels ask for, in each of the three modes.

use std::cmp::Ordering;
use std::fmt;

use roost_object::Value;
use roost_object::field::{Error, Errors, Path};

/// How much a pod may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Anything.
    Privileged,
    /// What is not known to lead to more rights.
    Baseline,
    /// What hardening asks for.
    Restricted,
}

impl Level {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "privileged" => Some(Self::Privileged),
            "baseline" => Some(Self::Baseline),
            "restricted" => Some(Self::Restricted),
            _ => None,
        }
    }
}

/// The release whose standards count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Those of the server.
    Latest,
    /// Those of release `1.x`.
    Minor(u64),
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        if text == "latest" {
            return Some(Self::Latest);
        }
        let digits = text.strip_prefix("v1.")?;
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let canonical = plain && (digits.len() == 1 || !digits.starts_with('0'));
        let minor: u64 = digits.parse().ok().filter(|minor| canonical && i64::try_from(*minor).is_ok())?;
        Some(Self::Minor(minor))
    }
}

/// A level as of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelVersion {
    /// The level.
    pub level: Level,
    /// The release.
    pub version: Version,
}

impl fmt::Display for LevelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        };
        match self.version {
            Version::Latest => write!(f, "{level}:latest"),
            Version::Minor(minor) => write!(f, "{level}:v1.{minor}"),
        }
    }
}

/// What a namespace asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Pods beyond this are refused.
    pub enforce: LevelVersion,
    /// Pods beyond this are noted in the audit log.
    pub audit: LevelVersion,
    /// Pods beyond this are warned of.
    pub warn: LevelVersion,
}

const PREFIX: &str = "pod-security.kubernetes.io/";
const BAD_LEVEL: &str = "must be one of privileged, baseline, restricted";
const BAD_VERSION: &str = "must be \"latest\" or \"v1.x\"";

impl Policy {
    const PRIVILEGED: LevelVersion = LevelVersion { level: Level::Privileged, version: Version::Latest };

    /// Whether nothing is asked for.
    pub fn is_privileged(&self) -> bool {
        [self.enforce, self.audit, self.warn].iter().all(|mode| mode.level == Level::Privileged)
    }

    /// Whether nothing is asked of the templates in workload kinds, which are never refused.
    pub fn is_silent(&self) -> bool {
        [self.audit, self.warn].iter().all(|mode| mode.level == Level::Privileged)
    }

    /// Reads the labels of a namespace. What cannot be read is an error, and is enforced as restricted.
    pub fn read(labels: &Value) -> (Self, Errors) {
        let mut errors = Errors::new();
        let mut policy = Self { enforce: Self::PRIVILEGED, audit: Self::PRIVILEGED, warn: Self::PRIVILEGED };
        if labels.as_object().is_none_or(|labels| !labels.keys().any(|label| label.starts_with(PREFIX))) {
            return (policy, errors);
        }
        let enforced = read_mode(labels, "enforce", Level::Restricted, &mut policy.enforce, &mut errors);
        read_mode(labels, "audit", Level::Privileged, &mut policy.audit, &mut errors);
        let warned = read_mode(labels, "warn", Level::Privileged, &mut policy.warn, &mut errors);
        let stricter = policy.enforce.level.cmp(&policy.warn.level) == Ordering::Greater;
        if !warned.level && enforced.readable && stricter {
            policy.warn.level = policy.enforce.level;
            if !warned.version {
                policy.warn.version = policy.enforce.version;
            }
        }
        (policy, errors)
    }
}

struct Given {
    level: bool,
    readable: bool,
    version: bool,
}

fn read_mode(labels: &Value, mode: &str, fallback: Level, into: &mut LevelVersion, errors: &mut Errors) -> Given {
    let path = Path::new("metadata.labels");
    let mut complain = |label: &str, text: &str, why: &str| {
        errors.push(Error::invalid(&path.key(label), text, why));
    };
    let (level_label, version_label) = (format!("{PREFIX}{mode}"), format!("{PREFIX}{mode}-version"));
    let level = labels.get(&level_label).and_then(Value::as_str);
    let read = level.and_then(Level::parse);
    if let Some(text) = level {
        into.level = read.unwrap_or(fallback);
        if read.is_none() {
            complain(&level_label, text, BAD_LEVEL);
        }
    }
    let version = labels.get(&version_label).and_then(Value::as_str);
    if let Some(text) = version {
        let parsed = Version::parse(text);
        into.version = parsed.unwrap_or(Version::Latest);
        if parsed.is_none() {
            complain(&version_label, text, BAD_VERSION);
        }
    }
    Given { level: level.is_some(), readable: read.is_some(), version: version.is_some() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_become_levels() {
        let cases = [
            (json!({}), "privileged:latest privileged:latest privileged:latest", ""),
            (
                json!({"pod-security.kubernetes.io/enforce": "baseline"}),
                "baseline:latest privileged:latest baseline:latest",
                "",
            ),
            (
                json!({"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "v1.20"}),
                "restricted:v1.20 privileged:latest restricted:v1.20",
                "",
            ),
            (
                json!({"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/warn": "privileged"}),
                "baseline:latest privileged:latest privileged:latest",
                "",
            ),
            (
                json!({"pod-security.kubernetes.io/enforce": "strict", "pod-security.kubernetes.io/audit-version": "1.3"}),
                "restricted:latest privileged:latest privileged:latest",
                "[metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: \"strict\": must be one of privileged, baseline, restricted, metadata.labels[pod-security.kubernetes.io/audit-version]: Invalid value: \"1.3\": must be \"latest\" or \"v1.x\"]",
            ),
        ];
        for (labels, expected, wrong) in cases {
            let (policy, errors) = Policy::read(&labels);
            assert_eq!(format!("{} {} {}", policy.enforce, policy.audit, policy.warn), expected);
            if !wrong.is_empty() {
                assert_eq!(roost_object::field::aggregate(&errors), wrong);
            }
        }
    }
}
