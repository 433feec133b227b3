//! Fetching a payload from the ignition server, as this host and no other, until the server has it.

use std::time::{Duration, Instant};

use roost_ignition::user_data::Pointer;
use roost_ignition::{Config, ConfigError};
use serde::{Deserialize, Serialize};

use crate::https::{self, Address, AddressError, HttpsError, Pin, Request, Trust, TrustError};
use crate::inventory::Inventory;
use crate::words;

/// The largest payload that is taken; upstream's are under half a megabyte.
const LARGEST_PAYLOAD: u64 = 32 << 20;
/// The shortest and longest pause between tries.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));
/// What of a refusal is shown.
const LONGEST_REFUSAL: usize = 300;

/// Where the payload is and what is shown there. Kept on the host while it is joined, readable by root only.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// The address of the payload.
    pub url: String,
    /// What is sent along, the token among it.
    pub headers: Vec<(String, String)>,
    /// Authorities in PEM.
    pub authority: Option<String>,
    /// The public key of the server or its authority.
    pub pin: Option<String>,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Target").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Why there is no payload.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    /// The user-data is no Ignition config.
    #[error("the user-data cannot be read")]
    UserData(#[source] ConfigError),
    /// The user-data does not name a server.
    #[error("the user-data names no ignition server; is it a pool's user-data?")]
    NoServer,
    /// The address makes no sense.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The trust makes no sense.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The server does not want this host.
    #[error("{server} refused this host ({status}): {words}\nhint: {hint}")]
    Refused {
        /// The server.
        server: String,
        /// The status.
        status: u16,
        /// What it said.
        words: String,
        /// What to do.
        hint: &'static str,
    },
    /// The server had no payload in time.
    #[error("{server} had no payload within {seconds} s: {last}")]
    Timeout {
        /// The server.
        server: String,
        /// How long it was asked.
        seconds: u64,
        /// The last answer.
        last: String,
    },
    /// The payload is no Ignition config.
    #[error("the payload of {server} cannot be read")]
    Payload {
        /// The server.
        server: String,
        /// Why.
        source: ConfigError,
    },
}

impl Target {
    /// Reads a pool's user-data.
    pub fn from_user_data(bytes: &[u8]) -> Result<Self, PayloadError> {
        let config = Config::parse(bytes).map_err(PayloadError::UserData)?;
        let target = Pointer::read(&config).ok_or(PayloadError::NoServer)?;
        let authority = Some(target.certificate_authority).filter(|pem| !pem.is_empty());
        let headers = target.headers.into_iter().map(|(name, value)| (name, value.expose().clone())).collect();
        Ok(Self { url: target.url, headers, authority, pin: None })
    }

    /// Whom to trust.
    pub fn trust(&self) -> Result<Trust, TrustError> {
        match (&self.authority, &self.pin) {
            (Some(pem), _) => Trust::from_pem(pem.as_bytes()),
            (None, Some(pin)) => Ok(Trust::Pinned(Pin::parse(pin)?)),
            (None, None) => Ok(Trust::System),
        }
    }

    /// The address of the payload.
    pub fn address(&self) -> Result<Address, AddressError> {
        Address::parse(&self.url)
    }

