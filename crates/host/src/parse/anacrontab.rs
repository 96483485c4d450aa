//! anacrontab(5) and anacron's timestamp files.

use super::crontab;
use super::fields::note;
use facts::InputError;
use jiff::civil::Date;

/// A parsed anacrontab.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Anacrontab {
    /// Jobs in file order.
    pub entries: Vec<Entry>,
    /// Lines that are neither a job, nor an environment setting, nor a comment.
    pub errors: Vec<InputError>,
}

/// One job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// 1-based line number.
    pub line: usize,
    /// Number of days, or `@daily`, `@weekly`, `@monthly`, `@yearly`.
    pub period: String,
    /// Delay in minutes after anacron starts.
    pub delay_min: u32,
    /// Job identifier, also the name of its timestamp file.
    pub identifier: String,
    /// The shell command line.
    pub command: String,
    /// `RANDOM_DELAY` in effect, in minutes.
    pub random_delay_min: Option<u32>,
    /// `START_HOURS_RANGE` in effect: first and last hour.
    pub start_hours: Option<(u8, u8)>,
}

/// One line, as used by the parser and the filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line<'t> {
    Nothing,
    Setting(&'t str, &'t str),
    Job {
        period: &'t str,
        delay_min: u32,
        identifier: &'t str,
        /// Byte offset of the command.
        command_at: usize,
    },
    Wrong {
        expected: &'static str,
        at: usize,
        found: &'t str,
    },
}

/// Parses an anacrontab. `source` is its name in errors.
pub fn parse(source: &str, text: &str) -> Anacrontab {
    let Anacrontab {
        mut entries,
        mut errors,
    } = Anacrontab::default();
    let mut random_delay_min = None;
    let mut start_hours = None;
    for (line, number) in text.lines().zip(1..) {
        let wrong = |expected: &str, at: usize, found: &str| {
            InputError::new(source, expected, found)
                .at_line(number)
                .at_column(line[..at].chars().count() + 1)
        };
        match classify(line) {
            Line::Setting("RANDOM_DELAY", value) => match value.parse() {
                Ok(minutes) => random_delay_min = Some(minutes),
                Err(_) => note(&mut errors, wrong("RANDOM_DELAY=minutes", 0, value)),
            },
            Line::Setting("START_HOURS_RANGE", value) => match hours(value) {
                Some(range) => start_hours = Some(range),
                None => note(
                    &mut errors,
                    wrong("START_HOURS_RANGE=first-last hour", 0, value),
                ),
            },
            Line::Nothing | Line::Setting(..) => {}
            Line::Job {
                period,
                delay_min,
                identifier,
                command_at,
            } => entries.push(Entry {
                line: number,
                period: period.to_owned(),
                delay_min,
                identifier: identifier.to_owned(),
                command: line[command_at..].trim_end().to_owned(),
                random_delay_min,
                start_hours,
            }),
            Line::Wrong {
                expected,
                at,
                found,
            } => note(&mut errors, wrong(expected, at, found)),
        }
    }
    Anacrontab { entries, errors }
}

pub(crate) fn classify(line: &str) -> Line<'_> {
    let line = line.trim_end();
    let start = line.len() - line.trim_start().len();
    if start == line.len() || line[start..].starts_with('#') {
        return Line::Nothing;
    }
    if let Some((name, value)) = crontab::setting(&line[start..]) {
        return Line::Setting(name, value);
    }
    let mut words = [(0, ""); 4];
    let mut after = start;
    for (slot, expected) in words.iter_mut().zip([
        "a period in days or @daily, @weekly, @monthly",
        "a delay in minutes",
        "a job identifier",
        "a command",
    ]) {
        let Some((at, word)) = crontab::next_word(line, after) else {
            return Line::Wrong {
                expected,
                at: line.len(),
                found: "",
            };
        };
        let right = match expected {
            "a delay in minutes" => word.parse::<u32>().is_ok(),
            "a job identifier" => is_identifier(word),
            "a command" => true,
            _ => is_period(word),
        };
        if !right {
            return Line::Wrong {
                expected,
                at,
                found: word,
            };
        }
        *slot = (at, word);
        after = at + word.len();
    }
    Line::Job {
        period: words[0].1,
        delay_min: words[1].1.parse().unwrap_or(0),
        identifier: words[2].1,
        command_at: words[3].0,
    }
}

