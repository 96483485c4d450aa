use super::*;
use crate::Limits;
use crate::detect::read_text;
use std::fmt::Write as _;

#[test]
fn units_are_in_names() {
    for (name, unit) in [
        ("latency (ms)", Some("ms")),
        ("size [kB]", Some("kB")),
        ("latency_ms", Some("ms")),
        ("took.seconds", Some("seconds")),
        ("reads ops/s", Some("ops/s")),
        ("ms", None),
        ("items", None),
        ("x ()", None),
    ] {
        assert_eq!(unit_of(name).as_deref(), unit, "{name}");
    }
}

#[test]
fn numbers_and_words_for_none() {
    let cell = |text, quoted| Cell {
        column: 0,
        text,
        quoted,
        at: None,
    };
    assert_eq!(number(&cell(" -1.5e3 ", false), false), Ok(Some(-1500.0)));
    assert_eq!(number(&cell("1,5", false), true), Ok(Some(1.5)));
    assert_eq!(number(&cell("N/A", true), false), Ok(None));
    assert_eq!(number(&cell("-Inf", true), false), Ok(Some(f64::INFINITY)));
    assert!(number(&cell("1,5", false), false).is_err());
    assert!(number(&cell("1.000,5", false), true).is_err());
    assert!(number(&cell("5", true), false).is_err());
    assert!(number(&cell("infant", false), false).is_err());
}

#[test]
fn series_are_limited_whatever_the_labels() {
    let mut text = String::from("time,host,v\n");
    for index in 0..2_000 {
        let host = index % 1_000;
        writeln!(text, "2016-09-{:02},h{host},1", 1 + index / 1_000).unwrap();
    }
    let options = FileOptions {
        limits: Limits {
            series_max: 10,
            ..Limits::default()
        },
        label_columns: Some(vec!["host".to_owned()]),
        ..FileOptions::default()
    };
    let reading = read_text(&text, &options).unwrap();
    assert_eq!(reading.series.len(), 10);
    assert_eq!(reading.skipped[0].what, "1980 values of further series");
}

#[test]
fn columns_that_come_up_late_are_taken() {
    let mut text = String::new();
    for index in 0..1_500 {
        let late = if index >= 1_200 { ",\"late\":1" } else { "" };
        writeln!(text, "{{\"ts\":{},\"v\":2{late}}}", 1_474_853_400 + index).unwrap();
    }
    let reading = read_text(&text, &FileOptions::default()).unwrap();
    assert_eq!(reading.series.len(), 2);
    assert_eq!(reading.series[1].values.len(), 300);
}

#[test]
fn text_between_times_that_never_repeat_is_asked_about() {
    let mut text = String::from("time,state,v\n");
    for second in 0..10 {
        let state = if second < 8 { "ok" } else { "late" };
        writeln!(text, "{},{state},{second}", 1_474_853_400 + second).unwrap();
    }
    let reading = read_text(&text, &FileOptions::default()).unwrap();
    assert_eq!(reading.series.len(), 2);
    assert!(reading.warnings[0].starts_with("column state is taken to tell series apart"));
    let options = FileOptions {
        label_columns: Some(Vec::new()),
        ..FileOptions::default()
    };
    let reading = read_text(&text, &options).unwrap();
    assert_eq!(reading.series.len(), 1);
    assert_eq!(reading.series[0].values.len(), 10);
}

#[test]
fn a_number_that_may_be_a_time_is_one_where_nothing_else_is() {
    // In the order of JSON's fields, the bytes are first.
    let text = "{\"bytes\":1474853400,\"seen\":\"2016-09-26T01:30:00Z\"}\n\
                {\"bytes\":1474853401,\"seen\":\"2016-09-26T01:31:00Z\"}\n";
    let reading = read_text(text, &FileOptions::default()).unwrap();
    assert_eq!(reading.series[0].name, "bytes");
    assert_eq!(reading.series[0].values, [1_474_853_400.0, 1_474_853_401.0]);
}
