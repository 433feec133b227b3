//! The status of a bare-metal host: from what its controller did and its Agent says. Pure.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use roost_redfish::{Computer, Hardware, Outcome};
use serde_json::{Value, json};

use super::decide::{Block, Observed, Purpose};
use crate::condition::{self, Condition};

/// The condition that says whether a host's controller does what it is told.
const REGISTERED: &str = "Registered";
/// How long a host may take from its start until it shows itself. Firmware of large servers takes ten minutes alone.
const PATIENCE: SignedDuration = SignedDuration::from_mins(30);

/// What a pass came to.
pub(super) enum Pass {
    /// Nobody can be asked.
    Blocked(Block),
    /// The controller is being asked.
    Asking,
    /// It was asked, and failed so many times in a row.
    Ended(Arc<Outcome>, u32),
}

/// The whole status to write.
pub(super) fn status(observed: &Observed, purpose: &Purpose, pass: &Pass, now: Timestamp) -> Value {
    let host = &observed.host;
    let mut status = host["status"].clone();
    if !status.is_object() {
        status = json!({"errorCount": 0, "errorMessage": "", "operationalStatus": "discovered", "poweredOn": false,
            "provisioning": {"ID": host["metadata"]["uid"], "state": ""}});
    }
    let mut error = (Value::Null, String::new(), 0);
    match pass {
        Pass::Blocked(Block::Unmanaged) => {
            status["provisioning"]["state"] = json!("unmanaged");
            status["operationalStatus"] = json!("discovered");
        }
        Pass::Blocked(Block::Unusable(problem)) => {
            status["provisioning"]["state"] = json!("registering");
            error = (json!("registration error"), problem.clone(), 1);
        }
        Pass::Asking => {
            let is_known = status["hardware"].is_object();
            status["provisioning"]["state"] = json!(if is_known { state(observed, purpose) } else { "registering" });
            // What went wrong stays until it is known to be better.
            let count = status["errorCount"].as_u64().unwrap_or_default() as u32;
            error = (status["errorType"].clone(), text(&status["errorMessage"]), count);
        }
        Pass::Ended(outcome, failures) => {
            ended(&mut status, observed, purpose, outcome, now);
            let words =
                outcome.problem.as_ref().map(ToString::to_string).or_else(|| overdue(&status, observed, purpose, now));
            if let Some(words) = words {
                error = (json!(error_type(purpose, outcome)), words, (*failures).max(1));
            }
        }
    }
    let (kind, message, count) = error;
    let is_unmanaged = matches!(pass, Pass::Blocked(Block::Unmanaged));
    if kind.is_null() {
        if let Some(status) = status.as_object_mut() {
            status.remove("errorType");
        }
        if !is_unmanaged {
            status["operationalStatus"] = json!("OK");
        }
    } else {
        status["errorType"] = kind;
        status["operationalStatus"] = json!("error");
    }
    status["errorCount"] = json!(count);
    status["errorMessage"] = json!(message);
    let generation = host["metadata"]["generation"].as_i64().unwrap_or_default();
    let words = match pass {
        _ if !message.is_empty() => message,
        _ if is_unmanaged => "spec.bmc says no address".to_owned(),
        _ => match purpose {
            Purpose::Wait(why) => why.clone(),
            _ => String::new(),
        },
    };
    let registered = match status["errorType"].as_str() {
        None if is_unmanaged => Condition::bad(REGISTERED, "Unmanaged", words),
        None => Condition::good(REGISTERED, words),
        Some("registration error") => Condition::bad(REGISTERED, "RegistrationError", words),
        Some("provisioning error") => Condition::bad(REGISTERED, "ProvisioningError", words),
        Some(_) => Condition::bad(REGISTERED, "PowerManagementError", words),
    };
    status["conditions"] = condition::merge(&host["status"]["conditions"], now, generation, &[registered]);
    status
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// What happens with the host, as upstream calls it.
fn state(observed: &Observed, purpose: &Purpose) -> &'static str {
    match purpose {
        Purpose::Start(_) => "provisioning",
        Purpose::Settle if observed.host["spec"]["externallyProvisioned"] == true => "externally provisioned",
        Purpose::Keep | Purpose::Settle => "provisioned",
        Purpose::Wait(_) | Purpose::Rest => "available",
        Purpose::Leave => "powering off before delete",
    }
}

