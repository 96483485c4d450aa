use crate::detect::read_text;
use crate::testing::{names, times};
use crate::{FileOptions, Format};
use crate::{Reading, Times};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use std::fmt::Write as _;

fn read(text: &str) -> Reading {
    read_text(text, &FileOptions::default()).unwrap()
}

fn error(text: &str) -> String {
    error_with(text, &FileOptions::default())
}

fn error_with(text: &str, options: &FileOptions) -> String {
    let options = FileOptions {
        format: Some(Format::Csv),
        ..options.clone()
    };
    read_text(text, &options).unwrap_err().to_string()
}

#[test]
fn one_column_of_times_and_others_of_values() {
    let reading = read(
        "Date,Throughput (ops/s),latency_ms,host\r\n\
         2016-09-26 01:30:00,1000,5.5,a\r\n\
         2016-09-27 01:30:00,900.5,6,a\r\n",
    );
    assert_eq!(names(&reading), ["Throughput (ops/s)", "latency_ms"]);
    let first = &reading.series[0];
    assert_eq!(
        times(first),
        ["2016-09-26T01:30:00Z", "2016-09-27T01:30:00Z"]
    );
    assert_eq!(first.values, [1000.0, 900.5]);
    assert_eq!(first.unit.as_deref(), Some("ops/s"));
    assert_eq!(first.better, Some(facts::Better::Higher));
    assert_eq!(first.labels["host"], "a");
    assert_eq!(reading.series[1].unit.as_deref(), Some("ms"));
    assert_eq!(reading.series[1].better, Some(facts::Better::Lower));
    assert!(first.notes.is_empty() && reading.skipped.is_empty());
}

#[test]
fn delimiters_are_detected() {
    for text in [
        "time,a,b\n2016-09-26,1.5,2\n",
        "time;a;b\n2016-09-26;1,5;2\n",
        "time\ta\tb\n2016-09-26\t1.5\t2\n",
        "time|a|b\n2016-09-26|1.5|2\n",
        "2016-09-26;1,5;2\n",
    ] {
        let reading = read(text);
        let values: Vec<f64> = reading.series.iter().map(|one| one.values[0]).collect();
        assert_eq!(values, [1.5, 2.0], "{text}");
    }
}

#[test]
fn without_a_header_columns_are_numbered() {
    let reading = read("1474853400,5\n1474853460,6\n");
    assert_eq!(names(&reading), ["column 2"]);
    assert_eq!(reading.series[0].values, [5.0, 6.0]);
}

#[test]
fn rows_of_several_hosts_are_several_series() {
    let reading = read(
        "time,host,value\n\
         2016-09-26T00:00:00Z,a,1\n\
         2016-09-26T00:00:00Z,b,10\n\
         2016-09-27T00:00:00Z,a,2\n\
         2016-09-27T00:00:00Z,b,20\n",
    );
    assert_eq!(names(&reading), ["value a", "value b"]);
    assert_eq!(reading.series[1].values, [10.0, 20.0]);
    assert_eq!(reading.series[1].labels["host"], "b");
    // Even if each of them occurs only once.
    let reading = read("time,host,value\n2016-09-26,a,1\n2016-09-26,b,10\n");
    assert_eq!(names(&reading), ["value a", "value b"]);
}

#[test]
fn metrics_in_rows_name_their_series() {
    let reading = read(
        "time,metric,value,unit\n\
         2016-09-26,throughput,1,ops/s\n2016-09-26,latency,10,ms\n\
         2016-09-27,throughput,2,ops/s\n2016-09-27,latency,11,ms\n",
    );
    assert_eq!(names(&reading), ["throughput", "latency"]);
    assert_eq!(reading.series[0].unit.as_deref(), Some("ops/s"));
    assert_eq!(reading.series[1].better, Some(facts::Better::Lower));
}

#[test]
fn free_text_is_skipped_and_reported() {
    let reading =
        read("time,value,remark\n2016-09-26,1,alpha\n2016-09-27,2,beta\n2016-09-28,3,gamma\n");
    assert_eq!(names(&reading), ["value"]);
    assert_eq!(reading.skipped[0].what, "columns remark");
}

