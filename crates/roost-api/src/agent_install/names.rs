//! Labels, annotations and finalizers of these kinds, as clients and other controllers know them.

/// Labels.
pub mod label {
    /// On an agent and on a bare-metal host: the environment that it belongs to.
    pub const INFRA_ENV: &str = "infraenvs.agent-install.openshift.io";
    /// On an agent: the bare-metal host that it runs on.
    pub const BARE_METAL_HOST: &str = "agent-install.openshift.io/bmh";
    /// On an agent: the namespace of the cluster that it is bound to, or nothing.
    pub const CLUSTER_NAMESPACE: &str = "agent-install.openshift.io/clusterdeployment-namespace";
    /// On an agent: the machine that claimed it.
    pub const AGENT_MACHINE: &str = "agentMachineRef";
    /// On secrets and config maps: controllers watch only those that have it.
    pub const WATCH: &str = "agent-install.openshift.io/watch";
    /// On secrets and config maps: they belong into a backup.
    pub const BACKUP: &str = "cluster.open-cluster-management.io/backup";

    /// On an agent: whether any disk does not rotate.
    pub const INVENTORY_SOLID_STATE_DISK: &str = "inventory.agent-install.openshift.io/storage-hasnonrotationaldisk";
    /// On an agent: the architecture of its processors.
    pub const INVENTORY_CPU_ARCHITECTURE: &str = "inventory.agent-install.openshift.io/cpu-architecture";
    /// On an agent: whether its processors can run virtual machines.
    pub const INVENTORY_CPU_VIRTUALIZATION: &str = "inventory.agent-install.openshift.io/cpu-virtenabled";
    /// On an agent: who made the host.
    pub const INVENTORY_MANUFACTURER: &str = "inventory.agent-install.openshift.io/host-manufacturer";
    /// On an agent: what its maker calls it.
    pub const INVENTORY_PRODUCT_NAME: &str = "inventory.agent-install.openshift.io/host-productname";
    /// On an agent: whether the host is a virtual machine.
    pub const INVENTORY_IS_VIRTUAL: &str = "inventory.agent-install.openshift.io/host-isvirtual";

    /// On an agent: the beginning of the labels that classifications give.
    pub const CLASSIFICATION_PREFIX: &str = "agentclassification.agent-install.openshift.io/";
}

/// Annotations.
pub mod annotation {
    /// On an agent: the namespace of the machine that claimed it.
    pub const AGENT_MACHINE_NAMESPACE: &str = "agentMachineRefNamespace";
    /// On an agent: the form of its inventory labels.
    pub const INVENTORY_VERSION: &str = "inventory.agent-install.openshift.io/version";
    /// On an agent: nothing in the hosted cluster is removed with it.
    pub const SKIP_SPOKE_CLEANUP: &str = "agent.agent-install.openshift.io/skip-spoke-cleanup";
    /// On an agent: the node labels that came from its environment.
    pub const INHERITED_NODE_LABELS: &str = "agent.agent-install.openshift.io/inherited-node-labels";

    /// On an environment: the labels of it that become node labels.
    pub const PROPAGATE_NODE_LABELS: &str = "infraenv.agent-install.openshift.io/propagate-node-labels";
    /// On an environment: the image holds an Ironic agent.
    pub const ENABLE_IRONIC_AGENT: &str = "infraenv.agent-install.openshift.io/enable-ironic-agent";
    /// On an environment: another image of the Ironic agent.
    pub const IRONIC_AGENT_IMAGE_OVERRIDE: &str = "infraenv.agent-install.openshift.io/ironic-agent-image-override";
    /// On an environment: the family of addresses that the Ironic agent uses, `v4` or `v6`.
    pub const IP_FAMILY: &str = "infraenv.agent-install.openshift.io/ip-family";

    /// On the service's configuration: a config map whose values win over the generated ones.
    pub const SERVICE_CONFIG_MAP: &str = "unsupported.agent-install.openshift.io/assisted-service-configmap";
    /// On the service's configuration: `true` lets OS images come from servers that nobody vouches for.
    pub const IMAGE_SERVICE_SKIP_VERIFY_TLS: &str =
        "unsupported.agent-install.openshift.io/assisted-image-service-skip-verify-tls";
    /// On the service's configuration: `true` lets discovered hosts pull unsigned images.
    pub const ALLOW_UNRESTRICTED_IMAGE_PULLS: &str =
        "unsupported.agent-install.openshift.io/assisted-service-allow-unrestricted-image-pulls";
    /// On the service's configuration: `false` turns the image service off.
    pub const ENABLE_IMAGE_SERVICE: &str = "agent-install.openshift.io/enable-image-service";

