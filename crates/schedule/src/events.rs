//! User-supplied lists of events: deployments, backups and the like.

use crate::run::{Delays, Run, Seen};
use crate::zone::wall_instants;
use facts::InputError;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::collections::HashMap;

/// Maximum number of events read.
pub const EVENTS_MAX: usize = 1_000_000;

/// Maximum number of different names.
const NAMES_MAX: usize = 10_000;

/// Maximum line length, in bytes.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Maximum duration of an event, in seconds: a year.
const LEN_MAX_S: f64 = 366.0 * 86_400.0;

/// Events with the same name.
#[derive(Debug, Clone, PartialEq)]
pub struct Events {
    /// The name from the list, or that of the list itself.
    pub name: String,
    /// Each event as a run, sorted by earliest start.
    pub runs: Vec<Run>,
}

const EXPECTED_TIME: &str =
    "a time: 2024-06-09T06:47:01+02:00, 2024-06-09 06:47, 2024-06-09, or seconds since 1970";

/// Headings of the time column.
const HEADS: &[&str] = &[
    "at",
    "date",
    "datetime",
    "deployed_at",
    "start",
    "started_at",
    "time",
    "timestamp",
    "when",
];

/// Parses a list of events. A line holds a time, optionally followed by a name and a duration in
/// seconds, separated by commas (`2024-06-09 06:47,release 41,90`). Empty lines, lines starting
/// with `#` and a heading in the first line are skipped. `source` is the name of the list; events
/// without a name get its file name. Fields may be enclosed in double quotes, as in RFC 4180.
///
/// A time without an offset is interpreted in `zone`. If the clock showed it twice, the event is at
/// either instant; if the clock skipped it, that is an error. A date without a time is an event at
/// some time during that day. Numbers are Unix times in seconds or, depending on their magnitude,
/// milliseconds, microseconds or nanoseconds.
///
/// # Errors
/// If a line cannot be parsed (the first such line is reported), or if there are no events at all.
pub fn parse_events(source: &str, text: &str, zone: &TimeZone) -> Result<Vec<Events>, InputError> {
    let default_name = default_name(source);
    let mut lists: Vec<Events> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut count = 0;
    let mut may_be_heading = true;
    for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
        let wrong =
            |expected: &str, found: &str| InputError::new(source, expected, found).at_line(number);
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        if line.len() > LINE_BYTES_MAX {
            return Err(wrong("a line of at most 64 KiB", line));
        }
        let fields = fields(line).map_err(|found| wrong("a closing double quote", found))?;
        let time = fields.first().map_or("", |field| field.trim());
        let Some((earliest, latest)) = moment(time, zone) else {
            if std::mem::take(&mut may_be_heading)
                && HEADS.contains(&time.to_ascii_lowercase().as_str())
            {
                continue;
            }
            return Err(wrong(EXPECTED_TIME, time).at_column(1));
        };
        may_be_heading = false;
        if fields.len() > 3 {
            return Err(wrong(
                "at most a time, a name and a length in seconds",
                &fields[3],
            ));
        }
        let len_s = match fields.get(2).map(|field| field.trim()) {
            None | Some("") => None,
            Some(text) => {
                let len_s = text.parse::<f64>().ok();
                let is_span = |len_s: &f64| (0.0..=LEN_MAX_S).contains(len_s);
                Some(
                    len_s
                        .filter(is_span)
                        .ok_or_else(|| wrong("a length in seconds, from 0 to a year", text))?,
                )
            }
        };
        let name = match fields.get(1).map(|field| field.trim()) {
            None | Some("") => &default_name,
            Some(name) => name,
        };
        count += 1;
        if count > EVENTS_MAX {
            return Err(wrong("at most 1,000,000 events", line));
        }
        let place = if let Some(&place) = places.get(name) {
            place
        } else {
            if lists.len() == NAMES_MAX {
                return Err(wrong("at most 10,000 names", name));
            }
            places.insert(name.to_owned(), lists.len());
            lists.push(Events {
                name: name.to_owned(),
                runs: Vec::new(),
            });
            lists.len() - 1
        };
        lists[place].runs.push(Run {
            job: name.to_owned(),
            earliest,
            latest,
            delays: Delays::Either,
            len_s,
            seen: Seen::Given,
            evidence: format!("{source}:{number}").into(),
        });
    }
    if lists.is_empty() {
        return Err(InputError::new(source, EXPECTED_TIME, ""));
    }
    for events in &mut lists {
        events.runs.sort_by_key(|run| (run.earliest, run.latest));
    }
    Ok(lists)
}

