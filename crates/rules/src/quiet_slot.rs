//! Finds a time at which no other job keeps the drives busy, for the commands of remedies.

use crate::context::Context;
use crate::disk_jobs::{self, DiskWork};
use crate::times::{EVENT_PERIOD_MIN_S, HostClock, MEETINGS_AHEAD};
use facts::host::Job;
use jiff::Timestamp;
use jiff::civil::Weekday;
use schedule::Run;
use std::cell::OnceCell;
use units::date::{weekday, weekday_short};

/// Other jobs must not start from this long before the slot, in minutes...
const BEFORE_MIN: i64 = 20;
/// ...to this long after it: the random delay of a timer, and what SCHED001 takes for simultaneous.
const AFTER_MIN: i64 = 80;
/// Maximum number of jobs whose runs are computed, as in SCHED001.
const JOBS_MAX: usize = 100;
/// Length of the window of a paced trim in hours.
const WINDOW_HOURS: i8 = 2;

/// Nights in the order of preference, and the hours of each.
const DAYS: [Weekday; 7] = [
    Weekday::Sunday,
    Weekday::Saturday,
    Weekday::Wednesday,
    Weekday::Tuesday,
    Weekday::Thursday,
    Weekday::Friday,
    Weekday::Monday,
];
const HOURS: [i8; 4] = [3, 1, 4, 2];

/// A time for a trim. It stands for the quiet period, which only the operator knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuietSlot {
    rhythm: Rhythm,
    hour: i8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rhythm {
    Weekly(Weekday),
    /// Every this many days.
    Days(u32),
}

/// The slots of a host, each determined once.
pub(crate) struct QuietTimes<'c, 'a> {
    cx: &'c Context<'a>,
    busy: OnceCell<Busy>,
}

impl<'c, 'a> QuietTimes<'c, 'a> {
    pub fn of(cx: &'c Context<'a>) -> Self {
        Self {
            cx,
            busy: OnceCell::new(),
        }
    }

    /// Returns a weekly slot that meets no other heavy job of the host. Trims do not count: of two trims
    /// that meet, each is paced or slow as it was.
    pub fn weekly(&self) -> QuietSlot {
        QuietSlot::weekly_beside(self.busy())
    }

    /// Returns a slot every `days` days that meets no other heavy job of the host.
    pub fn every(&self, days: u32) -> QuietSlot {
        let busy = self.busy();
        let is_free = |hour: &i8| !DAYS.iter().any(|day| busy.is_near(*day, *hour));
        let hour = HOURS.into_iter().find(is_free).unwrap_or(HOURS[0]);
        QuietSlot {
            rhythm: Rhythm::Days(days.max(1)),
            hour,
        }
    }

    fn busy(&self) -> &Busy {
        self.busy.get_or_init(|| {
            let clock = HostClock::of(self.cx.host);
            Busy::of(&clock, &heavy_runs(self.cx))
        })
    }
}

/// When jobs of a host may start: the minute of the week, and for how many minutes from then on.
pub(crate) struct Busy(Vec<(i64, i64)>);

const WEEK_MIN: i64 = 7 * 24 * 60;

impl Busy {
    pub fn of<'r>(clock: &HostClock, runs: impl IntoIterator<Item = &'r Run>) -> Self {
        let span = |run: &Run| {
            let start = clock.local(run.earliest);
            let len_min = run.latest.duration_since(run.earliest).as_mins();
            (
                minute_of_week(start.weekday(), start.hour(), start.minute()),
                len_min,
            )
        };
        let mut spans: Vec<(i64, i64)> = runs.into_iter().map(span).collect();
        spans.sort_unstable();
        spans.dedup();
        Self(spans)
    }

    /// Returns the same in seconds, from a while before each on: start on the circle of the week, and length.
    pub fn seconds_with_margin(&self) -> Vec<(u32, u32)> {
        let second = |minutes: i64| u32::try_from(minutes.max(0) * 60).unwrap_or(u32::MAX);
        let before = |start: i64| (start - BEFORE_MIN).rem_euclid(WEEK_MIN);
        let spans = self.0.iter();
        spans
            .map(|&(start, len)| (second(before(start)), second(len + BEFORE_MIN)))
            .collect()
    }

    /// Whether a job may start near a slot.
    fn is_near(&self, day: Weekday, hour: i8) -> bool {
        let from = minute_of_week(day, hour, 0) - BEFORE_MIN;
        self.0.iter().any(|&(start, len_min)| {
            // The start of each is within the other, on the circle of the week.
            (start - from).rem_euclid(WEEK_MIN) <= BEFORE_MIN + AFTER_MIN
                || (from - start).rem_euclid(WEEK_MIN) <= len_min
        })
    }
}

fn minute_of_week(day: Weekday, hour: i8, minute: i8) -> i64 {
    let days = i64::from(day.to_monday_zero_offset());
    (days * 24 + i64::from(hour)) * 60 + i64::from(minute)
}

impl QuietSlot {
    /// Returns the first weekly slot that is apart from these jobs; the first of all if there is none.
    pub fn weekly_beside(busy: &Busy) -> Self {
        let mut slots = HOURS
            .into_iter()
            .flat_map(|hour| DAYS.into_iter().map(move |day| (day, hour)));
        let free = slots.find(|&(day, hour)| !busy.is_near(day, hour));
        let (day, hour) = free.unwrap_or((DAYS[0], HOURS[0]));
        Self {
            rhythm: Rhythm::Weekly(day),
            hour,
        }
    }

