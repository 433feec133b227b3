//! What is on the disk of a machine that is off.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use crate::hosts::HostsError;
use crate::hosts::shell::output;

/// The kind of partition that has the root file system.
const LINUX: u8 = 0x83;
/// What a host gets when it becomes a node, and has no more when it is free.
const OF_CLUSTERS: [&str; 7] = [
    "/etc/kubernetes",
    "/var/lib/kubelet",
    "/usr/local/bin/kubelet",
    "/etc/systemd/system/kubelet.service",
    "/etc/cni/net.d/10-pods.conflist",
    "/var/lib/roost/agent",
    "/etc/roost/user-data.ign",
];
/// What a free host needs to be found again.
const OF_DISCOVERY: &str = "/etc/roost/discovery.json";

/// Looks whether nothing of a cluster is left on a disk, and the host is still known to its discovery service.
pub(super) fn is_clean(disk: &Path) -> Result<(), HostsError> {
    if !is_there(disk, OF_DISCOVERY)? {
        return Err(HostsError::Wrong(format!("{OF_DISCOVERY} is not on the disk")));
    }
    for path in OF_CLUSTERS {
        if is_there(disk, path)? {
            return Err(HostsError::Wrong(format!("{path} is still on the disk of a host that is free")));
        }
    }
    Ok(())
}

fn is_there(disk: &Path, path: &str) -> Result<bool, HostsError> {
    let root = format!("{}?offset={}", disk.display(), root(disk)?);
    let mut command = Command::new("debugfs");
    // It ends well whatever it found, and says only in words that nothing was there.
    Ok(output(command.args(["-R", &format!("stat {path}"), &root]))?.contains("Inode:"))
}

/// Where the root file system begins, in bytes, by the disk's own table.
fn root(disk: &Path) -> Result<u64, HostsError> {
    let failed = |source| HostsError::File { path: disk.to_owned(), source };
    let mut table = [0; 512];
    File::open(disk).and_then(|mut file| file.read_exact(&mut table)).map_err(failed)?;
    let entry = table[446..510].chunks_exact(16).find(|entry| entry[4] == LINUX);
    let entry = entry.ok_or_else(|| HostsError::Wrong("the disk has no partition for a root".to_owned()))?;
    Ok(entry[8..12].iter().rev().fold(0, |start, byte| start << 8 | u64::from(*byte)) * 512)
}
