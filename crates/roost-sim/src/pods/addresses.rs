//! Addresses for pods, from the range of the node.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};

/// Nodes without a range of their own take 256 addresses each of the range that is meant for no public use (RFC 6598).
const FALLBACK: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 0);
/// How many such nodes there are before ranges repeat.
const FALLBACK_RANGES: u32 = 1 << 14;

/// The addresses of one node.
#[derive(Debug)]
pub(crate) struct Addresses {
    base: u32,
    size: u32,
    used: HashSet<u32>,
    next: u32,
}

impl Addresses {
    /// The addresses of the node with this number, until the API says something better.
    pub(crate) fn fallback(number: u32) -> Self {
        Self::new(u32::from(FALLBACK) + number % FALLBACK_RANGES * 256, 256)
    }

    fn new(base: u32, size: u32) -> Self {
        // The first address names the range and the second is the node's own.
        Self { base, size, used: HashSet::new(), next: 2 }
    }

    /// The addresses of an IPv4 range such as `10.132.3.0/24`; none for anything else.
    pub(crate) fn of_range(range: &str) -> Option<Self> {
        let (base, length) = range.split_once('/')?;
        let (base, length): (Ipv4Addr, u32) = (base.parse().ok()?, length.parse().ok()?);
        let size = 1_u32.checked_shl(32_u32.checked_sub(length)?)?;
        let base = u32::from(base) & !(size - 1);
        (size >= 4).then(|| Self::new(base, size))
    }

    pub(crate) fn is_same_range(&self, other: &Self) -> bool {
        (self.base, self.size) == (other.base, other.size)
    }

    /// Takes an address that is free; none when all are taken.
    pub(crate) fn take(&mut self) -> Option<IpAddr> {
        for step in 0..self.size {
            let offset = (self.next.wrapping_add(step)) % self.size;
            // The last address of a range is for everybody in it.
            if offset >= 2 && offset < self.size - 1 && self.used.insert(offset) {
                self.next = offset + 1;
                return Some(IpAddr::V4(Ipv4Addr::from(self.base + offset)));
            }
        }
        None
    }

    /// Takes this address, if it is free and of this range.
    pub(crate) fn take_again(&mut self, address: IpAddr) -> bool {
        let IpAddr::V4(address) = address else { return false };
        let offset = u32::from(address).wrapping_sub(self.base);
        offset >= 2 && offset < self.size && self.used.insert(offset)
    }

    /// Gives an address back.
    pub(crate) fn free(&mut self, address: IpAddr) {
        if let IpAddr::V4(address) = address {
            self.used.remove(&u32::from(address).wrapping_sub(self.base));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Addresses;

    #[test]
    fn every_address_is_given_once() {
        let mut addresses = Addresses::of_range("10.1.2.9/29").unwrap();
        let taken: Vec<String> = std::iter::from_fn(|| addresses.take()).map(|address| address.to_string()).collect();
        assert_eq!(taken, ["10.1.2.10", "10.1.2.11", "10.1.2.12", "10.1.2.13", "10.1.2.14"]);
        addresses.free("10.1.2.12".parse().unwrap());
        assert!(!addresses.take_again("10.1.2.11".parse().unwrap()));
        assert_eq!(addresses.take().unwrap().to_string(), "10.1.2.12");
        assert!(Addresses::of_range("10.0.0.0/32").is_none());
        assert!(Addresses::of_range("10.0.0.0/0").is_none());
        assert!(Addresses::of_range("fd00::/64").is_none());
        let mut fallback = Addresses::fallback((1 << 14) + 1);
        assert_eq!(fallback.take().unwrap().to_string(), "100.64.1.2");
    }
}
