//! `trimtab trim`.

pub mod args;
mod describe;
mod draw;
mod errors;
mod lines;
mod options;
mod run;
mod status;
mod store_probe;
mod summary;
mod tell;
pub mod words;

pub use run::run;
