//! `trimtab check`.

pub mod args;
mod run;

pub use run::run;
