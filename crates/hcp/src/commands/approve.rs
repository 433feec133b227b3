//! `hcp approve host`: what a person decides about discovered hosts.

use serde_json::{Value, json};

use crate::arguments::{Approve, ApproveHost, ApproveWhat};
use crate::high::UsageError;
use crate::plane::{AGENTS, Plane, Write};

use super::change::checked_name;
use super::error::CommandError;

pub(super) async fn run(arguments: &Approve) -> Result<(), CommandError> {
    let ApproveWhat::Host(arguments) = &arguments.what;
    let namespace = checked_name(&arguments.plane.namespace)?;
    for name in &arguments.names {
        checked_name(name)?;
    }
    if arguments.hostname.is_some() && arguments.names.len() > 1 {
        let problem = "is for one host; several were named".to_owned();
        let value = arguments.hostname.clone().unwrap_or_default();
        return Err(UsageError::Value { flag: "hostname", value, problem }.into());
    }
    let plane = Plane::connect(arguments.plane.kubeconfig.as_deref()).await?;
    let names = names(&plane, namespace, arguments).await?;
    if names.is_empty() {
        eprintln!("no host in namespace {namespace} waits for approval");
        return Ok(());
    }
    let mut change = json!({"spec": {"approved": true}});
    if let Some(hostname) = &arguments.hostname {
        change["spec"]["hostname"] = json!(hostname);
    }
    for name in &names {
        plane.require(&AGENTS, namespace, name).await?;
        plane.merge(&AGENTS, namespace, name, &change, Write::Real).await?;
        println!("{}/{name} approved", AGENTS.printed());
    }
    Ok(())
}

async fn names(plane: &Plane, namespace: &str, arguments: &ApproveHost) -> Result<Vec<String>, CommandError> {
    if !arguments.all {
        return Ok(arguments.names.clone());
    }
    let waiting = |agent: &&Value| agent["spec"]["approved"] != true;
    let name = |agent: &Value| agent["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    Ok(plane.list(&AGENTS, namespace, "").await?.iter().filter(waiting).map(name).collect())
}
