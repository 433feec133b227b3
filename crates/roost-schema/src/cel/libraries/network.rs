//! IP addresses and ranges of them, read as Go's `net/netip` reads them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use roost_object::field::quote;

use super::{Builtin, Invocation};
use crate::cel::value::{EvalError, Outcome, Value};

/// A range of IP addresses: an address and how many of its bits are fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    pub(crate) address: IpAddr,
    pub(crate) bits: u8,
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl Cidr {
    /// The address with all bits after the prefix cleared.
    fn masked(self) -> IpAddr {
        match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or_default();
                IpAddr::V4(Ipv4Addr::from(u32::from(address) & mask))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or_default();
                IpAddr::V6(Ipv6Addr::from(u128::from(address) & mask))
            }
        }
    }

    fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && Cidr { address, bits: self.bits }.masked() == self.masked()
    }
}

pub(super) fn builtin(function: &str) -> Option<Builtin> {
    Some(match function {
        "ip" => |call| match call.args {
            [Value::String(text)] => Ok(Value::Ip(parse_ip(text)?)),
            [Value::Cidr(cidr)] => Ok(Value::Ip(cidr.address)),
            _ => call.no_such_overload(),
        },
        "cidr" => |call| match call.args {
            [Value::String(text)] => Ok(Value::Cidr(parse_cidr(text)?)),
            _ => call.no_such_overload(),
        },
        "isIP" => |call| text(call).map(|text| Value::Bool(parse_ip(text).is_ok())),
        "isCIDR" => |call| text(call).map(|text| Value::Bool(parse_cidr(text).is_ok())),
        "ip.isCanonical" => |call| text(call).and_then(|text| Ok(Value::Bool(parse_ip(text)?.to_string() == text))),
        "family" => |call| address(call).map(|ip| Value::Int(if ip.is_ipv4() { 4 } else { 6 })),
        "isUnspecified" => |call| address(call).map(|ip| Value::Bool(ip.is_unspecified())),
        "isLoopback" => |call| address(call).map(|ip| Value::Bool(ip.is_loopback())),
        "isLinkLocalMulticast" => |call| address(call).map(|ip| Value::Bool(is_link_local_multicast(ip))),
        "isLinkLocalUnicast" => |call| address(call).map(|ip| Value::Bool(is_link_local_unicast(ip))),
        "isGlobalUnicast" => |call| {
            let ip = address(call)?;
            let broadcast = ip == IpAddr::V4(Ipv4Addr::BROADCAST);
            let special = ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || is_link_local_unicast(ip);
            Ok(Value::Bool(!broadcast && !special))
        },
        "containsIP" => contains_ip,
        "containsCIDR" => contains_cidr,
        "prefixLength" => |call| range(call).map(|cidr| Value::Int(i64::from(cidr.bits))),
        "masked" => |call| range(call).map(|cidr| Value::Cidr(Cidr { address: cidr.masked(), bits: cidr.bits })),
        _ => return None,
    })
}

fn is_link_local_multicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.octets()[..3] == [224, 0, 0],
        IpAddr::V6(ip) => ip.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_link_local_unicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn text<'c>(call: &'c Invocation<'_, '_>) -> Result<&'c str, EvalError> {
    match call.args {
        [Value::String(text)] => Ok(text),
        _ => call.no_such_overload(),
    }
}

fn address(call: &Invocation<'_, '_>) -> Result<IpAddr, EvalError> {
    match call.args {
        [Value::Ip(ip)] => Ok(*ip),
        _ => call.no_such_overload(),
    }
}

fn range(call: &Invocation<'_, '_>) -> Result<Cidr, EvalError> {
    match call.args {
        [Value::Cidr(cidr)] => Ok(*cidr),
        _ => call.no_such_overload(),
    }
}

fn contains_ip<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    match call.args {
        [Value::Cidr(cidr), Value::Ip(ip)] => Ok(Value::Bool(cidr.contains(*ip))),
        // What is no address is told by its type, for stock looks at the wrong one of the two for its reason.
        [Value::Cidr(cidr), Value::String(text)] => match parse_ip(text) {
            Ok(ip) => Ok(Value::Bool(cidr.contains(ip))),
            Err(_) => Err(EvalError::Failed("no such overload".to_owned())),
        },
        _ => call.no_such_overload(),
    }
}

fn contains_cidr<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let (outer, inner) = match call.args {
        [Value::Cidr(outer), Value::Cidr(inner)] => (*outer, *inner),
        [Value::Cidr(outer), Value::String(text)] => (*outer, parse_cidr(text)?),
        _ => return call.no_such_overload(),
    };
    Ok(Value::Bool(outer.bits <= inner.bits && outer.contains(inner.address)))
}

fn parse_ip(text: &str) -> Result<IpAddr, EvalError> {
    let address = parse_address(text).map_err(|words| {
        EvalError::Failed(format!("IP Address {} parse error during conversion from string: {words}", quote(text)))
    })?;
    if text.contains('%') {
        return Err(EvalError::Failed(format!("IP address {} with zone value is not allowed", quote(text))));
    }
    refuse_mapped(address, text)
}

