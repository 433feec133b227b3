//! The tables of scenarios.

use serde::Deserialize;
use serde_json::Value;

use super::WorkloadsError;
use crate::assets;

/// What stands for the name of a scenario's namespace.
const PLACEHOLDER: &str = "NAMESPACE";

/// Steps, and what is compared at the end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    /// What it shows.
    pub(super) name: String,
    /// What happens. `NAMESPACE` in any text stands for the name of the scenario's namespace.
    steps: Vec<Value>,
    /// Reasons of events that are not compared: they depend on who is faster.
    #[serde(default)]
    pub(super) without_events: Vec<String>,
}

impl Scenario {
    /// The steps, for a namespace.
    pub(super) fn steps_in(&self, namespace: &str) -> Result<Vec<Step>, WorkloadsError> {
        let text = Value::from(self.steps.clone()).to_string().replace(PLACEHOLDER, namespace);
        serde_json::from_str(&text)
            .map_err(|error| WorkloadsError::Table { file: self.name.clone(), why: error.to_string() })
    }
}

/// One step: exactly one of its fields is there.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    /// Makes an object.
    #[serde(default)]
    pub(super) create: Option<Value>,
    /// Merges a patch into an object.
    #[serde(default)]
    pub(super) patch: Option<Patch>,
    /// Deletes an object.
    #[serde(default)]
    pub(super) delete: Option<Target>,
    /// Waits until an object is as wanted.
    #[serde(default)]
    pub(super) until: Option<Until>,
}

/// Which object.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    /// Its kind.
    pub(super) kind: String,
    /// Its name; the first of the kind where none is said.
    #[serde(default)]
    pub(super) name: String,
    /// The subresource.
    #[serde(default)]
    pub(super) subresource: String,
    /// What becomes of dependents.
    #[serde(default)]
    pub(super) propagation: Option<String>,
}

/// A change to an object.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Patch {
    /// Which object.
    pub(super) of: Target,
    /// The patch.
    pub(super) with: Value,
}

/// A state to wait for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Until {
    /// Which object.
    pub(super) of: Target,
    /// What it contains; nothing waits until it is gone.
    #[serde(default)]
    pub(super) has: Option<Value>,
    /// How many objects of the kind there are.
    #[serde(default)]
    pub(super) count: Option<usize>,
}

/// Reads all tables.
pub(super) fn load() -> Result<Vec<Scenario>, WorkloadsError> {
    let folder = assets::repository().join("tests").join("workloads");
    let wrong = |file: &std::path::Path, why: String| WorkloadsError::Table { file: file.display().to_string(), why };
    let entries = std::fs::read_dir(&folder).map_err(|error| wrong(&folder, error.to_string()))?;
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let mut scenarios = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).map_err(|error| wrong(&file, error.to_string()))?;
        let own: Vec<Scenario> = serde_saphyr::from_str(&text).map_err(|error| wrong(&file, error.to_string()))?;
        scenarios.extend(own);
    }
    Ok(scenarios)
}
