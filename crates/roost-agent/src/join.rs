//! Joining, going on with a join, and leaving: the order of things. What each thing does stands elsewhere.

use std::path::Path;
use std::time::{Duration, Instant};

use roost_ignition::Config;
use roost_ignition::payload::{Joining, ReadPayloadError, paths};
use roost_network::mesh;
use serde_json::{Value, json};

use crate::apply::{ApplyError, apply};
use crate::cluster::{self, Cluster, ClusterError};
use crate::collect::{self, Target as Reach};
use crate::host::{Host, StepError};
use crate::https::{Address, Trust};
use crate::ignition_client::PayloadError;
use crate::intent::{self, IntentError, Materials};
use crate::inventory::{Inventory, Purpose};
use crate::journal::{Journal, JournalError};
use crate::kept::{Artifacts, JoinRequest, Kept};
use crate::linux::Linux;
use crate::preflight::{self, Expectations, Report};
use crate::root::Root;
use crate::software::{self, KubeletSource, Runtime, SoftwarePlan, UnknownSystem, Wanted};

/// The version whose packages are used when nothing else names one.
const KUBERNETES_MINOR: u32 = 36;
/// How often a state is looked at while it is waited for.
const PAUSE: Duration = Duration::from_secs(1);
/// A payload's credential is good for two hours; a payload that is older than half of it is fetched again.
const OLD_PAYLOAD: Duration = Duration::from_hours(1);

