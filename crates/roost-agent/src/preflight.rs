//! Whether a host can become a node: pure checks of an [`Inventory`], each with what was measured, what is wanted and
//! what to do.

use std::fmt;

use serde::Serialize;

use crate::inventory::{ControlGroups, Feature, Inventory, Part, Presence, Purpose, Reached};
use crate::node_name;
use crate::software;

/// The kubelet's API, its health check and kube-proxy's health check.
pub const PORTS: [u16; 3] = [10248, 10250, 10256];
/// What the kubelet and a runtime need before the first pod.
const LEAST_MEMORY: u64 = 900 << 20;
/// With less, pods of the size that people expect do not fit.
const GOOD_MEMORY: u64 = 1900 << 20;
/// With less, images of a few pods fill the disk.
const GOOD_DISK: u64 = 10 << 30;
/// With less, the kubelet begins to evict at once.
const LEAST_DISK: u64 = 2 << 30;
/// Certificates are valid from a few minutes before they were made.
const MOST_CLOCK_SECONDS: i64 = 60;
/// The oldest systemd with all unit settings that are used.
const LEAST_SYSTEMD: u32 = 239;

/// What the payload allows that is refused otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectations {
    /// The kubelet accepts swap.
    pub swap_allowed: bool,
    /// The kubelet accepts cgroup v1.
    pub cgroup_v1_allowed: bool,
    /// The node's name, where it is not the host's.
    pub node_name: Option<String>,
    /// Packages are installed by someone else.
    pub no_packages: bool,
    /// Checks that do not stop the join, by name.
    pub waived: Vec<String>,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// As wanted.
    Passed,
    /// Not as wanted, but a node is possible.
    Warned,
    /// Not as wanted, and somebody decided that it does not matter here.
    Waived,
    /// No node is possible.
    Failed,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its name, by which it can be waived.
    pub name: &'static str,
    /// How it ended.
    pub outcome: Outcome,
    /// What was found.
    pub measured: String,
    /// What should have been.
    pub wanted: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// All checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// In the order in which they are read.
    pub checks: Vec<Check>,
}

impl Report {
    /// Whether nothing stands against joining.
    pub fn can_join(&self) -> bool {
        self.checks.iter().all(|check| check.outcome != Outcome::Failed)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for check in &self.checks {
            let word = match check.outcome {
                Outcome::Passed => "ok",
                Outcome::Warned => "warning",
                Outcome::Waived => "waived",
                Outcome::Failed => "FAILED",
            };
            writeln!(formatter, "{word:<8} {:<14} {} (wanted: {})", check.name, check.measured, check.wanted)?;
            if let Some(fix) = &check.fix {
                writeln!(formatter, "{:<8} {:<14} fix: {fix}", "", "")?;
            }
        }
        Ok(())
    }
}

/// Judges the host.
pub fn judge(inventory: &Inventory, expectations: &Expectations) -> Report {
    let mut checks = vec![
        system(inventory, expectations),
        architecture(inventory),
        systemd(inventory),
        processors(inventory),
        memory(inventory),
    ];
    checks.extend(disks(inventory));
    checks.extend([swap(inventory, expectations), control_groups(inventory, expectations)]);
    checks.extend(features(inventory));
    checks.extend([name(inventory, expectations), addresses(inventory), ports(inventory), firewall(inventory)]);
    checks.extend(existing(inventory));
    checks.extend(inventory.endpoints.iter().map(endpoint));
    checks.extend(clock(inventory));
    for check in &mut checks {
        if check.outcome == Outcome::Failed && expectations.waived.iter().any(|waived| waived == check.name) {
            check.outcome = Outcome::Waived;
        }
    }
    Report { checks }
}

fn check(
    name: &'static str,
    outcome: Outcome,
    measured: impl Into<String>,
    wanted: impl Into<String>,
    fix: &str,
) -> Check {
    let fix = (outcome != Outcome::Passed).then(|| fix.to_owned());
    Check { name, outcome, measured: measured.into(), wanted: wanted.into(), fix }
}

fn passed_or(worse: Outcome, holds: bool) -> Outcome {
    if holds { Outcome::Passed } else { worse }
}