/// Returns the file name of a source without its extension.
fn default_name(source: &str) -> String {
    let file = source.rsplit('/').next().unwrap_or(source);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let name = if stem.is_empty() { file } else { stem };
    if name.is_empty() { "events" } else { name }.to_owned()
}

/// Splits a line into its unquoted fields; the error is the field with an unterminated quote.
fn fields(line: &str) -> Result<Vec<String>, &str> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let quoted = rest.trim_start();
        let Some(mut inner) = quoted.strip_prefix('"') else {
            let Some((field, after)) = rest.split_once(',') else {
                fields.push(rest.to_owned());
                return Ok(fields);
            };
            fields.push(field.to_owned());
            rest = after;
            continue;
        };
        let mut field = String::new();
        let after = loop {
            let (part, after) = inner.split_once('"').ok_or(quoted)?;
            field.push_str(part);
            match after.strip_prefix('"') {
                Some(more) => {
                    field.push('"');
                    inner = more;
                }
                None => break after,
            }
        };
        fields.push(field);
        match after.trim_start() {
            "" => return Ok(fields),
            after => rest = after.strip_prefix(',').ok_or(quoted)?,
        }
    }
}

/// Parses a time as an interval: a single instant twice, or the range of an imprecise time.
fn moment(text: &str, zone: &TimeZone) -> Option<(Timestamp, Timestamp)> {
    let digits = text.strip_prefix('@').unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        let at = since_epoch(digits)?;
        return Some((at, at));
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some((at, at));
    }
    // jiff treats the time as optional; a date alone means the whole day here.
    if text.len() == 10 {
        let day: Date = text.parse().ok()?;
        let begin = zone.to_zoned(day.at(0, 0, 0, 0)).ok()?.timestamp();
        let next = zone.to_zoned(day.tomorrow().ok()?.at(0, 0, 0, 0)).ok()?;
        let end = next
            .timestamp()
            .checked_sub(SignedDuration::from_micros(1))
            .ok()?;
        return Some((begin, end.max(begin)));
    }
    let wall = text
        .parse::<DateTime>()
        .or_else(|_| text.replace('/', "-").parse::<DateTime>())
        .ok()?;
    wall_instants(wall, zone)
}

