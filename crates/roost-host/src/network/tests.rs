//! Networks as people write them, and those that cannot be.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn config(name: &str, interfaces: &Value, state: &Value) -> HostNetwork {
    HostNetwork::of(&json!({"metadata": {"name": name}, "spec": {"interfaces": interfaces, "config": state}}))
}

fn simple(name: &str, address: &str) -> HostNetwork {
    config(
        name,
        &json!([{"name": "eth0", "macAddress": address}]),
        &json!({
            "interfaces": [{
                "name": "eth0", "type": "ethernet", "state": "up", "mtu": 9000,
                "ipv4": {"enabled": true, "dhcp": false, "address": [{"ip": "192.0.2.5", "prefix-length": 24}]},
                "ipv6": {"enabled": true, "address": [{"ip": "2001:db8::5", "prefix-length": 64}]},
            }],
            "dns-resolver": {"config": {"server": ["192.0.2.53", "2001:db8::53"], "search": ["example.com"]}},
            "routes": {"config": [
                {"destination": "0.0.0.0/0", "next-hop-address": "192.0.2.1", "next-hop-interface": "eth0", "table-id": 254},
                {"destination": "198.51.100.0/24", "next-hop-address": "192.0.2.9", "next-hop-interface": "eth0", "metric": 50},
                {"destination": "::/0", "next-hop-address": "2001:db8::1", "next-hop-interface": "eth0"},
            ]},
        }),
    )
}

fn text<'a>(files: &'a [NetworkFile], path: &str) -> &'a str {
    let file = files.iter().find(|file| file.path == path);
    let file =
        file.unwrap_or_else(|| panic!("no {path} in {:?}", files.iter().map(|file| &file.path).collect::<Vec<_>>()));
    std::str::from_utf8(&file.contents).unwrap()
}

#[test]
fn a_card_with_addresses_routes_and_names() {
    let files = network_files(&[simple("one", "52:54:00:AA:00:01")]).unwrap();
    assert_eq!(text(&files, "etc/assisted/network/host0/mac_interface.ini"), "52:54:00:aa:00:01=eth0\n");
    let keyfile = text(&files, "etc/assisted/network/host0/eth0.nmconnection");
    let uuid = keyfile.lines().find_map(|line| line.strip_prefix("uuid=")).unwrap();
    assert_eq!(uuid.len(), 36);
    assert_eq!(
        keyfile.replace(uuid, "UUID"),
        "[connection]\nid=eth0\nuuid=UUID\ntype=ethernet\nautoconnect=true\n\n\
         [ethernet]\nmac-address=52:54:00:aa:00:01\nmtu=9000\n\n\
         [ipv4]\nmethod=manual\naddress1=192.0.2.5/24\nroute1=0.0.0.0/0,192.0.2.1\nroute2=198.51.100.0/24,192.0.2.9,50\n\
         dns=192.0.2.53;\ndns-search=example.com;\n\n\
         [ipv6]\nmethod=manual\naddress1=2001:db8::5/64\nroute1=::/0,2001:db8::1\ndns=2001:db8::53;\ndns-search=example.com;\n"
    );
    assert_eq!(
        text(&files, "etc/roost/network/52-54-00-aa-00-01.env"),
        "ADDRESSES=\"192.0.2.5/24 2001:db8::5/64\"\nGATEWAY=\"192.0.2.1 2001:db8::1\"\nDNS=\"192.0.2.53 2001:db8::53\"\nMTU=9000\n"
    );
    assert!(text(&files, "usr/local/bin/pre-network-manager-config.sh").starts_with("#!/bin/sh\n"));
    assert_eq!(network_files(&[]), Ok(Vec::new()));
}

