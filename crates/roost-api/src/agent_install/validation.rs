//! The names of what is validated about a host.

/// The categories that results are sorted by.
pub mod category {
    /// How the host is reached, and what it reaches.
    pub const NETWORK: &str = "network";
    /// What the host consists of.
    pub const HARDWARE: &str = "hardware";
    /// What operators of its cluster need.
    pub const OPERATORS: &str = "operators";
}

/// The network validations.
pub mod network {
    /// The host polls.
    pub const CONNECTED: &str = "connected";
    /// The image that the host booted from can still be read.
    pub const MEDIA_CONNECTED: &str = "media-connected";
    /// The network of the machines is known.
    pub const MACHINE_CIDR_DEFINED: &str = "machine-cidr-defined";
    /// The host has an address in that network.
    pub const BELONGS_TO_MACHINE_CIDR: &str = "belongs-to-machine-cidr";
    /// The host reaches most of the others.
    pub const BELONGS_TO_MAJORITY_GROUP: &str = "belongs-to-majority-group";
    /// The host can download its Ignition config.
    pub const IGNITION_DOWNLOADABLE: &str = "ignition-downloadable";
    /// The host takes its time from a server.
    pub const NTP_SYNCED: &str = "ntp-synced";
    /// The clocks of host and service agree.
    pub const TIME_SYNCED: &str = "time-synced-between-host-and-service";
    /// The host can pull images.
    pub const CONTAINER_IMAGES_AVAILABLE: &str = "container-images-available";
    /// The host has a route to everywhere.
    pub const HAS_DEFAULT_ROUTE: &str = "has-default-route";
    /// Packets are fast enough.
    pub const SUFFICIENT_LATENCY: &str = "sufficient-network-latency-requirement-for-role";
    /// Packets arrive.
    pub const SUFFICIENT_PACKET_LOSS: &str = "sufficient-packet-loss-requirement-for-role";
    /// The name of the API resolves.
    pub const API_NAME_RESOLVES: &str = "api-domain-name-resolved-correctly";
    /// The internal name of the API resolves.
    pub const INTERNAL_API_NAME_RESOLVES: &str = "api-int-domain-name-resolved-correctly";
    /// The names of applications resolve.
    pub const APPS_NAME_RESOLVES: &str = "apps-domain-name-resolved-correctly";
    /// The name of the release's registry resolves.
    pub const RELEASE_NAME_RESOLVES: &str = "release-domain-name-resolved-correctly";
    /// Not every name resolves.
    pub const NO_DNS_WILDCARD: &str = "dns-wildcard-not-configured";
    /// The networks of the host's interfaces do not overlap.
    pub const NON_OVERLAPPING_SUBNETS: &str = "non-overlapping-subnets";
    /// No two hosts have the same address.
    pub const NO_ADDRESS_COLLISIONS: &str = "no-ip-collisions-in-network";
    /// Large packets pass.
    pub const MTU_VALID: &str = "mtu-valid";
    /// The platform allows how the network is managed.
    pub const VALID_PLATFORM_SETTINGS: &str = "valid-platform-network-settings";
    /// The disk's network is not the machines' network.
    pub const NO_ISCSI_IN_MACHINE_CIDR: &str = "no-iscsi-nic-belongs-to-machine-cidr";
}

/// The hardware validations.
pub mod hardware {
    /// The host reported what it consists of.
    pub const HAS_INVENTORY: &str = "has-inventory";
    /// It reported all of it.
    pub const INVENTORY_NOT_PARTIALLY_TRUNCATED: &str = "inventory-not-partially-truncated";
    /// It reported enough of it.
    pub const INVENTORY_NOT_FULLY_TRUNCATED: &str = "inventory-not-fully-truncated";
    /// It has processors enough for any role.
    pub const MINIMUM_CPU_CORES: &str = "has-min-cpu-cores";
    /// It has memory enough for any role.
    pub const MINIMUM_MEMORY: &str = "has-min-memory";
    /// It has a disk to install to.
    pub const MINIMUM_VALID_DISKS: &str = "has-min-valid-disks";
    /// It has processors enough for its role.
    pub const CPU_CORES_FOR_ROLE: &str = "has-cpu-cores-for-role";
    /// It has memory enough for its role.
    pub const MEMORY_FOR_ROLE: &str = "has-memory-for-role";
    /// No other host of the cluster has its name.
    pub const HOSTNAME_UNIQUE: &str = "hostname-unique";
    /// Its name can be the name of a node.
    pub const HOSTNAME_VALID: &str = "hostname-valid";
    /// Its platform fits that of the cluster.
    pub const COMPATIBLE_PLATFORM: &str = "compatible-with-cluster-platform";
    /// Its virtual disks have identities.
    pub const VSPHERE_DISK_UUID: &str = "vsphere-disk-uuid-enabled";
    /// Its disk can be encrypted as the cluster wants.
    pub const DISK_ENCRYPTION: &str = "disk-encryption-requirements-satisfied";
    /// Its disk is fast enough.
    pub const INSTALLATION_DISK_SPEED: &str = "sufficient-installation-disk-speed";
    /// It runs the agent that the service expects.
    pub const COMPATIBLE_AGENT: &str = "compatible-agent";
    /// The disk to install to is not among those to keep.
    pub const NO_SKIP_INSTALLATION_DISK: &str = "no-skip-installation-disk";
    /// The disks to keep are there.
    pub const NO_SKIP_MISSING_DISK: &str = "no-skip-missing-disk";
}

/// What must hold whatever a cluster ignores.
pub const NEVER_IGNORED: &[&str] = &[
    network::CONNECTED,
    hardware::HAS_INVENTORY,
    hardware::INVENTORY_NOT_FULLY_TRUNCATED,
    network::MACHINE_CIDR_DEFINED,
    hardware::HOSTNAME_UNIQUE,
    hardware::HOSTNAME_VALID,
];
