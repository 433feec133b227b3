//! The checks of what a host consists of.

use roost_api::agent_install::Inventory;
use roost_api::agent_install::validation::hardware as id;

use super::{Check, Facts, Finding, IDENTITY_UNIQUE};
use crate::disk::{DiskProblem, choose};
use crate::measurement::MOST_DISK_SYNC;

/// What firmware keeps for itself of a machine that has the wanted memory. Upstream's value.
const MEMORY_TOLERANCE: i64 = 100;

pub(super) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = vec![inventory(facts), identity(facts)];
    let Some(inventory) = facts.inventory else { return findings };
    findings.push(truncated(facts));
    findings.push(processors(facts, inventory, Check::hardware(id::MINIMUM_CPU_CORES)));
    findings.push(memory(facts, inventory, Check::hardware(id::MINIMUM_MEMORY)));
    findings.push(disks(facts, inventory));
    findings.push(hostname(facts));
    if facts.is_bound {
        findings.push(processors(facts, inventory, Check::hardware(id::CPU_CORES_FOR_ROLE)));
        findings.push(memory(facts, inventory, Check::hardware(id::MEMORY_FOR_ROLE)));
        findings.push(hostname_unique(facts));
    }
    findings.extend(chosen_disk(facts, inventory));
    findings.push(disk_speed(facts));
    findings
}

fn inventory(facts: &Facts<'_>) -> Finding {
    let check = Check::hardware(id::HAS_INVENTORY);
    if facts.inventory.is_some() {
        check.pass("Valid inventory exists for the host")
    } else {
        check.wait("The host has not sent its inventory yet; its agent sends it within a minute")
    }
}

fn identity(facts: &Facts<'_>) -> Finding {
    let check = Check::hardware(IDENTITY_UNIQUE);
    match facts.identity_twin {
        None => check.pass("No other host uses this identity"),
        Some(twin) => check.fail(format!(
            "Two machines use this identity: {twin}; give the cloned one a serial number or UUID of its own, or turn it off"
        )),
    }
}

fn truncated(facts: &Facts<'_>) -> Finding {
    match facts.truncation {
        "full" => Check::hardware(id::INVENTORY_NOT_FULLY_TRUNCATED)
            .fail("The inventory was too long to be sent; detach disks that the host does not need"),
        "partial" => Check::hardware(id::INVENTORY_NOT_PARTIALLY_TRUNCATED)
            .informative()
            .fail("Part of the inventory was too long to be sent; the host can be used"),
        _ => Check::hardware(id::INVENTORY_NOT_FULLY_TRUNCATED).pass("The inventory is complete"),
    }
}

fn processors(facts: &Facts<'_>, inventory: &Inventory, check: Check) -> Finding {
    let count = inventory.cpu.as_ref().and_then(|cpu| cpu.count).unwrap_or_default();
    let wanted = facts.requirements.processors;
    let noun = if count == 1 { "processor" } else { "processors" };
    if count >= wanted {
        check.pass(format!("Sufficient CPU cores: the host has {count} {noun}"))
    } else {
        check.fail(format!("Host has {count} {noun}, and at least {wanted} are needed; use a larger machine"))
    }
}

fn memory(facts: &Facts<'_>, inventory: &Inventory, check: Check) -> Finding {
    let bytes = inventory.memory.as_ref().and_then(|memory| memory.physical_bytes).unwrap_or_default();
    let (mebibytes, wanted) = (bytes >> 20, facts.requirements.mebibytes);
    if mebibytes + MEMORY_TOLERANCE >= wanted {
        check.pass(format!("Sufficient RAM: the host has {mebibytes} MiB"))
    } else {
        check.fail(format!("Host has {mebibytes} MiB of memory, and at least {wanted} MiB are needed; add memory"))
    }
}

