//! Which packages, from which repositories, make a host of a given operating system a node. A pure function from the
//! text of `os-release` to a plan; nothing is installed here.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::os_release::OsRelease;

/// The oldest Fedora that still gets updates.
const OLDEST_FEDORA: u32 = 41;

/// How packages are installed and removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Manager {
    /// Debian's.
    Apt,
    /// Red Hat's.
    Dnf,
}

/// What runs containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// containerd.
    Containerd,
    /// CRI-O.
    Crio,
}

/// Where the kubelet comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KubeletSource {
    /// The payload holds it, or names its digest.
    Payload,
    /// The packages of the Kubernetes project.
    Packages,
}

/// What a plan is asked for.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// What runs containers.
    pub runtime: Runtime,
    /// Where the kubelet comes from.
    pub kubelet: KubeletSource,
    /// The minor version of Kubernetes, such as 36.
    pub kubernetes_minor: u32,
    /// The running kernel, since modules are packaged for one kernel only.
    pub kernel: &'a str,
}

/// A package repository that has to be added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Repository {
    /// The file that names it.
    pub path: String,
    /// What the file holds.
    pub contents: String,
    /// A key that has to lie in a file before the repository can be used: where it comes from and where it goes.
    pub key: Option<Key>,
}

/// The key of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// Where it is fetched.
    pub url: String,
    /// Where it lies afterwards.
    pub path: String,
}

/// What has to be installed, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SoftwarePlan {
    /// The operating system, for people.
    pub system: String,
    /// How packages are installed.
    pub manager: Manager,
    /// Repositories to add before.
    pub repositories: Vec<Repository>,
    /// The packages.
    pub packages: Vec<String>,
    /// The unit that runs containers.
    pub runtime_unit: String,
    /// Where the packages put the network plugins.
    pub plugin_directory: String,
    /// What a person should know before.
    pub notes: Vec<String>,
}

/// Why there is no plan; the text says what can be done instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownSystem {
    /// The system is made to be provisioned at its first boot.
    #[error(
        "{name} gets its configuration from Ignition at first boot and takes no packages\nhint: boot it with the output of `hcp create userdata --format ignition` instead of joining it"
    )]
    Image {
        /// The system.
        name: String,
    },
    /// The version is too old or too new.
    #[error("{name} is not supported; of {id}, {supported} are")]
    Version {
        /// The system.
        name: String,
        /// Its identifier.
        id: String,
        /// What is supported.
        supported: &'static str,
    },
    /// Nothing is known about the system.
    #[error(
        "{name} is not supported\nhint: RHEL, CentOS Stream, Rocky Linux and AlmaLinux 8 to 10, Fedora, Debian 12 and 13, Ubuntu 22.04 and 24.04 are; on others, install a container runtime by hand and join with --no-packages"
    )]
    System {
        /// The system.
        name: String,
    },
}

/// Decides what has to be installed.
pub fn plan(release: &OsRelease, wanted: &Wanted<'_>) -> Result<SoftwarePlan, UnknownSystem> {
    let name = release.to_string();
    if release.variant_id == "coreos" || matches!(release.id.as_str(), "rhcos" | "scos" | "fcos") {
        return Err(UnknownSystem::Image { name });
    }
    let unsupported = |supported| Err(UnknownSystem::Version { name: name.clone(), id: release.id.clone(), supported });
    match (release.id.as_str(), release.major()) {
        ("debian", Some(12 | 13)) => Ok(debian(release, wanted)),
        ("debian", _) => unsupported("12 and 13"),
        ("ubuntu", _) if matches!(release.version_id.as_str(), "22.04" | "24.04") => Ok(debian(release, wanted)),
        ("ubuntu", _) => unsupported("22.04 and 24.04"),
        ("fedora", Some(major)) if major >= OLDEST_FEDORA => Ok(fedora(release, wanted)),
        ("fedora", _) => unsupported("41 and later"),
        ("rhel" | "centos" | "rocky" | "almalinux", Some(major @ 8..=10)) => Ok(enterprise(release, major, wanted)),
        ("rhel" | "centos" | "rocky" | "almalinux", _) => unsupported("8, 9 and 10"),
        _ => Err(UnknownSystem::System { name }),
    }
}

fn debian(release: &OsRelease, wanted: &Wanted<'_>) -> SoftwarePlan {
    let mut packages = names(&["conntrack", "containernetworking-plugins", "ethtool", "iproute2", "iptables", "kmod"]);
    packages.extend(names(&["nftables", "socat", "util-linux"]));
    let mut repositories = Vec::new();
    let mut notes = Vec::new();
    match wanted.runtime {
        Runtime::Containerd => packages.extend(names(&["containerd", "runc"])),
        Runtime::Crio => {
            packages.push("cri-o".to_owned());
            repositories.push(apt_repository("cri-o", &crio_address(wanted.kubernetes_minor, "deb")));
        }
    }
    if wanted.kubelet == KubeletSource::Packages {
        packages.push("kubelet".to_owned());
        repositories.push(apt_repository("kubernetes", &kubernetes_address(wanted.kubernetes_minor, "deb")));
    }
    if release.id == "ubuntu" {
        notes.push("containernetworking-plugins is in Ubuntu's component universe, which must be enabled".to_owned());
    }
    if release.id == "debian" && release.major() == Some(12) && wanted.runtime == Runtime::Containerd {
        notes.push("containerd 1.6 has no RuntimeConfig: kubelet 1.36 is the last that takes it".to_owned());
    }
    finished(release, Manager::Apt, repositories, packages, wanted, "/usr/lib/cni", notes)
}

