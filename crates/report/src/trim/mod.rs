//! Results of `trimtab trim`: plans, ends of passes, and the stream of JSON lines. Their pages are
//! in [`crate::views::trim`].

pub mod lines;
mod plan;

pub use crate::views::trim::{cancelled, dry_run, origin, refused, status, summary};
pub(crate) use plan::store_names;
pub use plan::{PassEnd, Plan, command_text, missing_consent};
