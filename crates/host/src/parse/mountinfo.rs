//! The mounts of `/proc/self/mountinfo`, as facts.

use super::fields::{note, split_options};
use facts::InputError;
use facts::host::Mount;
use linux::mountinfo::{FORM, MountLine};
use linux::octal::unescape_text;
use std::collections::HashSet;

/// Path without the leading slash.
pub const PATH: &str = "proc/self/mountinfo";

/// Filesystems without data of their own. This includes automount points, since querying the size
/// of one would mount it.
const PSEUDO: &[&str] = &[
    "anon_inodefs",
    "autofs",
    "bdev",
    "binder",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "cpuset",
    "debugfs",
    "devpts",
    "devtmpfs",
    "dlmfs",
    "drm",
    "efivarfs",
    "fuse.gvfsd-fuse",
    "fuse.lxcfs",
    "fuse.portal",
    "fusectl",
    "functionfs",
    "hugetlbfs",
    "mqueue",
    "nfsd",
    "nsfs",
    "ocfs2_dlmfs",
    "pipefs",
    "proc",
    "pstore",
    "ramfs",
    "resctrl",
    "rootfs",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "smackfs",
    "sockfs",
    "sysfs",
    "tmpfs",
    "tracefs",
    "usbdevfs",
    "usbfs",
    "xenfs",
];

/// Filesystems with an anonymous device number whose data is nevertheless local.
const LOCAL_ANONYMOUS: &[&str] = &["bcachefs", "btrfs", "overlay", "ubifs", "zfs"];

/// Whether a filesystem type has no data of its own (`proc`, `tmpfs`, `cgroup2`, `rootfs`).
pub fn is_pseudo(fs_type: &str) -> bool {
    PSEUDO.contains(&fs_type)
}

/// Whether the filesystem depends on a server or a user-space process: NFS, CIFS, 9p, FUSE.
pub fn is_remote(mount: &Mount) -> bool {
    mount.fs_type.starts_with("fuse")
        || (mount.device_number.major == 0 && !LOCAL_ANONYMOUS.contains(&mount.fs_type.as_str()))
}

/// Parses all mounts, pseudo filesystems included, in file order, without usage and geometry; also
/// returns the malformed lines.
pub fn parse(text: &str) -> (Vec<Mount>, Vec<InputError>) {
    let mut mounts = Vec::new();
    let mut errors = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        match parse_line(line) {
            Some(mount) => mounts.push(mount),
            None => note(
                &mut errors,
                InputError::new(PATH, FORM, line).at_line(index + 1),
            ),
        }
    }
    (mounts, errors)
}

