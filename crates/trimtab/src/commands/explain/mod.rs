//! `trimtab explain`: finds recurring patterns in time series and the jobs behind them.

pub mod args;
mod disks;
mod jobs;
mod load;
mod logs;
mod options;
mod other_host;
mod overwrite;
mod readers;
mod run;
mod times;

pub use run::run;
