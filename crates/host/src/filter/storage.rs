//! Filters sysfs, mountinfo, fstab, crypttab, lvm.conf and the dm tables.

use crate::parse::fields::split_options;
use crate::parse::{fstab, lvm_conf, mdstat, mountinfo};
use crate::unread::Unread;
use std::fmt::Write as _;

/// raid456's parameter for discards on parity RAIDs.
pub(crate) const RAID456_PATH: &str = "sys/module/raid456/parameters/devices_handle_discard_safely";
/// Attributes below `sys/block/DISK/`. A `*` matches one name.
const DISK_ATTRIBUTES: &[&str] = &[
    "*/dev",
    "*/partition",
    "*/ro",
    "*/size",
    "*/start",
    "*/stat",
    "dev",
    "device/firmware_rev",
    "device/model",
    "device/rev",
    "device/scsi_disk/*/provisioning_mode",
    "device/serial",
    "device/transport",
    "device/vendor",
    "dm/name",
    "dm/uuid",
    "hidden",
    "loop/backing_file",
    "md/array_state",
    "md/chunk_size",
    "md/level",
    "md/raid_disks",
    "md/sync_action",
    "queue/discard_granularity",
    "queue/discard_max_bytes",
    "queue/discard_max_hw_bytes",
    "queue/logical_block_size",
    "queue/minimum_io_size",
    "queue/optimal_io_size",
    "queue/rotational",
    "ro",
    "serial",
    "size",
    "stat",
];

/// Other attributes.
const ATTRIBUTES: &[&str] = &[
    RAID456_PATH,
    "sys/class/ata_device/*/trim",
    "sys/class/scsi_host/*/proc_name",
    "sys/fs/btrfs/*/bdi/read_ahead_kb",
];

/// The kernel writes at most one page.
const ATTRIBUTE_BYTES_MAX: usize = 4096;

/// Mount options whose values describe how a filesystem works. Other options are kept without their
/// values.
const MOUNT_VALUES: &[&str] = &[
    "access",
    "active_logs",
    "alloc_mode",
    "allocsize",
    "background_gc",
    "barrier",
    "blksize",
    "cache",
    "checkpoint",
    "checkpoint_merge",
    "commit",
    "compress",
    "compress-force",
    "compress_algorithm",
    "data",
    "data_err",
    "device",
    "discard",
    "discard_unit",
    "dmask",
    "errors",
    "fmask",
    "fsync_mode",
    "gid",
    "group_id",
    "init_itable",
    "inode_readahead_blks",
    "jqfmt",
    "journal_ioprio",
    "logbsize",
    "logbufs",
    "logdev",
    "max_batch_time",
    "max_inline",
    "metadata_ratio",
    "min_batch_time",
    "minlen",
    "mode",
    "msize",
    "nfsvers",
    "nr_inodes",
    "offset",
    "pri",
    "proto",
    "ratio",
    "resgid",
    "resuid",
    "retrans",
    "rsize",
    "rtdev",
    "sizelimit",
    "size",
    "space_cache",
    "ssd_spread",
    "stripe",
    "subvol",
    "subvolid",
    "sunit",
    "swidth",
    "thread_pool",
    "timeo",
    "trans",
    "uid",
    "umask",
    "user_id",
    "vers",
    "wsize",
    "x-systemd.after",
    "x-systemd.automount",
    "x-systemd.before",
    "x-systemd.device-timeout",
    "x-systemd.idle-timeout",
    "x-systemd.mount-timeout",
    "x-systemd.requires",
    "x-systemd.requires-mounts-for",
];

/// crypttab options whose values are kept.
const CRYPT_VALUES: &[&str] = &[
    "cipher",
    "hash",
    "key-slot",
    "keyfile-offset",
    "keyfile-size",
    "keyfile-timeout",
    "keyslot",
    "offset",
    "sector-size",
    "size",
    "skip",
    "timeout",
    "tries",
    "x-systemd.device-timeout",
];

