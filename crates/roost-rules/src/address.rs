//! Checks of IP addresses in fields that have always been read leniently.

use std::net::{IpAddr, Ipv6Addr};

use roost_object::field::{Error, Errors, Path};

/// Reads an address as Go's older reader did, which allowed leading zeros.
pub fn parse_leniently(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let (head, dotted) = match text.rfind(':') {
        Some(colon) => text.split_at(colon + 1),
        None => ("", text),
    };
    let mut octets = Vec::with_capacity(4);
    for octet in dotted.split('.') {
        let digits = !octet.is_empty() && octet.bytes().all(|byte| byte.is_ascii_digit());
        let trimmed = octet.trim_start_matches('0');
        if !digits || trimmed.len() > 3 {
            return None;
        }
        octets.push(if trimmed.is_empty() { "0" } else { trimmed });
    }
    if octets.len() == 4 { format!("{head}{}", octets.join(".")).parse().ok() } else { None }
}

/// Checks an address; those that the stored object already had (`known`) are let through.
pub fn validate(text: &str, known: &[&str], path: &Path<'_>, errors: &mut Errors) {
    if known.contains(&text) {
        return;
    }
    if parse_leniently(text).is_none() {
        errors.push(Error::invalid(path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
        return;
    }
    match text.parse() {
        Err(_) => errors.push(Error::invalid(path, text, "must not have leading 0s")),
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            errors.push(Error::invalid(path, text, "must not be an IPv4-mapped IPv6 address"));
        }
        Ok(_) => {}
    }
}

/// Checks an address in a newer field, where it must be in canonical form.
pub fn validate_canonical(text: &str, path: &Path<'_>, errors: &mut Errors) {
    let before = errors.len();
    validate(text, &[], path, errors);
    if errors.len() == before
        && let Some(address) = parse_leniently(text)
        && address.to_string() != text
    {
        errors.push(Error::invalid(path, text, format!("must be in canonical form (\"{address}\")")));
    }
}

/// What should be known about an address that is valid.
pub fn warn(text: &str, path: &Path<'_>, warnings: &mut Vec<String>) {
    let Some(lenient) = parse_leniently(text) else { return };
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_none() => {
            let canonical = address.to_string();
            if canonical != text {
                warnings.push(format!(
                    "{path}: IPv6 address {text:?} should be in RFC 5952 canonical format ({canonical:?})"
                ));
            }
        }
        Ok(IpAddr::V4(_)) => {}
        _ => {
            let address = match lenient {
                IpAddr::V6(address) => unmapped(address),
                address @ IpAddr::V4(_) => address,
            };
            warnings.push(format!("{path}: non-standard IP address {text:?} is invalid: use \"{address}\""));
        }
    }
}

fn unmapped(address: Ipv6Addr) -> IpAddr {
    address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_forms_are_named_for_what_they_are() {
        for (text, expected) in [
            ("10.0.0.1", None),
            ("::1", None),
            ("010.0.0.1", Some("must not have leading 0s")),
            ("::ffff:1.2.3.4", Some("must not be an IPv4-mapped IPv6 address")),
            ("1.2.3", Some("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")),
            ("", Some("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")),
        ] {
            let mut errors = Errors::new();
            validate(text, &[], &Path::new("ip"), &mut errors);
            assert_eq!(errors.first().map(|error| error.detail.as_str()), expected, "{text}");
        }
        let mut warnings = Vec::new();
        warn("::ffff:1.2.3.4", &Path::new("ip"), &mut warnings);
        warn("2001:DB8::1", &Path::new("ip"), &mut warnings);
        assert_eq!(
            warnings,
            [
                r#"ip: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4""#,
                r#"ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")"#,
            ]
        );
    }
}