    /// Asks until there is a payload, the server refuses, or the time is over.
    pub fn fetch(
        &self,
        host: &Inventory,
        node_name: &str,
        patience: Duration,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Config, PayloadError> {
        let address = self.address()?;
        let trust = self.trust()?;
        let mut headers = self.headers.clone();
        headers.push(("Accept".to_owned(), "application/vnd.coreos.ignition+json;version=3.5.0, */*;q=0.1".to_owned()));
        let addresses: Vec<String> = host.addresses.iter().map(ToString::to_string).collect();
        for (name, value) in [
            ("Roost-Host-Id", host.identity.clone()),
            ("Roost-Host-Name", node_name.to_owned()),
            ("Roost-Host-Addresses", addresses.join(",")),
        ] {
            // A host that was discovered is told who it is.
            if !self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                headers.push((name.to_owned(), value));
            }
        }
        let request =
            Request { method: "GET", address: &address, headers: &headers, body: b"", largest: LARGEST_PAYLOAD };
        let server = address.authority();
        let begin = Instant::now();
        let mut pause = PAUSES.0;
        loop {
            let answer = https::send(&request, &trust, None);
            let (last, wait) = match answer {
                Ok(answer) if answer.status == 200 => {
                    return Config::parse(&answer.body).map_err(|source| PayloadError::Payload { server, source });
                }
                Ok(answer) => {
                    let words = String::from_utf8_lossy(&answer.body).trim().chars().take(LONGEST_REFUSAL).collect();
                    if let Some(hint) = refusal(answer.status) {
                        return Err(PayloadError::Refused { server, status: answer.status, words, hint });
                    }
                    let asked = answer.header("retry-after").and_then(|value| value.parse().ok());
                    (later(answer.status, &words), asked.map_or(pause, Duration::from_secs))
                }
                Err(HttpsError::Trust(error)) => return Err(error.into()),
                Err(error) => (words::with_causes(&error), pause),
            };
            if begin.elapsed() + wait > patience {
                return Err(PayloadError::Timeout { server, seconds: patience.as_secs(), last });
            }
            tell(&format!("{server}: {last}; asking again in {} s", wait.as_secs()));
            std::thread::sleep(wait.min(PAUSES.1));
            pause = (pause * 2).min(PAUSES.1);
        }
    }
}

/// What to do about an answer that will not change by itself.
fn refusal(status: u16) -> Option<&'static str> {
    match status {
        401 => Some("the token was not read as one; pass it as `hcp create userdata` prints it"),
        403 => Some("the token is not for this pool"),
        404 => Some("the address must be that of an ignition server, and its path /ignition"),
        409 => Some(
            "another host has joined under this name or identity; join with --node-name, or give a clone its own /etc/machine-id (`systemd-machine-id-setup` after removing the file)",
        ),
        400..=499 if status != 429 => Some("look at the NodePool's conditions and events"),
        _ => None,
    }
}

/// An answer that changes by itself, in words.
fn later(status: u16, words: &str) -> String {
    match status {
        511 => "the token is unknown or expired, or the pool's payload is not built yet (511)".to_owned(),
        429 => "too many requests (429)".to_owned(),
        _ if words.is_empty() => format!("answered {status}"),
        _ => format!("answered {status}: {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Target, later, refusal};

    #[test]
    fn answers_are_final_or_not() {
        for status in [400, 401, 403, 404, 409] {
            assert!(refusal(status).is_some(), "{status}");
        }
        for status in [429, 500, 502, 503, 511] {
            assert!(refusal(status).is_none(), "{status}");
            assert!(later(status, "").contains(&status.to_string()));
        }
    }

    #[test]
    fn user_data_names_server_headers_and_authority() {
        let text = r#"{"ignition":{"version":"3.2.0","security":{"tls":{"certificateAuthorities":[{"source":"data:text/plain;base64,UEVN"}]}},"config":{"merge":[{"source":"https://ign.example:8443/ignition","httpHeaders":[{"name":"Authorization","value":"Bearer abc"}]}]}}}"#;
        let target = Target::from_user_data(text.as_bytes()).unwrap();
        assert_eq!(target.url, "https://ign.example:8443/ignition");
        assert_eq!(target.headers, [("Authorization".to_owned(), "Bearer abc".to_owned())]);
        assert_eq!(target.authority.as_deref(), Some("PEM\n"));
        assert!(!format!("{target:?}").contains("abc"));
        assert!(Target::from_user_data(b"{\"ignition\":{\"version\":\"3.2.0\"}}").is_err());
        assert!(Target::from_user_data(b"#cloud-config").is_err());
    }
}
