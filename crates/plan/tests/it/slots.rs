//! Slots beside the calendar that systemd reads from them: whatever is asked for, no two passes overlap, or it is
//! refused.

use crate::WEEK;
use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use plan::{Every, Refusal, Request, Slot, Window, assign, slot_len_s};
use proptest::prelude::*;
use schedule::Calendar;

/// With clock changes on Sundays, on Fridays, by half an hour, across midnight, four times a year, and without any.
const ZONES: [&str; 10] = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Africa/Cairo",
    "Asia/Gaza",
    "America/Santiago",
    "Atlantic/Azores",
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "UTC",
];

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

/// The first days of each plan, and those around each of the zone's clock changes in the next two years.
fn spans(zone: &TimeZone, from: Timestamp) -> Vec<(Timestamp, Timestamp)> {
    let days = |count: i64| SignedDuration::from_hours(24 * count);
    let until = from + days(730);
    let changes = zone.following(from).map(|change| change.timestamp());
    let changes = changes.take_while(|&change| change < until);
    let around = changes.map(|change| (change - days(4), change + days(4)));
    [(from, from + days(15))]
        .into_iter()
        .chain(around)
        .collect()
}

/// When passes run between two times, by systemd's calendar.
fn runs(
    slots: &[Slot],
    zone: &str,
    from: Timestamp,
    until: Timestamp,
) -> Vec<(Timestamp, Timestamp)> {
    let mut runs = Vec::new();
    for slot in slots {
        let text = slot.calendar(Some(zone));
        let calendar = Calendar::parse("slot", &text).expect("a calendar that systemd reads");
        let mut now = from;
        while let Some(start) = calendar.next_after(now, &TimeZone::UTC) {
            if start > until {
                break;
            }
            let end = start + SignedDuration::from_secs(i64::from(slot.len_s));
            runs.push((start, end));
            now = start;
        }
    }
    runs.sort_unstable();
    runs
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_two_passes_ever_overlap(
        passes in 0usize..120,
        len_s in 1u32..5 * 3600,
        opens in 0i8..24,
        minute in 0i8..60,
        window_s in 1u32..=24 * 3600,
        days in proptest::sample::subsequence(WEEK.to_vec(), 1..=7),
        zone in proptest::sample::select(&ZONES[..]),
        later in 0i64..3000,
        every in proptest::sample::select(vec![Every::Week, Every::Day]),
    ) {
        let from = at("2026-01-01T00:00:00Z") + SignedDuration::from_hours(later);
        let known = TimeZone::get(zone).expect("a zone");
        let window = Window { from: Time::constant(opens, minute, 0, 0), len_s: window_s };
        let request = Request { passes, len_s, window, days: &days, zone: &known, from, busy: &[], every };
        match assign(&request) {
            Ok(slots) => {
                prop_assert_eq!(slots.len(), passes);
                for (since, until) in spans(&known, from) {
                    let runs = runs(&slots, zone, since, until);
                    for pair in runs.windows(2) {
                        prop_assert!(pair[0].1 <= pair[1].0, "{:?} in {zone}: {slots:?}", pair);
                    }
                    // Within the window, which may end on the next day; and none is missed.
                    prop_assert!(passes == 0 || runs.len() >= passes, "{} of {passes}", runs.len());
                }
                for slot in &slots {
                    let opened = slot.at.duration_since(window.from).as_secs().rem_euclid(86400);
                    prop_assert!(opened + i64::from(slot.len_s) <= i64::from(window_s));
                    prop_assert!(slot.len_s >= len_s);
                }
            }
            Err(Refusal::TooShort { slot_s, window_s: window }) => {
                prop_assert!(slot_s > window && slot_s - len_s < 60 && window == window_s);
            }
            Err(Refusal::TooMany { slots, enough_s, .. }) => {
                prop_assert!(slots < passes);
                if let Some(enough_s) = enough_s {
                    let window = Window { len_s: enough_s, ..window };
                    let fits = assign(&Request { window, ..request }).is_ok();
                    prop_assert!(fits);
                    prop_assert!(enough_s > window_s);
                }
            }
        }
    }
}

fn berlin(passes: usize, window_s: u32) -> Result<Vec<Slot>, Refusal> {
    assign(&Request {
        passes,
        len_s: 20 * 60,
        window: Window {
            from: Time::constant(1, 0, 0, 0),
            len_s: window_s,
        },
        days: &WEEK,
        zone: &TimeZone::get("Europe/Berlin").expect("a zone"),
        from: at("2026-11-29T00:00:00Z"),
        busy: &[],
        every: Every::Week,
    })
}