/// Takes over what an attempt found and did.
fn ended(status: &mut Value, observed: &Observed, purpose: &Purpose, outcome: &Outcome, now: Timestamp) {
    let host = &observed.host;
    let secret = observed.secret.as_ref().map_or(&Value::Null, |secret| &secret["metadata"]);
    let used = json!({"credentials": {"name": secret["name"], "namespace": host["metadata"]["namespace"]},
        "credentialsVersion": secret["resourceVersion"]});
    status["triedCredentials"] = used.clone();
    let Some(computer) = &outcome.computer else {
        if !status["hardware"].is_object() {
            status["provisioning"]["state"] = json!("registering");
        }
        return;
    };
    status["goodCredentials"] = used;
    if let Some(is_on) = outcome.is_on() {
        status["poweredOn"] = json!(is_on);
    }
    status["hardware"] = hardware(computer, observed.agent.as_ref());
    status["provisioning"]["state"] = json!(state(observed, purpose));
    if outcome.problem.is_some() {
        return;
    }
    match purpose {
        Purpose::Start(image) => {
            status["provisioning"]["state"] = json!("provisioned");
            status["provisioning"]["image"] = json!({"url": image, "format": "live-iso"});
            status["operationHistory"]["provision"] =
                json!({"start": condition::time(now), "end": condition::time(now)});
        }
        // It will need the image again when it leaves its cluster.
        Purpose::Settle => {
            if let Some(provisioning) = status["provisioning"].as_object_mut() {
                provisioning.remove("image");
            }
        }
        _ => {}
    }
}

/// A host that was started and does not show itself.
fn overdue(status: &Value, observed: &Observed, purpose: &Purpose, now: Timestamp) -> Option<String> {
    let started: Timestamp = status["operationHistory"]["provision"]["end"].as_str()?.parse().ok()?;
    let elapsed = now.duration_since(started);
    if *purpose != Purpose::Keep || observed.agent.is_some() || elapsed < PATIENCE {
        return None;
    }
    let card = observed.host["spec"]["bootMACAddress"].as_str().unwrap_or("spec.bootMACAddress, which is not set");
    Some(format!(
        "the host was started from the image more than {} minutes ago and no Agent with the card {card} has registered; \
         look at its console, and whether it reaches the discovery service and has that card",
        PATIENCE.as_mins()
    ))
}

fn error_type(purpose: &Purpose, outcome: &Outcome) -> &'static str {
    match purpose {
        _ if outcome.computer.is_none() => "registration error",
        Purpose::Start(_) | Purpose::Keep => "provisioning error",
        _ => "power management error",
    }
}

/// What the host consists of: what its Agent saw, else what its controller knows.
fn hardware(computer: &Computer, agent: Option<&Value>) -> Value {
    let Hardware { manufacturer, model, serial, hostname, firmware, processors, processor_model, mebibytes, cards } =
        &computer.hardware;
    let mut hardware = json!({
        "systemVendor": {"manufacturer": manufacturer, "productName": model, "serialNumber": serial},
        "firmware": {"bios": {"version": firmware}},
        "cpu": {"count": processors, "model": processor_model},
        "ramMebibytes": mebibytes,
        "nics": cards.iter().map(|card| json!({"mac": card})).collect::<Vec<_>>(),
        "storage": [],
        "hostname": hostname,
    });
    let Some(inventory) = agent.map(|agent| &agent["status"]["inventory"]).filter(|inventory| inventory.is_object())
    else {
        return hardware;
    };
    hardware["hostname"] = json!(text(&inventory["hostname"]));
    let cpu = &inventory["cpu"];
    hardware["cpu"] = json!({"arch": text(&cpu["architecture"]), "count": cpu["count"].as_i64().unwrap_or_default(),
        "model": text(&cpu["modelName"])});
    hardware["ramMebibytes"] = json!(inventory["memory"]["physicalBytes"].as_i64().unwrap_or_default() >> 20);
    let cards = inventory["interfaces"].as_array().into_iter().flatten();
    hardware["nics"] =
        cards.map(|card| json!({"name": text(&card["name"]), "mac": text(&card["macAddress"])})).collect();
    let disks = inventory["disks"].as_array().into_iter().flatten();
    hardware["storage"] = disks
        .map(|disk| {
            json!({"name": text(&disk["path"]), "sizeBytes": disk["sizeBytes"].as_i64().unwrap_or_default(), "model": text(&disk["model"]),
                "serialNumber": text(&disk["serial"]), "rotational": disk["driveType"] == "HDD"})
        })
        .collect();
    hardware
}