fn fedora(release: &OsRelease, wanted: &Wanted<'_>) -> SoftwarePlan {
    let mut packages = red_hat_tools("iptables-nft");
    let mut repositories = Vec::new();
    match wanted.runtime {
        Runtime::Containerd => packages.extend(names(&["containerd", "containernetworking-plugins", "runc"])),
        Runtime::Crio => {
            packages.extend(names(&["containernetworking-plugins", "cri-o"]));
            repositories.push(crio_rpm(wanted.kubernetes_minor));
        }
    }
    add_kubelet_rpm(wanted, &mut repositories, &mut packages);
    let notes = vec!["zram swap is on by default and must be off, or allowed by the pool".to_owned()];
    finished(release, Manager::Dnf, repositories, packages, wanted, "/usr/libexec/cni", notes)
}

fn enterprise(release: &OsRelease, major: u32, wanted: &Wanted<'_>) -> SoftwarePlan {
    // Version 8 calls the same tool by its old name.
    let mut packages = red_hat_tools(if major == 8 { "iptables" } else { "iptables-nft" });
    packages.push("containernetworking-plugins".to_owned());
    let mut repositories = Vec::new();
    let mut notes = Vec::new();
    match wanted.runtime {
        Runtime::Containerd => {
            // The vendor has no containerd; the packages of the Docker project are made for each major version.
            packages.push("containerd.io".to_owned());
            let flavour = if release.id == "rhel" { "rhel" } else { "centos" };
            let address = format!("https://download.docker.com/linux/{flavour}");
            repositories.push(rpm_repository(
                "containerd",
                &format!("{address}/{major}/$basearch/stable"),
                &format!("{address}/gpg"),
            ));
            notes.push(
                "containerd.io conflicts with the packages podman-docker and runc of the vendor's modules".to_owned(),
            );
        }
        Runtime::Crio => {
            packages.push("cri-o".to_owned());
            repositories.push(crio_rpm(wanted.kubernetes_minor));
        }
    }
    add_kubelet_rpm(wanted, &mut repositories, &mut packages);
    if major == 8 {
        notes.push(
            "cgroup v1 is the default of version 8; kubelets refuse it unless the pool allows it: run `grubby --update-kernel=ALL --args=systemd.unified_cgroup_hierarchy=1` and boot again".to_owned(),
        );
    }
    if major == 10 {
        // br_netfilter left the main package, and a newer one of this name would not fit the running kernel.
        packages.push(format!("kernel-modules-extra-{}", wanted.kernel));
    }
    if release.id == "rhel" {
        notes.push("the host must be registered, with the repositories BaseOS and AppStream".to_owned());
    }
    finished(release, Manager::Dnf, repositories, packages, wanted, "/usr/libexec/cni", notes)
}

fn finished(
    release: &OsRelease,
    manager: Manager,
    repositories: Vec<Repository>,
    mut packages: Vec<String>,
    wanted: &Wanted<'_>,
    plugin_directory: &str,
    notes: Vec<String>,
) -> SoftwarePlan {
    packages.sort();
    packages.dedup();
    let runtime_unit = match wanted.runtime {
        Runtime::Containerd => "containerd.service",
        Runtime::Crio => "crio.service",
    };
    SoftwarePlan {
        system: release.to_string(),
        manager,
        repositories,
        packages,
        runtime_unit: runtime_unit.to_owned(),
        plugin_directory: plugin_directory.to_owned(),
        notes,
    }
}

fn red_hat_tools(iptables: &str) -> Vec<String> {
    let mut packages = names(&["conntrack-tools", "container-selinux", "ethtool", "iproute-tc", "kmod", "nftables"]);
    packages.extend(names(&["socat", "util-linux", iptables]));
    packages
}

fn add_kubelet_rpm(wanted: &Wanted<'_>, repositories: &mut Vec<Repository>, packages: &mut Vec<String>) {
    if wanted.kubelet == KubeletSource::Packages {
        let address = kubernetes_address(wanted.kubernetes_minor, "rpm");
        repositories.push(rpm_repository("kubernetes", &address, &format!("{address}repodata/repomd.xml.key")));
        packages.push("kubelet".to_owned());
    }
}

