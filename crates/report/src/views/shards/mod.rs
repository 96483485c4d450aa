//! Results and pages of `trimtab shards`.

mod cost;
mod phrases;
mod reroute;
mod what_if;

use crate::envelope::{Answer, Envelope};
use page::Page;
use schemars::JsonSchema;
use serde::Serialize;
use shards::estimate::CostEstimate;
use shards::explanation::RerouteExplanation;
use shards::forecast::Forecast;

/// A result about shards; `kind` is its type.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ShardsAnswer {
    /// Estimated cost of operations.
    Cost(Box<CostEstimate>),
    /// Explanation of the next reroute.
    Reroute(Box<RerouteExplanation>),
    /// Forecast of a change.
    WhatIf(Box<Forecast>),
}

impl Answer for ShardsAnswer {
    const SCHEMA: &'static str = "trimtab.shards/1";
    const TITLE: &'static str = "trimtab shards";
    const JSON_SCHEMA: &'static str = include_str!("../../../schemas/shards.json");
}

/// Builds the page of a result. `is_brief` leaves out what a terminal has no room for.
pub fn page(answer: &Envelope<ShardsAnswer>, is_brief: bool) -> Page {
    let mut page = match &answer.result {
        ShardsAnswer::Cost(estimate) => cost::page(estimate),
        ShardsAnswer::Reroute(explanation) => reroute::page(explanation),
        ShardsAnswer::WhatIf(forecast) => what_if::page(forecast, is_brief),
    };
    page.cautions.clone_from(&answer.warnings);
    page
}
