//! The string and number formats that schemas may ask for.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

use super::email::is_email;
use crate::pattern::Matcher;
use crate::structural::Type;
use crate::time;
use roost_object::url::Url;

/// A format that is checked. Formats that stock does not know are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Int32,
    Int64,
    Float,
    Double,
    Text(&'static TextFormat),
}

/// A format of text: its names and its check.
#[derive(Debug)]
pub(crate) struct TextFormat {
    /// The name without dashes, by which formats are told apart.
    name: &'static str,
    /// The spelling with dashes, if there is one: error texts show what the schema wrote.
    spelled: &'static str,
    check: fn(&str) -> bool,
}

impl PartialEq for TextFormat {
    fn eq(&self, other: &Self) -> bool {
        self.spelled == other.spelled
    }
}

impl Eq for TextFormat {}

const fn format(name: &'static str, check: fn(&str) -> bool) -> TextFormat {
    TextFormat { name, spelled: name, check }
}

static TEXT_FORMATS: &[TextFormat] = &[
    format("bsonobjectid", |text| text.len() == 24 && is_hex(text)),
    format("uri", |text| Url::parse(text).is_ok()),
    format("email", is_email),
    format("hostname", is_hostname),
    format("ipv4", is_ipv4),
    format("ipv6", |text| text.contains(':') && parse_ipv6(text).is_some()),
    format("cidr", is_cidr),
    format("mac", is_mac),
    format("uuid", |text| is_uuid(text, |_| true)),
    format("uuid3", |text| is_uuid(text, |hex| hex[12] == b'3')),
    format("uuid4", |text| is_uuid(text, |hex| hex[12] == b'4' && is_variant(hex[16]))),
    format("uuid5", |text| is_uuid(text, |hex| hex[12] == b'5' && is_variant(hex[16]))),
    format("isbn", |text| is_isbn10(text) || is_isbn13(text)),
    format("isbn10", is_isbn10),
    format("isbn13", is_isbn13),
    format("creditcard", is_credit_card),
    format("ssn", |text| text.len() == 11 && SSN.is_match(text)),
    format("hexcolor", |text| {
        let digits = text.strip_prefix('#').unwrap_or(text);
        matches!(digits.len(), 3 | 6) && is_hex(digits)
    }),
    format("rgbcolor", |text| RGB_COLOR.is_match(text)),
    format("byte", is_base64),
    format("password", |_| true),
    format("date", |text| time::parse_date(text).is_some()),
    format("duration", |text| crate::duration::parse_lenient(text).is_some()),
    format("datetime", is_date_time),
    TextFormat { name: "datetime", spelled: "date-time", check: is_date_time },
    TextFormat {
        name: "k8sshortname",
        spelled: "k8s-short-name",
        check: |text| text.len() <= 63 && is_dns_label(text),
    },
    TextFormat {
        name: "k8slongname",
        spelled: "k8s-long-name",
        check: |text| text.len() <= 253 && text.split('.').all(is_dns_label),
    },
];

impl Format {
    /// The format of a schema, if it is one that is checked for values of the type.
    pub(crate) fn parse(name: &str, kind: Type) -> Option<Format> {
        match (kind, name) {
            (_, "") => None,
            (Type::Integer, "int32") => Some(Format::Int32),
            (Type::Integer, "int64") => Some(Format::Int64),
            (Type::Number, "float") => Some(Format::Float),
            (Type::Number, "double") => Some(Format::Double),
            (Type::String | Type::Any, _) => {
                let plain = name.replace('-', "");
                TEXT_FORMATS
                    .iter()
                    .find(|format| format.spelled == name)
                    .or_else(|| TEXT_FORMATS.iter().find(|format| format.name == plain))
                    .map(Format::Text)
            }
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Int32 => "int32",
            Format::Int64 => "int64",
            Format::Float => "float",
            Format::Double => "double",
            Format::Text(format) => format.spelled,
        }
    }

    /// Whether text satisfies the format; formats of numbers say nothing of text.
    pub(crate) fn accepts(self, text: &str) -> bool {
        match self {
            Format::Text(format) => (format.check)(text),
            _ => true,
        }
    }
}

