//! `trimtab explain`: finds recurring patterns in time series and the jobs behind them.

pub mod args;
mod disks;
mod folds;
pub(super) mod jobs;
pub(super) mod known_runs;
mod load;
pub(super) mod logs;
mod options;
mod other_host;
pub(super) mod overwrite;
mod readers;
mod run;
pub(super) mod times;

pub use run::run;
