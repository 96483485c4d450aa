//! # FS004: RAID stripes and filesystem geometry disagree
//!
//! ## What it finds
//! XFS or ext4 on RAID 0, 4, 5, 6 or 10, or on striped LVM, whose own idea of the stripes is missing
//! or is not the array's; and partitions on an array that do not begin at a chunk.
//!
//! ## Why it hurts
//! The filesystem aligns large files and its metadata to the stripes that it knows. If they are
//! wrong, a write that could fill a stripe touches two: on RAID 5 and 6 each of them costs a read of
//! old data and parity first, and one busy drive holds up the rest. It happens when an array grows
//! by a drive, or when a filesystem is made on an image and copied.
//!
//! ## Evidence
//! The array's chunk and number of data drives (`md/chunk_size`, the dm table, or
//! `queue/minimum_io_size` and `optimal_io_size`); XFS' `sunit` and `swidth` in 512-byte units, ext4's
//! `stripe` in blocks; the start of the partition.
//!
//! ## Remedy
//! - ext4: `tune2fs -E stride=N,stripe_width=M DEVICE` and `mount -o remount,stripe=M MOUNT`
//! - XFS made with stripes: the mount options `sunit=` and `swidth=`
//! - XFS made without: only `mkfs.xfs -d su=CHUNK,sw=DRIVES` on a new filesystem
//!
//! ## Risk
//! Only new allocations follow the new geometry. XFS takes a new `sunit` only if it is the old one
//! times a power of two.
//!
//! ## When it is silent
//! On other filesystems, on RAID 1 and single drives, below several volumes in a row, and where the
//! filesystem's stripes are a multiple of the array's. Offsets of LVM and LUKS are not among the
//! facts.
//!
//! ## References
//! - xfs(5), sunit and swidth; mkfs.xfs(8); tune2fs(8); ext4(5), stripe
//! - Linux kernel: Documentation/admin-guide/md.rst, Documentation/ABI/stable/sysfs-block

use crate::context::Context;
use crate::outcome::Outcome;
use crate::rule::{Check, Needs, Rule};
use crate::shell::{operand, printable, quote};
use crate::volume::Volume;
use crate::{discard_remedy, finding, wording};
use facts::host::{BlockDevice, DeviceKind, FsGeometry, Mount};
use facts::{Evidence, Finding, Remedy, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "FS004",
    title: "RAID stripes and filesystem geometry disagree",
    source: include_str!("fs004.rs"),
    check: Check::Host(Needs::Devices, check),
};

/// Unit of the XFS mount options `sunit` and `swidth`; see xfs(5).
const XFS_UNIT_BYTES: u64 = 512;

/// The stripe geometry of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stripes {
    /// Bytes written to one drive before moving on to the next.
    chunk_bytes: u64,
    /// Bytes of data in a full stripe.
    width_bytes: u64,
}

impl Stripes {
    fn new(chunk_bytes: u64, data_drives: u64) -> Option<Self> {
        let width_bytes = chunk_bytes.checked_mul(data_drives)?;
        (chunk_bytes > 0 && width_bytes > 0).then_some(Self {
            chunk_bytes,
            width_bytes,
        })
    }

    /// Derives the stripes from the queue: the chunk and the full stripe.
    fn of_queue(device: &BlockDevice) -> Option<Self> {
        let limits = device.io_limits?;
        let (chunk, width) = (limits.minimum_bytes?, limits.optimal_bytes?);
        (chunk > 0 && width >= chunk && width.is_multiple_of(chunk)).then_some(Self {
            chunk_bytes: chunk,
            width_bytes: width,
        })
    }
}

/// Whether a device stripes data over drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Striping {
    /// It does not stripe.
    No,
    /// It stripes, but neither its facts nor its queue give the geometry.
    Unknown,
    /// It stripes with this geometry.
    By(Stripes),
}

impl Striping {
    /// Uses the device's own facts, otherwise its queue.
    fn of(own: Option<Stripes>, device: &BlockDevice) -> Self {
        own.or_else(|| Stripes::of_queue(device))
            .map_or(Self::Unknown, Self::By)
    }
}

/// A striped layer below a filesystem.
struct Array<'a> {
    device: &'a BlockDevice,
    striping: Striping,
    /// The partition between the filesystem and the array, if any.
    partition: Option<&'a BlockDevice>,
}

/// The stripes that the filesystem is configured for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KnownStripes {
    Nothing,
    /// XFS: chunk and full stripe.
    Xfs(Stripes),
    /// ext4: only the full stripe, in bytes.
    Ext4(u64),
}

