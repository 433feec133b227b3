//! The direction of crate dependencies: what may depend on what, checked against `cargo metadata`.

use std::process::Command;

use serde_json::Value;

/// The crates from top to bottom. A crate depends only on crates of lower rows, so that each row can be understood
/// without those above it.
const ROWS: &[&[&str]] = &[
    &["xtask"],
    &["roost-fuzzing", "roost-tests", "roost-store-bench"],
    &["hcp"],
    &["roost-console"],
    &["roost-operator"],
    &["roost-discovery"],
    &["roost-ignition-server", "roost-image-server", "roost-redfish"],
    &["roost-runtime"],
    &["roost-release"],
    &["roost-agent"],
    &["roost-sim"],
    &["roost-apiserver"],
    &["roost-admission"],
    &["roost-access", "roost-rules", "roost-schema", "roost-merge", "roost-tables", "roost-workloads"],
    &["roost-store"],
    &["roost-ignition", "roost-image"],
    &["roost-host", "roost-network"],
    &["roost-pki", "roost-wireguard"],
    &["roost-api"],
    &["roost-kinds"],
    &["roost-object", "roost-body", "roost-kernel"],
];

/// The crates that do no I/O and have no clock of their own.
const PURE: &[&str] = &[
    "roost-admission",
    "roost-access",
    "roost-rules",
    "roost-schema",
    "roost-merge",
    "roost-tables",
    "roost-ignition",
    "roost-image",
    "roost-host",
    "roost-network",
    "roost-wireguard",
    "roost-workloads",
    "roost-pki",
    "roost-api",
    "roost-kinds",
    "roost-object",
    "roost-body",
];

/// What a pure crate cannot need.
const IMPURE_DEPENDENCIES: &[&str] =
    &["tokio", "hyper", "hyper-util", "axum", "kube", "rustix", "tokio-rustls", "tower"];

/// The one crate with lints of its own, because the workspace forbids unsafe code.
const UNSAFE: &str = "roost-kernel";

/// Why the dependencies could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ArchitectureError {
    /// Cargo did not run.
    #[error("cannot run cargo metadata")]
    Run(#[from] std::io::Error),
    /// Cargo said something else than metadata.
    #[error("cargo metadata failed: {0}")]
    Metadata(String),
}

/// The dependencies that break the rules, in words; none when all is well.
pub fn violations() -> Result<Vec<String>, ArchitectureError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(crate::assets::repository())
        .output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| ArchitectureError::Metadata(String::from_utf8_lossy(&output.stderr).into_owned()))?;
    let mut found = violations_of(&metadata);
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let manifest = std::fs::read_to_string(package["manifest_path"].as_str().unwrap_or_default())?;
        if name != UNSAFE && !has_common_lints(&manifest) {
            found.push(format!("{name} must have the lints of the workspace, which forbid unsafe code"));
        }
    }
    Ok(found)
}

fn has_common_lints(manifest: &str) -> bool {
    manifest.contains("\n[lints]\nworkspace = true\n")
}

fn row(name: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.contains(&name))
}

fn violations_of(metadata: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(own_row) = row(name) else {
            found.push(format!("{name} has no place in the order of crates (tests/src/architecture.rs)"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let target = dependency["name"].as_str().unwrap_or_default();
            if dependency["kind"] == "dev" {
                continue;
            }
            if dependency["path"].is_string() && row(target).is_none_or(|target_row| target_row <= own_row) {
                found.push(format!("{name} must not depend on {target}: dependencies point down only"));
            }
            if PURE.contains(&name) && IMPURE_DEPENDENCIES.contains(&target) {
                found.push(format!("{name} must not depend on {target}: it does no I/O"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{has_common_lints, violations, violations_of};

    #[test]
    fn dependencies_point_down() {
        assert_eq!(violations().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn an_upward_dependency_is_found() {
        let metadata = json!({"packages": [{"name": "roost-store", "dependencies": [
            {"name": "roost-apiserver", "path": "crates/roost-apiserver", "kind": null},
        ]}]});
        assert_eq!(violations_of(&metadata).len(), 1);
    }

    #[test]
    fn lints_of_its_own_are_found() {
        assert!(has_common_lints("[package]\n\n[lints]\nworkspace = true\n"));
        assert!(!has_common_lints("[package]\n\n[lints.rust]\nunsafe_code = \"allow\"\n"));
    }

    #[test]
    fn an_impure_dependency_is_found() {
        let metadata =
            json!({"packages": [{"name": "roost-kinds", "dependencies": [{"name": "tokio", "kind": null}]}]});
        assert_eq!(violations_of(&metadata).len(), 1);
    }
}
