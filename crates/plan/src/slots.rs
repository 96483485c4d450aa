//! Slots of the week, one for each pass.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};
use std::fmt;
use std::str::FromStr;

const MINUTE_S: u32 = 60;
const DAY_S: u32 = 24 * 3600;
const WEEK_S: u32 = 7 * DAY_S;
/// How far ahead clock changes are looked at.
const AHEAD: SignedDuration = SignedDuration::from_hours(10 * 366 * 24);
/// Maximum number of clock changes looked at; a zone has two a year, one with Ramadan four.
const CHANGES_MAX: usize = 100;

/// The hours of a day in which passes may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// When it opens.
    pub from: Time,
    /// For how long, in seconds; at most a day. It may end on the next day.
    pub len_s: u32,
}

/// How often a pass runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Every {
    /// Once a week.
    Week,
    /// Once a day.
    Day,
}

/// What slots are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Number of passes.
    pub passes: usize,
    /// How long the longest of them may take, in seconds. Slots begin at whole minutes.
    pub len_s: u32,
    /// The window of each day.
    pub window: Window,
    /// How often each of them runs.
    pub every: Every,
    /// The days on which it opens, in the order of preference; all of them are meant if passes are daily.
    pub days: &'a [Weekday],
    /// The zone of the window. Slots of hosts in several zones are all in this one.
    pub zone: &'a TimeZone,
    /// When the plan begins.
    pub from: Timestamp,
    /// When other jobs may start, which slots keep away from: the second of the week, from Monday 00:00 on, and for how
    /// many seconds.
    pub busy: &'a [(u32, u32)],
}

/// A slot: every week or every day at this time, for at most so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The day on which it begins; `None` for every day.
    pub weekday: Option<Weekday>,
    /// When it begins.
    pub at: Time,
    /// After how many seconds it ends.
    pub len_s: u32,
}

/// Why there is no slot for each pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Not even one pass fits.
    TooShort {
        /// Length of a slot in seconds.
        slot_s: u32,
        /// Length of the window in seconds.
        window_s: u32,
    },
    /// There are more passes than slots.
    TooMany {
        /// How often each pass runs.
        every: Every,
        /// Number of passes.
        passes: usize,
        /// Number of slots.
        slots: usize,
        /// Length of a slot in seconds.
        slot_s: u32,
        /// Length of the window in seconds.
        window_s: u32,
        /// The shortest window that has a slot for each, in seconds; `None` if not even a day has.
        enough_s: Option<u32>,
    },
}

impl Slot {
    /// Returns the slot as systemd's `OnCalendar=`: `Tue *-*-* 02:20:00 Europe/Berlin`. `zone` is a name of the time
    /// zone database; without it, the host's own zone counts.
    pub fn calendar(&self, zone: Option<&str>) -> String {
        let day = self.weekday.map(units::date::weekday_short);
        let day = day.map_or_else(String::new, |day| format!("{day} "));
        let at = self.at.strftime("%H:%M:%S");
        match zone {
            Some(zone) => format!("{day}*-*-* {at} {zone}"),
            None => format!("{day}*-*-* {at}"),
        }
    }

    /// Returns the slot as the time fields of a crontab: `20 2 * * 2`.
    pub fn cron(&self) -> String {
        let day = self.weekday.map(Weekday::to_sunday_zero_offset);
        let day = day.map_or_else(|| "*".to_owned(), |day| day.to_string());
        format!("{} {} * * {day}", self.at.minute(), self.at.hour())
    }

    /// Returns the hours of the slot: `02:20-02:40`.
    pub fn window(&self) -> String {
        let end = self
            .at
            .wrapping_add(SignedDuration::from_secs(i64::from(self.len_s)));
        format!("{}-{}", self.at.strftime("%H:%M"), end.strftime("%H:%M"))
    }

    /// Returns the day on which the slot begins next after a time, in the zone of the plan.
    pub fn next_day(&self, zone: &TimeZone, after: Timestamp) -> Date {
        let after = after.to_zoned(zone.clone()).datetime();
        let today = after.date();
        let (days_ahead, period) = match self.weekday {
            Some(weekday) => (weekday.since(today.weekday()), 7),
            None => (0, 1),
        };
        let begins = |days: i8| today.saturating_add(Span::new().days(days));
        let is_over = begins(days_ahead).to_datetime(self.at) <= after;
        begins(if is_over {
            days_ahead + period
        } else {
            days_ahead
        })
    }

