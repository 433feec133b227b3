//! The networks of a far site, in network namespaces: a hub, a bad line, a router that translates addresses, and a site.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tempfile::NamedTempFile;

use super::super::HostsError;
use super::super::shell::output;

/// Where the management plane is.
pub(super) const HUB: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// Carries frames late, slowly and not all of them.
const LINE: &str = include_str!("line.py");
/// There and back.
pub(super) const ROUND_TRIP: Duration = Duration::from_millis(50);
/// One way, in milliseconds.
const DELAY: &str = "25";
/// Lost frames of a million: 0.02 %.
const LOSS: &str = "200";
/// Megabits in a second, each way.
const RATE: &str = "20";

/// The networks. Dropping them takes them away.
#[derive(Debug)]
pub(super) struct Site {
    line: Child,
    words: Option<ChildStdin>,
    _script: NamedTempFile,
}

/// A namespace of this process.
fn name(part: &str) -> String {
    format!("roost-far-{part}-{}", std::process::id())
}

/// Where a namespace is.
pub(super) fn path(part: &str) -> PathBuf {
    PathBuf::from("/run/netns").join(name(part))
}

fn ip(arguments: &str) -> Result<(), HostsError> {
    output(Command::new("ip").args(arguments.split_whitespace())).map(drop)
}

impl Site {
    /// Makes all of it, with so many addresses at the site.
    pub(super) fn make(hosts: u8) -> Result<Self, HostsError> {
        for part in ["hub", "router", "site"] {
            ip(&format!("netns add {}", name(part)))?;
            ip(&format!("-n {} link set lo up", name(part)))?;
        }
        let site = Self::lay_line()?;
        let (hub, router, far) = (name("hub"), name("router"), name("site"));
        ip(&format!("-n {hub} address add {HUB}/30 dev far0"))?;
        ip(&format!("-n {hub} link set far0 up"))?;
        ip(&format!("-n {router} address add 198.18.0.2/30 dev far0"))?;
        ip(&format!("-n {router} link set far0 up"))?;
        ip(&format!("-n {router} link add in0 type veth peer name eth0 netns {far}"))?;
        ip(&format!("-n {router} address add 10.77.0.1/24 dev in0"))?;
        ip(&format!("-n {router} link set in0 up"))?;
        for number in 1..=hosts {
            ip(&format!("-n {far} address add {}/24 dev eth0", address(number)))?;
        }
        ip(&format!("-n {far} link set eth0 up"))?;
        ip(&format!("-n {far} route add default via 10.77.0.1"))?;
        let net = format!("--net={}", path("router").display());
        output(Command::new("nsenter").args([&net, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1"]))?;
        let rules = "add table ip far; add chain ip far out { type nat hook postrouting priority 100; }; \
            add rule ip far out oifname far0 masquerade";
        output(Command::new("nsenter").args([&net, "nft", rules]))?;
        Ok(site)
    }

    fn lay_line() -> Result<Self, HostsError> {
        let failed = |error: std::io::Error| HostsError::Wrong(format!("there is no line: {error}"));
        let mut script = NamedTempFile::new().map_err(failed)?;
        script.write_all(LINE.as_bytes()).map_err(failed)?;
        let mut command = Command::new("python3");
        command.arg(script.path()).args([&name("hub"), &name("router")]).args([DELAY, LOSS, RATE]);
        let mut line = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let (words, said) = (line.stdin.take(), line.stdout.take());
        let site = Self { line, words, _script: script };
        let mut first = String::new();
        if let Some(said) = said {
            BufReader::new(said).read_line(&mut first).map_err(failed)?;
        }
        if first.trim() == "ready" { Ok(site) } else { Err(HostsError::Wrong(format!("the line says {first:?}"))) }
    }

    /// Cuts the line or mends it.
    pub(super) fn say(&mut self, word: &str) -> Result<(), HostsError> {
        let said = self.words.as_mut().map(|words| writeln!(words, "{word}"));
        match said {
            Some(Ok(())) => Ok(()),
            _ => Err(HostsError::Wrong("the line does not listen".to_owned())),
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        drop(self.words.take());
        let _ = self.line.kill();
        let _ = self.line.wait();
        for part in ["hub", "router", "site"] {
            let _ = ip(&format!("netns delete {}", name(part)));
        }
    }
}

/// The address of a host at the site.
pub(super) fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, 10 + number)
}

/// Moves the thread into one of the namespaces; threads that it starts from then on are there too.
pub(super) fn enter(part: &str) -> Result<(), HostsError> {
    let path = path(part);
    let file = File::open(&path).map_err(|source| HostsError::File { path: path.clone(), source })?;
    move_into_link_name_space(std::os::fd::AsFd::as_fd(&file), Some(LinkNameSpaceType::Network))
        .map_err(|error| HostsError::File { path, source: error.into() })
}
