//! Fills in an [`Inventory`] from the files of a host. Everything is read, nothing is changed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::process::Command;

use crate::https::{self, Address, Request, Trust};
use crate::inventory::{ControlGroups, Disk, Endpoint, Existing, Feature, Inventory, Part, Presence, Purpose, Reached};
use crate::os_release::OsRelease;
use crate::root::Root;

/// Paths of parts that other tools leave on hosts.
const FOREIGN: [(Part, &str); 13] = [
    (Part::Membership, "/etc/kubernetes/kubelet.conf"),
    (Part::Membership, "/etc/kubernetes/kubeconfig"),
    (Part::Membership, "/etc/kubernetes/manifests/kube-apiserver.yaml"),
    (Part::Membership, "/var/lib/kubelet/config.yaml"),
    (Part::Membership, "/var/lib/rancher/k3s/agent"),
    (Part::Membership, "/var/lib/rancher/rke2/agent"),
    (Part::Membership, "/var/snap/microk8s/current/credentials"),
    (Part::Kubelet, "/usr/bin/kubelet"),
    (Part::Kubelet, "/usr/local/bin/kubelet"),
    (Part::Runtime, "/usr/bin/containerd"),
    (Part::Runtime, "/usr/local/bin/containerd"),
    (Part::Runtime, "/usr/bin/crio"),
    (Part::Runtime, "/usr/bin/dockerd"),
];

/// Where room is needed.
const ROOMS: [&str; 3] = ["/var/lib/kubelet", "/var/lib/containerd", "/var/lib/containers"];

/// A kernel's configuration is some hundred kilobytes.
const LARGEST_CONFIGURATION: u64 = 4 << 20;

/// What the host has to reach.
#[derive(Clone, Debug)]
pub struct Target {
    /// What is served there.
    pub purpose: Purpose,
    /// Where; the path is asked for.
    pub address: Address,
    /// Whom to trust there.
    pub trust: Trust,
}

/// Looks at the host.
pub fn collect(root: &Root, targets: &[Target]) -> Inventory {
    let kernel = rustix::system::uname();
    let text = |path: &str| root.text(path).unwrap_or_default();
    let release = kernel.release().to_string_lossy().into_owned();
    let system = root.text("/etc/os-release").or_else(|| root.text("/usr/lib/os-release"));
    Inventory {
        system: system.map(|text| OsRelease::parse(&text)),
        architecture: kernel.machine().to_string_lossy().into_owned(),
        systemd: root.exists("/run/systemd/system").then(systemd_version).flatten(),
        processors: std::thread::available_parallelism().map_or(0, usize::from),
        memory: memory(&text("/proc/meminfo")),
        swap: swap(&text("/proc/swaps")),
        disks: disks(root),
        control_groups: control_groups(root),
        features: features(root, &release),
        host_name: kernel.nodename().to_string_lossy().into_owned(),
        identity: identity(root),
        addresses: addresses(&text("/proc/net/fib_trie"), &text("/proc/net/if_inet6")),
        listening: listening(&text("/proc/net/tcp")).chain(listening(&text("/proc/net/tcp6"))).collect(),
        existing: existing(root),
        firewalls: firewalls(root),
        endpoints: targets.iter().map(reach).collect(),
        joined: root.exists(crate::journal::DIRECTORY),
        kernel: release,
    }
}

fn systemd_version() -> Option<u32> {
    let output = Command::new("systemctl").arg("--version").output().ok()?;
    String::from_utf8_lossy(&output.stdout).split_whitespace().nth(1)?.parse().ok()
}

/// The total of `/proc/meminfo`, in bytes.
fn memory(text: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0).saturating_mul(1024)
}

fn swap(text: &str) -> u64 {
    let kilobytes = text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
    kilobytes.fold(0, u64::saturating_add).saturating_mul(1024)
}

/// The room under each directory, or under the nearest one above it that is there; each file system once.
fn disks(root: &Root) -> Vec<Disk> {
    let mut seen = BTreeSet::new();
    ROOMS
        .iter()
        .filter_map(|room| {
            let above = Path::new(room).ancestors().find(|path| root.exists(&path.to_string_lossy()))?;
            let path = above.to_string_lossy().into_owned();
            let state = rustix::fs::statvfs(root.at(&path)).ok()?;
            seen.insert(state.f_fsid).then(|| Disk { free: state.f_bavail.saturating_mul(state.f_frsize), path })
        })
        .collect()
}