fn system(inventory: &Inventory, expectations: &Expectations) -> Check {
    let wanted = "RHEL, CentOS Stream, Rocky, Alma 8 to 10, Fedora, Debian 12 or 13, Ubuntu 22.04 or 24.04";
    let Some(release) = &inventory.system else {
        return check("os", Outcome::Failed, "no os-release", wanted, "run hcp-agent on the host, not in a container");
    };
    let asked = software::Wanted {
        runtime: software::Runtime::Containerd,
        kubelet: software::KubeletSource::Payload,
        kubernetes_minor: 0,
        kernel: &inventory.kernel,
    };
    match software::plan(release, &asked) {
        Ok(_) => check("os", Outcome::Passed, release.to_string(), wanted, ""),
        Err(software::UnknownSystem::Image { .. }) => check(
            "os",
            Outcome::Failed,
            release.to_string(),
            wanted,
            "boot it with the output of `hcp create userdata --format ignition` instead",
        ),
        Err(_) => {
            let outcome = if expectations.no_packages { Outcome::Warned } else { Outcome::Failed };
            let fix = "install a container runtime by hand and join with --no-packages";
            check("os", outcome, release.to_string(), wanted, fix)
        }
    }
}

fn architecture(inventory: &Inventory) -> Check {
    let known = matches!(inventory.architecture.as_str(), "x86_64" | "aarch64");
    let fix = "use a host with one of these processors";
    check("architecture", passed_or(Outcome::Failed, known), &inventory.architecture, "x86_64 or aarch64", fix)
}

fn systemd(inventory: &Inventory) -> Check {
    let wanted = format!("systemd {LEAST_SYSTEMD} or later as process 1");
    match inventory.systemd {
        Some(version) => {
            let outcome = passed_or(Outcome::Failed, version >= LEAST_SYSTEMD);
            check("systemd", outcome, format!("systemd {version}"), wanted, "upgrade the host's operating system")
        }
        None => check(
            "systemd",
            Outcome::Failed,
            "systemd does not run here",
            wanted,
            "run hcp-agent on a host that systemd has booted, not in a container or chroot",
        ),
    }
}

fn processors(inventory: &Inventory) -> Check {
    let count = inventory.processors;
    let outcome = match count {
        0 => Outcome::Failed,
        1 => Outcome::Warned,
        _ => Outcome::Passed,
    };
    check("cpu", outcome, format!("{count}"), "2 or more", "give the machine another processor")
}

fn memory(inventory: &Inventory) -> Check {
    let outcome = match inventory.memory {
        ..LEAST_MEMORY => Outcome::Failed,
        LEAST_MEMORY..GOOD_MEMORY => Outcome::Warned,
        _ => Outcome::Passed,
    };
    check("memory", outcome, size(inventory.memory), "2 GiB or more", "give the machine more memory")
}

fn disks(inventory: &Inventory) -> impl Iterator<Item = Check> + '_ {
    inventory.disks.iter().map(|disk| {
        let outcome = match disk.free {
            ..LEAST_DISK => Outcome::Failed,
            LEAST_DISK..GOOD_DISK => Outcome::Warned,
            _ => Outcome::Passed,
        };
        let measured = format!("{} free under {}", size(disk.free), disk.path);
        let fix = format!("free some room, or mount a larger disk on {}", disk.path);
        check("disk", outcome, measured, "10 GiB free or more", &fix)
    })
}

fn swap(inventory: &Inventory, expectations: &Expectations) -> Check {
    let measured = if inventory.swap == 0 { "none".to_owned() } else { size(inventory.swap) };
    let holds = inventory.swap == 0 || expectations.swap_allowed;
    let wanted = if expectations.swap_allowed { "none, or any: the pool allows it" } else { "none" };
    let fix = "run `swapoff -a` and take the swap lines out of /etc/fstab (Fedora: `dnf remove zram-generator-defaults`), or set failSwapOn: false in the pool's KubeletConfig";
    check("swap", passed_or(Outcome::Failed, holds), measured, wanted, fix)
}

