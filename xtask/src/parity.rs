//! `cargo xtask parity`: our custom resource definitions held against the upstream ones, field by field.

mod comparison;
mod explanations;
mod fields;
mod reference;
mod report;

use std::path::{Path, PathBuf};

use roost_tests::assets::repository;
use serde_json::Value;

use crate::command_line::Parity;
use crate::task::TaskError;
use comparison::Comparison;
use explanations::Explanations;
use fields::Definition;

/// Where the upstream definitions are looked for when nobody says where.
const USUAL_REFERENCE: &str = "../shared/reference";

/// Where the differences that stay are explained.
const EXPLANATIONS: &str = "xtask/parity.yaml";

/// Compares all kinds, prints what differs, and fails when a difference has no reason.
pub(crate) fn run(arguments: &Parity) -> Result<(), TaskError> {
    let explanations = Explanations::read(&repository().join(EXPLANATIONS))?;
    let upstream = reference::read(&arguments.reference)?;
    let ours = ours()?;
    let wanted = |kind: &str| arguments.kind.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(kind));

    let mut comparisons: Vec<Comparison> = upstream
        .iter()
        .filter(|definition| wanted(&definition.kind))
        .map(|theirs| {
            let same = |definition: &&Definition| definition.name == theirs.name;
            Comparison::between(theirs, ours.iter().find(same))
        })
        .collect();
    for comparison in &mut comparisons {
        comparison.explain(&explanations);
    }
    let unmatched: Vec<&Definition> = ours
        .iter()
        .filter(|definition| wanted(&definition.kind))
        .filter(|definition| upstream.iter().all(|theirs| theirs.name != definition.name))
        .collect();

    print!("{}", report::table(&comparisons));
    for definition in unmatched {
        println!("{} ({}) has no upstream definition here", definition.kind, definition.name);
    }
    if !arguments.summary {
        print!("{}", report::differences(&comparisons, arguments.explained));
    }
    if arguments.kind.is_none() {
        for explanation in explanations.unused(&comparisons) {
            println!("note: nothing differs at {explanation}; take it out of {EXPLANATIONS}");
        }
    }
    match comparisons.iter().map(Comparison::unexplained).sum::<usize>() {
        0 => Ok(()),
        count => Err(TaskError::Found(format!("{count} differences from upstream have no reason in {EXPLANATIONS}"))),
    }
}

/// The reference that lies beside the repository, if there is one.
pub(crate) fn usual_reference() -> Option<PathBuf> {
    let path = repository().join(USUAL_REFERENCE);
    is_reference(&path).then_some(path)
}

fn is_reference(path: &Path) -> bool {
    reference::FOLDERS.iter().any(|folder| path.join(folder).is_dir())
}

fn ours() -> Result<Vec<Definition>, TaskError> {
    let unreadable = |error| TaskError::Found(format!("a definition of ours cannot be written as JSON: {error}"));
    let definitions = roost_api::definitions();
    definitions
        .iter()
        .map(|definition| serde_json::to_value(definition).map_err(unreadable))
        .filter_map(|value| value.map(|value: Value| Definition::read(&value)).transpose())
        .collect()
}
