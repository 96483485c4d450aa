use super::*;
use crate::source::MemorySource;
use facts::host::ScsiTransport;

fn read_all(source: &MemorySource) -> (Vec<BlockDevice>, Vec<Skipped>) {
    let reader = Reader::new(source);
    let mut skipped = Vec::new();
    let devices = read(&reader, &mut skipped);
    (devices, skipped)
}

/// Adds the attributes that every disk has.
fn disk(source: MemorySource, name: &str, number: &str, sectors: u64) -> MemorySource {
    let path = format!("sys/block/{name}");
    source
        .file(&format!("{path}/dev"), format!("{number}\n"))
        .file(&format!("{path}/size"), format!("{sectors}\n"))
        .file(&format!("{path}/ro"), "0\n")
}

#[test]
fn a_recorded_nvme_drive_with_partitions() {
    let source = disk(MemorySource::default(), "nvme0n1", "259:0", 2_097_152)
        .file("sys/block/nvme0n1/device/model", "QEMU NVMe Ctrl                          \n")
        .file("sys/block/nvme0n1/device/firmware_rev", "7.2.22  \n")
        .file("sys/block/nvme0n1/device/serial", "n0                  \n")
        .file("sys/block/nvme0n1/device/transport", "pcie\n")
        .file("sys/block/nvme0n1/queue/discard_granularity", "512\n")
        .file("sys/block/nvme0n1/queue/discard_max_bytes", "0\n")
        .file("sys/block/nvme0n1/queue/discard_max_hw_bytes", "2199023255040\n")
        .file("sys/block/nvme0n1/queue/logical_block_size", "512\n")
        .file("sys/block/nvme0n1/queue/minimum_io_size", "512\n")
        .file("sys/block/nvme0n1/queue/optimal_io_size", "0\n")
        .file("sys/block/nvme0n1/queue/rotational", "0\n")
        .file("sys/block/nvme0n1/stat", "     248        0     4649       99      207        4   403195     3141        0      632     3320        7        0  3014272       67       15       11\n")
        .file("sys/block/nvme0n1/nvme0n1p2/partition", "2\n")
        .file("sys/block/nvme0n1/nvme0n1p2/dev", "259:2\n")
        .file("sys/block/nvme0n1/nvme0n1p2/start", "2048\n")
        .file("sys/block/nvme0n1/nvme0n1p2/size", "4096\n")
        .file("sys/block/nvme0n1/nvme0n1p2/ro", "1\n")
        .file("sys/class/block/nvme0n1p2/dev", "259:2\n");
    let (devices, skipped) = read_all(&source);
    assert_eq!(skipped, []);
    assert_eq!(devices.len(), 2);
    assert_eq!(
        devices[0],
        BlockDevice {
            name: "nvme0n1".to_owned(),
            number: DeviceNumber {
                major: 259,
                minor: 0
            },
            sysfs_path: "sys/block/nvme0n1".to_owned(),
            size_bytes: Some(1 << 30),
            kind: DeviceKind::Nvme {
                model: Some("QEMU NVMe Ctrl".to_owned()),
                firmware: Some("7.2.22".to_owned()),
                serial: Some("n0".to_owned()),
                transport: Some("pcie".to_owned()),
            },
            below: vec![],
            discard: Some(DiscardLimits {
                granularity_bytes: Some(512),
                max_bytes: Some(0),
                max_hw_bytes: Some(2_199_023_255_040),
            }),
            io_limits: Some(IoLimits {
                logical_block_bytes: Some(512),
                minimum_bytes: Some(512),
                optimal_bytes: Some(0),
            }),
            rotational: Some(false),
            read_only: Some(false),
            counters: Some(IoCounters {
                read_bytes: 4649 * 512,
                written_bytes: 403_195 * 512,
                discards: Some(7),
                discarded_bytes: Some(3_014_272 * 512),
            }),
        }
    );
    let partition = &devices[1];
    assert_eq!(partition.sysfs_path, "sys/class/block/nvme0n1p2");
    assert_eq!(
        partition.kind,
        DeviceKind::Partition {
            start_bytes: Some(1 << 20)
        }
    );
    assert_eq!(partition.below, ["nvme0n1"]);
    assert_eq!(partition.size_bytes, Some(2 << 20));
    assert_eq!((partition.read_only, partition.discard), (Some(true), None));
}

