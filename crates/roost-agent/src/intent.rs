//! From a payload to the steps that bring it onto a running host. Pure but for looks at what is there.

use roost_ignition::payload::paths;
use roost_ignition::{Config, DataUrlError, Owner as PayloadOwner};

use crate::root::{Owner, Root};
use crate::software::SoftwarePlan;
use crate::step::Step;

/// Where the kubelet, the runtime and the network plugins put things by themselves.
const CLAIMS: [&str; 20] = [
    "/etc/cni",
    "/etc/containerd",
    "/etc/crio",
    "/etc/kubernetes",
    "/opt/cni",
    "/opt/containerd",
    "/run/containerd",
    "/run/crio",
    "/run/flannel",
    "/run/kubernetes",
    "/run/netns",
    "/run/runc",
    "/usr/libexec/kubernetes",
    "/var/lib/calico",
    "/var/lib/cni",
    "/var/lib/containerd",
    "/var/lib/containers",
    "/var/lib/kubelet",
    "/var/log/containers",
    "/var/log/pods",
];

/// What the kubelet, kube-proxy and network plugins set without being asked.
const REMEMBERED_SETTINGS: [&str; 10] = [
    "kernel.keys.root_maxbytes",
    "kernel.keys.root_maxkeys",
    "kernel.panic",
    "kernel.panic_on_oops",
    "net.ipv4.conf.all.forwarding",
    "net.ipv4.conf.all.route_localnet",
    "net.ipv4.ip_forward",
    "net.ipv6.conf.all.forwarding",
    "vm.overcommit_memory",
    "vm.panic_on_oom",
];

/// What the package managers write down about what was asked for by hand.
const PACKAGE_STATE: [&str; 2] = ["/var/lib/apt/extended_states", "/etc/ld.so.cache"];

/// Where a host finds addresses without asking anybody.
const HOSTS: &str = "/etc/hosts";
/// Where it is said whom a host asks for others.
const RESOLVERS: &str = "/etc/resolv.conf";

/// The unit that goes on with a join after a power cut.
pub const RESUME_UNIT: &str = "hcp-agent-resume.service";
/// While this is there, a join is not at its end.
pub const JOINING: &str = "/var/lib/roost/agent/joining";
/// The kubelet that the agent was given.
pub const KUBELET_BINARY: &str = paths::KUBELET_BINARY;

/// A step, and where its contents come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// What is done. The digest of a file is filled in when its contents are there.
    pub step: Step,
    /// What a file will hold.
    pub contents: Contents,
}

/// What a file will hold. `Debug` shows no bytes, because payloads carry credentials.
#[derive(Clone, PartialEq, Eq)]
pub enum Contents {
    /// It is no file.
    None,
    /// These bytes.
    Bytes(Vec<u8>),
    /// What was there before, and these bytes after it.
    Appended(Vec<u8>),
    /// What an address serves.
    Fetched {
        /// The address.
        url: String,
        /// What it is checked with; keys of repositories have to be believed.
        verification: Option<String>,
        /// Whether it is packed.
        compressed: bool,
    },
    /// A file of this host.
    Local(std::path::PathBuf),
}

impl std::fmt::Debug for Contents {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => formatter.write_str("None"),
            Self::Bytes(bytes) => write!(formatter, "Bytes({})", bytes.len()),
            Self::Appended(bytes) => write!(formatter, "Appended({})", bytes.len()),
            Self::Fetched { url, .. } => write!(formatter, "Fetched({url})"),
            Self::Local(path) => write!(formatter, "Local({})", path.display()),
        }
    }
}

/// Why a payload cannot be brought onto a running host.
#[derive(Debug, thiserror::Error)]
pub enum IntentError {
    /// It needs what only a first boot can give.
    #[error(
        "the payload makes disks, filesystems or kernel arguments, which a running host cannot get\nhint: boot the host from the pool's user-data, or take them out of the pool's configuration"
    )]
    NeedsFirstBoot,
    /// The contents of a file cannot be read.
    #[error("the contents of {path} cannot be read")]
    Contents {
        /// The file.
        path: String,
        /// Why.
        source: DataUrlError,
    },
    /// Contents come from elsewhere and nothing says what they have to be.
    #[error("{path} is fetched from elsewhere without a hash to check it with")]
    Unverified {
        /// The file.
        path: String,
    },
    /// A user or group does not exist here.
    #[error("{path} belongs to {name:?}, which this host does not have")]
    Owner {
        /// The file.
        path: String,
        /// The name.
        name: String,
    },
    /// A path leads elsewhere.
    #[error("{path:?} is no absolute path without dots")]
    Path {
        /// The path.
        path: String,
    },
}

