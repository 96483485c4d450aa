use super::*;
use crate::clock::SystemClock;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

const WITH_DISCARDS: &str =
    "   8      16 sdb 101 190 2780 360 406 27179 220598 2999 0 2700 3364 7 1 4096 9\n";
const OLD: &str = "   8       0 sda 101 190 2780 360 406 27179 220598 2999 4 2700 3364\n   8       1 sda1 1 0 8 4 0 0 0 0 0 4 4\n";

#[test]
fn host_with_and_without_pressure_and_removed_device() {
    let proc_dir = tempfile::tempdir().unwrap();
    let clock = SystemClock::start();
    let mut watch = HostCounters::new(proc_dir.path().to_owned(), names(&["sda", "sdb"]), clock);
    let missing = watch.sample().unwrap_err().to_string();
    assert!(missing.contains("diskstats: No such file"), "{missing}");

    std::fs::write(
        proc_dir.path().join("diskstats"),
        format!("{OLD}{WITH_DISCARDS}"),
    )
    .unwrap();
    let sample = watch.sample().unwrap();
    assert_eq!(sample.devices.len(), 2);
    assert_eq!(sample.io_pressure_us, None);

    std::fs::create_dir(proc_dir.path().join("pressure")).unwrap();
    let pressure = proc_dir.path().join("pressure/io");
    std::fs::write(&pressure, "some avg10=0.00 total=12\n").unwrap();
    assert_eq!(watch.sample().unwrap().io_pressure_us, Some(12));
    std::fs::write(&pressure, b"\xff").unwrap();
    assert!(matches!(
        watch.sample(),
        Err(CounterError::Unreadable { .. })
    ));
    std::fs::remove_file(&pressure).unwrap();

    std::fs::write(proc_dir.path().join("diskstats"), OLD).unwrap();
    assert_eq!(
        watch.sample().unwrap_err().to_string(),
        "sdb is gone: it is no longer in /proc/diskstats"
    );
}
