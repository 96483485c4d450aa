//! How a load lies over the day and the week.

use std::str::FromStr;
use thiserror::Error;
use units::ValueError;

/// Hours of a week.
pub const WEEK_HOURS: u64 = 168;

/// Weights by hour of the day and by day of the week, Monday first. Only their proportions matter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rhythm {
    hours: [f64; 24],
    days: [f64; 7],
    /// Of an hour, over the week.
    mean: f64,
}

/// Weights that are no rhythm.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum RhythmError {
    /// A weight is negative, or no number.
    #[error("a weight of the rhythm is {0}, expected 0 or more")]
    Weight(f64),
    /// All are 0.
    #[error("all weights of the rhythm are 0, expected some load at some time")]
    Nothing,
    /// A peak that is no hour, or a trough that is no share.
    #[error(
        "the rhythm has its peak at {peak_hour} h and {trough} of it at the opposite hour, expected 0 to 23 h and a share of 0 to 1"
    )]
    Daily {
        /// As given.
        peak_hour: u32,
        /// As given.
        trough: f64,
    },
}

impl Rhythm {
    /// The same at all times.
    pub const STEADY: Self = Self {
        hours: [1.0; 24],
        days: [1.0; 7],
        mean: 1.0,
    };

    /// Weights by hour and by day.
    ///
    /// # Errors
    /// A negative weight, or nothing but zeros.
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

    /// A wave by day: the peak at an hour, twelve hours later a share `trough` of it, every day alike.
    ///
    /// # Errors
    /// No hour, or no share.
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

    /// What an hour has of the mean load: 1 on average over the week. Hour 0 begins on Monday at
    /// midnight.
    #[allow(clippy::cast_possible_truncation)] // below 168
    pub fn factor(&self, hour: u64) -> f64 {
        let hour = (hour % WEEK_HOURS) as usize;
        self.hours[hour % 24] * self.days[hour / 24] / self.mean
    }
}

/// Reads `steady` or `daily:14/20%`: the hour of the peak, and the trough as a share of it.
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