    /// When it is, in seconds of the week from Monday 00:00 on: starts and lengths.
    pub fn spans_s(&self) -> impl Iterator<Item = (u32, u32)> {
        let len_s = self.len_s;
        self.starts_s().map(move |start_s| (start_s, len_s))
    }

    /// The seconds of the week at which it begins.
    fn starts_s(&self) -> impl Iterator<Item = u32> {
        let at = self.at;
        let fields = [at.hour(), at.minute(), at.second()];
        let [hour, minute, second] = fields.map(|field| u32::from(field.unsigned_abs()));
        let since_midnight_s = hour * 3600 + minute * MINUTE_S + second;
        let days = match self.weekday {
            Some(day) => {
                let day = u32::from(day.to_monday_zero_offset().unsigned_abs());
                day..day + 1
            }
            None => 0..7,
        };
        days.map(move |day| day * DAY_S + since_midnight_s)
    }
}

impl fmt::Display for Slot {
    /// Formats `Tue 02:20`, or `daily 02:20`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let day = self.weekday.map_or(DAILY, units::date::weekday_short);
        write!(f, "{day} {}", self.at.strftime("%H:%M"))
    }
}

/// Stands for all days.
const DAILY: &str = "daily";

impl FromStr for Slot {
    type Err = jiff::Error;

