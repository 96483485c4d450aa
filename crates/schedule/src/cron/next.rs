//! Computes the next run of a crontab schedule.
//!
//! croner 4 (over jiff) is not used: it has a single behavior at clock changes, not the four of
//! [`CronFlavor`]; it gives up at the day that Samoa skipped; and it treats `*/2` in the day fields
//! as a list, where cron looks for the leading star.

use super::CronSpec;
use crate::calendar::Calendar;
use crate::civil::{DAY_S, date_of_days, days_of_date, month_len, weekday_from_sunday};
use crate::conditions::CronFlavor;
use crate::window::SECOND_US;
use crate::zone::{Clock, Span};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Minutes per day.
const DAY_MIN: i64 = 1_440;

/// Number of months searched: 29 February on a given weekday recurs after at most 40 years (2072,
/// 2112 for a Monday).
const SEARCH_MONTHS_MAX: i64 = 12 * 41;

/// Maximum number of spans of constant offset examined. Spans without a match are skipped, so few
/// are needed; this bounds the cost of an unusual zone.
const SEARCH_SPANS_MAX: usize = 1_000;

/// A wall clock set forward by this much or more counts as corrected, and no runs are made up:
/// cron.c compares the minutes since it last woke up with 180, one of which has passed anyway.
const FORWARD_MAX_S: i64 = 180 * 60;

/// The same for a clock set back: Debian's cron treats less than 180 minutes as a time change.
const BACK_MAX_S: i64 = 181 * 60;

/// cronie still treats 180 minutes as a time change.
const CRONIE_BACK_MAX_S: i64 = 182 * 60;

/// Whether cron makes up for the runs skipped by the change at the start of a span, and omits those
/// it repeats.
fn catches_up_after_change(span: Span, clock: &Clock, flavor: CronFlavor) -> bool {
    let forward_s = span.offset_s - span.offset_before_s;
    let back_max_s = match flavor {
        CronFlavor::Vixie => BACK_MAX_S,
        CronFlavor::Cronie => CRONIE_BACK_MAX_S,
        CronFlavor::Systemd | CronFlavor::WallClock => return false,
    };
    let is_noticed = flavor == CronFlavor::Vixie
        || (span.from_s > i64::MIN && clock.is_dst(span.from_s) != clock.is_dst(span.from_s - 1));
    forward_s < FORWARD_MAX_S && -forward_s < back_max_s && is_noticed
}

impl CronSpec {
    /// Returns the first run after an instant, in the time zone that cron runs in; `None` if there
    /// is none (30 February), or none within 41 years. `flavor` determines the behavior at clock
    /// changes.
    pub fn next_after(
        &self,
        after: Timestamp,
        zone: &TimeZone,
        flavor: CronFlavor,
    ) -> Option<Timestamp> {
        let after_us = i64::try_from(after.as_nanosecond().div_euclid(1_000)).ok()?;
        let mut moments = self.moments_us(after_us, Clock::new(zone.clone()), flavor);
        Timestamp::from_microsecond(moments.next()?).ok()
    }

    /// Returns all runs after an instant, in microseconds since the epoch; see
    /// [`Self::next_after`].
    pub(crate) fn moments_us(
        &self,
        after_us: i64,
        mut clock: Clock,
        flavor: CronFlavor,
    ) -> Box<dyn Iterator<Item = i64>> {
        if flavor == CronFlavor::Systemd {
            let calendars = Calendar::of_crontab(self);
            // Strictly increasing, so that collecting all runs terminates.
            return Box::new(std::iter::successors(
                Self::first_of(&calendars, after_us, &mut clock),
                move |&at_us| {
                    Self::first_of(&calendars, at_us, &mut clock).filter(|&next| next > at_us)
                },
            ));
        }
        let spec = self.clone();
        let mut second = after_us.div_euclid(SECOND_US);
        Box::new(std::iter::from_fn(move || {
            second = spec.next_after_s(second, &mut clock, flavor)?;
            second.checked_mul(SECOND_US)
        }))
    }

