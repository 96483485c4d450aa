//! A private directory of this program: files in it are replaced atomically, and links in it are
//! never followed.

use crate::process::ProcessId;
use linux::atomic_file::{Access, IfExists, Temporary};
use linux::folder::{FileId, Folder, OthersWrite, read_bounded};
use rustix::fd::AsFd;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// An open directory.
#[derive(Debug)]
pub(crate) struct Directory {
    folder: Folder,
}

impl Directory {
    /// Creates the directory (0700) and its missing parents.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            // Do not leave this to the umask: whoever can write to a parent can replace what is
            // below.
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o755)
                .create(parent)?;
        }
        match std::fs::DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Self::open(path),
        }
    }

    /// Opens the directory. Refuses a symbolic link, and a directory in which other users may
    /// create files, or in whose place they may put another one.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if std::fs::symlink_metadata(path)?.is_symlink() {
            return Err(refused("is a symbolic link; name the directory itself"));
        }
        Ok(Self {
            folder: Folder::open_protected(path, OthersWrite::Refused)?,
        })
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns a file's content; `None` if there is no such file.
    ///
    /// Fails if it is larger than `bytes_max`, or not a regular file.
    pub(crate) fn read(&self, name: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = self.open_file(name, OFlags::RDONLY)? else {
            return Ok(None);
        };
        read_bounded(&file, bytes_max).map(Some)
    }

    /// Opens an existing regular file. Never blocks (opening a FIFO could).
    pub(crate) fn open_file(&self, name: &str, access: OFlags) -> io::Result<Option<File>> {
        let Some(file) = self.folder.open_file(name, access)? else {
            return Ok(None);
        };
        let found = rustix::fs::fstat(&file)?;
        // Put there while the directory was open to others, as an archive or `cp -p` may leave it.
        if found.st_uid != rustix::process::geteuid().as_raw() && found.st_uid != 0 {
            return Err(refused(&format!(
                "belongs to user {}; look at it, then remove it",
                found.st_uid
            )));
        }
        if found.st_mode & 0o002 != 0 {
            return Err(refused(
                "others may write to it; look at it, then take that away with chmod o-w",
            ));
        }
        // Writing to it would write to a file elsewhere.
        if found.st_nlink > 1 {
            return Err(refused(
                "has another name elsewhere (a hard link); look at it, then remove it",
            ));
        }
        Ok(Some(file))
    }

    /// Opens a regular file, creating it (0600) if it is missing.
    pub(crate) fn create_file(&self, name: &str, access: OFlags) -> io::Result<File> {
        self.open_file(name, access | OFlags::CREATE)?
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Writes a file under another name, fsyncs it, renames it, and fsyncs the directory: after a
    /// crash either the old or the new content is there. On failure the old file is kept.
    pub(crate) fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut temporary =
            Temporary::create(self.folder.as_fd(), temporary_name(name), Access::Owner)?;
        temporary.file().write_all(content)?;
        temporary.persist(OsStr::new(name), IfExists::Replace)?;
        self.sync()
    }

    /// Verifies that files can be written, using a temporary file.
    pub(crate) fn verify_writable(&self) -> io::Result<()> {
        let mut proof =
            Temporary::create(self.folder.as_fd(), temporary_name("proof"), Access::Owner)?;
        proof.file().write_all(&[b' '; 4096])?;
        proof.file().sync_all()?;
        proof.remove()
    }

    /// Removes a file; returns `false` if there was none.
    pub(crate) fn remove(&self, name: &str) -> io::Result<bool> {
        let removed = self.folder.remove_file(name)?;
        if removed {
            self.sync()?;
        }
        Ok(removed)
    }

    /// Returns the names of the files in it, sorted. Names that are not UTF-8 are not ours and are
    /// skipped.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        self.folder.names()
    }

    /// Removes temporary files of processes that died while writing.
    pub(crate) fn remove_leftovers(&self) -> io::Result<()> {
        for name in self.names()? {
            if temporary_owner(&name).is_some_and(|owner| !owner.is_alive()) {
                self.remove(&name)?;
            }
        }
        Ok(())
    }

    /// Returns whether `name` still refers to this file.
    pub(crate) fn is_current(&self, name: &str, file: &File) -> io::Result<bool> {
        let opened = FileId::of(file)?;
        let named = self.folder.stat(name)?;
        Ok(named.is_some_and(|named| FileId::from(&named) == opened))
    }

    fn sync(&self) -> io::Result<()> {
        match rustix::fs::fsync(self.folder.as_fd()) {
            // Some filesystems cannot sync a directory.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn refused(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

/// Returns `.NAME.PID-START-NUMBER.tmp`, which names the process that is writing it.
fn temporary_name(name: &str) -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let own = ProcessId::own();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!(".{name}.{}-{}-{number}.tmp", own.pid, own.start_ticks)
}

fn temporary_owner(name: &str) -> Option<ProcessId> {
    let stem = name.strip_prefix('.')?;
    if Path::new(stem).extension() != Some(OsStr::new("tmp")) {
        return None;
    }
    let (_, owner) = stem.strip_suffix(".tmp")?.rsplit_once('.')?;
    let mut numbers = owner.split('-');
    let owner = ProcessId {
        pid: numbers.next()?.parse().ok()?,
        start_ticks: numbers.next()?.parse().ok()?,
    };
    (numbers.count() == 1).then_some(owner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::Mode;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn own_directory() -> (tempfile::TempDir, Directory) {
        let outer = tempfile::tempdir().unwrap();
        let directory = Directory::create(&outer.path().join("a/b")).unwrap();
        (outer, directory)
    }

    #[test]
    fn created_files_are_private() {
        let (_outer, directory) = own_directory();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o7777;
        assert_eq!(mode(directory.folder.path()), 0o700);
        directory.replace("x", b"1").unwrap();
        assert_eq!(mode(&directory.join("x")), 0o600);
        let _ = directory.create_file("y", OFlags::RDWR).unwrap();
        assert_eq!(mode(&directory.join("y")), 0o600);
    }

    #[test]
    fn file_is_replaced_without_leftovers() {
        let (_outer, directory) = own_directory();
        assert_eq!(directory.read("x", 9).unwrap(), None);
        directory.replace("x", b"old").unwrap();
        directory.replace("x", b"new").unwrap();
        assert_eq!(directory.read("x", 3).unwrap().unwrap(), b"new");
        assert_eq!(directory.names().unwrap(), ["x"]);
        let error = directory.read("x", 2).unwrap_err().to_string();
        assert!(error.contains("larger than 2 bytes"), "{error}");
        assert!(directory.remove("x").unwrap());
        assert!(!directory.remove("x").unwrap());
    }

    #[test]
    fn links_fifos_and_directories_are_refused() {
        let (outer, directory) = own_directory();
        let secret = outer.path().join("secret");
        std::fs::write(&secret, "s").unwrap();
        symlink(&secret, directory.join("link")).unwrap();
        assert!(directory.read("link", 9).is_err());
        assert!(directory.create_file("link", OFlags::RDWR).is_err());
        directory.replace("link", b"own").unwrap();
        assert_eq!(std::fs::read(&secret).unwrap(), b"s", "not written through");
        assert_eq!(directory.read("link", 9).unwrap().unwrap(), b"own");
        rustix::fs::mkfifoat(rustix::fs::CWD, directory.join("fifo"), Mode::RUSR).unwrap();
        let error = directory.read("fifo", 9).unwrap_err().to_string();
        assert!(error.contains("found a pipe"), "{error}");
        std::fs::create_dir(directory.join("d")).unwrap();
        assert!(directory.read("d", 9).is_err());

        symlink(directory.folder.path(), outer.path().join("other")).unwrap();
        let error = Directory::create(&outer.path().join("other"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("symbolic link"), "{error}");
    }

    #[test]
    fn directories_of_others_are_refused() {
        let (outer, directory) = own_directory();
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(directory.folder.path(), open).unwrap();
        let error = Directory::open(directory.folder.path())
            .unwrap_err()
            .to_string();
        assert!(error.contains("chmod go-w"), "{error}");
        if rustix::process::geteuid().is_root() {
            let theirs = outer.path().join("theirs");
            std::fs::create_dir(&theirs).unwrap();
            std::os::unix::fs::chown(&theirs, Some(12345), None).unwrap();
            let error = Directory::open(&theirs).unwrap_err().to_string();
            assert!(error.contains("user 12345"), "{error}");
            // They can put another directory in the place of one of ours below it.
            let below = theirs.join("ours");
            std::fs::create_dir(&below).unwrap();
            let error = Directory::open(&below).unwrap_err().to_string();
            assert!(
                error.contains("user 12345") && error.contains("below"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_parent_open_to_all_users_is_refused_unless_it_is_sticky() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("state");
        std::fs::create_dir(&inner).unwrap();
        let open = |mode| {
            let open = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(outer.path(), open).unwrap();
            Directory::open(&inner)
        };
        assert!(open(0o1777).is_ok());
        let error = open(0o777).unwrap_err().to_string();
        assert!(error.contains("open to all users"), "{error}");
    }

    #[test]
    fn a_hard_link_is_not_written_to() {
        let (outer, directory) = own_directory();
        std::fs::write(outer.path().join("other"), "1").unwrap();
        std::fs::hard_link(outer.path().join("other"), directory.join("audit")).unwrap();
        let error = directory
            .create_file("audit", OFlags::RDWR)
            .unwrap_err()
            .to_string();
        assert!(error.contains("hard link"), "{error}");
    }

    #[test]
    fn parents_are_not_open_to_others_whatever_the_umask() {
        let outer = tempfile::tempdir().unwrap();
        let asked_for = outer.path().join("p/q/r");
        // The umask is process-wide, and other tests create files, so this runs in a separate
        // process.
        let status = std::process::Command::new("sh")
            .args(["-c", "umask 0 && exec \"$0\" --exact \"$1\" --ignored"])
            .arg(std::env::current_exe().unwrap())
            .arg("state::directory::tests::makes_the_directory_that_it_is_told")
            .env("TRIM_TEST_DIRECTORY", &asked_for)
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o7777;
        assert_eq!(mode(&asked_for), 0o700);
        assert_eq!(mode(asked_for.parent().unwrap()), 0o755);
        assert_eq!(mode(&outer.path().join("p")), 0o755);
    }

    #[test]
    #[ignore = "a part of the test above, which runs it under a umask of its own"]
    fn makes_the_directory_that_it_is_told() {
        if let Some(path) = std::env::var_os("TRIM_TEST_DIRECTORY") {
            Directory::create(Path::new(&path)).unwrap();
        }
    }

    #[test]
    fn files_that_others_left_or_may_change_are_refused() {
        let (_outer, directory) = own_directory();
        directory.replace("x", b"1").unwrap();
        let open = |mode| {
            let open = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(directory.join("x"), open).unwrap();
            directory.read("x", 9)
        };
        assert_eq!(open(0o640).unwrap().unwrap(), b"1");
        let error = open(0o666).unwrap_err().to_string();
        assert!(error.contains("chmod o-w"), "{error}");
        assert!(open(0o600).is_ok());
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(directory.join("x"), Some(12345), None).unwrap();
            let error = directory.read("x", 9).unwrap_err().to_string();
            assert!(error.contains("user 12345"), "{error}");
        }
    }

    #[test]
    fn verifying_writability_touches_no_other_file() {
        let (_outer, directory) = own_directory();
        for name in ["writable", "proof"] {
            std::fs::write(directory.join(name), "precious").unwrap();
        }
        directory.verify_writable().unwrap();
        assert_eq!(directory.names().unwrap(), ["proof", "writable"]);
        assert_eq!(directory.read("writable", 9).unwrap().unwrap(), b"precious");
    }

    #[test]
    fn only_leftovers_of_dead_processes_are_removed() {
        let (_outer, directory) = own_directory();
        let mine = temporary_name("x.json");
        let dead = format!(".x.json.{}-1-0.tmp", std::process::id());
        for name in [&mine, &dead, &".other.tmp".to_owned(), &"x.json".to_owned()] {
            std::fs::write(directory.join(name), "").unwrap();
        }
        directory.remove_leftovers().unwrap();
        let mut expected = vec![mine, ".other.tmp".to_owned(), "x.json".to_owned()];
        expected.sort();
        assert_eq!(directory.names().unwrap(), expected);
    }
}