#[test]
fn days_differ_before_hours_do() {
    let slots = berlin(9, 4 * 3600).expect("enough slots");
    let shown: Vec<String> = slots.iter().map(Slot::to_string).collect();
    assert_eq!(
        shown,
        [
            "Tue 01:00",
            "Wed 01:00",
            "Thu 01:00",
            "Sat 01:00",
            "Sun 01:00",
            "Fri 01:00",
            "Mon 01:00",
            "Tue 01:20",
            "Wed 01:20",
        ]
    );
    assert_eq!(slots[7].calendar(None), "Tue *-*-* 01:20:00");
    assert_eq!(slots[7].window(), "01:20-01:40");
}

/// In March, Sunday has no 02:00 to 03:00; in October it has two.
#[test]
fn hours_that_clocks_skip_or_repeat_are_left_out() {
    let slots = berlin(81, 4 * 3600).expect("seven times twelve less three");
    let sundays = slots
        .iter()
        .filter(|slot| slot.weekday == Some(Weekday::Sunday));
    let sundays: Vec<String> = sundays.map(Slot::to_string).collect();
    assert_eq!(
        sundays,
        [
            "Sun 01:00",
            "Sun 01:20",
            "Sun 01:40",
            "Sun 03:00",
            "Sun 03:20",
            "Sun 03:40",
            "Sun 04:00",
            "Sun 04:20",
            "Sun 04:40"
        ]
    );
}

#[test]
fn a_refusal_says_what_would_do() {
    let refused = |passes, window_s| berlin(passes, window_s).expect_err("too many").to_string();
    assert_eq!(
        refused(100, 4 * 3600),
        "100 slots of 20 min do not fit a week's windows of 4 h, which have 81; windows of 5 h do"
    );
    assert_eq!(
        refused(1, 10 * 60),
        "a slot of 20 min is longer than the window of 10 min"
    );
    assert_eq!(
        refused(600, 4 * 3600),
        "600 slots of 20 min do not fit a week's windows of 4 h, which have 81; those of a whole day \
         do not either"
    );
}

/// A pass and a margin fit, and ES010 takes no two starts for simultaneous.
#[test]
fn a_slot_is_longer_than_its_pass() {
    for (pass_s, slot_s) in [
        (1, 1200),
        (60, 1200),
        (1140, 1200),
        (1141, 1500),
        (1200, 1500),
        (3600, 3900),
    ] {
        assert_eq!(slot_len_s(pass_s), slot_s, "{pass_s}");
    }
    assert_eq!(slot_len_s(u64::MAX), u32::MAX);
}

#[test]
fn a_slot_begins_next_week_once_it_has_begun() {
    let zone = TimeZone::get("Europe/Berlin").expect("a zone");
    let slot = berlin(1, 4 * 3600).expect("one")[0];
    for (after, day) in [
        // Monday in Berlin; Tuesday 00:59, 01:00 and 02:00.
        ("2026-11-30T12:00:00Z", "2026-12-01"),
        ("2026-11-30T23:59:00Z", "2026-12-01"),
        ("2026-12-01T00:00:00Z", "2026-12-08"),
        ("2026-12-01T01:00:00Z", "2026-12-08"),
    ] {
        assert_eq!(slot.next_day(&zone, at(after)).to_string(), day, "{after}");
    }
}

#[test]
fn slots_are_read_as_they_are_written() {
    for text in ["Tue 02:20", "Sun 00:00", "daily 23:40"] {
        let slot: Slot = text.parse().expect("a slot");
        assert_eq!(slot.to_string(), text);
    }
    let daily: Slot = "daily 01:05".parse().expect("a slot");
    assert_eq!(
        (daily.calendar(None), daily.cron()),
        ("*-*-* 01:05:00".to_owned(), "5 1 * * *".to_owned())
    );
    let weekly: Slot = "Sun 01:05".parse().expect("a slot");
    assert_eq!(weekly.cron(), "5 1 * * 0");
    assert_eq!(
        weekly.spans_s().collect::<Vec<_>>(),
        [(6 * 86_400 + 3_900, 0)]
    );
    assert_eq!(daily.spans_s().count(), 7);
    for text in ["", "Tue", "Xyz 01:00", "daily", "daily 25:00", "Tue 1"] {
        assert!(text.parse::<Slot>().is_err(), "{text}");
    }
}

/// Slots keep away from what else is busy, also around the end of the week.
#[test]
fn busy_times_have_no_slots() {
    let zone = TimeZone::UTC;
    let request = Request {
        passes: 1,
        len_s: 4 * 3600,
        window: Window {
            from: Time::constant(22, 0, 0, 0),
            len_s: 4 * 3600,
        },
        every: Every::Week,
        days: &[Weekday::Sunday, Weekday::Monday],
        zone: &zone,
        from: at("2026-11-29T00:00:00Z"),
        busy: &[(1800, 60)],
    };
    let slots = assign(&request).expect("a slot");
    assert_eq!(
        slots[0].to_string(),
        "Mon 22:00",
        "Sunday's ends on Monday at 02:00"
    );
    let daily = Request {
        every: Every::Day,
        ..request
    };
    assert!(assign(&daily).is_err());
}
