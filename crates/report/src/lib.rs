//! Renders what `trimtab check` found: text for a terminal, a JSON document, Markdown for a ticket,
//! SARIF 2.1.0 and Nagios' plugin output. And what `trimtab explain` answers: text with charts, a JSON
//! document, and a page; see [`explain`]. And what `trimtab trim` answers; see [`trim`](crate::trim).
//!
//! Everything here is a pure function of a [`CheckReport`] or an [`ExplainReport`]: no file, clock, environment or terminal
//! is looked at. Width, colour and the choice of tree characters are handed in.
//!
//! Names, models and paths come from the host that was checked, or from a bundle that anybody may
//! have written. The formats for people show control characters and bidirectional overrides as
//! `\u{1b}`, so that no output can steer a terminal or disguise a command; the JSON formats write
//! them as `\u001b`, which means the same string.

mod check;
mod document;
mod envelope;
pub mod explain;
mod nagios;
mod render;
mod sarif;
pub mod trim;
pub mod views;

pub use check::{CheckReport, Counts, RuleInfo, Suppressed};
pub use document::{
    CheckResult, ClusterRow, DiscardRow, LayerRow, MountRow, StoreRow, SuppressedRow, json,
};
pub use envelope::{Answer, Envelope, schema_of};
pub use explain::{ExplainReport, ExplainResult};
pub use nagios::{NagiosStatus, nagios, nagios_status};
pub use render::{TextOptions, html, markdown, text};
pub use sarif::sarif;
pub use views::explain::{ExplainDetail, page as explain_page};
pub use views::ssd;
