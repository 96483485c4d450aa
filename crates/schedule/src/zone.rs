//! Time zones, and the wall clock that schedules are read against.

use crate::civil::{DAY_S, date_of_days};
use facts::InputError;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use std::sync::LazyLock;

/// The time zone database compiled into this program, so that the answer does not depend on the
/// machine it is asked on.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// The time zone of an IANA name, such as `Europe/Berlin` or `UTC`.
///
/// Names are case-sensitive, as the files under /usr/share/zoneinfo are. A leading colon, as in
/// `TZ=:Europe/Berlin`, is taken off. Abbreviations (`CEST`) and POSIX rules
/// (`CET-1CEST,M3.5.0,M10.5.0/3`) are no names.
///
/// # Errors
/// When the bundled database has no zone of that name.
pub fn parse_zone(name: &str) -> Result<TimeZone, InputError> {
    let asked = name.strip_prefix(':').unwrap_or(name);
    let refuse = |expected: &str| InputError::new("time zone", expected, name);
    if asked == "UTC" {
        return Ok(TimeZone::UTC);
    }
    let zone = ZONES
        .get(asked)
        .map_err(|_| refuse("an IANA time zone name such as Europe/Berlin, or UTC"))?;
    match zone.iana_name() {
        Some(known) if known == asked => Ok(zone),
        Some(known) => Err(refuse(&format!("{known} (upper and lower case matter)"))),
        None => Err(refuse(
            "an IANA time zone name such as Europe/Berlin, or UTC",
        )),
    }
}

/// The moments at which a wall clock shows a time: the same twice as a rule, the first and the
/// second where it is repeated, `None` where it is skipped.
pub(crate) fn wall_moments(wall: DateTime, zone: &TimeZone) -> Option<(Timestamp, Timestamp)> {
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

/// A stretch of time during which the zone's offset from UTC does not change.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "the postfix is the unit")]
pub(crate) struct Span {
    /// First instant, in seconds since the epoch; `i64::MIN` where there is none.
    pub from_s: i64,
    /// First instant after it; `i64::MAX` where there is none.
    pub until_s: i64,
    /// Seconds east of UTC.
    pub offset_s: i64,
    /// Seconds east of UTC just before the span, equal to `offset_s` where nothing came before.
    pub offset_before_s: i64,
}

/// No clock change moves a wall clock further than this: offsets lie within 26 hours of UTC.
const CHANGE_MAX_S: i64 = 2 * 26 * 3_600;

/// A zone's wall clock: wall times to instants and back.
///
/// It remembers the span that was asked for last, because schedules are asked for one run after the
/// other, and the offset of the last conversion, because mktime(3) of the GNU C library does:
/// that offset decides which of two instants a repeated wall time means.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    zone: TimeZone,
    span: Option<Span>,
    offset_last_s: i64,
}

impl Clock {
    pub fn new(zone: TimeZone) -> Self {
        Self {
            zone,
            span: None,
            offset_last_s: 0,
        }
    }

    /// The span that an instant lies in.
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
        // Transitions are asked for strictly before and strictly after.
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

    /// Starts a search at an instant: repeated wall times mean the one that is in force there.
    pub fn start_at(&mut self, instant_s: i64) {
        self.offset_last_s = self.offset_at(instant_s);
    }

    /// The instant of a wall time (seconds since 1970-01-01 00:00 on that wall), as mktime(3) of
    /// the GNU C library tells it when daylight saving time is left open (`tm_isdst` = -1):
    ///
    /// - a wall time that does not exist is moved by the length of the gap to the side on which
    ///   daylight saving time is in force, forwards as a rule; where neither side or both sides
    ///   have it, to the side where the search began;
    /// - of two instants with the same wall time it means the one on the side where the search
    ///   began, beginning with the offset of the conversion before.
    pub fn instant_of(&mut self, wall_s: i64) -> i64 {
        let instant_s = self
            .steady_instant_of(wall_s)
            .unwrap_or_else(|| self.ambiguous_instant_of(wall_s));
        self.offset_last_s = wall_s - instant_s;
        instant_s
    }

    /// The instant where no clock change is near.
    fn steady_instant_of(&self, wall_s: i64) -> Option<i64> {
        let span = self.span?;
        let instant_s = wall_s - span.offset_s;
        let steady = instant_s >= span.from_s.saturating_add(CHANGE_MAX_S)
            && instant_s < span.until_s.saturating_sub(CHANGE_MAX_S);
        steady.then_some(instant_s)
    }

