//! Where filesystems are mounted, so that a path is never followed into one that may not respond: a process
//! that waits for a dead NFS or FUSE server cannot even be killed.

use crate::mountinfo::MountLine;
use facts::host::DeviceNumber;
use std::collections::{HashMap, VecDeque};
use std::fmt::Display;
use std::io::ErrorKind;

/// Linux's limit for symbolic links in one path (`path_resolution(7)`).
const LINKS_MAX: usize = 40;
/// Maximum number of names examined for one path, including those in links.
const STEPS_MAX: usize = 200;
/// `PATH_MAX` of Linux.
const PATH_BYTES_MAX: usize = 4096;

/// The mounts of one mount namespace.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MountPoints {
    list: Vec<MountPoint>,
    /// The last mount at each mount point, which hides the others.
    by_point: HashMap<String, usize>,
}

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountPoint {
    /// `st_dev` of files on it.
    pub device_number: DeviceNumber,
    /// The directory of the filesystem that is mounted.
    pub root: String,
    /// The mount point.
    pub at: String,
    /// Filesystem type such as `xfs`.
    pub fs_type: String,
}

/// A path with its symbolic links resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Absolute path.
    pub path: String,
    /// Why the last components may still contain links, in plain language.
    pub unfinished: Option<String>,
}

/// Why the links of a path could not be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// Too many names, those in links included.
    #[error("more than {STEPS_MAX} names in a path")]
    Names,
    /// Longer than `PATH_MAX`.
    #[error("path longer than {PATH_BYTES_MAX} bytes")]
    Length,
    /// Too many links, or a circle of them.
    #[error("more than {LINKS_MAX} symbolic links")]
    Links,
}

impl FromIterator<MountPoint> for MountPoints {
    fn from_iter<I: IntoIterator<Item = MountPoint>>(mounts: I) -> Self {
        let list: Vec<MountPoint> = mounts.into_iter().collect();
        let places = list.iter().enumerate();
        let by_point = places.map(|(index, mount)| (mount.at.clone(), index));
        Self {
            by_point: by_point.collect(),
            list,
        }
    }
}

impl MountPoints {
    /// Parses mountinfo. Other lines are ignored, since the kernel writes none.
    pub fn parse(mountinfo: &[u8]) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let lines = mountinfo.split(|&byte| byte == b'\n');
        let mounts = lines.filter_map(MountLine::parse).map(|mount| MountPoint {
            device_number: mount.device_number,
            root: text(&mount.root),
            at: text(&mount.mount_point),
            fs_type: text(&mount.fs_type),
        });
        mounts.collect()
    }

    /// Returns the mounts in the order of mountinfo.
    pub fn iter(&self) -> impl Iterator<Item = &MountPoint> {
        self.list.iter()
    }

    /// Returns the mount that contains an absolute path: the last of those with the longest mount
    /// point, which hides the others.
    pub fn mount_of(&self, path: &str) -> Option<&MountPoint> {
        let mut directory = path;
        loop {
            if let Some(&index) = self.by_point.get(directory) {
                return self.list.get(index);
            }
            directory = match directory.rfind('/')? {
                0 if directory.len() > 1 => "/",
                0 => return None,
                end => &directory[..end],
            };
        }
    }

    /// Returns the network or user-space filesystem on which a path is, or that is mounted on the way to
    /// it: any access to the path could take forever. A user may mount one over the parent of a local
    /// filesystem's mount point, which hides that mount and still leaves it in mountinfo. Excepted are the
    /// root of the tree, without which nothing works, and an automounter that has already mounted the next
    /// part of the path.
    pub fn remote_mount(&self, path: &str) -> Option<&MountPoint> {
        let ends = path.match_indices('/').map(|(at, _)| at).skip(1);
        let prefixes = ends.chain([path.len()]).map(|end| &path[..end]);
        let on_the_way: Vec<usize> = prefixes
            .filter(|&prefix| prefix != "/")
            .filter_map(|prefix| self.by_point.get(prefix).copied())
            .collect();
        let mut mounts = on_the_way.iter().enumerate();
        let (_, &found) = mounts.find(|&(position, &index)| {
            let fs_type = &self.list[index].fs_type;
            // Mountinfo lists a mount after the one that it is on.
            let next = on_the_way.get(position + 1);
            is_remote(fs_type) && !(fs_type == "autofs" && next.is_some_and(|&next| next > index))
        })?;
        Some(&self.list[found])
    }

    /// Returns the type of [`Self::remote_mount`].
    pub fn remote_fs(&self, path: &str) -> Option<&str> {
        Some(self.remote_mount(path)?.fs_type.as_str())
    }

    /// Resolves the symbolic links of an absolute path component by component, but never enters a
    /// filesystem that may not respond. `link` returns the target of a link, and `None` for anything else,
    /// a missing name included.
    ///
    /// # Errors
    /// If there are too many links, or the path is too long.
    pub fn resolve<E: Display>(
        &self,
        path: &str,
        mut link: impl FnMut(&str) -> Result<Option<String>, E>,
    ) -> Result<Resolved, ResolveError> {
        let mut todo: VecDeque<String> = path.split('/').map(str::to_owned).collect();
        let mut done: Vec<String> = Vec::new();
        let mut unfinished = None;
        let mut links = 0;
        let mut steps = 0;
        while let Some(name) = todo.pop_front() {
            steps += 1;
            if steps > STEPS_MAX {
                return Err(ResolveError::Names);
            }
            match name.as_str() {
                "" | "." => continue,
                ".." => {
                    done.pop();
                    continue;
                }
                _ => done.push(name),
            }
            let here = format!("/{}", done.join("/"));
            if here.len() + todo.iter().map(|name| name.len() + 1).sum::<usize>() > PATH_BYTES_MAX {
                return Err(ResolveError::Length);
            }
            if let Some(fs_type) = self.remote_fs(&here) {
                unfinished = Some(format!("links on {fs_type} are not followed"));
                continue;
            }
            match link(&here) {
                Ok(Some(target)) => {
                    links += 1;
                    if links > LINKS_MAX {
                        return Err(ResolveError::Links);
                    }
                    done.pop();
                    if target.starts_with('/') {
                        done.clear();
                    }
                    for name in target.rsplit('/') {
                        todo.push_front(name.to_owned());
                    }
                }
                Ok(None) => {}
                Err(error) => {
                    unfinished.get_or_insert(format!("{}: {error}", &here[1..]));
                }
            }
        }
        Ok(Resolved {
            path: format!("/{}", done.join("/")),
            unfinished,
        })
    }

    /// Resolves the links of an absolute path on the running host, see [`Self::resolve`].
    ///
    /// # Errors
    /// Same as [`Self::resolve`].
    pub fn resolve_here(&self, path: &str) -> Result<Resolved, ResolveError> {
        self.resolve(path, |path| match std::fs::read_link(path) {
            Ok(target) => Ok(Some(target.to_string_lossy().into_owned())),
            Err(error) => match error.kind() {
                // Not a link; missing; below a file.
                ErrorKind::InvalidInput | ErrorKind::NotFound | ErrorKind::NotADirectory => {
                    Ok(None)
                }
                _ => Err(error),
            },
        })
    }
}

