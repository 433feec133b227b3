//! How far the rotation of an authority is, in a value and in words; and how one is asked for.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use super::authorities::Authority;

/// A stage of a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Nothing is under way.
    Steady,
    /// The next authority is made and becomes trusted beside the present one, which still signs.
    TrustBoth,
    /// The next authority has become the present one; everything is signed anew, and the old one is still trusted.
    IssueNew,
    /// Everything is signed anew; certificates that others hold of the old authority run out.
    DropOld,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Steady => "steady",
            Self::TrustBoth => "trust both",
            Self::IssueNew => "issue new",
            Self::DropOld => "drop old",
        })
    }
}

/// What a rotation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// That what this stage needs is written.
    Writes,
    /// That everyone has read what was written.
    Readers {
        /// Until when they are given time.
        until: Timestamp,
    },
    /// That the caller confirms that all servers have loaded what was written.
    Confirmation,
    /// That certificates of the old authority that others hold run out.
    Holders {
        /// When the last of them does.
        until: Timestamp,
    },
    /// That an older rotation ends, because too many old authorities are still trusted.
    Room,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Writes => f.write_str("Secrets and ConfigMaps to be written"),
            Self::Readers { until } => write!(f, "readers of the new files, until {until}"),
            Self::Confirmation => f.write_str("all servers to load the new files"),
            Self::Holders { until } => write!(f, "certificates of the old authority to run out, until {until}"),
            Self::Room => f.write_str("earlier old authorities to be dropped"),
        }
    }
}

/// How far the rotation of one authority is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Which one.
    pub authority: Authority,
    /// How far it is.
    pub stage: Stage,
    /// When it got there.
    pub since: Timestamp,
    /// What it waits for.
    pub waits_for: Wait,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} since {}, waits for {}", self.authority, self.stage, self.since, self.waits_for)
    }
}

/// Which authorities are meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Which {
    /// All of them.
    All,
    /// Only these.
    Only(Vec<Authority>),
}

/// A wish that authorities be replaced. As text it is `all@<time>`, or names of Secrets with commas in place of `all`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rotation {
    /// Which ones.
    pub which: Which,
    /// When it was asked for: authorities that are newer, or were rotated for this or a later wish, are left alone.
    pub requested_at: Timestamp,
}

impl Rotation {
    pub(super) fn wants(&self, authority: Authority) -> bool {
        match &self.which {
            Which::All => true,
            Which::Only(list) => list.contains(&authority),
        }
    }
}

/// Why a text is no wish for a rotation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RotationError {
    /// It has no time, or one that cannot be read.
    #[error("{0:?} names no time; write for instance all@2026-11-01T12:00:00Z")]
    Time(String),
    /// It names something that is no authority.
    #[error("{0:?} is no certificate authority of a control plane")]
    Unknown(String),
}

impl fmt::Display for Rotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.which {
            Which::All => f.write_str("all")?,
            Which::Only(list) => {
                for (place, authority) in list.iter().enumerate() {
                    write!(f, "{}{authority}", if place > 0 { "," } else { "" })?;
                }
            }
        }
        write!(f, "@{}", self.requested_at)
    }
}

impl FromStr for Rotation {
    type Err = RotationError;

    fn from_str(text: &str) -> Result<Self, RotationError> {
        let no_time = || RotationError::Time(text.to_owned());
        let (names, time) = text.split_once('@').ok_or_else(no_time)?;
        let requested_at = time.parse().map_err(|_| no_time())?;
        let which = if names == "all" {
            Which::All
        } else {
            let read = |name: &str| Authority::from_secret(name).ok_or_else(|| RotationError::Unknown(name.to_owned()));
            Which::Only(names.split(',').map(read).collect::<Result<_, _>>()?)
        };
        Ok(Self { which, requested_at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_written_and_read() {
        for text in ["all@2026-11-01T12:00:00Z", "root-ca,hcco-signer@2026-11-01T12:00:00Z"] {
            let rotation: Rotation = text.parse().unwrap();
            assert_eq!(rotation.to_string(), text);
        }
        assert!(matches!("all".parse::<Rotation>(), Err(RotationError::Time(_))));
        assert!(matches!("all@noon".parse::<Rotation>(), Err(RotationError::Time(_))));
        assert_eq!("x@2026-11-01T12:00:00Z".parse::<Rotation>(), Err(RotationError::Unknown("x".into())));
    }

    #[test]
    fn progress_reads_as_a_sentence() {
        let since = "2026-11-01T12:00:00Z".parse().unwrap();
        let progress =
            Progress { authority: Authority::Root, stage: Stage::TrustBoth, since, waits_for: Wait::Confirmation };
        assert_eq!(
            progress.to_string(),
            "root-ca: trust both since 2026-11-01T12:00:00Z, waits for all servers to load the new files"
        );
    }
}
