//! Whether a daily event stands out of the other times of the day. Where load comes and goes as much at several other hours,
//! each hour may be load, whichever job runs then.

use crate::calendar::periods::DAY_US;
use crate::fit::found::Found;
use crate::model::samples::Samples;
use crate::numbers::{as_count, as_f64, count_f64};
use crate::statistics::{mean, median, robust_scale, subtract};

/// Another time of the day counts if it differs from the times around it by at least this part of what the event does, and by
/// so many standard errors. Beside so many of them, the event may be load.
const PART: f64 = 0.25;
const CLEARLY: f64 = 5.0;
const TIMES: usize = 2;
/// The standard error of a median, in those of a mean, in normal noise.
const OF_MEDIAN: f64 = 1.253;
/// Minimum number of samples per day, and of days that show a time with the times around it.
const SAMPLES_MIN: usize = 12;
const DAYS_MIN: usize = 8;

/// Returns whether several other times of the day differ from the times around them about as much as a daily event does, apart
/// from patterns that jobs explain.
pub(super) fn are_alike(found: &Found, of_jobs: &[&Found], samples: &Samples) -> bool {
    let mut values = samples.values.clone();
    for other in of_jobs {
        subtract(&mut values, &other.values(&samples.wall_us));
    }
    // The form has mean 0: beside an event it is not.
    let least = found.pattern.size() / 2.0;
    let own = found.values(&samples.wall_us);
    let pattern = &found.pattern;
    let counts = |wall: i64| pattern.is_active(wall) && pattern.clock.is_on_its_days(wall);
    let days = Days::new(samples, &values, |at| {
        counts(samples.wall_us[at]).then_some(own[at] / least > 1.0)
    });
    days.is_some_and(|days| days.are_alike())
}

/// The samples of each day.
struct Days {
    /// Samples one after the other, the same number per day; `NaN` where there is none.
    cells: Vec<f64>,
    /// Whether an event usually is at each time of the day.
    is_event: Vec<bool>,
}

impl Days {
    /// `None` if days have too few samples, or the events no time of their own. `is_event` tells whether a sample is of an
    /// event, and `None` if it does not count.
    fn new(
        samples: &Samples,
        values: &[f64],
        is_event: impl Fn(usize) -> Option<bool>,
    ) -> Option<Self> {
        // Clocks that are set back let the last sample be earlier than the one before it.
        let (&first, &last) = (samples.wall_us.first()?, samples.wall_us.iter().max()?);
        let per_day = as_count(as_f64(DAY_US) / as_f64(samples.gap_us));
        if per_day < SAMPLES_MIN {
            return None;
        }
        let width_us = as_f64(DAY_US) / count_f64(per_day);
        let cell = |wall: i64| as_count(as_f64(wall - first) / width_us);
        let mut cells = vec![f64::NAN; cell(last) + 1];
        let mut of_events = vec![(0_usize, 0_usize); per_day];
        for (at, &wall) in samples.wall_us.iter().enumerate() {
            if let Some(is_event) = is_event(at) {
                let cell = cell(wall);
                cells[cell] = values[at];
                let (events, all) = &mut of_events[cell % per_day];
                *events += usize::from(is_event);
                *all += 1;
            }
        }
        let is_event: Vec<bool> = of_events
            .iter()
            .map(|(events, all)| events * 2 > *all)
            .collect();
        let count = is_event.iter().filter(|is_event| **is_event).count();
        (count > 0 && count * 3 < per_day).then_some(Self { cells, is_event })
    }

    fn are_alike(&self) -> bool {
        let per_day = self.is_event.len();
        let at_event = |time: usize| self.is_event[time % per_day];
        let mut begins = (0..per_day).filter(|&at| at_event(at) && !at_event(at + per_day - 1));
        let Some(begin) = begins.next() else {
            return false;
        };
        let ahead = begin..begin + per_day;
        let len = ahead.take_while(|&time| at_event(time)).count();
        let Some((own, _)) = self.contrast(begin, len, f64::midpoint) else {
            return false;
        };
        // A lasting change lies between the times around it, and so does the hour beside an event.
        let others = (0..per_day)
            // One sample before to one after.
            .filter(|&time| !(per_day - 1..=per_day + len).any(|ahead| at_event(time + ahead)))
            .filter_map(|time| self.contrast(time, len, smaller));
        let is_alike =
            |(other, error): &(f64, f64)| other.abs() > (error * CLEARLY).max(own.abs() * PART);
        others.filter(is_alike).count() >= TIMES
    }

    /// By how much some samples from a time of the day on differ from the one before and the one after them, in the median of
    /// the days, with its standard error. `None` if too few days have all of them.
    fn contrast(
        &self,
        time: usize,
        len: usize,
        of_both: impl Fn(f64, f64) -> f64,
    ) -> Option<(f64, f64)> {
        let per_day = self.is_event.len();
        let of_day = |day: &[f64]| {
            let within = mean(&day[1..=len]);
            of_both(within - day[0], within - day[len + 1])
        };
        let starts = (time..).step_by(per_day).skip(usize::from(time == 0));
        let each: Vec<f64> = starts
            .map_while(|start| self.cells.get(start - 1..=start + len))
            .filter(|day| day.iter().all(|value| value.is_finite()))
            .map(of_day)
            .collect();
        let error = OF_MEDIAN * robust_scale(&each) / count_f64(each.len().max(1)).sqrt();
        (each.len() >= DAYS_MIN).then(|| (median(each), error))
    }
}

/// The smaller of two differences in the same direction; 0 if they are not.
fn smaller(a: f64, b: f64) -> f64 {
    if a * b > 0.0 {
        a.signum() * a.abs().min(b.abs())
    } else {
        0.0
    }
}