/// Options without a value that are kept even after a dropped value.
const FLAGS: &[&str] = &[
    "_netdev",
    "async",
    "atime",
    "auto",
    "autodefrag",
    "defaults",
    "diratime",
    "discard",
    "exec",
    "hard",
    "lazytime",
    "luks",
    "noatime",
    "noauto",
    "nobarrier",
    "nodatacow",
    "nodatasum",
    "nodiratime",
    "nodiscard",
    "noexec",
    "nofail",
    "nosuid",
    "plain",
    "read-only",
    "readonly",
    "relatime",
    "ro",
    "rw",
    "soft",
    "ssd",
    "strictatime",
    "swap",
    "sync",
    "tmp",
    "X-fstrim.notrim",
];

/// Filters the storage files: sysfs, mountinfo, mdstat, fstab, crypttab, lvm.conf.
pub(super) fn keep(path: &str, bytes: &[u8]) -> Option<Result<Vec<u8>, Unread>> {
    let text = || String::from_utf8_lossy(bytes);
    match path {
        mountinfo::PATH => Some(Ok(keep_mountinfo(&text()).into_bytes())),
        // Names, numbers and states only.
        mdstat::PATH => Some(Ok(bytes.to_vec())),
        fstab::PATH => Some(Ok(keep_fstab(&text()).into_bytes())),
        fstab::CRYPTTAB_PATH => Some(Ok(keep_crypttab(&text()).into_bytes())),
        lvm_conf::PATH | lvm_conf::LOCAL_PATH => Some(keep_lvm_conf(path, &text())),
        _ if is_attribute(path) => Some(if bytes.len() > ATTRIBUTE_BYTES_MAX {
            Err(Unread::TooLarge(ATTRIBUTE_BYTES_MAX))
        } else {
            Ok(bytes.to_vec())
        }),
        _ => None,
    }
}

fn is_attribute(path: &str) -> bool {
    if let Some(rest) = path.strip_prefix("sys/block/") {
        return rest.split_once('/').is_some_and(|(disk, attribute)| {
            is_name(disk)
                && DISK_ATTRIBUTES
                    .iter()
                    .any(|known| matches(known, attribute))
        });
    }
    ATTRIBUTES.iter().any(|known| matches(known, path))
}

/// Whether a path matches a pattern component by component.
fn matches(pattern: &str, path: &str) -> bool {
    let mut parts = path.split('/');
    pattern.split('/').all(|wanted| {
        parts
            .next()
            .is_some_and(|part| wanted == part || (wanted == "*" && is_name(part)))
    }) && parts.next().is_none()
}

fn is_name(part: &str) -> bool {
    !matches!(part, "" | "." | "..")
}

/// Keeps lines as they are, without secrets in sources and options; see [`mountinfo::parse`].
fn keep_mountinfo(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut fields: Vec<String> = line
            .trim_end_matches('\n')
            .split(' ')
            .map(str::to_owned)
            .collect();
        // ID PARENT DEVICE ROOT MOUNTPOINT OPTIONS [TAG]... - TYPE SOURCE OPTIONS
        let dash = fields
            .iter()
            .skip(6)
            .position(|field| field == "-")
            .map(|at| at + 6);
        match dash {
            Some(dash) => {
                fields[5] = keep_options(&fields[5], MOUNT_VALUES);
                for (index, field) in fields.iter_mut().enumerate().skip(dash + 2) {
                    *field = if index == dash + 2 {
                        keep_source(field)
                    } else {
                        keep_options(field, MOUNT_VALUES)
                    };
                }
            }
            // Not a mount: anything after the first fields could be a secret.
            None => fields.truncate(5),
        }
        kept.push_str(&fields.join(" "));
        if line.ends_with('\n') {
            kept.push('\n');
        }
    }
    kept
}