fn refuse_mapped(address: IpAddr, text: &str) -> Result<IpAddr, EvalError> {
    match address {
        IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some() => {
            Err(EvalError::Failed(format!("IPv4-mapped IPv6 address {} is not allowed", quote(text))))
        }
        address => Ok(address),
    }
}

fn parse_cidr(text: &str) -> Result<Cidr, EvalError> {
    // cel wraps the failure twice in the same words.
    let wrapped = "network address parse error during conversion from string: ";
    let failed =
        |words: String| EvalError::Failed(format!("{wrapped}{wrapped}netip.ParsePrefix({}): {words}", quote(text)));
    let (address, bits) = text.rsplit_once('/').ok_or_else(|| failed("no '/'".to_owned()))?;
    let address_part = parse_address(address).map_err(&failed)?;
    if address.contains('%') {
        return Err(failed("IPv6 zones cannot be present in a prefix".to_owned()));
    }
    let canonical = bits.len() == 1 || bits.starts_with(|c: char| ('1'..='9').contains(&c));
    let number = bits.parse::<u32>().ok().filter(|_| canonical && !bits.starts_with('+'));
    let number = number.ok_or_else(|| failed(format!("bad bits after slash: {}", quote(bits))))?;
    let limit = if address_part.is_ipv4() { 32 } else { 128 };
    if number > limit {
        return Err(failed("prefix length out of range".to_owned()));
    }
    let address = refuse_mapped(address_part, text).map_err(|error| EvalError::Failed(format!("{wrapped}{error}")))?;
    Ok(Cidr { address, bits: number as u8 })
}

/// Reads an address; a zone after `%` is allowed here and left out.
fn parse_address(text: &str) -> Result<IpAddr, String> {
    let failed = |words: &str| Err(format!("ParseAddr({}): {words}", quote(text)));
    let at = |words: &str, rest: &str| Err(format!("ParseAddr({}): {words} (at {})", quote(text), quote(rest)));
    match text.find(['.', ':', '%']).map(|index| text.as_bytes()[index]) {
        Some(b'.') => {
            for (index, part) in text.split('.').enumerate() {
                if part.is_empty() {
                    let rest: String = text.split('.').skip(index).collect::<Vec<_>>().join(".");
                    return at(
                        "IPv4 field must have at least one digit",
                        &format!(".{}", rest.trim_start_matches('.')),
                    );
                }
                if let Some(bad) = part.find(|c: char| !c.is_ascii_digit()) {
                    let start = text.split('.').take(index).map(|part| part.len() + 1).sum::<usize>();
                    return at("unexpected character", &text[start + bad..]);
                }
                if part.len() > 1 && part.starts_with('0') {
                    return failed("IPv4 field has octet with leading zero");
                }
                if part.parse::<u16>().map_or(true, |octet| octet > 255) {
                    return failed("IPv4 field has value >255");
                }
                if index > 3 {
                    return failed("IPv4 address too long");
                }
            }
            text.parse().map(IpAddr::V4).or_else(|_| failed("IPv4 address too short"))
        }
        Some(b':') => {
            let (address, zone) = text.split_once('%').map_or((text, None), |(address, zone)| (address, Some(zone)));
            if zone == Some("") {
                return failed("zone must be a non-empty string");
            }
            match address.parse::<Ipv6Addr>() {
                Ok(address) => Ok(IpAddr::V6(address)),
                Err(_) => ipv6_problem(text, address),
            }
        }
        Some(_) => failed("missing IPv6 address"),
        None => failed("unable to parse IP"),
    }
}

/// What Go says of an IPv6 address that cannot be read.
fn ipv6_problem(text: &str, address: &str) -> Result<IpAddr, String> {
    let failed = |words: &str| Err(format!("ParseAddr({}): {words}", quote(text)));
    let at = |words: &str, rest: &str| Err(format!("ParseAddr({}): {words} (at {})", quote(text), quote(rest)));
    let mut rest = address;
    let mut ellipsis = false;
    if let Some(after) = rest.strip_prefix("::") {
        ellipsis = true;
        rest = after;
    }
    for _ in 0..8 {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 4 {
            return at("each group must have 4 or less digits", rest);
        }
        if digits == 0 {
            return at("each colon-separated field must have at least one digit", rest);
        }
        rest = &rest[digits..];
        if rest.is_empty() {
            break;
        }
        let Some(after) = rest.strip_prefix(':') else { return at("unexpected character, want colon", rest) };
        if after.is_empty() {
            return at("colon must be followed by more characters", rest);
        }
        rest = after;
        if let Some(after) = rest.strip_prefix(':') {
            if ellipsis {
                return at("multiple :: in address", rest);
            }
            ellipsis = true;
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        return at("trailing garbage after address", rest);
    }
    if ellipsis {
        return failed("the :: must expand to at least one field of zeros");
    }
    failed("address string too short")
}
