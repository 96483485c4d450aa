//! A shell parser, limited to what is needed to find the programs that a job runs.

pub(crate) mod command;
pub(crate) mod keep;
pub(crate) mod lexer;
pub(crate) mod programs;
pub mod script;
pub(crate) mod words;
