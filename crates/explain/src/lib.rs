//! What makes a curve drop again and again: recurring patterns, changes that stay, and the jobs
//! behind them.
//!
//! [`explain`] takes [series](facts::series::Series), the runs of jobs, and [`Options`]; it reads no
//! file, clock or network, and the same input gives the same answer.

mod analyse;
mod attribution;
mod bootstrap;
pub mod change;
mod compose;
pub mod disk_log;
mod evidence;
mod find;
mod forms;
mod found;
mod grid;
mod lasting;
mod noise;
mod numbers;
mod pattern;
mod phrases;
mod refine;
mod runs;
mod search;
mod shape;
pub mod simulate;
mod statistics;
#[cfg(test)]
mod testing;
pub mod verdict;
mod wall;
mod weekdays;
mod words;

pub use analyse::explain;

use facts::series::Better;
use jiff::tz::TimeZone;
use schedule::Run;

/// A job and its runs, as far as they are known for the time of the series.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRuns {
    /// Its name: `cron.weekly/fstrim`.
    pub name: String,
    /// Runs, in the order of their earliest start.
    pub runs: Vec<Run>,
    /// What is not known of them, in plain words.
    pub unknown: Vec<String>,
}

/// What an analysis goes by.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The zone of calendars and phases.
    pub zone: TimeZone,
    /// Which way series are better that do not say so themselves.
    pub better: Option<Better>,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// A pattern is told at this probability of chance at most.
    pub alpha: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            zone: TimeZone::UTC,
            better: None,
            seed: 1,
            alpha: 0.01,
        }
    }
}
