use super::log_file::read_end_bounded;
use super::resolve::LastLink;
use super::{End, Kind, Source, Stat, dm_ioctl, drive_log, journal, process, sorted};
use crate::command::Command;
use crate::parse::systemctl::PROPERTIES;
use crate::unread::Unread;
use linux::mount_points::MountPoints;
use rustix::fs::{FileType, Mode, OFlags};
use std::cell::OnceCell;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// Timeout for `systemctl`. It talks to one process over a socket; if that is busy for longer, the
/// unit files have to do.
const SYSTEMCTL_DEADLINE: Duration = Duration::from_secs(2);
/// Maximum size of `systemctl`'s answer: some 20 properties of some 10,000 units.
const SYSTEMCTL_BYTES_MAX: usize = 4 << 20;

/// The running host.
///
/// Paths may come from other users, in crontabs for example, and lead to a filesystem whose server does not
/// respond. So links are resolved here, and nothing on a network or user-space filesystem is accessed.
#[derive(Debug, Default)]
pub struct Live {
    /// Read once: a pass over the host takes a second.
    mounts: OnceCell<MountPoints>,
}

impl Live {
    /// Returns the path from the host's root, without links; not found if no file can have that path.
    ///
    /// # Errors
    /// If it is on a filesystem that may not respond.
    fn absolute(&self, path: &str, last: LastLink) -> Result<String, Unread> {
        if path.contains('\0') {
            return Err(Unread::NotFound);
        }
        let path = format!("/{path}");
        let is_kernels = |path: &str| path.starts_with("/proc/") || path.starts_with("/sys/");
        // The kernel's own files; its links below /proc/PID cannot be resolved by name.
        if is_kernels(&path) && path.split('/').all(|name| name != "..") {
            return Ok(path);
        }
        let mounts = self.mounts.get_or_init(|| {
            let mountinfo = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
            MountPoints::parse(&mountinfo)
        });
        let resolve = |path: &str| match mounts.resolve_here(path) {
            Ok(resolved) => Ok(resolved.path),
            Err(error) => Err(Unread::Failed(error.to_string())),
        };
        let path = match (last, path.rsplit_once('/')) {
            (LastLink::Keep, Some((parent, name))) if !matches!(name, "" | "." | "..") => {
                format!("{}/{name}", resolve(parent)?.trim_end_matches('/'))
            }
            _ => resolve(&path)?,
        };
        if let Some(fs_type) = mounts.remote_fs(&path) {
            return Err(Unread::Failed(format!(
                "on {fs_type}, which may not answer: not read"
            )));
        }
        // A link of a user's may lead to a link of the kernel's, and so past the resolution.
        if path.starts_with("/proc/") {
            return Err(Unread::Failed("a link into /proc: not read".to_owned()));
        }
        Ok(path)
    }
}

fn read_link(path: &str) -> Result<String, Unread> {
    match std::fs::read_link(path) {
        Ok(target) => Ok(target.to_string_lossy().into_owned()),
        Err(error) if error.kind() == ErrorKind::InvalidInput => Err(Unread::NotFound),
        Err(error) => Err(Unread::from(&error)),
    }
}

/// The error for anything but a regular file where a file is to be read.
pub(super) fn not_regular() -> Unread {
    Unread::Failed("not a regular file".to_owned())
}

/// Reads to the end, or to the limit. Reported sizes are not trusted: /proc and /sys report 0 or
/// 4096.
pub(super) fn read_bounded(mut file: File, max_bytes: usize) -> Result<Vec<u8>, Unread> {
    // One page is enough for most attributes, so that they take two reads.
    let mut bytes = vec![0; 4096];
    let mut len = 0;
    loop {
        if len == bytes.len() {
            bytes.resize(len * 2, 0);
        }
        match file.read(&mut bytes[len..]) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Unread::from(&error)),
        }
        if len > max_bytes {
            return Err(Unread::TooLarge(max_bytes));
        }
    }
    bytes.truncate(len);
    bytes.shrink_to_fit();
    Ok(bytes)
}

