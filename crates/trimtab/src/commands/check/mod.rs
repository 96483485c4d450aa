//! `trimtab check`.

pub mod args;
pub mod inputs;
mod options;
mod run;
mod upload;

pub use run::run;
