//! Addresses of management controllers, as BareMetalHosts write them.

use std::fmt;

use http::Uri;

/// The kinds of controllers that are spoken to in the same way.
const KINDS: [&str; 7] = [
    "redfish",
    "redfish-virtualmedia",
    "redfish-uefihttp",
    "idrac-virtualmedia",
    "idrac-redfish",
    "ilo5-virtualmedia",
    "ilo5-redfish",
];

/// Where a controller is, and which of its systems is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub(crate) is_secure: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The path of the system; none when the controller has one only.
    pub(crate) system: Option<String>,
}

/// Why an address cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Another protocol.
    #[error("{0:?} is not spoken; use redfish-virtualmedia://HOST/redfish/v1/Systems/ID")]
    Protocol(String),
    /// No address at all.
    #[error("{0:?} is no address; they look like redfish-virtualmedia://HOST/redfish/v1/Systems/ID")]
    Form(String),
}

impl Address {
    /// Reads an address: `<kind>[+http|+https]://host[:port][/redfish/v1/Systems/<id>]`.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let form = || AddressError::Form(text.chars().take(200).collect());
        let (scheme, rest) = text.split_once("://").ok_or_else(form)?;
        let (kind, transport) = scheme.split_once('+').unwrap_or((scheme, "https"));
        if !KINDS.contains(&kind) || !matches!(transport, "http" | "https") {
            return Err(AddressError::Protocol(scheme.chars().take(40).collect()));
        }
        let uri: Uri = format!("{transport}://{rest}").parse().map_err(|_| form())?;
        let is_secure = transport == "https";
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(form)?;
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) || uri.query().is_some() {
            return Err(form());
        }
        let path = uri.path().trim_end_matches('/');
        Ok(Self {
            is_secure,
            host: host.trim_matches(['[', ']']).to_owned(),
            port: uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 }),
            system: (!matches!(path, "" | "/redfish/v1" | "/redfish/v1/Systems")).then(|| path.to_owned()),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, .. } = self;
        if host.contains(':') { write!(formatter, "[{host}]:{port}") } else { write!(formatter, "{host}:{port}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_say_where_and_which() {
        for (text, is_secure, place, system) in [
            (
                "redfish-virtualmedia://192.0.2.1/redfish/v1/Systems/1",
                true,
                "192.0.2.1:443",
                Some("/redfish/v1/Systems/1"),
            ),
            (
                "redfish+http://bmc.example:8000/redfish/v1/Systems/a-b",
                false,
                "bmc.example:8000",
                Some("/redfish/v1/Systems/a-b"),
            ),
            ("redfish-virtualmedia+https://[2001:db8::1]:8443/", true, "[2001:db8::1]:8443", None),
            (
                "idrac-virtualmedia://h/redfish/v1/Systems/System.Embedded.1",
                true,
                "h:443",
                Some("/redfish/v1/Systems/System.Embedded.1"),
            ),
            ("ilo5-virtualmedia://h/redfish/v1/Systems/", true, "h:443", None),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!(
                (address.is_secure, address.to_string().as_str(), address.system.as_deref()),
                (is_secure, place, system)
            );
        }
        for wrong in
            ["ipmi://192.0.2.1", "192.0.2.1", "redfish+ftp://h", "redfish://", "redfish://u:p@h/", "redfish://h?x"]
        {
            assert!(Address::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Address::parse("ipmi://192.0.2.1").unwrap_err().to_string().contains("use redfish-virtualmedia://"));
    }
}
