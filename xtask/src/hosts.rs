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
    for program in ["systemd-nspawn", "debootstrap", "dpkg-scanpackages", "nft", "ip", "nsenter", "busybox"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
            .any(|directory| directory.join(program).is_file());
        if !found {
            return Err(TaskError::Found(format!(
                "{program} is missing; on Debian, install systemd-container, debootstrap, dpkg-dev, nftables, iproute2, util-linux and busybox-static"
            )));
        }
    }
    if arguments.ignition > 0 {
        roost_tests::ignition::available()?;
    }
    let hcp = match std::env::var_os(ours::BINARY_VARIABLE) {
        Some(binary) => PathBuf::from(binary),
        None => build()?,
    };
    let cache = assets::directory().ancestors().nth(2).map(|roost| roost.join("hosts"));
    let journey = Journey {
        agent: agent::build(false)?,
        hcp,
        cache: cache.unwrap_or_else(|| PathBuf::from(".cache/hosts")),
        hosts: arguments.count,
        ignited: arguments.ignition,
        cuts: arguments.cuts.clone(),
    };
    let begin = Instant::now();
    hosts::run(&journey, &|words| println!("{:>4} s  {words}", begin.elapsed().as_secs()))?;
    println!(
        "{} hosts joined, lost their power twice, and left; {} booted with user-data alone and lost their power once",
        arguments.count, arguments.ignition
    );
    Ok(())
}

/// Builds the server.
fn build() -> Result<PathBuf, TaskError> {
    task::run(task::cargo().args(["build", "--package", "hcp", "--locked", "--quiet"]))?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| assets::repository().join("target"), PathBuf::from);
    Ok(target.join("debug/hcp"))
}
