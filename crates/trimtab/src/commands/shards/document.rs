//! What `trimtab shards ... --format json` prints, schema `trimtab.shards/1`.

use super::{cost, reroute, what_if};
use schemars::JsonSchema;
use serde::Serialize;

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

impl report::Answer for Answer {
    const SCHEMA: &'static str = "trimtab.shards/1";
    const TITLE: &'static str = "trimtab shards";
}
