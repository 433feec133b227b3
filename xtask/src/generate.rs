//! `cargo xtask gen`: the tables of the built-in kinds, from a running stock server and stock's Go types.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use roost_tests::assets::repository;
use roost_tests::client::{Call, Client};
use roost_tests::plane::PlaneError;
use roost_tests::stock::{self, Controllers, Durability};
use serde_json::Value;

use crate::cli_reference;
use crate::command_line::{Generate, Generated};
use crate::source_rules::shown;
use crate::task::{self, TaskError};

/// What a stock server creates by itself, in the order in which the generator wants the lists.
const OBJECTS: &[&str] = &[
    "/api/v1/namespaces",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/rbac.authorization.k8s.io/v1/roles",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
    "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
];

/// What asks for the aggregated form of discovery.
const AGGREGATED: &str = "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList";

/// Writes the tables, or checks that they are what would be written.
pub(crate) async fn run(arguments: &Generate) -> Result<(), TaskError> {
    if arguments.only != Some(Generated::Tables) {
        cli_reference::run(arguments.check)?;
    }
    if arguments.only == Some(Generated::Cli) {
        return Ok(());
    }
    let saved =
        tempfile::tempdir().map_err(|source| TaskError::File { path: "a temporary directory".into(), source })?;
    save_answers(saved.path()).await?;
    let committed = repository().join("crates").join("roost-kinds").join("src").join("generated");
    let out = if arguments.check { saved.path().join("out") } else { committed.clone() };
    std::fs::create_dir_all(&out).map_err(|source| TaskError::File { path: out.clone(), source })?;
    for path in rust_files(&out)? {
        std::fs::remove_file(&path).map_err(|source| TaskError::File { path, source })?;
    }
    generate(saved.path(), &out)?;
    if arguments.check { compare(&committed, &out) } else { Ok(()) }
}

async fn save_answers(folder: &Path) -> Result<(), TaskError> {
    let plane = stock::start(Durability::Fast, Controllers::None).await?;
    let client = plane.administrator()?;
    let index = get(&client, "/openapi/v3", None).await?;
    let documents = folder.join("openapi");
    std::fs::create_dir_all(&documents).map_err(|source| TaskError::File { path: documents.clone(), source })?;
    for (number, entry) in index["paths"].as_object().into_iter().flatten().map(|(_, entry)| entry).enumerate() {
        let target = entry["serverRelativeURL"].as_str().unwrap_or_default();
        let document = get(&client, target, None).await?;
        save(&documents.join(format!("{number:03}.json")), &document)?;
    }
    save(&folder.join("api.json"), &get(&client, "/api", Some(AGGREGATED)).await?)?;
    save(&folder.join("apis.json"), &get(&client, "/apis", Some(AGGREGATED)).await?)?;
    let services = get(&client, "/apis/apiregistration.k8s.io/v1/apiservices", None).await?;
    save(&folder.join("apiservices.json"), &services)?;
    for (number, target) in OBJECTS.iter().enumerate() {
        save(&folder.join(format!("objects-{number}.json")), &get(&client, target, None).await?)?;
    }
    Ok(())
}

async fn get(client: &Client, target: &str, accept: Option<&'static str>) -> Result<Value, TaskError> {
    let mut call = Call::get(target);
    let accept = http::HeaderValue::from_static(accept.unwrap_or("application/json"));
    call.headers.insert(http::header::ACCEPT, accept);
    let answer = client.send(call).await.map_err(PlaneError::from)?;
    if answer.status.is_success() {
        Ok(answer.json())
    } else {
        Err(TaskError::Found(format!("stock answered {} to {target}", answer.status)))
    }
}

fn save(path: &Path, document: &Value) -> Result<(), TaskError> {
    std::fs::write(path, document.to_string()).map_err(|source| TaskError::File { path: path.to_owned(), source })
}

fn generate(saved: &Path, out: &Path) -> Result<(), TaskError> {
    let file = |name: &str| saved.join(name).display().to_string();
    let objects: Vec<String> = (0..OBJECTS.len()).map(|number| file(&format!("objects-{number}.json"))).collect();
    let mut command = Command::new("go");
    command
        .current_dir(repository().join("xtask").join("kube"))
        .env("GOFLAGS", "-mod=mod -buildvcs=false")
        .env("CGO_ENABLED", "0")
        .args(["run", "./gen", "-openapi", &file("openapi"), "-apiservices", &file("apiservices.json")])
        .args(["-discovery", &format!("{},{}", file("api.json"), file("apis.json"))])
        .args(["-objects", &objects.join(","), "-out"])
        .arg(out);
    task::run(&mut command)
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, TaskError> {
    let entries = std::fs::read_dir(folder).map_err(|source| TaskError::File { path: folder.to_owned(), source })?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    Ok(files)
}

fn compare(committed: &Path, fresh: &Path) -> Result<(), TaskError> {
    let mut stale = Vec::new();
    let mut files = rust_files(fresh)?;
    files.extend(rust_files(committed)?);
    let names: BTreeSet<_> = files.iter().filter_map(|path| path.file_name()).collect();
    for name in names {
        let old = committed.join(name);
        if std::fs::read(&old).ok() != std::fs::read(fresh.join(name)).ok() {
            stale.push(shown(&old));
        }
    }
    if stale.is_empty() {
        println!("the generated tables are up to date");
        Ok(())
    } else {
        Err(TaskError::Found(format!("not what `cargo xtask gen` writes: {}", stale.join(", "))))
    }
}
