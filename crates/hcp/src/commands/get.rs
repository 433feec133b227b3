//! `hcp get`: lists in the columns that the server has for the kind, or the objects themselves.

use serde_json::{Value, json};

use crate::arguments::{Format, Get, Kind};
use crate::plane::{AGENTS, HOSTED_CLUSTERS, NODE_POOLS, Plane, PlaneError, Resource};

use super::change::checked_name;
use super::error::CommandError;
use super::printed;

pub(super) async fn run(arguments: &Get) -> Result<(), CommandError> {
    let resource = match arguments.kind {
        Kind::Clusters => &HOSTED_CLUSTERS,
        Kind::NodePools => &NODE_POOLS,
        Kind::Hosts => &AGENTS,
    };
    if let Some(name) = &arguments.name {
        // Hosts are named by their machine's identity, which follows the same rules.
        checked_name(name)?;
    }
    let namespace = if arguments.all_namespaces && arguments.name.is_none() {
        ""
    } else {
        checked_name(&arguments.plane.namespace)?
    };
    let plane = Plane::connect(arguments.plane.kubeconfig.as_deref()).await?;
    match arguments.output {
        Format::Table | Format::Wide => table(&plane, resource, namespace, arguments).await,
        format => objects(&plane, resource, namespace, arguments.name.as_deref(), format).await,
    }
}

async fn table(
    plane: &Plane,
    resource: &'static Resource,
    namespace: &str,
    arguments: &Get,
) -> Result<(), CommandError> {
    let name = arguments.name.as_deref();
    let Some(table) = plane.table(resource, namespace, name).await? else {
        return Err(not_found(resource, namespace, name).into());
    };
    let rows = rows(&table, namespace.is_empty(), arguments.output == Format::Wide);
    if rows.len() == 1 {
        let place = if namespace.is_empty() { String::new() } else { format!(" in namespace {namespace}") };
        eprintln!("no {} found{place}", resource.plural);
        if !namespace.is_empty() {
            eprintln!("hint: look in all namespaces with -A");
        }
        return Ok(());
    }
    Ok(printed::print(&printed::columns(&rows))?)
}

fn not_found(resource: &'static Resource, namespace: &str, name: Option<&str>) -> PlaneError {
    let name = name.unwrap_or_default().to_owned();
    PlaneError::NotFound { resource, namespace: namespace.to_owned(), name }
}

/// The heads and rows of a table as the server describes it. Columns of a higher priority are for wide screens.
fn rows(table: &Value, with_namespace: bool, wide: bool) -> Vec<Vec<String>> {
    let columns = table["columnDefinitions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let shown: Vec<usize> = columns
        .iter()
        .enumerate()
        .filter(|(_, column)| wide || column["priority"].as_i64().unwrap_or(0) == 0)
        .map(|(index, _)| index)
        .collect();
    let mut heads: Vec<String> =
        shown.iter().map(|index| columns[*index]["name"].as_str().unwrap_or_default().to_uppercase()).collect();
    if with_namespace {
        heads.insert(0, "NAMESPACE".to_owned());
    }
    let mut rows = vec![heads];
    for row in table["rows"].as_array().into_iter().flatten() {
        let mut cells: Vec<String> = shown.iter().map(|index| cell(&row["cells"][*index])).collect();
        if with_namespace {
            cells.insert(0, cell(&row["object"]["metadata"]["namespace"]));
        }
        rows.push(cells);
    }
    rows
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.replace('\n', " "),
        other => other.to_string(),
    }
}

async fn objects(
    plane: &Plane,
    resource: &'static Resource,
    namespace: &str,
    name: Option<&str>,
    format: Format,
) -> Result<(), CommandError> {
    let mut items = match name {
        Some(name) => vec![plane.require(resource, namespace, name).await?],
        None => plane.list(resource, namespace, "").await?,
    };
    for item in &mut items {
        // Who wrote which field is of interest to servers.
        if let Some(metadata) = item["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
    }
    if format == Format::Name {
        let line =
            |item: &Value| format!("{}/{}", resource.printed(), item["metadata"]["name"].as_str().unwrap_or_default());
        return Ok(printed::print(&printed::lines(items.iter().map(line)))?);
    }
    let value = match (name, items) {
        (Some(_), mut items) => items.pop().unwrap_or_default(),
        (None, items) => {
            json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items})
        }
    };
    if format == Format::Json {
        printed::json(&value)?;
    } else {
        printed::yaml(&value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::rows;

    #[test]
    fn tables_are_the_servers() {
        let table = json!({
            "columnDefinitions": [{"name": "Name"}, {"name": "Version"}, {"name": "CP Progress", "priority": 1}],
            "rows": [{"cells": ["demo", null, "Completed"], "object": {"metadata": {"namespace": "clusters"}}}],
        });
        assert_eq!(rows(&table, false, false), [["NAME", "VERSION"], ["demo", ""]]);
        assert_eq!(
            rows(&table, true, true),
            [["NAMESPACE", "NAME", "VERSION", "CP PROGRESS"], ["clusters", "demo", "", "Completed"]]
        );
    }
}