/// Whether a filesystem depends on a server or a user-space process: accessing it may never return.
/// `autofs` waits for a mount.
pub fn is_remote(fs_type: &str) -> bool {
    fs_type.starts_with("fuse")
        || matches!(
            fs_type,
            "nfs"
                | "nfs4"
                | "cifs"
                | "smb3"
                | "smbfs"
                | "9p"
                | "afs"
                | "autofs"
                | "beegfs"
                | "ceph"
                | "coda"
                | "glusterfs"
                | "gpfs"
                | "lustre"
                | "ncpfs"
                | "orangefs"
                | "pvfs2"
                | "virtiofs"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts(list: &[(&str, &str)]) -> MountPoints {
        let mount = |(index, (at, fs_type)): (usize, &(&str, &str))| MountPoint {
            device_number: DeviceNumber {
                major: 0,
                minor: u32::try_from(index).unwrap(),
            },
            root: "/".to_owned(),
            at: (*at).to_owned(),
            fs_type: (*fs_type).to_owned(),
        };
        list.iter().enumerate().map(mount).collect()
    }

    #[test]
    fn whatever_may_hang_on_the_way_counts() {
        let hidden = mounts(&[
            ("/", "ext4"),
            ("/home/u/disk", "xfs"),
            ("/home/u", "fuse.x"),
        ]);
        for path in ["/home/u", "/home/u/", "/home/u/disk", "/home/u/disk/file"] {
            assert_eq!(hidden.remote_fs(path), Some("fuse.x"), "{path}");
        }
        for path in ["/", "/home", "/home/user/disk"] {
            assert_eq!(hidden.remote_fs(path), None, "{path}");
        }
        // A look-up below it asks its server, too, although the mount is visible.
        let below = mounts(&[("/", "ext4"), ("/net", "nfs4"), ("/net/scratch", "xfs")]);
        assert_eq!(below.remote_fs("/net/scratch"), Some("nfs4"));
        let covered = mounts(&[("/", "nfs"), ("/data", "fuse"), ("/data", "xfs")]);
        assert_eq!(covered.remote_fs("/data/file"), None);
    }

    #[test]
    fn an_automounter_is_passed_where_it_has_mounted() {
        let map = mounts(&[("/", "ext4"), ("/data", "autofs"), ("/data/1", "xfs")]);
        assert_eq!(map.remote_fs("/data/1/file"), None);
        assert_eq!(map.remote_fs("/data/2"), Some("autofs"));
        assert_eq!(map.remote_fs("/data"), Some("autofs"));
        let hidden = mounts(&[("/", "ext4"), ("/data/1", "xfs"), ("/data", "autofs")]);
        assert_eq!(hidden.remote_fs("/data/1/file"), Some("autofs"));
    }
}
