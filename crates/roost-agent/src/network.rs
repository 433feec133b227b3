//! Interfaces and packet filters that the kubelet, kube-proxy and network plugins make, and how they go away.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::linux::Linux;
use crate::step::NetworkState;
use crate::system::SystemError;

/// Interfaces that only network plugins make, by the beginning of their names.
const PLUGIN_INTERFACES: [&str; 17] = [
    "antrea-",
    "br-int",
    "cali",
    "cbr",
    "cilium_",
    "cni",
    "dummy-kube",
    "flannel",
    "genev_sys",
    "kube-",
    "lxc",
    "nodelocaldns",
    "ovn-",
    "roost-",
    "tunl0",
    "veth",
    "vxlan.calico",
];

/// Tables that only kube-proxy, network plugins and we make.
const PLUGIN_TABLES: [&str; 6] = ["calico", "cni_", "kube-proxy", "kube-router", "antrea", "roost"];

/// Tables that the iptables commands make for themselves when they are missing.
const IPTABLES_TABLES: [&str; 5] = ["filter", "mangle", "nat", "raw", "security"];

/// Chains that only the kubelet, kube-proxy and network plugins make.
const PLUGIN_CHAINS: [&str; 6] = ["KUBE-", "CNI-", "cali-", "FLANNEL-", "CILIUM_", "OVN-KUBE-"];

/// What is there now.
pub(crate) fn state() -> NetworkState {
    NetworkState { interfaces: interfaces(), tables: tables() }
}

/// Of this process's own namespace; `/sys` may show another one.
fn interfaces() -> BTreeSet<String> {
    names(&std::fs::read_to_string("/proc/self/net/dev").unwrap_or_default())
}

fn names(table: &str) -> BTreeSet<String> {
    table.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect()
}

/// Hosts without nft have no tables of it.
fn tables() -> BTreeSet<String> {
    let text = Linux::run("nft", &["list", "tables"]).unwrap_or_default();
    text.lines().filter_map(|line| line.strip_prefix("table ")).map(|line| line.trim().to_owned()).collect()
}

/// Removes what came since and is known to come from pods and Services. What others made stays.
pub(crate) fn restore(before: &NetworkState) -> Result<(), SystemError> {
    for name in interfaces().difference(&before.interfaces) {
        let is_plugins = PLUGIN_INTERFACES.iter().any(|prefix| name.starts_with(prefix));
        // The other end of a pair goes with the first, so that one may be gone already.
        if is_plugins && interfaces().contains(name) {
            Linux::run("ip", &["link", "delete", name])?;
        }
    }
    for family in ["-4", "-6"] {
        // There is nothing to say where a family is switched off.
        let _ = Linux::run("ip", &[family, "route", "flush", "proto", roost_network::routes::PROTOCOL]);
    }
    // Its directory may have been there before.
    let _ = std::fs::remove_file(crate::pod_network::plugin_path());
    for command in ["iptables", "ip6tables"] {
        clear_chains(command)?;
    }
    for table in tables().difference(&before.tables) {
        let name = table.split(' ').nth(1).unwrap_or_default();
        let is_plugins = PLUGIN_TABLES.iter().any(|prefix| name.starts_with(prefix));
        if is_plugins || IPTABLES_TABLES.contains(&name) && is_empty(table) {
            let mut arguments = vec!["delete", "table"];
            arguments.extend(table.split(' '));
            Linux::run("nft", &arguments)?;
        }
    }
    Ok(())
}

/// Whether a table has no rules and no chains but the built-in ones.
fn is_empty(table: &str) -> bool {
    let mut arguments = vec!["list", "table"];
    arguments.extend(table.split(' '));
    let text = Linux::run("nft", &arguments).unwrap_or_default();
    text.lines().map(str::trim).all(|line| {
        line.is_empty()
            || line == "}"
            || line.starts_with("table ")
            || line.starts_with("type ")
            || line.starts_with('#')
            || line.strip_prefix("chain ").is_some_and(|chain| {
                let name = chain.trim_end_matches(" {");
                name.bytes().all(|byte| byte.is_ascii_uppercase())
            })
    })
}

/// Writes the rules again without those of pods and Services.
fn clear_chains(command: &str) -> Result<(), SystemError> {
    let Ok(saved) = Linux::run(&format!("{command}-save"), &[]) else { return Ok(()) };
    let kept = without_plugin_rules(&saved);
    if kept == saved {
        return Ok(());
    }
    let program = format!("{command}-restore");
    let start = |source| SystemError::Start { program: program.clone(), source };
    let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().map_err(start)?;
    if let Some(input) = &mut child.stdin {
        input.write_all(kept.as_bytes()).map_err(start)?;
    }
    drop(child.stdin.take());
    let status = child.wait().map_err(start)?;
    if status.success() {
        return Ok(());
    }
    Err(SystemError::Failed { command: program.clone(), words: "the remaining rules were refused".to_owned() })
}

fn without_plugin_rules(saved: &str) -> String {
    let is_plugins = |line: &&str| !PLUGIN_CHAINS.iter().any(|prefix| line.contains(prefix));
    saved.lines().filter(is_plugins).flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::{names, without_plugin_rules};

    #[test]
    fn interfaces_are_those_of_the_table() {
        let table = "Inter-|   Receive\n face |bytes\n    lo: 1 2\n  cni0: 0 0\n";
        assert_eq!(names(table).into_iter().collect::<Vec<_>>(), ["cni0", "lo"]);
    }

    #[test]
    fn only_the_rules_of_pods_and_services_go() {
        let saved = "*nat\n:PREROUTING ACCEPT [0:0]\n:KUBE-SERVICES - [0:0]\n:MINE - [0:0]\n-A PREROUTING -j KUBE-SERVICES\n-A PREROUTING -j MINE\n-A POSTROUTING -s 10.1.0.0/24 -j CNI-5d1\nCOMMIT\n";
        let kept = "*nat\n:PREROUTING ACCEPT [0:0]\n:MINE - [0:0]\n-A PREROUTING -j MINE\nCOMMIT\n";
        assert_eq!(without_plugin_rules(saved), kept);
    }
}