/// Whether a schema's format is one that stock checks for the type; others get a warning.
pub(crate) fn is_recognised(name: &str, kind: &str) -> bool {
    match kind {
        "" => Format::parse(name, Type::Any).is_some(),
        "string" => Format::parse(name, Type::String).is_some(),
        "integer" => Format::parse(name, Type::Integer).is_some(),
        "number" => Format::parse(name, Type::Number).is_some(),
        _ => false,
    }
}

static HOSTNAME: LazyLock<Matcher> = LazyLock::new(|| {
    Matcher::compile(
        r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$",
    )
    .expect("the pattern above is well formed")
});

static SSN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$").expect("the pattern is well formed"));

static RGB_COLOR: LazyLock<Regex> = LazyLock::new(|| {
    let part = r"[\t\n\x0c\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\x0c\r ]*";
    Regex::new(&format!(r"^rgb\({part},{part},{part}\)$")).expect("the pattern above is well formed")
});

static CREDIT_CARD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$",
    )
    .expect("the pattern above is well formed")
});

fn is_hostname(text: &str) -> bool {
    text.len() <= 255 && text.split('.').all(|label| label.len() <= 63) && HOSTNAME.is_match(text) == Ok(true)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_dns_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
}

/// Four decimal octets, leading zeros allowed for the sake of old data.
fn parse_ipv4_lenient(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0_u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = part.trim_start_matches('0');
        *octet = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}

fn parse_ipv6(text: &str) -> Option<Ipv6Addr> {
    text.parse().ok()
}

fn is_ipv4(text: &str) -> bool {
    text.contains('.') && (parse_ipv4_lenient(text).is_some() || parse_ipv6(text).is_some())
}

fn is_cidr(text: &str) -> bool {
    let Some((address, mask)) = text.split_once('/') else { return false };
    let limit = if parse_ipv4_lenient(address).is_some() {
        32
    } else if parse_ipv6(address).is_some() {
        128
    } else {
        return false;
    };
    !mask.is_empty()
        && mask.len() <= 8
        && mask.bytes().all(|byte| byte.is_ascii_digit())
        && mask.parse::<u32>().is_ok_and(|bits| bits <= limit)
}

fn is_mac(text: &str) -> bool {
    let groups = |separator: char, width: usize, counts: &[usize]| {
        let parts: Vec<&str> = text.split(separator).collect();
        counts.contains(&parts.len()) && parts.iter().all(|part| part.len() == width && is_hex(part))
    };
    groups(':', 2, &[6, 8, 20]) || groups('-', 2, &[6, 8, 20]) || groups('.', 4, &[3, 4, 10])
}

fn is_variant(digit: u8) -> bool {
    matches!(digit, b'8' | b'9' | b'a' | b'b' | b'A' | b'B')
}

/// Thirty-two hexadecimal digits with optional dashes after the 8th, 12th, 16th and 20th.
fn is_uuid(text: &str, version: fn(&[u8]) -> bool) -> bool {
    let mut digits = Vec::with_capacity(32);
    let mut dash = false;
    for byte in text.bytes() {
        match byte {
            b'-' if !dash && matches!(digits.len(), 8 | 12 | 16 | 20) => dash = true,
            _ if byte.is_ascii_hexdigit() && digits.len() < 32 => {
                digits.push(byte);
                dash = false;
            }
            _ => return false,
        }
    }
    digits.len() == 32 && !dash && version(&digits)
}

fn without_space_and_minus(text: &str) -> Vec<u8> {
    text.bytes().filter(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\x0c' | b'\r' | b'-')).collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = without_space_and_minus(text);
    let shaped = digits.len() == 10
        && digits[..9].iter().all(u8::is_ascii_digit)
        && (digits[9].is_ascii_digit() || digits[9] == b'X');
    let value = |byte: u8| if byte == b'X' { 10 } else { u32::from(byte - b'0') };
    shaped && (1..).zip(&digits).map(|(weight, byte)| weight * value(*byte)).sum::<u32>() % 11 == 0
}

fn is_isbn13(text: &str) -> bool {
    let digits = without_space_and_minus(text);
    if digits.len() != 13 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: u32 =
        digits[..12].iter().enumerate().map(|(i, byte)| u32::from(byte - b'0') * if i % 2 == 0 { 1 } else { 3 }).sum();
    u32::from(digits[12] - b'0') == (10 - sum % 10) % 10
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(index, byte)| {
            let digit = u32::from(byte - b'0');
            match (index % 2, digit * 2) {
                (0, _) => digit,
                (_, double) if double >= 10 => double % 10 + 1,
                (_, double) => double,
            }
        })
        .sum();
    CREDIT_CARD.is_match(&digits) && sum.is_multiple_of(10)
}

