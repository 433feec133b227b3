//! A place for whoever disturbs where the kernel gives it only what nobody else wants.

use std::path::{Path, PathBuf};
use std::{fs, io, process};

/// The group's name below the root of the kernel's groups.
const GROUP: &str = "roost-disturbance";

/// Where this process steps aside to until it is dropped.
pub(super) struct Aside {
    /// The root of the kernel's groups and the one that this process is in; none where there are no groups to be had.
    groups: Option<(PathBuf, PathBuf)>,
}

impl Aside {
    /// Leaves the group of processes that share the kernel's turns with the server: as long as one of them wants a processor,
    /// whoever is not of the group, like the kernel's own workers, waits for all of them. A group that is idle as a whole
    /// takes no turn from anybody; without one, a session of its own takes a small one now and then.
    pub(super) fn step() -> Aside {
        // Whoever leads a session has left already.
        let _ = rustix::process::setsid();
        let groups = fs::read_to_string("/proc/self/mounts").ok().and_then(|mounts| root_of_groups(&mounts));
        let groups = groups.and_then(|root| Some((root.clone(), join_idle_group(&root).ok()?)));
        if groups.is_none() {
            // Without sessions that take turns there is nothing to say either.
            let _ = fs::write("/proc/self/autogroup", "19");
        }
        Aside { groups }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // A group that stays is empty and is used again.
        if let Some((root, group)) = &self.groups
            && join(root).is_ok()
        {
            let _ = fs::remove_dir(group);
        }
    }
}

/// The root of the groups by which processors are shared, of either version.
fn root_of_groups(mounts: &str) -> Option<PathBuf> {
    let mut mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?, words.next()?))
    });
    let is_of_processors = |kind: &str, options: &str| kind == "cgroup" && options.split(',').any(|one| one == "cpu");
    let found = mounts.clone().find(|(_, kind, options)| is_of_processors(kind, options));
    found.or_else(|| mounts.find(|(_, kind, _)| *kind == "cgroup2")).map(|(path, ..)| path.into())
}

fn join_idle_group(root: &Path) -> io::Result<PathBuf> {
    let group = root.join(GROUP);
    if !group.is_dir() {
        fs::create_dir(&group)?;
    }
    let joined = fs::write(group.join("cpu.idle"), "1").and_then(|()| join(&group));
    if joined.is_err() {
        // Nobody is in it; the reason says more than that it could not be removed.
        let _ = fs::remove_dir(&group);
    }
    joined.map(|()| group)
}

fn join(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), process::id().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_of_processors_are_found_in_both_versions() {
        let unified = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
        let split = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
            cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n\
            cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n\
            cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(root_of_groups(unified), Some("/sys/fs/cgroup".into()));
        assert_eq!(root_of_groups(split), Some("/sys/fs/cgroup/cpu,cpuacct".into()));
        assert_eq!(root_of_groups("proc /proc proc rw 0 0\n"), None);
    }
}
