//! Choosing cluster addresses and node ports. Nothing is remembered here: callers say what is in use.
//!
//! The lower part of a range is left for those who ask for an address or port by number, as long as the upper part has
//! room. So a number that somebody fixed is rarely taken by chance.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use ipnet::IpNet;

/// The ports that services open on nodes unless the server was told otherwise.
pub const NODE_PORTS: RangeInclusive<u16> = 30_000..=32_767;

/// Why a number that was asked for cannot be had, in the words of the stock server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Somebody has the address.
    Address,
    /// No range of the cluster has the address.
    AddressOutsideRanges,
    /// The range has the address, but does not give it out.
    AddressReserved(IpAddr, IpNet),
    /// Somebody has the port.
    Port,
    /// The port is not one of those that are given out.
    PortOutsideRange(RangeInclusive<u16>),
}

impl std::fmt::Display for Taken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Taken::Address => f.write_str("provided IP is already allocated"),
            Taken::AddressOutsideRanges => f.write_str("the provided network does not match the current range"),
            Taken::AddressReserved(address, range) => {
                write!(f, "the provided IP ({address}) is not in the valid range. The range of valid IPs is {range}")
            }
            Taken::Port => f.write_str("provided port is already allocated"),
            Taken::PortOutsideRange(ports) => write!(
                f,
                "provided port is not in the valid range. The range of valid ports is {}-{}",
                ports.start(),
                ports.end()
            ),
        }
    }
}

/// Chooses a free address of a range; none if the range is full.
pub fn allocate_cluster_ip(range: &IpNet, used: &dyn Fn(IpAddr) -> bool, seed: u64) -> Option<IpAddr> {
    let band = Band::of(range);
    let first = number(range.network()) + 1;
    let free = |index: u128| Some(address(first + index, range)).filter(|address| !used(*address));
    band.search(seed, free)
}

/// Chooses a free port; none if all are taken.
pub fn allocate_node_port(ports: &RangeInclusive<u16>, used: &dyn Fn(u16) -> bool, seed: u64) -> Option<u16> {
    let size = u128::from(ports.end().saturating_sub(*ports.start())) + 1;
    let reserved = band_below(size, 128, 32);
    let free = |index: u128| Some(*ports.start() + index as u16).filter(|port| !used(*port));
    Band { size, reserved }.search(seed, free)
}

/// Whether an address can be had that was asked for by number.
pub fn claim_cluster_ip(wanted: IpAddr, ranges: &[IpNet], used: &dyn Fn(IpAddr) -> bool) -> Result<(), Taken> {
    if !ranges.iter().any(|range| gives_out(range, wanted)) {
        return Err(Taken::AddressOutsideRanges);
    }
    if used(wanted) { Err(Taken::Address) } else { Ok(()) }
}

/// Whether a port can be had that was asked for by number.
pub fn claim_node_port(wanted: u16, ports: &RangeInclusive<u16>, used: &dyn Fn(u16) -> bool) -> Result<(), Taken> {
    if !ports.contains(&wanted) {
        return Err(Taken::PortOutsideRange(ports.clone()));
    }
    if used(wanted) { Err(Taken::Port) } else { Ok(()) }
}

/// Whether a range has an address and gives it out: not its own, nor its broadcast address.
pub fn gives_out(range: &IpNet, wanted: IpAddr) -> bool {
    range.contains(&wanted) && wanted != range.network() && (wanted.is_ipv6() || wanted != range.broadcast())
}

/// A range of numbers whose lower part is reserved.
struct Band {
    size: u128,
    reserved: u128,
}

impl Band {
    fn of(range: &IpNet) -> Self {
        let bits = u32::from(range.max_prefix_len() - range.prefix_len()).min(63);
        let all = 1_u128 << bits;
        // The address of the network is not given out, nor is the broadcast address where there is one.
        let kept_back = if range.network().is_ipv4() { 2 } else { 1 };
        Self { size: all.saturating_sub(kept_back), reserved: band_below(all, 256, 16) }
    }