fn control_groups(root: &Root) -> ControlGroups {
    if root.exists("/sys/fs/cgroup/cgroup.controllers") {
        ControlGroups::V2
    } else if root.exists("/sys/fs/cgroup/memory") {
        ControlGroups::V1
    } else {
        ControlGroups::None
    }
}

fn features(root: &Root, kernel: &str) -> BTreeMap<Feature, Presence> {
    let modules = format!("/lib/modules/{kernel}");
    let listed = [format!("{modules}/modules.builtin"), format!("{modules}/modules.dep")]
        .iter()
        .map(|path| root.text(path).unwrap_or_default())
        .collect::<String>();
    let loaded = root.text("/proc/modules").unwrap_or_default();
    let configuration = kernel_configuration(root, kernel);
    let presence = |feature: Feature| {
        let module = feature.module();
        let is_loaded = loaded.lines().any(|line| line.split(' ').next() == Some(module));
        let is_listed = listed.lines().any(|line| {
            let path = line.split(':').next().unwrap_or_default();
            let file = path.rsplit('/').next().unwrap_or_default();
            file.split('.').next() == Some(module)
        });
        let built_in = |value: &str| configuration.lines().any(|line| line == format!("{}={value}", feature.option()));
        if is_loaded || is_listed || built_in("y") {
            Presence::Present
        } else if listed.is_empty() && !built_in("m") && configuration.is_empty() {
            Presence::Unknown
        } else {
            Presence::Absent
        }
    };
    Feature::ALL.into_iter().map(|feature| (feature, presence(feature))).collect()
}

/// Whether the running kernel has a feature in itself, so that there is no module to load.
pub(crate) fn is_built_in(module: &str) -> bool {
    let root = Root::new(Path::new("/"));
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    let Some(feature) = Feature::ALL.into_iter().find(|feature| feature.module() == module) else { return false };
    kernel_configuration(&root, &kernel).lines().any(|line| line == format!("{}=y", feature.option()))
}

fn kernel_configuration(root: &Root, kernel: &str) -> String {
    if let Some(text) = root.text(&format!("/boot/config-{kernel}")) {
        return text;
    }
    let mut text = String::new();
    if let Ok(file) = std::fs::File::open(root.at("/proc/config.gz")) {
        let mut unpacked = flate2::read::GzDecoder::new(file).take(LARGEST_CONFIGURATION);
        if unpacked.read_to_string(&mut text).is_err() {
            text.clear();
        }
    }
    text
}

/// The firmware's identifier is a secret of root on some systems, and the same on all machines of some vendors; the
/// machine ID is neither.
fn identity(root: &Root) -> String {
    let machine = root.text("/etc/machine-id").map(|text| text.trim().to_owned());
    let firmware = root.text("/sys/class/dmi/id/product_uuid").map(|text| text.trim().to_ascii_lowercase());
    machine.filter(|text| text.len() == 32).or(firmware).unwrap_or_default()
}

/// Local addresses of the routing table, and those of the list of version 6, without loopback and link-local ones.
fn addresses(routes: &str, version_6: &str) -> Vec<IpAddr> {
    let mut found = BTreeSet::new();
    let mut last = None;
    for line in routes.lines() {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("|-- ") {
            last = rest.parse::<Ipv4Addr>().ok();
        } else if line == "/32 host LOCAL" {
            found.extend(last.filter(|address| !address.is_loopback() && !address.is_link_local()).map(IpAddr::V4));
        }
    }
    for line in version_6.lines() {
        let digits = line.split_whitespace().next().unwrap_or_default();
        let address = u128::from_str_radix(digits, 16).map(Ipv6Addr::from);
        let usable = |address: &Ipv6Addr| !address.is_loopback() && !address.is_unicast_link_local();
        found.extend(address.ok().filter(usable).map(IpAddr::V6));
    }
    found.into_iter().collect()
}

