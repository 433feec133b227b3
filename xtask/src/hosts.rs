//! `cargo xtask hosts`: real hosts join a hosted cluster, lose their power, and leave without a trace.

use std::path::PathBuf;
use std::time::Instant;

use roost_tests::assets;
use roost_tests::hosts::{self, Journey};
use roost_tests::ours;

use crate::agent;
use crate::command_line::Hosts;
use crate::task::{self, TaskError};

/// Builds both binaries and takes the hosts through everything.
pub(crate) fn run(arguments: &Hosts) -> Result<(), TaskError> {
    let journey = journey(arguments.count, arguments.ignition, &arguments.cuts)?;
    let begin = Instant::now();
    hosts::run(&journey, &|words| println!("{:>4} s  {words}", begin.elapsed().as_secs()))?;
    println!(
        "{} hosts joined, lost their power twice, and left; {} booted with user-data alone and lost their power once",
        arguments.count, arguments.ignition
    );
    Ok(())
}

/// Looks whether everything is there, and builds both binaries.
pub(crate) fn journey(hosts: u8, ignited: u8, cuts: &[f64]) -> Result<Journey, TaskError> {
    for program in ["systemd-nspawn", "debootstrap", "dpkg-scanpackages", "nft", "ip", "nsenter", "busybox"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
            .any(|directory| directory.join(program).is_file());
        if !found {
            return Err(TaskError::Found(format!(
                "{program} is missing; on Debian, install systemd-container, debootstrap, dpkg-dev, nftables, iproute2, util-linux and busybox-static"
            )));
        }
    }
    if ignited > 0 {
        roost_tests::ignition::available()?;
    }
    let cache = assets::directory().ancestors().nth(2).map(|roost| roost.join("hosts"));
    Ok(Journey {
        agent: agent::build(false)?,
        hcp: server()?,
        cache: cache.unwrap_or_else(|| PathBuf::from(".cache/hosts")),
        hosts,
        ignited,
        cuts: cuts.to_vec(),
    })
}

/// The server: the one that is named, or built now.
pub(crate) fn server() -> Result<PathBuf, TaskError> {
    if let Some(binary) = std::env::var_os(ours::BINARY_VARIABLE) {
        return Ok(binary.into());
    }
    task::run(task::cargo().args(["build", "--package", "hcp", "--locked", "--quiet"]))?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| assets::repository().join("target"), PathBuf::from);
    Ok(target.join("debug/hcp"))
}
