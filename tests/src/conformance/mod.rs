//! Kubernetes' own conformance tests that need no running container.
//!
//! Which ones those are is found by running all of them on a stock plane without kubelets, and again with nodes that only
//! say that pods run; the lists of those that pass there are kept in `tests/conformance`.

mod fake_node;
mod specs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::assets::{AssetError, binary, repository};

pub use fake_node::FakeNode;
pub use specs::{all, is_serial, passing};

/// A spec that takes longer waits for a pod that never starts.
const SEARCH_LIMIT: Duration = Duration::from_secs(100);

/// Specs that are searched at once; they wait more than they work.
const SEARCHED_AT_ONCE: usize = 10;

/// Processes that check the list at once.
const CHECKED_AT_ONCE: usize = 4;

/// Why the conformance tests did not run.
#[derive(Debug, thiserror::Error)]
pub enum ConformanceError {
    /// The test binary is missing.
    #[error(transparent)]
    Asset(#[from] AssetError),
    /// The test binary did not run.
    #[error("cannot run e2e.test")]
    Run(#[source] std::io::Error),
    /// The list could not be read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The test binary said something unexpected.
    #[error("e2e.test said something unexpected: {0}")]
    Output(String),
    /// A task of the runner itself died.
    #[error("the runner broke: {0}")]
    Broken(String),
}

/// What runs the pods of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// Nothing: pods stay where they are.
    None,
    /// Nodes that say that pods run.
    Pretended,
}

/// The file with the names of the specs that pass on stock, one in a line.
pub fn list_path(nodes: Nodes) -> PathBuf {
    let name = match nodes {
        Nodes::None => "passing.txt",
        Nodes::Pretended => "passing-with-nodes.txt",
    };
    repository().join("tests").join("conformance").join(name)
}

/// Flags without which the suite waits for parts that a plane without kubelets does not have.
fn base_command(kubeconfig: &Path, directory: &Path) -> Result<Command, ConformanceError> {
    let mut command = Command::new(binary("e2e.test")?);
    command
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .args(["--provider=skeleton", "--allowed-not-ready-nodes=-1", "--minStartupPods=0"])
        .args(["--system-pods-startup-timeout=1s", "--node-schedulable-timeout=1s", "--disable-log-dump"])
        .args(["--ginkgo.no-color", "--ginkgo.silence-skips"])
        .current_dir(directory)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    Ok(command)
}

/// Runs each spec in a process of its own and returns the names of those that pass within the limit.
pub async fn search(kubeconfig: &Path, directory: &Path, names: Vec<String>) -> Result<Vec<String>, ConformanceError> {
    let (serial, parallel): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| is_serial(name));
    let permits = Arc::new(Semaphore::new(SEARCHED_AT_ONCE));
    let mut tasks = JoinSet::new();
    for name in parallel {
        let (permits, kubeconfig, directory) = (permits.clone(), kubeconfig.to_owned(), directory.to_owned());
        tasks.spawn(async move {
            let _permit = permits.acquire_owned().await.map_err(|error| ConformanceError::Broken(error.to_string()))?;
            let passes = passes_alone(&kubeconfig, &directory, &name).await?;
            Ok::<_, ConformanceError>((name, passes))
        });
    }
    let mut found = Vec::new();
    while let Some(result) = tasks.join_next().await {
        let (name, passes) = result.map_err(|error| ConformanceError::Broken(error.to_string()))??;
        eprintln!("{} {name}", if passes { "pass" } else { "    " });
        if passes {
            found.push(name);
        }
    }
    for name in serial {
        let passes = passes_alone(kubeconfig, directory, &name).await?;
        eprintln!("{} {name}", if passes { "pass" } else { "    " });
        if passes {
            found.push(name);
        }
    }
    found.sort();
    Ok(found)
}

