//! Presentation: a result becomes a [`Page`] of [`Block`]s, and a page is rendered for a terminal, as HTML
//! or as Markdown. This crate knows nothing about what a page is about, and no other crate renders
//! anything.
//!
//! Every text is one line of plain words: every renderer escapes control characters and line breaks in it,
//! so that a name from a hostile host can forge neither a line nor markup. `code` between backticks is
//! never broken on a terminal and is rendered as code elsewhere. Only [`Commands`] keep their line breaks.
//!
//! All functions are pure: width, colour and character set are parameters.

mod block;
mod calendar;
pub mod chart;
mod columns;
pub mod html;
pub mod markdown;
mod prose;
mod scale;
mod tables;
pub mod terminal;

pub use block::{
    Align, Block, Cell, Column, Commands, Evidence, Facts, Finding, Fix, Level, List, Node, Page,
    Section, Table, Text, Tone, Tree,
};
pub use html::html;
pub use markdown::markdown;
pub use terminal::{Terminal, terminal, wrap};
