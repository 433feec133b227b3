//! Virtual machines: their shape, networks, devices, and the classes of storage below them.

use std::collections::BTreeMap;

use crate::arguments::{KubevirtInfra, VirtualMachine};

use super::usage::UsageError;
use super::values::{choice, labels, quantity};
use super::{ClassMapping, KubeVirt};

/// The smallest root volume that an operating system fits on.
const SMALLEST_ROOT_VOLUME: u32 = 16;

/// The shape of a virtual machine.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) memory: String,
    pub(crate) cores: u32,
    pub(crate) qos_class: Option<String>,
    pub(crate) root_volume_size: String,
    pub(crate) root_volume_class: Option<String>,
    pub(crate) root_volume_access_modes: Vec<String>,
    pub(crate) root_volume_mode: Option<String>,
    pub(crate) cache_strategy: Option<String>,
    pub(crate) container_disk: Option<String>,
    pub(crate) multiqueue: String,
    pub(crate) additional_networks: Vec<String>,
    pub(crate) attach_default_network: bool,
    pub(crate) node_selector: BTreeMap<String, String>,
    pub(crate) host_devices: Vec<HostDevice>,
}

/// A device of the host that a machine gets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HostDevice {
    pub(crate) name: String,
    pub(crate) count: u32,
}

pub(super) fn machine(flags: &VirtualMachine) -> Result<Machine, UsageError> {
    if flags.cores == 0 {
        return Err(UsageError::Cores);
    }
    if flags.root_volume_size < SMALLEST_ROOT_VOLUME {
        return Err(UsageError::RootVolumeSize(flags.root_volume_size));
    }
    let attach_default_network = flags.attach_default_network.unwrap_or(true);
    if !attach_default_network && flags.additional_network.is_empty() {
        return Err(UsageError::NoNetwork);
    }
    let optional = |flag: &'static str, value: &Option<String>, choices: &[&str]| {
        value.as_deref().filter(|value| !value.is_empty()).map(|value| choice(flag, value, choices)).transpose()
    };
    let modes = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];
    Ok(Machine {
        memory: quantity("memory", &flags.memory)?,
        cores: flags.cores,
        qos_class: optional("qos-class", &flags.qos_class, &["Burstable", "Guaranteed"])?
            .filter(|class| class != "Burstable"),
        root_volume_size: quantity("root-volume-size", &format!("{}Gi", flags.root_volume_size))?,
        root_volume_class: flags.root_volume_storage_class.clone().filter(|class| !class.is_empty()),
        root_volume_access_modes: flags
            .root_volume_access_modes
            .iter()
            .filter(|mode| !mode.is_empty())
            .map(|mode| choice("root-volume-access-modes", mode, &modes))
            .collect::<Result<_, _>>()?,
        root_volume_mode: optional(
            "root-volume-volume-mode",
            &flags.root_volume_volume_mode,
            &["Filesystem", "Block"],
        )?,
        cache_strategy: optional("root-volume-cache-strategy", &flags.root_volume_cache_strategy, &["None", "PVC"])?,
        container_disk: flags.containerdisk.clone().filter(|image| !image.is_empty()),
        multiqueue: choice("network-multiqueue", &flags.network_multiqueue, &["Enable", "Disable"])?,
        additional_networks: flags
            .additional_network
            .iter()
            .map(|network| additional_network(network))
            .collect::<Result<_, _>>()?,
        attach_default_network,
        node_selector: labels("vm-node-selector", &flags.vm_node_selector)?,
        host_devices: flags.host_device_name.iter().map(|device| host_device(device)).collect::<Result<_, _>>()?,
    })
}

fn additional_network(text: &str) -> Result<String, UsageError> {
    let name = text.strip_prefix("name:").filter(|name| !name.is_empty() && !name.contains(','));
    name.map(str::to_owned).ok_or_else(|| UsageError::Value {
        flag: "additional-network",
        value: text.to_owned(),
        problem: "expected name:NAMESPACE/NAME".to_owned(),
    })
}

