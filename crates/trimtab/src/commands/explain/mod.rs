//! `trimtab explain`: histories and jobs to verdicts.

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