#[test]
fn a_tag_on_a_bond_of_two_cards() {
    let network = config(
        "bonded",
        &json!([{"name": "p1", "macAddress": "52:54:00:00:00:01"}, {"name": "p2", "macAddress": "52:54:00:00:00:02"}]),
        &json!({
            "interfaces": [
                {"name": "p1", "type": "ethernet", "ipv4": {"enabled": false}, "ipv6": {"enabled": false}},
                {"name": "bond0", "type": "bond", "link-aggregation":
                    {"mode": "802.3ad", "options": {"miimon": "100", "lacp_rate": 1}, "port": ["p1", "p2"]}},
                {"name": "bond0.100", "type": "vlan", "vlan": {"base-iface": "bond0", "id": 100},
                    "ipv4": {"enabled": true, "address": [{"ip": "192.0.2.7", "prefix-length": 24}]}},
            ],
            "routes": {"config": [{"destination": "0.0.0.0/0", "next-hop-address": "192.0.2.1", "next-hop-interface": "bond0.100"}]},
        }),
    );
    let files = network_files(&[network]).unwrap();
    let keyfile = |name: &str| text(&files, &format!("etc/assisted/network/host0/{name}.nmconnection"));
    let uuid = |name: &str| keyfile(name).lines().find_map(|line| line.strip_prefix("uuid=")).unwrap();
    let bond = keyfile("bond0");
    assert!(
        bond.contains("interface-name=bond0\n") && bond.contains("[bond]\nmode=802.3ad\nlacp_rate=1\nmiimon=100\n"),
        "{bond}"
    );
    for port in ["p1", "p2"] {
        assert!(keyfile(port).contains(&format!("master={}\nslave-type=bond\n", uuid("bond0"))), "{}", keyfile(port));
        assert!(!keyfile(port).contains("[ipv4]"), "a port has no addresses");
    }
    assert!(keyfile("bond0.100").contains(&format!("[vlan]\nid=100\nparent={}\n", uuid("bond0"))));
    assert_eq!(
        text(&files, "etc/roost/network/52-54-00-00-00-01.env"),
        "ADDRESSES=\"192.0.2.7/24\"\nGATEWAY=\"192.0.2.1\"\nVLAN=100\n"
    );
}

#[test]
fn cards_that_ask_say_how() {
    let network = config(
        "asking",
        &json!([{"name": "eth0", "macAddress": "52:54:00:00:00:01"}]),
        &json!({"interfaces": [{"name": "eth0", "ipv4": {"enabled": true, "dhcp": true, "auto-dns": false},
            "ipv6": {"enabled": true, "dhcp": true}}]}),
    );
    let files = network_files(&[network]).unwrap();
    let keyfile = text(&files, "etc/assisted/network/host0/eth0.nmconnection");
    assert!(keyfile.ends_with("[ipv4]\nmethod=auto\nignore-auto-dns=true\n\n[ipv6]\nmethod=dhcp\n"), "{keyfile}");
    assert!(!files.iter().any(|file| file.path.starts_with("etc/roost/")));
}

