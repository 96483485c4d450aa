//! `--window`: times of day in which a pass may work.
//!
//! A window is open while a wall clock in its zone shows a time within it. That also holds on the
//! days on which clocks go forward or back, and when the host's clock is changed: nothing is
//! remembered from one query to the next.

use crate::pass::{Closed, Gate};
use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use std::fmt;
use units::ValueError;

const MINUTES_PER_DAY: u16 = 24 * 60;
/// Days to look ahead for the next opening: on one of them the clocks may skip the whole window.
const DAYS_AHEAD: i64 = 3;

/// A span of the day, to the minute; it crosses midnight if it ends before it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Minute of the day at which it opens, below 1440.
    from_min: u16,
    /// Minute of the day at which it closes, up to 1440.
    until_min: u16,
}

impl Window {
    /// Parses `01:00-05:00`.
    ///
    /// # Errors
    /// If `text` is not a window; the error states the expected form.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        let expected = || ValueError::new("a window such as 01:00-05:00", text);
        let (from, until) = text.trim().split_once('-').ok_or_else(expected)?;
        let from_min = minute_of_day(from).ok_or_else(expected)?;
        let until_min = minute_of_day(until).ok_or_else(expected)?;
        if from_min == MINUTES_PER_DAY {
            return Err(expected());
        }
        if from_min == until_min {
            return Err(ValueError::new(
                "a window that ends at another time than it begins",
                text,
            ));
        }
        Ok(Self {
            from_min,
            until_min,
        })
    }

    fn contains(self, time: Time) -> bool {
        let minute =
            u16::from(time.hour().unsigned_abs()) * 60 + u16::from(time.minute().unsigned_abs());
        if self.from_min < self.until_min {
            (self.from_min..self.until_min).contains(&minute)
        } else {
            minute >= self.from_min || minute < self.until_min
        }
    }

    /// Returns how long it is open, in seconds.
    pub fn len_s(self) -> u32 {
        let (from, until) = (u32::from(self.from_min), u32::from(self.until_min));
        let day = u32::from(MINUTES_PER_DAY);
        match (until + day - from) % day {
            0 => day * 60,
            minutes => minutes * 60,
        }
    }

    /// Returns the time at which it opens.
    pub fn opening(self) -> Time {
        let part = |number: u16| i8::try_from(number).unwrap_or(0);
        Time::constant(part(self.from_min / 60), part(self.from_min % 60), 0, 0)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, until) = (self.from_min, self.until_min);
        write!(
            f,
            "{:02}:{:02}-{:02}:{:02}",
            from / 60,
            from % 60,
            until / 60,
            until % 60
        )
    }
}

/// Parses `01:00`, `1:00` or `24:00`.
fn minute_of_day(text: &str) -> Option<u16> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let number = |text: &str, max: u16| -> Option<u16> {
        let plain = matches!(text.len(), 1 | 2) && text.bytes().all(|b| b.is_ascii_digit());
        let number: u16 = text.parse().ok()?;
        (plain && number <= max).then_some(number)
    };
    if minutes.len() != 2 {
        return None;
    }
    let total = number(hours, 24)? * 60 + number(minutes, 59)?;
    (total <= MINUTES_PER_DAY).then_some(total)
}

/// Windows and their time zone; with no windows it is always open.
#[derive(Debug, Clone)]
pub struct Windows {
    windows: Vec<Window>,
    zone: TimeZone,
}

