//! Reads a Linux host into [`facts::Host`]: live, from a directory tree, or from a bundle.
//!
//! There are four layers, each using only the ones before it:
//! - `parse`: turns bytes into structs; pure.
//! - `filter`: what of a file or an answer may be kept; no secrets.
//! - `source`: a live host, a directory, or a bundle. A [`Reader`] filters what it reads and
//!   records every read, so that a bundle made from the recording reproduces the live result.
//! - `collect`: builds the facts, without judging them.
//!
//! All of them share [`Unread`] and [`Command`].

mod collect;
mod command;
pub mod filter;
pub mod parse;
pub mod source;
mod unread;

pub use collect::{Options, job_logs, logs, read_host};
pub use command::{Command, DriveTool, JOURNAL_ENTRIES_MAX};
pub use source::{Kind, Reader, Recording, Source, Stat, bundle};
pub use unread::Unread;
