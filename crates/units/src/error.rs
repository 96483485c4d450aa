//! The error for values that cannot be parsed.

/// A value that could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found:?}{}", hint.as_ref().map_or(String::new(), |hint| format!(": {hint}")))]
pub struct ValueError {
    /// A description of what is valid, with an example.
    pub expected: String,
    /// The text that was found.
    pub found: String,
    /// How to fix it, if the mistake is a common one.
    pub hint: Option<String>,
}

impl ValueError {
    /// Creates an error without a hint.
    pub fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            expected: expected.into(),
            found: found.into(),
            hint: None,
        }
    }

    /// Adds a hint on how to fix the value.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
