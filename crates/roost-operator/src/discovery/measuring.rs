//! What hosts are told to measure, and what of their answers is kept.

use std::collections::BTreeMap;

use roost_api::agent_install::Inventory;
use roost_host::disk::{ineligibility, is_named};
use roost_host::measurement::{DiskReply, KEPT_SYSTEM, NamesReply};
use roost_host::validation::{NeededName, Purpose};
use roost_host::wire::StepReply;
use serde_json::{Value, json};

use super::report::DiskSync;
use super::{Report, files};
use crate::agent;
use crate::object::{Kind, ObjectError, Objects};

/// The application that upstream looks for behind the names of applications.
const APPLICATION: &str = "console-openshift-console.apps";
/// The most of an error's words that is kept.
const LONGEST_ERROR: usize = 256;

/// The names that lead to the cluster of an Agent, with what its host says that they resolve to.
pub(crate) async fn needed_names(objects: &Objects, agent: &Value) -> Result<Vec<NeededName>, ObjectError> {
    let reference = &agent["spec"]["clusterDeploymentName"];
    let (Some(name), Some(namespace)) = (reference["name"].as_str(), reference["namespace"].as_str()) else {
        return Ok(Vec::new());
    };
    let plane = objects.find(Kind::HostedControlPlane, namespace, name).await?.unwrap_or_default();
    let pointer = files::user_data(objects, agent).await?.unwrap_or_default();
    Ok(names(&plane, &pointer, &Report::of(agent).names))
}

fn names(plane: &Value, pointer: &Value, known: &BTreeMap<String, Vec<String>>) -> Vec<NeededName> {
    let api = plane["status"]["controlPlaneEndpoint"]["host"].as_str().unwrap_or_default().to_owned();
    let configuration = host_of(files::source(pointer)).to_owned();
    let dns = &plane["spec"]["dns"];
    let domain = dns["baseDomain"].as_str().unwrap_or_default();
    let prefix = dns["baseDomainPrefix"].as_str().or(plane["metadata"]["name"].as_str()).unwrap_or_default();
    let applications = match (prefix, domain) {
        (_, "") => String::new(),
        ("", domain) => format!("{APPLICATION}.{domain}"),
        (prefix, domain) => format!("{APPLICATION}.{prefix}.{domain}"),
    };
    let all = [(Purpose::Api, api), (Purpose::Configuration, configuration), (Purpose::Applications, applications)];
    let needed = all.into_iter().filter(|(_, name)| !name.is_empty());
    needed.map(|(purpose, name)| NeededName { purpose, addresses: known.get(&name).cloned(), name }).collect()
}

fn host_of(url: &str) -> &str {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest).split('/').next().unwrap_or_default();
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// What a host has to resolve.
pub(super) fn unresolved(needed: &[NeededName]) -> Vec<String> {
    let mut names: Vec<String> =
        needed.iter().filter(|needed| !needed.is_address()).map(|needed| needed.name.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// What of a host's resolutions is kept: those that it was asked for.
pub(super) fn resolved(needed: &[NeededName], reply: &NamesReply) -> BTreeMap<String, Vec<String>> {
    let is_needed = |name: &str| needed.iter().any(|needed| needed.name == name);
    let found = reply.resolutions.iter().filter(|resolution| is_needed(&resolution.domain_name));
    found.map(|resolution| (resolution.domain_name.clone(), resolution.addresses())).collect()
}

/// What of a host is measured as its disk: where its system stays a file on that, else the disk that is written, if it is
/// empty. Nothing is written to what may hold data, not even in order to measure it.
fn measured_disk(agent: &Value) -> Option<String> {
    let inventory: Inventory = serde_json::from_value(agent["status"]["inventory"].clone()).ok()?;
    let device = inventory.boot.as_ref().and_then(|boot| boot.device_type.as_deref());
    if device == Some("persistent") {
        return Some(KEPT_SYSTEM.to_owned());
    }
    let wanted = agent::installation_disk(agent)?;
    let disk = inventory.disks.iter().find(|disk| is_named(disk, &wanted))?;
    ineligibility(disk, 0, false).is_empty().then(|| disk.id.clone())
}

/// The disk that a host is to measure. Upstream's agent is not asked: it writes over what is there.
pub(super) fn disk_to_measure(agent: &Value, report: &Report) -> Option<String> {
    let path = measured_disk(agent).filter(|_| report.is_own_agent() && agent["spec"]["approved"] == true)?;
    report.disk_sync.as_ref().is_none_or(|known| known.path != path).then_some(path)
}

/// What was measured of the disk that matters now.
pub(crate) fn disk_sync<'a>(agent: &Value, report: &'a Report) -> Option<&'a DiskSync> {
    let path = measured_disk(agent)?;
    report.disk_sync.as_ref().filter(|known| known.path == path)
}