/// What a join is made from.
#[derive(Clone, Debug)]
pub struct Materials<'a> {
    /// What the pool wants on the host.
    pub payload: &'a Config,
    /// What the node is called.
    pub node_name: &'a str,
    /// What has to be installed; none where someone else does that.
    pub software: Option<&'a SoftwarePlan>,
    /// A kubelet on this host that is used instead of a packaged one.
    pub kubelet: Option<&'a std::path::Path>,
    /// This program, which goes on after a power cut.
    pub agent: &'a str,
}

/// The steps of a join, in their order.
pub fn intents(root: &Root, materials: &Materials<'_>) -> Result<Vec<Intent>, IntentError> {
    let payload = materials.payload;
    if payload.needs_first_boot() {
        return Err(IntentError::NeedsFirstBoot);
    }
    let mut list = Vec::new();
    let plain = |step| Intent { step, contents: Contents::None };
    list.extend(CLAIMS.iter().map(|path| plain(Step::Claim { path: (*path).to_owned() })));
    list.extend(REMEMBERED_SETTINGS.iter().map(|key| plain(Step::Setting { key: (*key).to_owned(), value: None })));
    let units = units_of(payload);
    list.extend(units.iter().map(|unit| plain(Step::Running { unit: unit.clone() })));
    list.extend(resume(materials.agent));
    list.extend(missing_basics(root, materials));
    if let Some(software) = materials.software {
        list.extend(PACKAGE_STATE.iter().map(|path| plain(Step::Keep { path: (*path).to_owned() })));
        for repository in &software.repositories {
            list.extend(repository.key.iter().map(|key| {
                let fetched = Contents::Fetched { url: key.url.clone(), verification: None, compressed: false };
                file(&key.path, fetched, 0o644)
            }));
            list.push(file(&repository.path, Contents::Bytes(repository.contents.clone().into_bytes()), 0o644));
        }
        list.push(plain(Step::Packages { manager: software.manager, names: software.packages.clone() }));
    }
    // After the packages, so that it is undone while the tools for it are still there.
    list.push(plain(Step::Network));
    let linked = linked_plugins(root, payload, materials.software);
    list.extend(linked.clone());
    list.extend(storage(root, payload, linked.is_some())?);
    let is_elsewhere = materials.agent != paths::AGENT_BINARY && payload.file(paths::AGENT_BINARY).is_none();
    if is_elsewhere && payload.unit(paths::AGENT_UNIT).is_some() {
        list.push(file(paths::AGENT_BINARY, Contents::Local(materials.agent.into()), 0o755));
    }
    if let Some(kubelet) = materials.kubelet {
        list.push(file(KUBELET_BINARY, Contents::Local(kubelet.to_owned()), 0o755));
    }
    list.extend(unit_files(payload)?);
    list.extend(kernel(payload)?);
    for unit in payload.units().filter(|unit| !unit.is_masked()) {
        list.extend(unit.enabled().map(|enabled| plain(Step::Enable { unit: unit.name().to_owned(), enabled })));
    }
    list.extend(starts(payload, &units));
    Ok(list)
}

/// The steps that bring another payload onto a host that is a node already. Its own service is not among those that are
/// started again: it is what does this.
pub fn changes(root: &Root, payload: &Config) -> Result<Vec<Intent>, IntentError> {
    if payload.needs_first_boot() {
        return Err(IntentError::NeedsFirstBoot);
    }
    let plain = |step| Intent { step, contents: Contents::None };
    let plugins_are_linked = root.look(paths::CNI_BINARIES).is_some_and(|found| found.is_symlink());
    let mut list = storage(root, payload, plugins_are_linked)?;
    list.extend(unit_files(payload)?);
    list.extend(kernel(payload)?);
    for unit in payload.units().filter(|unit| !unit.is_masked()) {
        list.extend(unit.enabled().map(|enabled| plain(Step::Enable { unit: unit.name().to_owned(), enabled })));
    }
    let mut starts = starts(payload, &units_of(payload));
    starts.retain(|intent| match &intent.step {
        Step::Start { unit } => unit != paths::AGENT_UNIT,
        step => *step != Step::Containers,
    });
    list.extend(starts);
    Ok(list)
}

/// The units that a payload has to do with, the kubelet last.
pub fn units_of(payload: &Config) -> Vec<String> {
    let mut units: Vec<String> = payload.units().map(|unit| unit.name().to_owned()).collect();
    units.sort_by_key(|unit| unit == paths::KUBELET_UNIT);
    units
}

