//! A simulated installation: its stages in order, each told to the service, and the node that it ends in.

use http::Method;
use roost_api::agent_install::HostStage;
use roost_host::wire::{BASE, ProgressReport};
use serde_json::json;

use super::HostSpec;
use super::service::{CallError, Service};
use crate::spec::{Capacity, NodeSpec, Start};

/// What an installation came to.
pub(super) enum Outcome {
    /// The host is written and knows what it boots with.
    Written(Vec<u8>),
    /// It failed, which the service knows.
    Failed,
    /// The host is dead.
    Dead,
}

/// The stages that a host tells of, in order.
pub const INSTALLATION_STAGES: [HostStage; 5] = [
    HostStage::StartingInstallation,
    HostStage::Installing,
    HostStage::WritingImageToDisk,
    HostStage::WaitingForControlPlane,
    HostStage::Rebooting,
];

/// Installs a host.
pub(super) async fn install(service: &mut Service, spec: &HostSpec, id: &str) -> Result<Outcome, CallError> {
    let progress = format!("{BASE}/infra-envs/{}/hosts/{id}/progress", spec.infra_env);
    let mut ignition = Vec::new();
    for stage in INSTALLATION_STAGES {
        let report = |stage: &HostStage, info: &str| {
            let report = ProgressReport { current_stage: stage.as_str().to_owned(), progress_info: info.to_owned() };
            json!(report)
        };
        if spec.faults.fails_at.as_ref() == Some(&stage) {
            let body = report(&HostStage::Failed, &format!("the simulated host cannot do {stage}"));
            let logs = format!("{BASE}/clusters/own/logs?logs_type=host&infra_env_id={}&host_id={id}", spec.infra_env);
            // Whoever does not want them still hears of the failure.
            let _ =
                service.upload(&logs, "logs.tar.gz", format!("the simulated host cannot do {stage}").as_bytes()).await;
            service.insist(Method::PUT, &progress, Some(&body)).await?;
            return Ok(Outcome::Failed);
        }
        if stage == HostStage::Installing {
            let path = format!("{BASE}/infra-env/{}/hosts/{id}/downloads/ignition", spec.infra_env);
            ignition = service.insist(Method::GET, &path, None).await?.to_vec();
        }
        let info = if stage == HostStage::WritingImageToDisk { "50%" } else { "" };
        service.insist(Method::PUT, &progress, Some(&report(&stage, info))).await?;
        if spec.faults.dies_at.as_ref() == Some(&stage) {
            return Ok(Outcome::Dead);
        }
        tokio::time::sleep(spec.stage_time).await;
    }
    Ok(Outcome::Written(ignition))
}

/// The node that an installed host boots as.
pub(super) fn node(spec: &HostSpec, id: &str, ignition: Vec<u8>) -> NodeSpec {
    let name = hostname(&ignition).unwrap_or_else(|| spec.hostname.clone());
    let mut node = NodeSpec::new(name, Start::UserData(ignition));
    id.clone_into(&mut node.host_id);
    node.address = spec.address;
    node.version.clone_from(&spec.version);
    node.capacity = Capacity {
        processors: spec.processors,
        memory_mebibytes: spec.memory_mebibytes,
        storage_gibibytes: spec.disk_gigabytes,
        ..Capacity::default()
    };
    node.faults.clock_offset = spec.faults.clock_offset;
    node
}

/// The name that a host's configuration gives it.
fn hostname(ignition: &[u8]) -> Option<String> {
    let config = roost_ignition::Config::parse(ignition).ok()?;
    let contents = config.file("/etc/hostname")?.contents().ok()?;
    Some(String::from_utf8(contents).ok()?.trim().to_owned()).filter(|name| !name.is_empty())
}
