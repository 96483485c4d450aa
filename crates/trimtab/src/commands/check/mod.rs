//! `trimtab check`.

pub mod args;
mod options;
mod run;

pub use run::run;
