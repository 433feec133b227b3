//! What is done to this host: with `ip`, `nft` and `conntrack`, each only where something differs.

use std::io::Write as _;
use std::net::IpAddr;
use std::process::{Command, Stdio};

use ipnet::IpNet;
use roost_network::filter::TABLE;
use roost_network::mesh;
use roost_network::routes::{self, PROTOCOL, Route};

use crate::linux::Linux;
use crate::system::SystemError;

/// The link that has the cluster's DNS addresses. A bridge without ports, because every kernel that has pods has those.
const NAMES_LINK: &str = "roost-dns";

/// Takes in a whole table of the packet filter, or nothing of it.
pub(super) fn load_filter(text: &str) -> Result<(), SystemError> {
    feed("nft", &["-f", "-"], text)
}

/// Whether our table is there; others may have flushed everything.
pub(super) fn has_filter() -> Result<bool, SystemError> {
    let tables = Linux::run("nft", &["list", "tables"])?;
    Ok(tables.lines().any(|line| line.trim() == format!("table {TABLE}")))
}

/// The networks that this host reaches without a router.
pub(super) fn on_link() -> Result<Vec<IpNet>, SystemError> {
    let mut networks = routes::on_link(&Linux::run("ip", &["-j", "-4", "route", "show"])?);
    // A host may have no IPv6 at all.
    networks.extend(routes::on_link(&Linux::run("ip", &["-j", "-6", "route", "show"]).unwrap_or_default()));
    Ok(networks)
}

/// Makes our routes what they should be, and leaves others' alone.
pub(super) fn set_routes(wanted: &[Route]) -> Result<(), SystemError> {
    let mut current = routes::read(&Linux::run("ip", &["-j", "-4", "route", "show", "proto", PROTOCOL])?);
    let six = Linux::run("ip", &["-j", "-6", "route", "show", "proto", PROTOCOL]);
    current.extend(routes::read(&six.unwrap_or_default()));
    let changes = routes::changes(&current, wanted);
    if changes.is_empty() { Ok(()) } else { feed("ip", &["-force", "-batch", "-"], &changes) }
}

/// Has this host answer at the cluster's DNS addresses.
pub(super) fn set_names_link(addresses: &[IpAddr]) -> Result<(), SystemError> {
    let exists = std::fs::read_to_string("/proc/self/net/dev")
        .is_ok_and(|table| table.lines().any(|line| line.trim_start().starts_with(&format!("{NAMES_LINK}:"))));
    if !exists {
        Linux::run("ip", &["link", "add", NAMES_LINK, "type", "bridge"])?;
    }
    let networks: Vec<IpNet> = addresses.iter().copied().map(IpNet::from).collect();
    set_addresses(NAMES_LINK, &networks)?;
    if exists { Ok(()) } else { Linux::run("ip", &["link", "set", NAMES_LINK, "up"]).map(drop) }
}

/// Has the link of the mesh, which is there, carry packets from and to this node's pods.
pub(super) fn set_mesh_link(pod_networks: &[IpNet]) -> Result<(), SystemError> {
    let mtu = mesh::mtu(&Linux::run("ip", &["-j", "link", "show"])?).to_string();
    Linux::run("ip", &["link", "set", mesh::LINK, "mtu", &mtu, "up"])?;
    set_addresses(mesh::LINK, &mesh::addresses(pod_networks))
}

/// Gives a link addresses that it does not have yet.
fn set_addresses(link: &str, networks: &[IpNet]) -> Result<(), SystemError> {
    let present = Linux::run("ip", &["-o", "addr", "show", "dev", link])?;
    for network in networks {
        let text = network.to_string();
        if !present.split_whitespace().any(|word| word == text) {
            let mut arguments = vec!["addr", "replace", &text, "dev", link];
            if network.addr().is_ipv6() {
                arguments.push("nodad");
            }
            Linux::run("ip", &arguments)?;
        }
    }
    Ok(())
}

/// Forgets the connections of UDP clients to an endpoint that is gone. There may be none, or no program for it.
pub(super) fn forget_connections(service: IpAddr, endpoint: IpAddr) {
    let family = if service.is_ipv4() { "ipv4" } else { "ipv6" };
    let (service, endpoint) = (service.to_string(), endpoint.to_string());
    let arguments = ["-D", "-f", family, "-p", "udp", "--orig-dst", service.as_str(), "--reply-src", endpoint.as_str()];
    let _ = Linux::run("conntrack", &arguments);
}

/// Runs a program with something to read.
fn feed(program: &str, arguments: &[&str], text: &str) -> Result<(), SystemError> {
    let start = |source| SystemError::Start { program: program.to_owned(), source };
    let mut child = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(start)?;
    // What fails to read all of it says why.
    let written = child.stdin.take().map_or(Ok(()), |mut input| input.write_all(text.as_bytes()));
    let output = child.wait_with_output().map_err(start)?;
    if output.status.success() {
        return written.map_err(start);
    }
    let words: String = String::from_utf8_lossy(&output.stderr).trim().chars().take(600).collect();
    Err(SystemError::Failed { command: format!("{program} {}", arguments.join(" ")), words })
}
