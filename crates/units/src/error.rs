//! What is said of a value that cannot be read.

/// A value that somebody typed and that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found:?}{}", hint.as_ref().map_or(String::new(), |hint| format!(": {hint}")))]
pub struct ValueError {
    /// What would have been right, with an example.
    pub expected: String,
    /// What stood there.
    pub found: String,
    /// The way out, where the mistake is a common one.
    pub hint: Option<String>,
}

impl ValueError {
    /// An error without a hint.
    pub fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            expected: expected.into(),
            found: found.into(),
            hint: None,
        }
    }

    /// Adds the way out.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
