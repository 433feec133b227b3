//! Flags of virtual machines: for the first NodePool and for later ones.

use std::path::PathBuf;

use clap::Args;

use super::values::boolean;

/// The shape of a virtual machine.
#[derive(Args)]
#[command(next_help_heading = "Virtual machine")]
pub(crate) struct VirtualMachine {
    /// Memory of a machine.
    #[arg(long, value_name = "SIZE", default_value = "4Gi")]
    pub(crate) memory: String,
    /// Cores of a machine.
    #[arg(long, value_name = "COUNT", default_value_t = 2)]
    pub(crate) cores: u32,
    /// Burstable or Guaranteed [default: Burstable].
    #[arg(long, value_name = "CLASS")]
    pub(crate) qos_class: Option<String>,
    /// The storage class of the root volume.
    #[arg(long, value_name = "CLASS")]
    pub(crate) root_volume_storage_class: Option<String>,
    /// The size of the root volume in Gi, at least 16.
    #[arg(long, value_name = "GI", default_value_t = 32)]
    pub(crate) root_volume_size: u32,
    /// Access modes of the root volume, such as ReadWriteOnce or ReadWriteMany.
    #[arg(long, value_name = "MODE", value_delimiter = ',')]
    pub(crate) root_volume_access_modes: Vec<String>,
    /// Filesystem or Block.
    #[arg(long, value_name = "MODE")]
    pub(crate) root_volume_volume_mode: Option<String>,
    /// How the boot image is kept near: None or PVC.
    #[arg(long, value_name = "STRATEGY")]
    pub(crate) root_volume_cache_strategy: Option<String>,
    /// A container disk to boot from, instead of the release's.
    #[arg(long, value_name = "IMAGE")]
    pub(crate) containerdisk: Option<String>,
    /// Several queues for each interface: Enable or Disable.
    #[arg(long, value_name = "STATE", default_value = "Enable")]
    pub(crate) network_multiqueue: String,
    /// One more network, as name:NAMESPACE/NAME; may be given several times.
    #[arg(long, value_name = "NETWORK")]
    pub(crate) additional_network: Vec<String>,
    /// Whether a machine also gets the pods' network; false needs an additional network.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", value_parser = boolean)]
    pub(crate) attach_default_network: Option<bool>,
    /// Labels of the nodes that may run the machines.
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    pub(crate) vm_node_selector: Vec<String>,
    /// A device of the host for each machine, as NAME or NAME,count:N; may be given several times.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) host_device_name: Vec<String>,
}

/// Where the virtual machines run, and how the cluster is published.
#[derive(Args)]
#[command(next_help_heading = "KubeVirt")]
pub(crate) struct KubevirtInfra {
    /// The kubeconfig of another cluster that runs the machines; needs --infra-namespace.
    #[arg(long, value_name = "FILE")]
    pub(crate) infra_kubeconfig_file: Option<PathBuf>,
    /// The namespace there; needs --infra-kubeconfig-file.
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) infra_namespace: Option<String>,
    /// A storage class there and its name inside, as INFRA/GUEST or INFRA/GUEST,group=G; may be given several times.
    #[arg(long, value_name = "MAPPING")]
    pub(crate) infra_storage_class_mapping: Vec<String>,
    /// The same for classes of snapshots.
    #[arg(long, value_name = "MAPPING")]
    pub(crate) infra_volumesnapshot_class_mapping: Vec<String>,
    /// How services are published: Ingress (load balancer and routes) or NodePort.
    #[arg(long, value_name = "STRATEGY", default_value = "Ingress")]
    pub(crate) service_publishing_strategy: String,
    /// The address where the API is published; only with NodePort.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) api_server_address: Option<String>,
}
