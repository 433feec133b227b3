//! The annotations, labels, finalizers and keys that objects of these kinds carry.

/// Annotations.
pub mod annotation {
    /// On what belongs to a hosted cluster: its namespace and name, with a slash between.
    pub const CLUSTER: &str = "hypershift.openshift.io/cluster";
    /// On what belongs to a node pool: its namespace and name, with a slash between.
    pub const NODE_POOL: &str = "hypershift.openshift.io/nodePool";
    /// The hash of what was last applied, so that nothing is applied twice.
    pub const DESIRED_STATE_HASH: &str = "hypershift.openshift.io/desired-state-hash";
    /// On pods: the release that they come from.
    pub const RELEASE_IMAGE: &str = "hypershift.openshift.io/release-image";
    /// On a hosted cluster that was available once.
    pub const HAS_BEEN_AVAILABLE: &str = "HasBeenAvailable";
    /// On pods: the hash of the configuration that they mount.
    pub const CONFIG_HASH: &str = "component.hypershift.openshift.io/config-hash";
    /// Another image for the control plane operator.
    pub const CONTROL_PLANE_OPERATOR_IMAGE: &str = "hypershift.openshift.io/control-plane-operator-image";
    /// Other images for components, as `component=image`, with commas between.
    pub const IMAGE_OVERRIDES: &str = "hypershift.openshift.io/image-overrides";
    /// Another image for the Cluster API manager.
    pub const CLUSTER_API_MANAGER_IMAGE: &str = "hypershift.openshift.io/capi-manager-image";
    /// Another image for the machine provider of the platform Agent.
    pub const CLUSTER_API_PROVIDER_AGENT_IMAGE: &str = "hypershift.openshift.io/capi-provider-agent-image";
    /// Another image for the machine provider of the platform `KubeVirt`.
    pub const CLUSTER_API_PROVIDER_KUBEVIRT_IMAGE: &str = "hypershift.openshift.io/capi-provider-kubevirt-image";
    /// Another image for the cluster autoscaler.
    pub const CLUSTER_AUTOSCALER_IMAGE: &str = "hypershift.openshift.io/cluster-autoscaler-image";
    /// Another image for the approver of node certificates.
    pub const MACHINE_APPROVER_IMAGE: &str = "hypershift.openshift.io/machine-approver-image";
    /// Another image for the tunnel's server.
    pub const KONNECTIVITY_SERVER_IMAGE: &str = "hypershift.openshift.io/konnectivity-server-image";
    /// Another image for the tunnel's agents.
    pub const KONNECTIVITY_AGENT_IMAGE: &str = "hypershift.openshift.io/konnectivity-agent-image";
    /// Another image for the proxy on each node; a pool's own wins.
    pub const HAPROXY_IMAGE: &str = "hypershift.openshift.io/haproxy-image";
    /// The release is not checked.
    pub const SKIP_RELEASE_IMAGE_VALIDATION: &str = "hypershift.openshift.io/skip-release-image-validation";
    /// The release to upgrade to although it is refused; must equal the spec's.
    pub const FORCE_UPGRADE_TO: &str = "hypershift.openshift.io/force-upgrade-to";
    /// Names of serving certificates may equal names of the API server.
    pub const SKIP_API_SERVER_NAME_CONFLICT_VALIDATION: &str =
        "hypershift.openshift.io/skip-kas-conflict-san-validation";
    /// A new value restarts every pod of the control plane.
    pub const RESTART_DATE: &str = "hypershift.openshift.io/restart-date";
    /// Deletion also removes what the cluster made outside.
    pub const CLEANUP_CLOUD_RESOURCES: &str = "hypershift.openshift.io/cleanup-cloud-resources";
    /// How long a destroyed cluster stays visible.
    pub const DESTROY_GRACE_PERIOD: &str = "hypershift.openshift.io/destroy-grace-period";
    /// Deletion leaves the control plane's namespace.
    pub const SKIP_DELETE_CONTROL_PLANE_NAMESPACE: &str =
        "hypershift.openshift.io/skip-delete-hosted-controlplane-namespace";
    /// The cluster comes from a backup.
    pub const RESTORED_FROM_BACKUP: &str = "hypershift.openshift.io/restored-from-backup";
    /// Certificates are not made nor renewed.
    pub const DISABLE_PKI_RECONCILIATION: &str = "hypershift.openshift.io/disable-pki-reconciliation";
    /// No machines are made.
    pub const DISABLE_MACHINE_MANAGEMENT: &str = "hypershift.openshift.io/disable-machine-management";
    /// Node configurations are not served.
    pub const DISABLE_IGNITION_SERVER: &str = "hypershift.openshift.io/disable-ignition-server";
    /// No autoscaler runs.
    pub const DISABLE_CLUSTER_AUTOSCALER: &str = "hypershift.openshift.io/disable-cluster-autoscaler";
    /// No monitoring is set up.
    pub const DISABLE_MONITORING_SERVICES: &str = "hypershift.openshift.io/disable-monitoring-services";
    /// Components whose profiling is off.
    pub const DISABLE_PROFILING: &str = "hypershift.openshift.io/disable-profiling";
    /// The pod security level of the control plane's namespace.
    pub const POD_SECURITY_ADMISSION_LABEL_OVERRIDE: &str =
        "hypershift.openshift.io/pod-security-admission-label-override";
    /// The hosted cluster's pull secret is made once, and then left alone.
    pub const ENSURE_EXISTS_PULL_SECRET: &str = "hypershift.openshift.io/ensureexists-pullsecret-reconcile";
    /// Deployments that are kept at no replicas.
    pub const DEBUG_DEPLOYMENTS: &str = "hypershift.openshift.io/debug-deployments";
    /// Only an operator of the same scope reconciles the object.
    pub const SCOPE: &str = "hypershift.openshift.io/scope";
    /// How long certificates are valid.
    pub const CERTIFICATE_VALIDITY: &str = "hypershift.openshift.io/certificate-validity";
    /// How much of a certificate's life is left when it is renewed.
    pub const CERTIFICATE_RENEWAL: &str = "hypershift.openshift.io/certificate-renewal";
    /// How eagerly kube-apiserver collects garbage.
    pub const KUBE_API_SERVER_GC_PERCENTAGE: &str = "hypershift.openshift.io/kube-apiserver-gogc";
    /// The memory that kube-apiserver tries to stay below.
    pub const KUBE_API_SERVER_MEMORY_LIMIT: &str = "hypershift.openshift.io/kube-apiserver-gomemlimit";
    /// How many reads kube-apiserver serves at once.
    pub const KUBE_API_SERVER_MAXIMUM_REQUESTS_INFLIGHT: &str =
        "hypershift.openshift.io/kube-apiserver-max-requests-inflight";
    /// How many writes kube-apiserver serves at once.
    pub const KUBE_API_SERVER_MAXIMUM_MUTATING_REQUESTS_INFLIGHT: &str =
        "hypershift.openshift.io/kube-apiserver-max-mutating-requests-inflight";
    /// How much kube-apiserver logs.
    pub const KUBE_API_SERVER_VERBOSITY_LEVEL: &str = "hypershift.openshift.io/kube-apiserver-verbosity-level";
    /// How often kube-apiserver asks clients to connect anew.
    pub const KUBE_API_SERVER_GO_AWAY_CHANCE: &str = "hypershift.openshift.io/kube-apiserver-goaway-chance";
    /// The longest life of a service account token.
    pub const KUBE_API_SERVER_TOKEN_MAXIMUM_EXPIRATION: &str =
        "hypershift.openshift.io/kube-apiserver-service-account-token-max-expiration";
    /// The priority of the control plane's pods.
    pub const CONTROL_PLANE_PRIORITY_CLASS: &str = "hypershift.openshift.io/control-plane-priority-class";
    /// The priority of the pods that serve the API.
    pub const API_CRITICAL_PRIORITY_CLASS: &str = "hypershift.openshift.io/api-critical-priority-class";
    /// The priority of etcd's pods.
    pub const ETCD_PRIORITY_CLASS: &str = "hypershift.openshift.io/etcd-priority-class";
    /// Before `deployment.container`: other resource requests.
    pub const RESOURCE_REQUEST_OVERRIDE_PREFIX: &str = "resource-request-override.hypershift.openshift.io/";
    /// Before the name of an identity provider: other settings of it.
    pub const IDENTITY_PROVIDER_OVERRIDE_PREFIX: &str = "idpoverrides.hypershift.openshift.io/";
    /// Another address of the login page.
    pub const LOGIN_URL_OVERRIDE: &str = "oauth.hypershift.openshift.io/login-url-override";
    /// Where the parts that serve requests run.
    pub const TOPOLOGY: &str = "hypershift.openshift.io/topology";
    /// Dedicated nodes are assigned.
    pub const CLUSTER_SCHEDULED: &str = "hypershift.openshift.io/cluster-scheduled";
    /// Further labels of the nodes that serve requests.
    pub const REQUEST_SERVING_NODE_ADDITIONAL_SELECTOR: &str =
        "hypershift.openshift.io/request-serving-node-additional-selector";
    /// The size that the cluster is treated as.
    pub const CLUSTER_SIZE_OVERRIDE: &str = "hypershift.openshift.io/cluster-size-override";
    /// The size that the control plane's load asks for.
    pub const RECOMMENDED_CLUSTER_SIZE: &str = "hypershift.openshift.io/recommended-cluster-size";
    /// The control plane's size follows its load.
    pub const RESOURCE_BASED_AUTOSCALING: &str = "hypershift.openshift.io/resource-based-cp-auto-scaling";
    /// A JSON patch for the virtual machines; on a cluster or a pool.
    pub const KUBEVIRT_MACHINE_JSON_PATCH: &str = "hypershift.openshift.io/kubevirt-vm-jsonpatch";
    /// Operating system images that are not made for `KubeVirt` may be used.
    pub const ALLOW_UNSUPPORTED_KUBEVIRT_IMAGES: &str =
        "hypershift.openshift.io/allow-unsupported-kubevirt-rhcos-variants";
    /// The platform of the management cluster.
    pub const MANAGEMENT_PLATFORM: &str = "hypershift.openshift.io/management-platform";
    /// How long a node may be unhealthy; a pool's own wins.
    pub const MACHINE_HEALTH_CHECK_TIMEOUT: &str = "hypershift.openshift.io/machine-health-check-timeout";
    /// How long a node may take to start; a pool's own wins.
    pub const MACHINE_HEALTH_CHECK_NODE_STARTUP_TIMEOUT: &str =
        "hypershift.openshift.io/machine-health-check-node-startup-timeout";
    /// How many nodes may be unhealthy before repair stops; a pool's own wins.
    pub const MACHINE_HEALTH_CHECK_MAXIMUM_UNHEALTHY: &str =
        "hypershift.openshift.io/machine-health-check-max-unhealthy";
    /// On a pool: the hash of the configuration that all its nodes have.
    pub const NODE_POOL_CURRENT_CONFIG: &str = "hypershift.openshift.io/nodePoolCurrentConfig";
    /// On a pool: the hash of the configuration and version that all its nodes have.
    pub const NODE_POOL_CURRENT_CONFIG_VERSION: &str = "hypershift.openshift.io/nodePoolCurrentConfigVersion";
    /// On machine sets: the hash of the configuration and version that nodes move to.
    pub const NODE_POOL_TARGET_CONFIG_VERSION: &str = "hypershift.openshift.io/nodePoolTargetConfigVersion";
}

