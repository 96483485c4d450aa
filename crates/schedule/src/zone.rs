//! Time zones, and the wall clock that schedules follow.

use crate::civil::{DAY_S, date_of_days};
use facts::InputError;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use std::sync::LazyLock;

/// The time zone database compiled into this program, so that results do not depend on the machine
/// running it.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Returns the time zone with an IANA name, such as `Europe/Berlin` or `UTC`.
///
/// Names are case-sensitive, like the files under /usr/share/zoneinfo. A leading colon, as in
/// `TZ=:Europe/Berlin`, is stripped. Abbreviations (`CEST`) and POSIX rules
/// (`CET-1CEST,M3.5.0,M10.5.0/3`) are not accepted.
///
/// # Errors
/// If the bundled database has no zone with that name.
pub fn parse_zone(name: &str) -> Result<TimeZone, InputError> {
    let asked = name.strip_prefix(':').unwrap_or(name);
    let refuse = |expected: &str| InputError::new("time zone", expected, name);
    let unknown = || refuse("an IANA time zone name such as Europe/Berlin, or UTC");
    if asked == "UTC" {
        return Ok(TimeZone::UTC);
    }
    let zone = ZONES.get(asked).map_err(|_| unknown())?;
    match zone.iana_name() {
        Some(known) if known == asked => Ok(zone),
        Some(known) => Err(refuse(&format!("{known} (upper and lower case matter)"))),
        None => Err(unknown()),
    }
}

/// Returns the first and last instants at which a wall clock shows a time: equal unless the time is
/// repeated; `None` if it is skipped.
pub(crate) fn wall_instants(wall: DateTime, zone: &TimeZone) -> Option<(Timestamp, Timestamp)> {
    let moments = zone.to_ambiguous_timestamp(wall);
    match moments.offset() {
        AmbiguousOffset::Gap { .. } => None,
        AmbiguousOffset::Unambiguous { offset } => {
            let at = offset.to_timestamp(wall).ok()?;
            Some((at, at))
        }
        AmbiguousOffset::Fold { before, after } => Some((
            before.to_timestamp(wall).ok()?,
            after.to_timestamp(wall).ok()?,
        )),
    }
}

/// A period during which the zone's UTC offset is constant.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "the postfix is the unit")]
pub(crate) struct Span {
    /// First instant, in seconds since the epoch; `i64::MIN` if there is none.
    pub from_s: i64,
    /// First instant after it; `i64::MAX` if there is none.
    pub until_s: i64,
    /// Seconds east of UTC.
    pub offset_s: i64,
    /// Seconds east of UTC just before the span, equal to `offset_s` if nothing came before.
    pub offset_before_s: i64,
}

/// No clock change shifts a wall clock further than this: UTC offsets are below 26 hours.
const CHANGE_MAX_S: i64 = 2 * 26 * 3_600;

/// The instants at which a clock shows a wall time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WallTime {
    /// The first and the last instant: equal unless a clock change repeats the time.
    Exists { first_s: i64, last_s: i64 },
    /// A clock change skips all times up to this one.
    Skipped { until_wall_s: i64 },
}

/// A zone's wall clock: wall times to instants and back.
///
/// It caches the last span, because callers usually ask for consecutive runs.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    zone: TimeZone,
    span: Option<Span>,
}

impl Clock {
    pub fn new(zone: TimeZone) -> Self {
        Self { zone, span: None }
    }

    /// Returns the span containing an instant.
    pub fn span_at(&mut self, instant_s: i64) -> Span {
        match self.span {
            Some(span) if span.from_s <= instant_s && instant_s < span.until_s => span,
            _ => {
                let span = self.look_up(instant_s);
                self.span = Some(span);
                span
            }
        }
    }

