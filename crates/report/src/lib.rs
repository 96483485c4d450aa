//! Renders the results of all commands. `trimtab check` is rendered as text for a terminal, JSON,
//! Markdown for a ticket, HTML, SARIF 2.1.0, Nagios plugin output and metrics; `trimtab explain` as text
//! with charts, JSON and a page (see [`explain`]); `trimtab trim` as pages and a stream of JSON
//! lines (see [`trim`](crate::trim)).
//!
//! Everything here is a pure function of a result such as [`CheckReport`] or [`ExplainReport`]: no
//! file, clock, environment or terminal is accessed. Width, colour and the choice of tree
//! characters are passed in.
//!
//! Names, models and paths come from the checked host, or from a bundle that anybody may have
//! written. The human-readable formats show control characters and bidirectional overrides as
//! `\u{1b}`, so that no output can steer a terminal or disguise a command; the JSON formats write
//! them as `\u001b`, which means the same string.

pub mod bulk;
mod by_host;
mod check;
mod coverage;
mod document;
mod envelope;
pub mod explain;
mod nagios;
mod openmetrics;
mod render;
mod sarif;
mod shared;
pub mod trim;
pub mod views;

pub use bulk::bulk;
pub use check::{CheckAnswer, CheckReport, CheckedHost, Counts, RuleInfo, Suppressed};
pub use coverage::Coverage;
pub use document::{
    CheckResult, ClusterRow, DiscardRow, HostRow, LayerRow, MeetingRow, MountRow, StoreRow, json,
};
pub use envelope::{Answer, Envelope, generated_schema};
pub use explain::{ExplainReport, ExplainResult};
pub use nagios::{NagiosStatus, nagios, nagios_error, nagios_status};
pub use openmetrics::openmetrics;
pub use render::{TextOptions, html, markdown, text};
pub use sarif::sarif;
pub use views::explain::{ExplainDetail, page as explain_page};
pub use views::ssd;
