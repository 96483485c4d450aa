use super::*;
use crate::testing::names;
use std::io::Write;

const CSV: &str = "time,value\n2016-09-26 01:30:00,1\n2016-09-27 01:30:00,2\n";

fn values(reading: &Reading) -> &[f64] {
    &reading.series[0].values
}

#[test]
fn compressed_files_are_read() {
    let options = FileOptions::default();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(CSV.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::stream::encode_all(CSV.as_bytes(), 1).unwrap();
    for bytes in [CSV.as_bytes(), &gzip, &zstd] {
        let reading = read_bytes("f", bytes, &options).unwrap();
        assert_eq!(values(&reading), [1.0, 2.0]);
    }
    // The error for a truncated file names the file.
    let error = read_bytes("f.gz", &gzip[..gzip.len() - 9], &options).unwrap_err();
    assert!(error.to_string().starts_with("f.gz: "), "{error}");
    let error = read_bytes("f.zst", &zstd[..zstd.len() - 5], &options).unwrap_err();
    assert!(error.to_string().starts_with("f.zst: "), "{error}");
}

#[test]
fn files_and_marks_and_paths() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.csv");
    std::fs::write(&path, format!("\u{feff}{CSV}")).unwrap();
    let reading = read_path(&path, &FileOptions::default()).unwrap();
    assert_eq!(reading.series[0].source, path.display().to_string());
    assert_eq!(reading.series[0].name, "value");
    let missing = directory.path().join("b.csv");
    let error = read_path(&missing, &FileOptions::default()).unwrap_err();
    assert!(error.to_string().contains("b.csv"), "{error}");
}

#[test]
fn each_format_is_detected_from_its_content() {
    for (text, expected) in [
        (CSV, Format::Csv),
        ("a\tb\n1\t2\n", Format::Csv),
        ("{\"time\":\"2016-09-26\",\"v\":1}\n", Format::JsonLines),
        (
            "  [\n{\"time\":\"2016-09-26\",\"v\":1}]\n",
            Format::JsonLines,
        ),
        (
            include_str!("../tests/data/rally-race.json"),
            Format::RallyRace,
        ),
        // Documents of Rally's metrics store have a race-timestamp too.
        (
            "{\"race-timestamp\":\"20160421T042749Z\",\"@timestamp\":1461213093093,\"value\":1}\n",
            Format::JsonLines,
        ),
        (include_str!("../tests/data/sadf.json"), Format::Sadf),
        (
            include_str!("../tests/data/mongo-iostat.txt"),
            Format::Iostat,
        ),
        (include_str!("../tests/data/iostat-h.txt"), Format::Iostat),
        ("Device:  tps  kB_read/s\nsda 1 2\n", Format::Iostat),
    ] {
        assert_eq!(detect("f", text.as_bytes()).unwrap(), expected, "{text}");
    }
}

#[test]
fn unknown_formats_list_the_known_ones() {
    for (bytes, found) in [
        (&b""[..], "an empty file"),
        (b" \n\n", "an empty file"),
        (b"\xff\xfea\0,\0", "text in UTF-16: convert it to UTF-8"),
        (b"\0\0\0\0", "a binary file"),
        (
            b"SQLite format 3\0\x10\0",
            "an SQLite database: export CSV (sqlite3 -csv -header)",
        ),
    ] {
        let error = read_bytes("f", bytes, &FileOptions::default())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("CSV or TSV") && error.contains("iostat"),
            "{error}"
        );
        assert!(error.ends_with(&format!("found {found:?}")), "{error}");
    }
}

#[test]
fn output_of_other_programs_is_named() {
    for (text, way_out) in [
        (
            "insert query update delete getmore command dirty used flushes vsize  res qrw arw net_in\n    *0    *0     *0     *0       0     1|0  0.0% 0.0%       0 2.51G 97.0M 0|0 0|0   157b\n",
            "diagnostic.data",
        ),
        (
            "              capacity     operations     bandwidth \npool        alloc   free   read  write   read  write\n----------  -----  -----  -----  -----  -----  -----\ntank        1.21G  8.29G      0     12    112  1.01M\n",
            "iostat -xt",
        ),
    ] {
        let error = detect("f", text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(way_out), "{error}");
    }
}

#[test]
fn text_that_is_not_recognised_is_not_quoted() {
    // Root reads what others may not, and its errors reach them.
    for text in [
        "root:$6$salt$hunter2:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n",
        "machine example.org login me password hunter2\n",
        "hunter2\n",
    ] {
        let error = read_text(text, &FileOptions::default()).unwrap_err();
        let error = error.to_string();
        assert!(
            !error.contains("hunter2") && !error.contains("root"),
            "{error}"
        );
        assert!(error.starts_with("f: expected CSV"), "{error}");
    }
}

