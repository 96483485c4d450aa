//! `trimtab check`.

pub mod args;
mod inputs;
mod options;
mod run;

pub use run::run;
