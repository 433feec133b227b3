//! What a payload tells a node about its cluster's network.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// The networks of a cluster, as they lie on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// Where pods have their addresses, on all nodes together.
    pub pod_networks: Vec<IpNet>,
    /// Where Services have their addresses.
    pub service_networks: Vec<IpNet>,
    /// Where pods ask for names.
    pub dns: Vec<IpAddr>,
    /// What the names of Services end with.
    pub domain: String,
}

impl Settings {
    /// Reads what a payload wrote.
    pub fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// The text of it.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Settings;

    #[test]
    fn what_is_written_is_read() {
        let settings = Settings {
            pod_networks: vec!["10.132.0.0/14".parse().unwrap(), "fd01::/48".parse().unwrap()],
            service_networks: vec!["172.31.0.0/16".parse().unwrap()],
            dns: vec!["172.31.0.10".parse().unwrap()],
            domain: "cluster.local".to_owned(),
        };
        assert_eq!(Settings::read(settings.to_text().as_bytes()), Some(settings));
        assert_eq!(Settings::read(b"{}"), None);
    }
}