fn parse_line(line: &str) -> Option<Mount> {
    let line = MountLine::parse(line.as_bytes())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut options: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    let lists = [line.mount_options, line.super_options].map(String::from_utf8_lossy);
    for option in lists.iter().flat_map(|list| split_options(list)) {
        if seen.insert(option) {
            options.push(unescape_text(option));
        }
    }
    Some(Mount {
        id: line.id,
        device_number: line.device_number,
        root: text(&line.root),
        mount_point: text(&line.mount_point),
        fs_type: text(&line.fs_type),
        source: text(&line.source),
        options,
        ..Mount::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::host::DeviceNumber;
    use proptest::prelude::*;

    /// A Debian 12 guest with a RAID-0 of four NVMe drives, and lines from `proc_pid_mountinfo(5)`.
    const RECORDED: &str = r"1 1 0:2 / / rw - rootfs rootfs rw,size=422360k,nr_inodes=105590,inode64
22 1 0:20 / /proc rw,relatime - proc proc rw
27 1 0:24 / /lab rw,relatime - 9p lab rw,sync,dirsync,access=client,msize=512000,trans=virtio
28 1 9:0 / /mnt/x rw,relatime - xfs /dev/md0 rw,attr2,discard,inode64,logbufs=8,logbsize=32k,sunit=1024,swidth=4096,noquota
36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 propagate_from:2 - ext3 /dev/root rw,errors=continue
";

    #[test]
    fn recorded_lines_are_parsed() {
        let (mounts, errors) = parse(RECORDED);
        assert_eq!(errors, []);
        assert_eq!(mounts.len(), 5);
        let md = &mounts[3];
        assert_eq!(md.id, 28);
        assert_eq!(md.device_number, DeviceNumber { major: 9, minor: 0 });
        assert_eq!(md.mount_point, "/mnt/x");
        assert_eq!(md.source, "/dev/md0");
        // `rw` is in both lists and is kept once.
        assert_eq!(
            md.options,
            [
                "rw",
                "relatime",
                "attr2",
                "discard",
                "inode64",
                "logbufs=8",
                "logbsize=32k",
                "sunit=1024",
                "swidth=4096",
                "noquota"
            ]
        );
        let bind = &mounts[4];
        assert_eq!(
            (bind.root.as_str(), bind.mount_point.as_str()),
            ("/mnt1", "/mnt 2")
        );
        assert_eq!(bind.options, ["rw", "noatime", "errors=continue"]);
        let kept: Vec<_> = mounts
            .iter()
            .filter(|mount| !is_pseudo(&mount.fs_type))
            .map(|mount| (mount.fs_type.as_str(), is_remote(mount)))
            .collect();
        assert_eq!(kept, [("9p", true), ("xfs", false), ("ext3", false)]);
    }

    #[test]
    fn an_empty_source_and_missing_super_options_are_allowed() {
        let (mounts, errors) =
            parse("9 1 0:9 / /a rw - tmpfs  rw\n10 1 0:9 / /b rw - tmpfs none\n");
        assert_eq!(errors, []);
        assert_eq!(mounts[0].source, "");
        assert_eq!(mounts[1].options, ["rw"]);
    }

    #[test]
    fn malformed_lines_are_named() {
        let (mounts, errors) = parse(
            "28 1 9:0 / /mnt/x rw - xfs /dev/md0 rw\n\
             28 1 9:0 / /mnt/x rw xfs /dev/md0 rw\n\
             28 1 9 / /mnt/x rw - xfs /dev/md0 rw\n\
             28 1 +9:0 / /mnt/x rw - xfs /dev/md0 rw\n\
             28 1 9:0 / mnt rw - xfs /dev/md0 rw\n",
        );
        assert_eq!(mounts.len(), 1);
        let lines: Vec<_> = errors.iter().filter_map(|error| error.line).collect();
        assert_eq!(lines, [2, 3, 4, 5]);
    }

    prop_compose! {
        fn mount()(
            id in any::<u64>(),
            major in any::<u32>(),
            minor in any::<u32>(),
            names in prop::collection::vec("[a-zA-Zä \\\\\t]{1,8}", 3),
            options in prop::collection::btree_set("[a-z]{1,6}(=[a-z0-9:]{1,6})?", 1..6),
        ) -> Mount {
            Mount {
                id,
                device_number: DeviceNumber { major, minor },
                root: format!("/{}", names[0]),
                mount_point: format!("/{}", names[1]),
                fs_type: "xfs".to_owned(),
                source: names[2].clone(),
                options: options.into_iter().collect(),
                ..Mount::default()
            }
        }
    }

    fn escape(text: &str) -> String {
        text.replace('\\', "\\134")
            .replace(' ', "\\040")
            .replace('\t', "\\011")
    }

    proptest! {
        #[test]
        fn generated_lines_round_trip(mount in mount(), tags in prop::collection::vec("[a-z]{1,5}:[0-9]{1,3}", 0..3), cut in 0usize..6) {
            let tags = [tags, vec!["-".to_owned()]].concat().join(" ");
            let cut = cut.min(mount.options.len());
            let line = format!(
                "{} 1 {} {} {} {} {tags} {} {} {}\n",
                mount.id,
                mount.device_number,
                escape(&mount.root),
                escape(&mount.mount_point),
                mount.options[..cut].join(","),
                mount.fs_type,
                escape(&mount.source),
                mount.options[cut..].join(","),
            );
            let (mounts, errors) = parse(&line);
            prop_assert_eq!(errors, vec![]);
            prop_assert_eq!(mounts, vec![mount]);
        }

        #[test]
        fn every_line_is_a_mount_or_an_error(lines in prop::collection::vec("[ -~]{1,40}", 0..15)) {
            let (mounts, errors) = parse(&lines.join("\n"));
            prop_assert_eq!(mounts.len() + errors.len(), lines.len());
        }

        #[test]
        fn never_panics(text in any::<String>()) {
            let _ = parse(&text);
        }
    }
}
