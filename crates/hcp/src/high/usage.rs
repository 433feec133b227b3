//! What a command line can get wrong: each in one sentence that names the flag.

use std::path::PathBuf;

/// Why arguments that parse mean nothing that could work.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UsageError {
    #[error("--{0} is required")]
    Required(&'static str),
    #[error(
        "--{flag} {value:?} is not a name: use at most 63 of a-z, 0-9 and '-', with a letter or a digit at both ends"
    )]
    Name { flag: &'static str, value: String },
    #[error(
        "--namespace {namespace:?} and --name {name:?} are too long together: the control plane's namespace would be {namespace}-{name}, and a namespace has at most 63 characters"
    )]
    ControlPlaneNamespace { namespace: String, name: String },
    #[error("--{flag} {value:?} is not supported; use one of: {choices}")]
    Choice { flag: &'static str, value: String, choices: String },
    #[error("--{flag} {value:?} is not key=value")]
    KeyValue { flag: &'static str, value: String },
    #[error("--{flag} {value:?}: {problem}")]
    Value { flag: &'static str, value: String, problem: String },
    #[error("--{flag} {value:?} is not a network in CIDR notation, such as {example}")]
    Cidr { flag: &'static str, value: String, example: &'static str },
    #[error("--{flag} is given {count} times; a cluster has at most two, one for each address family")]
    TooManyCidrs { flag: &'static str, count: usize },
    #[error("--{first_flag} {first} overlaps --{second_flag} {second}; give networks that are apart")]
    Overlap { first_flag: &'static str, first: String, second_flag: &'static str, second: String },
    #[error("--{0} and --{1} cannot be used together")]
    Together(&'static str, &'static str),
    #[error("--{0} needs --{1}")]
    Needs(&'static str, &'static str),
    #[error("--{flag} is only for --network-type Other, not {network_type}")]
    OnlyNetworkOther { flag: &'static str, network_type: String },
    #[error("--{flag} is only for {only}")]
    OnlyFor { flag: &'static str, only: &'static str },
    #[error("--ovn-kubernetes-mtu {0} is out of range; use 576 to 9216")]
    Mtu(u32),
    #[error(
        "--disable-cluster-capabilities Ingress needs Console to be disabled, too: the console is reached through it"
    )]
    IngressWithoutConsole,
    #[error("the capability {0} cannot be both enabled and disabled")]
    EnabledAndDisabled(String),
    #[error("--cores must be at least 1")]
    Cores,
    #[error("--root-volume-size {0} is too small; use at least 16")]
    RootVolumeSize(u32),
    #[error("--attach-default-network=false needs at least one --additional-network")]
    NoNetwork,
    #[error("the pull secret {path} is not what a registry login writes: {problem}")]
    PullSecret { path: PathBuf, problem: String },
    #[error("the file {path} of --{flag} is not usable: {problem}")]
    File { flag: &'static str, path: PathBuf, problem: String },
    #[error("--release-stream needs a public service that is not asked here; name the release with --release-image")]
    ReleaseStream,
}

impl UsageError {
    /// What to do about it, when the sentence does not say so already.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Required("pull-secret") => {
                Some("a cluster that pulls nothing needs one, too: echo '{\"auths\":{}}' > pull-secret.json")
            }
            Self::Required("agent-namespace") => Some("see where the hosts are: hcp get hosts -A"),
            _ => None,
        }
    }
}