fn starts(payload: &Config, units: &[String]) -> Vec<Intent> {
    let plain = |step| Intent { step, contents: Contents::None };
    let mut list = Vec::new();
    for unit in units {
        if payload.unit(unit).and_then(|unit| unit.enabled()) != Some(true) {
            continue;
        }
        if unit == paths::KUBELET_UNIT {
            list.push(plain(Step::Containers));
        }
        list.push(plain(Step::Start { unit: unit.clone() }));
    }
    list
}

/// After a power cut in the middle of a join, nobody may be there to say it again.
fn resume(agent: &str) -> Vec<Intent> {
    let text = format!(
        "[Unit]\nDescription=Goes on with joining a cluster after a power cut\nConditionPathExists={JOINING}\nWants=network-online.target\nAfter=network-online.target\n\n[Service]\nType=simple\nExecStart={agent} join --resume\nRestart=on-failure\nRestartSec=10\n\n[Install]\nWantedBy=multi-user.target\n"
    );
    let path = format!("/etc/systemd/system/{RESUME_UNIT}");
    let wanted = format!("/etc/systemd/system/multi-user.target.wants/{RESUME_UNIT}");
    let link = Step::Link { path: wanted, target: path.clone(), hard: false, owner: Owner::own() };
    vec![file(&path, Contents::Bytes(text.into_bytes()), 0o644), Intent { step: link, contents: Contents::None }]
}

/// Containers get copies of these; small images of hosts lack them.
fn missing_basics(root: &Root, materials: &Materials<'_>) -> Vec<Intent> {
    let mut list = Vec::new();
    if materials.payload.file(HOSTS).is_none() {
        list.extend(own_name(root, materials.node_name));
    }
    if !root.exists(RESOLVERS) {
        list.push(file(RESOLVERS, Contents::Bytes(Vec::new()), 0o644));
    }
    list
}

/// The name of the node, where the host does not know it. A kubelet asks for the address of its own name whenever it
/// reports, and waits ten seconds for resolvers that do not answer; at the start that is longer than it waits for its
/// node before it rests for two minutes. No node can have this address, so it takes that of the default route, as it
/// does for any name that nobody knows.
fn own_name(root: &Root, name: &str) -> Option<Intent> {
    let line = format!("127.0.1.1 {name}\n");
    if !root.exists(HOSTS) {
        let text = format!("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n{line}");
        return Some(file(HOSTS, Contents::Bytes(text.into_bytes()), 0o644));
    }
    let known = root.text(HOSTS).unwrap_or_default();
    let mut entries = known.lines().map(|line| line.split('#').next().unwrap_or_default());
    if entries.any(|entry| entry.split_whitespace().skip(1).any(|known| known == name)) {
        return None;
    }
    let before = if known.is_empty() || known.ends_with('\n') { "" } else { "\n" };
    Some(file(HOSTS, Contents::Appended(format!("{before}{line}").into_bytes()), 0o644))
}

/// Packages put the plugins elsewhere than payloads look for them.
fn linked_plugins(root: &Root, payload: &Config, software: Option<&SoftwarePlan>) -> Option<Intent> {
    let wanted = paths::CNI_BINARIES;
    let directory = payload.directories().find(|directory| directory.path() == wanted)?;
    let packaged = &software?.plugin_directory;
    let found = root.look(wanted);
    if packaged == directory.path() || found.is_some_and(|found| !found.is_symlink()) {
        return None;
    }
    let step = Step::Link { path: wanted.to_owned(), target: packaged.clone(), hard: false, owner: Owner::own() };
    Some(Intent { step, contents: Contents::None })
}

