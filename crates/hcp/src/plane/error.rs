//! Why the management plane could not be found, reached or persuaded.

use std::path::PathBuf;

use crate::instance::InstanceError;

use super::Resource;

#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaneError {
    #[error("no management plane was found: no --kubeconfig, no KUBECONFIG, no running hcp up and no ~/.kube/config")]
    None,
    #[error("several management planes run here, on: {0}")]
    Several(String),
    #[error(transparent)]
    Instance(#[from] InstanceError),
    #[error("the kubeconfig {path} cannot be used")]
    Kubeconfig { path: PathBuf, source: Box<kube::config::KubeconfigError> },
    #[error("the kubeconfig named by KUBECONFIG cannot be used")]
    Environment { source: Box<kube::config::KubeconfigError> },
    #[error("the credentials for {server} cannot be used")]
    Client { server: String, source: Box<kube::Error> },
    #[error("the management plane {server} cannot be reached")]
    Unreachable { server: String, source: Box<kube::Error> },
    #[error("the management plane {server} did not answer in 60 seconds")]
    Silent { server: String },
    #[error("the management plane says: {message}")]
    Refused { message: String, reason: String, code: u16 },
    #[error("this management plane does not know hosted clusters")]
    NoSuchKind,
    #[error("there is no {} {namespace}/{name}", .resource.kind)]
    NotFound { resource: &'static Resource, namespace: String, name: String },
    #[error("{0:?} is not a path that could be asked for")]
    Path(String),
}

impl PlaneError {
    /// What a failed request means.
    pub(super) fn of(error: kube::Error, server: &str) -> Self {
        match error {
            kube::Error::Api(status) => {
                let named = status.details.as_ref().is_some_and(|details| !details.name.is_empty());
                if status.code == 404 && !named && status.reason != "Gone" {
                    return Self::NoSuchKind;
                }
                Self::Refused { message: status.message, reason: status.reason, code: status.code }
            }
            source => Self::Unreachable { server: server.to_owned(), source: Box::new(source) },
        }
    }

    /// Whether one object is missing, as opposed to its whole kind.
    pub(super) fn is_missing_object(&self) -> bool {
        matches!(self, Self::Refused { code: 404, .. })
    }

    /// Whether the object was there already.
    pub(crate) fn is_taken(&self) -> bool {
        matches!(self, Self::Refused { code: 409, reason, .. } if reason == "AlreadyExists")
    }

    /// Whether trying again may help: the plane restarts, or lost the place of a watch.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Silent { .. } => true,
            Self::Refused { code, .. } => matches!(code, 410 | 429 | 500..),
            _ => false,
        }
    }

    /// What to do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::None => Some("start one here with: hcp up --detach".to_owned()),
            Self::Several(_) => {
                Some("say which with --kubeconfig FILE; hcp status -o kubeconfig lists the files".to_owned())
            }
            Self::Unreachable { .. } | Self::Silent { .. } => {
                Some("see what runs here with: hcp status; start it with: hcp up --detach".to_owned())
            }
            Self::Kubeconfig { .. } => Some(
                "name another with --kubeconfig FILE; without it KUBECONFIG, a running hcp up or ~/.kube/config is used"
                    .to_owned(),
            ),
            Self::Environment { .. } => {
                Some("set KUBECONFIG to a file that exists, unset it, or name one with --kubeconfig FILE".to_owned())
            }
            Self::NoSuchKind => {
                Some("is it the right one? hcp up brings the kinds along; see what runs with: hcp status".to_owned())
            }
            Self::NotFound { resource, .. } => {
                let kind = match resource.kind {
                    "HostedCluster" => "clusters",
                    "NodePool" => "nodepools",
                    "Agent" => "hosts",
                    _ => return None,
                };
                Some(format!("see what there is with: hcp get {kind} -A"))
            }
            _ => None,
        }
    }
}
