//! A place in a JSON document, which names itself when its value is not what was expected.

use super::error::input_error;
use facts::InputError;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Most characters of a place that an error shows.
const PATH_CHARS_MAX: usize = 120;

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Place<'v> {
    source_name: &'v str,
    path: String,
    value: &'v Value,
}

impl<'v> Place<'v> {
    /// The whole document.
    pub(crate) fn root(source_name: &'v str, value: &'v Value) -> Self {
        Self {
            source_name,
            path: String::new(),
            value,
        }
    }

    pub(crate) fn value(&self) -> &'v Value {
        self.value
    }

    /// Returns the value of a key; `None` if it is missing or `null`, or this is no object.
    pub(crate) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        let path = if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        };
        Some(Self {
            source_name: self.source_name,
            path,
            value,
        })
    }

    /// Returns the value of a key that must be there.
    pub(crate) fn require(&self, key: &str) -> Result<Self, InputError> {
        self.get(key)
            .ok_or_else(|| self.error(format!("the key {key}"), "none"))
    }

    pub(crate) fn object(&self) -> Result<&'v Map<String, Value>, InputError> {
        self.value
            .as_object()
            .ok_or_else(|| self.error("an object".to_owned(), &self.shown()))
    }

    /// Returns the elements of an array, at most `max`.
    pub(crate) fn elements(&self, max: usize) -> Result<Vec<Self>, InputError> {
        let array = self
            .value
            .as_array()
            .ok_or_else(|| self.error("an array".to_owned(), &self.shown()))?;
        if array.len() > max {
            let expected = format!("{max} elements at most");
            return Err(self.error(expected, &array.len().to_string()));
        }
        let element = |(index, value)| Self {
            source_name: self.source_name,
            path: format!("{}[{index}]", self.path),
            value,
        };
        Ok(array.iter().enumerate().map(element).collect())
    }

    /// Returns the number, which JSON guarantees to be finite.
    pub(crate) fn number(&self) -> Result<f64, InputError> {
        self.value
            .as_f64()
            .filter(|number| number.is_finite())
            .ok_or_else(|| self.error("a number".to_owned(), &self.shown()))
    }

    /// Returns the number of a key; `None` if it is missing or `null`.
    pub(crate) fn number_of(&self, key: &str) -> Result<Option<f64>, InputError> {
        self.get(key).map(|place| place.number()).transpose()
    }

    pub(crate) fn text(&self) -> Result<&'v str, InputError> {
        self.value
            .as_str()
            .ok_or_else(|| self.error("a text".to_owned(), &self.shown()))
    }

    /// Returns the text of a key; `None` if it is missing or `null`.
    pub(crate) fn text_of(&self, key: &str) -> Result<Option<String>, InputError> {
        let text = self.get(key).map(|place| place.text()).transpose()?;
        Ok(text.map(str::to_owned))
    }

    /// Returns an object's entries as texts: numbers and truth values as JSON writes them, arrays joined by `+`
    /// as Rally shows cars. Without the key, there are none.
    pub(crate) fn texts_of(&self, key: &str) -> Result<BTreeMap<String, String>, InputError> {
        let Some(place) = self.get(key) else {
            return Ok(BTreeMap::new());
        };
        let entries = place.object()?.iter().filter(|(_, value)| !value.is_null());
        Ok(entries
            .map(|(key, value)| (key.clone(), plain(value)))
            .collect())
    }

    /// An error at this place.
    pub(crate) fn error(&self, expected: String, found: &str) -> InputError {
        if self.path.is_empty() {
            return input_error(self.source_name, expected, found);
        }
        let path: String = self.path.chars().take(PATH_CHARS_MAX).collect();
        let expected = format!("{expected} at {}", units::escape(&path));
        input_error(self.source_name, expected, found)
    }

    fn shown(&self) -> String {
        match self.value {
            Value::Array(_) => "an array".to_owned(),
            Value::Object(_) => "an object".to_owned(),
            other => other.to_string(),
        }
    }
}

/// Formats a value without the quotes of JSON.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(plain).collect::<Vec<_>>().join("+"),
        other => other.to_string(),
    }
}