    /// Returns the slot as a calendar event: `Sun *-*-* 03:00:00`.
    pub fn calendar(self) -> String {
        let hour = self.hour;
        match self.rhythm {
            Rhythm::Weekly(day) => format!("{} *-*-* {hour:02}:00:00", weekday_short(day)),
            Rhythm::Days(1) => format!("*-*-* {hour:02}:00:00"),
            Rhythm::Days(days) => format!("*-*-1/{days} {hour:02}:00:00"),
        }
    }

    /// Returns the slot as the time fields of a crontab: `0 3 * * 0`.
    pub fn cron(self) -> String {
        let hour = self.hour;
        match self.rhythm {
            Rhythm::Weekly(day) => format!("0 {hour} * * {}", day.to_sunday_zero_offset()),
            Rhythm::Days(1) => format!("0 {hour} * * *"),
            Rhythm::Days(days) => format!("0 {hour} */{days} * *"),
        }
    }

    /// Returns the window of a paced trim: `03:00-05:00`.
    pub fn window(self) -> String {
        format!("{:02}:00-{:02}:00", self.hour, self.hour + WINDOW_HOURS)
    }

    /// Describes the window: `Sunday 03:00 to 05:00`.
    pub fn window_words(self) -> String {
        self.words(WINDOW_HOURS)
    }

    /// Describes when a timer with a random delay of an hour starts: `Sunday 03:00 to 04:00`.
    pub fn start_words(self) -> String {
        self.words(1)
    }

    fn words(self, hours: i8) -> String {
        let times = format!("{:02}:00 to {:02}:00", self.hour, self.hour + hours);
        match self.rhythm {
            Rhythm::Weekly(day) => format!("{} {times}", weekday(day)),
            Rhythm::Days(1) => format!("{times} every day"),
            Rhythm::Days(days) => format!("{times} every {}", units::count(days, "day")),
        }
    }
}

/// Returns the runs of the host's heavy jobs other than trims.
pub(crate) fn heavy_runs(cx: &Context<'_>) -> Vec<Run> {
    let jobs = disk_jobs::active(cx).unwrap_or_default();
    let jobs = jobs
        .iter()
        .filter(|disk| disk.work.is_heavy() && disk.work != DiskWork::Trim);
    let jobs: Vec<&Job> = jobs.map(|disk| disk.job).take(JOBS_MAX).collect();
    runs_of(&HostClock::of(cx.host), &jobs, cx.now)
}

/// Returns the runs of jobs in the coming weeks, without those of jobs that run all the time.
pub(crate) fn runs_of(clock: &HostClock, jobs: &[&Job], now: Timestamp) -> Vec<Run> {
    let until = now.checked_add(MEETINGS_AHEAD).unwrap_or(now);
    jobs.iter()
        .filter(|job| {
            let period_s = clock.period_s(job, now);
            period_s.is_none_or(|period_s| period_s >= EVENT_PERIOD_MIN_S)
        })
        .filter_map(|job| clock.runs(job, now, until).ok())
        .flat_map(|forecast| forecast.runs)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{TestHost, nvme};
    use crate::test_jobs::{cron_job, fstrim_timer, jobs};

    fn weekly(list: Vec<Job>) -> QuietSlot {
        let host = TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "xfs", "rw")
            .with(jobs(list))
            .build();
        QuietTimes::of(&Context::new(&host)).weekly()
    }

    #[test]
    fn sunday_at_three_unless_a_backup_runs_then() {
        let slot = weekly(vec![fstrim_timer()]);
        assert_eq!(slot.calendar(), "Sun *-*-* 03:00:00");
        assert_eq!(slot.cron(), "0 3 * * 0");
        assert_eq!(slot.window(), "03:00-05:00");
        assert_eq!(slot.window_words(), "Sunday 03:00 to 05:00");
        let backup = |spec: &str| cron_job("/etc/cron.d/backup:1", spec, "restic backup /data");
        assert_eq!(weekly(vec![backup("50 2 * * 0")]).cron(), "0 3 * * 6");
        assert_eq!(weekly(vec![backup("30 3 * * *")]).cron(), "0 1 * * 0");
        assert_eq!(weekly(vec![backup("0 12 * * *")]).cron(), "0 3 * * 0");
        // The last minutes before Sunday count for a slot on Sunday.
        assert!(Busy(vec![(WEEK_MIN - 24 * 60 - 5, 200)]).is_near(Weekday::Sunday, 3));
        assert!(Busy(vec![(WEEK_MIN - 5, 200)]).is_near(Weekday::Monday, 3));
        assert!(!Busy(vec![(WEEK_MIN - 5, 100)]).is_near(Weekday::Monday, 3));
    }

    #[test]
    fn days_are_written_for_timers_and_crontabs() {
        let host = TestHost::new().build();
        let slot = QuietTimes::of(&Context::new(&host)).every(3);
        assert_eq!(slot.calendar(), "*-*-1/3 03:00:00");
        assert_eq!(slot.cron(), "0 3 */3 * *");
        assert_eq!(slot.start_words(), "03:00 to 04:00 every 3 days");
        let daily = QuietTimes::of(&Context::new(&host)).every(1);
        assert_eq!(daily.calendar(), "*-*-* 03:00:00");
        assert_eq!(daily.window_words(), "03:00 to 05:00 every day");
    }
}
