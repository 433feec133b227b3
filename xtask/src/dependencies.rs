//! Licences and banned crates, as `deny.toml` names them, checked without cargo-deny.

use std::collections::BTreeSet;

use roost_tests::assets::repository;
use serde_json::Value;

use crate::task::{self, TaskError};

/// What `deny.toml` says.
struct Rules {
    licences: BTreeSet<String>,
    banned: BTreeSet<String>,
}

/// What breaks the rules, in words.
pub(crate) fn violations() -> Result<Vec<String>, TaskError> {
    let path = repository().join("deny.toml");
    let text = std::fs::read_to_string(&path).map_err(|source| TaskError::File { path, source })?;
    let rules = rules_of(&text);
    let mut command = task::cargo();
    command.args(["metadata", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu", "--locked"]);
    let output = command.output().map_err(|source| TaskError::Start { program: "cargo".to_owned(), source })?;
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| TaskError::Found(String::from_utf8_lossy(&output.stderr).into_owned()))?;
    Ok(violations_of(&metadata, &rules))
}

fn violations_of(metadata: &Value, rules: &Rules) -> Vec<String> {
    let used: BTreeSet<&str> =
        metadata["resolve"]["nodes"].as_array().into_iter().flatten().filter_map(|node| node["id"].as_str()).collect();
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        if !package["id"].as_str().is_some_and(|id| used.contains(id)) {
            continue;
        }
        let name = package["name"].as_str().unwrap_or_default();
        if rules.banned.contains(name) {
            found.push(format!("{name} is banned (deny.toml)"));
        }
        let licence = package["license"].as_str().unwrap_or_default();
        if !is_allowed(licence, &rules.licences) {
            found.push(format!("{name} has the licence {licence:?}, which deny.toml does not allow"));
        }
    }
    found
}

/// Reads the two lists of `deny.toml` that are needed here; cargo-deny reads the rest.
fn rules_of(text: &str) -> Rules {
    let list = |start: &str| -> Vec<&str> {
        let after = text.split_once(start).map_or("", |(_, after)| after);
        after.split_once("\n]").map_or("", |(list, _)| list).lines().collect()
    };
    let quoted = |line: &str| line.split('"').nth(1).map(str::to_owned);
    Rules {
        licences: list("\nallow = [").into_iter().filter_map(quoted).collect(),
        banned: list("\ndeny = [").into_iter().filter_map(quoted).collect(),
    }
}

/// Whether one alternative of an SPDX expression needs only allowed licences.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ");
    let tokens: Vec<&str> = expression.split_whitespace().collect();
    // Parentheses are their own tokens in the grammar, but cling to their neighbours in the text.
    let spaced = tokens.join(" ").replace('(', "( ").replace(')', " )");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut position = 0;
    let fits = any_of(&tokens, &mut position, allowed);
    fits && position == tokens.len() && !tokens.is_empty()
}

fn any_of(tokens: &[&str], position: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut fits = all_of(tokens, position, allowed);
    while tokens.get(*position) == Some(&"OR") {
        *position += 1;
        fits |= all_of(tokens, position, allowed);
    }
    fits
}

fn all_of(tokens: &[&str], position: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut fits = one_of(tokens, position, allowed);
    while tokens.get(*position) == Some(&"AND") {
        *position += 1;
        fits &= one_of(tokens, position, allowed);
    }
    fits
}

fn one_of(tokens: &[&str], position: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let Some(token) = tokens.get(*position) else { return false };
    *position += 1;
    if *token == "(" {
        let fits = any_of(tokens, position, allowed);
        *position += 1;
        return fits;
    }
    let mut licence = (*token).to_owned();
    if tokens.get(*position) == Some(&"WITH") {
        licence = format!("{licence} WITH {}", tokens.get(*position + 1).unwrap_or(&""));
        *position += 2;
    }
    allowed.contains(&licence)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{is_allowed, rules_of};

    #[test]
    fn licence_expressions() {
        let allowed: BTreeSet<String> = ["MIT", "ISC"].map(str::to_owned).into();
        for (expression, fits) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("MIT OR GPL-3.0", true),
            ("MIT/GPL-3.0", true),
            ("MIT AND GPL-3.0", false),
            ("ISC AND (GPL-3.0 OR MIT)", true),
            ("(GPL-3.0 OR MIT) AND GPL-3.0", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression, &allowed), fits, "{expression}");
        }
    }

    #[test]
    fn lists_are_read() {
        let rules = rules_of("[licenses]\nallow = [\n  \"MIT\",\n]\n[bans]\ndeny = [\n  { crate = \"ring\" },\n]\n");
        assert!(rules.licences.contains("MIT"));
        assert!(rules.banned.contains("ring"));
    }
}
