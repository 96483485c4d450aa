use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that was not looked at. Skipped is not passed: every report lists these.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Skipped {
    /// What was not looked at: a rule id, or a fact such as `dm table of dm-0`.
    pub what: String,
    /// Why not.
    pub why: String,
    /// What would make it possible; `None` when nothing would.
    pub needs: Option<String>,
}

impl Skipped {
    /// Shorthand for the three sentences.
    pub fn new(what: impl Into<String>, why: impl Into<String>, needs: Option<&str>) -> Self {
        Self {
            what: what.into(),
            why: why.into(),
            needs: needs.map(str::to_owned),
        }
    }
}
