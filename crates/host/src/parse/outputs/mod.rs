//! Outputs of commands as support archives keep them: what a host's files would have told.

pub mod date;
pub mod lsblk;
pub mod mounts;
pub mod processes;
pub mod sizes;
pub mod units;
