use super::*;
use proptest::prelude::*;

fn normalised(text: &str) -> String {
    Calendar::parse("test", text).expect(text).to_string()
}

/// The examples of systemd.time(7), "Calendar Events".
#[test]
fn manual_examples() {
    for (text, expected) in [
        (
            "Sat,Thu,Mon..Wed,Sat..Sun",
            "Mon..Thu,Sat,Sun *-*-* 00:00:00",
        ),
        ("Mon,Sun 12-*-* 2,1:23", "Mon,Sun 2012-*-* 01,02:23:00"),
        ("Wed *-1", "Wed *-*-01 00:00:00"),
        ("Wed..Wed,Wed *-1", "Wed *-*-01 00:00:00"),
        ("Wed, 17:48", "Wed *-*-* 17:48:00"),
        (
            "Wed..Sat,Tue 12-10-15 1:2:3",
            "Tue..Sat 2012-10-15 01:02:03",
        ),
        ("*-*-7 0:0:0", "*-*-07 00:00:00"),
        ("10-15", "*-10-15 00:00:00"),
        ("monday *-12-* 17:00", "Mon *-12-* 17:00:00"),
        ("Mon,Fri *-*-3,1,2 *:30:45", "Mon,Fri *-*-01,02,03 *:30:45"),
        ("12,14,13,12:20,10,30", "*-*-* 12,13,14:10,20,30:00"),
        ("12..14:10,20,30", "*-*-* 12..14:10,20,30:00"),
        ("mon,fri *-1/2-1,3 *:30:45", "Mon,Fri *-01/2-01,03 *:30:45"),
        ("03-05 08:05:40", "*-03-05 08:05:40"),
        ("08:05:40", "*-*-* 08:05:40"),
        ("05:40", "*-*-* 05:40:00"),
        ("Sat,Sun 12-05 08:05:40", "Sat,Sun *-12-05 08:05:40"),
        ("Sat,Sun 08:05:40", "Sat,Sun *-*-* 08:05:40"),
        ("2003-03-05 05:40", "2003-03-05 05:40:00"),
        (
            "05:40:23.4200004/3.1700005",
            "*-*-* 05:40:23.420000/3.170001",
        ),
        ("2003-02..04-05", "2003-02..04-05 00:00:00"),
        ("2003-03-05 05:40 UTC", "2003-03-05 05:40:00 UTC"),
        ("2003-03-05", "2003-03-05 00:00:00"),
        ("03-05", "*-03-05 00:00:00"),
        ("hourly", "*-*-* *:00:00"),
        ("daily", "*-*-* 00:00:00"),
        ("daily UTC", "*-*-* 00:00:00 UTC"),
        ("monthly", "*-*-01 00:00:00"),
        ("weekly", "Mon *-*-* 00:00:00"),
        (
            "weekly Pacific/Auckland",
            "Mon *-*-* 00:00:00 Pacific/Auckland",
        ),
        ("yearly", "*-01-01 00:00:00"),
        ("annually", "*-01-01 00:00:00"),
        ("*:2/3", "*-*-* *:02/3:00"),
    ] {
        assert_eq!(normalised(text), expected, "{text}");
    }
}

#[test]
fn shorthands_month_end_days_and_instants() {
    for (text, expected) in [
        ("minutely", "*-*-* *:*:00"),
        ("Quarterly", "*-01,04,07,10-01 00:00:00"),
        ("semi-annually utc", "*-01,07-01 00:00:00 UTC"),
        ("*-02~03", "*-02~03 00:00:00"),
        ("Mon *-05~07/1", "Mon *-05~07/1 00:00:00"),
        ("02~01", "*-02~01 00:00:00"),
        ("*-*~* 3:00", "*-*-* 03:00:00"),
        ("*-*~1,28", "*-*~01,28 00:00:00"),
        ("Mon..Sun 3:00", "*-*-* 03:00:00"),
        ("@1395716396", "2014-03-25 02:59:56 UTC"),
        ("*:*:*", "*-*-* *:*:*"),
        ("*:*:0..30/0.5", "*-*-* *:*:00..30/0.500000"),
        ("1..10/20:00", "*-*-* 01:00:00"),
        ("5..5:00", "*-*-* 05:00:00"),
        ("  Sun 03:10  ", "Sun *-*-* 03:10:00"),
        ("71-1-1", "1971-01-01 00:00:00"),
        ("07..23:30", "*-*-* 07..23:30:00"),
    ] {
        assert_eq!(normalised(text), expected, "{text}");
    }
    assert_eq!(
        Calendar::parse("t", "daily Europe/Berlin")
            .expect("valid")
            .zone()
            .and_then(TimeZone::iana_name),
        Some("Europe/Berlin")
    );
}

#[test]
fn errors_state_what_was_expected() {
    for (text, part) in [
        ("", "a calendar event"),
        ("UTC", "a number or *"),
        ("7", "a colon and the minute"),
        ("25:00", "an hour from 0 to 23"),
        ("*:60", "a minute from 0 to 59"),
        ("*:*:60", "a second from 0 to 59.999999"),
        ("*-13-*", "a month from 1 to 12"),
        ("*-*-32", "a day from 1 to 31"),
        ("*-*~29", "a day from 1 (the last of the month) to 28"),
        ("1969-1-1", "a year from 1970 to 2199"),
        ("2200-1-1", "a year from 1970 to 2199"),
        ("12..10:00", "a rising range"),
        ("*:0/60", "a repetition that comes round"),
        ("*:0/0", "a repetition above 0"),
        ("*:*:5..5", "a range of a second or more"),
        ("*:*:5.", "digits after the decimal point"),
        ("Fri..Mon", "a rising range Mon..Fri"),
        ("Mon..", "a weekday"),
        ("Mon,,Tue", "a weekday"),
        ("Mondays", "a weekday"),
        ("daily CEST", "a number or *"),
        ("2003-03-05T05:40", "`,`, `..`"),
        ("*~1-1", "the end of the date"),
        ("*-*~1~1", "a blank or the end after the date"),
        ("1:2:3:4", "the end of the calendar event"),
        ("@x", "seconds since"),
        ("99999999999999999999:00", "a number or *"),
    ] {
        let error = Calendar::parse("fstrim.timer", text).expect_err(text);
        assert!(error.expected.contains(part), "{text}: {error}");
        assert_eq!(error.source_name, "fstrim.timer");
    }
    let long = format!("{}1:00", "1,".repeat(300));
    assert!(Calendar::parse("t", &long).is_err());
}

proptest! {
    #[test]
    fn parsing_any_text_does_not_panic(text in "\\PC*") {
        let _ = Calendar::parse("test", &text);
    }

    #[test]
    fn display_round_trips(
        text in "((Mon|tue|Sunday|Fri)(,|\\.\\.|-)?){0,3} ?[-*/,.:~0-9]{0,12} ?[-*/,.:0-9]{0,14}( UTC| Asia/Tokyo)?"
    ) {
        if let Ok(read) = Calendar::parse("test", &text) {
            let printed = read.to_string();
            prop_assert_eq!(Calendar::parse("test", &printed), Ok(read), "{}", printed);
        }
    }
}
