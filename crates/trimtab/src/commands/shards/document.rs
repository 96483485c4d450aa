//! The JSON document, schema `trimtab.shards/1`. Fields may be added without a new version; what is
//! unknown is null, never 0.

use super::{cost, reroute, what_if};
use crate::commands::check::generated_at;
use crate::error::CommandError;
use facts::Skipped;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// Name and version of the document's schema.
pub const SCHEMA: &str = "trimtab.shards/1";

/// What `trimtab shards ... --format json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "trimtab shards")]
pub struct Document {
    /// `trimtab.shards/1`. Fields may be added under the same version.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// Version of trimtab.
    pub tool_version: &'static str,
    /// When the document was made, RFC 3339 in UTC.
    pub generated_at: Timestamp,
    /// Where the cluster came from: `arguments`, `file FILE`, `standard input`, or a URL.
    pub source: String,
    /// The answer; `kind` tells which.
    pub result: Answer,
    /// What was not looked at.
    pub skipped: Vec<Skipped>,
    /// What the user should know of this answer.
    pub warnings: Vec<String>,
}

/// An answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Answer {
    /// `cost`.
    Cost(Box<cost::Answer>),
    /// `reroute`.
    Reroute(Box<reroute::Answer>),
    /// `what-if`.
    WhatIf(Box<what_if::Answer>),
}

impl Document {
    /// A document made now.
    ///
    /// # Errors
    /// When `SOURCE_DATE_EPOCH` is no time.
    pub fn new(
        source: impl Into<String>,
        result: Answer,
        warnings: Vec<String>,
    ) -> Result<Self, CommandError> {
        Ok(Self {
            schema: SCHEMA,
            tool_version: env!("CARGO_PKG_VERSION"),
            generated_at: generated_at()?,
            source: source.into(),
            result,
            skipped: Vec::new(),
            warnings,
        })
    }

    /// Indented, with a line break at its end.
    pub fn json(&self) -> String {
        report::to_json(self)
    }
}
