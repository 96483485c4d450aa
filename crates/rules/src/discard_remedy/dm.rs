//! Remedies for dm-crypt, thin pools and parity RAID.

use crate::shell::{operand, printable, quote};
use crate::volume::Volume;
use facts::host::{BlockDevice, DeviceKind, Mount};
use facts::{Host, Remedy, Stack};

fn dm_name(device: &BlockDevice) -> &str {
    match &device.kind {
        DeviceKind::DeviceMapper {
            name: Some(name), ..
        } => name,
        _ => &device.name,
    }
}

/// Returns `VG/LV` for an LVM device, whose dm name is `VG-LV` with the hyphens inside either name
/// doubled (lvm2, `dm_build_dm_name`).
pub(super) fn lvm_path(device: &BlockDevice) -> Option<String> {
    if !device.dm_uuid()?.starts_with("LVM-") {
        return None;
    }
    let name = dm_name(device);
    let bytes = name.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'-' {
            if bytes.get(at + 1) == Some(&b'-') {
                at += 2;
                continue;
            }
            let group = name[..at].replace("--", "-");
            let volume = name[at + 1..].replace("--", "-");
            return Some(format!("{group}/{volume}"));
        }
        at += 1;
    }
    None
}

/// Whether LVM uses this device internally, so that its commands do not accept it: a layer inside a
/// volume has a suffix after the two UUIDs of 32 characters, and LVM reserves these name parts
/// (lvm2, `lib/misc/lvm-string.c`).
pub(super) fn is_hidden_volume(device: &BlockDevice) -> bool {
    const VOLUME_UUID_LEN: usize = "LVM-".len() + 2 * 32;
    const RESERVED: &[&str] = &[
        "_cdata", "_cmeta", "_corig", "_cpool", "_cvol", "_iorig", "_imeta", "_mimage", "_mlog",
        "_pmspare", "_rimage", "_rmeta", "_tdata", "_tmeta", "_vdata", "_wcorig",
    ];
    device.dm_uuid().is_some_and(|uuid| {
        uuid.starts_with("LVM-") && (uuid.len() > VOLUME_UUID_LEN || uuid.ends_with("-tpool"))
    }) || RESERVED.iter().any(|piece| dm_name(device).contains(piece))
}

/// Returns `VG/POOL` for the pool device `VG-POOL-tpool`.
fn pool_path(pool: &BlockDevice) -> Option<String> {
    let path = lvm_path(pool)?;
    Some(path.strip_suffix("-tpool").unwrap_or(&path).to_owned())
}

const CRYPT_RISK: &str = "Whoever reads the raw drive can tell free blocks from used ones, and \
    from their pattern perhaps the filesystem and how full it is (cryptsetup-refresh(8), \
    --allow-discards).";

pub(super) fn crypt(host: &Host, device: &BlockDevice) -> Vec<Remedy> {
    let name = dm_name(device);
    let uuid = device.dm_uuid().unwrap_or("");
    let arg = operand(name);
    let mut remedies = Vec::new();
    if uuid.starts_with("CRYPT-LUKS2-") {
        remedies.push(
            Remedy::command(
                "Allow discards on the open volume and store that in its LUKS2 header. It works \
                 with the filesystem mounted and asks for a passphrase (or takes --key-file).",
                format!("cryptsetup refresh --allow-discards --persistent {arg}"),
            )
            .risk(format!(
                "{CRYPT_RISK} --persistent replaces the flags stored in the header: repeat those \
                 that `cryptsetup luksDump` shows and that you want to keep. Volumes with \
                 integrity protection cannot pass discards."
            ))
            .undo(format!("cryptsetup refresh --persistent {arg}")),
        );
        return remedies;
    }
    if uuid.starts_with("CRYPT-LUKS1-") {
        remedies.push(
            Remedy::command(
                "Allow discards on the open volume. It works with the filesystem mounted, asks for \
                 a passphrase (or takes --key-file), and lasts until the volume is closed.",
                format!("cryptsetup refresh --allow-discards {arg}"),
            )
            .risk(CRYPT_RISK)
            .undo(format!("cryptsetup refresh {arg}")),
        );
    }
    let opened = "then close the volume and open it again, or reboot; where it is opened in the \
                  initramfs, rebuild that first (`update-initramfs -u`, `dracut --force`)";
    let text = match host.crypttab.iter().find(|entry| entry.name == name) {
        Some(entry)
            if entry
                .options
                .iter()
                .any(|o| o == "discard" || o == "allow-discards") =>
        {
            format!(
                "Line {} of /etc/crypttab says `discard` already, and the volume was opened \
                 without it: close it and open it again, or reboot (rebuild the initramfs first, \
                 where it is opened there).",
                entry.line
            )
        }
        Some(entry) => format!(
            "For every boot: add `discard` to the options (fourth field) in line {} of \
             /etc/crypttab, {opened}.",
            entry.line
        ),
        None => format!(
            "For every boot: /etc/crypttab has no line for {}, so add `--allow-discards` where it \
             is opened, or give it a line with the option `discard`; {opened}.",
            printable(name)
        ),
    };
    remedies.push(
        Remedy::advice(text)
            .risk(CRYPT_RISK)
            .undo("Take the option out again, then close the volume and open it again."),
    );
    remedies
}

