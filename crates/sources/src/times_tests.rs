use super::*;
use proptest::prelude::*;

fn reader(zone: &str) -> TimeReader {
    let times = Times {
        zone: TimeZone::get(zone).unwrap(),
        ..Times::default()
    };
    TimeReader::new(&times, None)
}

fn us(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_microsecond()
}

#[test]
fn every_format_is_parsed() {
    let expected = us("2016-09-25T23:30:00Z");
    for text in [
        "2016-09-26 01:30:00",
        "2016-09-26T01:30:00",
        "2016-09-26T01:30",
        "2016-09-26 01:30:00.000",
        "20160926T013000",
        "20160926013000",
        "2016/09/26 01:30:00",
        "2016-09-25T23:30:00Z",
        "2016-09-25 23:30:00 UTC",
        "2016-09-26T01:30:00+02:00",
        "2016-09-26T01:30:00+0200",
        "2016-09-26 01:30:00 +0200",
        "20160925T233000Z",
        "2016-09-26T01:30:00+02:00[Europe/Berlin]",
        "1474846200",
        "1474846200.0",
        "1474846200000",
        "1474846200000000",
        "1474846200000000000",
        "26/Sep/2016:01:30:00 +0200",
        "26.09.2016 01:30:00",
        "26.09.2016 01:30",
        "26/09/2016 01:30:00",
        "09/26/2016 01:30:00 AM",
    ] {
        assert_eq!(
            reader("Europe/Berlin").read_us(text),
            Ok(expected),
            "{text}"
        );
    }
    let midnight = us("2016-09-25T22:00:00Z");
    for text in ["2016-09-26", "20160926", "2016/09/26", "26.09.2016"] {
        assert_eq!(
            reader("Europe/Berlin").read_us(text),
            Ok(midnight),
            "{text}"
        );
    }
}

#[test]
fn fractions_keep_their_digits() {
    let mut seconds = reader("UTC");
    assert_eq!(
        seconds.read_us("1474846200.123456"),
        Ok(1_474_846_200_123_456)
    );
    assert_eq!(seconds.read_us("1.4748462005e9"), Ok(1_474_846_200_500_000));
    let mut nanos = reader("UTC");
    assert_eq!(
        nanos.read_us("1474846200123456789"),
        Ok(1_474_846_200_123_456)
    );
    assert_eq!(
        reader("UTC").read_us("1474846200123.5"),
        Ok(1_474_846_200_123_500)
    );
}

#[test]
fn a_named_format_is_used() {
    let times = Times::default();
    for (format, text, expected) in [
        ("%m/%d/%Y %H:%M", "04/05/2020 06:47", "2020-04-05T06:47:00Z"),
        ("%d/%m/%Y", "04/05/2020", "2020-05-04T00:00:00Z"),
        (
            "%Y-%j %H:%M %z",
            "2020-096 06:47 +0100",
            "2020-04-05T05:47:00Z",
        ),
        ("s", "60", "1970-01-01T00:01:00Z"),
        ("ms", "60000", "1970-01-01T00:01:00Z"),
        ("ns", "1500", "1970-01-01T00:00:00.000001Z"),
    ] {
        let mut reader = TimeReader::new(&times, Some(format));
        assert_eq!(reader.read_us(text), Ok(us(expected)), "{format}");
    }
    let mut reader = TimeReader::new(&times, Some("%Y"));
    assert_eq!(
        reader.read_us("soon"),
        Err("a time of the format %Y".to_owned())
    );
}

#[test]
fn ambiguous_dates_are_rejected_with_a_hint() {
    let error = reader("UTC").read_us("04/05/2020 06:47:01").unwrap_err();
    assert!(error.contains("name its format, like %m/%d/%Y"), "{error}");
    // One more value decides it.
    let mut told = reader("UTC");
    told.detect_format(["04/05/2020", "04/13/2020"].into_iter())
        .unwrap();
    assert_eq!(told.read_us("04/05/2020"), Ok(us("2020-04-05T00:00:00Z")));
    assert!(told.read_us("13/04/2020").is_err());
}

#[test]
fn a_column_has_one_format() {
    for (first, second) in [
        ("2016-09-26T01:30:00Z", "2016-09-26T01:30:00"),
        ("2016-09-26T01:30:00", "2016-09-26T01:30:00Z"),
        ("2016-09-26", "2016-09-26 01:30"),
        ("1474846200", "1474846200000"),
        ("1474846200000", "1474846200"),
        ("2016-09-26T01:30:00Z", "1474846200"),
    ] {
        let mut reader = reader("UTC");
        reader.read_us(first).unwrap();
        assert!(reader.read_us(second).is_err(), "{first} {second}");
    }
}

#[test]
fn invalid_times_are_rejected() {
    for text in [
        "",
        "x",
        "12",
        "0.5",
        "2016",
        "2016-13-01",
        "26/Foo/2016:01:30:00 +0000",
        "1/2",
        "99/99/2020",
        "2016-09-26 25:00",
        "1e400",
        "-1",
        "24:00",
        "1474846200 x",
    ] {
        assert!(reader("UTC").read_us(text).is_err(), "{text}");
    }
}

