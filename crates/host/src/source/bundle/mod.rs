//! Reading, writing and anonymizing bundles.

mod anonymise;
mod archive;
mod limits;
mod manifest;
mod memory;
mod read;
#[cfg(test)]
mod read_tests;
#[cfg(test)]
mod tree_tests;
mod write;

pub use anonymise::{Anonymiser, anonymise};
pub use limits::{BundleError, Limits};
pub use manifest::{Content, Manifest, SCHEMA, UnreadPaths};
pub use read::{Bundle, open, read_bytes};
pub use write::{Info, host_name, write};
