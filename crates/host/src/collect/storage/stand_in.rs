//! Stand-ins for what a tree does not hold: mounts made of fstab's lines, and the devices that
//! mounts name. Rules that need nothing else can then run on a copy of `/etc`.

use crate::parse::mountinfo::is_pseudo;
use facts::host::{BlockDevice, DeviceKind, DeviceNumber, DiscardLimits, FstabEntry, Mount};
use std::collections::{HashMap, HashSet};

/// Options that only mount(8) and systemd read; mountinfo never shows them (mount(8),
/// systemd.mount(5)).
const USER_SPACE: &[&str] = &[
    "defaults", "auto", "nofail", "_netdev", "owner", "group", "user", "users", "nouser", "comment",
];
/// Options about access times; without any, the kernel's default is `relatime` (since 2.6.30).
const ACCESS_TIMES: &[&str] = &["noatime", "relatime", "strictatime", "norelatime"];

/// Returns the mounts that fstab's lines ask for at boot, with the options that mountinfo would
/// show, as far as the line tells. Lines with `noauto`, swap and pseudo filesystems are left out.
pub(super) fn mounts_of_fstab(entries: &[FstabEntry]) -> Vec<Mount> {
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut mounts = Vec::new();
    for entry in entries {
        let is_mounted = entry.mount_point.starts_with('/')
            && entry.fs_type != "swap"
            && !is_pseudo(&entry.fs_type)
            && !entry.options.iter().any(|option| option == "noauto");
        if !is_mounted {
            continue;
        }
        let source = device_path(&entry.spec);
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        let minor = *numbers.entry(source.clone()).or_insert(next);
        mounts.push(Mount {
            id: entry.line,
            // Anonymous: the real number is unknown.
            device_number: DeviceNumber { major: 0, minor },
            root: "/".to_owned(),
            mount_point: entry.mount_point.clone(),
            fs_type: entry.fs_type.clone(),
            source,
            options: kernel_options(&entry.options),
            fstab_line: Some(entry.line),
            ..Mount::default()
        });
    }
    mounts
}

/// Returns udev's path for `UUID=...` and the like (fstab(5)); anything else as it is.
fn device_path(spec: &str) -> String {
    let directory = match spec.split_once('=') {
        Some(("UUID", _)) => "by-uuid",
        Some(("LABEL", _)) => "by-label",
        Some(("PARTUUID", _)) => "by-partuuid",
        Some(("PARTLABEL", _)) => "by-partlabel",
        _ => return spec.to_owned(),
    };
    let value = spec.split_once('=').map_or("", |(_, value)| value);
    format!("/dev/disk/{directory}/{}", value.trim_matches('"'))
}

fn kernel_options(of_line: &[String]) -> Vec<String> {
    let key = |option: &str| option.split('=').next().unwrap_or(option).to_owned();
    let has = |names: &[&str]| {
        of_line
            .iter()
            .any(|option| names.contains(&option.as_str()))
    };
    let mut options = Vec::new();
    if !has(&["ro", "rw"]) {
        options.push("rw".to_owned());
    }
    if !has(ACCESS_TIMES) {
        options.push("relatime".to_owned());
    }
    let is_for_kernel = |option: &&String| {
        let key = key(option);
        !USER_SPACE.contains(&key.as_str()) && !key.to_ascii_lowercase().starts_with("x-")
    };
    options.extend(of_line.iter().filter(is_for_kernel).cloned());
    options
}

/// Returns a device of unknown kind for each filesystem that is mounted from a path below `/dev`,
/// sorted by name. That of a FUSE filesystem may be `/dev/fuse`, which is none.
pub(super) fn devices_of_mounts(mounts: &[Mount]) -> Vec<BlockDevice> {
    let mut seen = HashSet::new();
    let mut devices: Vec<BlockDevice> = mounts
        .iter()
        .filter_map(|mount| {
            let path = mount.source.strip_prefix("/dev/")?;
            let is_on_device = mount.is_on_device() && !path.is_empty();
            if !is_on_device || !seen.insert(mount.device_number) {
                return None;
            }
            // As sysfs writes the slash.
            let name = path.replace('/', "!");
            Some(BlockDevice {
                number: mount.device_number,
                sysfs_path: format!("sys/class/block/{name}"),
                name,
                kind: DeviceKind::Unseen,
                discard: Some(DiscardLimits::default()),
                ..BlockDevice::default()
            })
        })
        .collect();
    devices.sort_by(|a, b| a.name.cmp(&b.name));
    devices
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::fstab;

    #[test]
    fn lines_of_fstab_stand_in_for_mounts() {
        let (entries, _) = fstab::parse(
            "UUID=0a34 / ext4 defaults,discard 0 1\n\
             LABEL=data /data xfs noatime,nobarrier,nofail,x-systemd.device-timeout=9 0 2\n\
             LABEL=data /srv/data xfs strictatime 0 2\n\
             server:/export /net nfs ro 0 0\n\
             /dev/sdz1 /backup xfs noauto 0 0\n\
             tmpfs /tmp tmpfs defaults 0 0\n\
             /swapfile none swap sw 0 0\n",
        );
        let mounts = mounts_of_fstab(&entries);
        let shown: Vec<String> = mounts
            .iter()
            .map(|mount| {
                let options = mount.options.join(",");
                let from = mount.read_from();
                format!("{} {} {options} {from}", mount.mount_point, mount.source)
            })
            .collect();
        assert_eq!(
            shown,
            [
                "/ /dev/disk/by-uuid/0a34 rw,relatime,discard etc/fstab:1",
                "/data /dev/disk/by-label/data rw,noatime,nobarrier etc/fstab:2",
                "/srv/data /dev/disk/by-label/data rw,strictatime etc/fstab:3",
                "/net server:/export relatime,ro etc/fstab:4",
            ]
        );
        let devices = devices_of_mounts(&mounts);
        let paths: Vec<String> = devices.iter().map(BlockDevice::dev_path).collect();
        assert_eq!(
            paths,
            ["/dev/disk/by-label/data", "/dev/disk/by-uuid/0a34"],
            "a device for each filesystem, and none for a server"
        );
    }
}