fn control_groups(inventory: &Inventory, expectations: &Expectations) -> Check {
    let fix = "boot with systemd.unified_cgroup_hierarchy=1 (`grubby --update-kernel=ALL --args=…`, or GRUB_CMDLINE_LINUX in /etc/default/grub), or set failCgroupV1: false in the pool's KubeletConfig";
    match inventory.control_groups {
        ControlGroups::V2 => check("cgroup", Outcome::Passed, "v2", "v2", fix),
        ControlGroups::V1 => {
            let outcome = if expectations.cgroup_v1_allowed { Outcome::Warned } else { Outcome::Failed };
            check("cgroup", outcome, "v1", "v2", fix)
        }
        ControlGroups::None => check("cgroup", Outcome::Failed, "none mounted", "v2", fix),
    }
}

fn features(inventory: &Inventory) -> impl Iterator<Item = Check> + '_ {
    Feature::ALL.into_iter().map(|feature| {
        let presence = inventory.features.get(&feature).copied().unwrap_or(Presence::Unknown);
        let (outcome, measured) = match presence {
            Presence::Present => (Outcome::Passed, format!("{} is there", feature.module())),
            Presence::Absent => (Outcome::Failed, format!("kernel {} has no {}", inventory.kernel, feature.module())),
            Presence::Unknown => (Outcome::Warned, format!("{} was not found", feature.module())),
        };
        let fix = format!(
            "run `modprobe {}`; RHEL 10 has it in kernel-modules-extra-$(uname -r); after a kernel upgrade, boot the new kernel first",
            feature.module()
        );
        check("kernel", outcome, measured, feature.module(), &fix)
    })
}

fn name(inventory: &Inventory, expectations: &Expectations) -> Check {
    let name = expectations.node_name.as_deref().unwrap_or(&inventory.host_name);
    let wanted = "a name of lower-case letters, digits, '-' and '.', not localhost";
    let outcome = passed_or(Outcome::Failed, node_name::is_valid(name));
    check(
        "name",
        outcome,
        format!("{name:?}"),
        wanted,
        "run `hostnamectl set-hostname NAME`, or join with --node-name NAME",
    )
}

fn addresses(inventory: &Inventory) -> Check {
    let list = inventory.addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let outcome = passed_or(Outcome::Failed, !inventory.addresses.is_empty());
    let measured = if list.is_empty() { "none".to_owned() } else { list };
    check("address", outcome, measured, "an address besides loopback", "configure the host's network")
}

fn ports(inventory: &Inventory) -> Check {
    let taken: Vec<String> =
        PORTS.iter().filter(|port| inventory.listening.contains(port)).map(ToString::to_string).collect();
    let wanted = "10248, 10250 and 10256 free";
    if taken.is_empty() || inventory.joined {
        return check("ports", Outcome::Passed, "free, or used by this node", wanted, "");
    }
    let fix = format!("`ss -ltnp 'sport = :{}'` names the process that has to stop", taken[0]);
    check("ports", Outcome::Failed, format!("in use: {}", taken.join(", ")), wanted, &fix)
}

fn firewall(inventory: &Inventory) -> Check {
    let outcome = passed_or(Outcome::Warned, inventory.firewalls.is_empty());
    let measured = if inventory.firewalls.is_empty() { "none".to_owned() } else { inventory.firewalls.join(", ") };
    let fix = "open TCP 10250 to the control plane: `firewall-cmd --permanent --add-port=10250/tcp && firewall-cmd --reload`, or `ufw allow 10250/tcp`";
    check("firewall", outcome, measured, "TCP 10250 open to the control plane", fix)
}

fn existing(inventory: &Inventory) -> Vec<Check> {
    if inventory.joined {
        return vec![check("existing", Outcome::Passed, "joined by hcp-agent", "no other node software", "")];
    }
    let wanted = "no node software, or only a container runtime";
    let mut checks: Vec<Check> = inventory
        .existing
        .iter()
        .map(|existing| match existing.part {
            Part::Membership => check(
                "existing",
                Outcome::Failed,
                format!("{} belongs to another cluster", existing.path),
                wanted,
                "take the host out of that cluster first (`kubeadm reset`, `k3s-uninstall.sh`), or remove the path",
            ),
            Part::Kubelet => check(
                "existing",
                Outcome::Warned,
                format!("{} is there", existing.path),
                wanted,
                "nothing: the payload's kubelet is used while the host is joined",
            ),
            Part::Runtime => check(
                "existing",
                Outcome::Warned,
                format!("{} is there", existing.path),
                wanted,
                "nothing: it is configured for the node, and `hcp-agent leave` puts its configuration back",
            ),
        })
        .collect();
    if checks.is_empty() {
        checks.push(check("existing", Outcome::Passed, "none", wanted, ""));
    }
    checks
}

