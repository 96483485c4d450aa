//! How anything is shown. An answer becomes a [`Page`] of [`Block`]s, and a page is rendered for a
//! terminal, as HTML or as Markdown. Nothing here knows what a page is about, and nothing else draws.
//!
//! Every text is one line of plain words: control characters and line breaks in it are shown, not
//! obeyed, by every renderer, so that a name from a hostile host can forge neither a line nor markup.
//! `code` between backticks is never broken on a terminal and looks like code elsewhere. Only
//! [`Commands`] keep their line breaks.
//!
//! Pure: width, colour and the choice of characters are handed in.

mod block;
mod calendar;
pub mod chart;
mod columns;
pub mod html;
pub mod markdown;
mod scale;
mod tables;
pub mod terminal;

pub use block::{
    Align, Block, Cell, Column, Commands, Evidence, Finding, Fix, Level, List, Node, Page, Section,
    Table, Text, Tone, Tree,
};
pub use html::html;
pub use markdown::markdown;
pub use terminal::{Terminal, terminal, terminal_blocks, wrap};
