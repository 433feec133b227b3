//! What is on the disk of a machine that is off.

use std::path::Path;
use std::process::Command;

use crate::hosts::HostsError;
use crate::hosts::shell::output;

/// Where the root file system begins, in bytes; the script that makes the disk has the same.
const ROOT: u64 = 4096 * 512;
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
    let root = format!("{}?offset={ROOT}", disk.display());
    let mut command = Command::new("debugfs");
    // It ends well whatever it found, and says only in words that nothing was there.
    Ok(output(command.args(["-R", &format!("stat {path}"), &root]))?.contains("Inode:"))
}
