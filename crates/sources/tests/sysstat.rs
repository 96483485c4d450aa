//! One recording of sysstat's, as its programs print it in several languages and as `sadf -j` writes it: all are
//! read, with the same values. Recorded by `sar -A -o FILE 1 6` of sysstat 12.6.1 while fsynced files were written
//! and deleted on a filesystem mounted with `discard`; printed by `sar -d -u -b -q -p -f FILE`.

use sources::{FileOptions, Reading, read_bytes};
use std::collections::BTreeMap;

fn read(name: &str) -> Reading {
    let path = format!("{}/tests/data/sysstat/{name}", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path).unwrap();
    read_bytes(name, bytes.as_slice(), &FileOptions::default()).unwrap()
}

/// Values by name and label of the device.
fn values(reading: &Reading) -> BTreeMap<String, Vec<(i64, f64)>> {
    let series = reading.series.iter().map(|series| {
        let samples = series
            .times_us
            .iter()
            .copied()
            .zip(series.values.iter().copied());
        (series.name.clone(), samples.collect())
    });
    series.collect()
}

#[test]
fn sars_text_is_the_same_in_every_language() {
    let plain = values(&read("sar-C.txt"));
    // Disks, processors, all disks, the run queue.
    assert_eq!(plain.len(), 2 * 8 + 6 + 7 + 6, "{:?}", plain.keys());
    for language in ["en_US", "de_DE", "zh_CN", "ja_JP"] {
        let other = values(&read(&format!("sar-{language}.txt")));
        assert_eq!(other, plain, "{language}");
    }
}

#[test]
fn sars_text_has_the_values_of_sadf() {
    let (text, json) = (values(&read("sar-C.txt")), values(&read("sadf.json")));
    for device in ["vda", "loop0"] {
        for (column, key) in [
            ("tps", "tps"),
            ("rkB/s", "rkB"),
            ("wkB/s", "wkB"),
            ("dkB/s", "dkB"),
            ("areq-sz", "areq-sz"),
            ("aqu-sz", "aqu-sz"),
            ("await", "await"),
            ("%util", "util-percent"),
        ] {
            let one = &text[&format!("{device} {column}")];
            let other = json.get(&format!("disk {device} {key}"));
            let other = other.unwrap_or_else(|| panic!("{key}: {:?}", json.keys()));
            assert_eq!(one.len(), 6, "{device} {column}");
            assert_eq!(one, other, "{device} {column}");
        }
    }
}
