//! What deciders said, as rows of an answer.

use crate::deciders::Decision;
use schemars::JsonSchema;
use serde::Serialize;

/// Decision of one decider.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DeciderRow {
    /// The decider's name as in the server's responses; null if no decider was consulted.
    pub decider: Option<&'static str>,
    /// `YES`, `THROTTLE` or `NO`.
    pub decision: &'static str,
    /// The reason.
    pub explanation: Option<String>,
}

/// The decision of each decider.
pub(super) fn deciders(decision: &Decision) -> Vec<DeciderRow> {
    let rows = decision.reasons.iter().map(|reason| DeciderRow {
        decider: reason.decider,
        decision: reason.verdict.as_str(),
        explanation: reason.explanation.clone(),
    });
    rows.collect()
}