    /// Parses what [`Display`](fmt::Display) writes; the length is not in it, and 0.
    fn from_str(text: &str) -> Result<Self, jiff::Error> {
        if let Some(at) = text.strip_prefix(DAILY) {
            return Ok(Self {
                weekday: None,
                at: Time::strptime(" %H:%M", at)?,
                len_s: 0,
            });
        }
        let parsed = jiff::fmt::strtime::parse("%a %H:%M", text)?;
        Ok(Self {
            weekday: parsed.weekday(),
            at: parsed.to_time()?,
            len_s: 0,
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |s: u32| units::seconds(f64::from(s));
        match *self {
            Self::TooShort { slot_s, window_s } => write!(
                f,
                "a slot of {} is longer than the window of {}",
                time(slot_s),
                time(window_s)
            ),
            Self::TooMany {
                every,
                passes,
                slots,
                slot_s,
                window_s,
                enough_s,
            } => {
                write!(
                    f,
                    "{} of {} do not fit {} of {}, which {} {}",
                    units::count(passes as u64, "slot"),
                    time(slot_s),
                    match every {
                        Every::Week => "a week's windows",
                        Every::Day => "a day's window",
                    },
                    time(window_s),
                    match every {
                        Every::Week => "have",
                        Every::Day => "has",
                    },
                    units::count::grouped(slots as u64)
                )?;
                match enough_s {
                    Some(enough_s) => write!(f, "; windows of {} do", time(enough_s)),
                    None => f.write_str("; those of a whole day do not either"),
                }
            }
        }
    }
}

/// Between the end of a pass and the next slot: hosts' clocks differ, and systemd starts a timer up to a second late.
const APART_S: u64 = 60;
/// Slots begin at multiples of this.
const STEP_S: u64 = 300;
/// Starts that are closer than a quarter of an hour count as simultaneous elsewhere (ES010).
const SHORTEST_S: u64 = 20 * 60;

/// Returns the length of a slot for passes of up to `pass_s` seconds, in seconds.
pub fn slot_len_s(pass_s: u64) -> u32 {
    let slot_s = pass_s.saturating_add(APART_S).max(SHORTEST_S);
    let stepped = slot_s.checked_next_multiple_of(STEP_S);
    stepped
        .and_then(|slot_s| u32::try_from(slot_s).ok())
        .unwrap_or(u32::MAX)
}

/// Assigns a slot to each pass, so that no two overlap: first different days, then different times. A slot is left out
/// where a clock change of the zone skips or repeats a part of it in the ten years from the beginning of the plan on,
/// and where another job may start.
///
/// # Errors
/// If there are not enough slots
pub fn assign(request: &Request<'_>) -> Result<Vec<Slot>, Refusal> {
    let slot_s = request
        .len_s
        .max(1)
        .checked_next_multiple_of(MINUTE_S)
        .unwrap_or(u32::MAX);
    let window_s = request.window.len_s.min(DAY_S);
    if slot_s > window_s {
        return Err(Refusal::TooShort { slot_s, window_s });
    }
    let mut changes = clock_changes(request);
    changes.extend(request.busy);
    let free = all_free(request, slot_s, window_s, &changes);
    if let Some(assigned) = free.get(..request.passes) {
        return Ok(assigned.to_vec());
    }
    // Longer windows have more slots in each day, not fewer.
    let enough_s = (window_s / slot_s + 1..=DAY_S / slot_s)
        .map(|rows| rows * slot_s)
        .find(|&window_s| all_free(request, slot_s, window_s, &changes).len() >= request.passes);
    Err(Refusal::TooMany {
        every: request.every,
        passes: request.passes,
        slots: free.len(),
        slot_s,
        window_s,
        enough_s,
    })
}

/// All slots of a week in the order in which they are given out.
fn all_free(
    request: &Request<'_>,
    slot_s: u32,
    window_s: u32,
    changes: &[(u32, u32)],
) -> Vec<Slot> {
    let mut days: Vec<Weekday> = Vec::new();
    for &day in request.days {
        if !days.contains(&day) {
            days.push(day);
        }
    }
    let is_daily = request.every == Every::Day;
    if is_daily {
        days.truncate(1);
    }
    let rows = 0..window_s / slot_s;
    let starts = rows.flat_map(|row| days.iter().map(move |&day| (day, row * slot_s)));
    let all = starts.map(|(day, after_s)| {
        let midnight = DateTime::constant(2024, 1, 1, 0, 0, 0, 0);
        let opens = midnight
            .date()
            .nth_weekday_of_month(1, day)
            .unwrap_or(midnight.date())
            .to_datetime(request.window.from);
        let begins = opens.saturating_add(SignedDuration::from_secs(i64::from(after_s)));
        Slot {
            weekday: (!is_daily).then(|| begins.weekday()),
            at: begins.time(),
            len_s: slot_s,
        }
    });
    let is_whole = |slot: &Slot| {
        let mut starts = slot.starts_s();
        !starts.any(|start_s| {
            let mut changes = changes.iter();
            changes.any(|&change| meets((start_s, slot.len_s), change))
        })
    };
    all.filter(is_whole).collect()
}

/// Whether two intervals on the circle of the week, as start and length, have a part in common.
fn meets((a_s, a_len_s): (u32, u32), (b_s, b_len_s): (u32, u32)) -> bool {
    let after = |from_s: u32, to_s: u32| (to_s + WEEK_S - from_s) % WEEK_S;
    after(a_s, b_s) < a_len_s || after(b_s, a_s) < b_len_s
}

/// The times of the week that the zone's clocks skip or repeat, as start and length in seconds.
fn clock_changes(request: &Request<'_>) -> Vec<(u32, u32)> {
    let zone = request.zone;
    let until = request.from.saturating_add(AHEAD).unwrap_or(Timestamp::MAX);
    let transitions = zone
        .following(request.from)
        .take(CHANGES_MAX)
        .take_while(|transition| transition.timestamp() <= until);
    let mut changes: Vec<(u32, u32)> = transitions
        .filter_map(|transition| {
            let at = transition.timestamp();
            let before = zone.to_offset(at.checked_sub(SignedDuration::from_secs(1)).ok()?);
            let (before, after) = (before.to_datetime(at), transition.offset().to_datetime(at));
            let (from, to) = (before.min(after), before.max(after));
            let len_s = to.duration_since(from).as_secs();
            let since_monday = i64::from(from.weekday().to_monday_zero_offset()) * i64::from(DAY_S)
                + from.time().duration_since(Time::midnight()).as_secs();
            let from_s = u32::try_from(since_monday).ok()?;
            Some((from_s, u32::try_from(len_s).ok()?))
        })
        .filter(|&(_, len_s)| len_s > 0)
        .collect();
    changes.sort_unstable();
    changes.dedup();
    changes
}
