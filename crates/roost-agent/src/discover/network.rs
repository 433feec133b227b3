//! The network cards, addresses and routes of a host, from what the kernel shows in `/sys` and `/proc`.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use roost_host::inventory::{Interface, Route};

use crate::root::Root;

/// The flag of a route that has a gateway.
const GATEWAY: u32 = 0x2;
const INET: i64 = 2;
const INET6: i64 = 10;

/// The network cards, VLANs and bonds.
pub(super) fn interfaces(root: &Root) -> Vec<Interface> {
    let mut addresses = v6_addresses(&root.text("/proc/net/if_inet6").unwrap_or_default());
    for (interface, address) in v4_addresses(
        &root.text("/proc/net/fib_trie").unwrap_or_default(),
        &root.text("/proc/net/route").unwrap_or_default(),
    ) {
        addresses.entry(interface).or_default().push(address);
    }
    let mut found = Vec::new();
    for name in super::hardware::entries(root, "/sys/class/net") {
        let text = |file: &str| root.text(&format!("/sys/class/net/{name}/{file}")).map(|text| text.trim().to_owned());
        let number = |file: &str| text(file).and_then(|text| text.parse::<i64>().ok());
        let Some(kind) = kind(root, &name) else { continue };
        let mac = text("bonding_slave/perm_hwaddr").or_else(|| text("address")).unwrap_or_default();
        let own = addresses.remove(&name).unwrap_or_default();
        let list = |is_v4: bool| {
            let own = own.iter().filter(|(address, _)| address.is_ipv4() == is_v4);
            own.map(|(address, length)| format!("{address}/{length}")).collect()
        };
        let has_carrier = number("carrier") == Some(1);
        let mut flags = vec!["broadcast".to_owned(), "multicast".to_owned()];
        if text("operstate").as_deref() == Some("up") {
            flags.insert(0, "up".to_owned());
        }
        found.push(Interface {
            ipv4_addresses: list(true),
            ipv6_addresses: list(false),
            has_carrier,
            mtu: number("mtu").unwrap_or_default(),
            speed_mbps: number("speed").filter(|speed| *speed > 0).unwrap_or_default(),
            vendor: text("device/vendor").unwrap_or_default(),
            product: text("device/device").unwrap_or_default(),
            mac_address: mac,
            r#type: kind.to_owned(),
            flags,
            name,
            ..Interface::default()
        });
    }
    found
}

/// What an interface is; none for those that are of the system's own making.
fn kind(root: &Root, name: &str) -> Option<&'static str> {
    let has = |file: &str| root.exists(&format!("/sys/class/net/{name}/{file}"));
    if root.exists(&format!("/proc/net/vlan/{name}")) {
        Some("vlan")
    } else if has("bonding") {
        Some("bond")
    } else if has("device") {
        Some("physical")
    } else {
        None
    }
}

/// IPv6 addresses by interface.
fn v6_addresses(text: &str) -> BTreeMap<String, Vec<(IpAddr, u8)>> {
    let mut all: BTreeMap<String, Vec<(IpAddr, u8)>> = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [address, _, length, _, _, name] = fields.as_slice() else { continue };
        let (Ok(address), Ok(length)) = (u128::from_str_radix(address, 16), u8::from_str_radix(length, 16)) else {
            continue;
        };
        all.entry((*name).to_owned()).or_default().push((Ipv6Addr::from(address).into(), length));
    }
    all
}