/// Opens a regular file, and nothing else.
fn open_regular(path: &str) -> Result<File, Unread> {
    let refused = |errno: rustix::io::Errno| Unread::from(&errno.into());
    // Checked before opening: just opening a device arms a watchdog or rewinds a tape.
    let seen = rustix::fs::stat(path).map_err(refused)?;
    if FileType::from_raw_mode(seen.st_mode) != FileType::RegularFile {
        return Err(not_regular());
    }
    // It may have been replaced since: never wait for the other end of a FIFO.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(refused)?;
    let opened = rustix::fs::fstat(&fd).map_err(refused)?;
    if FileType::from_raw_mode(opened.st_mode) != FileType::RegularFile {
        return Err(not_regular());
    }
    Ok(File::from(fd))
}

impl Source for Live {
    fn is_whole(&self) -> bool {
        true
    }

    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, Unread> {
        let path = self.absolute(path, LastLink::Follow)?;
        read_bounded(open_regular(&path)?, max_bytes)
    }

    fn read_end(&self, path: &str, max_bytes: usize) -> Result<End, Unread> {
        let path = self.absolute(path, LastLink::Follow)?;
        read_end_bounded(open_regular(&path)?, max_bytes)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, Unread> {
        let path = self.absolute(path, LastLink::Follow)?;
        let entries = std::fs::read_dir(path).map_err(|e| Unread::from(&e))?;
        sorted(entries.map(|entry| {
            let entry = entry.map_err(|e| Unread::from(&e))?;
            Ok(entry.file_name().to_string_lossy().into_owned())
        }))
    }

    fn link(&self, path: &str) -> Result<String, Unread> {
        read_link(&self.absolute(path, LastLink::Keep)?)
    }

    fn stat(&self, path: &str) -> Result<Stat, Unread> {
        let meta = std::fs::metadata(self.absolute(path, LastLink::Follow)?)
            .map_err(|e| Unread::from(&e))?;
        let kind = if meta.is_file() {
            Kind::File
        } else if meta.is_dir() {
            Kind::Directory
        } else {
            Kind::Other
        };
        Ok(Stat {
            kind,
            mode: meta.mode() & 0o7777,
            mtime_s: meta.mtime(),
            size_bytes: meta.len(),
        })
    }

    fn command(&self, command: &Command) -> Result<Vec<u8>, Unread> {
        match command {
            Command::SystemctlShow { units } => systemctl_show(units),
            Command::DmTable => dm_ioctl::table(),
            // That may hang: only a process that may be given up asks.
            Command::Statfs { .. } => Err(Unread::Failed(
                "filesystem sizes were not asked for".to_owned(),
            )),
            Command::DriveLog { tool, drive } => drive_log::ask(*tool, drive),
            Command::Journal {
                units,
                since,
                until,
            } => journal::ask(units, *since, *until),
        }
    }
}

/// Returns the state of some units according to systemd.
fn systemctl_show(units: &[String]) -> Result<Vec<u8>, Unread> {
    // sd_booted(3): this directory exists if and only if systemd is the init system.
    if !Path::new("/run/systemd/system").is_dir() {
        return Err(Unread::NotFound);
    }
    let units: Vec<&String> = units
        .iter()
        // A template has no state, and systemctl fails at the first one.
        .filter(|unit| !unit.contains("@."))
        .collect();
    if units.is_empty() {
        // Without a unit, systemctl would show the manager, including its environment.
        return Ok(Vec::new());
    }
    let mut command = process::in_c_locale(&process::find("systemctl", &process::DIRECTORIES)?);
    command
        .arg("show")
        .arg("--no-pager")
        .arg(format!("--property={}", PROPERTIES.join(",")))
        .arg("--")
        .args(units);
    process::run(&mut command, SYSTEMCTL_DEADLINE, SYSTEMCTL_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Returns a path in the form that `Source` expects.
    fn below(directory: &tempfile::TempDir, name: &str) -> String {
        let path = directory.path().join(name);
        path.to_str().unwrap().trim_start_matches('/').to_owned()
    }

    #[test]
    fn files_in_proc_are_read_despite_a_size_of_zero() {
        let live = Live::default();
        assert_eq!(live.stat("proc/self/mountinfo").unwrap().size_bytes, 0);
        let text = live.read("proc/self/mountinfo", 4 << 20).unwrap();
        assert!(text.contains(&b'\n'));
    }

    #[test]
    fn a_fifo_or_device_is_rejected_without_opening_it() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = below(&directory, "fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            format!("/{fifo}"),
            FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        symlink("/dev/zero", directory.path().join("zero")).unwrap();
        for path in [&fifo, &below(&directory, "zero"), "dev/zero", "etc"] {
            assert_eq!(
                Live::default().read(path, 100),
                Err(not_regular()),
                "{path}"
            );
        }
    }

    /// A live source that takes a directory for a mount that may not respond.
    fn with_mount(at: &std::path::Path, fs_type: &str) -> Live {
        let mountinfo = format!(
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:50 / {} rw - {fs_type} server rw\n",
            at.display()
        );
        Live {
            mounts: OnceCell::from(MountPoints::parse(mountinfo.as_bytes())),
        }
    }

    #[test]
    fn nothing_on_a_filesystem_that_may_hang_is_accessed() {
        let directory = tempfile::tempdir().unwrap();
        let mounted = directory.path().join("mounted");
        std::fs::create_dir(&mounted).unwrap();
        std::fs::write(mounted.join("file"), "1").unwrap();
        symlink("mounted", directory.path().join("link")).unwrap();
        symlink(
            format!("/proc/self/root{}/file", mounted.display()),
            directory.path().join("kernel"),
        )
        .unwrap();
        let paths = [
            "mounted",
            "mounted/file",
            "link/file",
            "mounted/../mounted/file",
            "kernel",
        ];
        for (fs_type, is_read) in [
            ("fuse.sshfs", false),
            ("nfs4", false),
            ("autofs", false),
            ("xfs", true),
        ] {
            let live = with_mount(&mounted, fs_type);
            for name in paths {
                let path = below(&directory, name);
                let is_expected = |outcome: Result<(), Unread>| match outcome {
                    Ok(()) => is_read,
                    Err(Unread::Failed(why)) => !is_read && why.ends_with("not read"),
                    Err(_) => false,
                };
                assert!(is_expected(live.stat(&path).map(drop)), "{fs_type}: {name}");
                if name != "mounted" {
                    assert!(
                        is_expected(live.read(&path, 9).map(drop)),
                        "{fs_type}: {name}"
                    );
                }
            }
            assert_eq!(live.list(&below(&directory, "link")).is_ok(), is_read);
            assert_eq!(
                live.link(&below(&directory, "link")),
                Ok("mounted".to_owned())
            );
        }
    }

    #[test]
    fn a_link_to_a_file_of_the_kernels_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        symlink("/proc/self/environ", directory.path().join("link")).unwrap();
        let refused = Live::default().read(&below(&directory, "link"), 9);
        assert!(
            matches!(&refused, Err(Unread::Failed(why)) if why.contains("/proc")),
            "{refused:?}"
        );
    }

    #[test]
    fn the_size_limit_is_inclusive() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("file"), vec![b'x'; 5000]).unwrap();
        let path = below(&directory, "file");
        assert_eq!(Live::default().read(&path, 5000).unwrap().len(), 5000);
        assert_eq!(
            Live::default().read(&path, 4999),
            Err(Unread::TooLarge(4999))
        );
        std::fs::write(directory.path().join("file"), "").unwrap();
        assert_eq!(Live::default().read(&path, 0), Ok(Vec::new()));
    }

    #[test]
    fn names_links_and_kinds() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("b"), "1").unwrap();
        symlink("b", directory.path().join("a")).unwrap();
        let live = Live::default();
        let (a, b) = (below(&directory, "a"), below(&directory, "b"));
        assert_eq!(live.list(&below(&directory, "")).unwrap(), ["a", "b"]);
        assert_eq!(live.link(&a), Ok("b".to_owned()));
        assert_eq!(live.link(&b), Err(Unread::NotFound));
        assert_eq!(live.stat(&a).unwrap().kind, Kind::File);
        assert_eq!(live.read(&a, 9), Ok(b"1".to_vec()));
        assert_eq!(live.read("no\0thing", 9), Err(Unread::NotFound));
        assert_eq!(live.read(&format!("{b}/c"), 9), Err(Unread::NotFound));
    }

    #[test]
    fn systemctl_is_never_asked_for_nothing() {
        let template = ["template@.service".to_owned()];
        for units in [&template[..], &[]] {
            let answer = systemctl_show(units);
            assert!(
                matches!(answer.as_deref(), Ok([]) | Err(Unread::NotFound)),
                "{answer:?}"
            );
        }
    }

    #[test]
    fn sizes_are_unknown_without_a_helper() {
        let command = Command::Statfs {
            mount_points: vec!["/".to_owned()],
        };
        let answer = Live::default().command(&command);
        assert!(matches!(answer, Err(Unread::Failed(_))), "{answer:?}");
    }
}
