//! Writing DER, as far as certificates and requests need it.

use jiff::Timestamp;
use jiff::tz::TimeZone;

pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;
const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const NULL: u8 = 0x05;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const PRINTABLE_STRING: u8 = 0x13;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// One element: tag, length, content.
pub(crate) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(content.len() + 6);
    bytes.push(tag);
    let length = content.len();
    if length < 0x80 {
        bytes.push(length as u8);
    } else {
        let big_endian = length.to_be_bytes();
        let significant = &big_endian[big_endian.iter().take_while(|byte| **byte == 0).count()..];
        bytes.push(0x80 | significant.len() as u8);
        bytes.extend_from_slice(significant);
    }
    bytes.extend_from_slice(content);
    bytes
}

pub(crate) fn constructed(tag: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    element(tag, &parts.concat())
}

pub(crate) fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    constructed(SEQUENCE, parts)
}

/// A set of elements, in the order that DER asks for.
pub(crate) fn set_of(mut parts: Vec<Vec<u8>>) -> Vec<u8> {
    parts.sort();
    constructed(SET, &parts)
}

/// Wraps in a context-specific constructed tag.
pub(crate) fn explicit(number: u8, content: &[u8]) -> Vec<u8> {
    element(0xa0 | number, content)
}

/// Replaces a primitive tag by a context-specific one.
pub(crate) fn implicit(number: u8, content: &[u8]) -> Vec<u8> {
    element(0x80 | number, content)
}

/// A non-negative integer from big-endian bytes.
pub(crate) fn integer(big_endian: &[u8]) -> Vec<u8> {
    let zeros = big_endian.iter().take_while(|byte| **byte == 0).count();
    let significant = &big_endian[zeros..];
    match significant.first() {
        None => element(INTEGER, &[0]),
        Some(first) if first & 0x80 != 0 => element(INTEGER, &[&[0], significant].concat()),
        Some(_) => element(INTEGER, significant),
    }
}

pub(crate) fn yes() -> Vec<u8> {
    element(BOOLEAN, &[0xff])
}

pub(crate) fn null() -> Vec<u8> {
    element(NULL, &[])
}

pub(crate) fn octets(content: &[u8]) -> Vec<u8> {
    element(OCTET_STRING, content)
}

pub(crate) fn bit_string(content: &[u8]) -> Vec<u8> {
    element(BIT_STRING, &[&[0], content].concat())
}

/// A bit string of flags, where bit 0 is the first, cut after the last flag that is set.
pub(crate) fn flags(bits: u16) -> Vec<u8> {
    let in_order = bits.reverse_bits().to_be_bytes();
    let used = (u16::BITS - bits.leading_zeros()) as usize;
    let length = used.div_ceil(8);
    let unused = (length * 8 - used) as u8;
    element(BIT_STRING, &[&[unused], &in_order[..length]].concat())
}

pub(crate) fn object_identifier(numbers: &[u64]) -> Vec<u8> {
    let mut content = Vec::new();
    let [first, second, rest @ ..] = numbers else {
        return element(OBJECT_IDENTIFIER, &[]);
    };
    for number in std::iter::once(first * 40 + second).chain(rest.iter().copied()) {
        let digits = (64 - number.leading_zeros()).div_ceil(7).max(1);
        for place in (0..digits).rev() {
            let more = if place == 0 { 0 } else { 0x80 };
            content.push(more | ((number >> (7 * place)) & 0x7f) as u8);
        }
    }
    element(OBJECT_IDENTIFIER, &content)
}

/// A directory string, in the narrowest kind that holds it.
pub(crate) fn text(text: &str) -> Vec<u8> {
    let is_printable = |byte: u8| byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&byte);
    let tag = if text.bytes().all(is_printable) { PRINTABLE_STRING } else { UTF8_STRING };
    element(tag, text.as_bytes())
}

/// A moment in whole seconds: two digits of the year before 2050, four from then on.
pub(crate) fn time(at: Timestamp) -> Vec<u8> {
    let civil = at.to_zoned(TimeZone::UTC).datetime();
    let year = civil.year();
    let rest =
        format!("{:02}{:02}{:02}{:02}{:02}Z", civil.month(), civil.day(), civil.hour(), civil.minute(), civil.second());
    if (1950..2050).contains(&year) {
        element(UTC_TIME, format!("{:02}{rest}", year % 100).as_bytes())
    } else {
        element(GENERALIZED_TIME, format!("{:04}{rest}", year.max(0)).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_encode_as_the_standard_says() {
        assert_eq!(object_identifier(&[1, 2, 840, 10045, 4, 3, 2]), [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]);
        assert_eq!(object_identifier(&[2, 5, 29, 37, 0]), [6, 4, 0x55, 0x1d, 0x25, 0]);
        assert_eq!(integer(&[0, 0, 0x80]), [2, 2, 0, 0x80]);
        assert_eq!(integer(&[]), [2, 1, 0]);
        assert_eq!(flags(1), [3, 2, 7, 0x80]);
        assert_eq!(flags(1 | 1 << 2), [3, 2, 5, 0xa0]);
        assert_eq!(flags(1 << 8), [3, 3, 7, 0, 0x80]);
        assert_eq!(element(4, &[0; 200])[..3], [4, 0x81, 200]);
        assert_eq!(element(4, &[0; 300])[..4], [4, 0x82, 1, 44]);
        assert_eq!(time("2049-12-31T23:59:59Z".parse().unwrap()), b"\x17\x0d491231235959Z");
        assert_eq!(time("2050-01-01T00:00:00Z".parse().unwrap()), b"\x18\x0f20500101000000Z");
        assert_eq!(text("a:b")[0], PRINTABLE_STRING);
        assert_eq!(text("a@b")[0], UTF8_STRING);
    }
}
