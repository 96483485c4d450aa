//! Measures the crates of a checkout: lines of code, circles between the files of a crate, and files
//! that render although they do not belong to `page` or `report`. A tool for developers and for the test
//! `crates/trimtab/tests/it/house.rs`; nothing that ships uses it.
//!
//! It reads the source with `syn` and needs no build, so that it can measure any checkout, also one
//! that does not compile.

pub mod circles;
mod lines;
pub mod measure;
mod names;
pub mod rendering;
mod source;
pub mod table;
mod test_code;
mod tokens;
mod tree;
mod uses;

pub use measure::{CrateReport, crate_names, measure_crate};
