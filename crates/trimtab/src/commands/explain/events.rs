//! Moments given by hand: `--events deploys.csv`.

use crate::error::{CommandError, Kind};
use explain::JobRuns;
use facts::InputError;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use schedule::Run;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The longest file that is read, in bytes.
const BYTES_MAX: u64 = 16 << 20;
/// The most moments of one file.
const EVENTS_MAX: usize = 100_000;
/// The longest words of one moment, in characters.
const WORDS_MAX: usize = 120;

const EXPECTED: &str = "a time such as 2026-11-22, '2026-11-22 06:00', 2026-11-22T06:00:00Z, or \
                        seconds since 1970, in the first column";

/// Reads a file of moments: all of them are the runs of one job of the file's name.
///
/// # Errors
/// When it cannot be read, or a line has no time.
pub fn read(path: &Path, zone: &TimeZone) -> Result<JobRuns, CommandError> {
    let name = path.display().to_string();
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(BYTES_MAX + 1).read_to_string(&mut text))
        .map_err(|error| {
            CommandError::new(Kind::Environment, format!("--events {name}: {error}"))
                .hint("name a file of text that is there and that you may read")
        })?;
    if text.len() as u64 > BYTES_MAX {
        return Err(CommandError::new(
            Kind::Input,
            format!("--events {name}: longer than {BYTES_MAX} bytes"),
        ));
    }
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    let job = stem.to_string_lossy().into_owned();
    let runs = parse(&name, &job, &text, zone)
        .map_err(|error| CommandError::new(Kind::Input, format!("--events: {error}")))?;
    Ok(JobRuns {
        name: job,
        runs,
        unknown: Vec::new(),
    })
}

/// The moments of a text, in their order in time. A first line without a time is taken for the names of
/// columns; a date alone is any moment of that day.
///
/// # Errors
/// When another line has no time, or there are too many.
fn parse(source: &str, job: &str, text: &str, zone: &TimeZone) -> Result<Vec<Run>, InputError> {
    let mut runs = Vec::new();
    let mut is_first = true;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (line, number) in text.lines().zip(1_usize..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (cell, words) = first_cell(line);
        match window(&cell, zone) {
            Some((earliest, latest)) => {
                let words: String = words.trim().chars().take(WORDS_MAX).collect();
                let told = if words.is_empty() { "" } else { ": " };
                runs.push(Run {
                    job: job.to_owned(),
                    earliest,
                    latest,
                    len_s: None,
                    evidence: format!("{source}:{number}{told}{words}"),
                });
            }
            None if is_first && cell.chars().any(char::is_alphabetic) => {}
            None => return Err(InputError::new(source, EXPECTED, &cell).at_line(number)),
        }
        if runs.len() > EVENTS_MAX {
            let expected = format!("{EVENTS_MAX} lines at most");
            return Err(InputError::new(source, expected, "more").at_line(number));
        }
        is_first = false;
    }
    runs.sort_by_key(|run| run.earliest);
    Ok(runs)
}

/// The first cell of a line, quotes undone, and the rest.
fn first_cell(line: &str) -> (String, &str) {
    const SEPARATORS: [char; 3] = [',', ';', '\t'];
    if let Some(quoted) = line.strip_prefix('"')
        && let Some((cell, rest)) = quoted.split_once('"')
    {
        return (cell.trim().to_owned(), rest.trim_start_matches(SEPARATORS));
    }
    match line.split_once(SEPARATORS) {
        Some((cell, rest)) => (cell.trim().to_owned(), rest),
        None => (line.to_owned(), ""),
    }
}

/// The stretch in which a moment lies, as exactly as it is written.
fn window(text: &str, zone: &TimeZone) -> Option<(Timestamp, Timestamp)> {
    if let Some(at) = moment(text, zone) {
        return Some((at, at));
    }
    if let Ok(seconds) = text.parse::<i64>() {
        // Since 1970, in seconds, or in milliseconds where that would be after the year 5138.
        let at = if seconds.abs() < 100_000_000_000 {
            Timestamp::from_second(seconds)
        } else {
            Timestamp::from_millisecond(seconds)
        };
        return at.ok().map(|at| (at, at));
    }
    let day: Date = text.parse().ok()?;
    let next = day.checked_add(1.day()).ok()?;
    let midnight = |day: Date| day.to_zoned(zone.clone()).ok().map(|at| at.timestamp());
    Some((midnight(day)?, midnight(next)?))
}

/// A moment: with its offset, or on the wall of a zone. `None` for what has no time of day.
pub fn moment(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    if !text.contains(':') {
        return None;
    }
    let wall: DateTime = text.parse().ok()?;
    wall.to_zoned(zone.clone()).ok().map(|at| at.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn berlin() -> TimeZone {
        schedule::parse_zone("Europe/Berlin").unwrap()
    }

    fn read_text(text: &str) -> Result<Vec<Run>, InputError> {
        parse("deploys.csv", "deploys", text, &berlin())
    }

    #[test]
    fn times_as_people_write_them() {
        let runs = read_text(
            "when,what\n2026-07-01 06:00,v2\n\"2026-06-01T06:00:00Z\",\"v1\"\n\n# no\n2026-08-01\n1780000000;x\n",
        )
        .unwrap();
        let at: Vec<String> = runs.iter().map(|run| run.earliest.to_string()).collect();
        assert_eq!(
            at,
            [
                "2026-05-28T20:26:40Z",
                "2026-06-01T06:00:00Z",
                "2026-07-01T04:00:00Z",
                "2026-07-31T22:00:00Z"
            ]
        );
        assert_eq!(runs[2].evidence, "deploys.csv:2: v2");
        assert_eq!(runs[3].latest.to_string(), "2026-08-01T22:00:00Z");
    }

    #[test]
    fn a_line_without_a_time_is_named() {
        let error = read_text("when\n2026-07-01 06:00\nyesterday\n").unwrap_err();
        assert_eq!(error.line, Some(3));
        assert!(error.to_string().contains("yesterday"), "{error}");
        // Only one line may be names, and numbers are none.
        assert!(read_text("when\nwhat\n").is_err());
        assert!(read_text("12.5\n").is_err());
        assert!(read_text("").unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn nothing_breaks_it(text in "(.*\n){0,8}|[0-9:T,;\" -]{0,60}") {
            if let Ok(runs) = read_text(&text) {
                prop_assert!(runs.windows(2).all(|pair| pair[0].earliest <= pair[1].earliest));
                prop_assert!(runs.iter().all(|run| run.earliest <= run.latest));
            }
        }
    }
}
