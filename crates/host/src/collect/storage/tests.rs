use super::*;
use crate::source::MemorySource;
use facts::host::Mount;

fn read_host(source: &MemorySource) -> Host {
    let reader = Reader::new(source);
    let mut host = Host::default();
    read(&reader, &mut host);
    host
}

fn what(host: &Host) -> Vec<&str> {
    host.skipped.iter().map(|s| s.what.as_str()).collect()
}

/// A guest with LVM on two NVMe drives: a linear volume, and a thin volume whose pool ignores
/// discards.
fn lvm_guest() -> MemorySource {
    let mut source = MemorySource::default()
        .file(
            "proc/self/mountinfo",
            "1 1 0:2 / / rw - rootfs rootfs rw,size=422512k\n\
             23 1 0:21 / /sys rw,relatime - sysfs sysfs rw\n\
             28 1 253:0 / /mnt/x rw,relatime - xfs /dev/mapper/vg-lin rw,attr2,inode64,noquota\n\
             29 1 253:4 / /mnt/t rw,relatime - ext4 /dev/mapper/vg-thin rw,stripe=16\n",
        )
        .file("etc/lvm/lvm.conf", "devices { use_devicesfile=0 }\n");
    for (device, number, name, slaves) in [
        ("dm-0", "253:0", "vg-lin", &["nvme0n1"][..]),
        ("dm-1", "253:1", "vg-pool_tmeta", &["nvme1n1"]),
        ("dm-2", "253:2", "vg-pool_tdata", &["nvme1n1"]),
        ("dm-3", "253:3", "vg-pool-tpool", &["dm-1", "dm-2"]),
        ("dm-4", "253:4", "vg-thin", &["dm-3"]),
    ] {
        let path = format!("sys/block/{device}");
        source = source
            .file(&format!("{path}/dev"), number)
            .file(&format!("{path}/size"), "1048576")
            .file(&format!("{path}/dm/name"), name);
        for slave in slaves {
            source = source.symlink(&format!("{path}/slaves/{slave}"), "x");
        }
    }
    for (device, number) in [("nvme0n1", "259:0"), ("nvme1n1", "259:1")] {
        source = source
            .file(&format!("sys/block/{device}/dev"), number)
            .file(&format!("sys/block/{device}/size"), "2097152");
    }
    source
}

const TABLES: &str = "vg-lin: 0 1048576 linear 259:0 2048\n\
    vg-pool-tpool: 0 1638400 thin-pool 253:1 253:2 128 0 1 ignore_discard \n\
    vg-pool_tdata: 0 1638400 linear 259:1 10240\n\
    vg-pool_tmeta: 0 8192 linear 259:1 1648640\n\
    vg-thin: 0 1228800 thin 253:3 1\n";

#[test]
fn a_recorded_lvm_guest_is_assembled() {
    let host = read_host(&lvm_guest().answer("dmsetup_table", Ok(TABLES)));
    assert_eq!(what(&host), [""; 0]);
    let points: Vec<_> = host.mounts.iter().map(|m| m.mount_point.as_str()).collect();
    assert_eq!(points, ["/mnt/x", "/mnt/t"]);
    let thin: &Mount = &host.mounts[1];
    let stack = host.stack_of(thin).unwrap();
    let layers: Vec<_> = stack
        .layers
        .iter()
        .map(|l| l.device.name.as_str())
        .collect();
    assert_eq!(
        layers,
        ["dm-4", "dm-3", "dm-1", "nvme1n1", "dm-2", "nvme1n1"]
    );
    let pool = host.device("dm-3").unwrap().dm_targets().unwrap();
    assert!(pool[0].has("ignore_discard"));
    assert_eq!(host.fstab, None);
    assert_eq!(host.lvm_issue_discards, Some(false));
    assert_eq!(host.raid456_discards_safe, None);
}

#[test]
fn tables_that_need_root_are_reported_once() {
    let host = read_host(&lvm_guest().answer("dmsetup_table", Err(Unread::Denied)));
    assert_eq!(
        host.skipped,
        [Skipped::new("dm tables", "permission denied", Some("root"))]
    );
    assert_eq!(host.device("dm-0").unwrap().dm_targets(), None);
}

#[test]
fn a_missing_table_is_reported() {
    let host = read_host(&lvm_guest().answer("dmsetup_table", Ok(TABLES.lines().next().unwrap())));
    assert!(host.device("dm-0").unwrap().dm_targets().is_some());
    assert_eq!(
        what(&host),
        [
            "dm table of dm-1",
            "dm table of dm-2",
            "dm table of dm-3",
            "dm table of dm-4"
        ]
    );
}