    /// On a cluster: host validations that do not hold it up, or `all`.
    pub const IGNORED_HOST_VALIDATIONS: &str = "agent-install.openshift.io/ignored-host-validations";
    /// On a cluster: cluster validations that do not hold it up, or `all`.
    pub const IGNORED_CLUSTER_VALIDATIONS: &str = "agent-install.openshift.io/ignored-cluster-validations";

    /// On a bare-metal host: what its agent is told.
    pub mod bare_metal_host {
        /// The agent's role.
        pub const ROLE: &str = "bmac.agent-install.openshift.io/role";
        /// The agent's hostname.
        pub const HOSTNAME: &str = "bmac.agent-install.openshift.io/hostname";
        /// The agent's machine config pool.
        pub const MACHINE_CONFIG_POOL: &str = "bmac.agent-install.openshift.io/machine-config-pool";
        /// The agent's arguments of the installer.
        pub const INSTALLER_ARGUMENTS: &str = "bmac.agent-install.openshift.io/installer-args";
        /// The agent's overrides of its Ignition config.
        pub const IGNITION_CONFIG_OVERRIDES: &str = "bmac.agent-install.openshift.io/ignition-config-overrides";
        /// The agent's cluster as namespace/name; an empty value unbinds.
        pub const CLUSTER_REFERENCE: &str = "bmac.agent-install.openshift.io/cluster-reference";
        /// Deleting the host deletes its agent and its node.
        pub const REMOVE_AGENT_AND_NODE_ON_DELETE: &str =
            "bmac.agent-install.openshift.io/remove-agent-and-node-on-delete";
        /// How long a node may be drained before it is removed.
        pub const DRAIN_TIMEOUT: &str = "bmac.agent-install.openshift.io/drain-timeout";
        /// The host may be managed although it is provisioned already.
        pub const ALLOW_PROVISIONED_HOST_MANAGEMENT: &str =
            "bmac.agent-install.openshift.io/allow-provisioned-host-management";
        /// The beginning of annotations that become node labels.
        pub const NODE_LABEL_PREFIX: &str = "bmac.agent-install.openshift.io.node-label.";
        /// The beginning of annotations that become labels of the agent.
        pub const AGENT_LABEL_PREFIX: &str = "bmac.agent-install.openshift.io.agent-label.";
    }
}

/// Finalizers.
pub mod finalizer {
    /// On an agent: its host leaves the cluster first.
    pub const AGENT: &str = "agent.agent-install.openshift.io/ai-deprovision";
    /// On an environment: its hosts leave their clusters first.
    pub const INFRA_ENV: &str = "infraenv.agent-install.openshift.io/ai-deprovision";
    /// On a classification: the label is taken from all agents first.
    pub const AGENT_CLASSIFICATION: &str = "agentclassification.agent-install.openshift.io";
    /// On a bare-metal host: its agent goes first.
    pub const BARE_METAL_HOST: &str = "bmac.agent-install.openshift.io/deprovision";
}

/// Keys in secrets and config maps that these kinds refer to.
pub mod key {
    /// In the secret of `ignitionEndpointTokenReference`: the token.
    pub const IGNITION_TOKEN: &str = "ignition-token";
    /// In the config map of `mirrorRegistryRef`: the registries, as TOML.
    pub const REGISTRIES: &str = "registries.conf";
    /// In the config map of `mirrorRegistryRef`: whom to trust.
    pub const CERTIFICATE_BUNDLE: &str = "ca-bundle.crt";
    /// In the secret of `OSImageAdditionalParamsRef`: headers of downloads, as a JSON object.
    pub const DOWNLOAD_HEADERS: &str = "headers";
    /// In the secret of `OSImageAdditionalParamsRef`: query parameters of downloads, as a JSON object.
    pub const DOWNLOAD_QUERY_PARAMETERS: &str = "query_params";
}