fn kubernetes_address(minor: u32, format: &str) -> String {
    format!("https://pkgs.k8s.io/core:/stable:/v1.{minor}/{format}/")
}

fn crio_address(minor: u32, format: &str) -> String {
    format!("https://download.opensuse.org/repositories/isv:/cri-o:/stable:/v1.{minor}/{format}/")
}

fn crio_rpm(minor: u32) -> Repository {
    let address = crio_address(minor, "rpm");
    rpm_repository("cri-o", &address, &format!("{address}repodata/repomd.xml.key"))
}

fn rpm_repository(name: &str, address: &str, key: &str) -> Repository {
    Repository {
        path: format!("/etc/yum.repos.d/roost-{name}.repo"),
        contents: format!(
            "[roost-{name}]\nname={name} for Roost nodes\nbaseurl={address}\nenabled=1\ngpgcheck=1\ngpgkey={key}\n"
        ),
        key: None,
    }
}

fn apt_repository(name: &str, address: &str) -> Repository {
    let key = format!("/etc/apt/keyrings/roost-{name}.asc");
    Repository {
        path: format!("/etc/apt/sources.list.d/roost-{name}.list"),
        contents: format!("deb [signed-by={key}] {address} /\n"),
        key: Some(Key { url: format!("{address}Release.key"), path: key }),
    }
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|&name| name.to_owned()).collect()
}

impl fmt::Display for SoftwarePlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.system)?;
        for repository in &self.repositories {
            if let Some(key) = &repository.key {
                writeln!(formatter, "key         {} from {}", key.path, key.url)?;
            }
            writeln!(formatter, "repository  {}", repository.path)?;
            for line in repository.contents.lines() {
                writeln!(formatter, "            | {line}")?;
            }
        }
        let command = match self.manager {
            Manager::Apt => "apt-get install",
            Manager::Dnf => "dnf install",
        };
        writeln!(formatter, "packages    {command} {}", self.packages.join(" "))?;
        writeln!(formatter, "runtime     {}", self.runtime_unit)?;
        writeln!(formatter, "plugins     {}", self.plugin_directory)?;
        self.notes.iter().try_for_each(|note| writeln!(formatter, "note        {note}"))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use super::{KubeletSource, Runtime, UnknownSystem, Wanted, plan};
    use crate::os_release::OsRelease;

    fn fixture(name: &str) -> OsRelease {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/os-release").join(name);
        OsRelease::parse(&std::fs::read_to_string(path).unwrap())
    }

    fn wanted(runtime: Runtime, kubelet: KubeletSource) -> Wanted<'static> {
        Wanted { runtime, kubelet, kubernetes_minor: 36, kernel: "6.12.0-55.el10.x86_64" }
    }

    /// Every supported system, with each runtime and each source of the kubelet.
    #[test]
    fn plans_of_all_systems() {
        let systems = [
            "rhel-8",
            "rhel-9",
            "rhel-10",
            "centos-8",
            "centos-9",
            "centos-10",
            "rocky-8",
            "rocky-9",
            "rocky-10",
            "almalinux-8",
            "almalinux-9",
            "almalinux-10",
            "fedora-42",
            "debian-12",
            "debian-13",
            "ubuntu-22.04",
            "ubuntu-24.04",
        ];
        for system in systems {
            let mut text = String::new();
            for (runtime, kubelet) in [
                (Runtime::Containerd, KubeletSource::Payload),
                (Runtime::Containerd, KubeletSource::Packages),
                (Runtime::Crio, KubeletSource::Packages),
            ] {
                let plan = plan(&fixture(system), &wanted(runtime, kubelet)).unwrap();
                writeln!(text, "# {runtime:?}, kubelet from {kubelet:?}\n{plan}").unwrap();
            }
            insta::assert_snapshot!(system, text);
        }
    }

    #[test]
    fn images_that_ignition_provisions_are_sent_there() {
        for system in ["fedora-coreos-42", "rhcos-4.16"] {
            let error = plan(&fixture(system), &wanted(Runtime::Containerd, KubeletSource::Payload)).unwrap_err();
            assert!(matches!(error, UnknownSystem::Image { .. }), "{system}: {error}");
            assert!(error.to_string().contains("hcp create userdata"));
        }
    }

    #[test]
    fn other_systems_and_versions_are_refused_with_what_is_supported() {
        let refused = |name: &str| {
            plan(&fixture(name), &wanted(Runtime::Containerd, KubeletSource::Payload)).unwrap_err().to_string()
        };
        assert_eq!(refused("ubuntu-20.04"), "Ubuntu 20.04.6 LTS is not supported; of ubuntu, 22.04 and 24.04 are");
        assert!(refused("alpine-3.19").starts_with("Alpine Linux v3.19 is not supported\nhint: "));
        let nameless = plan(&OsRelease::default(), &wanted(Runtime::Crio, KubeletSource::Payload)).unwrap_err();
        assert!(nameless.to_string().starts_with("a system without a name is not supported"));
    }
}
