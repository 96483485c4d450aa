//! Finds recurring patterns and lasting changes in time series, and the scheduled jobs behind them.
//!
//! [`explain`] takes [series](facts::series::Series), the runs of jobs, and [`Options`]. It does not access
//! files, the clock or the network, and the same input always gives the same result.
//!
//! Data flows one way, through layers that only use the ones before them:
//!
//! - `calendar`: local time, days of the week;
//! - `model`: samples, grids, noise, the shape of a pattern;
//! - `search`: which periods, or which jobs' runs, explain a series better than noise does;
//! - `fit`: exact fits of patterns, one by one and jointly: [samples](Series) become findings;
//! - `causes`: which jobs may be behind a pattern: findings become attributions;
//! - `verdict`: attributions become decisions, decisions become sentences and the public result.
//!
//! Two modules are independent of them: [`change`] detects change points, and [`disk_log`] analyses logs
//! that are too short for a pattern.
//! [`job_runs`] provides the runs that the analysis takes; [`folds`] says of which hosts out of many the curves are worth it.
//!
//! [Series]: facts::series::Series

mod calendar;
mod causes;
pub mod change;
pub mod disk_log;
mod fit;
pub mod folds;
pub mod job_runs;
mod model;
mod numbers;
mod search;
mod statistics;
pub mod verdict;

pub use model::input::{JobRuns, Options};
pub use verdict::analyse::explain;
