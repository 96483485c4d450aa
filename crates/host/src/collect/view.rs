//! The file tree as a process sees it: the host's own, or a container's.

use crate::source::{Kind, MountPoint, MountPoints, Reader, Resolved};
use crate::unread::Unread;
use facts::Host;
use std::rc::Rc;

/// A file tree with its mounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    /// Prefix of each path: empty, or `proc/PID/root/`.
    prefix: String,
    /// Shared by all stores that see the same tree.
    mounts: Rc<MountPoints>,
}

impl View {
    /// Returns the host's own tree.
    pub(crate) fn of_host(host: &Host) -> Self {
        // fstab's lines say nothing of what is mounted below the tree that is read.
        let mounted = host
            .mounts
            .iter()
            .filter(|mount| mount.fstab_line.is_none());
        let mounts = mounted.map(|mount| MountPoint {
            device_number: mount.device_number,
            root: mount.root.clone(),
            at: mount.mount_point.clone(),
            fs_type: mount.fs_type.clone(),
        });
        Self {
            prefix: String::new(),
            mounts: Rc::new(mounts.collect()),
        }
    }

    /// Returns the tree of a process in a container; its mounts are read from `proc/PID/mountinfo`.
    pub(crate) fn of_process(reader: &Reader<'_>, pid: u32) -> Result<Self, Unread> {
        let text = reader.text(&format!("proc/{pid}/mountinfo"))?;
        Ok(Self {
            prefix: format!("proc/{pid}/root/"),
            mounts: Rc::new(MountPoints::parse(text.as_bytes())),
        })
    }

    /// Whether this is the host's own tree.
    pub(crate) fn is_host(&self) -> bool {
        self.prefix.is_empty()
    }

    /// Returns a path to pass to the reader.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{}", self.prefix, path.trim_start_matches('/'))
    }

    /// Returns the filesystem type if any access to a path could take forever.
    pub(crate) fn remote_fs(&self, path: &str) -> Option<&str> {
        self.mounts.remote_fs(path)
    }

    /// Resolves the symbolic links of an absolute path, see [`MountPoints::resolve`].
    ///
    /// # Errors
    /// If there are too many links, or the path is too long.
    pub(crate) fn resolve(&self, reader: &Reader<'_>, path: &str) -> Result<Resolved, Unread> {
        self.mounts
            .resolve(path, |path| reader.link(&self.at(path)))
    }

    /// Returns the reader's path of a configuration file after checking that it is a regular file
    /// that responds: anyone can start a program called mongod whose configuration is a pipe that
    /// nobody writes to.
    ///
    /// # Errors
    /// Why it must not be read.
    pub(crate) fn regular_file(&self, reader: &Reader<'_>, path: &str) -> Result<String, Unread> {
        let resolved = self.resolve(reader, path)?;
        if let Some(fs_type) = self.remote_fs(&resolved.path) {
            let why = format!("on {fs_type}, which may not answer: not read");
            return Err(Unread::Failed(why));
        }
        let at = self.at(&resolved.path);
        match reader.stat(&at)?.kind {
            Kind::File => Ok(at),
            Kind::Directory | Kind::Other => {
                Err(Unread::Failed("not a regular file: not read".to_owned()))
            }
        }
    }

    /// Lists a directory on a filesystem that responds; empty if it cannot be read.
    pub(crate) fn list(&self, reader: &Reader<'_>, path: &str) -> Vec<String> {
        match self.resolve(reader, path) {
            Ok(resolved) if self.remote_fs(&resolved.path).is_none() => {
                reader.list(&self.at(&resolved.path)).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// Whether an absolute path exists; `None` if that is unknown or was not checked.
    pub(crate) fn exists(&self, reader: &Reader<'_>, path: &str) -> Option<bool> {
        let resolved = self.resolve(reader, path).ok()?;
        if self.remote_fs(&resolved.path).is_some() {
            return None;
        }
        let exists = reader.exists(&self.at(&resolved.path));
        // An unpacked support archive contains no data directories.
        exists.filter(|&exists| exists || reader.is_whole())
    }

    /// Translates a resolved path of this view to another view: through the mount of the same
    /// filesystem whose root is the nearest ancestor of the path. `None` if the other view has no
    /// such mount.
    pub(crate) fn translate(&self, path: &str, other: &Self) -> Option<String> {
        let mount = self.mounts.mount_of(path)?;
        let inside = join(&mount.root, below(&mount.at, path)?);
        let target = other
            .mounts
            .iter()
            .filter(|target| target.device_number == mount.device_number)
            .filter(|target| below(&target.root, &inside).is_some())
            .max_by_key(|target| target.root.len())?;
        Some(join(&target.at, below(&target.root, &inside)?))
    }
}

/// Returns the part of a path after a directory, without a leading slash; `None` if the path is not
/// at or below it.
fn below<'p>(directory: &str, path: &'p str) -> Option<&'p str> {
    if directory == "/" {
        return path.strip_prefix('/');
    }
    let rest = path.strip_prefix(directory)?;
    if rest.is_empty() {
        return Some(rest);
    }
    rest.strip_prefix('/')
}