#[test]
fn what_cannot_be_carried_out_is_refused_with_words() {
    let cards = json!([{"name": "eth0", "macAddress": "52:54:00:00:00:01"}]);
    for (state, words) in [
        (json!({"interfaces": [{"name": "eth1"}]}), "mac-interface mapping for interface eth1 is missing"),
        (json!({"interfaces": [{"name": "eth0", "type": "ovs-bridge"}]}), "ovs-bridge"),
        (json!({"interfaces": [{"name": "eth0", "ethtool": {}}]}), "ethtool"),
        (json!({"interfaces": [{"name": "eth0"}], "route-rules": {}}), "route-rules"),
        (
            json!({"interfaces": [{"name": "eth0", "ipv4": {"address": [{"ip": "2001:db8::1", "prefix-length": 64}]}}]}),
            "no address of ipv4",
        ),
        (
            json!({"interfaces": [{"name": "eth0", "ipv4": {"address": [{"ip": "192.0.2.1", "prefix-length": 64}]}}]}),
            "192.0.2.1/64",
        ),
        (json!({"interfaces": [{"name": "v", "type": "vlan", "vlan": {"base-iface": "eth9", "id": 5}}]}), "eth9"),
        (
            json!({"interfaces": [{"name": "eth0"}, {"name": "v", "type": "vlan", "vlan": {"base-iface": "eth0", "id": 5000}}]}),
            "5000",
        ),
        (
            json!({"interfaces": [{"name": "b", "type": "bond", "link-aggregation": {"mode": "best", "port": ["eth0"]}}]}),
            "best",
        ),
        (
            json!({"interfaces": [{"name": "b", "type": "bond", "link-aggregation": {"mode": "802.3ad", "port": ["eth7"]}}]}),
            "eth7",
        ),
        (json!({"interfaces": [{"name": "../../etc"}]}), "name of an interface"),
        (json!({"interfaces": [{"name": "eth0"}], "dns-resolver": {"config": {"search": ["a\nb"]}}}), "domain"),
        (
            json!({"interfaces": [{"name": "eth0"}], "routes": {"config": [{"destination": "0.0.0.0/0", "next-hop-address": "192.0.2.1", "next-hop-interface": "eth4"}]}}),
            "eth4",
        ),
    ] {
        let error = network_files(&[config("odd", &cards, &state)]).unwrap_err().to_string();
        assert!(error.contains(words) && error.starts_with("NMStateConfig odd: "), "{words}: {error}");
    }
    let twice = [simple("one", "52:54:00:00:00:01"), simple("two", "52:54:00:00:00:01")];
    assert_eq!(
        network_files(&twice).unwrap_err().to_string(),
        "NMStateConfigs one and two are both for the host with the address 52:54:00:00:00:01"
    );
}

#[test]
fn a_host_takes_its_own_connections() {
    let here = tempfile::tempdir().unwrap();
    let networks = [simple("one", "52:54:00:00:00:01"), simple("two", "52:54:00:00:00:02")];
    for file in network_files(&networks).unwrap() {
        let path = here.path().join(&file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, file.contents).unwrap();
    }
    for (card, address) in [("lo", "00:00:00:00:00:00"), ("enp3s0", "52:54:00:00:00:02")] {
        std::fs::create_dir_all(here.path().join("sys").join(card)).unwrap();
        std::fs::write(here.path().join("sys").join(card).join("address"), format!("{address}\n")).unwrap();
    }
    let place = |name: &str| here.path().join(name).to_str().unwrap().to_owned();
    let script = place("usr/local/bin/pre-network-manager-config.sh");
    let ran = std::process::Command::new("sh")
        .args([script, place("to"), place("etc/assisted/network"), place("sys")])
        .status()
        .unwrap();
    assert!(ran.success());
    let taken = std::fs::read_to_string(here.path().join("to/eth0.nmconnection")).unwrap();
    assert!(taken.contains("mac-address=52:54:00:00:00:02\n"), "{taken}");
}

proptest! {
    #[test]
    fn names_and_options_never_leave_their_line(name in "[ -~\n]{0,12}", option in "[ -~\n]{0,8}", search in "[ -~\n]{0,8}") {
        let network = config(
            "any",
            &json!([{"name": "eth0", "macAddress": "52:54:00:00:00:01"}, {"name": name, "macAddress": "52:54:00:00:00:02"}]),
            &json!({"interfaces": [{"name": name}, {"name": "bond9", "type": "bond",
                "link-aggregation": {"mode": "802.3ad", "port": ["eth0"], "options": {"primary": option}}}],
                "dns-resolver": {"config": {"search": [search]}}}),
        );
        for file in network_files(&[network]).unwrap_or_default() {
            prop_assert!(file.path.split('/').all(|part| !matches!(part, "" | "." | "..")), "{}", file.path);
            prop_assert!(!file.path.contains('\n'), "{}", file.path);
            if file.path.contains(".nmconnection") {
                for line in String::from_utf8(file.contents).unwrap().lines() {
                    prop_assert!(line.is_empty() || line.starts_with('[') || line.contains('='), "{line}");
                }
            }
        }
    }
}