#[test]
fn columns_can_be_named() {
    let text = "a,b,c,d\n2016-09-26,2017-01-01,1,2\n2016-09-27,2017-01-02,3,4\n";
    let options = FileOptions {
        time_column: Some("B".to_owned()),
        value_columns: vec!["4".to_owned()],
        ..FileOptions::default()
    };
    let reading = read_text(text, &options).unwrap();
    assert_eq!(names(&reading), ["d"]);
    assert_eq!(times(&reading.series[0])[0], "2017-01-01T00:00:00Z");
    let options = FileOptions {
        time_column: Some("when".to_owned()),
        ..FileOptions::default()
    };
    assert_eq!(
        error_with(text, &options),
        "f:2: expected a column when (times), found \"the columns a, b, c, d\""
    );
}

#[test]
fn counters_become_rates() {
    let options = FileOptions {
        counter_columns: vec!["bytes".to_owned()],
        ..FileOptions::default()
    };
    let text = "time,bytes\n1474853400,1000\n1474853410,1500\n1474853420,100\n1474853430,200\n";
    let reading = read_text(text, &options).unwrap();
    assert_eq!(reading.series[0].values, [50.0, 10.0]);
    assert_eq!(times(&reading.series[0])[0], "2016-09-26T01:30:10Z");
    assert!(
        reading.series[0]
            .notes
            .iter()
            .any(|note| note.contains("began anew 1 time"))
    );
}

#[test]
fn date_and_time_may_be_separate_columns() {
    let reading = read("Date;Time;v\n26.09.2016;01:30:00;1,5\n26.09.2016;01:31:00;2\n");
    assert_eq!(
        times(&reading.series[0]),
        ["2016-09-26T01:30:00Z", "2016-09-26T01:31:00Z"]
    );
    assert_eq!(reading.series[0].values, [1.5, 2.0]);
}

#[test]
fn cleaning_is_noted() {
    let reading = read(
        "time,v\n2016-09-27,2\n2016-09-26,1\n2016-09-26,1\n2016-09-28,\n2016-09-29,NaN\n\
         2016-09-30,inf\n,7\ntime,v\n2016-10-01,3\n",
    );
    assert_eq!(reading.series[0].values, [1.0, 2.0, 3.0]);
    assert_eq!(
        reading.series[0].notes,
        [
            "2 samples left out: without a value",
            "1 sample left out: no number, or infinite",
            "1 sample out of order: sorted",
            "1 sample repeated: merged",
        ]
    );
    assert_eq!(reading.warnings, ["1 repetition of the header passed over"]);
    assert_eq!(reading.skipped[0].what, "1 row");
}

#[test]
fn local_times_use_the_given_zone() {
    let options = FileOptions {
        times: Times {
            zone: TimeZone::get("America/New_York").unwrap(),
            ..Times::default()
        },
        ..FileOptions::default()
    };
    let reading = read_text("time,v\n2016-03-13 01:30,1\n2016-03-13 02:30,2\n", &options).unwrap();
    assert_eq!(
        times(&reading.series[0]),
        ["2016-03-13T06:30:00Z", "2016-03-13T07:30:00Z"]
    );
    assert!(
        reading.warnings[0].contains("the clocks skipped"),
        "{:?}",
        reading.warnings
    );
}

#[test]
fn quotes_blank_lines_and_comments() {
    let reading =
        read("# made by x\n\ntime,\"a, b\"\n2016-09-26,\"1.5\"\n\n# later\n2016-09-27,2\n");
    assert_eq!(names(&reading), ["a, b"]);
    assert_eq!(reading.series[0].values, [1.5, 2.0]);
    let reading = read("#time\tv\n2016-09-26\t1\n");
    assert_eq!(names(&reading), ["v"]);
}

