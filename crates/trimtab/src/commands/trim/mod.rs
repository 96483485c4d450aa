//! `trimtab trim`.

pub mod args;
mod errors;
mod options;
mod output;
mod progress_line;
mod run;
mod store_probe;

pub use run::run;
