//! Whole analyses of simulated series whose truth is known.

mod analysis;
mod disk_log;
mod forms;
mod runs;
#[path = "../simulate/mod.rs"]
mod simulate;
mod simulated;
mod testing;
mod weekdays;
