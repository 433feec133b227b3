//! Which version a pool has, and how far it may be from its cluster's. Pure.

use std::fmt;

/// Minor versions that a pool may be behind its cluster.
const MAX_BEHIND: u32 = 3;

/// A version of Kubernetes or OpenShift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl Version {
    /// Reads `1.36.3`, `v1.36.3` and `4.20.1-x86_64`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts = text.splitn(3, '.');
        let number = |part: &str| -> Option<u32> {
            let digits = part.split(|c: char| !c.is_ascii_digit()).next()?;
            (!digits.is_empty() && digits.len() <= 6).then(|| digits.parse().ok()).flatten()
        };
        let whole = |part: &str| number(part).filter(|_| part.bytes().all(|byte| byte.is_ascii_digit()));
        Some(Self { major: whole(parts.next()?)?, minor: whole(parts.next()?)?, patch: number(parts.next()?)? })
    }

    /// The version in the tag of a pull spec.
    pub(crate) fn of_image(image: &str) -> Option<Self> {
        let image = image.split('@').next()?;
        let (_, tag) = image.rsplit_once(':')?;
        Self::read(tag)
    }

    /// Where it stands on one line: the first minor of OpenShift 5 comes where 4.23 would.
    fn place(self) -> u32 {
        if self.major == 5 { 23 + self.minor } else { self.minor }
    }

    fn is_comparable(self, other: Self) -> bool {
        let line = |major: u32| if major == 5 { 4 } else { major };
        line(self.major) == line(other.major)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Whether a pool of one version may belong to a cluster of another, and move there from the version that it has now.
/// The error is a sentence for a condition.
pub(crate) fn check(pool: Version, cluster: Version, current: Option<Version>) -> Result<(), String> {
    if !pool.is_comparable(cluster) {
        return Err(format!("NodePool version {pool} and cluster version {cluster} are of different kinds"));
    }
    let is_newer = (pool.place(), pool.patch) > (cluster.place(), cluster.patch);
    if is_newer {
        return Err(format!(
            "NodePool version {pool} is newer than the cluster's {cluster}; upgrade the HostedCluster first"
        ));
    }
    if cluster.place() - pool.place() > MAX_BEHIND {
        return Err(format!(
            "NodePool version {pool} is more than {MAX_BEHIND} minor versions behind the cluster's {cluster}; choose a newer spec.release.image"
        ));
    }
    if let Some(current) = current.filter(|current| current.is_comparable(pool) && current.place() > pool.place()) {
        return Err(format!("NodePool version {current} cannot go back to {pool}; only patch versions can"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::read(text).expect("a version")
    }

    #[test]
    fn versions_are_read_from_tags() {
        for (image, wanted) in [
            ("quay.io/release:4.20.1-x86_64", Some("4.20.1")),
            ("kubernetes:v1.36.3", Some("1.36.3")),
            ("registry:5000/release@sha256:abc", None),
            ("registry:5000/release:1.2.3@sha256:abc", Some("1.2.3")),
            ("example.test/release:2", None),
            ("release:latest", None),
            ("release:1.99999999999.3", None),
            ("", None),
        ] {
            assert_eq!(Version::of_image(image).map(|version| version.to_string()).as_deref(), wanted, "{image}");
        }
    }

    #[test]
    fn pools_follow_their_cluster() {
        for (pool, cluster, current, is_good) in [
            ("1.36.3", "1.36.3", None, true),
            ("1.36.2", "1.36.3", None, true),
            ("1.36.4", "1.36.3", None, false),
            ("1.37.0", "1.36.3", None, false),
            ("1.33.9", "1.36.3", None, true),
            ("1.32.9", "1.36.3", None, false),
            ("1.35.0", "1.36.3", Some("1.36.1"), false),
            ("1.36.0", "1.36.3", Some("1.36.1"), true),
            ("4.22.0", "5.0.0", None, true),
            ("4.20.0", "5.0.0", None, true),
            ("4.19.0", "5.0.0", None, false),
            ("4.20.0", "1.36.3", None, false),
        ] {
            let outcome = check(version(pool), version(cluster), current.map(version));
            assert_eq!(outcome.is_ok(), is_good, "{pool} in {cluster} from {current:?}: {outcome:?}");
        }
    }
}