fn check(cx: &Context<'_>, out: &mut Outcome) {
    for volume in cx.volumes_in_time() {
        let fs_type = volume.mount.fs_type.as_str();
        if !matches!(fs_type, "xfs" | "ext4") {
            continue;
        }
        let Some(array) = array_below(volume) else {
            continue;
        };
        let Striping::By(stripes) = array.striping else {
            out.skip(
                format!("{} on {}", RULE.id, wording::mount_point(volume)),
                format!(
                    "the stripes of {} are unknown",
                    discard_remedy::name_of(array.device)
                ),
                Some("md/chunk_size, the device-mapper table (root), or queue/optimal_io_size"),
            );
            continue;
        };
        misaligned_partition(volume, &array, stripes, out);
        match known_stripes(volume.mount) {
            Err(needs) => out.skip(
                format!("{} on {}", RULE.id, wording::mount_point(volume)),
                "the stripes that the filesystem knows could not be told",
                Some(needs),
            ),
            Ok(known) if !agrees(known, stripes) => {
                out.findings
                    .push(disagreement(volume, &array, stripes, known));
            }
            Ok(_) => {}
        }
    }
}

/// Returns the first striped layer below a mount, provided that each layer has only one below it.
fn array_below<'a>(volume: &Volume<'a>) -> Option<Array<'a>> {
    let stack = &volume.stack;
    let mut at = 0;
    let mut partition = None;
    loop {
        let layer = &stack.layers[at];
        let device = layer.device;
        match striping(device) {
            Striping::No if passes_stripes_through(device) => {}
            Striping::No => return None,
            striping => {
                return Some(Array {
                    device,
                    striping,
                    partition,
                });
            }
        }
        if matches!(device.kind, DeviceKind::Partition { .. }) {
            partition = Some(device);
        }
        let mut below =
            (at + 1..stack.layers.len()).filter(|&index| stack.layers[index].above == Some(at));
        let only = below.next()?;
        if below.next().is_some() {
            return None;
        }
        at = only;
    }
}

/// Whether a layer maps a range to a single range: a partition, one linear segment, dm-crypt.
/// Without the table, dm-crypt and LVM with one device below are assumed to do so.
fn passes_stripes_through(device: &BlockDevice) -> bool {
    match &device.kind {
        DeviceKind::Partition { .. } => true,
        DeviceKind::DeviceMapper {
            targets: Some(targets),
            ..
        } => matches!(
            targets.as_slice(),
            [only] if matches!(only.target_type.as_str(), "linear" | "crypt")
        ),
        DeviceKind::DeviceMapper {
            uuid: Some(uuid), ..
        } => uuid.starts_with("CRYPT-") || (uuid.starts_with("LVM-") && !uuid.ends_with("-tpool")),
        _ => false,
    }
}

fn striping(device: &BlockDevice) -> Striping {
    match &device.kind {
        DeviceKind::Md {
            level,
            chunk_bytes,
            raid_disks,
            ..
        } => {
            let parity = match level.as_deref() {
                Some("raid0") => 0,
                Some("raid4" | "raid5") => 1,
                Some("raid6") => 2,
                // Depends on the layout, which the queue reflects.
                Some("raid10") => return Striping::of(None, device),
                _ => return Striping::No,
            };
            let own = chunk_bytes
                .zip(raid_disks.and_then(|disks| disks.checked_sub(parity)))
                .and_then(|(chunk, data)| Stripes::new(chunk, u64::from(data)));
            Striping::of(own, device)
        }
        DeviceKind::DeviceMapper {
            targets: Some(targets),
            ..
        } => match targets.as_slice() {
            [only] if only.target_type == "striped" => {
                let own = only
                    .chunk_bytes
                    .zip(only.stripes)
                    .and_then(|(chunk, stripes)| Stripes::new(chunk, u64::from(stripes)));
                Striping::of(own, device)
            }
            [only] if only.target_type == "raid" && !only.has("raid1") => {
                Striping::of(None, device)
            }
            _ => Striping::No,
        },
        _ => Striping::No,
    }
}

