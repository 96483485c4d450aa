use super::*;
use crate::Limits;
use crate::detect::read_text;
use std::fmt::Write as _;

#[test]
fn units_are_extracted_from_names() {
    for (name, unit) in [
        ("latency (ms)", Some("ms")),
        ("size [kB]", Some("kB")),
        ("latency_ms", Some("ms")),
        ("took.seconds", Some("seconds")),
        ("reads ops/s", Some("ops/s")),
        ("throughput_ops_s", Some("ops/s")),
        ("bytes_per_second", Some("bytes/s")),
        ("hits_per_s", Some("hits/s")),
        ("http errors per sec", Some("errors/s")),
        ("cache.Evictions.Per.Second", Some("Evictions/s")),
        ("per_s", None),
        ("took_s", Some("s")),
        ("ms", None),
        ("items", None),
        ("x ()", None),
    ] {
        assert_eq!(unit_of(name).as_deref(), unit, "{name}");
    }
}

#[test]
fn numbers_and_missing_values() {
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
    assert_eq!(reading.skipped[0].what, "1,980 values of further series");
}

#[test]
fn late_columns_are_read() {
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
fn recurring_text_with_unique_times_gives_a_warning() {
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
fn numeric_times_are_used_when_nothing_else_is_a_time() {
    // In the order of the JSON fields, `bytes` comes first.
    let text = "{\"bytes\":1474853400,\"seen\":\"2016-09-26T01:30:00Z\"}\n\
                {\"bytes\":1474853401,\"seen\":\"2016-09-26T01:31:00Z\"}\n";
    let reading = read_text(text, &FileOptions::default()).unwrap();
    assert_eq!(reading.series[0].name, "bytes");
    assert_eq!(reading.series[0].values, [1_474_853_400.0, 1_474_853_401.0]);
}

/// A table with a column of times and `columns` others, with two rows.
fn wide(columns: usize, cell: impl Fn(usize, usize) -> String) -> String {
    wide_of(2, columns, cell)
}

fn wide_of(rows: usize, columns: usize, cell: impl Fn(usize, usize) -> String) -> String {
    let mut text = String::from("time");
    for column in 0..columns {
        write!(text, ",c{column}").unwrap();
    }
    for row in 0..rows {
        write!(text, "\n2026-01-0{} 00:00:00", row + 1).unwrap();
        for column in 0..columns {
            write!(text, ",{}", cell(column, row)).unwrap();
        }
    }
    text
}

#[test]
fn cells_of_new_series_are_read_a_constant_number_of_times() {
    use std::cell::Cell as Counter;
    // The number of reads of a cell in the initial rows.
    let asked = |columns: usize| {
        let options = FileOptions {
            label_columns: Some(vec!["host".to_owned()]),
            ..FileOptions::default()
        };
        let mut table = Table::new("f", &options, false);
        table.add_column("time");
        table.add_column("host");
        (0..columns).for_each(|column| table.add_column(&format!("c{column}")));
        let count = Counter::new(0_usize);
        let count = &count;
        // The initial rows are kept, and their cells are looked up differently.
        for row in 0..=SAMPLE_ROWS {
            count.set(0);
            let time = format!("{}", 1_474_853_400 + row);
            let host = if row < SAMPLE_ROWS { "a" } else { "b" };
            let cells = (0..columns + 2).map(|column| {
                count.set(count.get() + 1);
                Cell {
                    column,
                    text: [time.as_str(), host, "1"][column.min(2)],
                    quoted: false,
                    at: None,
                }
            });
            table.row(row + 1, cells).unwrap();
        }
        assert_eq!(table.finish().unwrap().series.len(), columns * 2);
        count.get()
    };
    let (few, many) = (asked(20), asked(200));
    assert!(many <= few * 20, "{few} {many}");
}

#[test]
fn very_wide_tables_are_read() {
    // Each cell in its place, in a table where scanning all columns for each cell would take the square of
    // a hundred thousand steps.
    let columns = 99_999;
    let text = wide(columns, |column, row| format!("{}", column * 2 + row));
    let reading = read_text(&text, &FileOptions::default()).unwrap();
    let limit = Limits::default().series_max;
    assert_eq!(reading.series.len(), limit);
    for index in [0, 1, limit - 1] {
        assert_eq!(reading.series[index].name, format!("c{index}"));
        let first = u32::try_from(index * 2).unwrap();
        let expected = [f64::from(first), f64::from(first + 1)];
        assert_eq!(reading.series[index].values, expected);
    }
    let beyond = 2 * (columns - limit);
    assert_eq!(
        reading.skipped[0].what,
        format!("{} values of further series", units::grouped(beyond as u64))
    );
    // The last column, if it is the one that is wanted.
    let options = FileOptions {
        value_columns: vec!["c99998".to_owned()],
        ..FileOptions::default()
    };
    let reading = read_text(&text, &options).unwrap();
    assert_eq!(reading.series[0].values, [199_996.0, 199_997.0]);
}

#[test]
fn columns_and_labels_are_limited() {
    let refuse = |text: &str, options: &FileOptions| {
        let error = read_text(text, options).unwrap_err();
        assert!(matches!(error, SourceError::Input(_)), "{error}");
        error.to_string()
    };
    // Nothing but commas: 100,001 columns.
    let text = format!("time,v{}\n", ",".repeat(99_999));
    assert_eq!(
        refuse(&text, &FileOptions::default()),
        "f:1: expected 100000 columns at most: cut the file to those that are wanted, found \
         \"100001 columns\""
    );
    // Four rows: two alternating words, or a constant one, beside a value.
    let words = |differing: usize, constant: usize| {
        wide_of(4, 1 + differing + constant, |column, row| match column {
            0 => format!("{row}"),
            _ if column <= differing => ["one", "two"][row % 2].to_owned(),
            _ => "same".to_owned(),
        })
    };
    let series = |text: &str| {
        let reading = read_text(text, &FileOptions::default()).unwrap();
        reading.series.len()
    };
    // Constant columns do not count towards that limit.
    assert_eq!(series(&words(64, 192)), 2);
    assert_eq!(series(&words(0, 256)), 1);
    let expected = "f:2: expected at most 64 columns of text that recurs and differs, and 256 with \
                    those of one text: name those that tell series apart, found";
    let text = words(65, 0);
    assert_eq!(
        refuse(&text, &FileOptions::default()),
        format!("{expected} \"65, and 0 of one text\"")
    );
    assert_eq!(
        refuse(&words(64, 193), &FileOptions::default()),
        format!("{expected} \"64, and 193 of one text\"")
    );
    let options = FileOptions {
        label_columns: Some(vec!["c1".to_owned()]),
        ..FileOptions::default()
    };
    assert_eq!(read_text(&text, &options).unwrap().series.len(), 2);
}

#[test]
fn documents_with_many_constant_labels_are_read() {
    // As in a metrics document: 65 constant fields about the agent, the cloud and the host.
    let about: String = (0..65).fold(String::new(), |mut about, field| {
        write!(about, ",\"agent.f{field}\":\"same\"").unwrap();
        about
    });
    let line = |second: usize, host: &str| {
        let second = 1_474_853_400 + second;
        format!("{{\"ts\":{second},\"load\":{second},\"host\":\"{host}\"{about}}}\n")
    };
    let text: String = (0..4)
        .map(|row| line(row / 2, ["a", "b"][row % 2]))
        .collect();
    let reading = read_text(&text, &FileOptions::default()).unwrap();
    assert_eq!(reading.series.len(), 2);
    assert_eq!(reading.series[0].labels["host"], "a");
}

#[test]
fn duplicate_field_names_in_a_row_are_both_read() {
    // `a.b` twice: one text per row counts, but both values are read.
    let text = "{\"ts\":1474853400,\"a\":{\"b\":1},\"a.b\":3}\n\
                {\"ts\":1474853401,\"a\":{\"b\":5},\"a.b\":5}\n";
    let reading = read_text(text, &FileOptions::default()).unwrap();
    assert_eq!(reading.series.len(), 1);
    assert_eq!(reading.series[0].values, [2.0, 5.0]);
}
