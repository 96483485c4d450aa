//! Streaming JSON parser with located errors.

use super::error::StateError;
use super::signature;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use std::borrow::Cow;
use std::fmt;
use std::io::BufRead;

/// Input of the JSON parser.
pub enum Source<'a> {
    /// In memory: faster, because names are not copied.
    Bytes(&'a [u8]),
    /// A stream, read only once.
    Stream(&'a mut dyn BufRead),
}

/// Maximum length of untrusted text in an error, in characters.
const FOREIGN_CHARS_MAX: usize = 120;

/// Prepares untrusted text for an error: truncates it and escapes what could control a terminal.
pub fn shown(text: &str) -> String {
    match text.char_indices().nth(FOREIGN_CHARS_MAX) {
        None => units::escape(text).into_owned(),
        Some((end, _)) => format!("{}…", units::escape(&text[..end])),
    }
}

/// Records that a part was seen; a second one would be merged with the first.
///
/// # Errors
/// If it was already seen
pub fn once<E: Error>(seen: &mut bool, part: &str) -> Result<(), E> {
    if std::mem::replace(seen, true) {
        return Err(E::custom(format!("{part} is there twice")));
    }
    Ok(())
}

/// Parses one JSON document with a seed; only white space may follow it.
pub fn parse<'de, S: DeserializeSeed<'de>>(
    source: Source<'de>,
    what: &'static str,
    seed: S,
) -> Result<S::Value, StateError> {
    let read = match source {
        Source::Bytes(bytes) => {
            signature::refuse(what, bytes)?;
            whole(serde_json::Deserializer::from_slice(bytes), seed)
        }
        Source::Stream(stream) => {
            // A read error recurs when the parser reads.
            if let Ok(head) = stream.fill_buf() {
                signature::refuse(what, head)?;
            }
            whole(serde_json::Deserializer::from_reader(stream), seed)
        }
    };
    read.map_err(|error| state_error(what, &error))
}

fn whole<'de, R: serde_json::de::Read<'de>, S: DeserializeSeed<'de>>(
    mut deserializer: serde_json::Deserializer<R>,
    seed: S,
) -> serde_json::Result<S::Value> {
    let value = seed.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Parses the number of a shard, which is the name of a field.
///
/// # Errors
/// If it is none
pub fn shard_number<E: Error>(name: &str) -> Result<u32, E> {
    name.parse().map_err(|_| {
        E::custom(format!(
            "expected the number of a shard, found {:?}",
            shown(name)
        ))
    })
}

fn state_error(what: &'static str, error: &serde_json::Error) -> StateError {
    let text = error.to_string();
    if error.is_io() {
        return StateError::Unreadable {
            what,
            reason: shown(&text),
        };
    }
    let place = format!(" at line {} column {}", error.line(), error.column());
    StateError::Json {
        what,
        line: error.line(),
        column: error.column(),
        problem: shown(&reword(text.strip_suffix(&place).unwrap_or(&text))),
    }
}

/// Rewords an error in terms of JSON instead of Rust types.
fn reword(problem: &str) -> String {
    let wrong = problem
        .strip_prefix("invalid type: ")
        .or_else(|| problem.strip_prefix("invalid value: "));
    // The value found may contain these words, the expected type does not.
    let Some((found, expected)) = wrong.and_then(|wrong| wrong.rsplit_once(", expected ")) else {
        return problem.to_owned();
    };
    let expected = match expected {
        "u32" => "a whole number from 0 to 4294967295",
        "i64" => "a whole number",
        "a boolean" => "true or false",
        "a map" => "an object",
        "a sequence" => "an array",
        other => other,
    };
    let value = ["integer `", "floating point `", "boolean `"]
        .iter()
        .find_map(|kind| found.strip_prefix(kind)?.strip_suffix('`'));
    let found = match found {
        "map" => "an object",
        "sequence" => "an array",
        other => value.unwrap_or(other),
    };
    format!("expected {expected}, found {found}")
}

/// A string, borrowed from the input if possible.
pub struct Text<'de>(pub Cow<'de, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Any)
    }
}