    /// Walks the upper part from a random place around to that place, then the lower part in the same way.
    fn search<T>(&self, seed: u64, free: impl Fn(u128) -> Option<T>) -> Option<T> {
        let reserved = self.reserved.min(self.size);
        let walk = |start: u128, length: u128, seed: u64| {
            let offset = if length == 0 { 0 } else { u128::from(scramble(seed)) % length };
            (offset..length).chain(0..offset).find_map(|index| free(start + index))
        };
        walk(reserved, self.size - reserved, seed).or_else(|| walk(0, reserved, seed.wrapping_add(1)))
    }
}

/// How much of a range is reserved: a part of it, but neither very little nor very much.
fn band_below(size: u128, max: u128, step: u128) -> u128 {
    const MIN: u128 = 16;
    if size <= MIN { 0 } else { (size / step).clamp(MIN, max) }
}

/// Spreads a seed over all bits (the finalizer of the `SplitMix64` generator).
fn scramble(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

fn address(number: u128, range: &IpNet) -> IpAddr {
    match range {
        IpNet::V4(_) => IpAddr::V4(Ipv4Addr::from(number as u32)),
        IpNet::V6(_) => IpAddr::V6(Ipv6Addr::from(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn fill(range: &str) -> Vec<IpAddr> {
        let range: IpNet = range.parse().unwrap();
        let mut given = Vec::new();
        let mut seed = 0;
        loop {
            seed += 7;
            let taken: BTreeSet<_> = given.iter().copied().collect();
            match allocate_cluster_ip(&range, &|address| taken.contains(&address), seed) {
                Some(address) => given.push(address),
                None => return given,
            }
        }
    }

    #[test]
    fn the_upper_band_is_given_out_first() {
        let given = fill("10.0.0.0/24");
        assert_eq!(given.len(), 254);
        let low: IpAddr = "10.0.0.16".parse().unwrap();
        assert!(given[..238].iter().all(|address| *address > low));
        assert!(given[238..].iter().all(|address| *address <= low));
    }

    #[test]
    fn small_ranges_have_no_reserved_band() {
        assert_eq!(fill("10.0.0.0/30").len(), 2);
        assert_eq!(fill("10.0.0.0/32").len(), 0);
        assert_eq!(fill("fd00::/126").len(), 3);
    }

    #[test]
    fn wide_ranges_are_fine() {
        let range: IpNet = "fd00::/64".parse().unwrap();
        let address = allocate_cluster_ip(&range, &|_| false, u64::MAX).unwrap();
        assert!(gives_out(&range, address));
    }

    #[test]
    fn ports_are_given_out_above_the_reserved_ones_first() {
        for seed in 0..500 {
            let port = allocate_node_port(&NODE_PORTS, &|_| false, seed).unwrap();
            assert!((30_086..=32_767).contains(&port), "{port}");
        }
        assert!(allocate_node_port(&NODE_PORTS, &|port| port > 30_085, 3).unwrap() <= 30_085);
        assert_eq!(allocate_node_port(&NODE_PORTS, &|_| true, 3), None);
    }

    #[test]
    fn refusals_read_as_stock_words_them() {
        let range = "10.0.0.0/24".parse().unwrap();
        let wanted = |text: &str| {
            claim_cluster_ip(text.parse().unwrap(), &[range], &|address| address.to_string() == "10.0.0.5")
        };
        assert_eq!(wanted("10.0.0.4"), Ok(()));
        assert_eq!(wanted("10.0.0.5").unwrap_err().to_string(), "provided IP is already allocated");
        for outside in ["10.0.1.1", "10.0.0.0", "10.0.0.255"] {
            assert_eq!(
                wanted(outside).unwrap_err().to_string(),
                "the provided network does not match the current range"
            );
        }
        assert_eq!(
            claim_node_port(30_000, &NODE_PORTS, &|_| true).unwrap_err().to_string(),
            "provided port is already allocated"
        );
        assert_eq!(
            claim_node_port(80, &NODE_PORTS, &|_| false).unwrap_err().to_string(),
            "provided port is not in the valid range. The range of valid ports is 30000-32767"
        );
    }
}
