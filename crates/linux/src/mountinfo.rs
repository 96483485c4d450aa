//! `/proc/PID/mountinfo`: `proc_pid_mountinfo(5)`, `show_mountinfo` in the kernel's
//! `fs/proc_namespace.c`.

use crate::device_number;
use crate::octal::unescape;
use facts::host::DeviceNumber;
use std::borrow::Cow;

/// The format of a line, for messages.
pub const FORM: &str =
    "`ID PARENT MAJOR:MINOR ROOT MOUNTPOINT OPTIONS [TAG]... - TYPE SOURCE OPTIONS`";

/// One mount. Octal escapes are decoded, except in the options, where a comma within one may be
/// escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountLine<'l> {
    /// Mount id.
    pub id: u64,
    /// `st_dev` of files on it.
    pub device_number: DeviceNumber,
    /// The directory of the filesystem that forms the root of the mount.
    pub root: Cow<'l, [u8]>,
    /// Mount point, relative to the root of the process. Starts with `/`.
    pub mount_point: Cow<'l, [u8]>,
    /// Per-mount options, comma-separated, as in the file.
    pub mount_options: &'l [u8],
    /// Filesystem type such as `xfs`; never empty.
    pub fs_type: Cow<'l, [u8]>,
    /// A device, a server or a plain word; may be empty.
    pub source: Cow<'l, [u8]>,
    /// Per-superblock options, comma-separated, as in the file; empty if the line ends before them.
    pub super_options: &'l [u8],
}

impl<'l> MountLine<'l> {
    /// Parses a line without its line ending; `None` if it does not match [`FORM`].
    pub fn parse(line: &'l [u8]) -> Option<Self> {
        // Exactly one space between fields: a source may be empty, and spaces within a field are
        // escaped.
        let mut fields = line.split(|&byte| byte == b' ');
        let id = number(fields.next()?)?;
        // The parent's id.
        number(fields.next()?)?;
        let device_number = device_number::parse(std::str::from_utf8(fields.next()?).ok()?)?;
        let root = unescape(fields.next()?);
        let mount_point = fields.next().filter(|path| path.starts_with(b"/"))?;
        let mount_options = fields.next()?;
        // Zero or more tags (`shared:1`, `master:2`) up to a lone hyphen.
        fields.find(|&field| field == b"-")?;
        let fs_type = fields.next().filter(|name| !name.is_empty())?;
        Some(Self {
            id,
            device_number,
            root,
            mount_point: unescape(mount_point),
            mount_options,
            fs_type: unescape(fs_type),
            source: unescape(fields.next()?),
            super_options: fields.next().unwrap_or_default(),
        })
    }
}

fn number(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Finds the mount at a path in `text`, the contents of `/proc/self/mountinfo`: of several mounts
/// at one path the last, which covers the others. Lines that do not match [`FORM`] are skipped; the
/// kernel writes none.
pub fn mount_at<'t>(text: &'t [u8], path: &[u8]) -> Option<MountLine<'t>> {
    text.split(|&byte| byte == b'\n')
        .filter_map(MountLine::parse)
        .rfind(|mount| *mount.mount_point == *path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_field_of_a_line_is_parsed() {
        // From `proc_pid_mountinfo(5)`, with an escaped space.
        let line = br"36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 propagate_from:2 - ext3 /dev/root rw,errors=continue";
        let mount = MountLine::parse(line).unwrap();
        let expected = MountLine {
            id: 36,
            device_number: DeviceNumber {
                major: 98,
                minor: 0,
            },
            root: Cow::Borrowed(b"/mnt1"),
            mount_point: Cow::Borrowed(b"/mnt 2"),
            mount_options: b"rw,noatime",
            fs_type: Cow::Borrowed(b"ext3"),
            source: Cow::Borrowed(b"/dev/root"),
            super_options: b"rw,errors=continue",
        };
        assert_eq!(mount, expected);
    }

    #[test]
    fn an_empty_source_and_missing_super_options_are_allowed() {
        let mount = MountLine::parse(b"9 1 0:9 / /a rw - tmpfs  rw").unwrap();
        assert_eq!(
            (&*mount.source, mount.super_options),
            (&b""[..], &b"rw"[..])
        );
        let mount = MountLine::parse(b"10 1 0:9 / /b rw - tmpfs none").unwrap();
        assert_eq!(mount.super_options, b"");
    }

    #[test]
    fn other_lines_are_rejected() {
        for line in [
            &b""[..],
            b"28 1 9:0 / /mnt/x rw xfs /dev/md0 rw",
            b"28 1 9 / /mnt/x rw - xfs /dev/md0 rw",
            b"28 1 +9:0 / /mnt/x rw - xfs /dev/md0 rw",
            b"28 1 9:0 / mnt rw - xfs /dev/md0 rw",
            b"28 1 9:0 / /mnt/x rw -  /dev/md0 rw",
            b"28 x 9:0 / /mnt/x rw - xfs /dev/md0 rw",
        ] {
            assert_eq!(MountLine::parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn the_last_of_several_mounts_wins_and_spaces_are_escaped() {
        let text = b"28 1 7:0 / /mnt/a\\040b rw - ext4 /dev/loop0 rw\n\
                     29 1 7:1 / /mnt rw - ext4 /dev/loop1 rw\n\
                     30 1 7:2 / /mnt/a\\040b rw - xfs /dev/loop2 rw\n\
                     nonsense\n\n";
        assert_eq!(mount_at(text, b"/mnt/a b").map(|mount| mount.id), Some(30));
        assert_eq!(mount_at(text, b"/mnt").map(|mount| mount.id), Some(29));
        assert_eq!(mount_at(text, b"/mnt/a"), None);
    }

    proptest! {
        /// Any path is found in the kernel's escaping, and garbage around it does no harm.
        #[test]
        fn any_path_is_found_in_kernel_escaping(
            below_root in prop::collection::vec(1u8.., 0..60),
            noise in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            let path = [b"/", below_root.as_slice()].concat();
            let mut line = b"41 1 7:0 / ".to_vec();
            for &byte in &path {
                // `mangle_path`, fs/proc_namespace.c
                if b" \t\n\\#".contains(&byte) {
                    line.extend(format!("\\{byte:03o}").bytes());
                } else {
                    line.push(byte);
                }
            }
            line.extend(b" rw - ext4 /dev/loop0 rw\n");
            let text = [noise.as_slice(), b"\n", &line].concat();
            prop_assert_eq!(mount_at(&text, &path).map(|mount| mount.id), Some(41));
        }
    }
}
