use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that was not checked. Skipped does not mean passed: every report lists these.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Skipped {
    /// What was skipped: a rule id, or a fact such as `dm table of dm-0`.
    pub what: String,
    /// Why it was skipped.
    pub why: String,
    /// What would make it possible; `None` if nothing would.
    pub needs: Option<String>,
    /// Name of the host it is about, if several hosts were checked; omitted otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl Skipped {
    /// Creates an entry from its three texts.
    pub fn new(what: impl Into<String>, why: impl Into<String>, needs: Option<&str>) -> Self {
        Self {
            what: what.into(),
            why: why.into(),
            needs: needs.map(str::to_owned),
            host: None,
        }
    }

    /// Sets the host that it is about.
    #[must_use]
    pub fn on(mut self, host: &str) -> Self {
        self.host = Some(host.to_owned());
        self
    }
}
