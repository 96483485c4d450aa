//! Daily and weekly variation of a load.

use std::str::FromStr;
use thiserror::Error;
use units::ValueError;

/// Hours per week.
pub const WEEK_HOURS: u64 = 168;

/// Weights by hour of the day and by day of the week, starting on Monday. Only their ratios matter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rhythm {
    hours: [f64; 24],
    days: [f64; 7],
    /// Mean weight of an hour, over the week.
    mean: f64,
}

/// Invalid weights.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum RhythmError {
    /// A weight is negative or not a finite number.
    #[error("a weight of the rhythm is {0}, expected 0 or more")]
    Weight(f64),
    /// All weights are 0.
    #[error("all weights of the rhythm are 0, expected some load at some time")]
    Nothing,
    /// The peak is not an hour of the day, or the trough is not a share.
    #[error(
        "the rhythm has its peak at {peak_hour} h and {trough} of it at the opposite hour, expected 0 to 23 h and a share of 0 to 1"
    )]
    Daily {
        /// The peak hour given.
        peak_hour: u32,
        /// The trough given.
        trough: f64,
    },
}

impl Rhythm {
    /// A constant load.
    pub const STEADY: Self = Self {
        hours: [1.0; 24],
        days: [1.0; 7],
        mean: 1.0,
    };

    /// Creates a rhythm from weights by hour and by day.
    ///
    /// # Errors
    /// If a weight is negative, or all are zero.
    pub fn new(hours: [f64; 24], days: [f64; 7]) -> Result<Self, RhythmError> {
        if let Some(&weight) =
            (hours.iter().chain(&days)).find(|weight| !(weight.is_finite() && **weight >= 0.0))
        {
            return Err(RhythmError::Weight(weight));
        }
        let mean = hours.iter().sum::<f64>() / 24.0 * (days.iter().sum::<f64>() / 7.0);
        if mean <= 0.0 || !mean.is_finite() {
            return Err(RhythmError::Nothing);
        }
        Ok(Self { hours, days, mean })
    }

    /// A daily cosine wave: the peak at an hour, and a share `trough` of it twelve hours later, the
    /// same every day.
    ///
    /// # Errors
    /// If `peak_hour` is not an hour or `trough` not a share.
    pub fn daily(peak_hour: u32, trough: f64) -> Result<Self, RhythmError> {
        if peak_hour >= 24 || !(0.0..=1.0).contains(&trough) {
            return Err(RhythmError::Daily { peak_hour, trough });
        }
        let mut hours = [0.0; 24];
        for (hour, weight) in (0u32..).zip(&mut hours) {
            let angle = (f64::from(hour) - f64::from(peak_hour)) / 24.0 * std::f64::consts::TAU;
            *weight = trough + (1.0 - trough) * (1.0 + angle.cos()) / 2.0;
        }
        Self::new(hours, [1.0; 7])
    }

    /// Load in an hour relative to the mean, so the average over the week is 1. Hour 0 begins on
    /// Monday at midnight.
    #[allow(clippy::cast_possible_truncation)] // below 168
    pub fn factor(&self, hour: u64) -> f64 {
        let hour = (hour % WEEK_HOURS) as usize;
        self.hours[hour % 24] * self.days[hour / 24] / self.mean
    }
}

/// Parses `steady` or `daily:14/20%`: the hour of the peak, and the trough as a share of the peak.
impl FromStr for Rhythm {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let expected = || ValueError::new("steady or daily:HOUR/SHARE (daily:14/20%)", text);
        match text.trim().split_once(':') {
            None if text.trim() == "steady" => Ok(Self::STEADY),
            Some(("daily", rest)) => {
                let (peak, trough) = rest.split_once('/').ok_or_else(expected)?;
                let peak = peak.parse().map_err(|_| expected())?;
                let trough = units::share::parse(trough)?;
                Self::daily(peak, trough).map_err(|_| {
                    expected().hint("HOUR is 0 to 23, and SHARE is 0 to 100% of the peak")
                })
            }
            _ => Err(expected()),
        }
    }
}

impl Default for Rhythm {
    fn default() -> Self {
        Self::STEADY
    }
}