/// Base64 in the standard alphabet with padding; nothing is not base64.
fn is_base64(text: &str) -> bool {
    let bytes = text.as_bytes();
    let body = text.trim_end_matches('=');
    !bytes.is_empty()
        && bytes.len().is_multiple_of(4)
        && bytes.len() - body.len() <= 2
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

/// RFC 3339, and what go-openapi accepts beside it: any letter case, any character before the fraction.
fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let Some((date, clock)) = lower.split_once('t') else { return false };
    if text.len() < 4 || time::parse_date(date).is_none() {
        return false;
    }
    let clock = clock.split('t').next().unwrap_or_default();
    let bytes = clock.as_bytes();
    let two = |at: usize, limit: u8| -> bool {
        let digits = bytes.get(at..at + 2).filter(|pair| pair.iter().all(u8::is_ascii_digit));
        digits.is_some_and(|pair| (pair[0] - b'0') * 10 + (pair[1] - b'0') <= limit)
    };
    let shaped = two(0, 23) && two(3, 59) && two(6, 59) && bytes.get(2) == Some(&b':') && bytes.get(5) == Some(&b':');
    if !shaped {
        return false;
    }
    let Some(rest) = clock.get(8..) else { return false };
    is_zone(rest) || {
        let mut characters = rest.chars();
        let separated = characters.next().is_some_and(|separator| separator != '\n');
        let fraction = characters.as_str();
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        separated && digits > 0 && is_zone(&fraction[digits..])
    }
}

fn is_zone(text: &str) -> bool {
    let bytes = text.as_bytes();
    text == "z"
        || bytes.len() == 6
            && matches!(bytes[0], b'+' | b'-')
            && bytes[3] == b':'
            && [1, 2, 4, 5].iter().all(|&at: &usize| bytes[at].is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_accept_what_stock_accepts() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("date-time", &["2020-01-01T00:00:00Z", "2020-01-01t00:00:00.5+01:00"], &["2020-01-01", "x", ""]),
            ("date", &["2020-02-29"], &["2021-02-29", "2020-1-1"]),
            ("ipv4", &["1.2.3.4", "01.2.3.4", "::ffff:1.2.3.4"], &["1.2.3", "::1"]),
            ("ipv6", &["::1"], &["1.2.3.4", "::g"]),
            ("cidr", &["10.0.0.0/8", "::/0"], &["10.0.0.0", "10.0.0.0/33"]),
            ("uuid", &["123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000"], &["x", ""]),
            ("byte", &["aGk=", "aGkh"], &["", "a", "a==="]),
            ("hostname", &["example.com", "a"], &["-a", "a..b", "a.1"]),
            ("mac", &["01:23:45:67:89:ab", "0123.4567.89ab"], &["01:23"]),
            ("duration", &["1h", "22 ns", "1 week"], &["x"]),
            ("isbn", &["0321751043", "978-0321751041"], &["0321751044"]),
            ("creditcard", &["4111-1111-1111-1111"], &["4111-1111-1111-1112"]),
            ("hexcolor", &["#fff", "ABCDEF"], &["#ffff"]),
            ("rgbcolor", &["rgb(1, 2, 255)"], &["rgb(256,0,0)"]),
            ("ssn", &["111-22-3333"], &["111223333"]),
            ("k8s-short-name", &["a-1"], &["A", "a."]),
            ("k8s-long-name", &["a.b-c"], &["a..b"]),
            ("uri", &["http://a", "/x"], &["a"]),
        ];
        for (name, good, bad) in cases {
            let format = Format::parse(name, Type::String).unwrap();
            assert_eq!(format.name(), *name);
            good.iter().for_each(|text| assert!(format.accepts(text), "{name}: {text}"));
            bad.iter().for_each(|text| assert!(!format.accepts(text), "{name}: {text}"));
        }
        assert_eq!(Format::parse("int32", Type::String), None);
        assert_eq!(Format::parse("nope", Type::String), None);
    }
}
