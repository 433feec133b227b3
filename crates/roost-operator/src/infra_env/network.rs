//! The networks of an InfraEnv's hosts: which NMStateConfigs it selects, and what of them goes into its image.

use std::collections::BTreeMap;

use bytes::Bytes;
use roost_host::network::{HostNetwork, NetworkFile, network_files};
use roost_ignition::Config;
use roost_image::{Archive, ArchiveError};
use serde_json::Value;

use crate::agent_pool;
use crate::machine::digits;
use crate::object::{Kind, ObjectError, Objects};

/// Installs the network of the host that boots before NetworkManager starts. Upstream's name.
const UNIT: &str = "[Unit]\nDescription=Takes the network connections of this host\nBefore=NetworkManager.service\n\
    DefaultDependencies=no\nAfter=local-fs.target systemd-udev-settle.service\nWants=systemd-udev-settle.service\n\n\
    [Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh /usr/local/bin/pre-network-manager-config.sh\n\n\
    [Install]\nWantedBy=multi-user.target\n";

/// The files of hosts' networks in an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Networks(Vec<NetworkFile>);

impl Networks {
    /// Puts them beside the rest of what an image is given.
    pub(super) fn pack(&self, archive: &mut Archive) -> Result<(), ArchiveError> {
        for file in &self.0 {
            archive.file(&file.path, file.mode, Bytes::from(file.contents.clone()))?;
        }
        Ok(())
    }

    /// Another text for other networks, and none for none.
    pub(super) fn revision(&self) -> String {
        let mut text = String::new();
        for file in &self.0 {
            text.push_str(&file.path);
            text.push_str(&String::from_utf8_lossy(&file.contents));
        }
        if text.is_empty() { text } else { digits(&text, 16) }
    }

    /// Puts them into the configuration of a CoreOS.
    pub(crate) fn put(&self, config: &mut Config) {
        for file in
            self.0.iter().filter(|file| !file.path.starts_with("etc/roost/") && !file.path.starts_with("etc/systemd/"))
        {
            config.put_file(&format!("/{}", file.path), file.mode, &file.contents);
        }
        if !self.0.is_empty() {
            config.put_unit("pre-network-manager-config.service", Some(true), Some(UNIT));
        }
    }
}

/// The networks of an InfraEnv's hosts; a problem is why they cannot be.
pub(crate) async fn read(objects: &Objects, environment: &Value) -> Result<Result<Networks, String>, ObjectError> {
    let selector = &environment["spec"]["nmStateConfigLabelSelector"];
    // An empty selector selects nothing here, as upstream has it.
    let is_set = |part: &str| match &selector[part] {
        Value::Object(map) => !map.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    };
    if !is_set("matchLabels") && !is_set("matchExpressions") {
        return Ok(Ok(Networks::default()));
    }
    let namespace = environment["metadata"]["namespace"].as_str().unwrap_or_default();
    let configs = objects.list(Kind::NMStateConfig, namespace).await?;
    Ok(choose(selector, &configs))
}

fn choose(selector: &Value, configs: &[Value]) -> Result<Networks, String> {
    let wanted = agent_pool::selector(selector).map_err(|error| format!("spec.nmStateConfigLabelSelector: {error}"))?;
    let labels = |config: &Value| -> BTreeMap<String, String> {
        let labels = config["metadata"]["labels"].as_object().into_iter().flatten();
        labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
    };
    let mut chosen: Vec<HostNetwork> =
        configs.iter().filter(|config| wanted.matches(&labels(config))).map(HostNetwork::of).collect();
    chosen.sort_by(|one, other| one.name.cmp(&other.name));
    network_files(&chosen).map(Networks).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use roost_ignition::SpecVersion;
    use serde_json::json;

    use super::*;

    fn config(name: &str, address: &str, interface: &str) -> Value {
        json!({"metadata": {"name": name, "labels": {"pool": "a"}},
            "spec": {"interfaces": [{"name": "eth0", "macAddress": address}], "config": {"interfaces": [{"name": interface,
                "ipv4": {"enabled": true, "address": [{"ip": "192.0.2.5", "prefix-length": 24}]}}]}}})
    }

    #[test]
    fn selected_networks_are_in_the_image_and_change_it() {
        let selector = json!({"matchLabels": {"pool": "a"}});
        let mut other = config("other", "52:54:00:00:00:03", "eth0");
        other["metadata"]["labels"]["pool"] = json!("b");
        let one = choose(&selector, &[config("one", "52:54:00:00:00:01", "eth0"), other]).unwrap();
        assert!(one.0.iter().any(|file| file.path == "etc/roost/network/52-54-00-00-00-01.env"));
        assert!(!one.0.iter().any(|file| file.path.contains("00-03")));
        one.pack(&mut Archive::default()).unwrap();
        let two = choose(&selector, &[config("one", "52:54:00:00:00:02", "eth0")]).unwrap();
        assert_ne!(one.revision(), two.revision());
        assert_eq!(Networks::default().revision(), "");
        let mut ignition = Config::new(SpecVersion::V3_1);
        one.put(&mut ignition);
        let text = String::from_utf8(ignition.to_bytes()).unwrap();
        for part in ["/etc/assisted/network/host0/eth0.nmconnection", "pre-network-manager-config.service"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("/etc/roost/network"));
        let problem = choose(&selector, &[config("odd", "52:54:00:00:00:01", "eth9")]).unwrap_err();
        assert!(problem.starts_with("NMStateConfig odd: "), "{problem}");
    }
}
