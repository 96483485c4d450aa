use super::*;
use crate::collect::{Options, read_host};
use crate::source::archive::EntryKind;
use crate::source::memory::Memory;
use crate::source::{MemorySource, Reader};
use facts::Host;
use facts::host::{DeviceKind, EnabledState, Trigger};
use proptest::prelude::*;

const LSBLK: &str = r#"NAME="sda" KNAME="sda" PATH="/dev/sda" MAJ:MIN="8:0" MOUNTPOINT="" RA="4096" RO="0" MODEL="SAMSUNG MZ7" SIZE="894.3G" ROTA="0" LOG-SEC="512" MIN-IO="512" OPT-IO="0" TYPE="disk" DISC-GRAN="512B" DISC-MAX="2G" PKNAME="" VENDOR="ATA     "
NAME="sda1" KNAME="sda1" PATH="/dev/sda1" MAJ:MIN="8:1" MOUNTPOINT="" RA="4096" RO="0" MODEL="" SIZE="894.3G" ROTA="0" TYPE="part" DISC-GRAN="512B" DISC-MAX="2G" PKNAME="sda"
NAME="crypt-data" KNAME="dm-0" PATH="/dev/mapper/crypt-data" MAJ:MIN="253:0" MOUNTPOINT="/mnt/my data" RA="4096" RO="0" MODEL="" SIZE="894.3G" ROTA="0" TYPE="crypt" DISC-GRAN="0B" DISC-MAX="0B" PKNAME="sda1"
"#;

/// A host with one encrypted disk below mongod, as sos tells it without /sys and /proc.
fn tree() -> MemorySource {
    MemorySource::new()
        .file("sos_commands/block/lsblk_-O_-P", LSBLK)
        .file(
            "sos_commands/block/ls_-lanR_.sys.block",
            "/sys/block:\ntotal 0\nlrwxrwxrwx  1 0 0 0 Feb 9 22:38 sda -> ../devices/pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sda\n",
        )
        .file(
            "sos_commands/devicemapper/dmsetup_table",
            "crypt-data: 0 1875384320 crypt aes-xts-plain64 :64:logon:cryptsetup:x 0 8:1 32768\n",
        )
        .file(
            "sos_commands/devicemapper/dmsetup_info_-c",
            "Name       Maj Min Stat Open Targ Event UUID\ncrypt-data 253   0 L--w    1    1     0 CRYPT-LUKS2-0a-crypt-data\n",
        )
        .file(
            "sos_commands/filesys/findmnt",
            "TARGET          SOURCE                 FSTYPE OPTIONS\n\
             /               /dev/root              ext4   rw,relatime\n\
             `-/mnt/my\\x20data /dev/mapper/crypt-data xfs    rw,noatime\n",
        )
        .file(
            "sos_commands/filesys/df_-al_-x_autofs",
            "Filesystem             1K-blocks      Used Available Use% Mounted on\n\
             /dev/mapper/crypt-data 937692160 468846080 468846080  50% /mnt/my data\n",
        )
        .file(
            "sos_commands/process/ps_alxwww",
            "F   UID   PID  PPID PRI  NI    VSZ   RSS WCHAN  STAT TTY        TIME COMMAND\n\
             4     0     1     0  20   0 175184 17464 -      Ss   ?          0:38 /sbin/init\n\
             4   112   900     1  20   0 175184 17464 -      Ssl  ?         90:38 /usr/bin/mongod -f /etc/mongod.conf\n",
        )
        .file("etc/mongod.conf", "storage:\n  dbPath: /mnt/my data/db\n")
        .file("hostname", "mongo-1\n")
        .file("sos_commands/host/hostname", "mongo-1\n")
        .file("sos_commands/kernel/uname_-a", "Linux mongo-1 5.4.0-97-generic #110-Ubuntu SMP x86_64 GNU/Linux\n")
        .file("sos_commands/date/date", "Thu Feb 10 17:19:17 CET 2022\n")
        .file("sos_commands/date/date_--utc", "Thu Feb 10 16:19:16 UTC 2022\n")
        .file("sos_commands/cron/root_crontab", "0 3 * * 0 /sbin/fstrim -av\n")
        .file(
            "sos_commands/systemd/systemd-analyze_dump",
            "-> Unit fstrim.timer:\n\tUnit Load State: loaded\n\tUnit Active State: active\n\
             \tFragment Path: /lib/systemd/system/fstrim.timer\n\tTriggers: fstrim.service (origin-implicit)\n\
             \tTimer State: waiting\n\tUnit: fstrim.service\n\tPersistent: yes\n\tAccuracy: 1h\n\
             \tOnCalendar: Mon *-*-* 00:00:00\n-> Unit fstrim.service:\n\tUnit Load State: loaded\n\
             \tTriggeredBy: fstrim.timer (destination-implicit)\n\tService State: dead\n\
             \t-> ExecStart:\n\t\tCommand Line: /sbin/fstrim --fstab\n",
        )
        .file(
            "sos_commands/systemd/systemctl_list-timers_--all",
            "NEXT                        LEFT        LAST                        PASSED  UNIT         ACTIVATES\n\
             Mon 2022-02-14 00:00:00 CET 3 days left Mon 2022-02-07 00:12:05 CET 3d ago  fstrim.timer fstrim.service\n",
        )
        .file(
            "sos_commands/systemd/systemctl_list-unit-files",
            "UNIT FILE    STATE   VENDOR PRESET\nfstrim.timer enabled enabled\n",
        )
}