/// Keeps entries at their line numbers; comments and key files are removed, malformed lines become
/// `-`.
fn keep_table(text: &str, entry: impl Fn(&[&str]) -> Option<String>) -> String {
    let mut kept = String::new();
    let mut next = 1;
    for (line, fields) in fstab::entries(text) {
        kept.extend(std::iter::repeat_n('\n', line - next));
        next = line + 1;
        kept.push_str(entry(&fields).as_deref().unwrap_or("-"));
        kept.push('\n');
    }
    kept
}

fn keep_fstab(text: &str) -> String {
    keep_table(text, |fields| {
        let [source, mount_point, fs_type, rest @ ..] = fields else {
            return None;
        };
        let mut line = format!("{} {mount_point} {fs_type}", keep_source(source));
        if let [options, numbers @ ..] = rest {
            let _ = write!(line, " {}", keep_options_field(options, MOUNT_VALUES));
            for number in numbers
                .iter()
                .take(2)
                .take_while(|n| n.parse::<u32>().is_ok())
            {
                let _ = write!(line, " {number}");
            }
        }
        Some(line)
    })
}

fn keep_crypttab(text: &str) -> String {
    keep_table(text, |fields| {
        let [name, device, rest @ ..] = fields else {
            return None;
        };
        let mut line = format!("{name} {}", keep_source(device));
        if let Some(options) = rest.get(1) {
            let _ = write!(line, " - {}", keep_options_field(options, CRYPT_VALUES));
        }
        Some(line)
    })
}

/// Filters an option list: values that are not known to be safe are removed.
///
/// A secret may contain a comma, and then its tail looks like separate options: after a dropped
/// value only known options are kept.
fn keep_options(list: &str, values: &[&str]) -> String {
    let mut dropped = false;
    let mut kept: Vec<&str> = Vec::new();
    for option in split_options(list) {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        let known = if value.is_some() { values } else { FLAGS }.contains(&name);
        if known {
            kept.push(option);
        } else if !dropped && is_option_name(name) {
            kept.push(name);
        }
        dropped |= value.is_some() && !known;
    }
    kept.join(",")
}

/// Like [`keep_options`], for a field that must not be empty.
fn keep_options_field(list: &str, values: &[&str]) -> String {
    let options = keep_options(list, values);
    if options.is_empty() {
        "-".to_owned()
    } else {
        options
    }
}

fn is_option_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

/// Removes from a source `user:password@`, the query string of a URL, and the settings of a remote
/// that is defined inline (`:sftp,host=h,pass=p:/path`).
fn keep_source(source: &str) -> String {
    let settings = source
        .match_indices(',')
        .find(|(at, _)| {
            let name = source[at + 1..]
                .split([',', '='])
                .next()
                .unwrap_or_default();
            is_option_name(name) && source[at + 1 + name.len()..].starts_with('=')
        })
        .map(|(at, _)| at);
    let source = match settings {
        Some(0) => "-",
        Some(at) => &source[..at],
        None => source,
    };
    let scheme_end = source.find("://");
    let (source, is_url) = match scheme_end {
        Some(at) => {
            let query = source[at..].find(['?', '#']).map(|len| at + len);
            (&source[..query.unwrap_or(source.len())], true)
        }
        None => (source, source.starts_with("//")),
    };
    let start = match scheme_end {
        Some(at) => at + 3,
        None if is_url => 2,
        None => 0,
    };
    let (head, rest) = source.split_at(start);
    let Some((user, place)) = rest.rsplit_once('@') else {
        return source.to_owned();
    };
    // `server:/export@2` is a path that contains an @.
    let holds_password =
        (user.contains(':') && (is_url || !user.contains('/'))) || (is_url && user.contains('%'));
    if holds_password {
        format!("{head}-@{place}")
    } else {
        source.to_owned()
    }
}