/// Labels.
pub mod label {
    /// On the control plane's namespace: `true`. On its pods: the namespace.
    pub const HOSTED_CONTROL_PLANE: &str = "hypershift.openshift.io/hosted-control-plane";
    /// On pods: the component that they belong to.
    pub const CONTROL_PLANE_COMPONENT: &str = "hypershift.openshift.io/control-plane-component";
    /// On pods that may reach the management API.
    pub const NEEDS_MANAGEMENT_API_ACCESS: &str = "hypershift.openshift.io/need-management-kas-access";
    /// On pods that serve users' requests.
    pub const REQUEST_SERVING_COMPONENT: &str = "hypershift.openshift.io/request-serving-component";
    /// On objects that the control plane operator made.
    pub const MANAGED_BY: &str = "hypershift.openshift.io/managed-by";
    /// On nodes: the pool that they belong to.
    pub const NODE_POOL: &str = "hypershift.openshift.io/nodePool";
    /// On objects that the command line made and may delete with the cluster.
    pub const SAFE_TO_DELETE_WITH_CLUSTER: &str = "hypershift.openshift.io/safe-to-delete-with-cluster";
    /// On objects that the command line made: the cluster's infrastructure id.
    pub const AUTO_CREATED_FOR_INFRA: &str = "hypershift.openshift.io/auto-created-for-infra";
    /// The size of a hosted cluster.
    pub const HOSTED_CLUSTER_SIZE: &str = "hypershift.openshift.io/hosted-cluster-size";
    /// On nodes that are kept for control planes, and their taints.
    pub const CONTROL_PLANE: &str = "hypershift.openshift.io/control-plane";
    /// On nodes that are kept for one hosted cluster, and their taints.
    pub const CLUSTER: &str = "hypershift.openshift.io/cluster";
}

