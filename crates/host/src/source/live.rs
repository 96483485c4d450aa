use super::{Command, Kind, Source, Stat, Unread};
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

/// The running host.
#[derive(Debug, Default)]
pub struct Live {
    /// The program and its arguments that answers [`Command::Statfs`] in a process of its own (a
    /// hung filesystem can make a process immortal); `None` leaves sizes unknown.
    pub statfs_helper: Option<Vec<OsString>>,
}

fn unread(error: &std::io::Error) -> Unread {
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Unread::NotFound,
        std::io::ErrorKind::PermissionDenied => Unread::Denied,
        _ => Unread::Failed(error.to_string()),
    }
}

impl Source for Live {
    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, Unread> {
        let file = std::fs::File::open(format!("/{path}")).map_err(|e| unread(&e))?;
        let mut bytes = Vec::new();
        let limit = u64::try_from(max_bytes)
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        file.take(limit)
            .read_to_end(&mut bytes)
            .map_err(|e| unread(&e))?;
        if bytes.len() > max_bytes {
            return Err(Unread::TooLarge(max_bytes));
        }
        Ok(bytes)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, Unread> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(format!("/{path}")).map_err(|e| unread(&e))? {
            let entry = entry.map_err(|e| unread(&e))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn link(&self, path: &str) -> Result<String, Unread> {
        match std::fs::read_link(format!("/{path}")) {
            Ok(target) => Ok(target.to_string_lossy().into_owned()),
            Err(e) if e.kind() == std::io::ErrorKind::InvalidInput => Err(Unread::NotFound),
            Err(e) => Err(unread(&e)),
        }
    }

    fn stat(&self, path: &str) -> Result<Stat, Unread> {
        let meta = std::fs::metadata(format!("/{path}")).map_err(|e| unread(&e))?;
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
        let _ = command;
        Err(Unread::NotFound)
    }
}
