//! Reading, writing and anonymizing bundles.

mod anonymise;
mod manifest;
mod read;
#[cfg(test)]
mod read_tests;
#[cfg(test)]
mod tree_tests;
mod write;

pub use super::archive::{BundleError, Limits};
pub use anonymise::{Anonymiser, anonymise};
pub use manifest::{Content, Manifest, SCHEMA, UnreadPaths};
pub use read::{Bundle, is_archive, may_be_archive, open, read_bytes};
pub use write::{Info, host_name, write};
