//! What is known of a script's variables.

use super::words::{Segment, Word};
use facts::host::ClockText;
use std::collections::HashMap;

/// More variables than any real script assigns.
const VARIABLES_MAX: usize = 1000;

/// The value of a variable.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Path(String),
    /// It depends on the clock, or is compared with it.
    Clock(ClockText),
    /// It depends on the clock in a way that is not understood.
    Unclear,
}

/// The variables whose values are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    values: HashMap<String, Value>,
}

impl Scope {
    /// Expands known variables in a word; `None` if part of it is unknown.
    pub fn resolve(&self, word: &Word) -> Option<String> {
        let mut text = String::new();
        for segment in &word.segments {
            match segment {
                // What the filter removed is as unknown as an expansion.
                Segment::Literal { text: literal, .. } if !literal.contains('…') => {
                    text.push_str(literal);
                }
                Segment::Variable(name) => match self.values.get(name)? {
                    Value::Path(path) => text.push_str(path),
                    Value::Clock(_) | Value::Unclear => return None,
                },
                _ => return None,
            }
        }
        Some(text)
    }

    /// Returns the value of a variable if it is one of the clock.
    pub fn clock_text(&self, name: &str) -> Option<&ClockText> {
        match self.values.get(name)? {
            Value::Clock(text) => Some(text),
            Value::Path(_) | Value::Unclear => None,
        }
    }

    /// Whether the value of a variable depends on the clock.
    pub fn asks_clock(&self, name: &str) -> bool {
        match self.values.get(name) {
            Some(Value::Clock(text)) => text.has_date(),
            Some(Value::Unclear) => true,
            Some(Value::Path(_)) | None => false,
        }
    }

    /// Records an assignment; `None` is a value that is not known.
    pub fn assign(&mut self, name: &str, value: Option<Value>) {
        match value {
            Some(value) if self.values.len() < VARIABLES_MAX => {
                self.values.insert(name.to_owned(), value);
            }
            _ => {
                self.values.remove(name);
            }
        }
    }
}
