//! Which classes of jobs have starts that no period describes.

use super::runs::Class;
use super::windows::LATE_US;
use crate::calendar::periods::DAY_US;
use crate::numbers::{as_f64, as_i64};
use crate::statistics::median;
use schedule::Delays;

/// A window that is this many sampling intervals wide tells more than its middle does.
const WIDE_GAPS: f64 = 1.5;

impl Class {
    /// Returns whether its runs start anywhere in windows that samples resolve, or follow no calendar.
    pub fn is_moving(&self, gap_us: i64) -> bool {
        self.is_wide(gap_us) || self.follows_no_calendar(gap_us)
    }

    /// Returns whether its runs start anywhere in windows that samples resolve.
    pub fn is_wide(&self, gap_us: i64) -> bool {
        self.delays != Delays::Shared && self.width_us() > as_i64(as_f64(gap_us) * WIDE_GAPS)
    }

    /// Returns the median width of the windows of its starts.
    pub fn width_us(&self) -> i64 {
        let widths = self
            .windows_us
            .iter()
            .map(|window| as_f64(window.1 - window.0));
        as_i64(median(widths.collect()))
    }

    /// Returns whether some of its runs, known to the minute, are at other times of the day than most, or days lie between
    /// them that no set of weekdays leaves out.
    fn follows_no_calendar(&self, gap_us: i64) -> bool {
        let near_us = gap_us.max(LATE_US);
        let starts: Vec<i64> = self.starts_us.iter().map(|start| start.0).collect();
        let of_day: Vec<f64> = starts
            .iter()
            .map(|at| as_f64(at.rem_euclid(DAY_US)))
            .collect();
        let usual = as_i64(median(of_day));
        let is_elsewhere = |at: &&i64| {
            let apart = (at.rem_euclid(DAY_US) - usual).rem_euclid(DAY_US);
            apart.min(DAY_US - apart) > near_us
        };
        let elsewhere = starts.iter().filter(is_elsewhere).count();
        // Twice a day, or by the clocks of another zone, is a calendar as well.
        if elsewhere * 3 > starts.len() {
            let mut places: Vec<i64> = starts
                .iter()
                .map(|at| at.rem_euclid(DAY_US) / near_us)
                .collect();
            places.sort_unstable();
            places.dedup();
            return places.len() > 6 && places.len() * 3 > starts.len();
        }
        let mut on = [false; 7];
        for at in &starts {
            on[usize::try_from(at.div_euclid(DAY_US).rem_euclid(7)).unwrap_or(0)] = true;
        }
        let (Some(first), Some(last)) = (starts.first(), starts.last()) else {
            return false;
        };
        let days = (last - first) / DAY_US + 1;
        let a_week = i64::try_from(on.iter().filter(|on| **on).count()).unwrap_or(7);
        let due = days * a_week / 7;
        due > i64::try_from(starts.len()).unwrap_or(i64::MAX) * 3 / 2
    }
}