/// Why a host did not join or leave. Each can be tried again.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The host is not fit.
    #[error("this host cannot join yet:\n{0}hint: --waive NAME lets a check pass")]
    Unfit(Report),
    /// There is no payload.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The payload does not say how to join.
    #[error("the payload does not say how to join")]
    Unreadable(#[from] ReadPayloadError),
    /// The operating system is not known.
    #[error(transparent)]
    System(#[from] UnknownSystem),
    /// The payload cannot be brought onto this host.
    #[error(transparent)]
    Intent(#[from] IntentError),
    /// A step failed.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Leaving failed.
    #[error(transparent)]
    Undo(#[from] StepError),
    /// The agent's own files could not be written.
    #[error("cannot write under {}", crate::journal::DIRECTORY)]
    Keep(#[source] std::io::Error),
    /// There is nothing to go on with.
    #[error("this host is not joining; run `hcp-agent join` with the pool's user-data")]
    NotJoining,
    /// The host has not joined.
    #[error("this host has not joined a cluster")]
    NotJoined,
    /// The host was made a node before its first boot.
    #[error("this host was booted with a pool's user-data and was nothing before; install it anew instead")]
    Booted,
    /// All is done on this host, and yet the node is not ready.
    #[error(
        "everything is installed, but the node {node} is not ready after {seconds} s: {reason}\nhint: the kubelet goes on trying; `hcp-agent status` and `journalctl -u kubelet` tell more"
    )]
    NotReady {
        /// The node.
        node: String,
        /// How long it was waited for.
        seconds: u64,
        /// What is missing.
        reason: String,
    },
}

/// How patient a join is.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// With the ignition server.
    pub payload: Duration,
    /// With the node.
    pub ready: Duration,
}

/// Joins the cluster that a request names, and waits for the node.
pub fn join(
    root: &Root,
    request: &JoinRequest,
    patience: Patience,
    tell: &mut dyn FnMut(&str),
) -> Result<String, JoinError> {
    let joining = install(root, request, patience.payload, tell)?;
    wait_until_ready(root, &joining, patience.ready, tell)?;
    Ok(joining.node_name)
}

/// Does everything on this host that a join consists of; the node is there when its kubelet has registered it.
pub fn install(
    root: &Root,
    request: &JoinRequest,
    patience: Duration,
    tell: &mut dyn FnMut(&str),
) -> Result<Joining, JoinError> {
    let reach = Reach {
        purpose: Purpose::Ignition,
        address: request.target.address().map_err(PayloadError::from)?.with_path("/healthz"),
        trust: request.target.trust().map_err(PayloadError::from)?,
    };
    let host = collect::collect(root, &[reach]);
    let node_name = request.node_name.clone().unwrap_or_else(|| host.host_name.clone());
    // What the pool allows is not known before its payload is.
    let mut expectations = Expectations {
        swap_allowed: true,
        cgroup_v1_allowed: true,
        node_name: Some(node_name.clone()),
        no_packages: request.no_packages,
        waived: request.waived.clone(),
    };
    // A server that is not there yet is waited for, as a booting machine would.
    expectations.waived.push("ignition".to_owned());
    fit(&host, &expectations)?;
    tell(&format!("fetching the payload of {node_name} from {}", request.target.url));
    let payload = request.target.fetch(&host, &node_name, patience, tell)?;
    let joining = Joining::read(&payload)?;
    expectations.swap_allowed = joining.kubelet["failSwapOn"] == Value::Bool(false);
    expectations.cgroup_v1_allowed = joining.kubelet["failCgroupV1"] == Value::Bool(false);
    expectations.node_name = Some(joining.node_name.clone());
    let api = Reach {
        purpose: Purpose::Api,
        address: Address::parse(&joining.bootstrap.server).map_err(PayloadError::from)?.with_path("/version"),
        trust: Trust::from_pem(joining.bootstrap.certificate_authority.as_bytes()).map_err(PayloadError::from)?,
    };
    let host = collect::collect(root, &[api]);
    let report = fit(&host, &expectations)?;
    tell(&format!(
        "{} checks passed; {} is reached at {}",
        report.checks.len(),
        joining.node_name,
        joining.bootstrap.server
    ));
    apply_payload(root, request, &payload, &joining, &host, tell)?;
    Ok(joining)
}

/// Goes on with a join that was cut off.
pub fn resume(root: &Root, patience: Patience, tell: &mut dyn FnMut(&str)) -> Result<String, JoinError> {
    let kept = Kept::new(root);
    let request = kept.request().filter(|_| kept.is_joining()).ok_or(JoinError::NotJoining)?;
    let Some(payload) = kept.payload().filter(|_| kept.payload_age().is_some_and(|age| age < OLD_PAYLOAD)) else {
        tell("the payload is old; asking for a new one");
        return join(root, &request, patience, tell);
    };
    tell("going on where the join was cut off");
    let joining = Joining::read(&payload)?;
    let host = collect::collect(root, &[]);
    apply_payload(root, &request, &payload, &joining, &host, tell)?;
    wait_until_ready(root, &joining, patience.ready, tell)?;
    Ok(joining.node_name)
}

fn fit(host: &Inventory, expectations: &Expectations) -> Result<Report, JoinError> {
    let mut report = preflight::judge(host, expectations);
    if report.can_join() {
        return Ok(report);
    }
    report.checks.retain(|check| check.outcome == preflight::Outcome::Failed);
    Err(JoinError::Unfit(report))
}

fn apply_payload(
    root: &Root,
    request: &JoinRequest,
    payload: &Config,
    joining: &Joining,
    host: &Inventory,
    tell: &mut dyn FnMut(&str),
) -> Result<(), JoinError> {
    let software = software_for(host, request, payload)?;
    for note in software.iter().flat_map(|software| &software.notes) {
        tell(&format!("note: {note}"));
    }
    let agent = std::env::current_exe().map_err(JoinError::Keep)?;
    let materials = Materials {
        payload,
        node_name: &joining.node_name,
        software: software.as_ref(),
        kubelet: request.kubelet.as_deref(),
        agent: &agent.to_string_lossy(),
    };
    let intents = intent::intents(root, &materials)?;
    let journal = Journal::open_or_begin(root)?;
    Kept::new(root).begin(request, payload).map_err(JoinError::Keep)?;
    let mut host = Host { root: root.clone(), system: Linux, journal };
    let trust = request.target.trust().map_err(PayloadError::from)?;
    let mut artifacts = Artifacts { root, trust };
    let changed = apply(&mut host, &intents, &mut artifacts, &mut |step| tell(&step.to_string()))?;
    Kept::new(root).end().map_err(JoinError::Keep)?;
    tell(&format!("{changed} of {} steps changed something", intents.len()));
    Ok(())
}

fn software_for(
    host: &Inventory,
    request: &JoinRequest,
    payload: &Config,
) -> Result<Option<SoftwarePlan>, UnknownSystem> {
    if request.no_packages {
        return Ok(None);
    }
    let has_kubelet = request.kubelet.is_some() || payload.file(paths::KUBELET_BINARY).is_some();
    let runtime = if payload.file(paths::CRIO_CONFIG).is_some() { Runtime::Crio } else { Runtime::Containerd };
    let wanted = Wanted {
        runtime,
        kubelet: if has_kubelet { KubeletSource::Payload } else { KubeletSource::Packages },
        kubernetes_minor: KUBERNETES_MINOR,
        kernel: &host.kernel,
    };
    software::plan(&host.system.clone().unwrap_or_default(), &wanted).map(Some)
}

/// Waits for the certificate and then for the node, and says each time what for.
pub fn wait_until_ready(
    root: &Root,
    joining: &Joining,
    patience: Duration,
    tell: &mut dyn FnMut(&str),
) -> Result<(), JoinError> {
    let begin = Instant::now();
    let mut told = String::new();
    loop {
        let reason = match ready(root, joining) {
            Ok(taints) => {
                let words = if taints.is_empty() {
                    "without a taint".to_owned()
                } else {
                    format!("tainted: {}", taints.join(", "))
                };
                tell(&format!("{} is Ready, {words}, after {} s", joining.node_name, begin.elapsed().as_secs()));
                return Ok(());
            }
            Err(reason) => reason,
        };
        if begin.elapsed() > patience {
            let node = joining.node_name.clone();
            return Err(JoinError::NotReady { node, seconds: patience.as_secs(), reason });
        }
        if reason != told {
            tell(&format!("waiting: {reason}"));
            told = reason;
        }
        std::thread::sleep(PAUSE);
    }
}

/// The taints of a node that is ready, or what it waits for.
pub fn ready(root: &Root, joining: &Joining) -> Result<Vec<String>, String> {
    let cluster = match Cluster::as_node(root, &joining.bootstrap) {
        Err(ClusterError::NoCredential) => {
            return Err(format!("the certificate request of system:node:{} is not answered yet", joining.node_name));
        }
        other => other.map_err(|error| crate::words::with_causes(&error))?,
    };
    match cluster.node(&joining.node_name) {
        Ok(node) => cluster::readiness(&node).map(|()| cluster::taints(&node)),
        Err(ClusterError::Refused { status: 404, .. }) => Err("the kubelet has not registered the node yet".to_owned()),
        Err(error) => Err(crate::words::with_causes(&error)),
    }
}

/// How a host leaves.
#[derive(Debug)]
pub struct Leaving<'a> {
    /// How long pods may need to go; none are waited for when it is zero.
    pub drain: Duration,
    /// A kubeconfig that may remove the Node object, where the node itself may not.
    pub kubeconfig: Option<&'a Path>,
}

