//! Parser for crontab schedules.

use super::CronSpec;
use facts::InputError;

/// One of the five fields.
struct Field {
    /// For error messages.
    expected: &'static str,
    low: u32,
    high: u32,
    /// Names of the values, starting at `low`.
    names: &'static [&'static str],
}

const MINUTE: Field = Field {
    expected: "a minute from 0 to 59",
    low: 0,
    high: 59,
    names: &[],
};
const HOUR: Field = Field {
    expected: "an hour from 0 to 23",
    low: 0,
    high: 23,
    names: &[],
};
const DAY: Field = Field {
    expected: "a day of the month from 1 to 31",
    low: 1,
    high: 31,
    names: &[],
};
const MONTH: Field = Field {
    expected: "a month from 1 to 12 or jan to dec",
    low: 1,
    high: 12,
    names: &[
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ],
};
const WEEKDAY: Field = Field {
    expected: "a day of the week from 0 to 7 (both are Sunday) or sun to sat",
    low: 0,
    high: 7,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun"],
};

/// Nicknames and the fields they stand for (crontab(5)). `@reboot` is not a time.
const WORDS: &[(&str, &str)] = &[
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

impl CronSpec {
    /// Parses a schedule: five fields separated by blanks, or `@hourly`, `@daily`, `@midnight`,
    /// `@weekly`, `@monthly`, `@yearly`, `@annually`. `source` names the place for the error.
    ///
    /// # Errors
    /// If cron itself rejects the text, and for text that the two crons read differently or whose
    /// runs cannot be predicted: a step on a single value (`5/10`: cronie rejects it, Debian's cron
    /// reads it as `5`), text after a value, a descending range (read as "never"), and cronie's
    /// random `6~15`, whose value is drawn when crond starts.
    pub fn parse(source: &str, text: &str) -> Result<Self, InputError> {
        if text.len() > crate::SCHEDULE_BYTES_MAX {
            let expected = format!("a schedule of at most {} bytes", crate::SCHEDULE_BYTES_MAX);
            return Err(InputError::new(source, expected, text));
        }
        let written: Vec<&str> = text.split([' ', '\t']).filter(|f| !f.is_empty()).collect();
        let shape = || {
            InputError::new(
                source,
                "five fields (minute, hour, day of month, month, day of week), or @hourly, @daily, \
                 @midnight, @weekly, @monthly, @yearly or @annually",
                text,
            )
        };
        let (fields, from_word): (Vec<&str>, bool) = match written.as_slice() {
            [word] => {
                let (_, fields) = WORDS
                    .iter()
                    .find(|(name, _)| name == word)
                    .ok_or_else(shape)?;
                (fields.split(' ').collect(), true)
            }
            _ => (written.clone(), false),
        };
        let &[minute, hour, day, month, weekday] = fields.as_slice() else {
            return Err(shape());
        };
        let mut weekdays = list(source, weekday, &WEEKDAY)?;
        if weekdays & (1 << 7) != 0 {
            weekdays = (weekdays | 1) & !(1 << 7);
        }
        Ok(Self {
            minutes: list(source, minute, &MINUTE)?,
            hours: list(source, hour, &HOUR)?,
            days: list(source, day, &DAY)?,
            months: list(source, month, &MONTH)?,
            weekdays,
            either_day: !day.starts_with('*') && !weekday.starts_with('*'),
            // `@hourly` sets the flag for the hour, as its fields do.
            wildcard: minute.starts_with('*') || hour.starts_with('*'),
            text: if from_word {
                written.concat()
            } else {
                fields.join(" ")
            },
        })
    }
}

/// Parses `list = range {"," range}` into a set of bits.
fn list(source: &str, text: &str, field: &Field) -> Result<u64, InputError> {
    let mut bits = 0;
    for part in text.split(',') {
        bits |= range(source, part, field)?;
    }
    Ok(bits)
}

/// Parses `range = ("*" | number "-" number) ["/" step] | number`.
fn range(source: &str, text: &str, field: &Field) -> Result<u64, InputError> {
    if text.contains('~') {
        return Err(InputError::new(
            source,
            format!(
                "{}; what a random range stands for is drawn when crond starts and cannot be told",
                field.expected
            ),
            text,
        ));
    }
    let (span, step) = match text.split_once('/') {
        Some((span, step)) => (span, Some(step)),
        None => (text, None),
    };
    let (low, high) = if span == "*" {
        (field.low, field.high)
    } else if let Some((low, high)) = span.split_once('-') {
        let low = number(source, low, field)?;
        match number(source, high, field)? {
            // In cronie, `fri-sun` is 5-0 and means 5-7, except with a step.
            0 if low > 0 && field.high == WEEKDAY.high && step.is_none() => (low, 7),
            high => (low, high),
        }
    } else {
        let value = number(source, span, field)?;
        if step.is_some() {
            return Err(InputError::new(
                source,
                "a range before the step, such as */10 or 5-59/10 (cronie refuses a step on a \
                 single value, Debian's cron ignores it)",
                text,
            ));
        }
        (value, value)
    };
    if low > high {
        return Err(InputError::new(
            source,
            "a range that rises (cron takes one that falls as no time at all)",
            text,
        ));
    }
    let step = match step {
        None => 1,
        Some(step) => step
            .parse::<usize>()
            .ok()
            .filter(|&value| value > 0 && step.bytes().all(|b| b.is_ascii_digit()))
            .ok_or_else(|| InputError::new(source, "a step of 1 or more", text))?,
    };
    Ok((low..=high)
        .step_by(step)
        .fold(0, |bits, value| bits | 1 << value))
}

fn number(source: &str, text: &str, field: &Field) -> Result<u32, InputError> {
    let refuse = || InputError::new(source, field.expected, text);
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        let value = text.parse().map_err(|_| refuse())?;
        return (field.low..=field.high)
            .contains(&value)
            .then_some(value)
            .ok_or_else(refuse);
    }
    (field.low..)
        .zip(field.names)
        .find(|(_, name)| name.eq_ignore_ascii_case(text))
        .map(|(value, _)| value)
        .ok_or_else(refuse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spec(text: &str) -> CronSpec {
        CronSpec::parse("test", text).expect(text)
    }

    fn bits(values: &[u32]) -> u64 {
        values.iter().fold(0, |bits, value| bits | 1 << value)
    }

    #[test]
    fn fields_lists_ranges_and_steps() {
        let read = spec("*/20  1-7/3\t1,15,31 jan,Mar-MAY 1-5");
        assert_eq!(read.minutes, bits(&[0, 20, 40]));
        assert_eq!(read.hours, bits(&[1, 4, 7]));
        assert_eq!(read.days, bits(&[1, 15, 31]));
        assert_eq!(read.months, bits(&[1, 3, 4, 5]));
        assert_eq!(read.weekdays, bits(&[1, 2, 3, 4, 5]));
        assert_eq!(read.to_string(), "*/20 1-7/3 1,15,31 jan,Mar-MAY 1-5");
        // A step larger than the range leaves only its first value; numbers with leading zeros are
        // decimal.
        assert_eq!(spec("*/90 08 * * *").minutes, bits(&[0]));
        assert_eq!(spec("*/90 08 * * *").hours, bits(&[8]));
        assert_eq!(spec("5,* * * * *").minutes, (1 << 60) - 1);
    }

    #[test]
    fn sunday_has_two_numbers_and_a_name() {
        for text in [
            "0 0 * * 0",
            "0 0 * * 7",
            "0 0 * * sun",
            "0 0 * * SUN",
            "0 0 * * 0,7",
        ] {
            assert_eq!(spec(text).weekdays, bits(&[0]), "{text}");
        }
        for text in ["0 0 * * 5-7", "0 0 * * fri-sun", "0 0 * * 5-0"] {
            assert_eq!(spec(text).weekdays, bits(&[0, 5, 6]), "{text}");
        }
        assert_eq!(
            spec("0 0 * * sun-sat").weekdays,
            bits(&[0, 1, 2, 3, 4, 5, 6])
        );
    }

    #[test]
    fn nicknames_expand_to_fields() {
        for (word, fields) in WORDS {
            let (from_word, from_fields) = (spec(word), spec(fields));
            assert_eq!(from_word.to_string(), *word);
            assert_eq!(
                CronSpec {
                    text: String::new(),
                    ..from_word
                },
                CronSpec {
                    text: String::new(),
                    ..from_fields
                },
                "{word}"
            );
        }
        assert!(spec("@hourly").wildcard);
        assert!(!spec("@daily").wildcard);
    }

    #[test]
    fn a_star_at_the_start_changes_the_rule_for_days() {
        assert!(spec("0 0 13 * 5").either_day);
        assert!(!spec("0 0 13 * *").either_day);
        assert!(!spec("0 0 * * 5").either_day);
        assert!(!spec("0 0 */2 * 5").either_day, "*/2 starts with a star");
        assert!(!spec("0 0 13 * */2").either_day);
        assert!(spec("0 0 1-31/2 * 5").either_day);
        assert!(spec("*/10 3 * * *").wildcard);
        assert!(spec("30 */2 * * *").wildcard);
        assert!(!spec("0-59 3 * * *").wildcard);
    }

    #[test]
    fn errors_state_what_was_expected() {
        for (text, part) in [
            ("60 * * * *", "a minute from 0 to 59"),
            ("* 24 * * *", "an hour from 0 to 23"),
            ("* * 0 * *", "a day of the month from 1 to 31"),
            ("* * * 13 *", "a month from 1 to 12"),
            ("* * * january *", "a month from 1 to 12"),
            ("* * * * 8", "a day of the week from 0 to 7"),
            ("5/10 * * * *", "a range before the step"),
            ("50-10 * * * *", "a range that rises"),
            ("0 0 * * fri-sun/2", "a range that rises"),
            ("6~15 * * * *", "cannot be told"),
            ("~ * * * *", "cannot be told"),
            ("*/0 * * * *", "a step of 1 or more"),
            ("*/+5 * * * *", "a step of 1 or more"),
            ("*/ * * * *", "a step of 1 or more"),
            ("1-5/2x * * * *", "a step of 1 or more"),
            ("1, * * * *", "a minute from 0 to 59"),
            ("-5 * * * *", "a minute from 0 to 59"),
            ("+5 * * * *", "a minute from 0 to 59"),
            ("1-3-5 * * * *", "a minute from 0 to 59"),
            ("*5 * * * *", "a minute from 0 to 59"),
            ("99999999999999999999 * * * *", "a minute from 0 to 59"),
            ("* * * *", "five fields"),
            ("* * * * * *", "five fields"),
            ("", "five fields"),
            ("@reboot", "five fields"),
            ("@Daily", "five fields"),
            ("@every 5m", "five fields"),
        ] {
            let error = CronSpec::parse("etc/crontab:3", text).expect_err(text);
            assert!(error.expected.contains(part), "{text}: {error}");
            assert_eq!(error.source_name, "etc/crontab:3");
        }
    }

    #[test]
    fn long_schedules_are_rejected() {
        let text = "1,".repeat(500) + "1 * * * *";
        assert!(CronSpec::parse("x", &text).is_ok());
        let text = "1,".repeat(600) + "1 * * * *";
        let error = CronSpec::parse("x", &text).expect_err("too long");
        assert!(error.expected.contains("at most 1024 bytes"), "{error}");
    }

    /// A field's text together with the values it stands for.
    fn field(low: u32, high: u32) -> impl Strategy<Value = (String, u64)> {
        let part = prop_oneof![
            (low..=high).prop_map(|v| (v.to_string(), 1 << v)),
            (1u32..70).prop_map(move |step| {
                let values = (low..=high).filter(|v| (v - low).is_multiple_of(step));
                (format!("*/{step}"), values.fold(0, |bits, v| bits | 1 << v))
            }),
            (low..=high, 0u32..60, 1u32..9).prop_map(move |(from, more, step)| {
                let to = (from + more).min(high);
                let values = (from..=to).filter(|v| (v - from).is_multiple_of(step));
                let text = if step == 1 {
                    format!("{from}-{to}")
                } else {
                    format!("{from}-{to}/{step}")
                };
                (text, values.fold(0u64, |bits, v| bits | 1 << v))
            }),
        ];
        proptest::collection::vec(part, 1..4).prop_map(|parts| {
            let texts: Vec<&str> = parts.iter().map(|(text, _)| text.as_str()).collect();
            (
                texts.join(","),
                parts.iter().fold(0, |bits, (_, more)| bits | more),
            )
        })
    }

    proptest! {
        #[test]
        fn parsing_any_text_does_not_panic(text in "\\PC*") {
            let _ = CronSpec::parse("test", &text);
        }

        #[test]
        fn display_round_trips(text in "[-*/,0-9a-z~ @]{1,30}") {
            if let Ok(read) = CronSpec::parse("test", &text) {
                prop_assert_eq!(CronSpec::parse("test", &read.to_string()), Ok(read));
            }
        }

        #[test]
        fn fields_parse_to_their_values(
            minute in field(0, 59), hour in field(0, 23), day in field(1, 31),
            month in field(1, 12), weekday in field(0, 6),
        ) {
            let text = format!("{} {} {} {} {}", minute.0, hour.0, day.0, month.0, weekday.0);
            let read = spec(&text);
            prop_assert_eq!(read.minutes, minute.1);
            prop_assert_eq!(read.hours, hour.1);
            prop_assert_eq!(read.days, day.1);
            prop_assert_eq!(read.months, month.1);
            prop_assert_eq!(read.weekdays, weekday.1);
            prop_assert_eq!(CronSpec::parse("test", &read.to_string()), Ok(read));
        }
    }
}
