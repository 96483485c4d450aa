//! Responses of a server, any of which may be an error message.

use super::error::StateError;
use super::json::{self, Fields, Object, Source, shown};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use std::fmt;

/// Parses one JSON object field by field; fails if it is the server's response to a failed request.
///
/// # Errors
/// If the input is not JSON, not such an object, or an error response
pub fn object<'de, F: Fields<'de>>(
    source: Source<'de>,
    what: &'static str,
    fields: &mut F,
) -> Result<(), StateError> {
    let mut answer = Answer::new(fields);
    json::parse(source, what, Object(&mut answer))?;
    answer.error.refuse(what)
}

/// Field handler for a response that may be an error.
pub struct Answer<'f, F> {
    fields: &'f mut F,
    /// The error, if it is one.
    pub error: ErrorAnswer,
}

impl<'f, F> Answer<'f, F> {
    /// Wraps a field handler.
    pub fn new(fields: &'f mut F) -> Self {
        Self {
            fields,
            error: ErrorAnswer::default(),
        }
    }
}

impl<'de, F: Fields<'de>> Fields<'de> for Answer<'_, F> {
    const WHAT: &'static str = F::WHAT;
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "error" => {
                self.error.said = true;
                map.next_value_seed(Body(&mut self.error))
            }
            "status" => {
                self.error.status = map.next_value::<Loose>()?.0;
                Ok(())
            }
            _ => self.fields.field(name, map),
        }
    }
}

/// `{"error": {"type": ..., "reason": ...}, "status": 401}`; older servers have the error as a string.
#[derive(Debug, Default)]
pub struct ErrorAnswer {
    said: bool,
    status: Option<String>,
    kind: Option<String>,
    reason: Option<String>,
}

impl ErrorAnswer {
    /// Fails if this is an error.
    ///
    /// # Errors
    /// With the error's contents
    pub fn refuse(self, what: &'static str) -> Result<(), StateError> {
        if !self.said {
            return Ok(());
        }
        let status = self.status.map(|status| format!("status {status}"));
        let said = match (self.kind, self.reason) {
            (Some(kind), Some(reason)) => Some(format!("{kind}: {reason}")),
            (kind, reason) => kind.or(reason),
        };
        let parts: Vec<String> = [status, said].into_iter().flatten().collect();
        Err(StateError::ErrorAnswer {
            what,
            error: if parts.is_empty() {
                "without a reason".to_owned()
            } else {
                parts.join(", ")
            },
        })
    }
}

impl<'de> Fields<'de> for ErrorAnswer {
    const WHAT: &'static str = "an error: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        let Loose(value) = map.next_value()?;
        match name {
            "type" => self.kind = value,
            "reason" => self.reason = value,
            _ => {}
        }
        Ok(())
    }
}

/// The value of `error`.
struct Body<'e>(&'e mut ErrorAnswer);

impl<'de> DeserializeSeed<'de> for Body<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Body<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an error: an object or a string")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        Object(self.0).visit_map(map)
    }
    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.reason = Some(shown(text));
        Ok(())
    }
}

/// A string or number for display; anything else is ignored.
struct Loose(Option<String>);

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Loose;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_str<E>(self, text: &str) -> Result<Loose, E> {
                Ok(Loose(Some(shown(text))))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Loose, E> {
                Ok(Loose(Some(value.to_string())))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Loose, E> {
                Ok(Loose(Some(value.to_string())))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Loose, E> {
                Ok(Loose(None))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Loose, E> {
                Ok(Loose(None))
            }
            fn visit_unit<E>(self) -> Result<Loose, E> {
                Ok(Loose(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Loose, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Loose(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Loose, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Loose(None))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests;
