//! Finds recurring patterns and lasting changes in time series, and the scheduled jobs behind them.
//!
//! [`explain`] takes [series](facts::series::Series), the runs of jobs, and [`Options`]. It reads no
//! file, clock or network, and the same input gives the same answer.
//!
//! Data flows one way, through layers that only use the ones before them:
//!
//! - `calendar`: local time, days of the week;
//! - `model`: samples, grids, noise, the shape of a pattern;
//! - `search`: which periods, or which jobs' runs, explain a series better than noise does;
//! - `fit`: exact patterns, fitted next to each other: [samples](Series) become findings;
//! - `causes`: which jobs may be behind a pattern: findings become attributions;
//! - `verdict`: attributions become decisions, decisions become sentences and the public result.
//!
//! [`change`] and [`disk_log`] stand beside them: change points, and logs too short for a pattern.
//! [`job_runs`] makes the runs that the analysis takes.
//!
//! [Series]: facts::series::Series

mod calendar;
mod causes;
pub mod change;
pub mod disk_log;
mod fit;
pub mod job_runs;
mod model;
mod numbers;
mod search;
mod statistics;
pub mod verdict;

pub use model::input::{JobRuns, Options};
pub use verdict::analyse::explain;