fn read(tree: MemorySource) -> (Host, Vec<String>) {
    let Ok(source) = translate(Box::new(tree)) else {
        panic!("it is a sosreport");
    };
    let now = source.collected_at().unwrap_or_default();
    let host = read_host(&Reader::new(&source), &Options::default(), now);
    (host, source.remarks())
}

#[test]
fn outputs_of_commands_stand_for_what_the_kernel_shows() {
    let (host, remarks) = read(tree());
    assert_eq!(host.platform.host_name.as_deref(), Some("mongo-1"));
    assert_eq!(
        host.platform.kernel_release.as_deref(),
        Some("5.4.0-97-generic")
    );
    assert_eq!(host.read_at.to_string(), "2022-02-10T16:19:16Z");

    let names: Vec<&str> = host
        .devices
        .iter()
        .map(|device| device.name.as_str())
        .collect();
    assert_eq!(names, ["dm-0", "sda", "sda1"]);
    let dm = &host.devices[0];
    assert_eq!(dm.below, ["sda1"]);
    assert_eq!(dm.dm_uuid(), Some("CRYPT-LUKS2-0a-crypt-data"));
    assert_eq!(dm.dm_targets().unwrap()[0].target_type, "crypt");
    let sda = &host.devices[1];
    assert_eq!(sda.discard.unwrap().max_bytes, Some(2 << 30));
    assert_eq!(sda.rotational, Some(false));
    assert!(
        matches!(&sda.kind, DeviceKind::Scsi { transport, .. } if *transport == facts::host::ScsiTransport::Ata),
        "by the link: {:?}",
        sda.kind
    );
    assert_eq!(host.devices[2].below, ["sda"]);
    assert!(
        remarks.iter().any(|remark| remark.contains("rounded")),
        "{remarks:?}"
    );

    let data = host
        .mounts
        .iter()
        .find(|mount| mount.mount_point == "/mnt/my data")
        .unwrap();
    assert_eq!(data.device_number.to_string(), "253:0");
    assert_eq!(data.usage.unwrap().free_bytes, 468_846_080 << 10);
    // `/dev/root` is in no list.
    let root = host
        .mounts
        .iter()
        .find(|mount| mount.mount_point == "/")
        .unwrap();
    assert_eq!(root.device_number.major, 0);

    assert_eq!(host.stores.len(), 1);
    assert_eq!(host.stores[0].data_paths, ["/mnt/my data/db"]);

    let jobs = host.jobs.as_ref().unwrap();
    assert_eq!(jobs.len(), 2, "{jobs:#?}");
    let timer = jobs.iter().find(|job| job.name == "fstrim.timer").unwrap();
    assert!(
        timer
            .commands
            .iter()
            .any(|command| format!("{command:?}").contains("fstrim"))
    );
    assert_eq!(
        timer.timer.as_ref().unwrap().enabled,
        Some(EnabledState::Enabled)
    );
    let Trigger::Calendar(calendars) = &timer.triggers[0] else {
        panic!("{timer:?}");
    };
    assert_eq!(calendars.expressions, ["Mon *-*-* 00:00:00"]);
    // Central European Time, by the two dates.
    assert_eq!(timer.last_run.unwrap().to_string(), "2022-02-06T23:12:05Z");
    assert_eq!(timer.next_run.unwrap().to_string(), "2022-02-13T23:00:00Z");
}

