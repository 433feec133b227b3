//! Licences and banned crates, as `deny.toml` names them, checked without cargo-deny.

use std::collections::BTreeSet;

use roost_tests::assets::repository;

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
    command.args(["tree", "--workspace", "--all-features", "--locked", "--prefix", "none", "--format", "{p}|{l}"]);
    command.args(["--edges", "normal,build", "--target", "x86_64-unknown-linux-gnu"]);
    let output = command.output().map_err(|source| TaskError::Start { program: "cargo".to_owned(), source })?;
    if !output.status.success() {
        return Err(TaskError::Found(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(violations_of(&String::from_utf8_lossy(&output.stdout), &rules))
}

/// Checks lines of `name version (…)|licence`, as `cargo tree` writes them.
fn violations_of(tree: &str, rules: &Rules) -> Vec<String> {
    let mut found = BTreeSet::new();
    for (package, licence) in tree.lines().filter_map(|line| line.split_once('|')) {
        let name = package.split_whitespace().next().unwrap_or_default();
        let licence = licence.trim_end_matches("(*)").trim();
        if rules.banned.contains(name) {
            found.insert(format!("{name} is banned (deny.toml)"));
        }
        if !is_allowed(licence, &rules.licences) {
            found.insert(format!("{name} has the licence {licence:?}, which deny.toml does not allow"));
        }
    }
    found.into_iter().collect()
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

    use super::{is_allowed, rules_of, violations_of};

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
    fn banned_crates_and_licences_are_found() {
        let rules = rules_of("\nallow = [\n  \"MIT\",\n]\ndeny = [\n  { crate = \"ring\" },\n]\n");
        let tree = "a v1.0.0|MIT\nring v0.17.0|MIT\nb v1.0.0 (/x)|GPL-3.0 (*)\n";
        assert_eq!(violations_of(tree, &rules).len(), 2);
    }

    #[test]
    fn lists_are_read() {
        let rules = rules_of("[licenses]\nallow = [\n  \"MIT\",\n]\n[bans]\ndeny = [\n  { crate = \"ring\" },\n]\n");
        assert!(rules.licences.contains("MIT"));
        assert!(rules.banned.contains("ring"));
    }
}