#[test]
fn layers_name_what_is_below() {
    let mut source = disk(MemorySource::default(), "dm-3", "253:3", 1_638_400)
        .file("sys/block/dm-3/dm/name", "vg-pool-tpool\n")
        .file("sys/block/dm-3/dm/uuid", "LVM-abc-tpool\n")
        .symlink("sys/block/dm-3/slaves/dm-2", "../../dm-2")
        .symlink("sys/block/dm-3/slaves/dm-1", "../../dm-1");
    source = disk(source, "md5", "9:5", 3_139_584)
        .file("sys/block/md5/md/level", "raid5\n")
        .file("sys/block/md5/md/chunk_size", "65536\n")
        .file("sys/block/md5/md/raid_disks", "4\n")
        .file("sys/block/md5/md/array_state", "clean\n")
        .file("sys/block/md5/md/sync_action", "idle\n")
        .symlink("sys/block/md5/slaves/nvme3n1", "x");
    source = disk(source, "md_home", "9:126", 2048)
        .file("sys/block/md_home/md/level", "raid1\n")
        .file("sys/block/md_home/md/chunk_size", "0\n");
    let (devices, skipped) = read_all(&source);
    assert_eq!(skipped, []);
    assert_eq!(
        devices[0].kind,
        DeviceKind::DeviceMapper {
            name: Some("vg-pool-tpool".to_owned()),
            uuid: Some("LVM-abc-tpool".to_owned()),
            targets: None,
        }
    );
    assert_eq!(devices[0].below, ["dm-1", "dm-2"]);
    assert_eq!(
        devices[1].kind,
        DeviceKind::Md {
            level: Some("raid5".to_owned()),
            chunk_bytes: Some(65_536),
            raid_disks: Some(4),
            array_state: Some("clean".to_owned()),
            sync_action: Some("idle".to_owned()),
        }
    );
    assert!(matches!(
        &devices[2].kind,
        DeviceKind::Md { level: Some(level), chunk_bytes: None, .. } if level == "raid1"
    ));
}

#[test]
fn kinds_by_name() {
    let mut source = MemorySource::default();
    for (minor, name) in [
        "bcache0",
        "drbd1",
        "etherd!e0.0",
        "loop0",
        "mmcblk0",
        "mystery",
        "nbd2",
        "rbd0",
        "sdaa",
        "sr0",
        "vda",
        "xvdf",
        "zram0",
    ]
    .into_iter()
    .enumerate()
    {
        source = disk(source, name, &format!("240:{minor}"), 2048);
    }
    let source = source
        .symlink(
            "sys/block/bcache0/bcache",
            "../../../pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sdaa/sdaa1/bcache",
        )
        .file("sys/block/loop0/loop/backing_file", "/srv/image.img\n")
        .file("sys/block/vda/serial", "vol-0123\n");
    let (devices, skipped) = read_all(&source);
    assert_eq!(skipped, []);
    let network = |driver: &str| DeviceKind::Network {
        driver: driver.to_owned(),
    };
    let kinds: Vec<_> = devices
        .iter()
        .map(|device| match &device.kind {
            DeviceKind::Scsi { transport, .. } => {
                assert_eq!(*transport, ScsiTransport::Other);
                (device.name.as_str(), None)
            }
            kind => (device.name.as_str(), Some(kind.clone())),
        })
        .collect();
    assert_eq!(
        kinds,
        [
            (
                "bcache0",
                Some(DeviceKind::Bcache {
                    backing: Some("sdaa1".to_owned())
                })
            ),
            ("drbd1", Some(network("drbd"))),
            ("etherd!e0.0", Some(network("aoe"))),
            (
                "loop0",
                Some(DeviceKind::Loop {
                    backing_file: Some("/srv/image.img".to_owned())
                })
            ),
            ("mmcblk0", Some(DeviceKind::Mmc)),
            ("mystery", Some(DeviceKind::Other)),
            ("nbd2", Some(network("nbd"))),
            ("rbd0", Some(network("rbd"))),
            ("sdaa", None),
            ("sr0", None),
            (
                "vda",
                Some(DeviceKind::VirtioBlk {
                    serial: Some("vol-0123".to_owned())
                })
            ),
            ("xvdf", Some(DeviceKind::Xen)),
            ("zram0", Some(DeviceKind::Zram)),
        ]
    );
}

