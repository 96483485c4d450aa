//! The JSON document, schema `trimtab.ssd/1`. Fields may be added without a new version; what is
//! unknown is null, never 0.

use crate::commands::check::generated_at;
use crate::error::CommandError;
use facts::Skipped;
use jiff::Timestamp;
use serde::Serialize;

/// Name and version of the document's schema.
pub const SCHEMA: &str = "trimtab.ssd/1";

/// What `trimtab ssd ... --format json` prints.
#[derive(Debug, Serialize)]
pub struct Document<R> {
    /// `trimtab.ssd/1`.
    pub schema: &'static str,
    /// Version of trimtab.
    pub tool_version: &'static str,
    /// When the document was made, RFC 3339 in UTC.
    pub generated_at: Timestamp,
    /// Where the numbers came from: `arguments`, `live`, `bundle FILE`, `trace FILE`.
    pub source: String,
    /// The answer.
    pub result: R,
    /// What was not looked at.
    pub skipped: Vec<Skipped>,
    /// What the user should know of this run.
    pub warnings: Vec<String>,
}

impl<R: Serialize> Document<R> {
    /// A document made now.
    ///
    /// # Errors
    /// When `SOURCE_DATE_EPOCH` is no time.
    pub fn new(source: String, result: R) -> Result<Self, CommandError> {
        Ok(Self {
            schema: SCHEMA,
            tool_version: env!("CARGO_PKG_VERSION"),
            generated_at: generated_at()?,
            source,
            result,
            skipped: Vec::new(),
            warnings: Vec::new(),
        })
    }

    /// Indented, with a line break at its end.
    pub fn json(&self) -> String {
        // Only maps with keys that are no strings and failing writers make serde_json fail; these
        // documents have neither.
        let text = serde_json::to_string_pretty(self).expect("string keys, written to memory");
        report::escape_json(&text) + "\n"
    }
}