const RAID_SWITCH: &str = "/sys/module/raid456/parameters/devices_handle_discard_safely";
const RAID_CONF: &str = "/etc/modprobe.d/raid456-discard.conf";
const RAID_RISK: &str = "A drive that does not return zeroes, always and for every discarded \
    block, leaves the parity wrong: the next rebuild writes garbage. Discards on parity RAID are \
    slow as well: 12 s for 1.4 GiB on an idle test array.";

/// Returns the command that queries every drive whether discarded blocks read as zeroes.
fn check_members(stack: &Stack<'_>) -> Remedy {
    const DRIVES_MAX: usize = 16;
    let lines: Vec<String> = stack
        .leaves()
        .take(DRIVES_MAX)
        .map(|drive| {
            let path = quote(&drive.dev_path());
            match drive.kind {
                DeviceKind::Nvme { .. } => {
                    format!("nvme id-ns -H {path} | grep -A3 -i dlfeat")
                }
                _ => format!("hdparm -I {path} | grep -i trim"),
            }
        })
        .collect();
    Remedy::command(
        "First ask every drive: NVMe must say that deallocated blocks read as zeroes, SATA \
         \"Deterministic read ZEROs after TRIM\". If one does not, leave the array as it is.",
        lines.join("\n"),
    )
}

pub(super) fn md_parity(host: &Host, volume: &Volume<'_>, array: &BlockDevice) -> Vec<Remedy> {
    let array_path = quote(&array.dev_path());
    let mount_point = operand(&volume.mount.mount_point);
    let mut lines = vec![
        format!("echo 'options raid456 devices_handle_discard_safely=Y' > {RAID_CONF}"),
        format!("echo Y > {RAID_SWITCH}"),
    ];
    let is_mounted_itself = volume.stack.top().name == array.name;
    let text = if is_mounted_itself && volume.mount.mount_point != "/" {
        let members: Vec<String> = array
            .below
            .iter()
            .filter_map(|name| host.device(name))
            .map(|member| quote(&member.dev_path()))
            .collect();
        // Chained, because after a failed umount the final mount would be a second one.
        lines.push(format!(
            "umount {mount_point} &&\nmdadm --stop {array_path} &&\n\
             mdadm --assemble {array_path} {} &&\nmount {array_path} {mount_point}",
            members.join(" ")
        ));
        "Only if all of them do: set the raid456 parameter, and reassemble the array. Stop what uses the \
         filesystem first; mount it with the options that it has now. Rebuild the initramfs \
         afterwards, where arrays are assembled there (`update-initramfs -u`, `dracut --force`)."
    } else {
        lines.push("reboot".to_owned());
        "Only if all of them do: set the raid456 parameter, and reboot, since the array has to be \
         reassembled. Rebuild the initramfs first, where the array is assembled there \
         (`update-initramfs -u`, `dracut --force`)."
    };
    vec![
        check_members(&volume.stack),
        Remedy::command(text, lines.join("\n"))
            .risk(RAID_RISK)
            .undo(format!(
                "rm {RAID_CONF}; echo N > {RAID_SWITCH}; then stop and assemble the array again"
            )),
        Remedy::advice(
            "Otherwise leave a part of every drive unused (a smaller partition after a secure \
             erase), or build the array as RAID 10, which passes discards.",
        ),
    ]
}