#[cfg(test)]
mod tests {
    use roost_redfish::{Boot, Computer, Power, RedfishError};

    use super::*;

    const IMAGE: &str = "https://h/a.iso";

    fn observed(status: &Value) -> Observed {
        Observed {
            host: json!({"metadata": {"name": "h", "namespace": "p", "uid": "u", "generation": 3},
                "spec": {"online": true, "bootMACAddress": "52:54:00:aa:00:01"}, "status": status}),
            secret: Some(json!({"metadata": {"name": "bmc", "resourceVersion": "7"}})),
            environment: None,
            agent: None,
        }
    }

    fn outcome(problem: Option<RedfishError>) -> Pass {
        let failures = u32::from(problem.is_some()) * 2;
        let hardware = Hardware { manufacturer: "Contoso".to_owned(), processors: 16, ..Hardware::default() };
        let computer = Computer::example(Power::On, Boot::default(), hardware);
        Pass::Ended(Arc::new(Outcome { computer: Some(computer), done: Vec::new(), problem }), failures)
    }

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_started_host_is_provisioned_and_told_of_when_it_does_not_show_itself() {
        let start = Purpose::Start(IMAGE.to_owned());
        let first = status(&observed(&Value::Null), &start, &Pass::Asking, time("2026-01-01T00:00:00Z"));
        assert_eq!(first["provisioning"]["state"], "registering");
        let started = status(&observed(&first), &start, &outcome(None), time("2026-01-01T00:00:00Z"));
        assert_eq!((&started["provisioning"]["state"], &started["poweredOn"]), (&json!("provisioned"), &json!(true)));
        assert_eq!(started["provisioning"]["image"]["url"], IMAGE);
        assert_eq!(started["hardware"]["systemVendor"]["manufacturer"], "Contoso");
        assert_eq!(started["goodCredentials"]["credentialsVersion"], "7");
        let waiting = observed(&started);
        let soon = status(&waiting, &Purpose::Keep, &outcome(None), time("2026-01-01T00:10:00Z"));
        assert_eq!((&soon["operationalStatus"], &soon["errorMessage"]), (&json!("OK"), &json!("")));
        assert_eq!(soon, status(&observed(&soon), &Purpose::Keep, &outcome(None), time("2026-01-01T00:11:00Z")));
        let late = status(&waiting, &Purpose::Keep, &outcome(None), time("2026-01-01T00:40:00Z"));
        assert!(late["errorMessage"].as_str().is_some_and(|words| words.contains("52:54:00:aa:00:01")), "{late}");
        let settled = status(&waiting, &Purpose::Settle, &outcome(None), time("2026-01-01T00:40:00Z"));
        assert!(settled["provisioning"]["image"].is_null() && settled["errorMessage"] == "");
    }

    #[test]
    fn what_a_controller_does_wrong_is_in_the_status_until_it_is_better() {
        let problem = RedfishError::Lacks("no virtual drive for discs".to_owned());
        let now = time("2026-01-01T00:00:00Z");
        let start = Purpose::Start(IMAGE.to_owned());
        let failed = status(&observed(&Value::Null), &start, &outcome(Some(problem)), now);
        assert_eq!(failed["errorType"], "provisioning error");
        assert_eq!((&failed["operationalStatus"], &failed["errorCount"]), (&json!("error"), &json!(2)));
        assert_eq!(failed["conditions"][0]["message"], "the BMC has no virtual drive for discs");
        assert!(failed["provisioning"]["image"].is_null());
        let again = status(&observed(&failed), &start, &Pass::Asking, now);
        assert_eq!(again, failed, "asking again changes nothing yet");
        let good = status(&observed(&failed), &start, &outcome(None), now);
        assert!(good["errorType"].is_null() && good["operationalStatus"] == "OK");
        let blocked = Pass::Blocked(Block::Unusable("the Secret \"bmc\" is not there".to_owned()));
        let blocked = status(&observed(&Value::Null), &start, &blocked, now);
        assert_eq!(blocked["errorType"], "registration error");
        let unmanaged = status(&observed(&Value::Null), &start, &Pass::Blocked(Block::Unmanaged), now);
        assert_eq!(unmanaged["provisioning"]["state"], "unmanaged");
    }
}
