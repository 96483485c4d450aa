//! Selects the filesystems to trim, each once: those at the given paths, or all of the host's.

use crate::layers;
use crate::target::{self, Target, TargetError};
use facts::host::{Mount, Store, StoreState};
use facts::{Host, Stack};
use linux::mount_points::MountPoints;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Filesystem types selected by `--all`: local server filesystems that support FITRIM. Others can
/// be trimmed by name if the kernel allows it.
const LOCAL_TYPES: &[&str] = &["ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "nilfs2"];

/// One mounted filesystem.
#[derive(Debug, Clone)]
pub struct Filesystem<'a> {
    /// The mount used to trim it.
    pub mount: &'a Mount,
    /// Its other mount points.
    pub other_mount_points: Vec<&'a str>,
    /// The layers below; `None` if there is no block device.
    pub stack: Option<Stack<'a>>,
    /// Stores whose data is on it.
    pub stores: Vec<&'a Store>,
}

/// Why a path does not name a filesystem that can be trimmed.
#[derive(Debug, thiserror::Error)]
pub enum MountPathError {
    /// The path cannot be looked up.
    #[error("{path}: {source}")]
    Unreadable {
        /// The path.
        path: String,
        /// Error from the kernel.
        source: io::Error,
    },
    /// The path is not valid UTF-8.
    #[error("{path}: the name is not valid UTF-8")]
    NotUtf8 {
        /// The path.
        path: String,
    },
    /// It is on a filesystem whose server may not answer, so nothing there is looked at.
    #[error("{path} is on {fs_type} at {mount_point}, which may not answer: not looked at")]
    MayHang {
        /// The path.
        path: String,
        /// Type of the filesystem.
        fs_type: String,
        /// Where it is mounted.
        mount_point: String,
    },
    /// A virtual filesystem such as tmpfs is mounted there.
    #[error("{path}: {fs_type} has no drive below: nothing to trim")]
    NoDrive {
        /// The path.
        path: String,
        /// Type of the filesystem.
        fs_type: String,
    },
    /// The path is a block device.
    #[error("{path} is a device: a trim works on a mounted filesystem")]
    Device {
        /// The path.
        path: String,
        /// Where the device is mounted.
        mounted_on: Option<String>,
    },
    /// The path is a directory or file within a filesystem.
    #[error("{path} is no mount point")]
    NotAMountPoint {
        /// The path.
        path: String,
        /// The mount point of the filesystem that contains it.
        lies_on: Option<String>,
    },
}

impl<'a> Filesystem<'a> {
    /// Returns the filesystem of a mount.
    pub fn of(host: &'a Host, mount: &'a Mount) -> Self {
        let same = host
            .mounts
            .iter()
            .filter(|other| other.device_number == mount.device_number);
        let stores = stores_on(host, mount)
            .into_iter()
            .filter(|store| store.state != StoreState::Configured)
            .collect();
        Self {
            mount,
            other_mount_points: same
                .filter(|other| other.id != mount.id)
                .map(|other| other.mount_point.as_str())
                .collect(),
            stack: host.stack_of(mount),
            stores,
        }
    }

    /// Returns the mount point.
    pub fn mount_point(&self) -> &'a str {
        &self.mount.mount_point
    }

    /// Returns the engine names of its stores without duplicates, such as `Elasticsearch`.
    pub fn store_labels(&self) -> Vec<&'a str> {
        let mut labels: Vec<&str> = Vec::new();
        for store in &self.stores {
            let label = store.engine.label();
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels
    }

    /// Identifies what is currently mounted there.
    ///
    /// # Errors
    /// If it cannot be opened, is not a mount point, or may not answer.
    pub fn identify(&self) -> Result<Target, TargetError> {
        let device = self
            .stack
            .as_ref()
            .map_or_else(PathBuf::new, |stack| layers::node(&stack.top().name));
        let mount_point = PathBuf::from(&self.mount.mount_point);
        Target::identify(mount_point, &self.mount.fs_type, device)
    }
}

/// Returns the filesystems mounted at `paths`, in the same order, each once.
///
/// # Errors
/// If a path is not a mount point.
pub fn named<'a>(host: &'a Host, paths: &[PathBuf]) -> Result<Vec<Filesystem<'a>>, MountPathError> {
    let mut named: Vec<Filesystem<'a>> = Vec::new();
    for path in paths {
        let mount = mount_at(host, path)?;
        let is_known = |known: &Filesystem<'_>| known.mount.device_number == mount.device_number;
        if !named.iter().any(is_known) {
            named.push(Filesystem::of(host, mount));
        }
    }
    Ok(named)
}

