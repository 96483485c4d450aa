//! `trimtab check`.

pub mod args;
pub mod inputs;
mod options;
mod run;

pub use run::run;
