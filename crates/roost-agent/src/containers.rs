//! Ending containers and taking their mounts away, without asking a runtime that may be broken.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::mount::UnmountFlags;
use rustix::process::{Pid, Signal, kill_process};

use crate::system::SystemError;

/// The control groups that hold pods, wherever they are.
const POD_GROUPS: [&str; 2] = ["kubepods", "kubepods.slice"];
/// What holds a container from outside.
const SHIMS: [&str; 2] = ["containerd-shim", "conmon"];
/// How deep control groups are searched.
const DEEPEST: usize = 8;
/// How long killed processes may need to go.
const PATIENCE: Duration = Duration::from_secs(20);
/// Network namespaces of pods.
const NAMESPACES: [&str; 2] = ["/run/netns", "/var/run/netns"];

/// Ends all containers of the kubelet and what holds them.
pub(crate) fn end() -> Result<(), SystemError> {
    let mut groups = BTreeSet::new();
    find_groups(Path::new("/sys/fs/cgroup"), 0, &mut groups);
    let end = Instant::now() + PATIENCE;
    loop {
        let mut found: BTreeSet<i32> = groups.iter().flat_map(|group| processes_below(group)).collect();
        found.extend(shims());
        if found.is_empty() || Instant::now() > end {
            break;
        }
        for process in found.iter().filter_map(|&process| Pid::from_raw(process)) {
            // It may have gone by itself.
            let _ = kill_process(process, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    for path in ["/run/containerd", "/var/lib/kubelet", "/var/lib/containers", "/run/crio"] {
        unmount_below(path)?;
    }
    for directory in NAMESPACES {
        end_namespaces(directory)?;
    }
    for group in &groups {
        remove_groups(group);
    }
    Ok(())
}

fn find_groups(directory: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let name = entry.file_name();
        if POD_GROUPS.iter().any(|group| name == *group) {
            found.insert(entry.path());
        } else if depth < DEEPEST {
            find_groups(&entry.path(), depth + 1, found);
        }
    }
}

fn processes_below(group: &Path) -> Vec<i32> {
    let mut found: Vec<i32> = fs::read_to_string(group.join("cgroup.procs"))
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.parse().ok())
        .filter(|&process| process > 1)
        .collect();
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        found.extend(processes_below(&entry.path()));
    }
    found
}

fn shims() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|process: &i32| {
            let program = fs::read_link(format!("/proc/{process}/exe")).unwrap_or_default();
            let name = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            SHIMS.iter().any(|shim| name.starts_with(shim))
        })
        .collect()
}

/// Deepest first, since a group with groups in it cannot go.
fn remove_groups(group: &Path) {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        remove_groups(&entry.path());
    }
    let _ = fs::remove_dir(group);
}

/// Pods' network namespaces are mounts; their interfaces go with them.
fn end_namespaces(directory: &str) -> Result<(), SystemError> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("cni-")) {
        let path = entry.path();
        unmount_below(&path.to_string_lossy())?;
        let _ = fs::remove_file(path);
    }
    Ok(())
}

/// Takes away what is mounted on or under a path, the last mount first.
pub(crate) fn unmount_below(path: &str) -> Result<(), SystemError> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let real = fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
    let points: Vec<PathBuf> = table.lines().filter_map(mount_point).filter(|point| point.starts_with(&real)).collect();
    for point in points.iter().rev() {
        let result = rustix::mount::unmount(point, UnmountFlags::DETACH);
        match result {
            // It went with another.
            Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => {}
            Err(error) => {
                return Err(SystemError::File { path: point.display().to_string(), source: error.into() });
            }
        }
    }
    Ok(())
}

/// The fifth field of a line of `mountinfo`, in which spaces are written as octal numbers.
fn mount_point(line: &str) -> Option<PathBuf> {
    let field = line.split(' ').nth(4)?;
    Some(PathBuf::from(field.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::mount_point;

    #[test]
    fn mount_points_are_read() {
        let line = "36 35 98:0 /mnt1 /var/lib/a\\040b rw,noatime master:1 - ext3 /dev/root rw";
        assert_eq!(mount_point(line), Some(PathBuf::from("/var/lib/a b")));
        assert_eq!(mount_point("1 2"), None);
    }
}