#[test]
fn errors_name_line_and_column() {
    for (text, expected) in [
        (
            "time,v\n2016-09-26,1\n2016-09-27,2\nyesterday,3\n",
            "f:4:1: expected a date, like 2016-09-26, found \"yesterday\"",
        ),
        (
            "time,v\r\n2016-09-26,1\r\n\r\n2016-09-27,2\r\n2016-09-28,2\r\n2016-09-29,x2\r\n",
            "f:6:12: expected a number in column v, found \"x2\"",
        ),
        (
            "time,v\n2016-09-26,1\n\"2016-09-27\",\"two\"\n2016-09-28,3\n2016-09-28,3\n",
            "f:3: expected a number in column v, found \"two\"",
        ),
        (
            "time,v,\"a\n\nb\"\n2016-09-26,1,2\n2016-09-27,2\n",
            "f:5: expected 3 columns, as in line 1, found \"2 columns\"",
        ),
        (
            "time,v\n1474853400,1\n1474853400000,2\n",
            "f:3:1: expected seconds since 1970, found \"1474853400000\"",
        ),
        (
            "time,v\n04/05/2020,1\n",
            "f:2: expected a time whose day and month can be told apart; name its format, like \
             %m/%d/%Y %H:%M:%S, found \"04/05/2020\"",
        ),
        (
            "date,time,v\nmonday,noon,1\n",
            "f:2: expected times in column time; name their format, or another column, found \"noon\"",
        ),
        (
            "time;v\n2016-09-26;1,5\n2016-09-27;1.5\n",
            "f:3:12: expected a number with a decimal comma in column v, found \"1.5\"",
        ),
        (
            "time,v\n2016-09-26,x\n",
            "f:2: expected a column of numbers, found \"the columns time, v\"",
        ),
        (
            include_str!("../tests/data/rally-report.csv"),
            "f:2: expected a column of times; name it, or the format of its times, found \
             \"the columns Metric, Task, Value, Unit\"",
        ),
        (
            "time,v\n2016-09-26,1\n\nx,\"\n2016-09-27,2\n2016-09-28,3\n",
            "f:4: expected a record whose quotes are closed, found \"a quote that is still open at \
             the end of the file\"",
        ),
        (
            "time,v\r\n2016-09-26,1\r\n2016-09-27,\"2\"\"\r\n2016-09-28,3",
            "f:3: expected a record whose quotes are closed, found \"a quote that is still open at \
             the end of the file\"",
        ),
        (
            "time,v\n2016-09-26,1\nx,y,\"z\n2016-09-27\",2\n2016-09-28,3\n",
            "f:3: expected 2 columns, as in line 1, found \"4 columns\"",
        ),
        ("time,v\n", "f: it has no rows"),
        (
            "time,v\n2016-09-26,\n",
            "f:2: expected a column of numbers, found \"the columns time, v\"",
        ),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
}

#[test]
fn an_unclosed_quote_does_not_exhaust_memory() {
    let mut text = String::from("time,v\n2016-09-26,1\n2016-09-27,\"");
    text.push_str(&"x".repeat(9 << 20));
    for text in [text.clone(), text.replace('\n', "\r\n")] {
        let error = error(&text);
        assert!(
            error.contains("f:3: expected lines and records of 8 MiB at most"),
            "{error}"
        );
    }
}

#[test]
fn times_outside_the_range_are_skipped() {
    let options = FileOptions {
        times: Times {
            since: Some("2016-09-27T00:00:00Z".parse().unwrap()),
            until: Some("2016-09-28T00:00:00Z".parse().unwrap()),
            ..Times::default()
        },
        ..FileOptions::default()
    };
    let reading = read_text("t,v\n2016-09-26,1\n2016-09-27,2\n2016-09-28,3\n", &options).unwrap();
    assert_eq!(reading.series[0].values, [2.0]);
}

#[test]
fn quotes_closed_at_the_end_of_file_are_parsed() {
    for end in ["", "\n", "\r\n", "\n\n", "\r\n\r\n"] {
        for cell in ["2", "\"2\"", "\"2\n\"", "\"\n2\n\""] {
            let text = format!("time,v\n2016-09-26,1\n2016-09-27,{cell}{end}");
            assert_eq!(read(&text).series[0].values, [1.0, 2.0], "{text:?}");
        }
    }
}

#[test]
fn almost_numeric_text_gets_a_hint() {
    let refuse = |text: &str| {
        read_text(text, &FileOptions::default())
            .unwrap_err()
            .to_string()
    };
    let (commas, unit) = (
        "decimal commas are read where semicolons, tabs or bars separate columns",
        "without its unit, which may stand in the column's name",
    );
    let day = "2026-01-01 00:00";
    for (text, found, way) in [
        (
            format!("time,latency\n{day},\"103,86\"\n"),
            "f:2: expected a number in column latency (",
            commas,
        ),
        (
            format!("time,latency\n{day},103.9 ms\n"),
            "f:2:18: expected a number in column latency (",
            unit,
        ),
        (
            format!("time,latency\n{day},NaN\n{day},\n{day},7%\n"),
            "f:4:18: expected a number in column latency (",
            unit,
        ),
        // One of several numeric columns.
        (
            format!("time,latency\n{day},1\n{day},2\n{day},\"3,5\"\n"),
            "f:4: expected a number in column latency (",
            commas,
        ),
        (
            format!("time,latency_ms\n{day},103,86\n"),
            "f:2: expected 2 columns, as in line 1 (",
            "let semicolons or tabs separate columns",
        ),
        // Not a number, and no hint how to fix it.
        (
            format!("time,latency\n{day},1.2.3\n"),
            "f:2:18: expected a number in column latency, found \"1.2.3\"",
            "",
        ),
        // As many numbers as other texts: the first that is none is named.
        (
            format!("time,latency\n{day},1\n{day},x\n"),
            "f:3:18: expected a number in column latency, found \"x\"",
            "",
        ),
        (
            format!("time,what\n{day},slow\n"),
            "f:2: expected a column of numbers, found \"the columns time, what\"",
            "",
        ),
        (
            format!("time,a\n{day},x,y\n"),
            "f:2: expected 2 columns, as in line 1, found \"3 columns\"",
            "",
        ),
    ] {
        let told = refuse(&text);
        assert!(
            told.starts_with(found) && told.contains(way),
            "{text}: {told}"
        );
    }
    let told = refuse(&format!("time,latency\n{day},\"103,86\"\n"));
    assert!(told.ends_with("found \"103,86\""), "{told}");
}

fn quoted(cell: &str) -> String {
    format!("\"{}\"", cell.replace('"', "\"\""))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Written values are read back, whatever the delimiter and the quotes.
    #[test]
    fn written_values_round_trip(
        rows in prop::collection::btree_map(0_i64..4_000_000_000, (-1e12_f64..1e12, any::<u32>()), 1..40),
        delimiter in prop::sample::select(vec![',', ';', '\t', '|']),
        quotes: bool,
        crlf: bool,
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let mut text = format!("time{delimiter}one{delimiter}two{end}");
        for (seconds, (one, two)) in &rows {
            let at = Timestamp::from_second(*seconds).unwrap().to_string();
            let at = if quotes { quoted(&at) } else { at };
            write!(text, "{at}{delimiter}{one}{delimiter}{two}{end}").unwrap();
        }
        let reading = read(&text);
        prop_assert_eq!(names(&reading), ["one", "two"]);
        let times: Vec<i64> = rows.keys().map(|seconds| seconds * 1_000_000).collect();
        let one: Vec<f64> = rows.values().map(|row| row.0).collect();
        let two: Vec<f64> = rows.values().map(|row| f64::from(row.1)).collect();
        prop_assert_eq!(&reading.series[0].times_us, &times);
        prop_assert_eq!(&reading.series[0].values, &one);
        prop_assert_eq!(&reading.series[1].values, &two);
        prop_assert!(reading.series.iter().all(|one| one.notes.is_empty()));
    }

    #[test]
    fn any_text_parses_or_fails(text in "[a-z0-9,;\\t|\"\\n\\r#:. -]{0,200}") {
        let _ = read_text(&text, &FileOptions { format: Some(Format::Csv), ..FileOptions::default() });
    }
}