fn endpoint(endpoint: &crate::inventory::Endpoint) -> Check {
    let name = match endpoint.purpose {
        Purpose::Api => "api",
        Purpose::Ignition => "ignition",
    };
    let wanted = format!("{} answers with a trusted certificate", endpoint.purpose);
    match &endpoint.outcome {
        Reached::Answered { .. } => check(name, Outcome::Passed, format!("{} answered", endpoint.address), wanted, ""),
        Reached::Failed(reason) => {
            let measured = format!("{}: {reason}", endpoint.address);
            let fix = format!("look at the route, DNS, firewall and CA between this host and {}", endpoint.address);
            check(name, Outcome::Failed, measured, wanted, &fix)
        }
    }
}

fn clock(inventory: &Inventory) -> Option<Check> {
    let ahead = inventory.endpoints.iter().find_map(|endpoint| match endpoint.outcome {
        Reached::Answered { clock_ahead } => clock_ahead,
        Reached::Failed(_) => None,
    })?;
    let measured = match ahead {
        0 => "as the server's".to_owned(),
        1.. => format!("{ahead} s ahead of the server's"),
        _ => format!("{} s behind the server's", -ahead),
    };
    let outcome = passed_or(Outcome::Failed, ahead.abs() <= MOST_CLOCK_SECONDS);
    let wanted = format!("within {MOST_CLOCK_SECONDS} s of the server's");
    Some(check("clock", outcome, measured, wanted, "run `timedatectl set-ntp true`, or set the clock by hand"))
}

