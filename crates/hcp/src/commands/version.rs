//! `hcp version`: of this program, and of the operator that it talks to.

use std::fmt::Write as _;

use serde_json::json;

use crate::arguments::{Format, Version};
use crate::plane::Plane;

use super::change::checked_name;
use super::error::CommandError;
use super::printed;
use super::release::Releases;

/// This program's version.
const CLIENT: &str = env!("CARGO_PKG_VERSION");
/// The commit that a release was built from; a build of one's own does not know.
const COMMIT: Option<&str> = option_env!("ROOST_COMMIT");

fn commit() -> &'static str {
    COMMIT.unwrap_or("unknown")
}

/// This program's version as the operator writes its own.
fn client() -> String {
    format!("roost {CLIENT}")
}

/// Refuses to work with an operator of another version.
pub(super) fn check(releases: &Releases) -> Result<(), CommandError> {
    match &releases.server_version {
        Some(server) if server.trim_start_matches("roost ").split_whitespace().next() != Some(CLIENT) => {
            Err(CommandError::Versions { client: client(), server: server.clone() })
        }
        _ => Ok(()),
    }
}

pub(super) async fn run(arguments: &Version) -> Result<(), CommandError> {
    if arguments.commit_only {
        return Ok(printed::print(&format!("{}\n", commit()))?);
    }
    let serves = roost_apiserver::KUBERNETES_VERSION;
    let mut data = json!({"client": {"version": CLIENT, "commit": commit(), "kubernetes": serves}});
    let mut text = format!("Client Version: {}: {}. Latest supported Kubernetes: {serves}\n", client(), commit());
    let mut unknown = None;
    if !arguments.client_only {
        let namespace = checked_name(&arguments.namespace)?;
        let asked = async {
            let plane = Plane::connect(arguments.kubeconfig.as_deref()).await?;
            Releases::ask(&plane, namespace).await
        };
        match asked.await {
            Ok(Some(releases)) => {
                let server = releases.server_version.as_deref().unwrap_or("unknown");
                let _ = writeln!(text, "Server Version: {server}");
                let _ = writeln!(text, "Server Supports Versions: {}", releases.versions.join(", "));
                data["server"] = json!({
                    "version": server,
                    "supportedVersions": releases.versions,
                    "defaultRelease": releases.default,
                });
            }
            Ok(None) => unknown = Some(format!("no ConfigMap {namespace}/supported-versions: no operator runs there")),
            Err(error) => unknown = Some(error.to_string()),
        }
    }
    match arguments.output {
        Format::Json => printed::json(&data)?,
        Format::Yaml => printed::yaml(&data)?,
        _ => printed::print(&text)?,
    }
    if let Some(reason) = unknown {
        eprintln!("Server Version: unknown: {reason}");
    }
    Ok(())
}
