use super::*;
use crate::source::MemorySource;

/// Output of smartctl 7.3 for an NVMe drive, according to its source code, shortened.
const SMARTCTL_NVME: &str = r#"{"json_format_version":[1,0],"smartctl":{"version":[7,3],"argv":["smartctl","-x"],"exit_status":0},"device":{"name":"/dev/nvme0n1","type":"nvme"},"model_name":"MODEL-X","serial_number":"S3RI4L","logical_block_size":512,"nvme_smart_health_information_log":{"critical_warning":0,"data_units_read":5,"data_units_written":2000000,"host_writes":7}}"#;
/// Output of smartctl 7.3 for a SATA drive.
const SMARTCTL_ATA: &str = r#"{"smartctl":{"exit_status":4},"serial_number":"S3RI4L","wwn":{"naa":5,"oui":41077,"id":123456789},"logical_block_size":512,"ata_smart_attributes":{"revision":16,"table":[{"id":9,"name":"Power_On_Hours","raw":{"value":1000,"string":"1000"}},{"id":246,"name":"Total_LBAs_Written","raw":{"value":1953125,"string":"1953125"}},{"id":247,"name":"Host_Program_Page_Count","raw":{"value":200,"string":"200"}},{"id":248,"name":"FTL_Program_Page_Count","raw":{"value":100,"string":"100"}}]},"ata_device_statistics":{"pages":[{"number":1,"name":"General Statistics","revision":1,"table":[{"offset":8,"name":"Lifetime Power-On Resets","size":4,"value":31},{"offset":24,"name":"Logical Sectors Written","size":6,"value":3906250,"flags":{"valid":true}}]}]}}"#;
const OCP_1: &str = r#"{"Physical media units written":{"hi":0,"lo":1500},"Physical media units read":{"hi":0,"lo":9}}"#;

/// An NVMe drive, a SATA drive behind libata, a hard disk, a virtio disk.
fn machine() -> MemorySource {
    let mut source = MemorySource::new();
    for (name, number, rotational, vendor) in [
        ("nvme0n1", "259:0", "0", None),
        ("sda", "8:0", "0", Some("ATA")),
        ("sdb", "8:16", "1", Some("ATA")),
        ("sdc", "8:32", "0", Some("QEMU")),
        ("vda", "254:0", "0", None),
    ] {
        let block = format!("sys/block/{name}");
        source = source
            .file(&format!("{block}/dev"), number)
            .file(&format!("{block}/size"), "1000000")
            .file(&format!("{block}/queue/rotational"), rotational);
        if let Some(vendor) = vendor {
            source = source.file(&format!("{block}/device/vendor"), vendor);
        }
    }
    source
}

fn asked(source: &MemorySource) -> (Host, Vec<String>) {
    let reader = Reader::new(source);
    let options = crate::Options {
        drive_writes: true,
        ..crate::Options::default()
    };
    let host = crate::read_host(&reader, &options, jiff::Timestamp::UNIX_EPOCH);
    let recording = reader.into_recording();
    (host, recording.commands.into_keys().collect())
}

#[test]
fn each_flash_drive_is_queried_with_its_tools() {
    let source = machine()
        .answer("smartctl_nvme0n1", Ok(SMARTCTL_NVME))
        .answer("nvme_ocp_smart_add_log_nvme0n1", Ok(OCP_1))
        .answer("smartctl_sda", Ok(SMARTCTL_ATA));
    let (host, commands) = asked(&source);
    assert_eq!(
        commands,
        [
            "nvme_ocp_smart_add_log_nvme0n1",
            "smartctl_nvme0n1",
            "smartctl_sda"
        ]
    );
    let [nvme, sata] = &host.drive_writes[..] else {
        panic!("{:?}", host.drive_writes);
    };
    assert_eq!(nvme.bytes(), Some((1_024_000_000_000, 1500)));
    assert_eq!(sata.bytes(), Some((2_000_000_000, 3_000_000_000)));
    assert!(nvme.skipped.is_empty() && sata.skipped.is_empty());
    assert!(
        nvme.evidence[0].source.contains("smartctl -A nvme0n1")
            && nvme.evidence[0].value.contains("2000000 * 512000 bytes"),
        "{:?}",
        nvme.evidence
    );
}

#[test]
fn nothing_is_queried_unless_requested() {
    let source = machine().answer("smartctl_sda", Ok(SMARTCTL_ATA));
    let reader = Reader::new(&source);
    let options = crate::Options::default();
    let host = crate::read_host(&reader, &options, jiff::Timestamp::UNIX_EPOCH);
    assert!(host.drive_writes.is_empty());
    assert!(reader.into_recording().commands.is_empty());
}

#[test]
fn nvme_cli_provides_host_bytes_if_smartctl_does_not() {
    let source = machine()
        .answer("nvme_smart_log_nvme0n1", Ok(r#"{"data_units_written":1}"#))
        .answer(
            "nvme_ocp_smart_add_log_nvme0n1",
            Err(Unread::Failed("exit status: 1".to_owned())),
        );
    let (host, _) = asked(&source);
    let nvme = &host.drive_writes[0];
    assert_eq!((nvme.host_bytes, nvme.media), (Some(512_000), None));
    assert_eq!(nvme.skipped.len(), 1);
    let skipped = &nvme.skipped[0];
    assert_eq!(skipped.what, "media writes of nvme0n1");
    for part in ["exit status: 1", "does not have this log"] {
        assert!(skipped.why.contains(part), "{skipped:?}");
    }
}

#[test]
fn missing_tools_or_permissions_are_reported() {
    // The running host: a program that is not found is not installed.
    let (host, _) = asked(&machine().whole());
    let skipped = &host.drive_writes[0].skipped;
    assert_eq!(skipped.len(), 2, "{skipped:?}");
    assert!(skipped[0].why.contains("not installed"), "{skipped:?}");
    assert_eq!(skipped[0].needs.as_deref(), Some("smartmontools"));
    assert_eq!(skipped[1].needs.as_deref(), Some("nvme-cli"));
    // A tree.
    let (host, _) = asked(&machine());
    let skipped = &host.drive_writes[0].skipped;
    assert!(skipped[1].why.contains("recorded"), "{skipped:?}");
    let denied = machine()
        .answer("smartctl_sda", Err(Unread::Denied))
        .whole();
    let (host, _) = asked(&denied);
    let skipped = &host.drive_writes[1].skipped;
    assert_eq!(skipped[1].needs.as_deref(), Some("root"), "{skipped:?}");
}

#[test]
fn hanging_drives_do_not_delay_the_others() {
    let mut source = MemorySource::new();
    for index in 0..9 {
        let block = format!("sys/block/sd{}", char::from(b'a' + index));
        source = source
            .file(&format!("{block}/dev"), format!("8:{}", index * 16))
            .file(&format!("{block}/device/vendor"), "ATA")
            .answer(
                &format!("smartctl_sd{}", char::from(b'a' + index)),
                Err(Unread::Timeout(5000)),
            );
    }
    let (host, commands) = asked(&source);
    assert_eq!(commands.len(), TIMEOUTS_MAX);
    assert_eq!(host.drive_writes.len(), 9);
    for drive in &host.drive_writes {
        assert_eq!(drive.skipped.len(), 2, "{drive:?}");
    }
}