#[test]
fn without_device_mapper_no_table_is_requested() {
    let source = MemorySource::default()
        .file("sys/block/sda/dev", "8:0")
        .answer("dmsetup_table", Ok(TABLES));
    let reader = Reader::new(&source);
    read(&reader, &mut Host::default());
    assert!(reader.into_recording().commands.is_empty());
}

#[test]
fn names_with_escapes_find_their_table() {
    let source = MemorySource::default()
        .file("sys/block/dm-0/dev", "253:0")
        .file("sys/block/dm-0/dm/name", "my\\x20disk\n")
        .answer("dmsetup_table", Ok("my disk: 0 8 zero \n"));
    let host = read_host(&source);
    assert_eq!(host.device("dm-0").unwrap().dm_targets().unwrap().len(), 1);
}

#[test]
fn malformed_lines_are_reported_with_their_position() {
    let source = MemorySource::default()
        .file(
            "proc/self/mountinfo",
            "broken\n28 1 9:0 / /m rw - xfs /dev/md0 rw\n",
        )
        .file("etc/fstab", "\n/dev/sda1\n")
        .file("etc/crypttab", "lonely\n")
        .file("sys/block/sda/dev", "8:0");
    let host = read_host(&source);
    assert_eq!(
        what(&host),
        [
            "proc/self/mountinfo line 1",
            "etc/fstab line 2",
            "etc/crypttab line 1"
        ]
    );
    assert_eq!(host.mounts.len(), 1);
    assert_eq!(host.fstab, Some(vec![]));
}

#[test]
fn mdstat_fills_in_what_sysfs_lacks() {
    let array = |name: &str, number: &str| {
        MemorySource::default()
            .file(&format!("sys/block/{name}/dev"), number)
            .file(&format!("sys/block/{name}/md/metadata_version"), "1.2")
            .file(
                "proc/mdstat",
                "Personalities : [raid5]\n\
                 md5 : active raid5 sdc[2] sdb[1](J) sda[0]\n\
                 \x20     1569792 blocks super 1.2 level 5, 64k chunk, algorithm 2 [4/4] [UUUU]\n\
                 \x20     [=>...]  check = 5.0% (1/2) finish=1min speed=1K/sec\n",
            )
    };
    let host = read_host(&array("md5", "9:5"));
    let device = host.device("md5").unwrap();
    assert_eq!(
        device.kind,
        DeviceKind::Md {
            level: Some("raid5".to_owned()),
            chunk_bytes: Some(65_536),
            raid_disks: Some(4),
            array_state: Some("active".to_owned()),
            sync_action: Some("check".to_owned()),
        }
    );
    assert_eq!(device.below, ["sda", "sdb", "sdc"]);

    // The value from sysfs takes precedence.
    let host = read_host(
        &array("md5", "9:5")
            .file("sys/block/md5/md/level", "raid6")
            .file("sys/block/md5/md/raid_disks", "6"),
    );
    assert!(matches!(
        &host.device("md5").unwrap().kind,
        DeviceKind::Md { level: Some(level), raid_disks: Some(6), .. } if level == "raid6"
    ));
}

#[test]
fn issue_discards_of_both_files() {
    let word = |main: Option<&str>, local: Option<&str>| {
        let mut source = MemorySource::default();
        if let Some(main) = main {
            source = source.file(lvm_conf::PATH, main);
        }
        if let Some(local) = local {
            source = source.file(lvm_conf::LOCAL_PATH, local);
        }
        read_host(&source).lvm_issue_discards
    };
    let on = Some("devices { issue_discards = 1 }");
    let off = Some("devices { issue_discards = 0 }");
    let silent = Some("log { verbose = 0 }");
    assert_eq!(word(None, None), None);
    assert_eq!(word(silent, None), Some(false));
    assert_eq!(word(on, None), Some(true));
    assert_eq!(word(on, silent), Some(true));
    assert_eq!(word(on, off), Some(false));
    assert_eq!(word(None, on), Some(true));
    assert_eq!(word(None, silent), None);
    assert_eq!(word(Some("devices {"), None), None);
    assert_eq!(word(on, Some("devices {")), None);
    assert_eq!(
        word(on, Some("devices { issue_discards = maybe }")),
        Some(false)
    );
}

#[test]
fn a_broken_lvm_conf_is_reported() {
    let source = MemorySource::default()
        .file("sys/block/sda/dev", "8:0")
        .file("proc/self/mountinfo", "")
        .file(lvm_conf::PATH, "devices {\n");
    let host = read_host(&source);
    assert_eq!(what(&host), [lvm_conf::PATH]);
    assert!(host.skipped[0].why.contains("line 2"));
}

#[test]
fn raid456_reports_whether_discards_are_safe() {
    for (word, expected) in [("Y\n", Some(true)), ("N\n", Some(false)), ("?", None)] {
        let source = MemorySource::default().file(RAID456_PATH, word);
        assert_eq!(read_host(&source).raid456_discards_safe, expected);
    }
}

