//! Whether a host can be used: each check with what was measured, what is wanted and what to do.
//!
//! The ids are upstream's. For workers of hosted clusters there is no mesh to belong to: a host in another subnet is as
//! good as any, so the checks that ask for layer-2 neighbours pass without being measured, and how other hosts are reached
//! is shown only, unless a NodePool requires it.

mod hardware;
mod network;
mod surroundings;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::SignedDuration;
use roost_api::agent_install::validation::{NEVER_IGNORED, category};
use roost_api::agent_install::{Inventory, ValidationResult, ValidationStatus};

pub use surroundings::{NeededName, Purpose, Surroundings};

/// The id of the check that no other host uses this host's identity. Ours: upstream lets such hosts overwrite each other.
pub const IDENTITY_UNIQUE: &str = "identity-unique";

/// The least that a worker has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirements {
    /// Processors.
    pub processors: i64,
    /// Memory.
    pub mebibytes: i64,
    /// The disk that is written, in billions of bytes.
    pub disk_gigabytes: i64,
}

impl Requirements {
    /// The least for a worker. Upstream's values.
    pub const WORKER: Self = Self { processors: 2, mebibytes: 8192, disk_gigabytes: 100 };
}

/// What is known of a host.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// Whether it belongs to a cluster.
    pub is_bound: bool,
    /// Whether it asked for instructions lately.
    pub is_connected: bool,
    /// Whether the medium that it runs from could not be read.
    pub is_media_lost: bool,
    /// What it consists of.
    pub inventory: Option<&'a Inventory>,
    /// `partial` or `full` when something of that is missing.
    pub truncation: &'a str,
    /// Whether packets for the world leave it; unknown before the first inventory.
    pub has_default_route: Option<bool>,
    /// How far its clock is ahead of ours.
    pub clock_ahead: Option<SignedDuration>,
    /// How many time servers it knows, and how many of them it follows; unknown until it said so.
    pub time_servers: Option<(usize, usize)>,
    /// The name that it will have as a node.
    pub hostname: &'a str,
    /// Another host of the same cluster with that name.
    pub hostname_twin: Option<&'a str>,
    /// What is known of another machine that uses this host's identity.
    pub identity_twin: Option<&'a str>,
    /// Whether it reached its configuration, and what it said; unknown until it tried.
    pub reach: Option<(bool, &'a str)>,
    /// Whether its agent tells us whether it reached its configuration.
    pub tells_reach: bool,
    /// How it reaches other hosts.
    pub surroundings: Surroundings<'a>,
    /// The names that lead to its cluster.
    pub names: &'a [NeededName],
    /// What was measured as its disk, and how long a write to it takes to be safe, or why that is not known.
    pub disk_sync: Option<(&'a str, Result<Duration, &'a str>)>,
    /// The disk that a person chose.
    pub chosen_disk: Option<&'a str>,
    /// The least that it has to have.
    pub requirements: Requirements,
    /// Checks that do not matter for this host, and who said so.
    pub waived: &'a BTreeMap<String, String>,
    /// Checks that have to pass although a host can be used without, and who said so.
    pub required: &'a BTreeMap<String, String>,
}

/// What came of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// `network` or `hardware`.
    pub category: &'static str,
    /// Which check.
    pub id: &'static str,
    /// How it ended.
    pub status: ValidationStatus,
    /// What was measured, what is wanted and what to do.
    pub message: String,
    /// Whether the host cannot be used when it fails.
    pub is_gate: bool,
}

/// What came of all checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report(pub Vec<Finding>);

impl Report {
    /// Checks a host.
    pub fn of(facts: &Facts<'_>) -> Self {
        let mut findings = network::findings(facts);
        findings.extend(surroundings::findings(facts));
        findings.extend(hardware::findings(facts));
        for finding in &mut findings {
            if let Some(who) = facts.required.get(finding.id).filter(|_| !finding.is_gate) {
                finding.is_gate = true;
                if finding.status != ValidationStatus::Success {
                    finding.message = format!("{} (required by {who})", finding.message);
                }
            }
            let waiver = facts.waived.get(finding.id).or_else(|| facts.waived.get("all"));
            if let Some(who) = waiver.filter(|_| !NEVER_IGNORED.contains(&finding.id))
                && finding.status != ValidationStatus::Success
            {
                finding.message = format!("waived by {who}; otherwise: {}", finding.message);
                finding.status = ValidationStatus::Disabled;
            }
        }
        Self(findings)
    }

