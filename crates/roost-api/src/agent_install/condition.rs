//! Conditions of these kinds, which carry a heartbeat instead of a generation, and the words used in them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::open_string::open_string;

/// One aspect of an object's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// When the state was looked at last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_heartbeat_time: Option<Time>,
    /// When the status changed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// What a person should know about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Why the status is what it is, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether it holds: True, False or Unknown.
    pub status: ConditionStatus,
    /// Which aspect this is.
    #[serde(rename = "type")]
    pub type_: String,
}

open_string! {
    /// Whether a condition holds.
    pub enum ConditionStatus {
        /// It holds.
        True = "True",
        /// It does not hold.
        False = "False",
        /// Nobody can say.
        Unknown = "Unknown",
    }
}

/// The conditions of an `Agent`.
pub mod agent {
    /// The service took over what the spec asks for.
    pub const SPEC_SYNCED: &str = "SpecSynced";
    /// The host polls the service.
    pub const CONNECTED: &str = "Connected";
    /// The host could be installed now.
    pub const REQUIREMENTS_MET: &str = "RequirementsMet";
    /// All validations pass.
    pub const VALIDATED: &str = "Validated";
    /// The host was installed.
    pub const INSTALLED: &str = "Installed";
    /// The host belongs to a cluster.
    pub const BOUND: &str = "Bound";
    /// What the host leaves behind could be removed.
    pub const CLEANUP: &str = "Cleanup";

    /// Why an agent's condition has its status.
    pub mod reason {
        /// `SpecSynced`: all was taken over.
        pub const SYNC_OK: &str = "SyncOK";
        /// `SpecSynced`: the service failed.
        pub const BACKEND_ERROR: &str = "BackendError";
        /// `SpecSynced`: the spec asks for something that cannot be.
        pub const INPUT_ERROR: &str = "InputError";

        /// `Connected`: the host polls.
        pub const AGENT_IS_CONNECTED: &str = "AgentIsConnected";
        /// `Connected`: the host stopped polling.
        pub const AGENT_IS_DISCONNECTED: &str = "AgentIsDisconnected";

        /// `RequirementsMet`: the host is known and approved.
        pub const AGENT_IS_READY: &str = "AgentIsReady";
        /// `RequirementsMet`: the host is not known well enough yet, or lacks something.
        pub const AGENT_NOT_READY: &str = "AgentNotReady";
        /// `RequirementsMet`: nobody approved the host.
        pub const AGENT_IS_NOT_APPROVED: &str = "AgentIsNotApproved";
        /// `RequirementsMet`: the installation is under way.
        pub const AGENT_ALREADY_INSTALLING: &str = "AgentAlreadyInstalling";
        /// `RequirementsMet`: the installation ended, well or not.
        pub const AGENT_INSTALLATION_STOPPED: &str = "AgentInstallationStopped";

        /// `Validated`: every validation passes.
        pub const VALIDATIONS_PASSING: &str = "ValidationsPassing";
        /// `Validated`: a validation fails.
        pub const VALIDATIONS_FAILING: &str = "ValidationsFailing";
        /// `Validated`: a validation waits for something that a person must say.
        pub const VALIDATIONS_USER_PENDING: &str = "ValidationsUserPending";
        /// `Validated`: nothing was validated yet.
        pub const VALIDATIONS_UNKNOWN: &str = "ValidationsUnknown";

        /// `Installed`: done.
        pub const INSTALLATION_COMPLETED: &str = "InstallationCompleted";
        /// `Installed`: it failed.
        pub const INSTALLATION_FAILED: &str = "InstallationFailed";
        /// `Installed`: it did not begin.
        pub const INSTALLATION_NOT_STARTED: &str = "InstallationNotStarted";
        /// `Installed`: it is under way.
        pub const INSTALLATION_IN_PROGRESS: &str = "InstallationInProgress";

        /// `Bound`: the host belongs to a cluster.
        pub const BOUND: &str = "Bound";
        /// `Bound`: the host belongs to no cluster.
        pub const UNBOUND: &str = "Unbound";
        /// Several: the host is on its way into a cluster.
        pub const BINDING: &str = "Binding";
        /// Several: the host is on its way out of a cluster.
        pub const UNBINDING: &str = "Unbinding";
        /// `Bound`: a person must boot the host from the discovery image.
        pub const UNBINDING_PENDING_USER_ACTION: &str = "UnbindingPendingUserAction";

        /// `Cleanup`: what the host left behind could not be removed.
        pub const CLEANUP_FAILED: &str = "CleanupFailed";

        /// Several: the service cannot be asked.
        pub const NOT_AVAILABLE: &str = "NotAvailable";
        /// Several: the host is in a state that has no meaning here.
        pub const UNKNOWN_STATUS: &str = "UnknownStatus";
    }
}

/// The conditions of an `InfraEnv`.
pub mod infra_env {
    /// There is a discovery image to boot.
    pub const IMAGE_CREATED: &str = "ImageCreated";

    /// Why an environment's condition has its status.
    pub mod reason {
        /// The image is there.
        pub const INFRA_ENV_AVAILABLE: &str = "InfraEnvAvailable";
        /// The image is there, in the words of older services.
        pub const IMAGE_CREATED: &str = "ImageCreated";
        /// The image could not be made.
        pub const IMAGE_CREATION_ERROR: &str = "ImageCreationError";
        /// The cluster that the environment is for does not exist.
        pub const MISSING_CLUSTER_DEPLOYMENT: &str = "MissingClusterDeployment";
    }
}

/// The conditions of an `AgentClassification`.
pub mod agent_classification {
    /// The query failed for at least one agent.
    pub const QUERY_ERRORS: &str = "QueryErrors";

    /// Why a classification's condition has its status.
    pub mod reason {
        /// The query failed for no agent.
        pub const NO_QUERY_ERRORS: &str = "NoQueryErrors";
        /// The query failed for some agents.
        pub const HAS_QUERY_ERRORS: &str = "HasQueryErrors";
    }
}

/// The conditions of an `AgentServiceConfig`.
pub mod agent_service_config {
    /// Everything that the service needs was made.
    pub const RECONCILE_COMPLETED: &str = "ReconcileCompleted";
    /// The service runs.
    pub const DEPLOYMENTS_HEALTHY: &str = "DeploymentsHealthy";
    /// The management cluster itself is managed.
    pub const LOCAL_CLUSTER_MANAGED: &str = "LocalClusterManaged";

    /// Why a configuration's condition has its status.
    pub mod reason {
        /// Everything was made.
        pub const RECONCILE_SUCCEEDED: &str = "ReconcileSucceeded";
        /// Everything runs.
        pub const DEPLOYMENT_SUCCEEDED: &str = "DeploymentSucceeded";
        /// Something does not run.
        pub const DEPLOYMENT_FAILURE: &str = "DeploymentFailure";
        /// A volume could not be claimed, or is too small.
        pub const STORAGE_FAILURE: &str = "StorageFailure";
        /// The configuration could not be written.
        pub const CONFIG_FAILURE: &str = "ConfigFailure";
        /// The bundle that OS images are downloaded with cannot be used.
        pub const OS_IMAGE_CA_CERT_REF_FAILURE: &str = "OSImageCACertRefFailure";
        /// There are OS images although the image service is off.
        pub const OS_IMAGES_SHOULD_BE_EMPTY_FAILURE: &str = "OSImagesShouldBeEmptyFailure";
        /// Off OpenShift, nobody said under which names the services are reached.
        pub const KUBERNETES_INGRESS_CONFIG_MISSING: &str = "KubernetesIngressConfigMissing";
    }
}
