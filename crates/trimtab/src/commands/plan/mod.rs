//! `trimtab plan`.

pub mod args;
mod run;

pub use run::run;
