//! Rules about source files that no compiler checks: their length, their names and words that must not stay.

use std::path::{Path, PathBuf};

use roost_tests::assets::repository;

use crate::task::TaskError;

/// Longer files are named in the report.
const LONG_FILE: usize = 400;

/// Longer files are refused; only tables come near.
const LONGEST_FILE: usize = 800;

/// Names that say nothing about what a file holds.
const EMPTY_NAMES: &[&str] = &["utils", "util", "helpers", "helper", "common", "misc", "stuff"];

/// Marks of unfinished work. They are put together here so that this file does not contain them.
const UNFINISHED: &[&str] = &[
    concat!("to", "do!("),
    concat!("unimpl", "emented!("),
    concat!("db", "g!("),
    concat!("#[ign", "ore"),
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("HA", "CK"),
];

/// What was found in the source files.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// What must be changed.
    pub(crate) violations: Vec<String>,
    /// The long files, the longest first.
    pub(crate) long_files: Vec<(usize, PathBuf)>,
}

/// Looks through all Rust files of the repository that are written by hand.
pub(crate) fn check() -> Result<Findings, TaskError> {
    let mut findings = Findings::default();
    for folder in ["crates", "tests", "xtask"] {
        visit(&repository().join(folder), &mut findings)?;
    }
    findings.long_files.sort_by(|left, right| right.cmp(left));
    Ok(findings)
}

fn visit(folder: &Path, findings: &mut Findings) -> Result<(), TaskError> {
    let failed = |source| TaskError::File { path: folder.to_owned(), source };
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).map_err(failed)?.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            if !matches!(name.as_str(), "generated" | "target" | "fixtures") {
                check_name(&path, &name, findings);
                visit(&path, findings)?;
            }
        } else if let Some(stem) = name.strip_suffix(".rs") {
            check_name(&path, stem, findings);
            let text =
                std::fs::read_to_string(&path).map_err(|source| TaskError::File { path: path.clone(), source })?;
            check_text(&path, &text, findings);
        }
    }
    Ok(())
}

fn check_name(path: &Path, stem: &str, findings: &mut Findings) {
    if EMPTY_NAMES.contains(&stem) {
        findings.violations.push(format!("{}: the name says nothing about what it holds", shown(path)));
    }
}

fn check_text(path: &Path, text: &str, findings: &mut Findings) {
    let lines = text.lines().count();
    if lines > LONG_FILE {
        findings.long_files.push((lines, path.to_owned()));
    }
    if lines > LONGEST_FILE {
        findings.violations.push(format!("{}: {lines} lines are too many; {LONGEST_FILE} are the most", shown(path)));
    }
    for (number, line) in text.lines().enumerate() {
        for word in UNFINISHED {
            if line.contains(word) {
                findings.violations.push(format!("{}:{}: {word}", shown(path), number + 1));
            }
        }
    }
    if text.contains("\r\n") {
        findings.violations.push(format!("{}: lines end with a carriage return", shown(path)));
    }
}

/// The path as people of this repository know it.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(repository()).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Findings, check_name, check_text};

    #[test]
    fn unfinished_work_is_found() {
        let mut findings = Findings::default();
        check_text(Path::new("x.rs"), &format!("fn x() {{\n    {}\n}}\n", super::UNFINISHED[0]), &mut findings);
        assert_eq!(findings.violations.len(), 1);
    }

    #[test]
    fn empty_names_are_found() {
        let mut findings = Findings::default();
        check_name(Path::new("src/utils.rs"), "utils", &mut findings);
        check_name(Path::new("src/client.rs"), "client", &mut findings);
        assert_eq!(findings.violations.len(), 1);
    }
}