#[test]
fn empty_slots_are_left_out_and_empty_drives_are_not() {
    let mut source = MemorySource::default();
    for (minor, name) in ["fd0", "loop1", "nbd0", "ram0", "sdb", "sr0", "zram0"]
        .into_iter()
        .enumerate()
    {
        source = disk(source, name, &format!("1:{minor}"), 0);
    }
    let (devices, _) = read_all(&source);
    let names: Vec<_> = devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["sdb"]);
}

#[test]
fn a_multipath_namespace_is_listed_once() {
    let zeros = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
    let mut source = disk(MemorySource::default(), "nvme0n1", "259:1", 2048)
        .file("sys/block/nvme0n1/device/model", "MZWLR3T8HBLS\n")
        .file("sys/block/nvme0n1/stat", zeros);
    for (controller, written) in [(0, 10), (1, 20)] {
        let path = format!("sys/block/nvme0c{controller}n1");
        source = source
            .file(&format!("{path}/hidden"), "1\n")
            .file(&format!("{path}/size"), "2048\n")
            .file(&format!("{path}/device/transport"), "fc\n")
            .file(
                &format!("{path}/stat"),
                format!("1 0 8 0 1 0 {written} 0 0 0 0 3 0 4 0 0 0\n"),
            );
    }
    let (devices, skipped) = read_all(&source);
    assert_eq!(skipped, []);
    assert_eq!(devices.len(), 1);
    assert!(matches!(
        &devices[0].kind,
        DeviceKind::Nvme { transport: Some(transport), .. } if transport == "fc"
    ));
    assert_eq!(
        devices[0].counters,
        Some(IoCounters {
            read_bytes: 16 * 512,
            written_bytes: 30 * 512,
            discards: Some(6),
            discarded_bytes: Some(8 * 512),
        })
    );
}

#[test]
fn paths_of_namespaces_are_distinguished_from_namespaces() {
    assert_eq!(head_of_nvme_path("nvme0n1"), None);
    assert_eq!(head_of_nvme_path("nvme10c2n3").as_deref(), Some("nvme10n3"));
    assert_eq!(head_of_nvme_path("nvmec0n1"), None);
    assert_eq!(head_of_nvme_path("nvme0c0n1p1"), None);
}

#[test]
fn old_kernels_do_not_count_discards() {
    let old = parse_counters("248 0 4649 99 207 4 403195 3141 0 632 3320").unwrap();
    assert_eq!(old.written_bytes, 403_195 * 512);
    assert_eq!((old.discards, old.discarded_bytes), (None, None));
    assert_eq!(parse_counters("1 2 3"), None);
    assert_eq!(parse_counters("a b c d e f g h i j k"), None);
}

#[test]
fn unreadable_attributes_are_reported() {
    let (devices, skipped) = read_all(&MemorySource::default());
    assert_eq!(devices, []);
    assert_eq!(skipped[0].what, "block devices");

    let source = MemorySource::default().file("sys/block/sda/dev", "nonsense\n");
    let (devices, skipped) = read_all(&source);
    assert_eq!(devices, []);
    assert_eq!(skipped.len(), 1);
    assert!(skipped[0].why.contains("sys/block/sda/dev"));
}

#[test]
fn reads_per_drive_stay_few() {
    let source = disk(MemorySource::default(), "sda", "8:0", 2048)
        .file("sys/block/sda/queue/rotational", "0\n")
        .file("sys/block/sda/sda1/partition", "1\n")
        .file("sys/block/sda/sda1/dev", "8:1\n");
    let reader = Reader::new(&source);
    read(&reader, &mut Vec::new());
    let recording = reader.into_recording();
    // 4 of the disk, 7 of its queue, 3 of its identity, 6 of the partition.
    assert_eq!(recording.files.len(), 20);
}
