//! Quiet windows of made-up histories: nightly, at weekends, never, and by clocks that change.

use crate::WEEK;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use plan::{LoadCurve, QuietWindow, WeekLoad};
use proptest::prelude::*;
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).expect("a zone")
}

/// A sample every ten minutes of some weeks, by the local hour and day, with noise of a fifth.
fn history(clocks: &str, weeks: i64, load: impl Fn(Weekday, i8) -> f64) -> (Vec<i64>, Vec<f64>) {
    let clocks = zone(clocks);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    // Around the change of the clocks on 2026-10-25.
    let from: Timestamp = "2026-09-28T00:00:00Z".parse().expect("a time");
    (0..weeks * 7 * 144)
        .map(|step| {
            let at = from + SignedDuration::from_mins(10 * step);
            let local = clocks.to_datetime(at);
            let noise =
                1.0 + 0.2 * (f64::from(random.next_u32()) / f64::from(u32::MAX) * 2.0 - 1.0);
            (
                at.as_microsecond(),
                load(local.weekday(), local.hour()) * noise,
            )
        })
        .unzip()
}

fn quietest(history: &(Vec<i64>, Vec<f64>), hours: u32, clocks: &str) -> QuietWindow {
    let curve = LoadCurve {
        times_us: &history.0,
        values: &history.1,
    };
    let week = WeekLoad::of(&[curve], &zone(clocks)).expect("enough samples");
    week.quietest(hours * 3600, &WEEK).expect("a window")
}

fn is_weekend(day: Weekday) -> bool {
    matches!(day, Weekday::Saturday | Weekday::Sunday)
}

#[test]
fn nights_are_quiet() {
    let nightly = history("Europe/Berlin", 8, |_, hour| {
        if (1..6).contains(&hour) { 10.0 } else { 100.0 }
    });
    let found = quietest(&nightly, 4, "Europe/Berlin");
    assert!(found.is_quiet() && found.share < 0.2, "{found:?}");
    assert!((1..=2).contains(&found.from.hour()), "{found:?}");
    assert_eq!(found.days, WEEK, "any day");
}

#[test]
fn weekends_are_quiet() {
    let weekends = history(
        "UTC",
        8,
        |day, _| if is_weekend(day) { 10.0 } else { 100.0 },
    );
    let found = quietest(&weekends, 4, "UTC");
    assert!(found.is_quiet(), "{found:?}");
    assert_eq!(found.days, [Weekday::Saturday, Weekday::Sunday]);
}

#[test]
fn never_quiet_is_said() {
    let always = history("UTC", 8, |_, _| 100.0);
    let found = quietest(&always, 4, "UTC");
    assert!(
        !found.is_quiet() && (0.8..1.1).contains(&found.share),
        "{found:?}"
    );
}

/// Work by the clocks of Berlin, of which half was before they changed: by those clocks the whole night is quiet, by UTC
/// only what is quiet before and after.
#[test]
fn clocks_that_change_do_not_blur_the_night() {
    let nightly = history("Europe/Berlin", 8, |_, hour| {
        if (1..5).contains(&hour) { 10.0 } else { 100.0 }
    });
    let local = quietest(&nightly, 4, "Europe/Berlin");
    assert_eq!(
        (local.from.hour(), local.is_quiet()),
        (1, true),
        "{local:?}"
    );
    assert!(local.share < 0.2, "{local:?}");
    let utc = quietest(&nightly, 3, "UTC");
    assert_eq!((utc.from.hour(), utc.is_quiet()), (0, true), "{utc:?}");
    assert!(utc.share < 0.2, "{utc:?}");
    // Four hours of UTC have one in which work began or ended in half of the weeks.
    assert!(quietest(&nightly, 4, "UTC").share > 0.25);
}

#[test]
fn hourly_samples_are_enough_and_daily_ones_are_not() {
    let nightly = history(
        "UTC",
        8,
        |_, hour| if (1..6).contains(&hour) { 10.0 } else { 100.0 },
    );
    let every = |step: usize| -> (Vec<i64>, Vec<f64>) {
        let pairs = nightly.0.iter().zip(&nightly.1).step_by(step);
        pairs.map(|(at, value)| (*at, *value)).unzip()
    };
    let found = quietest(&every(6), 4, "UTC");
    assert!(
        found.is_quiet() && (1..=2).contains(&found.from.hour()),
        "{found:?}"
    );
    let daily = every(144);
    let curve = LoadCurve {
        times_us: &daily.0,
        values: &daily.1,
    };
    assert_eq!(WeekLoad::of(&[curve], &TimeZone::UTC), None);
}

/// One busy night in eight does not make a night busy; every second one does.
#[test]
fn rare_work_is_no_load_and_frequent_work_is() {
    let (times, mut values) = history("UTC", 8, |_, hour| if hour < 6 { 10.0 } else { 100.0 });
    let quiet = (times, values.clone());
    assert!(quietest(&quiet, 4, "UTC").is_quiet());
    let day = 144;
    for (index, value) in values.iter_mut().enumerate() {
        if (index / day) % 2 == 0 && index % day < 48 {
            *value = 100.0;
        }
    }
    let busy = (quiet.0, values);
    let found = quietest(&busy, 4, "UTC");
    assert!(!found.is_quiet(), "{found:?}");
}

#[test]
fn less_than_a_week_tells_hours_and_less_than_a_day_nothing() {
    let nightly = history("UTC", 1, |_, hour| if hour < 6 { 10.0 } else { 100.0 });
    let cut = |count: usize| {
        WeekLoad::of(
            &[LoadCurve {
                times_us: &nightly.0[..count],
                values: &nightly.1[..count],
            }],
            &TimeZone::UTC,
        )
    };
    assert_eq!(cut(100), None);
    let two_days = cut(289).expect("two days");
    assert!(two_days.is_one_day);
    let found = two_days.quietest(4 * 3600, &WEEK).expect("a window");
    assert!(
        found.is_quiet() && found.from.hour() <= 2 && found.days.len() == 7,
        "{found:?}"
    );
    assert_eq!(WeekLoad::of(&[], &TimeZone::UTC), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Whatever is measured, the window that is named is as quiet as any other; deeper nights are no worse.
    #[test]
    fn deeper_nights_are_found_as_well(depth in 0.0f64..0.4, from in 0i8..20, len in 4i8..8) {
        let nights = history("UTC", 3, |_, hour| if (from..from + len).contains(&hour) { depth } else { 1.0 });
        let found = quietest(&nights, 4, "UTC");
        prop_assert!(found.is_quiet(), "{found:?}");
        prop_assert!(found.from.hour() >= from && found.from.hour() + 4 <= from + len, "{from} {len} {found:?}");
    }

    #[test]
    fn any_samples_are_folded(values in proptest::collection::vec(-1e300f64..1e300, 0..400), step_min in 1i64..3000, far in any::<i64>()) {
        let times: Vec<i64> = (0..values.len()).map(|index| (far / 4).saturating_add(i64::try_from(index).unwrap_or(0) * step_min * 60_000_000)).collect();
        let curve = LoadCurve { times_us: &times, values: &values };
        if let Some(week) = WeekLoad::of(&[curve], &zone("Africa/Casablanca")) {
            let _ = week.quietest(3600, &WEEK);
        }
    }
}
