//! What the host does beside a trial, once a second: CPU, drives, pressure, page cache, frequency.
//!
//! [`reading`] reads the kernel's counters, [`rates`] makes rates of two readings, [`summary`] adds up what the
//! checks of a trial need, and [`others`] names the processes that use the CPU beside server and driver. What a kernel does not have is `None` (discards before 4.18, pressure before 4.20), never
//! zero.

pub mod others;
pub mod rates;
pub mod reading;
pub mod summary;

use std::path::{Path, PathBuf};

/// The control groups of a process that may hold its CPU limit, below a root directory, from its own up: of version
/// 2, or the CPU controller's of version 1 (cgroups(7)).
pub fn cgroups_of(root: &Path, pid: u32) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(root.join(format!("proc/{pid}/cgroup"))).unwrap_or_default();
    let mounted = root.join("sys/fs/cgroup");
    let lines = || {
        text.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            Some((parts.next()?, parts.next()?.trim_start_matches('/')))
        })
    };
    let of_version_1 = lines()
        .find(|(controllers, _)| controllers.split(',').any(|name| name == "cpu"))
        .map(|(controllers, path)| (mounted.join(controllers), path));
    let of_version_2 = lines()
        .find(|(controllers, _)| controllers.is_empty())
        .map(|(_, path)| (mounted.clone(), path));
    let found = of_version_1
        .into_iter()
        .chain(of_version_2)
        .find(|(top, path)| top.join(path).join("cpu.stat").exists());
    let Some((top, path)) = found else {
        return Vec::new();
    };
    // The topmost group has no limit.
    let groups = Path::new(path).ancestors();
    groups
        .filter(|group| !group.as_os_str().is_empty())
        .map(|group| top.join(group))
        .collect()
}
