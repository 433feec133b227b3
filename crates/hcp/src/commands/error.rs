//! What commands fail with: one sentence, a hint where there is something to do, and an exit code.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use roost_ignition::user_data::UserDataError;

use crate::high::UsageError;
use crate::plane::PlaneError;
use crate::progress::seconds;

/// The exit code of a command line that means nothing.
const USAGE: u8 = 2;
const FAILED: u8 = 1;
/// What shells expect of a program that was interrupted.
const INTERRUPTED: u8 = 130;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Usage(#[from] UsageError),
    #[error(transparent)]
    Plane(#[from] PlaneError),
    #[error("the file {path} of --{flag} cannot be read: {}", plainly(.source))]
    Read { flag: &'static str, path: PathBuf, source: io::Error },
    #[error("{path} cannot be written: {}", plainly(.source))]
    Write { path: PathBuf, source: io::Error },
    #[error("a HostedCluster {namespace}/{name} exists already")]
    Taken { namespace: String, name: String },
    #[error("the release {image} is not known; this plane has {known}")]
    UnknownRelease { image: String, known: String },
    #[error("no release was given, and the management plane names none")]
    NoRelease,
    #[error("this is {client}, but the operator is {server}")]
    Versions { client: String, server: String },
    #[error("the {0} was refused, and nothing was made")]
    Invalid(String, #[source] PlaneError),
    #[error("the {failed} could not be made; made before it: {}", .made.join(", "))]
    HalfMade {
        failed: String,
        made: Vec<String>,
        remove: String,
        #[source]
        source: Box<PlaneError>,
    },
    #[error("{what} is not done after {}: {cause}", seconds(*.after))]
    TimedOut { what: String, after: Duration, cause: String, look: String },
    #[error("{what} cannot go on: {cause}")]
    Blocked { what: String, cause: String, look: String },
    #[error("{what} is gone: somebody removed it")]
    Vanished { what: String },
    #[error("interrupted; {goes_on}")]
    Interrupted { goes_on: String, look: String },
    #[error("{what} is {found}, not {expected}")]
    Platform { what: String, found: String, expected: &'static str, command: String },
    #[error("{namespace}/{name} has no kubeconfig yet: {cause}")]
    NoKubeconfig { namespace: String, name: String, cause: String },
    #[error("the kubeconfig of {0} cannot be read")]
    BadKubeconfig(String),
    #[error("NodePool {namespace}/{name} has no user-data yet: {cause}")]
    NoUserData { namespace: String, name: String, cluster: String, cause: String },
    #[error("the user-data of NodePool {0} cannot be read")]
    BadUserData(String),
    #[error("NodePool {pool} belongs to the cluster {cluster}, not to {asked}")]
    OtherCluster { pool: String, cluster: String, asked: String },
    #[error("the certificate of the ignition server is not good for {asked}, only for {named}")]
    CertificateNames { asked: String, named: String },
    #[error(transparent)]
    Preview(#[from] roost_operator::PreviewError),
    #[error(transparent)]
    UserData(#[from] UserDataError),
    #[error("there is nothing to destroy: no HostedCluster {namespace}/{name}, and nothing that belonged to one")]
    NothingToDestroy { namespace: String, name: String },
    #[error("the cluster {cluster} has no {kind}: {means}")]
    KindMissing { cluster: String, kind: &'static str, means: &'static str },
    #[error("no node of {cluster} can host {addresses}")]
    NoHost { cluster: String, addresses: String },
    #[error("no cluster has a kubeconfig")]
    NoKubeconfigs,
    #[error("a key could not be made")]
    Key,
    #[error("the output could not be written")]
    Output(#[from] io::Error),
}

fn plainly(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        _ => error.to_string(),
    }
}

impl CommandError {
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => USAGE,
            Self::Interrupted { .. } => INTERRUPTED,
            _ => FAILED,
        }
    }

    /// What to do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Usage(error) => error.hint().map(str::to_owned),
            Self::Plane(error) | Self::Invalid(_, error) => error.hint(),
            Self::Taken { namespace, name } => {
                Some(format!("choose another --name, or look at it with: hcp describe cluster {name} -n {namespace}"))
            }
            Self::NoRelease | Self::UnknownRelease { .. } => Some("name one with --release-image".to_owned()),
            Self::HalfMade { remove, .. } => Some(format!("remove what was made with: {remove}")),
            Self::TimedOut { look, .. } | Self::Blocked { look, .. } | Self::Interrupted { look, .. } => {
                Some(format!("look with: {look}"))
            }
            Self::Platform { command, .. } => Some(format!("use: {command}")),
            Self::NoKubeconfig { namespace, name, .. } => {
                Some(format!("see what it waits for with: hcp describe cluster {name} -n {namespace}"))
            }
            Self::NoUserData { namespace, cluster, .. } => {
                Some(format!("see what it waits for with: hcp describe cluster {cluster} -n {namespace}"))
            }
            Self::CertificateNames { .. } => Some(
                "name one of these, or set the address of the service Ignition in the HostedCluster's spec.services, or give the CA of a proxy that is good for it with --ca-file".to_owned(),
            ),
            Self::KindMissing { kind: "IPAddressPool", .. } => Some(
                "install the MetalLB operator and a MetalLB in the hosted cluster, then run this again".to_owned(),
            ),
            Self::KindMissing { .. } => Some(
                "leave --nodes and --shard out, and say with --service-namespace and --service-selector which pods take the traffic".to_owned(),
            ),
            Self::NoKubeconfigs => Some(
                "see what there is with: hcp get clusters -A; make one with: hcp create cluster none --name NAME …"
                    .to_owned(),
            ),
            Self::NothingToDestroy { .. } => Some("see what there is with: hcp get clusters -A".to_owned()),
            _ => None,
        }
    }
}