    fn look_up(&self, instant_s: i64) -> Span {
        let at = clamped_timestamp(instant_s);
        let offset_s = i64::from(self.zone.to_offset(at).seconds());
        // `preceding` and `following` exclude the given instant.
        let last = self
            .zone
            .preceding(clamped_timestamp(instant_s.saturating_add(1)))
            .next();
        let next = self.zone.following(at).next();
        let from_s = last.as_ref().map(|change| change.timestamp().as_second());
        let offset_before_s = from_s.map_or(offset_s, |from_s| {
            i64::from(self.zone.to_offset(clamped_timestamp(from_s - 1)).seconds())
        });
        Span {
            from_s: from_s.unwrap_or(i64::MIN),
            until_s: next.map_or(i64::MAX, |change| change.timestamp().as_second()),
            offset_s,
            offset_before_s,
        }
    }

    /// Seconds east of UTC at an instant.
    pub fn offset_at(&mut self, instant_s: i64) -> i64 {
        self.span_at(instant_s).offset_s
    }

    /// Returns the instants of a wall time, given in seconds since 1970-01-01 00:00 on that wall
    /// clock.
    pub fn instants_of(&mut self, wall_s: i64) -> WallTime {
        let (first_s, last_s) = match self.steady_instant_of(wall_s) {
            Some(instant_s) => (instant_s, instant_s),
            None => match self.offset_of_wall(wall_s) {
                AmbiguousOffset::Unambiguous { offset } => {
                    let instant_s = wall_s - seconds(offset);
                    (instant_s, instant_s)
                }
                AmbiguousOffset::Fold { before, after } => {
                    (wall_s - seconds(before), wall_s - seconds(after))
                }
                AmbiguousOffset::Gap { before, .. } => {
                    let change = self.span_at(wall_s - seconds(before));
                    let until_wall_s = change.from_s.saturating_add(change.offset_s);
                    return WallTime::Skipped {
                        until_wall_s: until_wall_s.max(wall_s + 1),
                    };
                }
            },
        };
        WallTime::Exists { first_s, last_s }
    }

    /// Returns the instant of a wall time: the first one if it is repeated. If it is skipped, the
    /// UTC offset before the gap is used.
    pub fn instant_of(&mut self, wall_s: i64) -> i64 {
        self.steady_instant_of(wall_s).unwrap_or_else(|| {
            let offset = match self.offset_of_wall(wall_s) {
                AmbiguousOffset::Unambiguous { offset } => offset,
                AmbiguousOffset::Fold { before, .. } | AmbiguousOffset::Gap { before, .. } => {
                    before
                }
            };
            wall_s - seconds(offset)
        })
    }

    /// Returns the instant if no clock change is near.
    fn steady_instant_of(&self, wall_s: i64) -> Option<i64> {
        let span = self.span?;
        let instant_s = wall_s - span.offset_s;
        let steady = instant_s >= span.from_s.saturating_add(CHANGE_MAX_S)
            && instant_s < span.until_s.saturating_sub(CHANGE_MAX_S);
        steady.then_some(instant_s)
    }

    fn offset_of_wall(&self, wall_s: i64) -> AmbiguousOffset {
        let wall = clamped_datetime(wall_s);
        self.zone.to_ambiguous_timestamp(wall).offset()
    }

    /// Whether daylight saving time is in force at an instant.
    pub fn is_dst(&self, instant_s: i64) -> bool {
        self.zone
            .to_offset_info(clamped_timestamp(instant_s))
            .dst()
            .is_dst()
    }
}

fn seconds(offset: jiff::tz::Offset) -> i64 {
    i64::from(offset.seconds())
}

/// Returns the instant, clamped to what jiff can represent (the years -9999 to 9999).
fn clamped_timestamp(instant_s: i64) -> Timestamp {
    Timestamp::from_second(instant_s).unwrap_or(if instant_s < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    })
}

