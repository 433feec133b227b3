//! One open request: what is known about it is read, the decision made, and the answer written.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Cluster;
use super::memory::read_node;
use crate::approver::{Facts, Request, Requester, Rule, Verdict, decide};
use crate::condition;
use crate::context::words;
use crate::event::{self, Tone};
use crate::machine;
use crate::object::{Kind, ObjectError, Objects, Reference};

/// Answers one request; returns its name when it has to be looked at again at once.
pub(super) async fn answer(cluster: &Cluster, guest: &Objects, name: String) -> Option<String> {
    let request = cluster.memory.lock().requests.get(&name).cloned()?;
    match decide_and_write(cluster, guest, &request).await {
        Ok(()) => None,
        // Somebody else was faster; what they wrote is looked at.
        Err(error) if error.is_race() => Some(name).filter(|name| cluster.memory.lock().requests.contains_key(name)),
        Err(error) => {
            tracing::warn!(plane = %cluster.plane, request = name, error = words(&error), "a request was not answered");
            None
        }
    }
}

async fn decide_and_write(cluster: &Cluster, guest: &Objects, request: &Request) -> Result<(), ObjectError> {
    let machine_name = match request.requester() {
        Requester::Machine { machine, .. } => Some(machine.to_owned()).filter(|name| is_name(name)),
        Requester::Node { name } => cluster.fleet.holder(&cluster.namespace, name),
        Requester::Other => None,
    };
    let object = match &machine_name {
        Some(name) => cluster.objects.find(Kind::Machine, &cluster.namespace, name).await?,
        None => None,
    };
    let known = object.as_ref().map(machine::read);
    let node = match &known {
        Some(machine) if is_name(&machine.node_name) => guest.find(Kind::Node, "", &machine.node_name).await?,
        _ => None,
    };
    let node = node.as_ref().map(read_node);
    let holder = known.as_ref().and_then(|machine| cluster.fleet.holder(&cluster.namespace, &machine.node_name));
    let rival = holder.filter(|holder| Some(holder) != machine_name.as_ref());
    let now = Timestamp::now();
    let networks = cluster.settings.lock().networks.clone();
    let machines = cluster.fleet.count(&cluster.namespace);
    let verdict = {
        let memory = cluster.memory.lock();
        let facts = Facts {
            machine: known.as_ref(),
            rival: rival.as_deref(),
            node: node.as_ref(),
            addresses: &memory.addresses,
            networks: &networks,
            later: memory.later(request),
            pending: memory.pending(now),
            known: machines.max(memory.nodes()),
        };
        decide(request, &facts, now)
    };
    match verdict {
        Verdict::Approve => {
            if let (Requester::Machine { .. }, Some(object)) = (request.requester(), &object) {
                // Counted before it is given, and only if the Machine is still what was decided on.
                cluster.objects.merge(&Reference::of(object), &machine::approval(object)).await?;
            }
            let message = "This CSR was approved by the Node CSR Approver (roost)";
            write(guest, request, "Approved", "NodeCSRApprove", message).await?;
            cluster.memory.lock().forget_request(&request.name);
        }
        Verdict::Deny(rule) => {
            write(guest, request, "Denied", rule.name(), &rule.to_string()).await?;
            tell(cluster, guest, request, object.as_ref(), &rule, "denied").await;
            cluster.memory.lock().forget_request(&request.name);
        }
        Verdict::Wait(rule) => {
            let is_new = cluster.memory.lock().told.insert(request.name.clone(), rule.name()) != Some(rule.name());
            // Kubelets ask before they register; that is not worth a word.
            if is_new && !matches!(rule, Rule::NodeMissing { .. }) {
                tell(cluster, guest, request, object.as_ref(), &rule, "not approved").await;
            }
        }
    }
    Ok(())
}

/// Whether a text that a stranger chose can be the name of an object.
fn is_name(text: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
    !text.is_empty() && text.len() <= 253 && text.bytes().all(is_good) && text.bytes().any(|byte| byte != b'.')
}

async fn write(
    guest: &Objects,
    request: &Request,
    kind: &str,
    reason: &str,
    message: &str,
) -> Result<Value, ObjectError> {
    let change = json!({
        "metadata": {"uid": request.uid},
        "status": {"conditions": [{
            "type": kind, "status": "True", "reason": reason, "message": message,
            "lastUpdateTime": condition::time(Timestamp::now()),
        }]},
    });
    let reference = Reference::new(Kind::CertificateSigningRequest, "", &request.name);
    guest.merge_part(&reference, "approval", &change).await
}

/// Says why, on the Machine for those who run the clusters, and on the request for those inside.
async fn tell(
    cluster: &Cluster,
    guest: &Objects,
    request: &Request,
    machine: Option<&Value>,
    rule: &Rule,
    outcome: &str,
) {
    let message = format!("certificate request {} {outcome}: {rule}", request.name);
    tracing::info!(plane = %cluster.plane, rule = rule.name(), "{message}");
    let about = Reference::new(Kind::CertificateSigningRequest, "", &request.name);
    event::record(guest, &about, &request.uid, Tone::Warning, rule.name(), &message).await;
    if let Some(machine) = machine {
        let uid = machine["metadata"]["uid"].as_str().unwrap_or_default();
        event::record(&cluster.objects, &Reference::of(machine), uid, Tone::Warning, rule.name(), &message).await;
    }
}