#[test]
fn files_of_the_archive_come_first() {
    let exact = tree()
        .file(
            "proc/self/mountinfo",
            "1 0 8:1 / /srv rw - ext4 /dev/sda1 rw\n",
        )
        .file(
            "proc/partitions",
            "major minor  #blocks  name\n\n   8        0  937692504 sda\n",
        )
        .symlink("sys/block/sda", "../devices/virtual/block/sda")
        .file(
            "sys/devices/virtual/block/sda/queue/discard_max_bytes",
            "2147450880\n",
        )
        .file(
            "sys/devices/virtual/block/sda/queue/discard_granularity",
            "4096\n",
        )
        .file(
            "lib/systemd/system/fstrim.timer",
            "[Timer]\nOnCalendar=weekly\nRandomizedDelaySec=6000\n",
        );
    let (host, remarks) = read(exact);
    let points: Vec<&str> = host
        .mounts
        .iter()
        .map(|mount| mount.mount_point.as_str())
        .collect();
    assert_eq!(points, ["/srv"]);
    let sda = host
        .devices
        .iter()
        .find(|device| device.name == "sda")
        .unwrap();
    assert_eq!(sda.discard.unwrap().max_bytes, Some(2_147_450_880));
    assert_eq!(sda.size_bytes, Some(937_692_504 << 10));
    assert!(
        !remarks.iter().any(|remark| remark.contains("rounded")),
        "{remarks:?}"
    );
    let jobs = host.jobs.unwrap();
    let timer = jobs.iter().find(|job| job.name == "fstrim.timer").unwrap();
    let Trigger::Calendar(calendars) = &timer.triggers[0] else {
        panic!("{timer:?}");
    };
    assert_eq!(calendars.randomized_delay_s, Some(6000.0));
}

#[test]
fn without_lsblk_the_kernels_lists_and_tables_tell_the_stack() {
    let old = MemorySource::new()
        .directory("sos_commands/block")
        .file("sos_commands/devicemapper/dmsetup_table", "vg-lv: 0 1875384320 linear 8:1 2048\n")
        .file("sos_commands/devicemapper/dmsetup_info_-c", "Name  Maj Min Stat Open Targ Event UUID\nvg-lv 253   0 L--w 1 1 0 LVM-x\n")
        .file(
            "proc/partitions",
            "major minor  #blocks  name\n\n   8  0 1000 sda\n   8  1 999 sda1\n 259 0 5 nvme0n1\n 259 1 4 nvme0n1p1\n 253 0 998 dm-0\n",
        )
        .file("proc/diskstats", "   8       0 sda 5 0 16 1 7 0 32 1 0 1 2 3 0 64 1\n")
        .file("sys/devices/x/loop0/queue/rotational", "1\n")
        .symlink("sys/block/loop0", "../devices/x/loop0");
    let (host, _) = read(old);
    let below = |name: &str| {
        let device = host.devices.iter().find(|device| device.name == name);
        device
            .unwrap_or_else(|| panic!("{name}: {:?}", host.devices))
            .below
            .clone()
    };
    assert_eq!(below("sda1"), ["sda"]);
    assert_eq!(below("nvme0n1p1"), ["nvme0n1"]);
    assert_eq!(below("dm-0"), ["sda1"]);
    let sda = host
        .devices
        .iter()
        .find(|device| device.name == "sda")
        .unwrap();
    assert_eq!(sda.counters.unwrap().discarded_bytes, Some(64 * 512));
    assert!(
        host.devices.iter().all(|device| device.name != "loop0"),
        "nothing is attached to it"
    );
    assert!(
        host.skipped
            .iter()
            .all(|skipped| !skipped.what.contains("loop0"))
    );
}

/// An output that is there and may not be read is neither missing nor empty.
#[test]
fn outputs_that_may_not_be_read_are_named() {
    let missing = |denied: &[&str]| {
        let tree = denied.iter().fold(tree(), |tree, path| tree.deny(path));
        let (host, remarks) = read(tree);
        let told: Vec<String> = host
            .skipped
            .iter()
            .map(|skipped| format!("{}: {}", skipped.what, skipped.why))
            .collect();
        (host, told, remarks)
    };
    let says = |told: &[String], what: &str| {
        assert!(told.iter().any(|line| line == what), "{what}: {told:#?}");
        let not_found = told.iter().find(|line| line.contains("not found"));
        assert_eq!(not_found, None, "{what}");
    };
    let lsblk = "sos_commands/block/lsblk_-O_-P";
    let (host, told, remarks) = missing(&[lsblk]);
    assert!(host.devices.is_empty());
    says(
        &told,
        &format!("block devices: sys/block: {lsblk}: permission denied"),
    );
    let remark = format!("sosreport: {lsblk}: permission denied");
    assert!(remarks.contains(&remark), "{remarks:?}");
    let (host, told, _) = missing(&["sos_commands/filesys"]);
    assert!(host.mounts.is_empty());
    says(
        &told,
        "mounts: proc/self/mountinfo: sos_commands/filesys: permission denied",
    );
    let (_, told, _) = missing(&["sos_commands/devicemapper/dmsetup_table"]);
    says(
        &told,
        "dm tables: sos_commands/devicemapper/dmsetup_table: permission denied",
    );
    let (host, told, _) = missing(&["sos_commands/systemd"]);
    assert!(host.jobs.expect("root's crontab").len() == 1);
    says(
        &told,
        "the state of systemd's timers: sos_commands/systemd: permission denied",
    );
    // What another output tells is not missed.
    let (host, _, _) = missing(&["sos_commands/filesys/findmnt"]);
    assert!(host.mounts.is_empty());
    let with_mount = tree().deny("sos_commands/filesys/findmnt").file(
        "sos_commands/filesys/mount_-l",
        "/dev/sda1 on / type ext4 (rw)\n",
    );
    assert_eq!(read(with_mount).0.mounts.len(), 1);
}

