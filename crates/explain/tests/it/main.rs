//! Whole analyses of simulated series with a known truth.

mod analysis;
mod clearer;
mod clocks;
mod discards;
mod disk_log;
mod fleet;
mod forms;
mod odd_series;
mod runs;
#[path = "../simulate/mod.rs"]
mod simulate;
mod simulated;
mod testing;
mod weekdays;
mod windows;