/// What is kept of a measurement; nothing when it goes on.
pub(super) fn disk_reply(reply: &StepReply) -> Option<DiskSync> {
    let measured: DiskReply = serde_json::from_str(&reply.output).ok()?;
    let error = if reply.exit_code == 0 { "" } else { reply.error.as_str() };
    Some(DiskSync {
        path: measured.path,
        milliseconds: u64::try_from(measured.io_sync_duration).unwrap_or_default(),
        error: error.chars().take(LONGEST_ERROR).collect(),
    })
}

/// Puts what was measured where upstream shows it.
pub(crate) fn set_disk_speed(inventory: &mut Value, report: &Report) {
    let Some(known) = report.disk_sync.as_ref().filter(|known| known.error.is_empty()) else { return };
    for disk in inventory.get_mut("disks").and_then(Value::as_array_mut).into_iter().flatten() {
        if disk["id"] == known.path.as_str() {
            disk["ioPerf"] = json!({"syncDurationMilliseconds": known.milliseconds});
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_resolves_what_leads_to_its_cluster() {
        let plane = json!({"metadata": {"name": "demo"}, "spec": {"dns": {"baseDomain": "example.test"}},
            "status": {"controlPlaneEndpoint": {"host": "api.demo.example.test", "port": 6443}}});
        let pointer = json!({"ignition": {"config": {"merge": [{"source": "https://192.0.2.1:30001/ignition"}]}}});
        let known = BTreeMap::from([("api.demo.example.test".to_owned(), vec!["192.0.2.1".to_owned()])]);
        let needed = names(&plane, &pointer, &known);
        assert_eq!(needed.len(), 3);
        assert_eq!(needed[0].addresses.as_deref(), Some(["192.0.2.1".to_owned()].as_slice()));
        assert!(needed[1].is_address());
        let application = "console-openshift-console.apps.demo.example.test";
        assert_eq!(unresolved(&needed), ["api.demo.example.test", application]);
        let reply: NamesReply = serde_json::from_value(json!({"resolutions": [
            {"domain_name": application, "ipv4_addresses": null}, {"domain_name": "other", "ipv4_addresses": ["192.0.2.9"]},
        ]}))
        .unwrap();
        assert_eq!(resolved(&needed, &reply), BTreeMap::from([(application.to_owned(), Vec::new())]));
        assert!(names(&Value::Null, &Value::Null, &known).is_empty());
        assert_eq!(host_of("https://[2001:db8::1]:30001/ignition"), "[2001:db8::1]");
        assert_eq!(host_of("https://ignition.example.test/ignition"), "ignition.example.test");
    }

    fn agent(reasons: &[&str]) -> Value {
        let disk = json!({"id": "/dev/disk/by-id/wwn-1", "path": "/dev/sda", "driveType": "SSD", "sizeBytes": 120_000_000_000_i64,
            "installationEligibility": {"eligible": reasons.is_empty(), "notEligibleReasons": reasons}});
        json!({"spec": {"approved": true}, "status": {"inventory": {"disks": [disk], "boot": {"deviceType": "ephemeral"}}}})
    }

    #[test]
    fn only_an_empty_disk_of_an_approved_host_is_measured_and_once() {
        let own = Report::registered("hcp-agent/test");
        let path = "/dev/disk/by-id/wwn-1";
        let mut host = agent(&[]);
        assert_eq!(disk_to_measure(&host, &own).as_deref(), Some(path));
        assert_eq!(disk_to_measure(&host, &Report::registered("upstream")), None, "it would write over what is there");
        let reply =
            StepReply { output: format!(r#"{{"io_sync_duration":3,"path":"{path}"}}"#), ..StepReply::default() };
        let measured = Report { disk_sync: disk_reply(&reply), ..own.clone() };
        assert_eq!(disk_to_measure(&host, &measured), None);
        assert_eq!(disk_sync(&host, &measured).map(|known| known.milliseconds), Some(3));
        let mut inventory = host["status"]["inventory"].clone();
        set_disk_speed(&mut inventory, &measured);
        assert_eq!(inventory["disks"][0]["ioPerf"]["syncDurationMilliseconds"], 3);
        host["spec"]["approved"] = json!(false);
        assert_eq!(disk_to_measure(&host, &own), None);
        let mut full = agent(&[roost_host::disk::HAS_PARTITIONS]);
        full["spec"]["installation_disk_id"] = json!("/dev/sda");
        assert_eq!(
            disk_to_measure(&full, &own),
            None,
            "a person named it, and it is written only when it is installed"
        );
        full["status"]["inventory"]["boot"]["deviceType"] = json!("persistent");
        assert_eq!(disk_to_measure(&full, &own).as_deref(), Some(KEPT_SYSTEM));
    }

    #[test]
    fn a_measurement_that_failed_says_why() {
        let reply = StepReply {
            exit_code: 1,
            output: r#"{"io_sync_duration":0,"path":"/dev/sda"}"#.to_owned(),
            error: "input/output error".to_owned(),
            ..StepReply::default()
        };
        assert_eq!(disk_reply(&reply).map(|kept| kept.error), Some("input/output error".to_owned()));
        assert_eq!(disk_reply(&StepReply::default()), None, "it runs already");
    }
}
