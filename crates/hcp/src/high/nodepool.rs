//! The meaning of `hcp create nodepool`.

use crate::arguments::{CreateNodePool, NodePoolFlags, NodePoolPlatform};
use crate::flavour::Flavour;

use super::usage::UsageError;
use super::values::{choice, label, release_image, selector};
use super::virtual_machine;
use super::{Mode, NodePlatform, NodePool, NodePoolRequest};

/// The processors that nodes can have.
pub(super) const ARCHITECTURES: &[&str] = &["amd64", "arm64", "ppc64le", "s390x"];
pub(super) const UPGRADE_TYPES: &[&str] = &["Replace", "InPlace"];

/// The name of a NodePool when the developers' program is not told one.
const DEVELOPER_NAME: &str = "example";

/// Gives the flags a meaning, or says what is wrong with them.
pub(crate) fn resolve(low: &CreateNodePool, flavour: Flavour) -> Result<NodePoolRequest, UsageError> {
    let flags = &low.flags;
    let name = match (flags.name.as_deref().filter(|name| !name.is_empty()), flavour) {
        (Some(name), _) => name,
        (None, Flavour::Developer) => DEVELOPER_NAME,
        (None, Flavour::Product) => return Err(UsageError::Required("name")),
    };
    let platform = match &low.platform {
        NodePoolPlatform::Agent(agent) => {
            NodePlatform::Agent { selector: agent_selector(agent.agent_label_selector.as_deref())? }
        }
        NodePoolPlatform::None => NodePlatform::None,
        NodePoolPlatform::Kubevirt(machine) => NodePlatform::KubeVirt(Box::new(virtual_machine::machine(machine)?)),
    };
    let upgrade_type = match (flags.node_upgrade_type.as_deref().filter(|kind| !kind.is_empty()), flavour) {
        (Some(kind), _) => choice("node-upgrade-type", kind, UPGRADE_TYPES)?,
        (None, Flavour::Developer) => "Replace".to_owned(),
        (None, Flavour::Product) => platform.kind().default_upgrade_type().to_owned(),
    };
    Ok(NodePoolRequest {
        name: label("name", name)?,
        namespace: label("namespace", &flags.namespace)?,
        cluster_name: label("cluster-name", &flags.cluster_name)?,
        release_image: flags
            .release_image
            .as_deref()
            .filter(|image| !image.is_empty())
            .map(release_image)
            .transpose()?,
        node_pool: NodePool {
            replicas: replicas(flags)?,
            arch: choice("arch", &flags.arch, ARCHITECTURES)?,
            auto_repair: flags.auto_repair,
            upgrade_type,
            timeouts: None,
            platform,
        },
        mode: mode(flags)?,
    })
}

fn replicas(flags: &NodePoolFlags) -> Result<i32, UsageError> {
    if flags.replicas < 0 {
        return Err(UsageError::Value {
            flag: "replicas",
            value: flags.replicas.to_string(),
            problem: "must be at least 0".to_owned(),
        });
    }
    Ok(flags.replicas)
}

fn mode(flags: &NodePoolFlags) -> Result<Mode, UsageError> {
    match (flags.render, flags.dry_run) {
        (true, true) => Err(UsageError::Together("render", "dry-run")),
        (true, false) => Ok(Mode::Render { into: None, sensitive: false }),
        (false, true) => Ok(Mode::DryRun),
        (false, false) => Ok(Mode::Create { wait: None }),
    }
}

/// The selector of Agents, if one was given.
pub(super) fn agent_selector(text: Option<&str>) -> Result<Option<serde_json::Value>, UsageError> {
    text.filter(|text| !text.is_empty()).map(|text| selector("agentLabelSelector", text)).transpose()
}