/// Finalizers.
pub mod finalizer {
    /// On hosted clusters, their control planes and node pools.
    pub const RESOURCE: &str = "hypershift.openshift.io/finalizer";
    /// On the deployments that must outlive the machines they manage.
    pub const COMPONENT: &str = "hypershift.openshift.io/component-finalizer";
    /// On hosted clusters whose outside infrastructure the command line takes down.
    pub const DESTROY_CLUSTER: &str = "openshift.io/destroy-cluster";
}

/// Keys in Secrets and `ConfigMaps` that users and controllers write.
pub mod key {
    /// The registry credentials in the pull secret.
    pub const PULL_SECRET: &str = ".dockerconfigjson";
    /// The public key in the Secret of `sshKey`.
    pub const SSH_PUBLIC_KEY: &str = "id_rsa.pub";
    /// The certificates in the `ConfigMap` of `additionalTrustBundle`.
    pub const TRUST_BUNDLE: &str = "ca-bundle.crt";
    /// The kubeconfig in the Secret of `auditWebhook`.
    pub const AUDIT_WEBHOOK: &str = "webhook-kubeconfig";
    /// The key in the Secrets of `secretEncryption.aescbc`.
    pub const ENCRYPTION_KEY: &str = "key";
    /// The private key in the Secret of `serviceAccountSigningKey`.
    pub const SERVICE_ACCOUNT_SIGNING_KEY: &str = "key";
    /// The public key that tokens may still be signed with, beside the signing key.
    pub const SERVICE_ACCOUNT_OLD_PUBLIC_KEY: &str = "old-key.pub";
    /// The client certificate in the Secret of `etcd.unmanaged.tls`.
    pub const ETCD_CLIENT_CERTIFICATE: &str = "etcd-client.crt";
    /// The client key in the Secret of `etcd.unmanaged.tls`.
    pub const ETCD_CLIENT_KEY: &str = "etcd-client.key";
    /// The server's certificate authority in the Secret of `etcd.unmanaged.tls`.
    pub const ETCD_CLIENT_CA: &str = "etcd-client-ca.crt";
    /// The machine configuration in the `ConfigMap`s of a pool.
    pub const NODE_POOL_CONFIG: &str = "config";
    /// The tuning in the `ConfigMap`s of a pool.
    pub const NODE_POOL_TUNING: &str = "tuning";
    /// The administrator's kubeconfig.
    pub const KUBECONFIG: &str = "kubeconfig";
    /// The first user's password.
    pub const KUBEADMIN_PASSWORD: &str = "password";
}
