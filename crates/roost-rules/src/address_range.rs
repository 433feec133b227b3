//! Checks of address ranges in CIDR notation, lenient for old fields and strict for new ones.

use std::net::IpAddr;

use ipnet::IpNet;
use roost_object::field::{Error, Errors, Path};

use crate::address::parse_leniently as parse_address_leniently;

/// Reads a range as Go's older reader did, which allowed leading zeros and bits behind the prefix.
pub fn parse_leniently(text: &str) -> Option<(IpAddr, IpNet)> {
    let (address, length) = text.split_once('/')?;
    let address = parse_address_leniently(address)?;
    let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let trimmed = length.trim_start_matches('0');
    if !digits || trimmed.len() > 3 {
        return None;
    }
    let length = if trimmed.is_empty() { 0 } else { trimmed.parse().ok()? };
    Some((address, IpNet::new(address, length).ok()?.trunc()))
}

/// Whether newer readers read the range too.
fn reads_strictly(text: &str) -> bool {
    text.split_once('/').is_some_and(|(address, length)| {
        address.parse::<IpAddr>().is_ok() && (length == "0" || !length.starts_with('0'))
    })
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

/// Checks a range in an old field; those that the stored object already had (`known`) are let through.
pub fn validate(text: &str, known: &[&str], path: &Path<'_>, errors: &mut Errors) {
    if known.contains(&text) {
        return;
    }
    let words = match parse_leniently(text) {
        None => "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
        Some(_) if !reads_strictly(text) => "must not have leading 0s in IP or prefix length",
        Some((address, _)) if is_mapped(address) => "must not have an IPv4-mapped IPv6 address",
        Some((address, range)) if address != range.addr() => "must not have bits set beyond the prefix length",
        Some(_) => return,
    };
    errors.push(Error::invalid(path, text, words));
}

/// Checks a range in a new field, where it must be in canonical form.
pub fn validate_strictly(text: &str, path: &Path<'_>, errors: &mut Errors) {
    let before = errors.len();
    validate(text, &[], path, errors);
    if errors.len() == before
        && let Some((_, range)) = parse_leniently(text)
        && range.to_string() != text
    {
        errors.push(Error::invalid(path, text, format!("must be in canonical form (\"{range}\")")));
    }
}

/// What should be known about a range that is valid.
pub fn warn(text: &str, path: &Path<'_>, warnings: &mut Vec<String>) {
    let Some((address, range)) = parse_leniently(text) else { return };
    let before = warnings.len();
    if address != range.addr() {
        let alone = IpNet::from(address);
        warnings.push(format!(
            "{path}: CIDR value {text:?} is ambiguous in this context (should be \"{range}\" or \"{alone}\"?)"
        ));
    }
    if !reads_strictly(text) || is_mapped(address) {
        warnings.push(format!("{path}: non-standard CIDR value {text:?} is invalid: use \"{range}\""));
    }
    if warnings.len() == before && address.is_ipv6() && range.to_string() != text {
        warnings.push(format!("{path}: IPv6 CIDR value {text:?} should be in RFC 5952 canonical format (\"{range}\")"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_forms_are_named_for_what_they_are() {
        for (text, expected) in [
            ("10.0.0.0/24", None),
            ("2001:db8::/64", None),
            ("10.0.0.1/24", Some("must not have bits set beyond the prefix length")),
            ("010.0.0.0/24", Some("must not have leading 0s in IP or prefix length")),
            ("10.0.0.0/08", Some("must not have leading 0s in IP or prefix length")),
            ("::ffff:10.0.0.0/120", Some("must not have an IPv4-mapped IPv6 address")),
            ("10.0.0.0/33", Some("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")),
            ("10.0.0.0", Some("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")),
        ] {
            let mut errors = Errors::new();
            validate(text, &[], &Path::new("cidr"), &mut errors);
            assert_eq!(errors.first().map(|error| error.detail.as_str()), expected, "{text}");
        }
        let mut errors = Errors::new();
        validate_strictly("2001:DB8::/64", &Path::new("cidr"), &mut errors);
        assert_eq!(errors[0].detail, "must be in canonical form (\"2001:db8::/64\")");
    }

    #[test]
    fn odd_forms_are_worth_a_warning() {
        let mut warnings = Vec::new();
        warn("10.0.0.1/24", &Path::new("cidr"), &mut warnings);
        warn("2001:DB8::/64", &Path::new("cidr"), &mut warnings);
        assert_eq!(
            warnings,
            [
                r#"cidr: CIDR value "10.0.0.1/24" is ambiguous in this context (should be "10.0.0.0/24" or "10.0.0.1/32"?)"#,
                r#"cidr: IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical format ("2001:db8::/64")"#,
            ]
        );
    }
}
