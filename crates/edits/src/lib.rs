//! Changes of configuration files: looked at first, then made all together or not at all. A [`Journal`] writes them down
//! before they are made, so that a process that is killed halfway leaves nothing that the next one cannot finish or take
//! back, and undoes them byte for byte.

mod change;
mod diff;
mod entry;
mod folder;
mod journal;
mod lines;
mod planned;
mod root;

pub use change::{Change, ChangeError, apply};
pub use diff::diff;
pub use entry::{Bytes, Contents, Entry};
pub use journal::{Found, Journal, JournalError, Recorded};
pub use lines::Replaced;
pub use planned::{PlanError, Planned, planned};
pub use root::Root;