fn disks(facts: &Facts<'_>, inventory: &Inventory) -> Finding {
    let check = Check::hardware(id::MINIMUM_VALID_DISKS);
    let smallest = facts.requirements.disk_gigabytes.saturating_mul(1_000_000_000);
    let is_chosen = facts.chosen_disk.is_some_and(|chosen| choose(inventory, smallest, Some(chosen)).is_ok());
    let Some(problem) = choose(inventory, smallest, None).err().filter(|_| !is_chosen) else {
        return check.pass("Sufficient disk capacity");
    };
    let device = inventory.boot.as_ref().and_then(|boot| boot.device_type.as_deref());
    if device == Some("persistent") {
        return check.pass("The host keeps the system that it runs, so no disk is written");
    }
    check.fail(format!(
        "Host has no disk that a system may be written to ({problem}); add a disk of at least {} GB without data, or name one in installation_disk_id of the Agent, which is then overwritten",
        facts.requirements.disk_gigabytes
    ))
}

/// A slow disk is shown and used all the same, as upstream does; one that cannot be measured is broken.
fn disk_speed(facts: &Facts<'_>) -> Finding {
    let check = Check::hardware(id::INSTALLATION_DISK_SPEED);
    let wanted = MOST_DISK_SYNC.as_millis();
    match facts.disk_sync {
        None => check.informative().wait(
            "The installation disk has not been measured; that is done once the host is approved, on a disk without data",
        ),
        Some((path, Err(why))) => check.fail(format!(
            "The disk {path} could not be written in a measurement ({why}); replace it, or name another in installation_disk_id of the Agent"
        )),
        Some((path, Ok(taken))) if taken > MOST_DISK_SYNC => check.informative().fail(format!(
            "A write to {path} takes {} ms to be safe (99th percentile), and at most {wanted} ms are wanted; use a faster disk, or leave it so: pods that write much will be slow",
            taken.as_millis()
        )),
        Some((path, Ok(taken))) => check.pass(format!(
            "A write to {path} takes {} ms to be safe (99th percentile), and at most {wanted} ms are wanted",
            taken.as_millis()
        )),
    }
}

fn hostname(facts: &Facts<'_>) -> Finding {
    let check = Check::hardware(id::HOSTNAME_VALID);
    let name = facts.hostname;
    if is_hostname(name) {
        check.pass(format!("Hostname {name} is allowed"))
    } else {
        check.fail(format!(
            "The host name {name:?} cannot be a node's: lower-case letters, digits, dashes and dots, at most 63, and not localhost; set spec.hostname of the Agent"
        ))
    }
}

fn is_hostname(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    name.len() <= 63
        && !name.starts_with("localhost")
        && name.bytes().next().is_some_and(|byte| byte != b'-')
        && name.bytes().last().is_some_and(|byte| byte != b'-')
        && name.split('.').all(is_label)
}

fn hostname_unique(facts: &Facts<'_>) -> Finding {
    let check = Check::hardware(id::HOSTNAME_UNIQUE);
    match facts.hostname_twin {
        None => check.pass(format!("Hostname {} is unique in cluster", facts.hostname)),
        Some(twin) => check.fail(format!(
            "The Agent {twin} of the same cluster has the host name {} too; set spec.hostname of one of them",
            facts.hostname
        )),
    }
}

fn chosen_disk(facts: &Facts<'_>, inventory: &Inventory) -> Option<Finding> {
    let chosen = facts.chosen_disk?;
    let check = Check::hardware(id::NO_SKIP_MISSING_DISK);
    let smallest = facts.requirements.disk_gigabytes.saturating_mul(1_000_000_000);
    Some(match choose(inventory, smallest, Some(chosen)) {
        Ok(_) => check.pass(format!("The installation disk {chosen} is there")),
        Err(DiskProblem::Unknown(_)) => check.fail(format!(
            "The installation disk {chosen} is not in the inventory; set installation_disk_id to the id of one that is"
        )),
        Err(problem) => check.fail(format!("The installation disk cannot be used: {problem}")),
    })
}