    /// What keeps the host from being used, in one line; empty when nothing does.
    pub fn problems(&self) -> String {
        let failed = self.0.iter().filter(|finding| finding.is_gate && is_failed(finding));
        failed.map(|finding| finding.message.as_str()).collect::<Vec<_>>().join("; ")
    }

    /// What of that is not about the connection: a host that is away is not insufficient.
    pub fn lacks(&self) -> String {
        let failed = self.0.iter().filter(|finding| {
            finding.is_gate
                && is_failed(finding)
                && finding.id != roost_api::agent_install::validation::network::CONNECTED
                && finding.id != roost_api::agent_install::validation::hardware::HAS_INVENTORY
        });
        failed.map(|finding| finding.message.as_str()).collect::<Vec<_>>().join("; ")
    }

    /// The checks that were waived and would have failed.
    pub fn waived(&self) -> Vec<&'static str> {
        let waived = self.0.iter().filter(|finding| finding.status == ValidationStatus::Disabled);
        waived.map(|finding| finding.id).collect()
    }

    /// As an Agent's status shows it.
    pub fn to_status(&self) -> BTreeMap<String, Vec<ValidationResult>> {
        let mut all: BTreeMap<String, Vec<ValidationResult>> = BTreeMap::new();
        for finding in &self.0 {
            all.entry(finding.category.to_owned()).or_default().push(ValidationResult {
                id: finding.id.to_owned(),
                status: finding.status.clone(),
                message: finding.message.clone(),
            });
        }
        all
    }
}

fn is_failed(finding: &Finding) -> bool {
    matches!(finding.status, ValidationStatus::Failure | ValidationStatus::Pending | ValidationStatus::Error)
}

/// Reads a list of checks, such as `has-min-memory,ntp-synced`, or a JSON list of them.
pub fn checks(text: &str) -> BTreeSet<String> {
    if let Ok(list) = serde_json::from_str::<Vec<String>>(text) {
        return list.into_iter().take(MAX_CHECKS).collect();
    }
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.take(MAX_CHECKS).map(str::to_owned).collect()
}

/// More checks than there are cannot be named.
const MAX_CHECKS: usize = 256;

/// A check that is being put together.
struct Check {
    category: &'static str,
    id: &'static str,
    is_gate: bool,
}

impl Check {
    const fn network(id: &'static str) -> Self {
        Self { category: category::NETWORK, id, is_gate: true }
    }

    const fn hardware(id: &'static str) -> Self {
        Self { category: category::HARDWARE, id, is_gate: true }
    }

    const fn informative(mut self) -> Self {
        self.is_gate = false;
        self
    }

    fn finding(self, status: ValidationStatus, message: impl Into<String>) -> Finding {
        Finding { category: self.category, id: self.id, status, message: message.into(), is_gate: self.is_gate }
    }

    fn pass(self, message: impl Into<String>) -> Finding {
        self.finding(ValidationStatus::Success, message)
    }

    fn fail(self, message: impl Into<String>) -> Finding {
        self.finding(ValidationStatus::Failure, message)
    }

    fn wait(self, message: impl Into<String>) -> Finding {
        self.finding(ValidationStatus::Pending, message)
    }
}

#[cfg(test)]
mod tests {
    use roost_api::agent_install::validation::{hardware, network};

    use super::*;
    use crate::inventory;
    use crate::measurement::Reachability;

    fn inventory(text: &str) -> Inventory {
        inventory::Inventory::parse(text).unwrap().to_status()
    }