/// Parses a number of seconds, milliseconds, microseconds or nanoseconds. Each unit's values are a
/// thousand times those of the one before, so the ranges do not overlap from 1973 to the year 5138.
fn since_epoch(digits: &str) -> Option<Timestamp> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if fraction.contains('.') || whole.is_empty() {
        return None;
    }
    let value: i64 = whole.parse().ok()?;
    let microseconds = match whole.len() {
        0..=11 => {
            let six = format!("{fraction:0<6}");
            let part: i64 = six.get(..6)?.parse().ok()?;
            value.checked_mul(1_000_000)?.checked_add(part)?
        }
        12..=14 => value.checked_mul(1_000)?,
        15..=17 => value,
        _ => value / 1_000,
    };
    Timestamp::from_microsecond(microseconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_zone;
    use proptest::prelude::*;

    fn berlin() -> TimeZone {
        parse_zone("Europe/Berlin").expect("known")
    }

    fn read(text: &str) -> Vec<Events> {
        parse_events("lists/deploys.csv", text, &berlin()).expect("readable")
    }

    fn shown(run: &Run) -> String {
        if run.earliest == run.latest {
            run.earliest.to_string()
        } else {
            format!("{} to {}", run.earliest, run.latest)
        }
    }

    #[test]
    fn unnamed_events_get_the_list_name() {
        let lists = read(
            "# when we deployed\n2024-06-10 06:47\n\n2024-06-09T06:47:01+02:00\r\n1717909621\n",
        );
        assert_eq!(lists.len(), 1);
        assert_eq!(lists[0].name, "deploys");
        let times: Vec<String> = lists[0].runs.iter().map(shown).collect();
        assert_eq!(
            times,
            [
                "2024-06-09T04:47:01Z",
                "2024-06-09T05:07:01Z",
                "2024-06-10T04:47:00Z"
            ]
        );
        assert_eq!(&*lists[0].runs[2].evidence, "lists/deploys.csv:2");
        assert_eq!(lists[0].runs[2].seen, Seen::Given);
    }

    #[test]
    fn names_and_lengths() {
        let lists = read(
            "Time,name,len_s\n2024-06-09 06:47:30,\"release 41, \"\"final\"\"\",90\n2024-06-10 06:47,backup,\n2024-06-11 06:47,backup,3600.5\n2024-06-12 06:47,,7\n",
        );
        let names: Vec<&str> = lists.iter().map(|events| events.name.as_str()).collect();
        assert_eq!(names, ["release 41, \"final\"", "backup", "deploys"]);
        assert_eq!(lists[0].runs[0].len_s, Some(90.0));
        let lens: Vec<_> = lists[1].runs.iter().map(|run| run.len_s).collect();
        assert_eq!(lens, [None, Some(3_600.5)]);
    }

    #[test]
    fn imprecise_times_become_intervals() {
        // A day of 23 hours, and 02:30 on the day on which it occurs twice.
        let lists = read("2024-03-31\n2024-10-27 02:30\n");
        let times: Vec<String> = lists[0].runs.iter().map(shown).collect();
        assert_eq!(
            times,
            [
                "2024-03-30T23:00:00Z to 2024-03-31T21:59:59.999999Z",
                "2024-10-27T00:30:00Z to 2024-10-27T01:30:00Z"
            ]
        );
    }

    #[test]
    fn unix_time_unit_follows_from_magnitude() {
        for text in [
            "1717909621",
            "@1717909621",
            "1717909621.0",
            "1717909621000",
            "1717909621000000",
            "1717909621000000000",
        ] {
            assert_eq!(
                shown(&read(text)[0].runs[0]),
                "2024-06-09T05:07:01Z",
                "{text}"
            );
        }
        assert_eq!(
            shown(&read("1717909621.25")[0].runs[0]),
            "2024-06-09T05:07:01.25Z"
        );
    }

    #[test]
    fn errors_name_the_line() {
        let refuse = |text: &str| {
            let error = parse_events("d.csv", text, &berlin()).expect_err("malformed");
            error.to_string()
        };
        assert!(refuse("2024-06-09\nsoon\n").starts_with("d.csv:2:1: expected a time"));
        assert!(refuse("time\ntime\n").starts_with("d.csv:2:1: expected a time"));
        assert!(refuse("2024-03-31 02:30\n").starts_with("d.csv:1:1: expected a time"));
        assert!(refuse("2024-06-09,x,-1").contains("d.csv:1: expected a length in seconds"));
        assert!(refuse("2024-06-09,x,NaN").contains("a length in seconds"));
        assert!(refuse("2024-06-09,\"x,1").contains("d.csv:1: expected a closing double quote"));
        assert!(refuse("2024-06-09,x,1,y").contains("at most a time, a name"));
        assert!(refuse("# nothing\n").starts_with("d.csv: expected a time"));
    }

    proptest! {
        #[test]
        fn total(text in "([0-9]{1,4}|[-:T,.\"@#+Z]|name| |\n|…){0,60}") {
            if let Ok(lists) = parse_events("x", &text, &berlin()) {
                let count: usize = lists.iter().map(|events| events.runs.len()).sum();
                prop_assert!(count > 0 && count <= text.lines().count());
                for events in lists {
                    prop_assert!(events.runs.is_sorted_by_key(|run| run.earliest));
                    prop_assert!(events.runs.iter().all(|run| run.earliest <= run.latest));
                }
            }
        }

        #[test]
        fn times_are_parsed_as_written(
            moments in proptest::collection::vec((0i64..4_000_000_000, "[a-z\", ]{0,6}[a-z]"), 1..20),
        ) {
            let lines: Vec<String> = moments
                .iter()
                .map(|(at, name)| {
                    let at = Timestamp::from_second(*at).expect("in range");
                    format!("{at},\"{}\",5", name.replace('"', "\"\""))
                })
                .collect();
            let lists = parse_events("x", &lines.join("\n"), &TimeZone::UTC).expect("readable");
            let mut read: Vec<(i64, String)> = lists
                .iter()
                .flat_map(|events| events.runs.iter().map(|run| (run.earliest.as_second(), events.name.clone())))
                .collect();
            let mut written: Vec<(i64, String)> = moments
                .iter()
                .map(|(at, name)| (*at, name.trim().to_owned()))
                .collect();
            read.sort();
            written.sort();
            prop_assert_eq!(read, written);
        }
    }
}