    fn first_of(calendars: &[Calendar], after_us: i64, clock: &mut Clock) -> Option<i64> {
        calendars
            .iter()
            .filter_map(|calendar| calendar.next_after_us(after_us, clock))
            .min()
    }

    /// Returns the first run after a second, in seconds since the epoch, for any flavor but
    /// systemd's.
    fn next_after_s(&self, after_s: i64, clock: &mut Clock, flavor: CronFlavor) -> Option<i64> {
        let mut cursor_s = after_s.checked_add(1)?;
        for _ in 0..SEARCH_SPANS_MAX {
            let span = clock.span_at(cursor_s);
            let mut wall_s = cursor_s + span.offset_s;
            let forward_s = span.offset_s - span.offset_before_s;
            let catches_up = !self.wildcard && catches_up_after_change(span, clock, flavor);
            if catches_up && forward_s > 0 && cursor_s == span.from_s {
                // The wall times in the gap are due now.
                wall_s -= forward_s;
            } else if catches_up && forward_s < 0 {
                // The repeated wall times have already run.
                wall_s = wall_s.max(span.from_s + span.offset_before_s);
            }
            let minute =
                self.first_minute(wall_s.div_euclid(60) + i64::from(wall_s.rem_euclid(60) > 0))?;
            let next_s = (minute * 60 - span.offset_s).max(cursor_s);
            if next_s < span.until_s {
                return Some(next_s);
            }
            // Nothing runs before this wall time. Wall clocks differ by at most a day, so spans
            // that end well before it can be skipped. The one right after a nearby change cannot,
            // because it may repeat wall times before `cursor_s`.
            cursor_s = if span.until_s - cursor_s <= 2 * DAY_S {
                span.until_s
            } else {
                span.until_s.max(next_s - 2 * DAY_S)
            };
        }
        None
    }

    /// Returns the first matching minute from `minute` on; both count from 1970-01-01 00:00.
    fn first_minute(&self, minute: i64) -> Option<i64> {
        let today = minute.div_euclid(DAY_MIN);
        let (year, month, day) = date_of_days(today);
        if self.matches_day(month, day, today)
            && let Some(found) = self.first_minute_of_day(minute.rem_euclid(DAY_MIN))
        {
            return Some(today * DAY_MIN + found);
        }
        let first = self.first_minute_of_day(0)?;
        (0..SEARCH_MONTHS_MAX).find_map(|ahead| {
            let month_start = days_of_date(year, month + ahead, 1);
            let (year, month, _) = date_of_days(month_start);
            if self.months & (1 << month) == 0 {
                return None;
            }
            let from = if ahead == 0 { day + 1 } else { 1 };
            (from..=month_len(year, month))
                .map(|day| (day, month_start + day - 1))
                .find(|&(day, number)| self.matches_day(month, day, number))
                .map(|(_, number)| number * DAY_MIN + first)
        })
    }

    fn matches_day(&self, month: i64, day: i64, day_number: i64) -> bool {
        let by_day = self.days & (1 << day) != 0;
        let by_weekday = self.weekdays & (1 << weekday_from_sunday(day_number)) != 0;
        let matches = if self.either_day {
            by_day || by_weekday
        } else {
            by_day && by_weekday
        };
        matches && self.months & (1 << month) != 0
    }

    /// Returns the first matching minute of a matching day from `minute` on.
    fn first_minute_of_day(&self, minute: i64) -> Option<i64> {
        let (hour, minute) = (minute / 60, minute % 60);
        if self.hours & (1 << hour) != 0
            && let Some(found) = first_bit_from(self.minutes, minute)
        {
            return Some(hour * 60 + found);
        }
        let hour = first_bit_from(self.hours, hour + 1)?;
        Some(hour * 60 + first_bit_from(self.minutes, 0)?)
    }
}