fn size(bytes: u64) -> String {
    if bytes >= 1 << 30 {
        format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
    } else {
        format!("{} MiB", bytes >> 20)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::{Expectations, Outcome, judge};
    use crate::inventory::{
        ControlGroups, Disk, Endpoint, Existing, Feature, Inventory, Part, Presence, Purpose, Reached,
    };
    use crate::os_release::OsRelease;

    fn good() -> Inventory {
        Inventory {
            system: Some(OsRelease::parse(
                "ID=debian\nVERSION_ID=12\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
            )),
            architecture: "x86_64".to_owned(),
            kernel: "6.1.0".to_owned(),
            systemd: Some(252),
            processors: 2,
            memory: 4 << 30,
            swap: 0,
            disks: vec![Disk { path: "/var/lib".to_owned(), free: 20 << 30 }],
            control_groups: ControlGroups::V2,
            features: Feature::ALL.into_iter().map(|feature| (feature, Presence::Present)).collect(),
            host_name: "worker-1".to_owned(),
            identity: "id".to_owned(),
            addresses: vec![IpAddr::V4(Ipv4Addr::new(10, 0, 0, 5))],
            endpoints: vec![Endpoint {
                purpose: Purpose::Api,
                address: "api.example:6443".to_owned(),
                outcome: Reached::Answered { clock_ahead: Some(0) },
            }],
            ..Inventory::default()
        }
    }

    #[test]
    fn a_good_host_passes_everything() {
        let report = judge(&good(), &Expectations::default());
        assert!(report.checks.iter().all(|check| check.outcome == Outcome::Passed), "{report}");
        assert!(report.checks.iter().all(|check| check.fix.is_none()));
        assert!(report.can_join());
    }

    type Spoil = fn(&mut Inventory);

    #[test]
    fn each_fault_is_found_by_its_check_and_has_a_fix() {
        let cases: &[(&str, Outcome, Spoil)] = &[
            ("os", Outcome::Failed, |host| host.system = None),
            ("os", Outcome::Failed, |host| host.system = Some(OsRelease::parse("ID=alpine\nVERSION_ID=3\n"))),
            ("os", Outcome::Failed, |host| host.system = Some(OsRelease::parse("ID=fedora\nVARIANT_ID=coreos\n"))),
            ("architecture", Outcome::Failed, |host| host.architecture = "riscv64".to_owned()),
            ("systemd", Outcome::Failed, |host| host.systemd = None),
            ("systemd", Outcome::Failed, |host| host.systemd = Some(219)),
            ("cpu", Outcome::Warned, |host| host.processors = 1),
            ("memory", Outcome::Failed, |host| host.memory = 512 << 20),
            ("memory", Outcome::Warned, |host| host.memory = 1 << 30),
            ("disk", Outcome::Failed, |host| host.disks[0].free = 1 << 30),
            ("disk", Outcome::Warned, |host| host.disks[0].free = 5 << 30),
            ("swap", Outcome::Failed, |host| host.swap = 1 << 30),
            ("cgroup", Outcome::Failed, |host| host.control_groups = ControlGroups::V1),
            ("cgroup", Outcome::Failed, |host| host.control_groups = ControlGroups::None),
            ("kernel", Outcome::Failed, |host| {
                host.features.insert(Feature::BridgeFilter, Presence::Absent);
            }),
            ("kernel", Outcome::Warned, |host| {
                host.features.remove(&Feature::NfTables);
            }),
            ("name", Outcome::Failed, |host| host.host_name = "localhost".to_owned()),
            ("name", Outcome::Failed, |host| host.host_name = "Worker_1".to_owned()),
            ("address", Outcome::Failed, |host| host.addresses.clear()),
            ("ports", Outcome::Failed, |host| {
                host.listening.insert(10250);
            }),
            ("firewall", Outcome::Warned, |host| host.firewalls.push("firewalld".to_owned())),
            ("existing", Outcome::Failed, |host| {
                host.existing
                    .push(Existing { part: Part::Membership, path: "/etc/kubernetes/kubelet.conf".to_owned() });
            }),
            ("existing", Outcome::Warned, |host| {
                host.existing.push(Existing { part: Part::Runtime, path: "/usr/bin/containerd".to_owned() });
            }),
            ("api", Outcome::Failed, |host| {
                host.endpoints[0].outcome = Reached::Failed("no route to host".to_owned());
            }),
            ("clock", Outcome::Failed, |host| {
                host.endpoints[0].outcome = Reached::Answered { clock_ahead: Some(-3600) };
            }),
        ];
        for (name, outcome, spoil) in cases {
            let mut host = good();
            spoil(&mut host);
            let report = judge(&host, &Expectations::default());
            let faults: Vec<_> = report.checks.iter().filter(|check| check.outcome != Outcome::Passed).collect();
            assert_eq!(faults.len(), 1, "{name}: {report}");
            assert_eq!((faults[0].name, faults[0].outcome), (*name, *outcome), "{report}");
            assert!(faults[0].fix.as_ref().is_some_and(|fix| !fix.is_empty()), "{name} has no fix");
            assert_eq!(report.can_join(), *outcome != Outcome::Failed);
        }
    }

    #[test]
    fn what_the_pool_allows_does_not_fail() {
        let mut host = good();
        host.swap = 1 << 30;
        host.control_groups = ControlGroups::V1;
        host.host_name = "localhost".to_owned();
        let expectations = Expectations {
            swap_allowed: true,
            cgroup_v1_allowed: true,
            node_name: Some("worker-7".to_owned()),
            ..Expectations::default()
        };
        let report = judge(&host, &expectations);
        assert!(report.can_join(), "{report}");
    }

    #[test]
    fn a_waived_check_is_shown_and_does_not_stop_the_join() {
        let mut host = good();
        host.memory = 512 << 20;
        let expectations = Expectations { waived: vec!["memory".to_owned()], ..Expectations::default() };
        let report = judge(&host, &expectations);
        assert!(report.can_join());
        assert!(report.to_string().contains("waived   memory"), "{report}");
    }

    #[test]
    fn a_joined_host_is_not_in_its_own_way() {
        let mut host = good();
        host.joined = true;
        host.listening.extend([10248, 10250]);
        host.existing.push(Existing { part: Part::Membership, path: "/etc/kubernetes/kubelet.conf".to_owned() });
        assert!(judge(&host, &Expectations::default()).can_join());
    }
}
