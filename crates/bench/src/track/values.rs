//! Values with units: rates, spans, sizes and counts, written in a track as on the command line.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;
use units::ValueError;

/// Requests per second, in a track a text such as `"20/s"`, `"1.5k/s"` or `"90/min"`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    per_s: f64,
}

/// The highest rate that a track may ask for: one request every 100 ns.
const RATE_PER_S_MAX: f64 = 1e7;

impl Rate {
    /// Parses a rate: a count, and `/s`, `/min` or `/h`.
    ///
    /// # Errors
    /// If `text` is anything else, is 0, or is more than 10 million a second.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        let expected = || ValueError::new("a rate such as 20/s, 1.5k/s or 90/min", text);
        let (count, unit) = text.trim().split_once('/').ok_or_else(expected)?;
        let unit_s = match unit.trim() {
            "s" | "sec" | "second" => 1.0,
            "m" | "min" | "minute" => 60.0,
            "h" | "hour" => 3600.0,
            _ => return Err(expected()),
        };
        let count = units::count::parse(count).map_err(|_| expected())?;
        #[allow(clippy::cast_precision_loss)] // above 2^53 it is rejected below
        let per_s = count as f64 / unit_s;
        if count == 0 || per_s > RATE_PER_S_MAX {
            return Err(expected().hint("above 0, and at most 10M/s"));
        }
        Ok(Self { per_s })
    }

    /// Requests per second.
    pub fn per_s(self) -> f64 {
        self.per_s
    }
}

impl fmt::Display for Rate {
    /// Writes it in the largest unit of time in which it is a whole count, so that parsing gives it again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_unit = [(1.0, "s"), (60.0, "min"), (3600.0, "h")]
            .map(|(unit_s, name)| ((self.per_s * unit_s * 1e6).round() / 1e6, name));
        let (count, name) = in_unit
            .into_iter()
            .find(|(count, _)| count.fract() == 0.0)
            .unwrap_or(in_unit[2]);
        write!(f, "{count}/{name}")
    }
}

/// A length of time above zero, in a track a text such as `"30s"`, `"5ms"` or `"1h30m"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(Duration);

impl Span {
    /// Wraps a duration.
    pub fn new(duration: Duration) -> Self {
        Self(duration)
    }

    /// Parses a span.
    ///
    /// # Errors
    /// If `text` is not a duration, or is zero.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        let duration = units::duration::parse(text)?;
        if duration.is_zero() {
            return Err(ValueError::new("a duration above zero", text));
        }
        Ok(Self(duration))
    }

    /// The length as a [`Duration`].
    pub fn duration(self) -> Duration {
        self.0
    }

    /// The length in nanoseconds, at most [`u64::MAX`] (584 years).
    pub fn nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&units::duration::argument(self.0))
    }
}

/// A size in bytes, in a track a text such as `"200B"` or `"64MiB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    /// The size.
    pub bytes: u64,
}

impl Size {
    /// Parses a size.
    ///
    /// # Errors
    /// If `text` is not a size with a unit.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        units::size::parse(text).map(|bytes| Self { bytes })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&units::size::argument(self.bytes))
    }
}

/// A count, in a track a number or a text such as `"10k"` or `"1.5M"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u64);

impl Count {
    /// Parses a count.
    ///
    /// # Errors
    /// If `text` is not a count.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        units::count::parse(text).map(Self)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Quotes the foreign text of an error safely.
fn shown(error: &ValueError) -> String {
    units::escape(&error.to_string()).into_owned()
}

struct Text<T> {
    expected: &'static str,
    parse: fn(&str) -> Result<T, ValueError>,
    whole: Option<fn(u64) -> T>,
}

impl<T> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(|error| E::custom(shown(&error)))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        match self.whole {
            Some(make) => Ok(make(number)),
            None => Err(E::invalid_type(de::Unexpected::Unsigned(number), &self)),
        }
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_type(de::Unexpected::Signed(number), &self)),
        }
    }
}

macro_rules! text_form {
    ($type:ident, $expected:literal, $whole:expr, $schema:tt) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Text {
                    expected: $expected,
                    parse: Self::parse,
                    whole: $whole,
                })
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

text_form!(Rate, "a rate such as \"20/s\"", None, {
    "type": "string",
    "description": "A rate: a count, and /s, /min or /h.",
    "examples": ["20/s", "1.5k/s", "90/min"]
});
text_form!(Span, "a duration such as \"30s\"", None, {
    "type": "string",
    "description": "A duration above zero.",
    "examples": ["5ms", "30s", "1h30m"]
});
text_form!(Size, "a size such as \"64MiB\"", None, {
    "type": "string",
    "description": "A size with its unit.",
    "examples": ["200B", "64MiB"]
});
text_form!(Count, "a count such as 500 or \"10k\"", Some(Count), {
    "type": ["integer", "string"],
    "minimum": 0,
    "description": "A count: a number, or a text with k, M or G.",
    "examples": [500, "10k", "1.5M"]
});

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_are_parsed() {
        for (text, per_s) in [
            ("20/s", 20.0),
            ("1.5k/s", 1500.0),
            ("90/min", 1.5),
            ("36 / h", 0.01),
            ("10M/s", 1e7),
        ] {
            assert_eq!(
                Rate::parse(text).unwrap().per_s().to_bits(),
                f64::to_bits(per_s),
                "{text}"
            );
        }
        for text in [
            "20", "/s", "0/s", "20/d", "1.5/s", "-1/s", "11M/s", "20/s/s", "",
        ] {
            let error = Rate::parse(text).unwrap_err().to_string();
            assert!(error.starts_with("expected a rate"), "{text}: {error}");
        }
    }

    #[test]
    fn a_span_is_above_zero() {
        assert_eq!(Span::parse("1m").unwrap().nanos(), 60_000_000_000);
        assert!(Span::parse("0s").is_err());
    }

    proptest! {
        #[test]
        fn written_rates_round_trip(count in 1_u64..1_000_000, unit in prop::sample::select(vec!["s", "min", "h"])) {
            let rate = Rate::parse(&format!("{count}/{unit}")).unwrap();
            let again = Rate::parse(&rate.to_string()).unwrap();
            prop_assert!((again.per_s() / rate.per_s() - 1.0).abs() < 1e-9, "{rate}");
        }

        #[test]
        fn any_text_is_handled_without_panic(text in ".*") {
            let _ = (Rate::parse(&text), Span::parse(&text), Size::parse(&text), Count::parse(&text));
        }
    }
}
