//! Under which name the program was called: `hcp` for people who run clusters, `hypershift` for those who develop.

use std::ffi::OsStr;
use std::path::Path;

/// The name, which decides some defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// Called as `hcp`.
    Product,
    /// Called as `hypershift`.
    Developer,
}

impl Flavour {
    /// From the first word of the command line.
    pub(crate) fn of(program: Option<&OsStr>) -> Self {
        let name = program.and_then(|program| Path::new(program).file_stem()).unwrap_or_default();
        if name == "hypershift" { Self::Developer } else { Self::Product }
    }

    /// The name of the program.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Product => "hcp",
            Self::Developer => "hypershift",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::Flavour;

    #[test]
    fn the_last_part_of_the_path_counts() {
        assert_eq!(Flavour::of(Some(OsStr::new("/usr/bin/hypershift"))), Flavour::Developer);
        assert_eq!(Flavour::of(Some(OsStr::new("./hcp"))), Flavour::Product);
        assert_eq!(Flavour::of(None), Flavour::Product);
    }
}
