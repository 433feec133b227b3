//! Which disk of a host a system may be written to. A disk that may hold something is written only when a person named it.

use roost_api::agent_install as api;

/// What a host says of a disk with partitions.
pub const HAS_PARTITIONS: &str = "it has partitions, and so perhaps data";
/// What a host says of a disk without partitions that begins with something.
pub const NOT_EMPTY: &str = "it does not begin empty, and so perhaps has data";
/// What is found here of a disk that its host says nothing else about.
const IS_BOOTABLE: &str = "it can be started from, and so perhaps has data";

const KINDS: [&str; 7] = ["HDD", "SSD", "Multipath", "RAID", "iSCSI", "FC", "virtual"];

/// Why a disk is not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiskProblem {
    /// Nobody has such a disk.
    #[error("the host has no disk {0}; set installation_disk_id of the Agent to the id of one of its disks")]
    Unknown(String),
    /// It must not be written.
    #[error("nothing may be written to the disk {disk}: {}", reasons.join(", "))]
    Ineligible {
        /// The disk.
        disk: String,
        /// Why.
        reasons: Vec<String>,
    },
    /// None may be written.
    #[error("no disk of the host may be written: {}", if .0.is_empty() { "it has none" } else { .0.as_str() })]
    None(String),
}

/// Whether a disk is the one that a person or a service means.
pub fn is_named(disk: &api::Disk, name: &str) -> bool {
    let is_it = |text: &Option<String>| text.as_deref() == Some(name);
    disk.id == name || is_it(&disk.path) || is_it(&disk.by_id) || is_it(&disk.by_path)
}

/// The disk to write: the one that a person named, whatever is on it; else the smallest that is large enough and empty.
pub fn choose<'a>(
    inventory: &'a api::Inventory,
    smallest_bytes: i64,
    named: Option<&str>,
) -> Result<&'a api::Disk, DiskProblem> {
    if let Some(name) = named {
        let found = inventory.disks.iter().find(|disk| is_named(disk, name));
        let disk = found.ok_or_else(|| DiskProblem::Unknown(name.to_owned()))?;
        let reasons = ineligibility(disk, smallest_bytes, true);
        let refused = DiskProblem::Ineligible { disk: name.to_owned(), reasons: reasons.clone() };
        return if reasons.is_empty() { Ok(disk) } else { Err(refused) };
    }
    let empty = inventory.disks.iter().filter(|disk| ineligibility(disk, smallest_bytes, false).is_empty());
    let best = empty.min_by_key(|disk| {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        (disk.size_bytes.unwrap_or_default(), text(&disk.hctl), text(&disk.name), disk.id.clone())
    });
    best.ok_or_else(|| {
        let words = inventory.disks.iter().take(8).map(|disk| {
            let name = disk.path.as_deref().or(disk.name.as_deref()).unwrap_or(&disk.id);
            format!("{name}: {}", ineligibility(disk, smallest_bytes, false).join(", "))
        });
        DiskProblem::None(words.collect::<Vec<_>>().join("; "))
    })
}

/// Why nothing may be written to a disk. What may be on it is no reason where a person named it.
pub fn ineligibility(disk: &api::Disk, smallest_bytes: i64, is_named: bool) -> Vec<String> {
    let eligibility = disk.installation_eligibility.as_ref();
    let said = eligibility.map(|known| known.not_eligible_reasons.clone()).unwrap_or_default();
    let is_about_data = |reason: &String| matches!(reason.as_str(), HAS_PARTITIONS | NOT_EMPTY);
    let mut reasons: Vec<String> = said.iter().filter(|reason| !is_named || !is_about_data(reason)).cloned().collect();
    let size = disk.size_bytes.unwrap_or_default();
    if size < smallest_bytes {
        let gigabytes = |bytes: i64| bytes / 1_000_000_000;
        reasons.push(format!(
            "the disk has {} GB, and at least {} GB are needed",
            gigabytes(size),
            gigabytes(smallest_bytes)
        ));
    }
    let kind = disk.drive_type.as_ref().map_or("Unknown", api::DriveType::as_str);
    if !KINDS.contains(&kind) {
        reasons.push(format!("the drive type is {kind}, and one of {} is needed", KINDS.join(", ")));
    }
    if said.is_empty() && eligibility.is_some_and(|known| known.eligible == Some(false)) {
        reasons.push("the host says that it may not be used".to_owned());
    }
    if said.is_empty() && !is_named && disk.bootable == Some(true) {
        reasons.push(IS_BOOTABLE.to_owned());
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(id: &str, size: i64, reasons: &[&str]) -> api::Disk {
        api::Disk {
            id: id.to_owned(),
            drive_type: Some("SSD".into()),
            size_bytes: Some(size),
            installation_eligibility: Some(api::InstallationEligibility {
                eligible: Some(reasons.is_empty()),
                not_eligible_reasons: reasons.iter().map(|&reason| reason.to_owned()).collect(),
            }),
            ..api::Disk::default()
        }
    }

    fn inventory(disks: Vec<api::Disk>) -> api::Inventory {
        api::Inventory { disks, ..api::Inventory::default() }
    }

    #[test]
    fn the_smallest_empty_disk_is_taken() {
        let bootable = api::Disk { bootable: Some(true), ..disk("d", 60, &[]) };
        let host = inventory(vec![disk("a", 200, &[]), disk("b", 100, &[]), disk("c", 10, &[]), bootable]);
        assert_eq!(choose(&host, 50, None).map(|disk| disk.id.as_str()), Ok("b"));
        assert_eq!(choose(&host, 50, Some("a")).map(|disk| disk.id.as_str()), Ok("a"));
    }

    #[test]
    fn what_may_hold_data_is_written_only_when_it_is_named() {
        let host = inventory(vec![disk("a", 100, &[HAS_PARTITIONS]), disk("b", 100, &[NOT_EMPTY])]);
        let problem = choose(&host, 50, None).unwrap_err().to_string();
        assert!(problem.contains(HAS_PARTITIONS) && problem.contains(NOT_EMPTY), "{problem}");
        for name in ["a", "b"] {
            assert_eq!(choose(&host, 50, Some(name)).map(|disk| disk.id.as_str()), Ok(name));
        }
    }

    #[test]
    fn a_name_does_not_help_a_disk_that_is_in_use_or_too_small() {
        let mounted = "a file system on it is mounted";
        let host = inventory(vec![disk("a", 100, &[mounted, HAS_PARTITIONS]), disk("b", 10, &[])]);
        for (name, words) in [("a", mounted), ("b", "at least"), ("c", "no disk c")] {
            let problem = choose(&host, 50, Some(name)).unwrap_err().to_string();
            assert!(problem.contains(words) && !problem.contains(HAS_PARTITIONS), "{problem}");
        }
        assert!(choose(&inventory(Vec::new()), 50, None).unwrap_err().to_string().contains("it has none"));
    }
}
