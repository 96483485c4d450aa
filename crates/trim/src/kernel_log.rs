//! Failed discards, from the kernel's log.
//!
//! No other source reports them. The kernel counts a failed discard as discarded bytes in
//! /proc/diskstats; ext4 returns from FITRIM without an error (`ext4_try_to_trim_range`,
//! fs/ext4/mballoc.c, drops the errors of single extents), and XFS returns long before its discards
//! fail. Only Btrfs returns EIO (seen on kernel 6.18 with a drive that began to refuse writes and
//! discards).

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Maximum number of records read per call: a failing drive floods the log.
const RECORDS_MAX: usize = 10_000;

/// Maximum size of a record (`PRINTK_MESSAGE_MAX`, kernel/printk/internal.h: 2048).
const RECORD_BYTES: usize = 8192;

/// Reader of the kernel log from the time it was opened.
#[derive(Debug)]
pub struct KernelLog {
    /// `None` if it may not be read (some containers); failed discards then go unnoticed.
    file: Option<File>,
    devices: Vec<String>,
}

impl KernelLog {
    /// Watches for new messages about the given devices (kernel names). `path` is `/dev/kmsg`
    /// except in tests.
    pub fn open(path: &Path, devices: Vec<String>) -> Self {
        let file = File::options()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
            .open(path)
            .and_then(|mut file| file.seek(SeekFrom::End(0)).map(|_| file));
        Self {
            file: file.ok(),
            devices,
        }
    }

    /// Returns the first message about a failed discard since the last call.
    pub fn failed_discard(&mut self) -> Option<String> {
        let file = self.file.as_mut()?;
        let mut record = vec![0; RECORD_BYTES];
        for _ in 0..RECORDS_MAX {
            match file.read(&mut record) {
                Ok(0) => return None,
                Ok(len) => {
                    let text = String::from_utf8_lossy(record.get(..len).unwrap_or_default());
                    if let Some(message) = text.lines().find_map(|line| {
                        let message = line.split_once(';').map_or(line, |(_, message)| message);
                        is_failed_discard(message, &self.devices).then(|| message.to_owned())
                    }) {
                        return Some(message);
                    }
                }
                // Records were overwritten before they were read; continue with the next one.
                Err(error)
                    if error.raw_os_error() == Some(rustix::io::Errno::PIPE.raw_os_error()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        None
    }
}

/// Matches `I/O error, dev sda, sector 2048 op 0x3:(DISCARD) flags 0x800 ...`
/// (`blk_print_req_error`, block/blk-mq.c; prefixed with `blk_update_request: ` until 5.15).
/// Kernels before 5.3 do not log the type of request; their messages are ignored.
fn is_failed_discard(message: &str, devices: &[String]) -> bool {
    let Some((_, rest)) = message.split_once(" error, dev ") else {
        return false;
    };
    let Some((device, rest)) = rest.split_once(',') else {
        return false;
    };
    rest.contains(":(DISCARD)") && devices.iter().any(|known| known == device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn devices() -> Vec<String> {
        vec!["loop1".to_owned(), "sda".to_owned()]
    }

    #[test]
    fn only_discards_of_these_devices_count() {
        for (message, expected) in [
            (
                "I/O error, dev loop1, sector 0 op 0x3:(DISCARD) flags 0x800 phys_seg 1 prio class 2",
                true,
            ),
            (
                "blk_update_request: critical target error, dev sda, sector 8 op 0x3:(DISCARD) flags 0x0",
                true,
            ),
            (
                "I/O error, dev loop1, sector 0 op 0x1:(WRITE) flags 0x8800 phys_seg 1",
                false,
            ),
            (
                "I/O error, dev loop11, sector 0 op 0x3:(DISCARD) flags 0x800",
                false,
            ),
            ("blk_update_request: I/O error, dev sda, sector 77", false),
            (" error, dev sda", false),
            ("", false),
        ] {
            assert_eq!(
                is_failed_discard(message, &devices()),
                expected,
                "{message}"
            );
        }
    }

    #[test]
    fn earlier_messages_are_ignored() {
        let mut log = tempfile::NamedTempFile::new().unwrap();
        let line = |sector: u32| {
            format!("3,1,2,-;I/O error, dev sda, sector {sector} op 0x3:(DISCARD) flags 0x800\n")
        };
        log.write_all(line(1).as_bytes()).unwrap();
        let mut watch = KernelLog::open(log.path(), devices());
        assert_eq!(watch.failed_discard(), None);
        log.write_all(line(2).as_bytes()).unwrap();
        let found = watch.failed_discard().unwrap();
        assert!(
            found.starts_with("I/O error, dev sda, sector 2 op"),
            "{found}"
        );
        assert_eq!(watch.failed_discard(), None);
    }

    #[test]
    fn unreadable_log_reports_nothing() {
        let mut watch = KernelLog::open(Path::new("/nowhere"), devices());
        assert_eq!(watch.failed_discard(), None);
    }

    #[test]
    fn this_host() {
        let mut watch = KernelLog::open(Path::new("/dev/kmsg"), Vec::new());
        assert_eq!(watch.failed_discard(), None);
    }
}