fn storage(root: &Root, payload: &Config, plugins_are_linked: bool) -> Result<Vec<Intent>, IntentError> {
    let mut list = Vec::new();
    for directory in payload.directories() {
        let path = checked(directory.path())?;
        let exists = root.look(path).is_some_and(|found| found.is_dir());
        if plugins_are_linked && path == paths::CNI_BINARIES || exists && directory.mode().is_none() {
            continue;
        }
        let owner = owner(root, path, directory.user(), directory.group())?;
        let mode = directory.mode().unwrap_or(0o755);
        list.push(Intent { step: Step::Directory { path: path.to_owned(), mode, owner }, contents: Contents::None });
    }
    for entry in payload.files() {
        let path = checked(entry.path())?;
        let unreadable = |source| IntentError::Contents { path: path.to_owned(), source };
        let appended = entry.appended().collect::<Result<Vec<_>, _>>().map_err(unreadable)?.concat();
        let contents = match entry.source().filter(|source| !source.is_empty()) {
            Some(url) if !url.starts_with("data:") => Contents::Fetched {
                url: url.to_owned(),
                verification: Some(
                    entry.verification().ok_or_else(|| IntentError::Unverified { path: path.to_owned() })?.to_owned(),
                ),
                compressed: entry.is_compressed(),
            },
            None if !appended.is_empty() => Contents::Appended(appended),
            _ => {
                let mut bytes = entry.contents().map_err(unreadable)?;
                bytes.extend(appended);
                Contents::Bytes(bytes)
            }
        };
        let owner = owner(root, path, entry.user(), entry.group())?;
        let mode = entry.mode().unwrap_or(0o644);
        let step = Step::File { path: path.to_owned(), digest: String::new(), mode, owner };
        list.push(Intent { step, contents });
    }
    for link in payload.links() {
        let path = checked(link.path())?;
        let owner = owner(root, path, link.user(), link.group())?;
        let step = Step::Link { path: path.to_owned(), target: link.target().to_owned(), hard: link.is_hard(), owner };
        list.push(Intent { step, contents: Contents::None });
    }
    Ok(list)
}

fn unit_files(payload: &Config) -> Result<Vec<Intent>, IntentError> {
    let mut list = Vec::new();
    for unit in payload.units() {
        let path = format!("/etc/systemd/system/{}", unit.name());
        checked(&path)?;
        if unit.is_masked() {
            let step =
                Step::Link { path: path.clone(), target: "/dev/null".to_owned(), hard: false, owner: Owner::own() };
            list.push(Intent { step, contents: Contents::None });
        } else if let Some(text) = unit.contents().filter(|text| !text.is_empty()) {
            list.push(file(&path, Contents::Bytes(text.as_bytes().to_vec()), 0o644));
        }
        for dropin in unit.dropins() {
            let path = format!("{path}.d/{}", dropin.name);
            checked(&path)?;
            let text = dropin.contents.unwrap_or_default();
            list.push(file(&path, Contents::Bytes(text.as_bytes().to_vec()), 0o644));
        }
    }
    Ok(list)
}

/// What the host would only read at its next boot is done now.
fn kernel(payload: &Config) -> Result<Vec<Intent>, IntentError> {
    let mut list = Vec::new();
    let plain = |step| Intent { step, contents: Contents::None };
    let mut settings = Vec::new();
    for entry in payload.files() {
        let text = || {
            let bytes =
                entry.contents().map_err(|source| IntentError::Contents { path: entry.path().to_owned(), source })?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        if entry.path().starts_with("/etc/modules-load.d/") {
            let names = lines(&text()?).map(|name| plain(Step::Module { name: name.to_owned() })).collect::<Vec<_>>();
            list.extend(names);
        } else if entry.path().starts_with("/etc/sysctl.d/") {
            settings.extend(lines(&text()?).filter_map(setting));
        }
    }
    // Modules first: some settings exist only with them.
    list.extend(settings.into_iter().map(plain));
    Ok(list)
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']))
}

fn setting(line: &str) -> Option<Step> {
    let (key, value) = line.split_once('=')?;
    let key = key.trim().trim_start_matches('-').replace('/', ".");
    let is_name = !key.is_empty() && !key.contains("..") && !key.starts_with('.');
    is_name.then(|| Step::Setting { key, value: Some(value.trim().to_owned()) })
}

pub(crate) fn file(path: &str, contents: Contents, mode: u32) -> Intent {
    Intent { step: Step::File { path: path.to_owned(), digest: String::new(), mode, owner: Owner::own() }, contents }
}

fn checked(path: &str) -> Result<&str, IntentError> {
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    let holds = path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_plain)) && !path.contains('\0');
    if holds { Ok(path) } else { Err(IntentError::Path { path: path.to_owned() }) }
}

fn owner(
    root: &Root,
    path: &str,
    user: Option<PayloadOwner<'_>>,
    group: Option<PayloadOwner<'_>>,
) -> Result<Owner, IntentError> {
    let resolve = |owner: Option<PayloadOwner<'_>>, list: &str| match owner {
        None => Ok(0),
        Some(PayloadOwner::Id(id)) => Ok(id),
        Some(PayloadOwner::Name(name)) => number_of(&root.text(list).unwrap_or_default(), name)
            .ok_or_else(|| IntentError::Owner { path: path.to_owned(), name: name.to_owned() }),
    };
    Ok(Owner { user: resolve(user, "/etc/passwd")?, group: resolve(group, "/etc/group")? })
}

/// The number of a name in `/etc/passwd` or `/etc/group`.
fn number_of(list: &str, name: &str) -> Option<u32> {
    list.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?
    })
}
