//! Measures the crates of a checkout: lines of code, dependency cycles between the files of a
//! crate, and files that render output although they do not belong to `page` or `report`. A tool
//! for developers and for the test `crates/trimtab/tests/it/house.rs`; not part of the product.
//!
//! It parses the source with `syn` and needs no build, so it can measure any checkout, even one
//! that does not compile.

pub mod cycles;
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
