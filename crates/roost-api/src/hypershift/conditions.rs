//! The types and reasons of conditions, by the kind that carries them.

/// Condition types of a `HostedCluster`, and of its `HostedControlPlane` where both carry them.
pub mod hosted_cluster {
    /// The control plane serves.
    pub const AVAILABLE: &str = "Available";
    /// The cluster is on its way to another version or configuration.
    pub const PROGRESSING: &str = "Progressing";
    /// Parts of the control plane have fewer replicas than they should.
    pub const DEGRADED: &str = "Degraded";
    /// Every published service has an address.
    pub const INFRASTRUCTURE_READY: &str = "InfrastructureReady";
    /// kube-apiserver runs.
    pub const KUBE_API_SERVER_AVAILABLE: &str = "KubeAPIServerAvailable";
    /// etcd has a quorum.
    pub const ETCD_AVAILABLE: &str = "EtcdAvailable";
    /// The management plane can run this control plane as it is configured.
    pub const VALID_HOSTED_CONTROL_PLANE_CONFIGURATION: &str = "ValidHostedControlPlaneConfiguration";
    /// The release names every image that is needed.
    pub const VALID_RELEASE_INFO: &str = "ValidReleaseInfo";
    /// The external name of the API server resolves.
    pub const EXTERNAL_DNS_REACHABLE: &str = "ExternalDNSReachable";
    /// The control plane reaches the nodes.
    pub const DATA_PLANE_CONNECTION_AVAILABLE: &str = "DataPlaneConnectionAvailable";
    /// The nodes reach the control plane.
    pub const CONTROL_PLANE_CONNECTION_AVAILABLE: &str = "ControlPlaneConnectionAvailable";
    /// The objects inside the hosted cluster were last reconciled without error.
    pub const CONFIG_OPERATOR_RECONCILIATION_SUCCEEDED: &str = "ConfigOperatorReconciliationSucceeded";
    /// The hosted cluster's version does not report a failure.
    pub const CLUSTER_VERSION_SUCCEEDING: &str = "ClusterVersionSucceeding";
    /// The hosted cluster's version is progressing.
    pub const CLUSTER_VERSION_PROGRESSING: &str = "ClusterVersionProgressing";
    /// The hosted cluster's version is available.
    pub const CLUSTER_VERSION_AVAILABLE: &str = "ClusterVersionAvailable";
    /// The hosted cluster accepted the release.
    pub const CLUSTER_VERSION_RELEASE_ACCEPTED: &str = "ClusterVersionReleaseAccepted";
    /// The hosted cluster may be upgraded.
    pub const CLUSTER_VERSION_UPGRADEABLE: &str = "ClusterVersionUpgradeable";
    /// The hosted cluster knows the updates of its channel.
    pub const CLUSTER_VERSION_RETRIEVED_UPDATES: &str = "ClusterVersionRetrievedUpdates";
    /// The etcd that the user runs can be used.
    pub const UNMANAGED_ETCD_AVAILABLE: &str = "UnmanagedEtcdAvailable";
    /// Nodes can fetch their configuration.
    pub const IGNITION_ENDPOINT_AVAILABLE: &str = "IgnitionEndpointAvailable";
    /// The release names every image that node configurations need.
    pub const IGNITION_SERVER_VALID_RELEASE_INFO: &str = "IgnitionServerValidReleaseInfo";
    /// The spec passes validation.
    pub const VALID_CONFIGURATION: &str = "ValidConfiguration";
    /// This management plane supports the cluster.
    pub const SUPPORTED_HOSTED_CLUSTER: &str = "SupportedHostedCluster";
    /// The proxy's certificate bundle can be used.
    pub const VALID_PROXY_CONFIGURATION: &str = "ValidProxyConfiguration";
    /// The identity providers can be used.
    pub const VALID_IDP_CONFIGURATION: &str = "ValidIDPConfiguration";
    /// The release may be installed or upgraded to.
    pub const VALID_RELEASE_IMAGE: &str = "ValidReleaseImage";
    /// The credentials of the platform exist.
    pub const PLATFORM_CREDENTIALS_FOUND: &str = "PlatformCredentialsFound";
    /// The object is reconciled, and not paused.
    pub const RECONCILIATION_ACTIVE: &str = "ReconciliationActive";
    /// The last reconciliation ended without error.
    pub const RECONCILIATION_SUCCEEDED: &str = "ReconciliationSucceeded";
    /// etcd is being recovered.
    pub const ETCD_RECOVERY_ACTIVE: &str = "EtcdRecoveryActive";
    /// The last backup of etcd succeeded.
    pub const ETCD_BACKUP_SUCCEEDED: &str = "EtcdBackupSucceeded";
    /// etcd started from the given snapshot.
    pub const ETCD_SNAPSHOT_RESTORED: &str = "EtcdSnapshotRestored";
    /// All Secrets are encrypted with the wanted key.
    pub const ETCD_DATA_ENCRYPTION_UP_TO_DATE: &str = "EtcdDataEncryptionUpToDate";
    /// The cluster came back from a backup.
    pub const RESTORED_FROM_BACKUP: &str = "HostedClusterRestoredFromBackup";
    /// What the cluster made outside is gone; only while deleting.
    pub const CLOUD_RESOURCES_DESTROYED: &str = "CloudResourcesDestroyed";
    /// The cluster is gone and waits out its grace period; only while deleting.
    pub const DESTROYED: &str = "HostedClusterDestroyed";
    /// The nodes' virtual machines can move between hosts.
    pub const KUBEVIRT_NODES_LIVE_MIGRATABLE: &str = "KubeVirtNodesLiveMigratable";
    /// The network under the virtual machines has a sufficient MTU.
    pub const VALID_KUBEVIRT_INFRA_NETWORK_MTU: &str = "ValidKubeVirtInfraNetworkMTU";
    /// The credentials suffice for network policies around the virtual machines.
    pub const VALID_KUBEVIRT_INFRA_NETWORK_POLICY_RBAC: &str = "ValidKubeVirtInfraNetworkPolicyRBAC";
    /// A provisioner makes nodes as pods need them.
    pub const AUTO_NODE_ENABLED: &str = "AutoNodeEnabled";
    /// The API server can be reached from outside.
    pub const PUBLIC_ENDPOINT_EXPOSED: &str = "PublicEndpointExposed";
    /// The cluster version operator is stopped; on a `HostedControlPlane` only.
    pub const CVO_SCALED_DOWN: &str = "CVOScaledDown";
}

