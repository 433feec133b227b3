//! The bodies of the host-facing service, version 2, as they are on the wire.

use serde::{Deserialize, Deserializer, Serialize};

/// The longest body that a host may send: a large inventory has some hundred kilobytes.
pub const MAX_BODY: usize = 2 << 20;
/// Where all paths begin.
pub const BASE: &str = "/api/assisted-install/v2";
/// The header that carries a host's token.
pub const TOKEN_HEADER: &str = "X-Secret-Key";
/// The header with which the service gives a host a token that is good for longer.
pub const RENEWED_TOKEN_HEADER: &str = "Roost-Token";
/// The header with which a host says for how long it waits for instructions, as `wait=<seconds>`.
pub const PREFER_HEADER: &str = "Prefer";
/// The beginning of the version of an agent that stays on its host after the installation.
pub const OWN_AGENT: &str = "hcp-agent/";
/// The exit code that says that the medium which the host runs from cannot be read.
pub const MEDIA_DISCONNECTED: i64 = 256;

/// A host introduces itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// Who it is.
    pub host_id: String,
    /// Which agent speaks.
    #[serde(default, deserialize_with = "or_default")]
    pub discovery_agent_version: String,
}

/// What a host that introduced itself is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    /// Who it is.
    pub id: String,
    /// What it is.
    pub kind: String,
    /// Where it is found.
    pub href: String,
    /// The environment that it was discovered in.
    pub infra_env_id: String,
    /// Its state.
    pub status: String,
    /// What its state is about.
    #[serde(default)]
    pub status_info: String,
    /// What to run next.
    pub next_step_runner_command: RunnerCommand,
}

/// What an agent runs to be given steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnerCommand {
    /// Always empty: the agent knows.
    pub command: String,
    /// One JSON document.
    pub args: Vec<String>,
    /// When to try again after it failed. Without it an upstream agent waits an hour.
    pub retry_seconds: i64,
}

/// What to do now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps {
    /// When to ask again.
    pub next_instruction_seconds: i64,
    /// Whether to go on asking, or to introduce oneself again.
    pub post_step_action: PostStepAction,
    /// The steps.
    #[serde(default, deserialize_with = "or_default")]
    pub instructions: Vec<Step>,
}

/// What to do after the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PostStepAction {
    /// Ask for more.
    #[default]
    Continue,
    /// Register again.
    Exit,
}

/// One step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What to do, such as `inventory`.
    pub step_type: String,
    /// Which reply belongs to it.
    pub step_id: String,
    /// With what.
    #[serde(default, deserialize_with = "or_default")]
    pub args: Vec<String>,
}

/// What came of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReply {
    /// What was done.
    #[serde(default, deserialize_with = "or_default")]
    pub step_type: String,
    /// Which step that was.
    #[serde(default, deserialize_with = "or_default")]
    pub step_id: String,
    /// Zero when it went well.
    #[serde(default, deserialize_with = "or_default")]
    pub exit_code: i64,
    /// What it found out, as JSON.
    #[serde(default, deserialize_with = "or_default")]
    pub output: String,
    /// What went wrong.
    #[serde(default, deserialize_with = "or_default")]
    pub error: String,
}

/// How far an installation is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgressReport {
    /// The stage.
    pub current_stage: String,
    /// More about it, such as `45%`.
    #[serde(default, deserialize_with = "or_default")]
    pub progress_info: String,
}

/// What an `install` step is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallRequest {
    /// The cluster that the host becomes part of.
    pub cluster_id: String,
    /// The environment that it was discovered in.
    pub infra_env_id: String,
    /// Who it is.
    pub host_id: String,
    /// What it becomes.
    pub role: String,
    /// The disk that is written.
    pub boot_device: String,
    /// Disks whose beginning is wiped so that nothing boots from them. Never any that nobody named.
    #[serde(default, deserialize_with = "or_default")]
    pub disks_to_format: Vec<String>,
    /// Further arguments for what writes the disk, as a JSON list.
    #[serde(default, skip_serializing_if = "String::is_empty", deserialize_with = "or_default")]
    pub installer_args: String,
    /// Whether a person named the disk, so that what is on it may go. Only agents of ours are told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not", deserialize_with = "or_default")]
    pub is_disk_named: bool,
    /// What an agent of ours writes to the disk; upstream's has it in its image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_image: Option<DiskImage>,
}

/// The image of a whole disk, compressed by gzip.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskImage {
    /// Where it is.
    pub url: String,
    /// The digest of its bytes as they are sent, in hexadecimal.
    pub sha256: String,
    /// How many these are.
    pub length: u64,
}

/// Where a host tries to fetch its configuration from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachRequest {
    /// Where it is.
    pub url: String,
    /// Whose certificate is shown there: PEM in base64.
    #[serde(default, deserialize_with = "or_default")]
    pub ca_certificate: String,
}

/// Whether a host reached its configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachReply {
    /// Whether it did.
    #[serde(default, deserialize_with = "or_default")]
    pub is_success: bool,
    /// Where it tried.
    #[serde(default, deserialize_with = "or_default")]
    pub url: String,
    /// Why it did not.
    #[serde(default, deserialize_with = "or_default")]
    pub download_error: String,
}

/// The time servers of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeReply {
    /// Each of them.
    #[serde(default, deserialize_with = "or_default")]
    pub ntp_sources: Vec<TimeSource>,
}

/// One time server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeSource {
    /// Its name or address.
    #[serde(default, deserialize_with = "or_default")]
    pub source_name: String,
    /// How it is, such as `synced`.
    #[serde(default, deserialize_with = "or_default")]
    pub source_state: String,
}

/// What was refused, as upstream says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// Always `Error`.
    pub kind: String,
    /// The status code as a number.
    pub id: i64,
    /// Where errors are described.
    pub href: String,
    /// The status code as text.
    pub code: String,
    /// Why.
    pub reason: String,
}

/// What is absent or null is nothing: upstream's programs write null for an empty list.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_upstream_sends_is_read() {
        let reply: StepReply = serde_json::from_str(
            r#"{"step_type":"inventory","step_id":"inventory-1","exit_code":0,"output":"{}","error":null,"more":1}"#,
        )
        .unwrap();
        assert_eq!((reply.exit_code, reply.error.as_str()), (0, ""));
        let steps: Steps =
            serde_json::from_str(r#"{"next_instruction_seconds":60,"post_step_action":"exit","instructions":null}"#)
                .unwrap();
        assert_eq!(steps.post_step_action, PostStepAction::Exit);
    }
}