/// The ports of the sockets in state 0A of `/proc/net/tcp`.
fn listening(text: &str) -> impl Iterator<Item = u16> {
    text.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let local = fields.next()?;
        (fields.nth(1)? == "0A").then_some(())?;
        u16::from_str_radix(local.rsplit(':').next()?, 16).ok()
    })
}

fn existing(root: &Root) -> Vec<Existing> {
    let found = FOREIGN.iter().filter(|(_, path)| root.exists(path));
    found.map(|&(part, path)| Existing { part, path: path.to_owned() }).collect()
}

fn firewalls(root: &Root) -> Vec<String> {
    let mut found = Vec::new();
    if root.exists("/run/firewalld.pid") || root.exists("/run/firewalld") {
        found.push("firewalld".to_owned());
    }
    if root.text("/etc/ufw/ufw.conf").is_some_and(|text| text.lines().any(|line| line.trim() == "ENABLED=yes")) {
        found.push("ufw".to_owned());
    }
    found
}

/// Asks once, and compares the clocks.
fn reach(target: &Target) -> Endpoint {
    let request = Request { method: "GET", address: &target.address, headers: &[], body: b"", largest: 1 << 20 };
    let outcome = match https::send(&request, &target.trust, None) {
        Ok(answer) => Reached::Answered { clock_ahead: answer.header("date").and_then(seconds_ahead) },
        Err(error) => Reached::Failed(crate::words::with_causes(&error)),
    };
    Endpoint { purpose: target.purpose, address: target.address.authority(), outcome }
}

fn seconds_ahead(date: &str) -> Option<i64> {
    let server = jiff::fmt::rfc2822::parse(date).ok()?.timestamp();
    Some(jiff::Timestamp::now().as_second() - server.as_second())
}

#[cfg(test)]
mod tests {
    use super::{addresses, collect, listening, memory, swap};
    use crate::inventory::{Feature, Part, Presence};
    use crate::root::Root;

    #[test]
    fn the_tables_of_proc_are_read() {
        assert_eq!(memory("MemTotal:       24622824 kB\nMemFree: 1 kB\n"), 24_622_824 * 1024);
        assert_eq!(memory("nonsense"), 0);
        assert_eq!(swap("Filename Type Size Used Priority\n/dev/dm-1 partition 2097148 0 -2\n"), 2_097_148 * 1024);
        let sockets = "  sl  local_address rem_address   st\n   0: 00000000:280A 00000000:0000 0A 0\n   1: 0100007F:1F90 00000000:0000 01 0\n";
        assert_eq!(listening(sockets).collect::<Vec<_>>(), [10250]);
        let routes = "Main:\n  +-- 10.0.0.0/24 2 0 2\n     |-- 10.0.0.5\n        /32 host LOCAL\n     |-- 10.0.0.255\n        /32 link BROADCAST\n  |-- 127.0.0.1\n     /32 host LOCAL\n";
        let version_6 = "00000000000000000000000000000001 01 80 10 80 lo\nfd000000000000000000000000000007 02 40 00 80 eth0\nfe80000000000000000000000000000a 02 40 20 80 eth0\n";
        let found: Vec<String> = addresses(routes, version_6).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["10.0.0.5", "fd00::7"]);
    }

    #[test]
    fn a_root_directory_is_looked_at_instead_of_the_host() {
        let directory = tempfile::tempdir().unwrap();
        let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
        for (path, text) in [
            ("usr/lib/os-release", "ID=debian\nVERSION_ID=12\n".to_owned()),
            ("etc/machine-id", "0123456789abcdef0123456789abcdef\n".to_owned()),
            ("usr/bin/containerd", String::new()),
            (&format!("lib/modules/{kernel}/modules.dep"), "kernel/fs/overlayfs/overlay.ko.xz: x\n".to_owned()),
        ] {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let host = collect(&Root::new(directory.path()), &[]);
        assert_eq!(host.system.unwrap().id, "debian");
        assert_eq!(host.identity, "0123456789abcdef0123456789abcdef");
        assert_eq!(host.existing.len(), 1);
        assert_eq!(host.existing[0].part, Part::Runtime);
        assert_eq!(host.systemd, None);
        assert_eq!(host.features[&Feature::Overlay], Presence::Present);
        assert_eq!(host.features[&Feature::Veth], Presence::Absent);
        assert!(!host.joined);
    }
}