#[test]
fn sar_files_name_the_program_that_converts_them() {
    // The first bytes of /var/log/sysstat/sa22 of sysstat 12 on amd64, and of a big-endian host.
    for (bytes, kind, command) in [
        (
            &b"\x96\xd5\x75\x21\x0c\x05\x04\0"[..],
            "binary",
            "sadf -j sa22 -- -d -u > sar.json",
        ),
        (
            b"\xd5\x96\x21\x75\x0c\x05\x04\0",
            "binary",
            "sadf -j sa22 -- -d -u > sar.json",
        ),
    ] {
        let error = read_bytes("sa22", bytes, &FileOptions::default()).unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with("sa22: ") && error.contains(kind),
            "{error}"
        );
        assert!(error.contains(command), "{error}");
    }
}

#[test]
fn input_beyond_the_limit_is_an_error_not_an_end() {
    let mut limited = Limited {
        input: std::io::repeat(0),
        left: 10,
    };
    let mut out = Vec::new();
    assert!(limited.read_to_end(&mut out).is_err());
}

#[test]
fn a_folder_of_pt_stalk_has_the_disks_of_all_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let copy = |at_s: u32, sda: u32, sdb: u32| {
        let device = |name: &str, writes: u32| format!("8 0 {name} 0 0 0 0 {writes} 0 0 0 0 0 0\n");
        format!("TS {at_s} x\n{}{}", device("sda", sda), device("sdb", sdb))
    };
    let at_s = 1_795_862_600;
    write("1-diskstats", &(copy(at_s, 1, 1) + &copy(at_s + 1, 2, 1)));
    write(
        "2-diskstats",
        &(copy(at_s + 60, 5, 1) + &copy(at_s + 61, 8, 3)),
    );
    write("3-diskstats", "TS 1795862600 x\n");
    write("1-iostat", "no table\n");
    write("1-procstat", "TS 1795862600 x\ncpu 1 2 3\n");
    let reading = read_path(folder.path(), &FileOptions::default()).unwrap();
    let writes: Vec<(&str, &[f64])> = (reading.series.iter())
        .filter(|one| one.name.ends_with(" w/s"))
        .map(|one| (one.name.as_str(), one.values.as_slice()))
        .collect();
    assert_eq!(writes, [("sda w/s", &[1.0, 3.0][..]), ("sdb w/s", &[2.0])]);
    let source = folder.path().display().to_string();
    assert!(reading.series.iter().all(|one| one.source == source));
    let names: Vec<_> = (files_of(folder.path()).iter())
        .map(|path| path.file_name().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["1-diskstats", "2-diskstats", "3-diskstats"]);
    let skipped: Vec<&str> = (reading.skipped.iter())
        .map(|one| one.what.as_str())
        .collect();
    assert!(
        skipped.len() == 2 && skipped[1].ends_with("/3-diskstats"),
        "{skipped:?}"
    );
}

#[test]
fn a_trials_folder_has_the_series_of_its_tables() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("trial.json", "{}");
    write(
        "client.csv",
        "time,index_latency_p99_ms\n2026-11-01T00:00:00Z,5\n2026-11-01T00:00:01Z,6\n",
    );
    write(
        "host.csv",
        "time,cpu_steal,frequency\n2026-11-01T00:00:00Z,0.5,\n2026-11-01T00:00:01Z,0.25,\n",
    );
    let reading = read_path(folder.path(), &FileOptions::default()).unwrap();
    assert_eq!(names(&reading), ["index_latency_p99_ms", "cpu_steal"]);
    assert!(reading.skipped[0].what.ends_with("server.csv"));
}

#[test]
fn a_race_with_a_timestamp_of_its_own_is_a_race_and_rows_are_not() {
    let race = |more: &str| {
        format!(
            "{{\"@timestamp\":1,\"race-id\":\"a\",\"race-timestamp\":\"20260101T000000Z\",\"track\":\"t\"{more}}}"
        )
    };
    let results = ",\"results\":{\"op_metrics\":[{\"task\":\"root\",\"throughput\":{\"mean\":1.5,\"unit\":\"ops/s\"}}]}";
    let of_one = race(results);
    assert_eq!(detect("f", of_one.as_bytes()).unwrap(), Format::RallyRace);
    let of_several = race(
        &results
            .replace(":{\"op", ":[{\"op")
            .replace("}}]}", "}}]}]"),
    );
    assert_eq!(
        detect("f", of_several.as_bytes()).unwrap(),
        Format::RallyRace
    );
    let two_rows = format!("{of_one}\n{of_one}\n");
    assert_eq!(detect("f", two_rows.as_bytes()).unwrap(), Format::JsonLines);
    let row = race(",\"name\":\"throughput\",\"value\":1.5");
    assert_eq!(detect("f", row.as_bytes()).unwrap(), Format::JsonLines);
}
