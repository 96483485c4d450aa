//! Live device-mapper tables, read from /dev/mapper/control (`linux/dm-ioctl.h`).
//!
//! The control node is opened only if a `dm-*` device exists, since opening it would load the
//! module. Answers may contain volume keys: `DM_SECURE_DATA_FLAG` makes the kernel wipe its copies,
//! the buffer here is zeroized, and only the lines from [`dm_table::sanitise_target`] leave this
//! module.

use super::ioctl::{DM_HEADER_BYTES, dm_table_status};
use crate::parse::dm_table;
use crate::unread::Unread;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::path::Path;
use zeroize::Zeroizing;

const STATUS_TABLE_FLAG: u32 = 1 << 4;
const BUFFER_FULL_FLAG: u32 = 1 << 8;
const SECURE_DATA_FLAG: u32 = 1 << 15;

const FLAGS_AT: usize = 28;
const DATA_START_AT: usize = 16;
const TARGET_COUNT_AT: usize = 20;
const NAME_AT: usize = 48;
/// `DM_NAME_LEN`, including the final NUL.
const NAME_LEN: usize = 128;
/// Size of `struct dm_target_spec`.
const SPEC_BYTES: usize = 40;

const BUFFER_BYTES_FIRST: usize = 16 << 10;
/// A table of 16 MiB would list some hundred thousand extents.
const BUFFER_BYTES_MAX: usize = 16 << 20;

/// Returns every table in the format of `dmsetup table`, with keys replaced by `-`.
///
/// # Errors
/// [`Unread::NotFound`] if no device-mapper device exists, [`Unread::Denied`] without root.
pub(crate) fn table() -> Result<Vec<u8>, Unread> {
    let names = names(Path::new("/sys/block"))?;
    if names.is_empty() {
        return Err(Unread::NotFound);
    }
    let control = open_control(Path::new("/dev/mapper/control"))?;
    let mut text = String::new();
    for name in names {
        add_table(control.as_fd(), &name, &mut text)?;
    }
    Ok(text.into_bytes())
}

/// Returns the kernel's names of the device-mapper devices, in the order of their minor numbers.
fn names(sys_block: &Path) -> Result<Vec<String>, Unread> {
    let entries = match fs::read_dir(sys_block) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Unread::Failed(error.to_string())),
    };
    let mut minors: Vec<u32> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            name.to_str()?.strip_prefix("dm-")?.parse().ok()
        })
        .collect();
    minors.sort_unstable();
    let name_of = |minor: &u32| {
        let path = sys_block.join(format!("dm-{minor}/dm/name"));
        // Removed since it was listed.
        let text = fs::read_to_string(path).ok()?;
        let name = text.strip_suffix('\n').unwrap_or(&text);
        (!name.is_empty()).then(|| name.to_owned())
    };
    Ok(minors.iter().filter_map(name_of).collect())
}

fn open_control(path: &Path) -> Result<File, Unread> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => Unread::Denied,
            // Containers see the devices in sysfs, but no control node.
            std::io::ErrorKind::NotFound => Unread::Failed(format!(
                "device-mapper devices exist, but {} does not (a container?)",
                path.display()
            )),
            _ => Unread::Failed(format!("{}: {error}", path.display())),
        })
}

/// Adds the lines of one device.
fn add_table(control: BorrowedFd<'_>, name: &str, text: &mut String) -> Result<(), Unread> {
    let mut len_bytes = BUFFER_BYTES_FIRST;
    loop {
        // A new buffer for each size: growing in place would leave a copy behind.
        let mut buffer = Zeroizing::new(vec![0_u64; len_bytes / 8]);
        write_header(&mut buffer, name)?;
        match dm_table_status(control, &mut buffer) {
            Ok(()) => {}
            // Removed since it was listed.
            Err(Errno::NXIO) => return Ok(()),
            Err(Errno::ACCESS | Errno::PERM) => return Err(Unread::Denied),
            Err(error) => return Err(Unread::Failed(format!("DM_TABLE_STATUS: {error}"))),
        }
        let answer = Answer { words: &buffer };
        if answer
            .u32_at(FLAGS_AT)
            .is_none_or(|flags| flags & BUFFER_FULL_FLAG == 0)
        {
            return add_lines(&answer, name, text);
        }
        len_bytes *= 4;
        if len_bytes > BUFFER_BYTES_MAX {
            return Err(Unread::TooLarge(BUFFER_BYTES_MAX));
        }
    }
}