/// Returns every writable local filesystem on a block device.
pub fn all(host: &Host) -> Vec<Filesystem<'_>> {
    let mut all: Vec<Filesystem<'_>> = Vec::new();
    for mount in &host.mounts {
        let is_known = all
            .iter()
            .any(|known| known.mount.device_number == mount.device_number);
        if is_known
            || !LOCAL_TYPES.contains(&mount.fs_type.as_str())
            || mount.is_filesystem_read_only()
            || host.stack_of(mount).is_none()
        {
            continue;
        }
        // Prefer the mount of the whole filesystem over a bind mount of a part of it.
        let whole = host
            .mounts
            .iter()
            .find(|other| other.device_number == mount.device_number && other.root == "/");
        all.push(Filesystem::of(host, whole.unwrap_or(mount)));
    }
    all
}

/// Finds the mount whose mount point is `path`.
fn mount_at<'a>(host: &'a Host, path: &Path) -> Result<&'a Mount, MountPathError> {
    let named = path.display().to_string();
    let text = resolve(path)?;
    let text = text.as_str();
    // If several mounts share a mount point, the last one hides the others.
    if let Some(mount) = host.mounts.iter().rfind(|mount| mount.mount_point == text) {
        return Ok(mount);
    }
    if let Some(fs_type) = fs_type_at(text) {
        return Err(MountPathError::NoDrive {
            path: named,
            fs_type,
        });
    }
    if let Some(device) = host.device_by_path(text) {
        let mounted_on = host.mounts.iter().find(|mount| {
            host.device_of(mount)
                .is_some_and(|top| top.name == device.name)
        });
        return Err(MountPathError::Device {
            path: named,
            mounted_on: mounted_on.map(|mount| mount.mount_point.clone()),
        });
    }
    Err(MountPathError::NotAMountPoint {
        path: named,
        lies_on: host
            .mount_of_path(text)
            .map(|mount| mount.mount_point.clone()),
    })
}

/// Returns the absolute path without symbolic links, as `canonicalize` does, but never touches a filesystem
/// whose server may not answer: a process that waits for one cannot be killed.
///
/// # Errors
/// If it does not exist, or is below the mount point of such a filesystem.
pub(crate) fn resolve(path: &Path) -> Result<String, MountPathError> {
    let named = || path.display().to_string();
    let unreadable = |source| MountPathError::Unreadable {
        path: named(),
        source,
    };
    let absolute = std::path::absolute(path).map_err(unreadable)?;
    let Some(text) = absolute.to_str() else {
        return Err(MountPathError::NotUtf8 { path: named() });
    };
    let mountinfo = std::fs::read("/proc/self/mountinfo").map_err(unreadable)?;
    let mounts = MountPoints::parse(&mountinfo);
    let resolved = mounts
        .resolve_here(text)
        .map_err(|error| unreadable(io::Error::other(error)))?;
    match mounts.remote_mount(&resolved.path) {
        // The mount point itself is known without looking.
        Some(mount) if mount.at == resolved.path => {}
        Some(mount) => {
            return Err(MountPathError::MayHang {
                path: named(),
                fs_type: mount.fs_type.clone(),
                mount_point: mount.at.clone(),
            });
        }
        None => {
            std::fs::symlink_metadata(&resolved.path).map_err(unreadable)?;
        }
    }
    Ok(resolved.path)
}

/// Returns whether a mount point is a directory, as FITRIM requires; an error if it lies on a filesystem that
/// may not answer.
///
/// # Errors
/// Why it was not looked at.
pub fn is_directory(mount_point: &str) -> Result<bool, TargetError> {
    let path = Path::new(mount_point);
    match target::look(path) {
        Ok(()) => Ok(path.is_dir()),
        Err(source) => Err(TargetError::Unreadable {
            mount_point: mount_point.to_owned(),
            source,
        }),
    }
}

/// Returns the type of what is mounted at a path, for filesystems that are not in the facts (tmpfs,
/// proc).
fn fs_type_at(mount_point: &str) -> Option<String> {
    let text = std::fs::read("/proc/self/mountinfo").ok()?;
    let mount = linux::mountinfo::mount_at(&text, mount_point.as_bytes())?;
    Some(String::from_utf8_lossy(&mount.fs_type).into_owned())
}