async fn passes_alone(kubeconfig: &Path, directory: &Path, name: &str) -> Result<bool, ConformanceError> {
    let mut command = base_command(kubeconfig, directory)?;
    command.arg(format!("--ginkgo.focus={}", regex::escape(name)));
    let output = match tokio::time::timeout(SEARCH_LIMIT, command.output()).await {
        Err(_) => return Ok(false),
        Ok(output) => output.map_err(ConformanceError::Run)?,
    };
    Ok(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 Passed"))
}

/// Runs the specs, several processes at once and the serial ones after them, and says how each one ended.
pub async fn check(
    kubeconfig: &Path,
    directory: &Path,
    names: &[String],
) -> Result<BTreeMap<String, String>, ConformanceError> {
    let (serial, parallel): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| is_serial(name));
    let mut tasks = JoinSet::new();
    for worker in 0..CHECKED_AT_ONCE {
        let share: Vec<String> =
            parallel.iter().skip(worker).step_by(CHECKED_AT_ONCE).map(ToString::to_string).collect();
        if !share.is_empty() {
            let (kubeconfig, directory) = (kubeconfig.to_owned(), directory.to_owned());
            tasks.spawn(async move { check_together(&kubeconfig, &directory, worker, &share).await });
        }
    }
    let mut states = BTreeMap::new();
    while let Some(result) = tasks.join_next().await {
        states.extend(result.map_err(|error| ConformanceError::Broken(error.to_string()))??);
    }
    if !serial.is_empty() {
        let serial: Vec<String> = serial.into_iter().cloned().collect();
        states.extend(check_together(kubeconfig, directory, CHECKED_AT_ONCE, &serial).await?);
    }
    for name in names {
        states.entry(name.clone()).or_insert_with(|| "not run".to_owned());
    }
    Ok(states)
}

async fn check_together(
    kubeconfig: &Path,
    directory: &Path,
    worker: usize,
    names: &[String],
) -> Result<BTreeMap<String, String>, ConformanceError> {
    let report = directory.join(format!("conformance-{worker}.json"));
    let pattern: Vec<String> = names.iter().map(|name| regex::escape(name)).collect();
    let mut command = base_command(kubeconfig, directory)?;
    command
        .arg(format!("--ginkgo.focus={}", pattern.join("|")))
        .arg(format!("--ginkgo.json-report={}", report.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // A failing spec makes the process fail, too; the report tells which one it was.
    command.status().await.map_err(ConformanceError::Run)?;
    let text = std::fs::read(&report).map_err(|source| ConformanceError::File { path: report.clone(), source })?;
    let document: Value = serde_json::from_slice(&text).map_err(|error| ConformanceError::Output(error.to_string()))?;
    Ok(states_of(&document, names))
}

/// The state of each named spec in a report, with the reason when it failed.
fn states_of(document: &Value, names: &[String]) -> BTreeMap<String, String> {
    let mut states = BTreeMap::new();
    let suites = document.as_array().into_iter().flatten();
    for spec in suites.flat_map(|suite| suite["SpecReports"].as_array().into_iter().flatten()) {
        let mut parts: Vec<&str> =
            spec["ContainerHierarchyTexts"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        parts.extend(spec["LeafNodeText"].as_str());
        let name = parts.join(" ");
        let state = spec["State"].as_str().unwrap_or("unknown");
        if state == "skipped" && !spec["Failure"].is_object() {
            continue;
        }
        if names.contains(&name) {
            let reason = spec["Failure"]["Message"].as_str().unwrap_or_default();
            states.insert(name, format!("{state} {reason}").trim().to_owned());
        }
    }
    states
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::states_of;

    #[test]
    fn states_are_read_from_a_report() {
        let report = json!([{"SpecReports": [
            {"ContainerHierarchyTexts": ["[sig-x] A"], "LeafNodeText": "works", "State": "passed"},
            {"ContainerHierarchyTexts": ["[sig-x] A"], "LeafNodeText": "breaks", "State": "failed", "Failure": {"Message": "why"}},
            {"ContainerHierarchyTexts": ["[sig-x] B"], "LeafNodeText": "other", "State": "skipped"},
        ]}]);
        let names = ["[sig-x] A works", "[sig-x] A breaks", "[sig-x] B other"].map(str::to_owned);
        let states = states_of(&report, &names);
        assert_eq!(states["[sig-x] A works"], "passed");
        assert_eq!(states["[sig-x] A breaks"], "failed why");
        assert!(!states.contains_key("[sig-x] B other"));
    }
}