/// Writes the header of a request for a device's table. Every kernel accepts version 4.0.0.
fn write_header(buffer: &mut [u64], name: &str) -> Result<(), Unread> {
    if name.len() >= NAME_LEN {
        return Err(Unread::Malformed(
            "a device-mapper name of 128 bytes or more".to_owned(),
        ));
    }
    let mut header = [0_u8; DM_HEADER_BYTES];
    header[..4].copy_from_slice(&4_u32.to_ne_bytes());
    let data_start = u32::try_from(DM_HEADER_BYTES).unwrap_or(u32::MAX);
    header[DATA_START_AT..DATA_START_AT + 4].copy_from_slice(&data_start.to_ne_bytes());
    let flags = STATUS_TABLE_FLAG | SECURE_DATA_FLAG;
    header[FLAGS_AT..FLAGS_AT + 4].copy_from_slice(&flags.to_ne_bytes());
    header[NAME_AT..NAME_AT + name.len()].copy_from_slice(name.as_bytes());
    for (word, bytes) in buffer.iter_mut().zip(header.as_chunks::<8>().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    Ok(())
}

/// The kernel's answer; only borrowed, never copied.
struct Answer<'b> {
    words: &'b [u64],
}

impl Answer<'_> {
    fn byte_at(&self, at: usize) -> Option<u8> {
        self.words
            .get(at / 8)
            .map(|word| word.to_ne_bytes()[at % 8])
    }

    fn bytes_at<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = self.byte_at(at.checked_add(index)?)?;
        }
        Some(bytes)
    }

    fn u32_at(&self, at: usize) -> Option<u32> {
        self.bytes_at(at).map(u32::from_ne_bytes)
    }

    fn u64_at(&self, at: usize) -> Option<u64> {
        self.bytes_at(at).map(u64::from_ne_bytes)
    }

    /// Returns the text up to a NUL, or `len_max` bytes if there is none, in memory that is wiped.
    fn text_at(&self, at: usize, len_max: usize) -> Option<Zeroizing<String>> {
        let mut len = 0;
        while len < len_max && self.byte_at(at.checked_add(len)?)? != 0 {
            len += 1;
        }
        // Allocated at full size: a growing vector would leave copies behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(len));
        bytes.extend((at..at + len).filter_map(|at| self.byte_at(at)));
        let text = std::str::from_utf8(&bytes).ok()?;
        Some(Zeroizing::new(text.to_owned()))
    }
}

/// Adds one line for each `dm_target_spec` in the answer; a device without a live table has none.
fn add_lines(answer: &Answer<'_>, name: &str, text: &mut String) -> Result<(), Unread> {
    let malformed = || Unread::Malformed(format!("the kernel's table of {name} cannot be read"));
    let data_start = answer.u32_at(DATA_START_AT).ok_or_else(malformed)? as usize;
    let count = answer.u32_at(TARGET_COUNT_AT).ok_or_else(malformed)?;
    let mut at = data_start;
    for _ in 0..count {
        let line = line_at(answer, at, name).ok_or_else(malformed)?;
        text.push_str(&line);
        text.push('\n');
        let next = answer.u32_at(at + 20).ok_or_else(malformed)? as usize;
        // `next` is relative to `data_start`, and must always point forward.
        let next = data_start.checked_add(next).ok_or_else(malformed)?;
        if next < at + SPEC_BYTES {
            return Err(malformed());
        }
        at = next;
    }
    Ok(())
}

