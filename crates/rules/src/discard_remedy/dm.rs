//! Remedies for dm-crypt, thin pools and parity RAID.

use crate::shell::{operand, printable};
use facts::host::{BlockDevice, DeviceKind};
use facts::{Host, Remedy};

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

/// Parity RAID of md or LVM.
pub(super) fn parity_raid() -> Vec<Remedy> {
    vec![
        Remedy::advice(
            "Only if every drive returns zeroes from discarded blocks (`nvme id-ns -H` says so below dlfeat, \
             `hdparm -I` as \"Deterministic read ZEROs after TRIM\"): put `options raid456 \
             devices_handle_discard_safely=Y` into /etc/modprobe.d, rebuild the initramfs where the array is \
             assembled there, and reboot.",
        )
        .risk(
            "A drive that does not return zeroes, always and for every discarded block, leaves the parity wrong: the \
             next rebuild writes garbage. Discards on parity RAID are slow as well: 12 s for 1.4 GiB on an idle \
             test array.",
        )
        .undo("Remove that line, rebuild the initramfs, and reboot."),
        Remedy::advice(
            "Otherwise leave a part of every drive unused (a smaller partition after a secure \
             erase), or build the array as RAID 10, which passes discards.",
        ),
    ]
}

/// Switching from or to `ignore` requires an inactive pool (lvm2: "Cannot change support for
/// discards while pool volume is active"), and therefore inactive thin volumes.
pub(super) fn thin_ignore(pool: &BlockDevice) -> Remedy {
    let how = match pool_path(pool) {
        Some(path) => format!(
            "unmount and deactivate its volumes, then the pool, run `lvchange --discards passdown {}`, and activate \
             all of them again",
            printable(&path)
        ),
        None => "LVM does not own it, so load its table again without `ignore_discard`".to_owned(),
    };
    Remedy::advice(format!("Let the pool pass discards: {how}."))
        .risk(
            "Everything on the pool is offline meanwhile. Afterwards the first trim gives back all \
             that was ever freed: run it in a quiet period.",
        )
        .undo("The same with `--discards ignore`.")
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
