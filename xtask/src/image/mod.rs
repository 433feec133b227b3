//! `cargo xtask image`: our own live image for any machine, made of Debian's packages, and booted to see that it lives.

mod boot;
mod disk;
mod initramfs;
mod iso;
mod oracle;
mod packages;

use std::path::{Path, PathBuf};
use std::time::Instant;

use roost_tests::assets;

use crate::command_line::Image;
use crate::task::TaskError;

/// The volume's name, by which people and programs know the image.
const LABEL: &str = "roost-live";
const ARCHITECTURE: &str = "x86_64";

/// What was built.
struct Built {
    /// The image.
    iso: PathBuf,
    /// The agent in it.
    agent: PathBuf,
    /// Where packages are kept.
    cache: PathBuf,
}

/// Builds the image, and boots it as often as asked.
pub(crate) fn run(arguments: &Image) -> Result<(), TaskError> {
    for (program, package) in [
        ("apt-get", "apt"),
        ("dpkg-deb", "dpkg"),
        ("grub-mkrescue", "grub-common, grub-pc-bin and grub-efi-amd64-bin"),
        ("xorriso", "xorriso"),
        ("mformat", "mtools"),
        ("gzip", "gzip"),
        ("strip", "binutils"),
    ] {
        needed(program, package)?;
    }
    let begin = Instant::now();
    let built = build(arguments)?;
    let size = std::fs::metadata(&built.iso).map_or(0, |metadata| metadata.len());
    let seconds = begin.elapsed().as_secs();
    println!("{} ({} MB) in {seconds} s", built.iso.display(), size / 1_000_000);
    if arguments.disk {
        disk::write(&built)?;
    }
    if let Some(program) = &arguments.coreos_installer {
        oracle::check(&built.iso, program)?;
    }
    for way in &arguments.boot {
        boot::run(&built, *way)?;
    }
    Ok(())
}

fn build(arguments: &Image) -> Result<Built, TaskError> {
    let cache = cache();
    let packages = packages::fetch(&cache)?;
    let agent = match &arguments.agent {
        Some(agent) => agent.clone(),
        None => build_agent()?,
    };
    let output = target().join("image");
    std::fs::create_dir_all(&output).map_err(|source| TaskError::File { path: output.clone(), source })?;
    let initrd = output.join("initrd.img");
    initramfs::write(&packages, &agent, &initrd)?;
    let iso = output.join(format!("{LABEL}-{ARCHITECTURE}.iso"));
    iso::write(&packages.kernel, &initrd, &iso)?;
    Ok(Built { iso, agent, cache })
}

/// The agent as it is shipped: it needs no library, neither of the live image nor of the system on the disk.
fn build_agent() -> Result<PathBuf, TaskError> {
    crate::agent::build(true)
}

/// Where packages are kept from one run to the next.
pub(crate) fn cache() -> PathBuf {
    let cache = assets::directory().ancestors().nth(2).map_or_else(|| PathBuf::from(".cache"), Path::to_owned);
    cache.join("image")
}

pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| assets::repository().join("target"), PathBuf::from)
}

pub(crate) fn needed(program: &str, package: &str) -> Result<(), TaskError> {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|directory| directory.join(program).is_file());
    if found {
        return Ok(());
    }
    Err(TaskError::Found(format!("{program} is missing; on Debian, install {package}")))
}

/// What a command says.
pub(crate) fn output(command: &mut std::process::Command) -> Result<String, TaskError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|source| TaskError::Start { program: program.clone(), source })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(TaskError::Found(format!("{program} failed ({}): {text}{words}", output.status)))
}

fn read(path: &Path) -> Result<Vec<u8>, TaskError> {
    std::fs::read(path).map_err(|source| TaskError::File { path: path.to_owned(), source })
}

fn write(path: &Path, content: &[u8]) -> Result<(), TaskError> {
    std::fs::write(path, content).map_err(|source| TaskError::File { path: path.to_owned(), source })
}