/// Returns the stripes the filesystem is configured for; the error is what would be needed to know
/// them.
fn known_stripes(mount: &Mount) -> Result<KnownStripes, &'static str> {
    let option = |name: &str| -> Result<Option<u64>, &'static str> {
        mount
            .option_value(name)
            .map(|value| value.parse::<u64>().map_err(|_| "readable mount options"))
            .transpose()
    };
    if mount.fs_type == "xfs" {
        let (unit, width) = match (option("sunit")?, option("swidth")?, mount.geometry) {
            (
                None,
                None,
                Some(FsGeometry::Xfs {
                    stripe_unit_bytes,
                    stripe_width_bytes,
                    ..
                }),
            ) => (Some(stripe_unit_bytes), Some(stripe_width_bytes)),
            // The kernel shows the options unless they are 0.
            (unit, width, _) => (
                unit.unwrap_or(0).checked_mul(XFS_UNIT_BYTES),
                width.unwrap_or(0).checked_mul(XFS_UNIT_BYTES),
            ),
        };
        return match unit.zip(width) {
            Some((0, _) | (_, 0)) => Ok(KnownStripes::Nothing),
            Some((chunk_bytes, width_bytes)) => Ok(KnownStripes::Xfs(Stripes {
                chunk_bytes,
                width_bytes,
            })),
            None => Err("readable mount options"),
        };
    }
    // The kernel shows `stripe` if it is above 1 block.
    let Some(blocks) = option("stripe")?.filter(|&blocks| blocks > 0) else {
        return Ok(KnownStripes::Nothing);
    };
    let block_bytes = match (mount.geometry, mount.usage) {
        (Some(FsGeometry::Ext4 { block_bytes, .. }), _) => block_bytes,
        (_, Some(usage)) => usage.block_bytes,
        _ => return Err("the filesystem's block size (statfs)"),
    };
    blocks
        .checked_mul(block_bytes)
        .map(KnownStripes::Ext4)
        .ok_or("readable mount options")
}

/// Whether the geometries agree. Multiples are fine, because whole stripes stay whole.
fn agrees(known: KnownStripes, stripes: Stripes) -> bool {
    match known {
        KnownStripes::Nothing => false,
        KnownStripes::Xfs(own) => {
            own.chunk_bytes.is_multiple_of(stripes.chunk_bytes)
                && own.width_bytes.is_multiple_of(stripes.width_bytes)
        }
        KnownStripes::Ext4(width) => width.is_multiple_of(stripes.width_bytes),
    }
}

fn severity(volume: &Volume<'_>) -> Severity {
    finding::warning_if(!volume.stores.is_empty())
}

fn disagreement(
    volume: &Volume<'_>,
    array: &Array<'_>,
    stripes: Stripes,
    known: KnownStripes,
) -> Finding {
    let name = discard_remedy::name_of(array.device);
    let fs_name = if volume.mount.fs_type == "xfs" {
        "XFS"
    } else {
        "ext4"
    };
    let described = match known {
        KnownStripes::Nothing => None,
        KnownStripes::Xfs(own) => Some(format!(
            "chunks of {} and stripes of {}",
            units::bytes(own.chunk_bytes),
            units::bytes(own.width_bytes)
        )),
        KnownStripes::Ext4(width) => Some(format!("stripes of {}", units::bytes(width))),
    };
    let title = match described {
        None => format!("{fs_name} does not know the stripes of {name}"),
        Some(_) => format!("{fs_name} is set to other stripes than {name} has"),
    };
    let mut finding = finding::about_volume(&RULE, severity(volume), volume, title);
    finding.device = Some(array.device.name.clone());
    finding.why = format!(
        "The array has chunks of {} and full stripes of {}; the filesystem {}. Large writes then \
         straddle stripes; on parity RAID each partial stripe costs reads of old data and parity \
         first.",
        units::bytes(stripes.chunk_bytes),
        units::bytes(stripes.width_bytes),
        match described {
            None => "knows of none".to_owned(),
            Some(described) => format!("reckons with {described}"),
        }
    );
    finding.evidence.extend(array_evidence(array.device));
    finding.remedy = match volume.mount.fs_type.as_str() {
        "xfs" => vec![xfs_remedy(volume, stripes, known)],
        _ => vec![ext4_remedy(volume, stripes, known)],
    };
    finding
}

fn array_evidence(device: &BlockDevice) -> Vec<Evidence> {
    let path = &device.sysfs_path;
    let mut evidence = Vec::new();
    let mut push = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            evidence.push(Evidence::new(format!("{path}/{name}"), value));
        }
    };
    if let DeviceKind::Md {
        level,
        chunk_bytes,
        raid_disks,
        ..
    } = &device.kind
    {
        push("md/level", level.clone());
        push("md/chunk_size", chunk_bytes.map(|bytes| bytes.to_string()));
        push("md/raid_disks", raid_disks.map(|disks| disks.to_string()));
    }
    if let Some(limits) = device.io_limits {
        let text = |value: Option<u64>| value.map(|bytes| bytes.to_string());
        push("queue/minimum_io_size", text(limits.minimum_bytes));
        push("queue/optimal_io_size", text(limits.optimal_bytes));
    }
    evidence
}

