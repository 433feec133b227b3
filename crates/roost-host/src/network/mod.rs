//! The network of hosts as NMStateConfigs write it down, put into files of an image.
//!
//! For CoreOS: connections of NetworkManager in upstream's folders, `etc/assisted/network/host<n>/`, with `mac_interface.ini`
//! beside them, and a script that takes those of the host that it runs on. For our own live image: `etc/roost/network/<mac>.env`.

mod keyfile;
mod live;
mod state;

use std::collections::BTreeMap;

use serde_json::Value;

use state::{InterfaceKind, State};

/// The most hosts of one image.
const MOST_HOSTS: usize = 1000;
/// Takes the connections of the host that it runs on to where NetworkManager, or the first boot, looks for them.
const SCRIPT: &str = include_str!("choose.sh");
/// Runs the script in the initrd, before what was put there is taken over.
const INITRD_UNIT: &str =
    "[Service]\nExecStartPre=/bin/sh /usr/local/bin/pre-network-manager-config.sh /etc/coreos-firstboot-network\n";

/// The network of one host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostNetwork {
    /// What it is called where it was written.
    pub name: String,
    /// Hardware addresses by the names of interfaces.
    pub addresses: BTreeMap<String, String>,
    /// What is wanted, in the language of NMState.
    pub state: Value,
}

/// A file of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkFile {
    /// Where it is, without a slash in front.
    pub path: String,
    /// Its permissions.
    pub mode: u32,
    /// What is in it.
    pub contents: Vec<u8>,
}

/// Why a network cannot be put into an image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// A document cannot be carried out.
    #[error("NMStateConfig {name}: {problem}")]
    Refused {
        /// Which document.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// One card is claimed by two documents.
    #[error("NMStateConfigs {one} and {other} are both for the host with the address {address}")]
    Claimed {
        /// The hardware address.
        address: String,
        /// One document.
        one: String,
        /// The other.
        other: String,
    },
    /// There are too many hosts.
    #[error("one image cannot hold the networks of more than {MOST_HOSTS} hosts")]
    TooMany,
}

impl HostNetwork {
    /// The network that an NMStateConfig writes down.
    pub fn of(config: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let interfaces = config["spec"]["interfaces"].as_array().into_iter().flatten();
        let address = |interface: &Value| text(&interface["macAddress"]).to_ascii_lowercase();
        Self {
            name: text(&config["metadata"]["name"]),
            addresses: interfaces.map(|interface| (text(&interface["name"]), address(interface))).collect(),
            state: config["spec"]["config"].clone(),
        }
    }

    fn checked(&self) -> Result<State, NetworkError> {
        let refuse = |problem: String| NetworkError::Refused { name: self.name.clone(), problem };
        let state = State::parse(&self.state).map_err(refuse)?;
        if self.addresses.is_empty() {
            return Err(refuse("spec.interfaces names no interface by its address".to_owned()));
        }
        let is_address = |text: &str| {
            text.len() == 17
                && text
                    .bytes()
                    .enumerate()
                    .all(|(at, byte)| if at % 3 == 2 { byte == b':' } else { byte.is_ascii_hexdigit() })
        };
        if let Some((name, address)) = self.addresses.iter().find(|(_, address)| !is_address(address)) {
            return Err(refuse(format!("spec.interfaces: {address:?} of {name} is no hardware address")));
        }
        let bare = state.used().find(|interface| {
            interface.kind == InterfaceKind::Ethernet && !self.addresses.contains_key(&interface.name)
        });
        if let Some(interface) = bare {
            return Err(refuse(format!("mac-interface mapping for interface {} is missing", interface.name)));
        }
        let ports =
            state.used().filter_map(|interface| interface.link_aggregation.as_ref()).flat_map(|bond| &bond.ports);
        if let Some(port) = ports.into_iter().find(|port| !self.addresses.contains_key(*port)) {
            return Err(refuse(format!("mac-interface mapping for interface {port} is missing")));
        }
        Ok(state)
    }
}

/// The files that give hosts their networks. None for no host.
pub fn network_files(networks: &[HostNetwork]) -> Result<Vec<NetworkFile>, NetworkError> {
    if networks.len() > MOST_HOSTS {
        return Err(NetworkError::TooMany);
    }
    let mut files = Vec::new();
    let mut claimed: BTreeMap<&str, &str> = BTreeMap::new();
    for (number, network) in networks.iter().enumerate() {
        let state = network.checked()?;
        for address in network.addresses.values() {
            if let Some(one) = claimed.insert(address, &network.name) {
                let (one, other) = (one.to_owned(), network.name.clone());
                return Err(NetworkError::Claimed { address: address.clone(), one, other });
            }
        }
        let folder = format!("etc/assisted/network/host{number}");
        let mut lines: Vec<String> =
            network.addresses.iter().map(|(name, address)| format!("{address}={name}\n")).collect();
        lines.sort_unstable();
        files.push(file(format!("{folder}/mac_interface.ini"), 0o600, lines.concat()));
        for interface in state.used() {
            let text = keyfile::keyfile(&state, interface, &network.addresses, &network.name);
            files.push(file(format!("{folder}/{}.nmconnection", interface.name), 0o600, text));
        }
        for port in
            state.used().filter_map(|interface| interface.link_aggregation.as_ref()).flat_map(|bond| &bond.ports)
        {
            // A port need not be described to be one.
            if state.find(port).is_none() {
                let text = keyfile::port(&state, port, &network.addresses, &network.name);
                files.push(file(format!("{folder}/{port}.nmconnection"), 0o600, text));
            }
        }
        for (address, text) in live::settings(&state, &network.addresses) {
            files.push(file(format!("etc/roost/network/{}.env", address.replace(':', "-")), 0o644, text));
        }
    }
    if !networks.is_empty() {
        files.push(file("usr/local/bin/pre-network-manager-config.sh".to_owned(), 0o755, SCRIPT.to_owned()));
        let drop_in = "etc/systemd/system/coreos-copy-firstboot-network.service.d/10-host-network.conf";
        files.push(file(drop_in.to_owned(), 0o644, INITRD_UNIT.to_owned()));
    }
    Ok(files)
}

fn file(path: String, mode: u32, contents: String) -> NetworkFile {
    NetworkFile { path, mode, contents: contents.into_bytes() }
}

#[cfg(test)]
mod tests;