    fn ambiguous_instant_of(&mut self, wall_s: i64) -> i64 {
        let guess_s = wall_s - self.offset_last_s;
        let wall = clamped_datetime(wall_s);
        let seconds = |offset: jiff::tz::Offset| i64::from(offset.seconds());
        match self.zone.to_ambiguous_timestamp(wall).offset() {
            AmbiguousOffset::Unambiguous { offset } => wall_s - seconds(offset),
            AmbiguousOffset::Fold { before, after } => {
                let near = self.offset_at(guess_s);
                wall_s
                    - if near == seconds(after) {
                        near
                    } else {
                        seconds(before)
                    }
            }
            AmbiguousOffset::Gap { before, after } => {
                let forwards_s = wall_s - seconds(before);
                let backwards_s = wall_s - seconds(after);
                let forwards = match (self.is_dst(forwards_s), self.is_dst(backwards_s)) {
                    (true, false) => true,
                    (false, true) => false,
                    _ if guess_s == forwards_s => true,
                    _ if guess_s == backwards_s => false,
                    _ => self.offset_at(guess_s) == seconds(before),
                };
                if forwards { forwards_s } else { backwards_s }
            }
        }
    }

    /// Whether daylight saving time is in force at an instant.
    pub fn is_dst(&self, instant_s: i64) -> bool {
        self.zone
            .to_offset_info(clamped_timestamp(instant_s))
            .dst()
            .is_dst()
    }

    /// The instant of a wall time as [`Self::instant_of`], but with daylight saving time asked for
    /// or ruled out (`tm_isdst` = 1 or 0): where the other is in force, the wall time is read with
    /// the offset of the nearest time that has it, looked for in steps of a week back and forth.
    pub fn instant_of_dst(&mut self, wall_s: i64, dst: bool) -> i64 {
        /// Step and reach of the search in the C library's mktime.c, in seconds.
        const STEP_S: i64 = 601_200;
        const REACH_S: i64 = 536_454_000 / 2;
        let instant_s = self.instant_of(wall_s);
        let exists = instant_s + self.offset_at(instant_s) == wall_s;
        if exists && self.is_dst(instant_s) == dst {
            return instant_s;
        }
        let near = (1..=REACH_S / STEP_S)
            .flat_map(|step| [instant_s - step * STEP_S, instant_s + step * STEP_S])
            .find(|&near_s| self.is_dst(near_s) == dst);
        if let Some(near_s) = near {
            self.offset_last_s = self.offset_at(near_s);
        }
        wall_s - self.offset_last_s
    }
}

/// The instant, or the end of what can be represented (the years -9999 to 9999).
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
    fn zones_go_by_their_exact_name() {
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
    fn a_wall_time_in_a_gap_moves_forwards() {
        // Berlin, 2024-03-31: 02:00 CET is 03:00 CEST.
        let mut clock = Clock::new(parse_zone("Europe/Berlin").expect("known"));
        clock.start_at(at("2024-03-30T12:00:00Z"));
        assert_eq!(
            clock.instant_of(wall(date(2024, 3, 31).at(2, 30, 0, 0))),
            at("2024-03-31T01:30:00Z")
        );
    }

    #[test]
    fn a_repeated_wall_time_stays_on_the_side_of_the_search() {
        // Berlin, 2024-10-27: 02:30 is 00:30 UTC in summer time, 01:30 UTC in winter time.
        let repeated = wall(date(2024, 10, 27).at(2, 30, 0, 0));
        let mut clock = Clock::new(parse_zone("Europe/Berlin").expect("known"));
        clock.start_at(at("2024-10-26T12:00:00Z"));
        assert_eq!(clock.instant_of(repeated), at("2024-10-27T00:30:00Z"));
        clock.start_at(at("2024-10-27T01:10:00Z"));
        assert_eq!(clock.instant_of(repeated), at("2024-10-27T01:30:00Z"));
    }

    #[test]
    fn daylight_saving_time_can_be_asked_for() {
        let mut clock = Clock::new(parse_zone("Europe/Berlin").expect("known"));
        clock.start_at(at("2024-10-26T12:00:00Z"));
        let repeated = wall(date(2024, 10, 27).at(2, 30, 0, 0));
        assert_eq!(
            clock.instant_of_dst(repeated, true),
            at("2024-10-27T00:30:00Z")
        );
        assert_eq!(
            clock.instant_of_dst(repeated, false),
            at("2024-10-27T01:30:00Z")
        );
        // Midnight of 1 January in summer time is 23:00 in winter time.
        let winter = wall(date(2024, 1, 1).at(0, 0, 0, 0));
        assert_eq!(
            clock.instant_of_dst(winter, true),
            at("2023-12-31T22:00:00Z")
        );
        // Tokyo has no daylight saving time: it is as good as not asked for.
        let mut clock = Clock::new(parse_zone("Asia/Tokyo").expect("known"));
        assert_eq!(
            clock.instant_of_dst(winter, true),
            at("2023-12-31T15:00:00Z")
        );
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
