//! Time zones and times on the command line.

use super::args::Explain;
use super::jobs;
use crate::answer::generated_at;
use crate::error::CommandError;
use crate::values;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use sources::Times;

/// The time zone of the report.
pub struct Zone {
    /// The zone.
    pub zone: TimeZone,
    /// Where the zone comes from, shown to the user.
    pub from: String,
}

impl Zone {
    /// The zone asked for, else that of the jobs' host, else UTC.
    pub fn of(asked: Option<(TimeZone, &str)>, found: &jobs::Found) -> Self {
        let (zone, from) = match (asked, &found.zone, &found.from) {
            (Some((zone, from)), ..) => (zone, from.to_owned()),
            (None, Some(zone), Some(from)) => (zone.clone(), format!("the zone of {from}")),
            (None, _, Some(from)) => (
                TimeZone::UTC,
                format!("the zone of {from} is not known; --tz names it"),
            ),
            (None, _, None) => (TimeZone::UTC, "--tz names another".to_owned()),
        };
        Self { zone, from }
    }
}

/// Parses a time zone that `from` names.
///
/// # Errors
/// When there is none of that name.
pub fn zone_named(name: &str, from: &str) -> Result<TimeZone, CommandError> {
    values::zone(name).map_err(|error| CommandError::usage(format!("{from}: {error}")))
}

/// The time range of the samples, and the zone for timestamps without one.
///
/// # Errors
/// When a time, zone or format is invalid.
pub(super) fn times(arguments: &Explain, zone: &TimeZone) -> Result<Times, CommandError> {
    if let Some(format) = &arguments.files.time_format {
        sources::times::check_format(format)
            .map_err(|wrong| CommandError::usage(format!("--time-format {format}: {wrong}")))?;
    }
    let now = generated_at()?;
    let at = |text: &Option<String>, option: &str| {
        text.as_deref()
            .map(|text| moment(text, option, zone, now))
            .transpose()
    };
    let times = Times {
        zone: match &arguments.files.data_tz {
            Some(name) => zone_named(name, "--data-tz")?,
            None => zone.clone(),
        },
        since: at(&arguments.since, "--since")?,
        until: at(&arguments.until, "--until")?,
    };
    if let (Some(since), Some(until)) = (times.since, times.until)
        && since >= until
    {
        return Err(CommandError::usage(format!(
            "--since {since} is not before --until {until}"
        )));
    }
    Ok(times)
}

/// Parses a time on the command line; a date alone means its midnight, a duration is counted back from now.
fn moment(
    text: &str,
    option: &str,
    zone: &TimeZone,
    now: Timestamp,
) -> Result<Timestamp, CommandError> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    if text.contains(':')
        && let Ok(wall) = text.parse::<jiff::civil::DateTime>()
        && let Ok(at) = wall.to_zoned(zone.clone())
    {
        return Ok(at.timestamp());
    }
    if let Ok(day) = text.parse::<jiff::civil::Date>()
        && let Ok(midnight) = day.to_zoned(zone.clone())
    {
        return Ok(midnight.timestamp());
    }
    units::duration::parse(text)
        .ok()
        .and_then(|span| now.checked_sub(span).ok())
        .ok_or_else(|| {
            CommandError::usage(format!(
                "{option}: expected a time or a span before now, found {text:?}"
            ))
            .hint("for example 2026-11-01, '2026-11-01 06:00', 2026-11-01T06:00:00Z, 90d or 12h")
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn moments_on_the_command_line() {
        let zone = units::zone::parse("Europe/Berlin").unwrap();
        let now: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
        for (text, at) in [
            ("2026-11-01", "2026-10-31T23:00:00Z"),
            ("2026-11-01 06:00", "2026-11-01T05:00:00Z"),
            ("2026-11-01T06:00:00Z", "2026-11-01T06:00:00Z"),
            ("2d", "2026-11-20T12:00:00Z"),
            ("90m", "2026-11-22T10:30:00Z"),
            ("1w", "2026-11-15T12:00:00Z"),
            ("1.5h", "2026-11-22T10:30:00Z"),
            ("1h30m", "2026-11-22T10:30:00Z"),
        ] {
            let found = moment(text, "--since", &zone, now).unwrap();
            assert_eq!(found.to_string(), at, "{text}");
        }
        for text in ["", "d", "-1d", "yesterday", "99999999999999999d", "ü"] {
            let error = moment(text, "--since", &zone, now).unwrap_err();
            assert_eq!(error.kind, Kind::Usage, "{text}");
        }
    }
}
