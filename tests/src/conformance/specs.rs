//! The names of the conformance tests.

use std::process::Command;

use serde_json::Value;

use super::{ConformanceError, Nodes, list_path};
use crate::assets::binary;

/// The names of all conformance tests, as the test binary lists them.
pub fn all() -> Result<Vec<String>, ConformanceError> {
    let output =
        Command::new(binary("e2e.test")?).arg("--list-conformance-tests").output().map_err(ConformanceError::Run)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let document: Value = serde_saphyr::from_str(&text).map_err(|error| ConformanceError::Output(error.to_string()))?;
    let entries = document.as_array().ok_or_else(|| ConformanceError::Output("not a list".to_owned()))?;
    Ok(entries.iter().filter_map(|entry| entry["codename"].as_str()).map(str::to_owned).collect())
}

/// The names of those that pass on a stock plane with such nodes.
pub fn passing(nodes: Nodes) -> Result<Vec<String>, ConformanceError> {
    let path = list_path(nodes);
    let text = std::fs::read_to_string(&path).map_err(|source| ConformanceError::File { path, source })?;
    Ok(text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect())
}

/// Whether a test must not run beside others.
pub fn is_serial(name: &str) -> bool {
    name.contains("[Serial]") || name.contains("[Disruptive]")
}
