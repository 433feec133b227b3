//! `cargo xtask tidy`: everything that can be said about the sources without running them.

use roost_tests::architecture;

use crate::task::{self, TaskError};
use crate::{dependencies, source_rules};

/// Runs all checks and names every violation before it fails.
pub(crate) fn run() -> Result<(), TaskError> {
    let mut violations = architecture::violations()
        .map_err(|error| TaskError::Found(format!("the crates could not be read: {error}")))?;
    violations.extend(dependencies::violations()?);
    let findings = source_rules::check()?;
    violations.extend(findings.violations);
    for (lines, path) in &findings.long_files {
        println!("{lines:>5} lines  {}", source_rules::shown(path));
    }
    for violation in &violations {
        println!("{violation}");
    }
    task::run(task::cargo().args(["fmt", "--all", "--check"]))?;
    task::run(task::cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--quiet",
        "--",
        "--deny",
        "warnings",
    ]))?;
    if has_cargo_deny() {
        task::run(task::cargo().args(["deny", "--log-level", "error", "check"]))?;
    } else {
        eprintln!("cargo-deny is not installed: advisories were not checked, licences and banned crates were");
    }
    if violations.is_empty() { Ok(()) } else { Err(TaskError::Found(format!("{} rules are broken", violations.len()))) }
}

fn has_cargo_deny() -> bool {
    task::cargo().args(["deny", "--version"]).output().is_ok_and(|output| output.status.success())
}
