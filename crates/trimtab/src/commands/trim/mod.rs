//! `trimtab trim`.

pub mod args;
mod describe;
pub mod draw;
mod errors;
mod lines;
mod options;
mod run;
mod status;
pub mod store_probe;
mod summary;
mod tell;
pub mod values;
pub mod words;

pub use run::run;