#[test]
fn days_of_sar_are_found_once() {
    let tree = tree()
        .file("var/log/sa/sar07", "x")
        .file("var/log/sa/sa07", "x")
        .file("sos_commands/sar/sar07", "x")
        .file("sos_commands/sar/sar08", "x")
        .file("sos_commands/sar/sa08.xml", "x");
    let source = translate(Box::new(tree)).ok().unwrap();
    assert_eq!(
        source.curves(),
        ["var/log/sa/sar07", "sos_commands/sar/sar08"]
    );
}

#[test]
fn answers_of_a_cluster_are_no_host() {
    let tree = MemorySource::new().file("version.json", "{}").file(
        "manifest.json",
        r#"{"collectionDate":"2026-11-28T10:53:23.147Z","runner":"cli"}"#,
    );
    let Ok(source) = translate(Box::new(tree)) else {
        panic!("it is one of support-diagnostics");
    };
    assert!(!source.holds_a_host());
    assert_eq!(
        source.collected_at().unwrap().to_string(),
        "2026-11-28T10:53:23.147Z"
    );
    assert!(translate(Box::new(MemorySource::new().file("etc/fstab", ""))).is_err());
}

#[test]
fn what_is_read_of_an_archive() {
    for (path, expected) in [
        ("sosreport-a/sos_commands/block/lsblk_-O_-P", true),
        ("sos_commands/block/lsblk_-O_-P", true),
        ("sosreport-a/etc/fstab", true),
        ("sosreport-a/hostname", true),
        ("sosreport-a/sos_commands/networking/ip_a", false),
        ("sosreport-a/var/log/journal/x/system.journal", false),
        ("sosreport-a/var/log/syslog", true),
        ("sosreport-a/var/log/sa/sar07", true),
        ("sosreport-a/var/log/sa/sa07", false),
        ("local-diagnostics-1/nodes.json", true),
        ("local-diagnostics-1/syscalls/iostat.txt", true),
        ("local-diagnostics-1/commercial/x.json", false),
        ("default/elasticsearch/logs/nodes.json", true),
        ("default/elasticsearch/logs/commercial/x.json", false),
    ] {
        assert_eq!(is_wanted(path), expected, "{path}");
    }
}

proptest! {
    /// Whatever the outputs say, names from them never leave their directories, and reading ends.
    #[test]
    fn hostile_outputs(texts in prop::collection::vec("(NAME=\"|KNAME=\"|PKNAME=\"|MAJ:MIN=\"|TYPE=\"part|SIZE=\"|\\.\\./|\"|8:0|sda|/| |\n|-> Unit |\\.timer|:|[0-9]{1,20}){0,40}", 9)) {
        let mut tree = Memory::default();
        let paths = [
            "sos_commands/block/lsblk_-O_-P",
            "sos_commands/block/ls_-lanR_.sys.block",
            "sos_commands/devicemapper/dmsetup_table",
            "sos_commands/devicemapper/dmsetup_info_-c",
            "sos_commands/systemd/systemd-analyze_dump",
            "sos_commands/systemd/systemctl_list-timers_--all",
            "sos_commands/process/ps_auxwww",
            "proc/partitions",
            "proc/diskstats",
        ];
        for (path, text) in paths.iter().zip(&texts) {
            tree.add(path, EntryKind::File(text.clone().into_bytes()), 0o444, 0).unwrap();
        }
        let source = translate(Box::new(tree)).ok().unwrap();
        let host = read_host(&Reader::new(&source), &Options::default(), Timestamp::UNIX_EPOCH);
        for device in &host.devices {
            prop_assert!(!device.name.contains(".."), "{}", device.name);
        }
    }
}