/// Condition types of a `NodePool`, in the order in which they are evaluated.
pub mod node_pool {
    /// The pool grows and shrinks by itself.
    pub const AUTOSCALING_ENABLED: &str = "AutoscalingEnabled";
    /// The settings for upgrades are consistent.
    pub const UPDATE_MANAGEMENT_ENABLED: &str = "UpdateManagementEnabled";
    /// The pool's release can be used.
    pub const VALID_RELEASE_IMAGE: &str = "ValidReleaseImage";
    /// Present only while nodes cannot fetch their configuration.
    pub const IGNITION_ENDPOINT_AVAILABLE: &str = "IgnitionEndpointAvailable";
    /// The platform has machines of this architecture.
    pub const VALID_ARCH_PLATFORM: &str = "ValidArchPlatform";
    /// The pool is reconciled, and not paused.
    pub const RECONCILIATION_ACTIVE: &str = "ReconciliationActive";
    /// The pool's version is near enough to the control plane's.
    pub const SUPPORTED_VERSION_SKEW: &str = "SupportedVersionSkew";
    /// The configuration of the nodes can be built.
    pub const VALID_MACHINE_CONFIG: &str = "ValidMachineConfig";
    /// Nodes are moving to another configuration.
    pub const UPDATING_CONFIG: &str = "UpdatingConfig";
    /// Nodes are moving to another version.
    pub const UPDATING_VERSION: &str = "UpdatingVersion";
    /// The payload for new nodes is built.
    pub const VALID_GENERATED_PAYLOAD: &str = "ValidGeneratedPayload";
    /// A node has fetched its payload.
    pub const REACHED_IGNITION_ENDPOINT: &str = "ReachedIgnitionEndpoint";
    /// Every machine is ready.
    pub const ALL_MACHINES_READY: &str = "AllMachinesReady";
    /// Every node is healthy.
    pub const ALL_NODES_HEALTHY: &str = "AllNodesHealthy";
    /// Present only while a node's address lies in a network of the cluster.
    pub const CLUSTER_NETWORK_CIDR_CONFLICT: &str = "ClusterNetworkCIDRConflict";
    /// The virtual machines can move between hosts.
    pub const KUBEVIRT_NODES_LIVE_MIGRATABLE: &str = "KubeVirtNodesLiveMigratable";
    /// The settings for the platform can be used.
    pub const VALID_PLATFORM_CONFIG: &str = "ValidPlatformConfig";
    /// The platform has an operating system image of this release.
    pub const VALID_PLATFORM_IMAGE: &str = "ValidPlatformImage";
    /// The tuning of the nodes can be used.
    pub const VALID_TUNING_CONFIG: &str = "ValidTuningConfig";
    /// Machines are moving to another template.
    pub const UPDATING_PLATFORM_MACHINE_TEMPLATE: &str = "UpdatingPlatformMachineTemplate";
    /// The pool has the nodes that it should have.
    pub const READY: &str = "Ready";
    /// Unhealthy nodes are replaced by themselves.
    pub const AUTOREPAIR_ENABLED: &str = "AutorepairEnabled";
    /// Present only while the machine template cannot be used.
    pub const VALID_MACHINE_TEMPLATE: &str = "ValidMachineTemplate";
}

