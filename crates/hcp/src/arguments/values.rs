//! How single values are written: as Go's flag package reads them, because scripts are written for that.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ipnet::IpNet;
use roost_object::names::{is_dns1123_subdomain, is_wildcard_dns1123_subdomain};

/// The fewest addresses of Services, as of a stock API server.
const FEWEST_SERVICE_ADDRESSES: u32 = 8;

/// Reads where to listen.
pub(crate) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "expected an address and a port, such as 127.0.0.1:6443, [::1]:6443, or 0.0.0.0:6443 for all addresses of this machine"
            .to_owned()
    })
}

/// Reads the range of the addresses of Services.
pub(crate) fn service_range(text: &str) -> Result<IpNet, String> {
    let range: IpNet =
        text.parse().map_err(|_| "expected a network in CIDR notation, such as 10.96.0.0/16".to_owned())?;
    let bits = u32::from(range.max_prefix_len() - range.prefix_len());
    if bits < FEWEST_SERVICE_ADDRESSES.ilog2() {
        return Err(format!("expected at least {FEWEST_SERVICE_ADDRESSES} addresses, such as 10.96.0.0/16 has"));
    }
    Ok(range.trunc())
}

/// Reads a name or an address that a certificate is good for.
pub(crate) fn certificate_name(text: &str) -> Result<String, String> {
    let is_name = is_dns1123_subdomain(text).is_empty() || is_wildcard_dns1123_subdomain(text).is_empty();
    if is_name || text.parse::<IpAddr>().is_ok() {
        return Ok(text.to_owned());
    }
    Err("expected a DNS name or an address, such as api.example.com or 192.0.2.7".to_owned())
}

/// Reads a boolean as upstream's flags do, so that `--render=1` and `--render=False` mean what they mean there.
pub(crate) fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

/// The units of a duration, in nanoseconds.
const UNITS: &[(&str, u128)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a duration such as `30s` or `1h30m45s`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let problem = || format!("expected a duration such as 30s, 10m or 1h30m, not {text:?}");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return Err(problem());
    }
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(problem)?;
        let (number, after) = rest.split_at(digits);
        let unit_length = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_length);
        let scale = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale).ok_or_else(problem)?;
        total = total.checked_add(scaled(number, scale).ok_or_else(problem)?).ok_or_else(problem)?;
        rest = after;
    }
    u64::try_from(total).map(Duration::from_nanos).map_err(|_| problem())
}

/// A decimal number times a scale, without the rounding of floating point.
fn scaled(number: &str, scale: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || whole.len() > 19 || fraction.len() > 19 || fraction.contains('.') {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part = if fraction.is_empty() {
        0
    } else {
        fraction.parse::<u128>().ok()?.checked_mul(scale)? / 10_u128.pow(fraction.len() as u32)
    };
    whole.checked_mul(scale)?.checked_add(part)
}

/// Writes a duration as Go prints it: `0s`, `1.5s`, `10m0s`, `1h0m0s`.
pub(crate) fn written_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    let below_a_second = [(1_000_u128, 1_u128, "ns"), (1_000_000, 1_000, "µs"), (1_000_000_000, 1_000_000, "ms")];
    if let Some((_, scale, unit)) = below_a_second.into_iter().find(|(limit, _, _)| nanos < *limit) {
        return format!("{}{unit}", decimal(nanos, scale));
    }
    let seconds = decimal(nanos % 60_000_000_000, 1_000_000_000);
    let minutes = nanos / 60_000_000_000;
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

fn decimal(nanos: u128, scale: u128) -> String {
    let (whole, rest) = (nanos / scale, nanos % scale);
    if rest == 0 {
        return whole.to_string();
    }
    let width = scale.ilog10() as usize;
    format!("{whole}.{}", format!("{rest:0width$}").trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::{boolean, certificate_name, duration, listen_address, service_range, written_duration};

    #[test]
    fn durations_are_read_and_written_as_go_does() {
        let cases = [
            ("0", "0s"),
            ("10m", "10m0s"),
            ("90s", "1m30s"),
            ("1h", "1h0m0s"),
            ("1.5h", "1h30m0s"),
            ("1h30m45s", "1h30m45s"),
            ("250ms", "250ms"),
            ("1500ms", "1.5s"),
            (".5s", "500ms"),
            ("1500ns", "1.5µs"),
        ];
        for (text, written) in cases {
            assert_eq!(written_duration(duration(text).unwrap()), written, "{text}");
        }
        for bad in ["", "10", "m", "1d", "-1s", "1.2.3s", "99999999999999999999h", "1h m"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_a_server_needs_says_what_was_expected() {
        for good in ["127.0.0.1:6443", "[::1]:0"] {
            assert!(listen_address(good).is_ok(), "{good}");
        }
        for bad in ["localhost:6443", ":6443", "1.2.3.4", "127.0.0.1:99999"] {
            assert!(listen_address(bad).unwrap_err().contains("127.0.0.1:6443"), "{bad}");
        }
        assert_eq!(service_range("10.0.0.1/16").unwrap().to_string(), "10.0.0.0/16");
        assert!(service_range("10.0.0.0/29").is_ok() && service_range("fd00::/108").is_ok());
        for bad in ["10.0.0.0/30", "10.0.0.0/33", "10.0.0.0"] {
            assert!(service_range(bad).unwrap_err().contains("10.96.0.0/16"), "{bad}");
        }
        for good in ["api.example.com", "*.example.com", "192.0.2.7", "::1"] {
            assert_eq!(certificate_name(good).unwrap(), good);
        }
        assert!(certificate_name("bad name").unwrap_err().contains("api.example.com"));
    }

    #[test]
    fn booleans_are_read_as_go_does() {
        assert_eq!(boolean("1"), Ok(true));
        assert_eq!(boolean("False"), Ok(false));
        assert!(boolean("yes").is_err());
    }
}
