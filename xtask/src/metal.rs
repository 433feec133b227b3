//! `cargo xtask metal`: empty machines boot what an InfraEnv links to, are installed, are Ready nodes, and are free again.

use std::path::{Path, PathBuf};
use std::time::Instant;

use roost_tests::hosts::{self, FirstBoot, MetalJourney};

use crate::command_line::{Image, Metal, MetalWay};
use crate::task::TaskError;
use crate::{agent, hosts as binaries, image, redfish};

/// Builds everything, and takes one machine a way through its life.
pub(crate) fn run(arguments: &Metal) -> Result<(), TaskError> {
    for (program, package) in [
        ("qemu-system-x86_64", "qemu-system-x86 and ipxe-qemu"),
        ("curl", "curl"),
        ("ip", "iproute2"),
        ("nsenter", "util-linux"),
        ("debugfs", "e2fsprogs"),
    ] {
        image::needed(program, package)?;
    }
    let hcp = binaries::server()?;
    let agent = match &arguments.agent {
        Some(agent) => agent.clone(),
        None => agent::build(false)?,
    };
    let images = match &arguments.images {
        Some(images) => images.canonicalize().map_err(|source| TaskError::File { path: images.clone(), source })?,
        None => make_images(&agent)?,
    };
    for way in &arguments.ways {
        let first = match way {
            MetalWay::Iso => FirstBoot::Disc,
            MetalWay::Ipxe => FirstBoot::Network,
            MetalWay::Redfish => FirstBoot::VirtualMedia(redfish::emulator_of_machines()?),
        };
        println!("== {way:?}");
        let begin = Instant::now();
        let journey = MetalJourney { hcp: hcp.clone(), agent: agent.clone(), images: images.clone(), first };
        hosts::run_metal(&journey, &mut |words| println!("{:>6.1} s  {words}", begin.elapsed().as_secs_f64()))?;
    }
    Ok(())
}

fn make_images(agent: &Path) -> Result<PathBuf, TaskError> {
    image::run(&Image { boot: Vec::new(), agent: Some(agent.to_owned()), coreos_installer: None, disk: true })?;
    Ok(image::target().join("image"))
}