/// Handler for the fields of an object.
pub trait Fields<'de> {
    /// Description of the object, for errors.
    const WHAT: &'static str;

    /// Consumes the value of one field, or skips it with [`skip`].
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error>;
}

/// An object whose fields are passed to a [`Fields`].
pub struct Object<'f, F>(pub &'f mut F);

impl<'de, F: Fields<'de>> DeserializeSeed<'de> for Object<'_, F> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, F: Fields<'de>> Visitor<'de> for Object<'_, F> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(F::WHAT)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key::<Text<'de>>()? {
            self.0.field(&name, &mut map)?;
        }
        Ok(())
    }
}

/// An array whose elements of type `T` are passed to a function, which may reject one with a message.
pub struct Each<'f, T, F>(pub &'f mut F, pub std::marker::PhantomData<T>);

impl<'f, T, F> Each<'f, T, F> {
    /// Passes the elements to this function.
    pub fn new(take: &'f mut F) -> Self {
        Self(take, std::marker::PhantomData)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), String>> DeserializeSeed<'de>
    for Each<'_, T, F>
{
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), String>> Visitor<'de> for Each<'_, T, F> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(element) = seq.next_element::<T>()? {
            (self.0)(element).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

/// Skips the value of the current field.
pub fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(|_| ())
}

/// Receiver of settings. Names are flat (`index.routing.allocation.enable`), whatever the input format.
pub trait Sink {
    /// Whether any setting with this prefix (including its dot) may be needed; otherwise it is skipped.
    fn wants(&self, prefix: &str) -> bool;

    /// Receives a setting: numbers and booleans as text, lists joined with commas.
    fn put(&mut self, name: &str, value: &str);
}

/// Flattens settings that may be nested.
pub struct Flatten<'f, S> {
    /// Name prefix; empty at the top level.
    pub name: &'f mut String,
    /// Receives the settings.
    pub sink: &'f mut S,
}

impl<'de, S: Sink> DeserializeSeed<'de> for Flatten<'_, S> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<S: Sink> Flatten<'_, S> {
    /// Passes a value on; at the top level a value is an error.
    fn put<E: Error>(self, text: &str, found: Unexpected<'_>) -> Result<(), E> {
        if self.name.is_empty() {
            return Err(E::invalid_type(
                found,
                &"settings: an object, flat or nested",
            ));
        }
        self.sink.put(self.name, text);
        Ok(())
    }
}

impl<'de, S: Sink> Visitor<'de> for Flatten<'_, S> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("settings: an object, flat or nested")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let length = self.name.len();
        while let Some(Text(key)) = map.next_key::<Text<'de>>()? {
            if length > 0 {
                self.name.push('.');
            }
            self.name.push_str(&key);
            // A name can have both a value and nested names.
            self.name.push('.');
            let wanted = self.sink.wants(self.name);
            self.name.pop();
            if wanted {
                map.next_value_seed(Flatten {
                    name: self.name,
                    sink: self.sink,
                })?;
            } else {
                skip(&mut map)?;
            }
            self.name.truncate(length);
        }
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut all = String::new();
        while let Some(Scalar(text)) = seq.next_element::<Scalar>()? {
            if !all.is_empty() {
                all.push(',');
            }
            all.push_str(&text);
        }
        self.put(&all, Unexpected::Seq)
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.put(text, Unexpected::Str(text))
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        let text = if value { "true" } else { "false" };
        self.put(text, Unexpected::Bool(value))
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.put(&value.to_string(), Unexpected::Signed(value))
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.put(&value.to_string(), Unexpected::Unsigned(value))
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.put(&value.to_string(), Unexpected::Float(value))
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// A string, number or boolean as text.
struct Scalar(String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, number or boolean")
            }
            fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(text.to_owned()))
            }
            fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
        }
        deserializer.deserialize_any(Any)
    }
}
