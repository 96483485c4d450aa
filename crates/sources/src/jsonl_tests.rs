use crate::Reading;
use crate::detect::read_text;
use crate::testing::in_format;
use crate::{FileOptions, Format};
use proptest::prelude::*;

fn read(text: &str) -> Reading {
    read_text(text, &FileOptions::default()).unwrap()
}

fn error(text: &str) -> String {
    let options = in_format(Format::JsonLines);
    read_text(text, &options).unwrap_err().to_string()
}

const TWO: [&str; 2] = [
    "{\"@timestamp\":\"2016-09-26T01:30:00Z\",\"host\":{\"name\":\"a\"},\"disk\":{\"await_ms\":5.5,\"tags\":[1]},\"up\":true}",
    "{\"@timestamp\":\"2016-09-26T01:31:00Z\",\"host\":{\"name\":\"a\"},\"disk\":{\"await_ms\":6},\"up\":true,\"note\":null}",
];

fn check(reading: &Reading) {
    assert_eq!(reading.series.len(), 2);
    assert_eq!(reading.series[1].name, "up");
    assert_eq!(reading.series[1].values, [1.0, 1.0]);
    let one = &reading.series[0];
    assert_eq!(one.name, "disk.await_ms");
    assert_eq!(one.labels["host.name"], "a");
    assert_eq!(one.values, [5.5, 6.0]);
    assert_eq!(one.times_us[1] - one.times_us[0], 60_000_000);
    assert_eq!(one.unit.as_deref(), Some("ms"));
    assert_eq!(one.better, Some(facts::Better::Lower));
    assert!(reading.skipped.iter().any(|one| one.what == "1 list"));
}

#[test]
fn lines_and_arrays_are_equivalent() {
    check(&read(&format!("{}\n\n{}\n", TWO[0], TWO[1])));
    check(&read(&format!("[{},\n{}]", TWO[0], TWO[1])));
}

#[test]
fn numeric_times_and_named_fields() {
    let text = "{\"ts\":1474853400000,\"n\":1,\"m\":7}\n{\"ts\":1474853460000,\"n\":2,\"m\":8}\n";
    let options = FileOptions {
        value_columns: vec!["m".to_owned()],
        ..FileOptions::default()
    };
    let reading = read_text(text, &options).unwrap();
    assert_eq!(reading.series.len(), 1);
    assert_eq!(reading.series[0].values, [7.0, 8.0]);
    assert_eq!(reading.series[0].times_us[0], 1_474_853_400_000_000);
}

#[test]
fn errors_name_their_line() {
    let good = "{\"ts\":1474853400,\"v\":1}";
    for (text, expected) in [
        (
            format!("{good}\n{{\"ts\":1474853400,\"v\":}}\n"),
            "f:2:22: expected one JSON object a line, or an array of them, found \"expected value\"",
        ),
        (
            format!("{good}\n[1]\n"),
            "f:2: expected an object, found \"[1]\"",
        ),
        (
            format!("{good}\n{good}\n{{\"ts\":\"soon\",\"v\":1}}\n"),
            "f:3: expected seconds since 1970, found \"soon\"",
        ),
        (
            format!("[{good},\n{good},\n{{\"ts\":\"soon\",\"v\":1}},\n{good}]\n"),
            "f:3: expected seconds since 1970, found \"soon\"",
        ),
        (
            format!("{good}\n{good}\n{{\"ts\":1474853400,\"v\":\"x\"}}\n"),
            "f:3: expected a number in column v, found \"x\"",
        ),
        (
            format!("[{good},\n7]\n"),
            "f:2: expected an object, found \"7\"",
        ),
        (
            format!("[{good},\n"),
            "f:2:0: expected an array of JSON objects, found \"EOF while parsing a value\"",
        ),
        (
            "{\"a\":1}\n".to_owned(),
            "f:1: expected a column of times; name it, or the format of its times, found \
             \"the columns a\"",
        ),
        ("[]".to_owned(), "f: it has no rows"),
    ] {
        assert_eq!(error(&text), expected, "{text}");
    }
}

#[test]
fn deep_and_long_values_are_rejected() {
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let text = error(&format!("{{\"ts\":1474853400,\"v\":{deep}}}\n"));
    assert!(text.contains("recursion limit"), "{text}");
    let long = format!("[{{\"ts\":1474853400,\"v\":\"{}\"}}]", "x".repeat(9 << 20));
    assert!(error(&long).contains("8 MiB at most"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_parses_or_fails(text in "[a-z0-9{}\\[\\]\":,\\n. -]{0,120}") {
        let _ = error_or_reading(&text);
        let _ = error_or_reading(&format!("[{text}]"));
    }
}

fn error_or_reading(text: &str) -> Result<Reading, crate::SourceError> {
    let options = FileOptions {
        format: Some(Format::JsonLines),
        ..FileOptions::default()
    };
    read_text(text, &options)
}
