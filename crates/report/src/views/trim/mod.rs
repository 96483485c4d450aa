//! What `trimtab trim` answers: the dry run, how passes ended, which run or can be resumed.

mod dry_run;
mod status;
mod summary;

pub use dry_run::{dry_run, refused};
pub use status::{cancelled, status};
pub use summary::summary;
