//! User-data for hosts without Ignition: the pointer as a file, and the agent that follows it.

use std::fmt::Write as _;
use std::net::IpAddr;

use super::{Pointer, UserDataError, port_of, user_data};
use crate::payload::Artifact;

/// Where the host keeps what it joined with.
const POINTER: &str = "/etc/roost/user-data.ign";
const AUTHORITY: &str = "/etc/roost/ignition-ca.crt";
const AGENT: &str = "/usr/local/bin/hcp-agent";
const HOSTS: &str = "/etc/hosts";

pub(super) fn render(pointer: &Pointer) -> Result<String, UserDataError> {
    // A name that the host can look up keeps the certificate good that the server has for it.
    let named = pointer.address.filter(|_| pointer.host().parse::<IpAddr>().is_err());
    let followed = Pointer { address: pointer.address.filter(|_| named.is_none()), ..pointer.clone() };
    let config = String::from_utf8(user_data(&followed).to_bytes()).unwrap_or_default();
    let mut text = String::from("#cloud-config\n");
    if named.is_some() {
        text.push_str("manage_etc_hosts: false\n");
    }
    text.push_str("write_files:\n");
    write_file(&mut text, POINTER, "0600", &config);
    write_file(&mut text, AUTHORITY, "0644", &pointer.certificate_authority);
    if let Some(address) = named {
        write_file(&mut text, HOSTS, "0644", &format!("{address} {}\n", pointer.host()));
        text.push_str("  append: true\n");
    }
    text.push_str("runcmd:\n");
    if let Some(agent) = &pointer.agent {
        fetch_agent(&mut text, pointer, agent)?;
    }
    let _ = writeln!(text, "- [{AGENT}, join, --user-data, {POINTER}]");
    Ok(text)
}

/// Contents in JSON quotes, which YAML reads the same.
fn write_file(text: &mut String, path: &str, mode: &str, contents: &str) {
    let quoted = serde_json::Value::from(contents).to_string();
    let _ = writeln!(text, "- path: {path}\n  permissions: \"{mode}\"\n  content: {quoted}");
}

/// Fetched from a server whose certificate is pinned, checked, and only then put where it can run.
fn fetch_agent(text: &mut String, pointer: &Pointer, agent: &Artifact) -> Result<(), UserDataError> {
    let (tool, sum) = match agent.hash.split_once('-') {
        Some(("sha256", sum)) if sum.len() == 64 => ("sha256sum", sum),
        Some(("sha512", sum)) if sum.len() == 128 => ("sha512sum", sum),
        _ => return Err(UserDataError::Agent),
    };
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/[]@%+=,".contains(&byte);
    let rest = agent.url.strip_prefix("https://").ok_or(UserDataError::Agent)?;
    if !sum.bytes().all(is_digit) || !agent.url.bytes().all(is_plain) {
        return Err(UserDataError::Agent);
    }
    let mut curl =
        format!("[curl, --fail, --silent, --show-error, --retry, \"10\", --retry-all-errors, --cacert, {AUTHORITY}");
    let place = rest.split('/').next().unwrap_or_default();
    if let (Some(address), false) = (pointer.address, place.starts_with('[')) {
        let host = place.split(':').next().unwrap_or_default();
        let _ = write!(curl, ", --resolve, \"{host}:{}:{address}\"", port_of(place).unwrap_or(443));
    }
    let _ = writeln!(text, "- {curl}, --output, {AGENT}.new, \"{}\"]", agent.url);
    let _ = writeln!(text, "- [sh, -c, \"echo '{sum}  {AGENT}.new' | {tool} --check --status || rm -f {AGENT}.new\"]");
    let _ = writeln!(text, "- [chmod, \"0755\", {AGENT}.new]\n- [mv, {AGENT}.new, {AGENT}]");
    Ok(())
}
