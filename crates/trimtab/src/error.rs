//! Errors as the user sees them: what kind, what happened, and the way out.

use std::fmt;

/// What kind of trouble it is; every kind ends with exit code 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The call's words do not fit together.
    Usage,
    /// A file, bundle or configuration could not be understood.
    Input,
    /// The machine does not allow it: permissions, space, a missing file.
    Environment,
    /// trimtab declines to do it.
    Refused,
}

/// An error with hints.
#[derive(Debug)]
pub struct CommandError {
    /// What kind of trouble.
    pub kind: Kind,
    /// What was asked and what was found.
    pub message: String,
    /// Ways out, one sentence each.
    pub hints: Vec<String>,
}

impl CommandError {
    /// An error of a kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hints: Vec::new(),
        }
    }

    /// Adds a way out.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Usage => "usage",
            Kind::Input => "input",
            Kind::Environment => "environment",
            Kind::Refused => "refused",
        };
        write!(f, "error ({kind}): {}", self.message)?;
        for hint in &self.hints {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for CommandError {}