fn xfs_remedy(volume: &Volume<'_>, stripes: Stripes, known: KnownStripes) -> Remedy {
    // xfs(5): a new unit must be the old one times a power of two, and 0 cannot be changed.
    let own = match known {
        KnownStripes::Xfs(own)
            if stripes.chunk_bytes.is_multiple_of(own.chunk_bytes)
                && (stripes.chunk_bytes / own.chunk_bytes).is_power_of_two() =>
        {
            own
        }
        _ => {
            return Remedy::advice(format!(
                "XFS cannot learn these stripes later. When the data is moved the next time, make the \
                 filesystem with `mkfs.xfs -d su={},sw={}`; mkfs.xfs finds them by itself if it is run on \
                 the array.",
                stripes.chunk_bytes,
                stripes.width_bytes / stripes.chunk_bytes
            ))
            .risk("mkfs.xfs destroys what is on the device.");
        }
    };
    let point = operand(&volume.mount.mount_point);
    let source = quote(&volume.mount.source);
    let mount_with = |stripes: Stripes| {
        format!(
            "umount {point} &&\nmount -o sunit={},swidth={} {source} {point}",
            stripes.chunk_bytes / XFS_UNIT_BYTES,
            stripes.width_bytes / XFS_UNIT_BYTES
        )
    };
    Remedy::command(
        "Stop what uses the filesystem and mount it with the array's stripes (in units of 512 \
         bytes), beside its other options; put them into /etc/fstab. XFS keeps them.",
        mount_with(stripes),
    )
    .risk("Only what is written from now on follows them.")
    .undo(mount_with(own))
}

fn ext4_remedy(volume: &Volume<'_>, stripes: Stripes, known: KnownStripes) -> Remedy {
    let text = "Tell the filesystem, for now and for later mounts.";
    let block_bytes = volume.mount.usage.map_or(0, |usage| usage.block_bytes);
    if block_bytes == 0 || !stripes.chunk_bytes.is_multiple_of(block_bytes) {
        return Remedy::advice(format!(
            "{text} Set stride to the chunk and stripe_width to the full stripe, both in \
             filesystem blocks: tune2fs -E stride=...,stripe_width=..."
        ));
    }
    let in_blocks = |bytes: u64| bytes / block_bytes;
    let device = quote(&volume.stack.top().dev_path());
    let point = operand(&volume.mount.mount_point);
    let before = match known {
        KnownStripes::Ext4(width) => in_blocks(width),
        _ => 0,
    };
    let width = in_blocks(stripes.width_bytes);
    Remedy::command(
        text,
        format!(
            "tune2fs -E stride={},stripe_width={width} {device}\n\
             mount -o remount,stripe={width} {point}",
            in_blocks(stripes.chunk_bytes)
        ),
    )
    .risk("Only what is written from now on follows it.")
    .undo(format!(
        "tune2fs -E stride=0,stripe_width={before} {device}\n\
         mount -o remount,stripe={before} {point}"
    ))
}