fn clamped_datetime(wall_s: i64) -> DateTime {
    let (year, month, day) = date_of_days(wall_s.div_euclid(DAY_S));
    let second = wall_s.rem_euclid(DAY_S);
    let small = |value: i64| i8::try_from(value).unwrap_or(0);
    i16::try_from(year)
        .ok()
        .and_then(|year| {
            DateTime::new(
                year,
                small(month),
                small(day),
                small(second / 3_600),
                small(second / 60 % 60),
                small(second % 60),
                0,
            )
            .ok()
        })
        .unwrap_or(if wall_s < 0 {
            DateTime::MIN
        } else {
            DateTime::MAX
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn wall(datetime: DateTime) -> i64 {
        datetime
            .to_zoned(TimeZone::UTC)
            .expect("in range")
            .timestamp()
            .as_second()
    }

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().expect("a timestamp").as_second()
    }

    #[test]
    fn zone_names_must_match_exactly() {
        for name in [
            "UTC",
            "Etc/UTC",
            "Europe/Berlin",
            "US/Eastern",
            "Australia/Lord_Howe",
        ] {
            assert_eq!(parse_zone(name).expect(name).iana_name(), Some(name));
        }
        assert_eq!(
            parse_zone(":Europe/Berlin")
                .expect("a colon is allowed")
                .iana_name(),
            Some("Europe/Berlin")
        );
        let error = parse_zone("europe/berlin").expect_err("wrong case");
        assert!(
            error.to_string().contains("expected Europe/Berlin"),
            "{error}"
        );
        for name in [
            "",
            ":",
            "CEST",
            "Mars/Olympus",
            "../../etc/passwd",
            "Europe/Berlin ",
        ] {
            let error = parse_zone(name).expect_err(name);
            assert!(error.to_string().contains("IANA"), "{error}");
        }
    }

    #[test]
    fn a_wall_time_in_a_gap_does_not_exist() {
        // Berlin, 2024-03-31: 02:00 CET is 03:00 CEST.
        let mut clock = Clock::new(parse_zone("Europe/Berlin").expect("known"));
        let skipped = wall(date(2024, 3, 31).at(2, 30, 0, 0));
        assert_eq!(
            clock.instants_of(skipped),
            WallTime::Skipped {
                until_wall_s: wall(date(2024, 3, 31).at(3, 0, 0, 0))
            }
        );
        assert_eq!(clock.instant_of(skipped), at("2024-03-31T01:30:00Z"));
    }

    #[test]
    fn a_repeated_wall_time_has_two_instants() {
        // Berlin, 2024-10-27: 02:30 is 00:30 UTC in summer time, 01:30 UTC in winter time.
        let repeated = wall(date(2024, 10, 27).at(2, 30, 0, 0));
        let mut clock = Clock::new(parse_zone("Europe/Berlin").expect("known"));
        let (first_s, last_s) = (at("2024-10-27T00:30:00Z"), at("2024-10-27T01:30:00Z"));
        assert_eq!(
            clock.instants_of(repeated),
            WallTime::Exists { first_s, last_s }
        );
        assert_eq!(clock.instant_of(repeated), first_s);
    }

    #[test]
    fn a_wall_time_far_from_any_change_has_one_instant() {
        let mut clock = Clock::new(parse_zone("Europe/Berlin").expect("known"));
        let noon = at("2024-07-01T10:00:00Z");
        let shown = wall(date(2024, 7, 1).at(12, 0, 0, 0));
        let once = WallTime::Exists {
            first_s: noon,
            last_s: noon,
        };
        assert_eq!(clock.instants_of(shown), once);
        assert_eq!(clock.offset_at(noon), 7_200);
        // The span is cached now.
        assert_eq!(clock.instants_of(shown), once);
        assert_eq!(clock.instant_of(shown), noon);
    }

    #[test]
    fn spans_meet_at_the_changes() {
        let mut clock = Clock::new(parse_zone("Europe/Berlin").expect("known"));
        let summer = clock.span_at(at("2024-07-01T00:00:00Z"));
        assert_eq!(summer.from_s, at("2024-03-31T01:00:00Z"));
        assert_eq!(summer.until_s, at("2024-10-27T01:00:00Z"));
        assert_eq!((summer.offset_before_s, summer.offset_s), (3_600, 7_200));
        let first = clock.span_at(summer.from_s);
        assert_eq!(first.from_s, summer.from_s);
        let before = clock.span_at(summer.from_s - 1);
        assert_eq!(before.until_s, summer.from_s);
        assert_eq!((before.offset_before_s, before.offset_s), (7_200, 3_600));
        let far = Clock::new(TimeZone::UTC).span_at(0);
        assert_eq!(
            (far.from_s, far.until_s, far.offset_s),
            (i64::MIN, i64::MAX, 0)
        );
    }
}