/// Returns the lowest bit set at `from` (0 to 63) or above.
fn first_bit_from(bits: u64, from: i64) -> Option<i64> {
    let above = bits & (u64::MAX << from);
    (above != 0).then(|| i64::from(above.trailing_zeros()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_zone;
    use proptest::prelude::*;

    fn zone(name: &str) -> TimeZone {
        parse_zone(name).expect(name)
    }

    fn runs_after(spec: &str, zone_name: &str, after: &str, count: usize) -> Vec<String> {
        let spec = CronSpec::parse("test", spec).expect(spec);
        let zone = zone(zone_name);
        let mut at: Timestamp = after.parse().expect("a timestamp");
        let mut found = Vec::new();
        for _ in 0..count {
            let Some(next) = spec.next_after(at, &zone, CronFlavor::Vixie) else {
                break;
            };
            assert!(next > at);
            found.push(next.to_string());
            at = next;
        }
        found
    }

    #[test]
    fn debian_crontab() {
        // Sunday 2024-06-02; Debian: weekly at 6:47 on Sundays, monthly at 6:52 on the first.
        assert_eq!(
            runs_after("47 6 * * 7", "UTC", "2024-06-01T12:00:00Z", 2),
            ["2024-06-02T06:47:00Z", "2024-06-09T06:47:00Z"]
        );
        assert_eq!(
            runs_after("52 6 1 * *", "UTC", "2024-06-01T06:52:00Z", 2),
            ["2024-07-01T06:52:00Z", "2024-08-01T06:52:00Z"]
        );
        assert_eq!(
            runs_after("17 * * * *", "UTC", "2024-12-31T23:16:59.5Z", 2),
            ["2024-12-31T23:17:00Z", "2025-01-01T00:17:00Z"]
        );
    }

    #[test]
    fn day_and_weekday_are_alternatives_unless_one_starts_with_a_star() {
        // September 2024: the 13th is a Friday; Fridays are the 6th, 13th, 20th and 27th.
        assert_eq!(
            runs_after("0 0 13,20 * 5", "UTC", "2024-09-01T00:00:00Z", 4),
            [
                "2024-09-06T00:00:00Z",
                "2024-09-13T00:00:00Z",
                "2024-09-20T00:00:00Z",
                "2024-09-27T00:00:00Z"
            ]
        );
        assert_eq!(
            runs_after("0 0 14 * 5", "UTC", "2024-09-07T00:00:00Z", 3),
            [
                "2024-09-13T00:00:00Z",
                "2024-09-14T00:00:00Z",
                "2024-09-20T00:00:00Z"
            ]
        );
        // */2 are the odd days: 13 and 27 are odd Fridays.
        assert_eq!(
            runs_after("0 0 */2 * 5", "UTC", "2024-09-01T00:00:00Z", 2),
            ["2024-09-13T00:00:00Z", "2024-09-27T00:00:00Z"]
        );
        // Friday the 13th, spelled with a star in front: 2024-09-13, 2024-12-13.
        assert_eq!(
            runs_after("0 0 13 * */5", "UTC", "2024-09-01T00:00:00Z", 2),
            ["2024-09-13T00:00:00Z", "2024-10-13T00:00:00Z"],
            "*/5 is Sunday (0) and Friday (5); 2024-10-13 is a Sunday"
        );
    }

    #[test]
    fn leap_days_and_days_that_never_come() {
        assert_eq!(
            runs_after("30 4 29 2 *", "UTC", "2095-01-01T00:00:00Z", 2),
            ["2096-02-29T04:30:00Z", "2104-02-29T04:30:00Z"],
            "2100 is no leap year"
        );
        // */8 of 0-7 is Sunday only. 29 February was a Sunday in 2004; the calendar repeats every
        // 28 years until 2100, which is not a leap year; then it takes 40.
        assert_eq!(
            runs_after("0 0 29 2 */8", "UTC", "2061-01-01T00:00:00Z", 2),
            ["2088-02-29T00:00:00Z", "2128-02-29T00:00:00Z"]
        );
        assert!(runs_after("0 0 30 2 *", "UTC", "2024-01-01T00:00:00Z", 1).is_empty());
        assert!(
            runs_after(
                "0 0 31 2,4,6,9,11 *",
                "Europe/Berlin",
                "2024-01-01T00:00:00Z",
                1
            )
            .is_empty()
        );
    }

    #[test]
    fn skipped_jobs_run_right_after_the_gap() {
        // Berlin, Sunday 2024-03-31: 02:00 CET becomes 03:00 CEST at 01:00 UTC.
        assert_eq!(
            runs_after("30 2 * * *", "Europe/Berlin", "2024-03-30T12:00:00Z", 2),
            ["2024-03-31T01:00:00Z", "2024-04-01T00:30:00Z"]
        );
        // Two skipped times make a single run, which has a resolution of a minute; 03:00 itself
        // runs then, too.
        assert_eq!(
            runs_after("0,30 2,3 * * *", "Europe/Berlin", "2024-03-31T00:30:00Z", 2),
            ["2024-03-31T01:00:00Z", "2024-03-31T01:30:00Z"]
        );
        // Lord Howe Island sets its clock forward by half an hour: 2024-10-06, 02:00 becomes 02:30
        // at 15:30 UTC of the previous day.
        assert_eq!(
            runs_after(
                "15 2 * * *",
                "Australia/Lord_Howe",
                "2024-10-05T00:00:00Z",
                2
            ),
            ["2024-10-05T15:30:00Z", "2024-10-06T15:15:00Z"]
        );
        // Midnight did not exist in Sao Paulo on 2018-11-04 (03:00 UTC).
        assert_eq!(
            runs_after("@daily", "America/Sao_Paulo", "2018-11-03T12:00:00Z", 2),
            ["2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"]
        );
    }

    #[test]
    fn a_repeated_hour_runs_fixed_jobs_once() {
        // Berlin, Sunday 2024-10-27: 03:00 CEST becomes 02:00 CET at 01:00 UTC.
        assert_eq!(
            runs_after("30 2 * * *", "Europe/Berlin", "2024-10-26T12:00:00Z", 2),
            ["2024-10-27T00:30:00Z", "2024-10-28T01:30:00Z"]
        );
        // Starting within the repeated hour, the next run is tomorrow's.
        assert_eq!(
            runs_after("30 2 * * *", "Europe/Berlin", "2024-10-27T01:10:00Z", 1),
            ["2024-10-28T01:30:00Z"]
        );
        // 03:00 occurs once, after the repetition.
        assert_eq!(
            runs_after("0 3 * * *", "Europe/Berlin", "2024-10-27T00:10:00Z", 1),
            ["2024-10-27T02:00:00Z"]
        );
        // New York, 2024-11-03: 02:00 EDT becomes 01:00 EST at 06:00 UTC.
        assert_eq!(
            runs_after("0 1 * * 0", "America/New_York", "2024-11-03T00:00:00Z", 2),
            ["2024-11-03T05:00:00Z", "2024-11-10T06:00:00Z"]
        );
    }

    #[test]
    fn wildcard_jobs_follow_the_wall_clock() {
        // Spring: 01:30 CET, then 03:30 CEST an hour later; skipped runs are not made up.
        assert_eq!(
            runs_after("30 * * * *", "Europe/Berlin", "2024-03-31T00:00:00Z", 2),
            ["2024-03-31T00:30:00Z", "2024-03-31T01:30:00Z"]
        );
        assert_eq!(
            runs_after("*/30 2 * * *", "Europe/Berlin", "2024-03-30T12:00:00Z", 1),
            ["2024-04-01T00:00:00Z"]
        );
        // Autumn: 02:00 and 02:30 occur twice.
        assert_eq!(
            runs_after("*/30 2 * * *", "Europe/Berlin", "2024-10-26T12:00:00Z", 5),
            [
                "2024-10-27T00:00:00Z",
                "2024-10-27T00:30:00Z",
                "2024-10-27T01:00:00Z",
                "2024-10-27T01:30:00Z",
                "2024-10-28T01:00:00Z"
            ]
        );
        // Once a year within the repeated hour, starting after its first half.
        assert_eq!(
            runs_after("* 2 27 10 *", "Europe/Berlin", "2024-10-27T00:59:00Z", 1),
            ["2024-10-27T01:00:00Z"]
        );
    }

    #[test]
    fn a_change_of_a_day_is_a_correction() {
        // Samoa had no 30 December 2011: at 10:00 UTC the clock went from 24:00 on the 29th to
        // 00:00 on the 31st. The run of the 30th is not made up.
        assert_eq!(
            runs_after("0 12 * * *", "Pacific/Apia", "2011-12-29T12:00:00Z", 2),
            // 29th 12:00 at -10 is 22:00 UTC; 31st 12:00 at +14 is 22:00 UTC of the 30th.
            ["2011-12-29T22:00:00Z", "2011-12-30T22:00:00Z"]
        );
    }

    #[test]
    fn extreme_times_do_not_panic() {
        let spec = CronSpec::parse("test", "* * * * *").expect("valid");
        for name in ["UTC", "Europe/Berlin", "America/New_York"] {
            for flavor in FLAVORS {
                assert_eq!(spec.next_after(Timestamp::MAX, &zone(name), flavor), None);
                assert!(
                    spec.next_after(Timestamp::MIN, &zone(name), flavor)
                        .is_some()
                );
            }
        }
    }

    const FLAVORS: [CronFlavor; 4] = [
        CronFlavor::Vixie,
        CronFlavor::Cronie,
        CronFlavor::Systemd,
        CronFlavor::WallClock,
    ];

    fn in_flavor(flavor: CronFlavor, spec: &str, zone_name: &str, after: &str) -> [String; 2] {
        let spec = CronSpec::parse("test", spec).expect(spec);
        let after_us = after
            .parse::<Timestamp>()
            .expect("a timestamp")
            .as_microsecond();
        let clock = Clock::new(zone(zone_name));
        let mut moments = spec.moments_us(after_us, clock, flavor);
        [(); 2].map(|()| {
            let at = Timestamp::from_microsecond(moments.next().expect("one more"));
            at.expect("in range").to_string()
        })
    }

    #[test]
    fn flavors_differ_at_clock_changes() {
        // New York: on 2024-03-10 02:00 EST becomes 03:00 EDT at 07:00 UTC; on 2024-11-03 02:00 EDT
        // becomes 01:00 EST at 06:00 UTC.
        let (spring, autumn) = ("2024-03-09T12:00:00Z", "2024-11-02T12:00:00Z");
        let next = |flavor, spec, after| in_flavor(flavor, spec, "America/New_York", after);
        for flavor in [CronFlavor::Vixie, CronFlavor::Cronie] {
            assert_eq!(
                next(flavor, "30 2 * * *", spring),
                ["2024-03-10T07:00:00Z", "2024-03-11T06:30:00Z"]
            );
            assert_eq!(
                next(flavor, "30 1 * * *", autumn),
                ["2024-11-03T05:30:00Z", "2024-11-04T06:30:00Z"]
            );
        }
        assert_eq!(
            next(CronFlavor::Systemd, "30 2 * * *", spring),
            ["2024-03-11T06:30:00Z", "2024-03-12T06:30:00Z"]
        );
        assert_eq!(
            next(CronFlavor::Systemd, "30 1 * * *", autumn),
            ["2024-11-03T05:30:00Z", "2024-11-04T06:30:00Z"]
        );
        assert_eq!(
            next(CronFlavor::WallClock, "30 2 * * *", spring),
            ["2024-03-11T06:30:00Z", "2024-03-12T06:30:00Z"]
        );
        assert_eq!(
            next(CronFlavor::WallClock, "30 1 * * *", autumn),
            ["2024-11-03T05:30:00Z", "2024-11-03T06:30:00Z"]
        );
        // With a wildcard, only systemd omits the repetition.
        for flavor in [CronFlavor::Vixie, CronFlavor::Cronie, CronFlavor::WallClock] {
            assert_eq!(
                next(flavor, "*/60 1 * * *", autumn),
                ["2024-11-03T05:00:00Z", "2024-11-03T06:00:00Z"]
            );
        }
        assert_eq!(
            next(CronFlavor::Systemd, "*/60 1 * * *", autumn),
            ["2024-11-03T05:00:00Z", "2024-11-04T06:00:00Z"]
        );
    }

    #[test]
    fn cronie_notices_a_change_of_zone_only_with_daylight_saving_time() {
        // Caracas went from -04:30 to -04:00 on 2016-05-01 at 02:30, 07:00 UTC, without daylight
        // saving time. 02:45 did not exist: Debian's cron makes up for it at once.
        let next = |flavor| {
            in_flavor(
                flavor,
                "45 2 * * *",
                "America/Caracas",
                "2016-04-30T12:00:00Z",
            )
        };
        assert_eq!(
            next(CronFlavor::Vixie),
            ["2016-05-01T07:00:00Z", "2016-05-02T06:45:00Z"]
        );
        assert_eq!(
            next(CronFlavor::Cronie),
            ["2016-05-02T06:45:00Z", "2016-05-03T06:45:00Z"]
        );
    }

    #[test]
    fn systemd_reads_either_day_as_two_events() {
        // The 13th when it is a Friday, and every Friday.
        let spec = CronSpec::parse("test", "0 0 14 * 5").expect("valid");
        let after_us = Timestamp::from_second(1_725_667_200)
            .expect("in range")
            .as_microsecond();
        let clock = || Clock::new(TimeZone::UTC);
        let moments = |flavor| -> Vec<i64> {
            spec.moments_us(after_us, clock(), flavor)
                .take(40)
                .collect()
        };
        assert_eq!(moments(CronFlavor::Systemd), moments(CronFlavor::Vixie));
    }

    /// The daemon's main loop, minute by minute, with the four kinds of wakeup described in cron.c:
    /// Debian's 3.0pl1-162 and cronie 1.7. cronie is restarted when the zone changes its offset
    /// without daylight saving time.
    fn daemon(
        spec: &CronSpec,
        zone: &TimeZone,
        from_s: i64,
        until_s: i64,
        flavor: CronFlavor,
    ) -> Vec<i64> {
        let info = |s: i64| {
            let info = zone.to_offset_info(Timestamp::from_second(s).expect("in range"));
            (i64::from(info.offset().seconds()), info.dst().is_dst())
        };
        let wall = |s: i64| (s + info(s).0).div_euclid(60);
        let mut found = Vec::new();
        let mut run = |at_s: i64, minute: i64, wild: bool, fixed: bool| {
            let (_, month, day) = date_of_days(minute.div_euclid(DAY_MIN));
            let of_day = minute.rem_euclid(DAY_MIN);
            let due = spec.minutes & (1 << (of_day % 60)) != 0
                && spec.hours & (1 << (of_day / 60)) != 0
                && spec.matches_day(month, day, minute.div_euclid(DAY_MIN));
            if due && (if spec.wildcard { wild } else { fixed }) && found.last() != Some(&at_s) {
                found.push(at_s);
            }
        };
        let mut virtual_minute = wall(from_s);
        for at_s in (from_s + 60..until_s).step_by(60) {
            let now = wall(at_s);
            let (before, after) = (info(at_s - 60), info(at_s));
            if flavor == CronFlavor::WallClock
                || (flavor == CronFlavor::Cronie && before.0 != after.0 && before.1 == after.1)
            {
                virtual_minute = now - 1;
            }
            match now - virtual_minute {
                1 => {
                    virtual_minute = now;
                    run(at_s, now, true, true);
                }
                2..=180 => {
                    run(at_s, now, true, false);
                    while virtual_minute < now {
                        virtual_minute += 1;
                        run(at_s, virtual_minute, false, true);
                    }
                }
                -179..=0 => run(at_s, now, true, false),
                -180 if flavor == CronFlavor::Cronie => run(at_s, now, true, false),
                _ => {
                    virtual_minute = now;
                    run(at_s, now, true, true);
                }
            }
        }
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]
        /// Compares four days around a clock change with the runs of the daemon's loop.
        #[test]
        fn agrees_with_the_daemon_loop(
            flavor in prop::sample::select(vec![
                CronFlavor::Vixie, CronFlavor::Cronie, CronFlavor::WallClock,
            ]),
            zone_name in prop::sample::select(vec![
                "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                "America/Sao_Paulo", "Asia/Tokyo", "Pacific/Apia", "Antarctica/Casey",
                "Africa/Casablanca", "America/St_Johns", "Antarctica/Troll", "America/Caracas",
                "Europe/Istanbul", "Europe/Moscow", "Asia/Pyongyang",
            ]),
            year_s in 946_684_800i64..2_000_000_000,
            minute in prop::sample::select(vec!["*", "0", "*/7", "30", "0-59/13", "5,45", "59"]),
            hour in prop::sample::select(vec!["*", "*/2", "0", "1", "2", "3", "0-3", "1,2,23", "12"]),
            day in prop::sample::select(vec!["*", "1-31", "*/3", "25-31", "1-7"]),
            weekday in prop::sample::select(vec!["*", "0", "1-5", "sat,sun", "*/2"]),
        ) {
            let zone = zone(zone_name);
            let spec = CronSpec::parse("test", &format!("{minute} {hour} {day} * {weekday}")).expect("valid");
            let near = Timestamp::from_second(year_s).expect("in range");
            let change_s = zone.following(near).next().map_or(year_s, |t| t.timestamp().as_second());
            let from_s = (change_s - 2 * DAY_S).div_euclid(60) * 60;
            let until_s = from_s + 4 * DAY_S;
            let ours: Vec<i64> = spec
                .moments_us(from_s * 1_000_000, Clock::new(zone.clone()), flavor)
                .map(|at_us| at_us / 1_000_000)
                .take_while(|&at_s| at_s < until_s)
                .collect();
            let theirs = daemon(&spec, &zone, from_s, until_s, flavor);
            prop_assert_eq!(ours, theirs, "{} in {}, {:?}", spec, zone_name, flavor);
        }

        /// For systemd, a crontab line equals the calendar event with the same lists.
        #[test]
        fn agrees_with_the_calendar(
            zone_name in prop::sample::select(vec![
                "Europe/Berlin", "Australia/Lord_Howe", "Antarctica/Troll", "Pacific/Apia",
            ]),
            year_s in 946_684_800i64..2_000_000_000,
            (minute, hour, day) in (0u8..60, 0u8..24, 1u8..29),
            weekday in 0usize..8,
        ) {
            const NAMES: [&str; 8] = ["", "Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "];
            let zone = zone(zone_name);
            // A leading star, so that both have to match.
            let of_week = if weekday == 0 { "*".to_owned() } else { weekday.to_string() };
            let spec = CronSpec::parse("test", &format!("{minute} {hour} */{day} * {of_week}")).expect("valid");
            // Listed one by one, because systemd lets an open-ended repetition overflow past the
            // end of the month.
            let days: Vec<String> = (1..=31u8).step_by(day.into()).map(|day| day.to_string()).collect();
            let text = format!("{}*-*-{} {hour}:{minute}", NAMES[weekday], days.join(","));
            let calendar = Calendar::parse("test", &text).expect("valid");
            let near = Timestamp::from_second(year_s).expect("in range");
            let change = zone.following(near).next().map_or(near, |t| t.timestamp());
            let from = Timestamp::from_second(change.as_second() - 2 * DAY_S).expect("in range");
            let mut clock = Clock::new(zone.clone());
            let mut at_us = from.as_microsecond();
            for ours in spec.moments_us(at_us, Clock::new(zone.clone()), CronFlavor::Systemd).take(20) {
                let next = calendar.next_after_us(at_us, &mut clock);
                prop_assert_eq!(Some(ours), next, "{} in {}", spec, zone_name);
                at_us = ours;
            }
        }
    }
}