fn misaligned_partition(
    volume: &Volume<'_>,
    array: &Array<'_>,
    stripes: Stripes,
    out: &mut Outcome,
) {
    let Some(partition) = array.partition else {
        return;
    };
    let DeviceKind::Partition {
        start_bytes: Some(start_bytes),
    } = partition.kind
    else {
        return;
    };
    if start_bytes.is_multiple_of(stripes.chunk_bytes) {
        return;
    }
    let mut finding = finding::about_volume(
        &RULE,
        severity(volume),
        volume,
        format!(
            "partition {} begins in the middle of a chunk of {}",
            printable(&partition.dev_path()),
            discard_remedy::name_of(array.device)
        ),
    );
    finding.device = Some(partition.name.clone());
    finding.why = format!(
        "It begins at byte {start_bytes}, which is no multiple of the chunk of {}: whatever the \
         filesystem aligns, it aligns wrongly.",
        units::bytes(stripes.chunk_bytes)
    );
    finding.add_evidence(
        format!("{}/start: in bytes", partition.sysfs_path),
        start_bytes,
    );
    finding.evidence.extend(array_evidence(array.device));
    finding.add_remedy(Remedy::advice(format!(
        "When the data is moved the next time, put the filesystem on the array itself, or begin \
         the partition at a multiple of the full stripe, {} bytes.",
        stripes.width_bytes
    )));
    out.findings.push(finding);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::*;

    /// RAID 5 of four drives with chunks of 64 KiB, as detected by mkfs.xfs: 128 and 384 units.
    fn raid5(options: &str, fs_type: &str) -> TestHost {
        let mut array = md(
            "md5",
            "raid5",
            &["nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1"],
        );
        if let DeviceKind::Md { chunk_bytes, .. } = &mut array.kind {
            *chunk_bytes = Some(65536);
        }
        TestHost::new()
            .devices(["nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1"].map(nvme))
            .device(array)
            .mount("/data", "md5", fs_type, options)
    }

    #[test]
    fn what_mkfs_finds_is_right() {
        for (options, fs_type) in [
            ("rw,sunit=128,swidth=384", "xfs"),
            // Twice the stripe still consists of whole stripes.
            ("rw,sunit=256,swidth=768", "xfs"),
            // 192 KiB in blocks of 4 KiB.
            ("rw,stripe=48", "ext4"),
            ("rw", "btrfs"),
        ] {
            let outcome = raid5(options, fs_type).check(&RULE);
            assert_eq!(outcome, Outcome::default(), "{options}");
        }
    }

    #[test]
    fn a_grown_array_gets_new_mount_options() {
        let outcome = raid5("rw,sunit=128,swidth=256", "xfs")
            .elasticsearch("/data/es")
            .check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.device.as_deref(), Some("md5"));
        assert_eq!(
            finding.remedy[0].command.as_deref(),
            Some("umount /data &&\nmount -o sunit=128,swidth=384 /dev/md5 /data")
        );
    }

    #[test]
    fn missing_geometry_is_an_information_without_a_store() {
        let outcome = raid5("rw", "xfs").check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Info);
        assert_eq!(only(&outcome).remedy[0].command, None);
        let outcome = raid5("rw", "ext4").check(&RULE);
        assert_eq!(
            only(&outcome).remedy[0].command.as_deref(),
            Some(
                "tune2fs -E stride=16,stripe_width=48 /dev/md5\n\
                 mount -o remount,stripe=48 /data"
            )
        );
    }

    #[test]
    fn the_array_is_found_below_crypt_and_lvm() {
        let outcome = raid5("rw", "ext4")
            .with(|host| host.mounts.clear())
            .device(crypt("dm-0", "c0", "md5", true))
            .device(lvm_linear("dm-1", "vg-data", &["dm-0"]))
            .mount("/data", "dm-1", "xfs", "rw,sunit=128,swidth=256")
            .check(&RULE);
        assert_eq!(only(&outcome).device.as_deref(), Some("md5"));
    }

    #[test]
    fn mirrors_and_single_drives_have_no_stripes() {
        let outcome = TestHost::new()
            .devices([nvme("nvme0n1"), nvme("nvme1n1")])
            .device(md("md1", "raid1", &["nvme0n1", "nvme1n1"]))
            .mount("/data", "md1", "xfs", "rw")
            .check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn raid10_is_judged_by_its_queue_and_skipped_without() {
        let array = |optimal_bytes| {
            let mut array = md("md10", "raid10", &["nvme0n1", "nvme1n1"]);
            array.io_limits = Some(facts::host::IoLimits {
                logical_block_bytes: Some(512),
                minimum_bytes: Some(512 << 10),
                optimal_bytes,
            });
            TestHost::new()
                .devices([nvme("nvme0n1"), nvme("nvme1n1")])
                .device(array)
                .mount("/data", "md10", "xfs", "rw,sunit=1024,swidth=1024")
                .check(&RULE)
        };
        assert_eq!(array(Some(512 << 10)), Outcome::default());
        assert_eq!(array(Some(1 << 20)).findings.len(), 1);
        assert_eq!(array(None).skipped.len(), 1);
    }

    #[test]
    fn a_partition_begins_at_a_chunk_or_is_named() {
        let on = |start: u64| {
            let mut part = partition("md5p1", "md5");
            part.kind = DeviceKind::Partition {
                start_bytes: Some(start),
            };
            raid5("rw", "ext4")
                .with(|host| host.mounts.clear())
                .device(part)
                .mount("/data", "md5p1", "xfs", "rw,sunit=128,swidth=384")
                .check(&RULE)
        };
        assert_eq!(on(1 << 20), Outcome::default());
        // The traditional offset of 63 sectors.
        assert_eq!(only(&on(63 * 512)).device.as_deref(), Some("md5p1"));
    }

    #[test]
    fn absurd_options_do_not_panic() {
        for options in [
            "rw,sunit=18446744073709551615,swidth=18446744073709551615",
            "rw,sunit=x,swidth=",
        ] {
            assert_eq!(raid5(options, "xfs").check(&RULE).skipped.len(), 1);
        }
    }
}