/// Returns the stores whose data is on a filesystem, through any of its mounts.
fn stores_on<'a>(host: &'a Host, mount: &Mount) -> Vec<&'a Store> {
    let by_mount = host.stores_by_mount();
    let indices: BTreeSet<usize> = host
        .mounts
        .iter()
        .filter(|other| other.device_number == mount.device_number)
        .filter_map(|other| by_mount.get(&other.id))
        .flatten()
        .copied()
        .collect();
    let stores = indices.into_iter();
    stores.filter_map(|index| host.stores.get(index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::host::{BlockDevice, DeviceKind, DeviceNumber, FsUsage, StoreEngine};

    fn device(name: &str, minor: u32) -> BlockDevice {
        BlockDevice {
            name: name.to_owned(),
            number: DeviceNumber { major: 253, minor },
            sysfs_path: format!("sys/block/{name}"),
            size_bytes: Some(1 << 30),
            kind: DeviceKind::VirtioBlk { serial: None },
            below: Vec::new(),
            discard: None,
            io_limits: None,
            rotational: Some(false),
            read_only: Some(false),
            counters: None,
        }
    }

    fn mount(id: u64, minor: u32, point: &str, root: &str, options: &str) -> Mount {
        Mount {
            fstab_line: None,
            id,
            device_number: DeviceNumber { major: 253, minor },
            root: root.to_owned(),
            mount_point: point.to_owned(),
            fs_type: "ext4".to_owned(),
            source: "/dev/vda".to_owned(),
            options: options.split(',').map(str::to_owned).collect(),
            usage: Some(FsUsage::default()),
            geometry: None,
            read_ahead_bytes: None,
        }
    }

    /// A host whose mount points are directories that exist everywhere.
    fn host(mounts: Vec<Mount>, devices: Vec<BlockDevice>) -> Host {
        Host {
            mounts,
            devices,
            ..Host::default()
        }
    }

    #[test]
    fn bind_mounts_are_one_filesystem_and_its_root_mount_is_used() {
        let mut gone = mount(4, 9, "/etc", "/", "rw");
        gone.source = "/dev/vdz".to_owned();
        let host = host(
            vec![
                mount(1, 1, "/usr", "/part", "rw"),
                mount(2, 1, "/", "/", "rw"),
                mount(3, 2, "/tmp", "/", "ro"),
                gone,
            ],
            vec![device("vda", 1), device("vdb", 2)],
        );
        let all = all(&host);
        assert_eq!(all.len(), 1, "read-only and without a device: left out");
        assert_eq!(all[0].mount.mount_point, "/");
        assert_eq!(all[0].other_mount_points, ["/usr"]);
        let named = named(&host, &["/usr".into(), "/".into()]).unwrap();
        assert_eq!(named.len(), 1);
        assert_eq!(named[0].mount.mount_point, "/usr");
    }

    #[test]
    fn a_running_store_counts_and_a_configured_one_does_not() {
        let store = |state| Store {
            engine: StoreEngine::Elasticsearch,
            version: None,
            state,
            pid: None,
            data_paths: vec!["/var/lib/es".to_owned()],
            paths_from: String::new(),
            settings: Vec::new(),
        };
        let mut host = host(vec![mount(1, 1, "/", "/", "rw")], vec![device("vda", 1)]);
        host.stores = vec![store(StoreState::Configured)];
        assert!(named(&host, &["/".into()]).unwrap()[0].stores.is_empty());
        host.stores = vec![store(StoreState::Running)];
        let found = named(&host, &["/".into()]).unwrap();
        assert_eq!(found[0].store_labels(), ["Elasticsearch"]);
    }

    #[test]
    fn error_for_a_non_mount_point_says_what_it_is() {
        let host = host(vec![mount(1, 1, "/", "/", "rw")], vec![device("vda", 1)]);
        let refused = |path: &str| named(&host, &[path.into()]).unwrap_err();
        let error = refused("/usr");
        assert!(
            matches!(&error, MountPathError::NotAMountPoint { lies_on: Some(point), .. } if point == "/"),
            "{error}"
        );
        assert!(refused("/proc").to_string().contains("proc has no drive"));
        assert!(
            refused("/no/such/place")
                .to_string()
                .contains("/no/such/place")
        );
    }
}
