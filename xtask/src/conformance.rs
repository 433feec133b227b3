//! `cargo xtask conformance`: Kubernetes' own tests on our plane, or the search for those that pass on stock's.

use std::path::Path;

use roost_tests::conformance::{self, FakeNode, Nodes};
use roost_tests::hosted;
use roost_tests::plane::Plane;
use roost_tests::stock::{self, Controllers, Durability};
use roost_tests::workloads::pretend_nodes;

use crate::command_line::Conformance;
use crate::planes;
use crate::task::TaskError;

/// Runs the tests of the list, or makes the list.
pub(crate) async fn run(arguments: &Conformance) -> Result<(), TaskError> {
    let on_stock = arguments.search || arguments.on == "stock";
    if arguments.nodes {
        return with_nodes(arguments, on_stock).await;
    }
    let plane = if on_stock {
        stock::start(Durability::Fast, Controllers::All).await?
    } else {
        let mut plane = planes::ours().await?;
        stock::start_other_controllers(&mut plane)?;
        plane
    };
    let client = plane.administrator()?;
    let _node = FakeNode::start(client).await.map_err(roost_tests::plane::PlaneError::from)?;
    search_or_check(arguments, &plane, Nodes::None).await
}

/// The same with nodes, beside stock's controllers and scheduler or on a hosted cluster with its own.
async fn with_nodes(arguments: &Conformance, on_stock: bool) -> Result<(), TaskError> {
    if on_stock {
        let mut plane = stock::start(Durability::Fast, Controllers::All).await?;
        stock::start_scheduler(&mut plane)?;
        let _nodes = pretend_nodes(plane.administrator()?).await.map_err(failed)?;
        return search_or_check(arguments, &plane, Nodes::Pretended).await;
    }
    let management = planes::ours_whole().await?;
    let directory = management.directory().unwrap_or_else(|| Path::new("."));
    let kubeconfig = directory.join("hosted.kubeconfig");
    hosted::publish(&management.kubeconfig, "conformance", &kubeconfig).await.map_err(failed)?;
    let plane = Plane::running("a hosted cluster", &kubeconfig);
    let _nodes = pretend_nodes(plane.administrator()?).await.map_err(failed)?;
    search_or_check(arguments, &plane, Nodes::Pretended).await
}

async fn search_or_check(arguments: &Conformance, plane: &Plane, nodes: Nodes) -> Result<(), TaskError> {
    if arguments.search { search(arguments, plane, nodes).await } else { check(arguments, plane, nodes).await }
}

fn failed(error: impl std::fmt::Display) -> TaskError {
    TaskError::Found(error.to_string())
}

async fn search(arguments: &Conformance, plane: &Plane, nodes: Nodes) -> Result<(), TaskError> {
    let mut names = conformance::all()?;
    // What passes without nodes is in the other list.
    let without = if nodes == Nodes::None { Vec::new() } else { conformance::passing(Nodes::None)? };
    names.retain(|name| fits(arguments, name) && !without.contains(name));
    let directory = scratch(plane);
    let total = names.len();
    let found = conformance::search(&plane.kubeconfig, directory, names).await?;
    println!("{} of {total} conformance tests pass on a stock plane", found.len());
    if arguments.filter.is_none() {
        let path = conformance::list_path(nodes);
        let text = format!("{}\n", found.join("\n"));
        std::fs::write(&path, text).map_err(|source| TaskError::File { path, source })?;
    }
    Ok(())
}

async fn check(arguments: &Conformance, plane: &Plane, nodes: Nodes) -> Result<(), TaskError> {
    let mut names = conformance::passing(nodes)?;
    names.retain(|name| fits(arguments, name));
    if names.is_empty() {
        return Err(TaskError::Found("no conformance test fits".to_owned()));
    }
    let directory = scratch(plane);
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

/// Where reports go.
fn scratch(plane: &Plane) -> &Path {
    plane.directory().or_else(|| plane.kubeconfig.parent()).unwrap_or_else(|| Path::new("."))
}

fn fits(arguments: &Conformance, name: &str) -> bool {
    arguments.filter.as_ref().is_none_or(|filter| name.contains(filter.as_str()))
}