#[test]
fn this_machine_has_no_malformed_lines() {
    let live = crate::source::Live::default();
    let reader = Reader::new(&live);
    let mut host = Host::default();
    read(&reader, &mut host);
    assert!(host.devices.is_sorted_by(|a, b| a.name < b.name));
    let malformed: Vec<_> = what(&host)
        .into_iter()
        .filter(|what| what.contains(" line "))
        .map(str::to_owned)
        .collect();
    assert_eq!(malformed, [""; 0]);
    // The file's own number of mounts, without pseudo filesystems.
    let bytes = std::fs::read("/proc/self/mountinfo").unwrap();
    // A mount point need not be UTF-8.
    let text = String::from_utf8_lossy(&bytes);
    let kept = text
        .lines()
        .filter(|line| {
            let fs_type = line
                .split_once(" - ")
                .and_then(|(_, rest)| rest.split(' ').next());
            !mountinfo::is_pseudo(fs_type.unwrap_or_default())
        })
        .count();
    assert_eq!(host.mounts.len(), kept);
}

/// A copy of a host may hold a part of sysfs.
#[test]
fn mounts_whose_devices_were_not_read_are_told() {
    let mounts = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:17 / /data rw - xfs /dev/sdb1 rw\n\
                  3 1 0:40 / /run rw - tmpfs tmpfs rw\n";
    let tree = |disks: &[(&str, &str)]| {
        let tree = MemorySource::new().file("proc/self/mountinfo", mounts);
        disks.iter().fold(tree, |tree, (path, number)| {
            tree.file(&format!("sys/block/{path}/dev"), number)
                .file(&format!("sys/block/{path}/partition"), "1")
        })
    };
    let read_from = |source: MemorySource| {
        let mut host = Host::default();
        read(&Reader::new(&source), &mut host);
        host
    };
    let told = |host: &Host| {
        let about = host
            .skipped
            .iter()
            .find(|skipped| skipped.what.starts_with("the device"));
        about.map(|skipped| skipped.what.clone())
    };
    let all = read_from(tree(&[
        ("sda", "8:0"),
        ("sda/sda1", "8:1"),
        ("sdb", "8:16"),
        ("sdb/sdb1", "8:17"),
    ]));
    assert!(
        all.knows_devices() && told(&all).is_none(),
        "{:?}",
        all.skipped
    );
    let half = read_from(tree(&[("sda", "8:0"), ("sda/sda1", "8:1")]));
    assert!(half.knows_devices());
    assert_eq!(told(&half).as_deref(), Some("the device of /data"));
    // Of other devices than those that are mounted nothing follows.
    let other = read_from(tree(&[("sdc", "8:32")]));
    assert!(!other.knows_devices());
    let names: Vec<&str> = other
        .unseen_devices
        .iter()
        .map(|device| device.name.as_str())
        .collect();
    assert_eq!(names, ["sda1", "sdb1"]);
    // Their numbers tell that devices are below them, whatever the source.
    let unnamed = read_from(
        MemorySource::new()
            .file(
                "proc/self/mountinfo",
                "1 0 8:1 / / rw - ext4 UUID=aa rw\n2 1 8:17 / /data rw - xfs none rw\n\
                 3 1 0:40 / /home rw - fuse.sshfs /dev/fuse rw\n",
            )
            .file("sys/block/sdz/dev", "65:144"),
    );
    assert_eq!(
        told(&unnamed).as_deref(),
        Some("the devices of / and 1 more mount")
    );
}

#[test]
fn lines_of_mountinfo_that_are_no_mounts_are_counted() {
    let tree = MemorySource::new().file(
        "proc/self/mountinfo",
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:17 / /data rw xfs /dev/sdb1 rw\n\n3 1 8:33\n",
    );
    let mut host = Host::default();
    read(&Reader::new(&tree), &mut host);
    assert_eq!((host.mounts.len(), host.mounts_unread), (1, 2));
}

/// What keeps mountinfo from being read is reported, and fstab's lines are still there.
#[test]
fn fstab_stands_in_for_a_mountinfo_that_may_not_be_read() {
    let tree = MemorySource::new()
        .file(
            "proc/self/mountinfo",
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n",
        )
        .deny("proc/self/mountinfo")
        .file("etc/fstab", "/dev/sda1 / ext4 noatime 0 1\n");
    let mut host = Host::default();
    read(&Reader::new(&tree), &mut host);
    assert_eq!(host.mounts[0].fstab_line, Some(1));
    let mounts = host.skipped.iter().find(|skipped| skipped.what == "mounts");
    let why = &mounts.expect("an entry").why;
    assert!(
        why.starts_with("proc/self/mountinfo: permission denied; the lines of etc/fstab"),
        "{why}"
    );
}
