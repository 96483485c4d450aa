//! A shell parser, limited to what is needed to find the programs that a job runs.

mod arithmetic;
mod clock;
pub(crate) mod command;
mod condition;
pub(crate) mod keep;
pub(crate) mod lexer;
pub(crate) mod programs;
mod scope;
pub mod script;
pub(crate) mod truth;
pub(crate) mod words;
