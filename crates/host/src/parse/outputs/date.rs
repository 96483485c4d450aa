//! `date` and `date --utc`, in the C locale and in English ones.

use crate::parse::crontab::MONTHS;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Parses `Thu Feb 10 16:19:17 UTC 2022` or `Thu 10 Feb 2022 04:19:17 PM UTC`, taken as UTC whatever
/// zone is named.
pub fn parse(text: &str) -> Option<Timestamp> {
    Some(civil(text)?.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// Parses the time on the host's clock.
pub fn civil(text: &str) -> Option<DateTime> {
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    let (mut year, mut month, mut day, mut clock) = (None, None, None, None);
    let mut is_afternoon = None;
    for word in line.split_ascii_whitespace() {
        let lower = word.to_ascii_lowercase();
        if let Some(index) = MONTHS.iter().position(|month| lower.starts_with(month)) {
            month = i8::try_from(index + 1).ok();
        } else if word.contains(':') && clock.is_none() {
            clock = Some(word);
        } else if matches!(lower.as_str(), "am" | "pm") {
            is_afternoon = Some(lower == "pm");
        } else if let Ok(number) = word.trim_end_matches(',').parse::<i16>() {
            match number {
                // `+01` is a zone.
                1..=31 if day.is_none() && !word.starts_with('+') => {
                    day = i8::try_from(number).ok();
                }
                1970..=9000 => year = Some(number),
                _ => {}
            }
        }
    }
    let mut parts = clock?.split(':').map(|part| part.parse::<i8>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next().flatten()?);
    let hour = match (hour, is_afternoon) {
        (12, Some(false)) => 0,
        (1..=11, Some(true)) => hour + 12,
        _ => hour,
    };
    DateTime::new(year?, month?, day?, hour, minute, second.min(59), 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms_of_coreutils() {
        let expected = Some("2022-02-10T16:19:17Z".parse::<Timestamp>().unwrap());
        for text in [
            "Thu Feb 10 16:19:17 UTC 2022\n",
            "Thu 10 Feb 2022 04:19:17 PM UTC\n",
            "Thu Feb 10 04:19:17 PM UTC 2022\n",
            "\nThu Feb 10 16:19:17 +01 2022\n",
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
        assert_eq!(parse("date: command not found\n"), None);
        assert_eq!(parse(""), None);
    }

    proptest! {
        #[test]
        fn total(text in "([A-Z][a-z]{2}|[0-9:+-]{1,9}|PM| |\n){0,12}") {
            let _ = parse(&text);
        }
    }
}