/// IPv4 addresses: the kernel's own ones, each with the interface whose network it is in.
fn v4_addresses(trie: &str, routes: &str) -> Vec<(String, (IpAddr, u8))> {
    let networks: Vec<(String, u32, u32)> = read_routes(routes)
        .into_iter()
        .filter(|route| route.mask != 0 && route.flags & GATEWAY == 0)
        .map(|route| (route.interface, route.destination, route.mask))
        .collect();
    let mut own: Vec<Ipv4Addr> = Vec::new();
    let mut last = None;
    for line in trie.lines() {
        let line = line.trim();
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address.parse::<Ipv4Addr>().ok();
        } else if line == "/32 host LOCAL"
            && let Some(address) = last.take().filter(|address| !address.is_loopback())
            && !own.contains(&address)
        {
            own.push(address);
        }
    }
    let place = |address: Ipv4Addr| {
        let within = |(_, network, mask): &&(String, u32, u32)| u32::from(address) & mask == *network;
        let (interface, _, mask) = networks.iter().filter(within).max_by_key(|(_, _, mask)| mask.count_ones())?;
        let length = u8::try_from(mask.count_ones()).ok()?;
        Some((interface.clone(), (IpAddr::V4(address), length)))
    };
    own.into_iter().filter_map(place).collect()
}

struct Line {
    interface: String,
    destination: u32,
    gateway: u32,
    flags: u32,
    metric: i64,
    mask: u32,
}

/// `/proc/net/route`, whose numbers are in the byte order of the machine.
fn read_routes(text: &str) -> Vec<Line> {
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    let address = |text: &str| Some(u32::from_be_bytes(number(text)?.to_ne_bytes()));
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        Some(Line {
            interface: (*fields.first()?).to_owned(),
            destination: address(fields.get(1)?)?,
            gateway: address(fields.get(2)?)?,
            flags: number(fields.get(3)?)?,
            metric: fields.get(6)?.parse().ok()?,
            mask: address(fields.get(7)?)?,
        })
    };
    text.lines().skip(1).filter_map(line).collect()
}

/// Where packets go.
pub(super) fn routes(root: &Root) -> Vec<Route> {
    let mut all: Vec<Route> = read_routes(&root.text("/proc/net/route").unwrap_or_default())
        .into_iter()
        .map(|route| Route {
            interface: route.interface,
            gateway: Ipv4Addr::from(route.gateway).to_string(),
            destination: Ipv4Addr::from(route.destination).to_string(),
            family: INET,
            metric: route.metric,
        })
        .collect();
    for line in root.text("/proc/net/ipv6_route").unwrap_or_default().lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [destination, "00", _, _, gateway, metric, _, _, _, interface] = fields.as_slice() else { continue };
        let address = |text: &str| u128::from_str_radix(text, 16).ok().map(Ipv6Addr::from);
        let (Some(destination), Some(gateway)) = (address(destination), address(gateway)) else { continue };
        if *interface == "lo" {
            continue;
        }
        all.push(Route {
            interface: (*interface).to_owned(),
            gateway: gateway.to_string(),
            destination: destination.to_string(),
            family: INET6,
            metric: i64::from_str_radix(metric, 16).unwrap_or_default(),
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTES: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
        eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
        eth0\t000200C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n";
    const TRIE: &str = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 127.0.0.1\n        /32 host LOCAL\n     |-- 192.0.2.10\n        /32 host LOCAL\n     |-- 192.0.2.255\n        /32 link BROADCAST\n";

    #[test]
    fn addresses_have_their_interface_and_length() {
        let found = v4_addresses(TRIE, ROUTES);
        assert_eq!(found, [("eth0".to_owned(), ("192.0.2.10".parse().unwrap(), 24))]);
        let six = v6_addresses("20010db8000000000000000000000001 02 40 00 80 eth0\nbroken\n");
        assert_eq!(six["eth0"], [("2001:db8::1".parse().unwrap(), 64)]);
    }

    #[test]
    fn the_default_route_has_its_gateway() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("proc/net")).unwrap();
        std::fs::write(directory.path().join("proc/net/route"), ROUTES).unwrap();
        let routes = routes(&Root::new(directory.path()));
        assert_eq!((routes[0].gateway.as_str(), routes[0].destination.as_str()), ("192.0.2.1", "0.0.0.0"));
        assert_eq!(routes.len(), 2);
    }
}
