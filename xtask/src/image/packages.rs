//! Debian's packages that the image is made of, fetched by name and unpacked beside each other; nothing is installed.

use std::path::{Path, PathBuf};

use crate::task::{self, TaskError};

use super::output;

/// The kernel for every machine; it depends on the package of the current version.
const KERNEL: &str = "linux-image-amd64";
const BUSYBOX: &str = "busybox-static";

/// What was unpacked.
pub(super) struct Packages {
    /// The kernel.
    pub(super) kernel: PathBuf,
    /// The kernel's version, which its modules are filed under.
    pub(super) release: String,
    /// The root of the kernel's package, with `lib/modules` in it.
    pub(super) modules: PathBuf,
    /// The one program beside ours.
    pub(super) busybox: PathBuf,
}

/// Fetches and unpacks what is missing.
pub(super) fn fetch(cache: &Path) -> Result<Packages, TaskError> {
    let depends = output(task::command("apt-cache").args(["depends", KERNEL]))?;
    let kernel = depends
        .lines()
        .find_map(|line| line.trim().strip_prefix("Depends: ").filter(|name| name.starts_with("linux-image-")))
        .ok_or_else(|| TaskError::Found(format!("{KERNEL} names no kernel; run apt-get update")))?;
    let release = kernel.trim_start_matches("linux-image-").to_owned();
    let modules = unpacked(kernel, cache)?;
    let busybox = unpacked(BUSYBOX, cache)?.join("bin/busybox");
    let busybox = if busybox.exists() { busybox } else { unpacked(BUSYBOX, cache)?.join("usr/bin/busybox") };
    Ok(Packages { kernel: modules.join(format!("boot/vmlinuz-{release}")), release, modules, busybox })
}

/// The directory that a package's current version was unpacked into.
fn unpacked(name: &str, cache: &Path) -> Result<PathBuf, TaskError> {
    let address = output(task::command("apt-get").args(["download", "--print-uris", name]))?;
    // 'ADDRESS' FILE SIZE DIGEST
    let file = address
        .split_whitespace()
        .nth(1)
        .ok_or_else(|| TaskError::Found(format!("Debian has no package {name}; run apt-get update")))?;
    let directory = cache.join(file.trim_end_matches(".deb"));
    if directory.is_dir() {
        return Ok(directory);
    }
    println!("fetching {name}");
    let failed = |source| TaskError::File { path: cache.to_owned(), source };
    std::fs::create_dir_all(cache).map_err(failed)?;
    output(task::command("apt-get").args(["download", "--quiet", name]).current_dir(cache))?;
    // Unpacked under another name first: a directory of this name is whole.
    let partial = directory.with_extension("part");
    let _ = std::fs::remove_dir_all(&partial);
    output(task::command("dpkg-deb").arg("--extract").arg(cache.join(file)).arg(&partial))?;
    std::fs::rename(&partial, &directory).map_err(failed)?;
    let _ = std::fs::remove_file(cache.join(file));
    Ok(directory)
}
