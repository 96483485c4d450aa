//! Proves a gain: drives load, judges whether a trial is valid, and compares sets of trials so that the
//! verdict holds what it promises.
//!
//! - [`track`]: what a trial does, read from TOML: documents, requests, phases, and how fast they come;
//! - [`driver`]: sends it, and streams latencies to the trial's directory;
//! - [`host`]: the host's figures beside them, once a second;
//! - [`trial`]: a trial from before its start to its judgement, and its folder;
//! - [`validity`]: whether the trial is valid;
//! - [`results`]: reads the results of other drivers;
//! - [`compare`]: compares sets of trials;
//! - [`nightly`]: a history of trials, night after night;
//! - [`path_error`]: errors of files and folders.
//!
//! Nothing here writes to the terminal: progress goes to [`driver::Progress`].

pub mod compare;
pub mod driver;
pub mod host;
mod names;
pub mod nightly;
pub mod path_error;
mod random;
pub mod results;
pub mod track;
pub mod trial;
pub mod validity;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