/// Keeps the one key that is used. This requires parsing the file: whether a line counts depends on
/// its section.
fn keep_lvm_conf(path: &str, text: &str) -> Result<Vec<u8>, Unread> {
    let config = lvm_conf::parse(path, text).map_err(|error| {
        // The error without the text that was found.
        let line = error.line.unwrap_or_default();
        Unread::Malformed(format!("line {line}: expected {}", error.expected))
    })?;
    let kept = config.issue_discards().map(|value| {
        let value = u8::from(value);
        format!("{} = {value}\n", lvm_conf::ISSUE_DISCARDS).into_bytes()
    });
    Ok(kept.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Command;
    use crate::filter::keep_command;
    use proptest::prelude::*;

    fn kept(path: &str, text: &str) -> String {
        String::from_utf8(keep(path, text.as_bytes()).unwrap().unwrap()).unwrap()
    }

    #[test]
    fn exactly_the_attributes_in_use_are_kept() {
        for path in [
            "sys/block/sda/size",
            "sys/block/sda/queue/discard_max_bytes",
            "sys/block/sda/sda1/partition",
            "sys/block/sda/device/scsi_disk/0:0:0:0/provisioning_mode",
            "sys/block/cciss!c0d0/dev",
            "sys/class/ata_device/dev1.0/trim",
            "sys/class/scsi_host/host0/proc_name",
            "sys/module/raid456/parameters/devices_handle_discard_safely",
        ] {
            assert_eq!(keep(path, b"1\n"), Some(Ok(b"1\n".to_vec())), "{path}");
        }
        for path in [
            "sys/block/sda",
            "sys/block/sda/uevent",
            "sys/block/../size",
            "sys/block/sda/../size",
            "sys/block/sda/device/scsi_disk/a/b/provisioning_mode",
            "sys/class/ata_device/dev1.0/id",
            "etc/shadow",
            "etc/fstab/",
            "proc/self/environ",
        ] {
            assert_eq!(keep(path, b"1\n"), None, "{path}");
        }
        assert_eq!(
            keep("sys/block/sda/size", &[b'1'; 5000]),
            Some(Err(Unread::TooLarge(4096)))
        );
    }

    #[test]
    fn filtering_mount_options_removes_only_secrets() {
        let text = "28 1 9:0 / /mnt/x rw,relatime shared:1 - xfs /dev/md0 rw,discard,logbufs=8,sunit=1024\n\
                    30 1 0:50 / /mnt/c rw - cifs //bob:hunter2@srv/share rw,vers=3.0,username=bob,password=hun,ter2,x=ter2,soft\n\
                    31 1 0:51 / /mnt/s rw - fuse.rclone https://u:hunter2@h/p?token=hunter2 rw,user_id=0\n";
        assert_eq!(
            kept(mountinfo::PATH, text),
            "28 1 9:0 / /mnt/x rw,relatime shared:1 - xfs /dev/md0 rw,discard,logbufs=8,sunit=1024\n\
             30 1 0:50 / /mnt/c rw - cifs //-@srv/share rw,vers=3.0,username,soft\n\
             31 1 0:51 / /mnt/s rw - fuse.rclone https://-@h/p rw,user_id=0\n"
        );
        assert_eq!(
            kept(mountinfo::PATH, "1 2 3:4 / /a password=x"),
            "1 2 3:4 / /a"
        );
    }

    #[test]
    fn lookalikes_of_credentials_are_kept() {
        for source in [
            "/dev/md0",
            "server:/export@2",
            "bob@server:/data",
            "pool/data@snapshot",
            "10.0.0.1:6789,10.0.0.2:6789:/path",
            "",
        ] {
            assert_eq!(keep_source(source), source);
        }
        assert_eq!(keep_source("user:secret@server:/data"), "-@server:/data");
        assert_eq!(keep_source("//dom;u:p/w@srv/share"), "//-@srv/share");
        assert_eq!(keep_source("//u%secret@srv/share"), "//-@srv/share");
        assert_eq!(keep_source(":sftp,host=h,pass=secret:/x"), ":sftp");
    }

    #[test]
    fn filtering_fstab_removes_comments_and_secrets() {
        let text = "# my password is hunter2\n\
                    UUID=1 / ext4 errors=remount-ro,discard 0 1 # hunter2\n\
                    \n\
                    //srv/s /mnt/c cifs credentials=/root/hunter2,uid=5,_netdev,x-y 0 0\n\
                    broken hunter2\n\
                    /dev/sdb /data xfs\n";
        assert_eq!(
            kept(fstab::PATH, text),
            "\n\
             UUID=1 / ext4 errors=remount-ro,discard 0 1\n\
             \n\
             //srv/s /mnt/c cifs credentials,uid=5,_netdev 0 0\n\
             -\n\
             /dev/sdb /data xfs\n"
        );
        let (entries, errors) = fstab::parse(&kept(fstab::PATH, text));
        let lines: Vec<_> = entries.iter().map(|entry| entry.line).collect();
        assert_eq!(lines, [2, 4, 6]);
        assert_eq!(errors[0].line, Some(5));
    }

    #[test]
    fn filtering_crypttab_removes_key_files() {
        let text =
            "# c\ndata UUID=8 /root/data.key luks,discard,header=/boot/h,tries=1\nbare /dev/sdc\n";
        assert_eq!(
            kept(fstab::CRYPTTAB_PATH, text),
            "\ndata UUID=8 - luks,discard,header,tries=1\nbare /dev/sdc\n"
        );
    }

    #[test]
    fn lvm_conf_is_reduced_to_one_key() {
        let text =
            "devices {\n\t# issue_discards = 0\n\tissue_discards = 1\n\tfilter = [ \"a|x|\" ]\n}\n";
        assert_eq!(kept(lvm_conf::PATH, text), "devices/issue_discards = 1\n");
        assert_eq!(kept(lvm_conf::PATH, "log { verbose = 0 }"), "");
        assert_eq!(
            keep(lvm_conf::PATH, b"devices {\n"),
            Some(Err(Unread::Malformed(
                "line 2: expected a key, a section or `}`".to_owned()
            )))
        );
    }

    #[test]
    fn filtering_dm_tables_removes_keys() {
        let text = b"c0: 0 8 crypt aes-xts-plain64 00112233445566778899aabbccddeeff 0 8:0 4096 1 allow_discards\n";
        assert_eq!(
            keep_command(&Command::DmTable, text).unwrap(),
            b"c0: 0 8 crypt - - - 8:0 - - allow_discards\n"
        );
        assert_eq!(
            keep_command(&Command::DmTable, b"No devices found\n").unwrap(),
            b""
        );
    }

    proptest! {
        /// A bundle is filtered again when it is read.
        #[test]
        fn filtering_twice_changes_nothing(
            text in any::<String>(),
            lines in prop::collection::vec("[#a-z0-9:/ ]{0,6}( [a-z:/@=,\"?]{1,12}){0,9}( - [a-z=,@:/]{1,9}){0,3}", 0..6),
        ) {
            for text in [text, lines.join("\n")] {
                for path in [mountinfo::PATH, fstab::PATH, fstab::CRYPTTAB_PATH, lvm_conf::PATH] {
                    if let Some(Ok(once)) = keep(path, text.as_bytes()) {
                        prop_assert_eq!(keep(path, &once), Some(Ok(once)));
                    }
                }
            }
        }

        #[test]
        fn a_password_never_passes(
            password in "SECRET[a-zA-Z0-9,=:@/]{0,20}",
            before in prop::collection::vec("(rw|vers=3.0|noatime|uid=0)", 0..3),
            name in "(password|pass|secret|credentials|token)",
        ) {
            // Spaces in a value are escaped in both files; the tail after a comma is cut off.
            let options = [before, vec![format!("{name}={password}")]].concat().join(",");
            for (path, line) in [
                (mountinfo::PATH, format!("1 2 0:3 / /m rw - cifs //s/x {options}\n")),
                (fstab::PATH, format!("//s/x /m cifs {options} 0 0\n")),
                (fstab::CRYPTTAB_PATH, format!("n /dev/x {password} {options}\n")),
            ] {
                prop_assert!(!kept(path, &line).contains("SECRET"));
            }
        }
    }
}