fn host_device(text: &str) -> Result<HostDevice, UsageError> {
    let failed = || UsageError::Value {
        flag: "host-device-name",
        value: text.to_owned(),
        problem: "expected NAME or NAME,count:N with N of at least 1".to_owned(),
    };
    let (name, count) = match text.split_once(',') {
        None => (text, 1),
        Some((name, option)) => {
            let count = option.strip_prefix("count:").and_then(|count| count.parse().ok());
            (name, count.filter(|count| *count > 0).ok_or_else(failed)?)
        }
    };
    if name.is_empty() { Err(failed()) } else { Ok(HostDevice { name: name.to_owned(), count }) }
}

pub(super) fn infrastructure(flags: &KubevirtInfra) -> Result<KubeVirt, UsageError> {
    let infra_namespace = flags.infra_namespace.clone().filter(|namespace| !namespace.is_empty());
    match (&infra_namespace, &flags.infra_kubeconfig_file) {
        (Some(_), None) => return Err(UsageError::Needs("infra-namespace", "infra-kubeconfig-file")),
        (None, Some(_)) => return Err(UsageError::Needs("infra-kubeconfig-file", "infra-namespace")),
        _ => {}
    }
    let mappings = |flag: &'static str, values: &[String]| {
        values.iter().map(|value| class_mapping(flag, value)).collect::<Result<Vec<_>, _>>()
    };
    Ok(KubeVirt {
        infra_namespace,
        storage_classes: mappings("infra-storage-class-mapping", &flags.infra_storage_class_mapping)?,
        snapshot_classes: mappings("infra-volumesnapshot-class-mapping", &flags.infra_volumesnapshot_class_mapping)?,
    })
}

fn class_mapping(flag: &'static str, text: &str) -> Result<ClassMapping, UsageError> {
    let failed = || UsageError::Value {
        flag,
        value: text.to_owned(),
        problem: "expected INFRA/GUEST or INFRA/GUEST,group=GROUP".to_owned(),
    };
    let (classes, group) = match text.split_once(',') {
        None => (text, None),
        Some((classes, option)) => {
            let group = option.trim().strip_prefix("group=").filter(|group| !group.is_empty()).ok_or_else(failed)?;
            (classes, Some(group.to_owned()))
        }
    };
    match classes.split_once('/') {
        Some((infra, guest)) if !infra.is_empty() && !guest.is_empty() && !guest.contains('/') => {
            Ok(ClassMapping { infra: infra.to_owned(), guest: guest.to_owned(), group })
        }
        _ => Err(failed()),
    }
}

#[cfg(test)]
mod tests {
    use super::{ClassMapping, HostDevice, additional_network, class_mapping, host_device};

    #[test]
    fn mappings_are_read() {
        let mapping = |infra: &str, guest: &str, group: Option<&str>| ClassMapping {
            infra: infra.to_owned(),
            guest: guest.to_owned(),
            group: group.map(str::to_owned),
        };
        let read = |text: &str| class_mapping("infra-storage-class-mapping", text);
        assert_eq!(read("fast/gold"), Ok(mapping("fast", "gold", None)));
        assert_eq!(read("fast/gold,group=a"), Ok(mapping("fast", "gold", Some("a"))));
        for bad in ["fast", "/gold", "fast/", "a/b/c", "a/b,kind=c", "a/b,group="] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn devices_and_networks_are_read() {
        assert_eq!(host_device("gpu"), Ok(HostDevice { name: "gpu".to_owned(), count: 1 }));
        assert_eq!(host_device("gpu,count:2"), Ok(HostDevice { name: "gpu".to_owned(), count: 2 }));
        for bad in ["", "gpu,2", "gpu,count:0", "gpu,count:x"] {
            assert!(host_device(bad).is_err(), "{bad}");
        }
        assert_eq!(additional_network("name:a/b").as_deref(), Ok("a/b"));
        assert!(additional_network("a/b").is_err());
    }
}
