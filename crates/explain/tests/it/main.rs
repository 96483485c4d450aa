//! Whole analyses of simulated series with a known truth.
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "small numbers, chosen here"
)]

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
