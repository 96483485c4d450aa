//! Results and pages of `trimtab bench`.

mod candidates;
mod compare;
mod filesystems;
mod nightly;
mod range;
mod run;
mod trims;

use crate::envelope::{Answer, Envelope};
use page::Page;
use schemars::JsonSchema;
use serde::Serialize;

pub use compare::Compared;
pub use nightly::{Nightly, NightlyJob};
pub use run::{Ran, RanTrial};

/// A result of a benchmark; `kind` is its type.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum BenchAnswer {
    /// Trials that were run.
    Run(Box<Ran>),
    /// Sets of trials, compared.
    Compare(Box<Compared>),
    /// A history of trials, explained.
    Nightly(Box<Nightly>),
    /// Filesystems below a server, compared.
    Filesystems(Box<experiments::filesystems::Outcome>),
    /// What makes the same query slow, ranked.
    Candidates(Box<experiments::filesystems::CandidatesOutcome>),
    /// A benchmark with and without trims.
    Trim(Box<experiments::trims::Outcome>),
}

impl Answer for BenchAnswer {
    const SCHEMA: &'static str = "trimtab.bench/1";
    const TITLE: &'static str = "trimtab bench";
    const JSON_SCHEMA: &'static str = include_str!("../../../schemas/bench.json");
}

/// Builds the page of a result. `is_brief` leaves out what a terminal has no room for.
pub fn page(answer: &Envelope<BenchAnswer>, is_brief: bool) -> Page {
    let mut page = match &answer.result {
        BenchAnswer::Run(ran) => run::page(ran, is_brief),
        BenchAnswer::Compare(compared) => compare::page(compared, is_brief),
        BenchAnswer::Nightly(nightly) => nightly::page(nightly, is_brief),
        BenchAnswer::Filesystems(outcome) => filesystems::page(outcome, is_brief),
        BenchAnswer::Candidates(outcome) => candidates::page(outcome),
        BenchAnswer::Trim(outcome) => trims::page(outcome, is_brief),
    };
    let skipped = answer.skipped.iter();
    let skipped = skipped.map(|skipped| format!("{}: {}", skipped.what, skipped.why));
    let cautions = answer.warnings.iter().cloned().chain(skipped);
    page.cautions.extend(cautions);
    page.about.push(format!(
        "Source: {}; trimtab {}",
        answer.source, answer.tool_version
    ));
    page
}
