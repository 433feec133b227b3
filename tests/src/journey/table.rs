//! The table of journeys: its format and how it is read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::JourneyError;
use crate::assets::repository;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Files that every journey of this file finds in its directory.
    #[serde(default)]
    files: BTreeMap<String, String>,
    journeys: Vec<Journey>,
}

/// Commands that run one after the other in a namespace and a directory of their own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journey {
    /// The name, also that of the namespace.
    pub name: String,
    /// Files in its directory.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// The commands.
    pub steps: Vec<Step>,
}

/// A command line of bash, alone or with what is to be done with its output.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Step {
    /// Only the command.
    Plain(String),
    /// The command with more about it.
    Detailed(DetailedStep),
}

/// A command line of bash, and what is to be done with its output.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetailedStep {
    /// The command.
    pub run: String,
    /// Text that the output must have before the journey goes on.
    #[serde(default)]
    pub until: Option<String>,
    /// Whether the order of the lines is random.
    #[serde(default)]
    pub unordered: bool,
    /// Lines that contain one of these are not compared.
    #[serde(default)]
    pub ignore: Vec<String>,
}

impl Step {
    /// The command.
    pub fn command(&self) -> &str {
        match self {
            Self::Plain(command) => command,
            Self::Detailed(step) => &step.run,
        }
    }

    /// What to wait for.
    pub fn until(&self) -> Option<&str> {
        match self {
            Self::Plain(_) => None,
            Self::Detailed(step) => step.until.as_deref(),
        }
    }

    /// Whether the order of the lines is random.
    pub fn is_unordered(&self) -> bool {
        matches!(self, Self::Detailed(step) if step.unordered)
    }

    /// What marks lines that are not compared.
    pub fn ignored(&self) -> &[String] {
        match self {
            Self::Plain(_) => &[],
            Self::Detailed(step) => &step.ignore,
        }
    }
}

/// The directory of the table.
pub fn directory() -> PathBuf {
    repository().join("tests").join("kubectl")
}

/// Reads all files of a directory.
pub fn read(directory: &Path) -> Result<Vec<Journey>, JourneyError> {
    let failed = |path: &Path, source| JourneyError::File { path: path.to_owned(), source };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .map_err(|source| failed(directory, source))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    paths.sort();
    let mut journeys = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).map_err(|source| failed(&path, source))?;
        let file: File = serde_saphyr::from_str(&text)
            .map_err(|error| JourneyError::Format { path: path.clone(), reason: error.to_string() })?;
        for mut journey in file.journeys {
            for (name, content) in &file.files {
                journey.files.entry(name.clone()).or_insert_with(|| content.clone());
            }
            journeys.push(journey);
        }
    }
    Ok(journeys)
}