pub(super) fn dm_parity(device: &BlockDevice) -> Remedy {
    let text = "Only if every drive returns zeroes from discarded blocks: set the raid456 parameter, and \
                reactivate the volume.";
    let Some(path) = lvm_path(device) else {
        return Remedy::advice(text).risk(RAID_RISK);
    };
    let path = operand(&path);
    Remedy::command(
        text,
        format!(
            "echo 'options raid456 devices_handle_discard_safely=Y' > {RAID_CONF}\n\
             echo Y > {RAID_SWITCH}\nlvchange -an {path}\nlvchange -ay {path}"
        ),
    )
    .risk(RAID_RISK)
    .undo(format!(
        "rm {RAID_CONF}; echo N > {RAID_SWITCH}; then deactivate and activate {path} again"
    ))
}

/// Switching from or to `ignore` requires an inactive pool (lvm2: "Cannot change support for
/// discards while pool volume is active"), and therefore inactive thin volumes.
pub(super) fn thin_ignore(host: &Host, pool: &BlockDevice) -> Remedy {
    let text = "Let the pool pass discards. It has to be inactive for that, so unmount and \
                deactivate its volumes first, and activate them again afterwards.";
    let Some(path) = pool_path(pool) else {
        return Remedy::advice(format!(
            "{text} LVM does not own this pool: load its table again without `ignore_discard`."
        ));
    };
    let path = operand(&path);
    let volumes: Vec<&BlockDevice> = host
        .devices
        .iter()
        .filter(|device| device.below.contains(&pool.name))
        .collect();
    let mounted: Vec<&Mount> = host
        .mounts
        .iter()
        .filter(|mount| {
            host.device_of(mount)
                .is_some_and(|device| volumes.iter().any(|volume| volume.name == device.name))
        })
        .collect();
    let lvm: Vec<String> = volumes
        .iter()
        // `VG-POOL` is the pool itself (uuid `-pool`), and is deactivated with it.
        .filter(|volume| !volume.dm_uuid().is_some_and(|uuid| uuid.ends_with("-pool")))
        .filter_map(|volume| lvm_path(volume))
        .map(|path| operand(&path))
        .collect();
    let each = |command: &str, names: &[String]| -> Vec<String> {
        names
            .iter()
            .map(|name| format!("{command} {name}"))
            .collect()
    };
    let points: Vec<String> = mounted
        .iter()
        .map(|mount| operand(&mount.mount_point))
        .collect();
    let mut lines = each("umount", &points);
    lines.extend(each("lvchange -an", &lvm));
    lines.push(format!("lvchange -an {path}"));
    lines.push(format!("lvchange --discards passdown {path}"));
    lines.push(format!("lvchange -ay {path}"));
    lines.extend(each("lvchange -ay", &lvm));
    lines.extend(mounted.iter().map(|mount| {
        format!(
            "mount {} {}",
            quote(&mount.source),
            operand(&mount.mount_point)
        )
    }));
    // Chained, because after a failed umount the final mount would be a second one.
    Remedy::command(text, lines.join(" &&\n"))
        .risk(
            "Everything on the pool is offline meanwhile. Afterwards the first trim gives back all \
             that was ever freed: run it in a quiet period.",
        )
        .undo(format!("the same with `lvchange --discards ignore {path}`"))
}

pub(super) fn thin_passdown(pool: &BlockDevice) -> Remedy {
    let asks_for_passdown = pool.dm_targets().is_some_and(|targets| {
        !targets
            .iter()
            .any(|target| target.has("no_discard_passdown") || target.has("ignore_discard"))
    });
    if asks_for_passdown {
        return Remedy::command(
            "The pool is set to pass discards down, and the kernel does not: usually because the \
             largest discard that the data device takes is smaller than the pool's block. Look for \
             its reason; then raise the device's discard_max_bytes, or make the pool with smaller \
             chunks the next time.",
            "dmesg | grep -i 'discard passdown'",
        );
    }
    match pool_path(pool).map(|path| operand(&path)) {
        Some(path) => Remedy::command(
            "Let the pool pass discards on; this works while it is active.",
            format!("lvchange --discards passdown {path}"),
        )
        .risk(
            "A trim then reaches the drives and takes longer: run the first one in a quiet period. \
             Blocks that the pool has freed already are discarded when they are next used and \
             freed, not now.",
        )
        .undo(format!("lvchange --discards nopassdown {path}")),
        None => Remedy::advice(
            "LVM does not own this pool: load its table again without `no_discard_passdown`, and \
             find out which tool put it there.",
        ),
    }
}
