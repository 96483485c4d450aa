use super::*;
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
            b"\nNov 22 10:00:00 host kernel: hello\n",
            "Nov 22 10:00:00 host kernel: hello",
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
    let error = read_text("\nx\n", &FileOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("f:2: expected CSV"), "{error}");
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
