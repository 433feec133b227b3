//! What is wrong with a config, said with the place.

use std::fmt::{self, Write as _};

use crate::version::{InvalidVersion, SpecVersion};

/// Something that Ignition would refuse, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The place, such as `storage.files[3].mode`; empty for the whole config.
    pub path: String,
    /// What is wrong there.
    pub problem: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            formatter.write_str(&self.problem)
        } else {
            write!(formatter, "{}: {}", self.path, self.problem)
        }
    }
}

/// How many findings an error text names; a config of ten thousand mistakes is not listed in full.
const NAMED: usize = 5;

fn joined(findings: &[Finding]) -> String {
    let mut text = findings.iter().take(NAMED).map(Finding::to_string).collect::<Vec<_>>().join("; ");
    if findings.len() > NAMED {
        let _ = write!(text, "; and {} more", findings.len() - NAMED);
    }
    text
}

/// Why a text is no config. No variant carries contents of files, which may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text is longer than any honest config.
    #[error("a config must be no more than {limit} bytes")]
    TooLarge {
        /// How large it may be.
        limit: usize,
    },
    /// The text is nested deeper than any config.
    #[error("a config must be nested no deeper than {limit} levels")]
    TooDeep {
        /// How deep it may be.
        limit: usize,
    },
    /// The text has more values than any honest config.
    #[error("a config must have no more than {limit} values")]
    TooMany {
        /// How many it may have.
        limit: usize,
    },
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    Syntax(String),
    /// The text is JSON and no object, or is empty.
    #[error("not a config: a JSON object with the field ignition is expected")]
    NotAConfig,
    /// The config is of a version that is not understood.
    #[error(transparent)]
    Version(#[from] InvalidVersion),
    /// Fields have the wrong type, or Ignition's own rules are broken.
    #[error("invalid config: {}", joined(.0))]
    Invalid(Vec<Finding>),
    /// The config says what the wanted version has no words for.
    #[error("spec {version} cannot say {}", .fields.join(", "))]
    Untranslatable {
        /// The wanted version.
        version: SpecVersion,
        /// The fields that it does not have.
        fields: Vec<String>,
    },
}
