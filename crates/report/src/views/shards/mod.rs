//! What `trimtab shards` answers.

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

/// An answer about shards; `kind` tells which.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ShardsAnswer {
    /// `cost`.
    Cost(Box<CostEstimate>),
    /// `reroute`.
    Reroute(Box<RerouteExplanation>),
    /// `what-if`.
    WhatIf(Box<Forecast>),
}

impl Answer for ShardsAnswer {
    const SCHEMA: &'static str = "trimtab.shards/1";
    const TITLE: &'static str = "trimtab shards";
}

/// The page of an answer. `is_brief` leaves out what a terminal has no room for.
pub fn page(answer: &Envelope<ShardsAnswer>, is_brief: bool) -> Page {
    let mut page = match &answer.result {
        ShardsAnswer::Cost(estimate) => cost::page(estimate),
        ShardsAnswer::Reroute(explanation) => reroute::page(explanation),
        ShardsAnswer::WhatIf(forecast) => what_if::page(forecast, is_brief),
    };
    page.cautions.clone_from(&answer.warnings);
    page
}
