//! Addresses that are fetched: `https://host:port/path` and nothing else.

use std::fmt;

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// A name or an address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The path with its query, from the slash.
    pub path: String,
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Only https is spoken.
    #[error("{0:?} does not start with https://")]
    Scheme(String),
    /// The host or port cannot be read.
    #[error("{0:?} has no host and port that make sense")]
    Authority(String),
}

impl Address {
    /// Reads an address.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let rest = text.strip_prefix("https://").ok_or_else(|| AddressError::Scheme(text.to_owned()))?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let path = path.split('#').next().unwrap_or_default();
        let wrong = || AddressError::Authority(text.to_owned());
        let (host, port) = match authority.strip_prefix('[') {
            Some(bracketed) => {
                let (host, after) = bracketed.split_once(']').ok_or_else(wrong)?;
                (host, after.strip_prefix(':').or_else(|| after.is_empty().then_some("443")).ok_or_else(wrong)?)
            }
            None => authority.split_once(':').unwrap_or((authority, "443")),
        };
        let visible = |part: &str| part.bytes().all(|byte| byte.is_ascii_graphic());
        if host.is_empty() || host.contains('@') || !visible(host) || !visible(path) {
            return Err(wrong());
        }
        let port = port.parse().map_err(|_| wrong())?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { host: host.to_owned(), port, path })
    }

    /// Another path on the same server.
    #[must_use]
    pub fn with_path(&self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self.clone() }
    }

    /// Host and port, as in a Host header.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "https://{}{}", self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn addresses_are_read_and_written() {
        for (text, shown) in [
            ("https://api.example", "https://api.example:443/"),
            ("https://10.0.0.1:6443/x?y=1#z", "https://10.0.0.1:6443/x?y=1"),
            ("https://[fd00::1]:1/a", "https://[fd00::1]:1/a"),
            ("https://[fd00::1]", "https://[fd00::1]:443/"),
            ("https://h:1?q", "https://h:1/?q"),
        ] {
            assert_eq!(Address::parse(text).map(|address| address.to_string()).as_deref(), Ok(shown));
        }
        for text in [
            "",
            "http://a",
            "https://",
            "https://a:b",
            "https://u@a",
            "https://[::1",
            "https://a:70000",
            "https://a/\r\nb",
            "https://[::1]x",
        ] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
