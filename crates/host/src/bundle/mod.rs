//! Bundles: writing and anonymising them. [`crate::source::Bundle`] reads them.

mod anonymise;
mod manifest;
mod write;

pub use anonymise::{Anonymiser, anonymise};
pub use manifest::{Content, Manifest, SCHEMA, UnreadPaths};
pub use write::{Info, host_name, write};