/// Condition types of a `ControlPlaneComponent`.
pub mod component {
    /// The component serves.
    pub const AVAILABLE: &str = "Available";
    /// Every replica is at the wanted version and configuration.
    pub const ROLLOUT_COMPLETE: &str = "RolloutComplete";
}

/// The reasons that conditions carry.
pub mod reason {
    /// All is as it should be.
    pub const AS_EXPECTED: &str = "AsExpected";
    /// What is needed does not exist.
    pub const NOT_FOUND: &str = "NotFound";
    /// Nothing is known yet.
    pub const STATUS_UNKNOWN: &str = "StatusUnknown";
    /// Something that was started is not available yet.
    pub const WAITING_FOR_AVAILABLE: &str = "WaitingForAvailable";
    /// Validation or a look-up stops the reconciliation.
    pub const BLOCKED: &str = "Blocked";
    /// A named Secret does not exist.
    pub const SECRET_NOT_FOUND: &str = "SecretNotFound";
    /// On the way.
    pub const PROGRESSING: &str = "Progressing";
    /// Replicas are missing.
    pub const UNAVAILABLE_REPLICAS: &str = "UnavailableReplicas";
    /// A published service has no address yet.
    pub const WAITING_ON_INFRASTRUCTURE_READY: &str = "WaitingOnInfrastructureReady";
    /// The state of the published services could not be read.
    pub const INFRASTRUCTURE_STATUS_FAILURE: &str = "InfraStatusFailure";
    /// The administrator's kubeconfig is not written yet.
    pub const KUBECONFIG_WAITING_FOR_CREATE: &str = "KubeconfigWaitingForCreate";
    /// The published API server does not answer.
    pub const LOAD_BALANCER_NOT_REACHABLE: &str = "KASLoadBalancerNotReachable";
    /// A component of the control plane is not available.
    pub const COMPONENTS_NOT_AVAILABLE: &str = "ComponentsNotAvailable";
    /// Enough members of etcd are ready.
    pub const QUORUM_AVAILABLE: &str = "QuorumAvailable";
    /// The user's etcd answers.
    pub const ETCD_RUNNING: &str = "EtcdRunning";
    /// etcd is not started yet.
    pub const STATEFUL_SET_NOT_FOUND: &str = "StatefulSetNotFound";
    /// Too few members of etcd are ready.
    pub const ETCD_WAITING_FOR_QUORUM: &str = "EtcdWaitingForQuorum";
    /// etcd could not be recovered.
    pub const ETCD_RECOVERY_JOB_FAILED: &str = "EtcdRecoveryJobFailed";
    /// The user's etcd can be used.
    pub const UNMANAGED_ETCD_AS_EXPECTED: &str = "UnmanagedEtcdAsExpected";
    /// The credentials for the user's etcd are missing or incomplete.
    pub const UNMANAGED_ETCD_MISCONFIGURED: &str = "UnmanagedEtcdMisconfigured";
    /// The management plane lacks something that the cluster needs.
    pub const INSUFFICIENT_CLUSTER_CAPABILITIES: &str = "InsufficientClusterCapabilities";
    /// The spec does not pass validation.
    pub const INVALID_CONFIGURATION: &str = "InvalidConfiguration";
    /// This management plane does not support the cluster.
    pub const UNSUPPORTED_HOSTED_CLUSTER: &str = "UnsupportedHostedCluster";
    /// The release lacks images.
    pub const MISSING_RELEASE_IMAGES: &str = "MissingReleaseImages";
    /// The release cannot be used.
    pub const INVALID_IMAGE: &str = "InvalidImage";
    /// The architecture of the release is unknown.
    pub const PAYLOAD_ARCH_NOT_FOUND: &str = "PayloadArchNotFound";
    /// The proxy's certificate bundle cannot be read.
    pub const PROXY_CA_BUNDLE_INVALID: &str = "ProxyCABundleInvalid";
    /// An identity provider cannot be used.
    pub const INVALID_IDENTITY_PROVIDER: &str = "InvalidIdentityProvider";
    /// The credentials of the platform do not exist.
    pub const PLATFORM_CREDENTIALS_NOT_FOUND: &str = "PlatformCredentialsNotFound";
    /// The external name does not resolve.
    pub const EXTERNAL_DNS_HOST_NOT_REACHABLE: &str = "ExternalDNSHostNotReachable";
    /// The user paused the object.
    pub const RECONCILIATION_PAUSED: &str = "ReconciliationPaused";
    /// The pool is reconciled.
    pub const RECONCILIATION_ACTIVE: &str = "ReconciliationActive";
    /// `pausedUntil` is neither a time nor a truth value, and is ignored.
    pub const INVALID_PAUSED_UNTIL_VALUE: &str = "InvalidPausedUntilValue";
    /// The last reconciliation ended without error; the spelling is the API's.
    pub const RECONCILIATION_SUCCEEDED: &str = "ReconciliatonSucceeded";
    /// The last reconciliation ended with an error.
    pub const RECONCILIATION_ERROR: &str = "ReconciliationError";
    /// A component that this one needs is not at the wanted version yet.
    pub const WAITING_FOR_DEPENDENCIES: &str = "WaitingForDependencies";
    /// No node runs a tunnel yet.
    pub const KONNECTIVITY_AGENT_PODS_NOT_FOUND: &str = "KonnectivityAgentPodsNotFound";
    /// Logs could not be read through the tunnel.
    pub const LOGS_ACCESS_FAILED: &str = "LogsAccessFailed";
    /// There are no nodes yet.
    pub const NO_WORKER_NODES_AVAILABLE: &str = "NoWorkerNodesAvailable";
    /// Reconciling ended with an error.
    pub const RECONCILE_ERROR: &str = "ReconcileError";
    /// A node could not reach the API server.
    pub const API_SERVER_ACCESS_FAILED: &str = "KASAccessFailed";
    /// The last word of the nodes is too old.
    pub const CONNECTION_CHECK_STALE: &str = "ConnectionCheckStale";
    /// A `ConfigMap` does not exist.
    pub const CONFIG_MAP_NOT_FOUND: &str = "ConfigMapNotFound";
    /// Taken from the hosted cluster's version.
    pub const FROM_CLUSTER_VERSION: &str = "FromClusterVersion";
    /// All Secrets are encrypted with the wanted key.
    pub const RE_ENCRYPTION_COMPLETED: &str = "ReEncryptionCompleted";
    /// Secrets are being rewritten with the wanted key.
    pub const RE_ENCRYPTION_IN_PROGRESS: &str = "ReEncryptionInProgress";
    /// Secrets could not be rewritten.
    pub const RE_ENCRYPTION_FAILED: &str = "ReEncryptionFailed";
    /// Not every replica of the API server has the wanted key yet.
    pub const RE_ENCRYPTION_WAITING_FOR_API_SERVER: &str = "ReEncryptionWaitingForKASConvergence";
    /// The wanted key is being made known for reading.
    pub const READ_ONLY_ROLLOUT_IN_PROGRESS: &str = "ReadOnlyRolloutInProgress";
    /// The wanted key is being made the one for writing.
    pub const WRITE_PROMOTION_IN_PROGRESS: &str = "WritePromotionInProgress";
    /// What the cluster made outside is not cleaned up.
    pub const CLOUD_RESOURCES_CLEANUP_SKIPPED: &str = "CloudResourcesCleanupSkipped";
    /// What the cluster made outside could not be cleaned up in time.
    pub const CLOUD_RESOURCES_DELETION_TIMED_OUT: &str = "CloudResourcesDeletionTimedOut";
    /// Deletion waits out its grace period.
    pub const WAITING_FOR_GRACE_PERIOD: &str = "WaitingForGracePeriod";
    /// The cluster came back from a backup.
    pub const RECOVERY_FINISHED: &str = "RecoveryFinished";
    /// The network under the virtual machines has a small MTU.
    pub const KUBEVIRT_SUBOPTIMAL_MTU_DETECTED: &str = "KubeVirtSuboptimalMTUDetected";
    /// The network under the virtual machines could not be read.
    pub const INFRA_CLUSTER_NETWORK_READ_FAILED: &str = "InfraClusterNetworkReadFailed";
    /// A network policy around the virtual machines could not be made.
    pub const INFRA_CLUSTER_NETWORK_POLICY_CREATE_FAILED: &str = "InfraClusterNetworkPolicyCreateFailed";
    /// A pool's settings do not pass validation.
    pub const VALIDATION_FAILED: &str = "ValidationFailed";
    /// An upgrade in place failed.
    pub const INPLACE_UPGRADE_FAILED: &str = "InplaceUpgradeFailed";
    /// The hosted cluster has no ignition endpoint yet.
    pub const IGNITION_ENDPOINT_MISSING: &str = "IgnitionEndpointMissing";
    /// The certificate of the ignition endpoint is missing.
    pub const IGNITION_CA_CERTIFICATE_MISSING: &str = "IgnitionCACertMissing";
    /// No node has fetched its payload yet.
    pub const IGNITION_NOT_REACHED: &str = "ignitionNotReached";
    /// The platform has no machines of this architecture.
    pub const INVALID_ARCH_PLATFORM: &str = "InvalidArchPlatform";
    /// The pool's version is too far from the control plane's.
    pub const UNSUPPORTED_SKEW: &str = "UnsupportedSkew";
    /// Something that is needed could not be read.
    pub const FAILED_TO_GET: &str = "FailedToGet";
    /// A node's address lies in a network of the cluster.
    pub const CIDR_CONFLICT: &str = "CIDRConflict";
    /// The machine template cannot be used.
    pub const INVALID_KUBEVIRT_MACHINE_TEMPLATE: &str = "InvalidKubevirtMachineTemplate";
}