fn is_period(word: &str) -> bool {
    matches!(
        word,
        "@daily" | "@weekly" | "@monthly" | "@yearly" | "@annually"
    ) || word.parse::<u32>().is_ok_and(|days| days > 0)
}

fn is_identifier(word: &str) -> bool {
    word.len() <= 64
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

fn hours(text: &str) -> Option<(u8, u8)> {
    let (first, last) = text.split_once('-')?;
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= 24 && last <= 24).then_some((first, last))
}

/// Parses the date in a timestamp file: `20261115`.
pub fn parse_stamp(text: &str) -> Option<Date> {
    let digits = text.trim();
    if digits.len() != 8 || !digits.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    Date::new(
        digits[..4].parse().ok()?,
        digits[4..6].parse().ok()?,
        digits[6..].parse().ok()?,
    )
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn centos_7() {
        let text = "# /etc/anacrontab: configuration file for anacron\nSHELL=/bin/sh\nMAILTO=root\n# the maximal random delay added to the base delay of the jobs\nRANDOM_DELAY=45\nSTART_HOURS_RANGE=3-22\n\n#period in days   delay in minutes   job-identifier   command\n1\t5\tcron.daily\t\tnice run-parts /etc/cron.daily\n@monthly 45\tcron.monthly\t\tnice run-parts /etc/cron.monthly\n";
        let anacrontab = parse("etc/anacrontab", text);
        assert_eq!(anacrontab.errors, []);
        assert_eq!(
            anacrontab.entries[0],
            Entry {
                line: 9,
                period: "1".to_owned(),
                delay_min: 5,
                identifier: "cron.daily".to_owned(),
                command: "nice run-parts /etc/cron.daily".to_owned(),
                random_delay_min: Some(45),
                start_hours: Some((3, 22)),
            }
        );
        assert_eq!(anacrontab.entries[1].period, "@monthly");
    }

    #[test]
    fn malformed_lines_are_reported_with_their_position() {
        let text = "0 5 a b\n7 x a b\n7 10 a\nRANDOM_DELAY=often\n";
        let places: Vec<String> = parse("etc/anacrontab", text)
            .errors
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            places,
            [
                "etc/anacrontab:1:1: expected a period in days or @daily, @weekly, @monthly, found \"0\"",
                "etc/anacrontab:2:3: expected a delay in minutes, found \"x\"",
                "etc/anacrontab:3:7: expected a command, found \"\"",
                "etc/anacrontab:4:1: expected RANDOM_DELAY=minutes, found \"often\"",
            ]
        );
    }

    #[test]
    fn stamps() {
        assert_eq!(parse_stamp("20261115\n"), Date::new(2026, 11, 15).ok());
        for text in ["", "20261315", "2026111", "２０２６１１１５"] {
            assert_eq!(parse_stamp(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn total(text in "([0-9@a-z.=-]{0,10}|[ \t]|\r?\n|…){0,60}") {
            parse("x", &text);
            parse_stamp(&text);
        }

        #[test]
        fn formatted_entries_are_parsed(period in 1_u32..400, delay in 0_u32..1000, name in "[a-z.]{1,20}", command in "[a-z][a-z ]{0,20}[a-z]") {
            let text = format!("{period} {delay}\t{name}  {command}\n");
            let parsed = parse("x", &text);
            prop_assert_eq!(parsed.entries.len(), 1);
            let entry = &parsed.entries[0];
            prop_assert_eq!(&entry.period, &period.to_string());
            prop_assert_eq!(entry.delay_min, delay);
            prop_assert_eq!(&entry.identifier, &name);
            prop_assert_eq!(&entry.command, &command);
        }
    }
}