/// Leaves the cluster and puts the host back. What could not be done in the cluster is said, and does not stop it.
pub fn leave(root: &Root, leaving: &Leaving<'_>, tell: &mut dyn FnMut(&str)) -> Result<Vec<String>, JoinError> {
    let journal = Journal::open(root)?.ok_or(JoinError::NotJoined)?;
    let kept = Kept::new(root);
    if kept.request().is_none() && !journal.entries().is_empty() {
        return Err(JoinError::Booted);
    }
    let joining = kept.payload().and_then(|payload| Joining::read(&payload).ok());
    if let Some(joining) = &joining {
        leave_cluster(root, joining, leaving, tell);
    }
    // Its certificate is gone when the host is as it was.
    let own = joining.as_ref().and_then(|joining| Cluster::as_node(root, &joining.bootstrap).ok());
    let host = Host { root: root.clone(), system: Linux, journal };
    let remains = host.undo(&mut |step| tell(&format!("undo: {step}")))?;
    match (&joining, administrator(leaving), own) {
        // A kubelet that was still alive may have registered again.
        (Some(joining), Some(cluster), _) => drop(cluster.delete_node(&joining.node_name)),
        // Nobody is left who would show the key of the mesh again.
        (Some(joining), None, Some(own)) => {
            drop(own.annotate_node(&joining.node_name, &json!({mesh::KEY_ANNOTATION: null})));
        }
        _ => {}
    }
    Ok(remains)
}

fn administrator(leaving: &Leaving<'_>) -> Option<Cluster> {
    Cluster::from_kubeconfig(&std::fs::read(leaving.kubeconfig?).ok()?).ok()
}

fn leave_cluster(root: &Root, joining: &Joining, leaving: &Leaving<'_>, tell: &mut dyn FnMut(&str)) {
    let name = &joining.node_name;
    let cluster = match Cluster::as_node(root, &joining.bootstrap) {
        Ok(cluster) => cluster,
        Err(error) => return tell(&format!("the node was not drained: {}", crate::words::with_causes(&error))),
    };
    if let Err(error) = cluster.set_unschedulable(name, true) {
        tell(&format!("new pods could not be kept away: {}", crate::words::with_causes(&error)));
    }
    if leaving.drain > Duration::ZERO {
        match cluster.drain(name, leaving.drain, tell) {
            Ok(left) if left.is_empty() => tell("all pods have left"),
            Ok(left) => tell(&format!("these pods did not leave in time and end now: {}", left.join(", "))),
            Err(error) => tell(&format!("the node was not drained: {}", crate::words::with_causes(&error))),
        }
    }
    let remover = administrator(leaving);
    match remover.as_ref().unwrap_or(&cluster).delete_node(name) {
        Ok(()) => tell(&format!("the node {name} is removed")),
        Err(error) => tell(&format!(
            "the node {name} could not be removed with its own credential ({}); run `kubectl delete node {name}`, or leave with --kubeconfig",
            crate::words::with_causes(&error)
        )),
    }
}