    fn good() -> Inventory {
        inventory(
            r#"{"hostname":"node-1","cpu":{"count":4,"architecture":"x86_64"},"memory":{"physical_bytes":17179869184,"usable_bytes":17000000000},
            "disks":[{"id":"/dev/disk/by-id/wwn-1","drive_type":"SSD","size_bytes":120000000000,"installation_eligibility":{"eligible":true}}],
            "interfaces":[{"name":"eth0","mac_address":"52:54:00:00:00:01","ipv4_addresses":["192.0.2.10/24"]}]}"#,
        )
    }

    fn facts<'a>(inventory: Option<&'a Inventory>, waived: &'a BTreeMap<String, String>) -> Facts<'a> {
        Facts {
            is_bound: true,
            is_connected: true,
            is_media_lost: false,
            inventory,
            truncation: "",
            has_default_route: Some(true),
            clock_ahead: Some(SignedDuration::ZERO),
            time_servers: Some((1, 1)),
            hostname: "node-1",
            hostname_twin: None,
            identity_twin: None,
            reach: Some((true, "")),
            tells_reach: true,
            surroundings: Surroundings::Alone,
            names: &[],
            disk_sync: None,
            chosen_disk: None,
            requirements: Requirements::WORKER,
            waived,
            required: &NOTHING,
        }
    }

    static NOTHING: BTreeMap<String, String> = BTreeMap::new();

    fn finding(facts: &Facts<'_>, id: &str) -> Finding {
        let found = Report::of(facts).0.into_iter().find(|finding| finding.id == id);
        found.unwrap_or_else(|| panic!("{id} is not checked"))
    }

    #[test]
    fn a_host_that_reaches_no_other_is_used_unless_its_pool_requires_it() {
        let (good, none) = (good(), BTreeMap::new());
        let one = "770980f8-07d0-4824-899c-0da82a7555a5".to_owned();
        let cut = Reachability { asked: 1, missed: vec![one.clone()], ..Reachability::default() };
        let base = Facts { surroundings: Surroundings::Measured(&cut), ..facts(Some(&good), &none) };
        let all = [network::BELONGS_TO_MAJORITY_GROUP, network::SUFFICIENT_LATENCY, network::SUFFICIENT_PACKET_LOSS];
        assert_eq!(failed(&base), Vec::<&str>::new());
        for id in all {
            assert_eq!(finding(&base, id).status, ValidationStatus::Failure);
            let required = BTreeMap::from([(id.to_owned(), "the NodePool p".to_owned())]);
            let asked = Facts { required: &required, ..base.clone() };
            assert_eq!(failed(&asked), [id]);
            assert!(finding(&asked, id).message.contains("required by the NodePool p"));
            assert_eq!(failed(&Facts { surroundings: Surroundings::Unmeasured, ..asked.clone() }), [id]);
            assert_eq!(failed(&Facts { surroundings: Surroundings::Alone, ..asked }), Vec::<&str>::new());
        }
        let slow = Reachability {
            asked: 1,
            slowest: Some((1_500_000, one.clone())),
            worst_loss: Some((30, one)),
            ..Reachability::default()
        };
        let slow = Facts { surroundings: Surroundings::Measured(&slow), ..base };
        assert_eq!(finding(&slow, all[0]).status, ValidationStatus::Success);
        for (id, words) in [(all[1], ["1500.0 ms", "1000.0 ms"]), (all[2], ["30%", "10%"])] {
            let message = finding(&slow, id).message;
            assert!(words.iter().all(|word| message.contains(word)), "{message}");
        }
    }

    #[test]
    fn a_host_needs_the_names_that_lead_to_its_cluster() {
        let (good, none) = (good(), BTreeMap::new());
        let check = |purpose: Purpose, name: &str, addresses: Option<&[&str]>| {
            let addresses = addresses.map(|list| list.iter().map(|&text| text.to_owned()).collect());
            let names = [NeededName { purpose, name: name.to_owned(), addresses }];
            failed(&Facts { names: &names, ..facts(Some(&good), &none) })
        };
        let nothing = Vec::<&str>::new();
        assert_eq!(check(Purpose::Api, "192.0.2.1", None), nothing);
        assert_eq!(check(Purpose::Api, "[2001:db8::1]", None), nothing);
        assert_eq!(check(Purpose::Api, "api.example.test", Some(&["192.0.2.1"])), nothing);
        assert_eq!(check(Purpose::Api, "api.example.test", None), [network::API_NAME_RESOLVES]);
        assert_eq!(check(Purpose::Api, "api.example.test", Some(&[])), [network::API_NAME_RESOLVES]);
        assert_eq!(
            check(Purpose::Api, "api.example.test", Some(&["192.0.2.10"])),
            [network::API_NAME_RESOLVES],
            "its own"
        );
        let configuration = check(Purpose::Configuration, "ignition.example.test", Some(&[]));
        assert_eq!(configuration, [network::INTERNAL_API_NAME_RESOLVES]);
        assert_eq!(check(Purpose::Applications, "x.apps.example.test", Some(&[])), nothing, "no node needs it");
    }

    #[test]
    fn a_slow_disk_is_shown_and_a_broken_one_is_not_used() {
        let (good, none) = (good(), BTreeMap::new());
        let id = hardware::INSTALLATION_DISK_SPEED;
        let with = |disk_sync| Facts { disk_sync, ..facts(Some(&good), &none) };
        let slow = with(Some(("/dev/sda", Ok(Duration::from_millis(25)))));
        assert_eq!(failed(&slow), Vec::<&str>::new());
        let shown = finding(&slow, id);
        assert_eq!(shown.status, ValidationStatus::Failure);
        assert!(shown.message.contains("25 ms") && shown.message.contains("10 ms"), "{}", shown.message);
        assert_eq!(
            finding(&with(Some(("/dev/sda", Ok(Duration::from_millis(10))))), id).status,
            ValidationStatus::Success
        );
        assert_eq!(failed(&with(Some(("/dev/sda", Err("input/output error"))))), [id]);
        let required = BTreeMap::from([(id.to_owned(), "the NodePool p".to_owned())]);
        assert_eq!(failed(&Facts { required: &required, ..slow }), [id]);
        assert_eq!(failed(&Facts { required: &required, ..with(None) }), [id]);
    }

    fn failed(facts: &Facts<'_>) -> Vec<&'static str> {
        Report::of(facts).0.iter().filter(|finding| finding.is_gate && is_failed(finding)).map(|f| f.id).collect()
    }

    #[test]
    fn a_good_host_passes_and_every_fault_is_named_by_its_check() {
        let (good, none) = (good(), BTreeMap::new());
        let base = facts(Some(&good), &none);
        assert_eq!(failed(&base), Vec::<&str>::new(), "{:?}", Report::of(&base));
        let hour = SignedDuration::from_hours(1);
        let cases: Vec<(Facts<'_>, &str)> = vec![
            (Facts { is_connected: false, ..base.clone() }, network::CONNECTED),
            (Facts { is_media_lost: true, ..base.clone() }, network::MEDIA_CONNECTED),
            (Facts { has_default_route: Some(false), ..base.clone() }, network::HAS_DEFAULT_ROUTE),
            (Facts { clock_ahead: Some(hour), ..base.clone() }, network::TIME_SYNCED),
            (Facts { clock_ahead: Some(-SignedDuration::from_mins(21)), ..base.clone() }, network::TIME_SYNCED),
            (Facts { reach: Some((false, "refused")), ..base.clone() }, network::IGNITION_DOWNLOADABLE),
            (Facts { reach: None, ..base.clone() }, network::IGNITION_DOWNLOADABLE),
            (Facts { truncation: "full", ..base.clone() }, hardware::INVENTORY_NOT_FULLY_TRUNCATED),
            (Facts { hostname: "localhost", ..base.clone() }, hardware::HOSTNAME_VALID),
            (Facts { hostname: "Node", ..base.clone() }, hardware::HOSTNAME_VALID),
            (Facts { hostname_twin: Some("other"), ..base.clone() }, hardware::HOSTNAME_UNIQUE),
            (Facts { identity_twin: Some("another machine"), ..base.clone() }, IDENTITY_UNIQUE),
            (Facts { chosen_disk: Some("/dev/sdz"), ..base.clone() }, hardware::NO_SKIP_MISSING_DISK),
        ];
        for (facts, id) in cases {
            assert_eq!(failed(&facts), [id]);
        }
        assert_eq!(failed(&Facts { reach: None, tells_reach: false, ..base.clone() }), Vec::<&str>::new());
        let missing = failed(&Facts { inventory: None, ..base });
        assert!(missing.contains(&hardware::HAS_INVENTORY));
    }

    #[test]
    fn a_small_host_is_told_what_it_lacks() {
        let small = inventory(
            r#"{"hostname":"node-1","cpu":{"count":1},"memory":{"physical_bytes":1073741824},
            "disks":[{"id":"a","drive_type":"HDD","size_bytes":10000000000,"installation_eligibility":{"eligible":true}}]}"#,
        );
        let none = BTreeMap::new();
        let report = Report::of(&facts(Some(&small), &none));
        let problems = report.problems();
        for words in ["1 processor", "at least 2", "1024 MiB", "8192 MiB", "10 GB", "100 GB"] {
            assert!(problems.contains(words), "{words} in {problems}");
        }
        let all = ["has-min-cpu-cores", "has-min-memory", "has-min-valid-disks", "has-cpu-cores-for-role"];
        let waived: BTreeMap<String, String> =
            all.iter().chain(&["has-memory-for-role"]).map(|&id| (id.to_owned(), "the NodePool".to_owned())).collect();
        let report = Report::of(&facts(Some(&small), &waived));
        assert_eq!(report.problems(), "");
        assert_eq!(report.waived().len(), 5);
    }

    #[test]
    fn some_checks_cannot_be_waived() {
        let (good, waived) = (good(), BTreeMap::from([("all".to_owned(), "nobody".to_owned())]));
        let base = facts(Some(&good), &waived);
        assert_eq!(failed(&Facts { is_connected: false, ..base.clone() }), [network::CONNECTED]);
        assert_eq!(failed(&Facts { has_default_route: Some(false), ..base }), Vec::<&str>::new());
        assert_eq!(checks(" a, b,,c").len(), 3);
        assert_eq!(checks(r#"["a","b"]"#).len(), 2);
    }
}