#[test]
fn times_in_a_clock_gap_are_shifted_and_noted() {
    let mut reader = reader("America/New_York");
    // 02:30 does not exist on that day; 03:30 EDT is 07:30 UTC.
    assert_eq!(
        reader.read_us("2016-03-13 02:30:00"),
        Ok(us("2016-03-13T07:30:00Z"))
    );
    assert!(reader.notes()[0].starts_with("1 local time in the hour that the clocks skipped"));
}

#[test]
fn repeated_hours_are_disambiguated_by_order() {
    let mut reader = reader("America/New_York");
    let mut read = |text: &str| reader.read_us(text).unwrap();
    assert_eq!(read("2016-11-06 01:00:00"), us("2016-11-06T05:00:00Z"));
    assert_eq!(read("2016-11-06 01:30:00"), us("2016-11-06T05:30:00Z"));
    assert_eq!(read("2016-11-06 01:00:00"), us("2016-11-06T06:00:00Z"));
    assert_eq!(read("2016-11-06 01:30:00"), us("2016-11-06T06:30:00Z"));
    assert_eq!(read("2016-11-06 02:00:00"), us("2016-11-06T07:00:00Z"));
    assert!(reader.notes()[0].starts_with("4 local times in the hour that came twice"));
}

#[test]
fn differing_offsets_are_noted() {
    let mut reader = reader("UTC");
    reader.read_us("2016-03-13T02:30:00+01:00").unwrap();
    reader.read_us("2016-07-13T02:30:00+02:00").unwrap();
    assert_eq!(reader.notes(), ["times name different offsets: +01, +02"]);
}

#[test]
fn twelve_hour_clocks() {
    let at = |text: &str| clock(text).map(|(time, _)| time.to_string());
    assert_eq!(at("12:00:01 AM").as_deref(), Some("00:00:01"));
    assert_eq!(at("12:30 PM").as_deref(), Some("12:30:00"));
    assert_eq!(at("11:30:00 pm").as_deref(), Some("23:30:00"));
    assert_eq!(at("13:30:00 PM"), None);
    assert_eq!(at("1:2:3:4"), None);
}

proptest! {
    #[test]
    fn any_text_parses_or_fails(text in "\\PC{0,40}") {
        let _ = reader("America/New_York").read_us(&text);
        let _ = TimeReader::new(&Times::default(), Some(&text)).read_us("2016-09-26");
    }

    #[test]
    fn text_that_looks_like_times(text in "[0-9TZ:+/. AMP-]{1,30}") {
        if let Ok(at) = reader("UTC").read_us(&text) {
            prop_assert!(Timestamp::from_microsecond(at).is_ok());
        }
    }

    #[test]
    fn formatted_times_round_trip(seconds in 100_000_000_i64..9_999_999_999) {
        let at = Timestamp::from_second(seconds).unwrap();
        let expected = Ok(at.as_microsecond());
        prop_assert_eq!(&reader("UTC").read_us(&at.to_string()), &expected);
        prop_assert_eq!(&reader("UTC").read_us(&seconds.to_string()), &expected);
        prop_assert_eq!(&reader("UTC").read_us(&format!("{seconds}000")), &expected);
        prop_assert_eq!(&reader("UTC").read_us(&format!("{seconds}000000000")), &expected);
        for format in ["%d/%b/%Y:%H:%M:%S %z", "%Y-%m-%d %H:%M:%S", "%Y%m%dT%H%M%SZ", "%d.%m.%Y %H:%M:%S"] {
            let text = at.to_zoned(TimeZone::UTC).strftime(format).to_string();
            prop_assert_eq!(&reader("UTC").read_us(&text), &expected, "{}", text);
        }
    }
}

#[test]
fn formats_are_checked_before_anything_is_read() {
    for format in [
        "s",
        "ns",
        "%Y-%m-%d %H:%M:%S",
        "%m/%d/%y",
        "%d.%m.%Y %H:%M",
        "%d/%b/%Y:%H:%M:%S %z",
        "%Y-%m-%dT%H:%M:%S%.f",
        "%Y-%m-%d %H:%M:%S.%f",
        "%F %T",
        "%s",
        "%A, %e %B %Y, %I:%M %p",
        "%Y%j",
        "%a %b %d %T %Y",
        "%-d.%-m.%Y",
        "%Y-%m-%d %H:%M:%S %Q",
        "%%%Y-%m-%d",
    ] {
        assert_eq!(check_format(format), Ok(()), "{format}");
    }
    for (format, named) in [
        ("%Q", "no day"),
        ("%H:%M", "no day"),
        ("YYYY-MM-DD", "no day"),
        ("", "no day"),
        ("%Y-%m-%d %K:%M", "\"%K\""),
        ("%Y-%m-%d %", "\"%\""),
        ("%Y-%ü-%d", "\"%ü\""),
        ("%Y-%m-%d %H:%M %Z", "\"%Z\""),
    ] {
        let told = check_format(format).unwrap_err();
        assert!(
            told.contains(named) && told.contains("%Y-%m-%d"),
            "{format}: {told}"
        );
    }
}
