//! The order of version names: stable ones first, then betas, then alphas, the newest of each first.

use std::cmp::Reverse;

/// The place of a version name among others; the preferred one is the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Precedence<'a> {
    level: Level,
    major: Reverse<u64>,
    minor: Reverse<u64>,
    name: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Stable,
    Beta,
    Alpha,
    /// Names that are not of the form `v1beta2` come last, in the order of the alphabet.
    Other,
}

impl<'a> Precedence<'a> {
    /// Places a version name.
    pub fn of(name: &'a str) -> Self {
        let (level, major, minor) = parse(name).unwrap_or((Level::Other, 0, 0));
        Self { level, major: Reverse(major), minor: Reverse(minor), name }
    }
}

fn parse(name: &str) -> Option<(Level, u64, u64)> {
    let rest = name.strip_prefix('v')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (major, rest) = rest.split_at(digits);
    let (level, minor) = match rest {
        "" => (Level::Stable, "0"),
        _ => match rest.strip_prefix("beta") {
            Some(minor) => (Level::Beta, minor),
            None => (Level::Alpha, rest.strip_prefix("alpha")?),
        },
    };
    let number = |digits: &str| digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()));
    Some((level, number(major)?, number(minor)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_and_more_stable_versions_come_first() {
        let mut names = [
            "foo10",
            "v1",
            "v11alpha2",
            "foo1",
            "v3beta1",
            "v12alpha1",
            "v11beta2",
            "v10beta3",
            "v10",
            "v2",
            "v1gamma1",
        ];
        names.sort_unstable_by_key(|name| Precedence::of(name));
        assert_eq!(
            names,
            [
                "v10",
                "v2",
                "v1",
                "v11beta2",
                "v10beta3",
                "v3beta1",
                "v12alpha1",
                "v11alpha2",
                "foo1",
                "foo10",
                "v1gamma1"
            ]
        );
    }
}
