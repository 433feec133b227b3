//! `cargo xtask conformance`: Kubernetes' own tests on our plane, or the search for those that pass on stock's.

use roost_tests::conformance::{self, FakeNode};
use roost_tests::plane::Plane;
use roost_tests::stock::{self, Controllers, Durability};

use crate::command_line::Conformance;
use crate::planes;
use crate::task::TaskError;

/// Runs the tests of the list, or makes the list.
pub(crate) async fn run(arguments: &Conformance) -> Result<(), TaskError> {
    let on_stock = arguments.search || arguments.on == "stock";
    let plane = if on_stock {
        stock::start(Durability::Fast, Controllers::All).await?
    } else {
        let mut plane = planes::ours().await?;
        stock::start_other_controllers(&mut plane)?;
        plane
    };
    let client = plane.administrator()?;
    let _node = FakeNode::start(client).await.map_err(roost_tests::plane::PlaneError::from)?;
    if arguments.search { search(arguments, &plane).await } else { check(arguments, &plane).await }
}

async fn search(arguments: &Conformance, plane: &Plane) -> Result<(), TaskError> {
    let mut names = conformance::all()?;
    names.retain(|name| fits(arguments, name));
    let directory = plane.directory().unwrap_or_else(|| std::path::Path::new("."));
    let total = names.len();
    let found = conformance::search(&plane.kubeconfig, directory, names).await?;
    println!("{} of {total} conformance tests pass on a stock plane without kubelets", found.len());
    if arguments.filter.is_none() {
        let path = conformance::list_path();
        let text = format!("{}\n", found.join("\n"));
        std::fs::write(&path, text).map_err(|source| TaskError::File { path, source })?;
    }
    Ok(())
}

async fn check(arguments: &Conformance, plane: &Plane) -> Result<(), TaskError> {
    let mut names = conformance::passing()?;
    names.retain(|name| fits(arguments, name));
    if names.is_empty() {
        return Err(TaskError::Found("no conformance test fits".to_owned()));
    }
    let directory = plane.directory().unwrap_or_else(|| std::path::Path::new("."));
    let states = conformance::check(&plane.kubeconfig, directory, &names).await?;
    for (name, state) in states.iter().filter(|(_, state)| *state != "passed") {
        println!("{name}\n    {}", state.replace('\n', "\n    "));
    }
    let passed = states.values().filter(|state| *state == "passed").count();
    println!("{passed} of {} conformance tests pass on {}", names.len(), plane.name);
    if passed == names.len() {
        Ok(())
    } else {
        Err(TaskError::Found(format!("{} conformance tests do not pass", names.len() - passed)))
    }
}

fn fits(arguments: &Conformance, name: &str) -> bool {
    arguments.filter.as_ref().is_none_or(|filter| name.contains(filter.as_str()))
}