fn line_at(answer: &Answer<'_>, at: usize, name: &str) -> Option<String> {
    let start_sectors = answer.u64_at(at)?;
    let len_sectors = answer.u64_at(at.checked_add(8)?)?;
    let target_type = answer.text_at(at.checked_add(24)?, 16)?;
    let arguments = answer.text_at(at.checked_add(SPEC_BYTES)?, BUFFER_BYTES_MAX)?;
    dm_table::sanitise_target(name, start_sectors, len_sectors, &target_type, &arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer in the kernel's layout: header, then specs with their arguments, 8-aligned.
    fn answer(targets: &[(u64, u64, &str, &str)]) -> Vec<u64> {
        let mut buffer = vec![0_u64; 512];
        write_header(&mut buffer, "c0").unwrap();
        let mut bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.truncate(DM_HEADER_BYTES);
        let count = u32::try_from(targets.len()).unwrap();
        bytes[TARGET_COUNT_AT..TARGET_COUNT_AT + 4].copy_from_slice(&count.to_ne_bytes());
        for (start, len, target_type, arguments) in targets {
            let mut spec = [0_u8; SPEC_BYTES];
            spec[..8].copy_from_slice(&start.to_ne_bytes());
            spec[8..16].copy_from_slice(&len.to_ne_bytes());
            spec[24..24 + target_type.len()].copy_from_slice(target_type.as_bytes());
            let at = bytes.len();
            bytes.extend(spec);
            bytes.extend(arguments.as_bytes());
            bytes.push(0);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            let next = u32::try_from(bytes.len() - DM_HEADER_BYTES).unwrap();
            bytes[at + 20..at + 24].copy_from_slice(&next.to_ne_bytes());
        }
        bytes
            .chunks_exact(8)
            .map(|chunk| u64::from_ne_bytes(chunk.try_into().unwrap()))
            .collect()
    }

    #[test]
    fn the_request_header_has_what_the_kernel_reads() {
        let mut buffer = vec![0_u64; 64];
        write_header(&mut buffer, "vg-data").unwrap();
        let header = Answer { words: &buffer };
        assert_eq!(header.u32_at(0), Some(4));
        assert_eq!(header.u32_at(16), Some(312));
        // DM_STATUS_TABLE_FLAG and DM_SECURE_DATA_FLAG.
        assert_eq!(header.u32_at(28), Some(0x8010));
        assert_eq!(header.text_at(48, 128).unwrap().as_str(), "vg-data");
        assert!(write_header(&mut buffer, &"x".repeat(128)).is_err());
    }

    #[test]
    fn answers_become_lines_without_keys() {
        let key = "00112233445566778899aabbccddeeff";
        let words = answer(&[
            (
                0,
                2048,
                "crypt",
                &format!("aes-xts-plain64 {key} 0 259:0 4096 1 allow_discards"),
            ),
            (2048, 8, "zero", ""),
        ]);
        let mut text = String::new();
        add_lines(&Answer { words: &words }, "c0", &mut text).unwrap();
        assert_eq!(
            text,
            "c0: 0 2048 crypt - - - 259:0 - - allow_discards\nc0: 2048 8 zero\n"
        );
    }

    #[test]
    fn truncated_answers_are_rejected() {
        let words = answer(&[(0, 8, "linear", "8:0 0"), (8, 8, "linear", "8:0 8")]);
        for len in 0..words.len() {
            let mut text = String::new();
            assert!(
                add_lines(
                    &Answer {
                        words: &words[..len]
                    },
                    "a",
                    &mut text
                )
                .is_err(),
                "{len}"
            );
        }
        let mut backwards = words.clone();
        // `next` of the first spec.
        backwards[(DM_HEADER_BYTES + 16) / 8] = 0;
        assert!(add_lines(&Answer { words: &backwards }, "a", &mut String::new()).is_err());
    }

    #[test]
    fn devices_are_sorted_by_number() {
        let tree = tempfile::tempdir().unwrap();
        for (minor, name) in [(10, "ten"), (2, "two"), (3, "")] {
            let dm = tree.path().join(format!("dm-{minor}/dm"));
            fs::create_dir_all(&dm).unwrap();
            fs::write(dm.join("name"), format!("{name}\n")).unwrap();
        }
        fs::create_dir_all(tree.path().join("sda")).unwrap();
        assert_eq!(names(tree.path()).unwrap(), ["two", "ten"]);
        assert_eq!(names(&tree.path().join("none")).unwrap(), [""; 0]);
    }

    #[test]
    fn without_devices_the_control_node_is_not_opened() {
        let has_dm = fs::read_dir("/sys/block").is_ok_and(|entries| {
            entries
                .flatten()
                .any(|entry| entry.file_name().to_string_lossy().starts_with("dm-"))
        });
        match table() {
            Err(Unread::NotFound) => assert!(!has_dm),
            // On a host with device-mapper: root gets tables, others are denied.
            Ok(_) | Err(Unread::Denied | Unread::Failed(_)) => assert!(has_dm),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn a_missing_control_node_differs_from_missing_device_mapper() {
        let tree = tempfile::tempdir().unwrap();
        assert!(matches!(
            open_control(&tree.path().join("control")),
            Err(Unread::Failed(_))
        ));
    }
}
