//! Files of a host, and outputs of its commands.

use crate::{keep, keep_answer, text};
use ::host::source::{Limits, read_bytes};
use ::host::{Command, DriveTool, parse};

/// One log of each supported drive tool, with a serial number.
pub const DRIVE_LOGS: &[&str] = &[
    "{\"data_units_written\":2000000,\"sn\":\"S3RI4L\"}",
    "{\"Physical media units written\":{\"hi\":0,\"lo\":\"1500\"},\"sn\":\"S3RI4L\"}",
    "{\"physical_media_units_written\":1500,\"sn\":\"S3RI4L\"}",
    "{\"smartctl\":{\"exit_status\":0},\"serial_number\":\"S3RI4L\",\"nvme_smart_health_information_log\":{\"data_units_written\":7}}",
    "{\"logical_block_size\":512,\"serial_number\":\"S3RI4L\",\"ata_smart_attributes\":{\"table\":[{\"id\":247,\"name\":\"Host_Program_Page_Count\",\"raw\":{\"value\":200}},{\"id\":248,\"name\":\"FTL_Program_Page_Count\",\"raw\":{\"value\":100}}]},\"ata_device_statistics\":{\"pages\":[{\"number\":1,\"table\":[{\"offset\":24,\"value\":3906250}]}]}}",
];

pub fn mountinfo(bytes: &[u8]) {
    let _ = parse::mountinfo::parse(&text(bytes));
    keep("proc/self/mountinfo", bytes);
}

pub fn fstab(bytes: &[u8]) {
    let _ = parse::fstab::parse(&text(bytes));
    keep("etc/fstab", bytes);
}

pub fn crypttab(bytes: &[u8]) {
    let _ = parse::fstab::parse_crypttab(&text(bytes));
    keep("etc/crypttab", bytes);
}

/// What is installed is found, and removing it leaves the lines that were there.
pub fn jvm_options(bytes: &[u8]) {
    const JAR: &str = "/etc/elasticsearch/trimtab-livefix.jar";
    let without = match livefix::without_agent(bytes) {
        Ok(without) => without.unwrap_or_else(|| bytes.to_vec()),
        Err(error) => {
            assert!(std::str::from_utf8(bytes).is_err(), "{error}");
            return;
        }
    };
    assert_eq!(livefix::without_agent(&without), Ok(None));
    let with = livefix::with_agent(&without, JAR).expect("removed before");
    assert_eq!(livefix::agent_jar(&text(&with)), Some(JAR));
    assert!(livefix::with_agent(&with, JAR).is_err());
    let again = livefix::without_agent(&with)
        .expect("text")
        .expect("added before");
    // A last line without its end gets one.
    let end = again.strip_prefix(without.as_slice());
    assert!(end.is_some_and(|end| end.is_empty() || end == b"\n"));
}

pub fn dm_table(bytes: &[u8]) {
    let _ = parse::dm_table::parse(&text(bytes));
    keep_answer(&Command::DmTable, bytes);
}

/// The filtered log yields the same counts as the original, and contains only numbers.
pub fn drive_log(bytes: &[u8]) {
    for tool in DriveTool::ALL {
        let drive = "nvme0n1".to_owned();
        keep_answer(&Command::DriveLog { tool, drive }, bytes);
        let counts = parse::drive_log::parse(tool, bytes);
        match parse::drive_log::reduce(tool, bytes) {
            Ok(kept) => {
                assert_eq!(parse::drive_log::parse(tool, &kept), counts);
                assert!(kept.len() < 1000 && !text(&kept).contains("S3RI4L"));
            }
            Err(why) => assert_eq!(counts, Err(why)),
        }
    }
}

pub fn mdstat(bytes: &[u8]) {
    let _ = parse::mdstat::parse(&text(bytes));
}

pub fn lvm_conf(bytes: &[u8]) {
    let _ = parse::lvm_conf::parse("etc/lvm/lvm.conf", &text(bytes));
    keep("etc/lvm/lvm.conf", bytes);
}

pub fn yaml(bytes: &[u8]) {
    let _ = parse::yaml::flatten("elasticsearch.yml", &text(bytes));
    keep("etc/elasticsearch/elasticsearch.yml", bytes);
    keep("etc/mongod.conf", bytes);
}

pub fn bundle(bytes: &[u8]) {
    let limits = Limits {
        total_bytes_max: 1 << 20,
        ..Limits::default()
    };
    let _ = read_bytes(bytes, &limits);
}

/// Only requested devices are returned; the length of an error does not depend on that of the file.
pub fn diskstats(bytes: &[u8]) {
    let devices = ["nvme2n1", "sda1", "cciss!c0d0"].map(str::to_owned);
    match linux::counters::parse_diskstats(&text(bytes), &devices) {
        Ok(found) => assert!(found.keys().all(|name| devices.contains(name))),
        Err(error) => assert!(error.to_string().len() < 400),
    }
    let _ = linux::counters::parse_pressure(&text(bytes));
}