impl Windows {
    /// Creates windows of a zone.
    pub fn new(windows: Vec<Window>, zone: TimeZone) -> Self {
        Self { windows, zone }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// Describes the windows: `01:00-05:00 and 13:00-14:00, Europe/Berlin`.
    pub fn words(&self) -> String {
        let list: Vec<String> = self.windows.iter().map(Window::to_string).collect();
        let zone = self.zone.iana_name().unwrap_or("the host's time zone");
        format!("{}, {zone}", list.join(" and "))
    }

    /// Formats a moment in the windows' zone: `2026-11-21 01:00 Europe/Berlin`.
    pub fn local(&self, at: Timestamp) -> String {
        units::date::minute_in_zone(at, &self.zone)
    }

    /// Returns whether work is allowed at this moment.
    pub fn is_open(&self, at: Timestamp) -> bool {
        let time = self.zone.to_datetime(at).time();
        self.windows.is_empty() || self.windows.iter().any(|window| window.contains(time))
    }

    /// Returns the next moment from `now` on at which a window opens: at its first minute, or at a
    /// clock change that leads into it.
    pub fn opens_at(&self, now: Timestamp) -> Option<Timestamp> {
        let today = self.zone.to_datetime(now).date();
        let mut candidates: Vec<Timestamp> = Vec::new();
        for days in 0..=DAYS_AHEAD {
            let Ok(date) = today.checked_add(jiff::Span::new().days(days)) else {
                continue;
            };
            for window in &self.windows {
                let opening = self
                    .zone
                    .to_ambiguous_timestamp(date.to_datetime(window.opening()));
                // When clocks go back, an hour occurs twice.
                candidates.extend(opening.earlier());
                candidates.extend(opening.later());
            }
        }
        candidates.extend(
            self.zone
                .following(now)
                .take(2)
                .map(|transition| transition.timestamp()),
        );
        candidates
            .into_iter()
            .filter(|&at| at >= now && self.is_open(at))
            .min()
    }
}

impl Gate for Windows {
    fn closed(&mut self, now: Timestamp) -> Option<Closed> {
        if self.is_open(now) {
            return None;
        }
        Some(Closed {
            reason: format!("outside of --window {}", self.words()),
            opens_at: self.opens_at(now),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn windows(texts: &[&str], zone: &str) -> Windows {
        Windows::new(
            texts
                .iter()
                .map(|text| Window::parse(text).unwrap())
                .collect(),
            TimeZone::get(zone).unwrap(),
        )
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn windows_are_parsed_and_displayed() {
        for (text, shown) in [
            ("01:00-05:00", "01:00-05:00"),
            (" 1:00 - 5:30 ", "01:00-05:30"),
            ("22:00-02:00", "22:00-02:00"),
            ("20:00-24:00", "20:00-24:00"),
            ("00:00-24:00", "00:00-24:00"),
        ] {
            assert_eq!(Window::parse(text).unwrap().to_string(), shown);
        }
        for text in [
            "",
            "-",
            "01:00",
            "01:00-",
            "25:00-26:00",
            "01:60-02:00",
            "1-5",
            "01:00-01:00",
            "24:00-05:00",
            "24:01-05:00",
            "01:00-05:00-07:00",
            "+1:00-05:00",
            "001:00-05:00",
            "01:0-05:00",
        ] {
            assert!(
                Window::parse(text)
                    .unwrap_err()
                    .to_string()
                    .starts_with("expected a window"),
                "{text}"
            );
        }
    }

    #[test]
    fn window_includes_its_first_minute_and_excludes_its_end() {
        let windows = windows(&["01:00-05:00"], "UTC");
        assert!(!windows.is_open(at("2026-03-02T00:59:59Z")));
        assert!(windows.is_open(at("2026-03-02T01:00:00Z")));
        assert!(windows.is_open(at("2026-03-02T04:59:59Z")));
        assert!(!windows.is_open(at("2026-03-02T05:00:00Z")));
        assert_eq!(
            windows.opens_at(at("2026-03-02T05:00:00Z")),
            Some(at("2026-03-03T01:00:00Z"))
        );
    }

    #[test]
    fn across_midnight_and_the_nearest_of_several() {
        let windows = windows(&["22:00-02:00", "13:00-14:00"], "Asia/Tokyo");
        // 23:30 and 01:59 in Tokyo.
        assert!(windows.is_open(at("2026-03-02T14:30:00Z")));
        assert!(windows.is_open(at("2026-03-02T16:59:00Z")));
        // 02:00, then 13:00.
        assert_eq!(
            windows.opens_at(at("2026-03-02T17:00:00Z")),
            Some(at("2026-03-03T04:00:00Z"))
        );
    }

    #[test]
    fn clocks_going_forward_open_or_skip_a_window() {
        // Berlin, 2026-03-29: 02:00 becomes 03:00, at 01:00 UTC.
        let into = windows(&["02:30-04:00"], "Europe/Berlin");
        assert_eq!(
            into.opens_at(at("2026-03-29T00:59:59Z")),
            Some(at("2026-03-29T01:00:00Z"))
        );
        let over = windows(&["02:15-02:45"], "Europe/Berlin");
        assert_eq!(
            over.opens_at(at("2026-03-29T00:30:00Z")),
            Some(at("2026-03-30T00:15:00Z"))
        );
    }

    #[test]
    fn clocks_going_back_open_a_window_twice() {
        // Berlin, 2026-10-25: 03:00 becomes 02:00, at 01:00 UTC.
        let windows = windows(&["02:10-02:20"], "Europe/Berlin");
        assert_eq!(
            windows.opens_at(at("2026-10-25T00:00:00Z")),
            Some(at("2026-10-25T00:10:00Z"))
        );
        assert_eq!(
            windows.opens_at(at("2026-10-25T00:20:00Z")),
            Some(at("2026-10-25T01:10:00Z"))
        );
    }

    #[test]
    fn no_windows_are_always_open() {
        let mut none = windows(&[], "UTC");
        assert_eq!(none.closed(at("2026-03-02T12:00:00Z")), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = Window::parse(&text);
        }

        #[test]
        fn displayed_windows_parse_back(from in 0_u16..1440, until in 0_u16..=1440) {
            prop_assume!(from != until);
            let window = Window { from_min: from, until_min: until };
            prop_assert_eq!(Window::parse(&window.to_string()), Ok(window));
        }

        /// Stepping through the minutes finds the same opening as the calculation. All zones' clock
        /// changes fall on whole minutes in these years.
        #[test]
        fn the_next_opening_is_the_first_open_minute(
            from in 0_u16..1440, until in 0_u16..=1440,
            // Around the spring and autumn changes of Berlin, New York and Lord Howe (half an
            // hour), and within a year.
            base in prop::sample::select(vec![
                "2026-03-28T00:00:00Z", "2026-10-24T00:00:00Z", "2026-03-07T12:00:00Z",
                "2026-10-31T12:00:00Z", "2026-04-04T00:00:00Z", "2026-10-03T00:00:00Z",
                "2026-07-01T00:00:00Z",
            ]),
            minutes in 0_i64..(3 * 1440),
            zone in prop::sample::select(vec![
                "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC", "Asia/Kathmandu",
            ]),
        ) {
            prop_assume!(from != until);
            let windows = Windows::new(
                vec![Window { from_min: from, until_min: until }],
                TimeZone::get(zone).unwrap(),
            );
            let now = at(base) + jiff::SignedDuration::from_mins(minutes);
            let watched = (0..5 * 1440)
                .map(|minute| now + jiff::SignedDuration::from_mins(minute))
                .find(|&at| windows.is_open(at));
            if windows.is_open(now) {
                prop_assert_eq!(watched, Some(now));
            } else {
                prop_assert_eq!(windows.opens_at(now), watched);
            }
        }
    }
}
