//! The order of version names: stable before beta before alpha, then by number, other names last.

use std::cmp::Ordering;

/// Compares two version names; the more stable and newer is greater.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    match (parse(left), parse(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        // Names that are no versions sort alphabetically, the first first.
        (None, None) => right.cmp(left),
    }
}

/// Stability, major number, minor number.
fn parse(name: &str) -> Option<(u8, u64, u64)> {
    let rest = name.strip_prefix('v')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let major = rest[..digits].parse().ok()?;
    let rest = &rest[digits..];
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    let (stability, minor) = match (rest.strip_prefix("alpha"), rest.strip_prefix("beta")) {
        (Some(minor), _) => (0, minor),
        (_, Some(minor)) => (1, minor),
        _ => return None,
    };
    Some((stability, major, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn stable_versions_come_first() {
        let mut names =
            ["foo10", "v1", "v11alpha2", "v10", "foo1", "v3beta1", "v2", "v12alpha1", "v11beta2", "v10beta3"];
        names.sort_by(|a, b| compare(b, a));
        let sorted = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"];
        assert_eq!(names, sorted);
    }
}