fn join(directory: &str, rest: &str) -> String {
    match (directory, rest) {
        (_, "") => directory.to_owned(),
        ("/", _) => format!("/{rest}"),
        _ => format!("{directory}/{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::MemorySource;

    fn view(mountinfo: &str) -> View {
        View {
            prefix: String::new(),
            mounts: Rc::new(MountPoints::parse(mountinfo.as_bytes())),
        }
    }

    const HOST: &str = "\
25 1 8:1 / / rw - ext4 /dev/sda1 rw
40 25 259:1 / /mnt/data rw - xfs /dev/nvme0n1 rw
41 25 0:50 / /net/home rw - nfs4 filer:/home rw
42 25 259:1 /elastic/a\\040b /srv/es rw - xfs /dev/nvme0n1 rw
";

    #[test]
    fn links_are_followed_component_by_component() {
        let source = MemorySource::new()
            .symlink("var/lib/es", "../../data/es")
            .symlink("data", "/mnt/data")
            .symlink("mnt/data/es", "node/../node1")
            .directory("mnt/data/node1/x");
        let reader = Reader::new(&source);
        let resolved = view(HOST).resolve(&reader, "/var//lib/./es/x").unwrap();
        assert_eq!(resolved.path, "/mnt/data/node1/x");
        assert_eq!(resolved.unfinished, None);
    }

    #[test]
    fn links_on_a_network_filesystem_are_left_alone() {
        let source = MemorySource::new()
            .symlink("data", "/net/home/es")
            .symlink("net/home/es", "/mnt/data");
        let reader = Reader::new(&source);
        let resolved = view(HOST).resolve(&reader, "/data/x/../y").unwrap();
        assert_eq!(resolved.path, "/net/home/es/y");
        assert!(resolved.unfinished.unwrap().contains("nfs4"));
        let recording = reader.into_recording();
        assert!(recording.links.contains_key("data"));
        assert!(
            !recording
                .links
                .keys()
                .any(|path| path.starts_with("net/home"))
        );
    }

    #[test]
    fn a_cycle_of_links_is_an_error() {
        let source = MemorySource::new().symlink("a", "b").symlink("b", "a");
        let reader = Reader::new(&source);
        assert!(view(HOST).resolve(&reader, "/a").is_err());
        let source = MemorySource::new().symlink("a", "a/a/a/a/a/a/a/a");
        let reader = Reader::new(&source);
        assert!(view(HOST).resolve(&reader, "/a").is_err());
    }

    #[test]
    fn only_regular_files_are_read() {
        let source = MemorySource::new()
            .device("tmp/pipe.conf")
            .file("etc/mongod.conf", "")
            .symlink("etc/link.conf", "mongod.conf");
        let reader = Reader::new(&source);
        let view = view(HOST);
        assert!(view.regular_file(&reader, "/tmp/pipe.conf").is_err());
        assert!(view.regular_file(&reader, "/net/home/mongod.conf").is_err());
        assert_eq!(
            view.regular_file(&reader, "/etc/link.conf"),
            Ok("etc/mongod.conf".to_owned())
        );
    }

    #[test]
    fn a_path_in_a_container_is_found_on_the_host() {
        let container = view(
            "50 49 0:60 / / rw - overlay overlay rw\n\
             51 50 259:1 /docker/volumes/db /data/db rw - xfs /dev/nvme0n1 rw\n\
             52 50 8:1 /etc/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n\
             53 50 259:1 /elastic/a\\040b/0 /usr/share/elasticsearch/data rw - xfs /dev/x rw\n",
        );
        let host = view(HOST);
        let translate = |path| container.translate(path, &host);
        assert_eq!(
            translate("/data/db/journal").as_deref(),
            Some("/mnt/data/docker/volumes/db/journal")
        );
        assert_eq!(translate("/etc/hosts").as_deref(), Some("/etc/hosts"));
        // The bind mount of the directory itself is nearer than the whole filesystem.
        assert_eq!(
            translate("/usr/share/elasticsearch/data").as_deref(),
            Some("/srv/es/0")
        );
        assert_eq!(translate("/var/lib/mongodb"), None);
    }
}
