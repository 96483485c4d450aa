//! `GET /_all/_settings`, once for open and once for closed indices. A large cluster has tens of
//! thousands, so they are counted while parsing.

use super::settings::{ARCHIVED, Keys, NOT_KEPT};
use facts::cluster::SettingValue;
use serde::de::{DeserializeSeed, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

/// The keys that are requested and kept; `*` matches the rest of a key.
pub(crate) const KEYS: &[&str] = &[
    "archived.*",
    "index.blocks.*",
    "index.merge.*",
    "index.number_of_replicas",
    "index.number_of_shards",
    "index.refresh_interval",
    "index.routing.allocation.*",
    "index.soft_deletes.*",
    "index.store.*",
    "index.translog.*",
    "index.version.created",
];

/// Maximum number of distinct values counted for a key.
const COUNTED_MAX: usize = 10_000;
/// Maximum number of values kept for a key: the most frequent.
const VALUES_MAX: usize = 100;
/// Maximum number of keys kept.
const KEYS_MAX: usize = 300;
/// Maximum length of a value, in characters.
const VALUE_CHARS_MAX: usize = 200;
/// Stands for all other values combined.
pub(crate) const OTHER: &str = "(other)";

/// Index counts and the settings that indices set explicitly.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Indices {
    /// Number of open indices.
    pub open: u64,
    /// Number of closed indices.
    pub closed: u64,
    /// Number of shards of the closed indices according to their settings, replicas included.
    pub closed_shards_configured: u64,
    /// Explicit values by key, then by value.
    pub values: BTreeMap<String, BTreeMap<String, IndexTally>>,
}

/// The indices that use one value.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IndexTally {
    /// Number of open indices.
    pub open: u64,
    /// Number of closed indices.
    pub closed: u64,
    /// The first such index by name, an open one if possible.
    pub example: String,
}

/// The state of the indices in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexState {
    Open,
    Closed,
}

/// Accumulates counts over several responses.
#[derive(Default)]
pub(crate) struct Counter {
    indices: Indices,
    values: HashMap<String, HashMap<String, IndexTally>>,
    /// Names of the closed indices.
    closed_names: HashSet<String>,
}

impl Counter {
    /// Adds a response to the counts. Count closed indices first: their names must be known. After
    /// an error the counts are invalid.
    pub(crate) fn count(
        &mut self,
        body: &[u8],
        state: IndexState,
    ) -> Result<(), serde_json::Error> {
        self.count_each(body, &|_| state)
    }

    /// As [`Self::count`], of an answer for all indices; `state` tells those of each.
    pub(crate) fn count_each(
        &mut self,
        body: &[u8],
        state: &dyn Fn(&str) -> IndexState,
    ) -> Result<(), serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_slice(body);
        Answer {
            counter: self,
            state,
        }
        .deserialize(&mut deserializer)?;
        deserializer.end()
    }

    /// Returns the counts and the names of the closed indices.
    pub(crate) fn finish(mut self) -> (Indices, HashSet<String>) {
        for (key, values) in self.values {
            let mut values: Vec<(String, IndexTally)> = values.into_iter().collect();
            values.sort_by(|(a, x), (b, y)| {
                (y.open + y.closed, a)
                    .cmp(&(x.open + x.closed, b))
                    // Most frequent first; `OTHER` at the end.
                    .then_with(|| a.cmp(b))
            });
            values.sort_by_key(|(value, _)| value == OTHER);
            let mut kept: BTreeMap<String, IndexTally> = BTreeMap::new();
            for (place, (value, tally)) in values.into_iter().enumerate() {
                let value = if place < VALUES_MAX {
                    value
                } else {
                    OTHER.to_owned()
                };
                merge(kept.entry(value).or_default(), tally);
            }
            self.indices.values.insert(key, kept);
        }
        (self.indices, self.closed_names)
    }

    fn index(&mut self, name: &str, state: IndexState, settings: Vec<(String, String)>) {
        let count = |key: &str| {
            let found = settings.iter().find(|(known, _)| known == key);
            found.and_then(|(_, value)| value.parse::<u64>().ok())
        };
        match state {
            IndexState::Open => self.indices.open += 1,
            IndexState::Closed => {
                self.indices.closed += 1;
                let copies = count("index.number_of_replicas")
                    .unwrap_or(0)
                    .saturating_add(1);
                let shards = count("index.number_of_shards").unwrap_or(1);
                let configured = &mut self.indices.closed_shards_configured;
                *configured = configured.saturating_add(shards.saturating_mul(copies));
                self.closed_names.insert(name.to_owned());
            }
        }
        let (open, closed) = match state {
            IndexState::Open => (1, 0),
            IndexState::Closed => (0, 1),
        };
        for (key, value) in settings {
            if self.values.len() >= KEYS_MAX && !self.values.contains_key(&key) {
                continue;
            }
            let values = self.values.entry(key).or_default();
            let value = if values.len() < COUNTED_MAX || values.contains_key(&value) {
                value
            } else {
                OTHER.to_owned()
            };
            let tally = IndexTally {
                open,
                closed,
                example: name.to_owned(),
            };
            merge(values.entry(value).or_default(), tally);
        }
    }
}

/// Adds `other` to `into`, keeping the better example.
fn merge(into: &mut IndexTally, other: IndexTally) {
    let is_better = into.example.is_empty()
        || (into.open == 0, into.example.as_str()) > (other.open == 0, other.example.as_str());
    into.open += other.open;
    into.closed += other.closed;
    if is_better {
        into.example = other.example;
    }
}

/// Whether a key matches [`KEYS`]: the server's own filtering is not relied on.
fn is_kept(key: &str) -> bool {
    KEYS.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => key.starts_with(start),
        None => key == *pattern,
    })
}

/// Returns the value to keep: for an unknown archived setting only that it exists.
fn kept_value(key: &str, value: &SettingValue) -> String {
    match key.strip_prefix(ARCHIVED) {
        Some(key) if !is_kept(key) => NOT_KEPT.to_owned(),
        _ => value.text().chars().take(VALUE_CHARS_MAX).collect(),
    }
}

/// `{"INDEX": {"settings": {...}}, ...}`.
struct Answer<'a> {
    counter: &'a mut Counter,
    state: &'a dyn Fn(&str) -> IndexState,
}

impl<'de> DeserializeSeed<'de> for Answer<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Answer<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("settings by index")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let index: Index = map.next_value()?;
            let state = (self.state)(&name);
            self.counter.index(&name, state, index.settings.0);
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Index {
    settings: Kept,
}

/// The kept settings of one index.
struct Kept(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut kept: Vec<(String, String)> = Vec::new();
        let mut take = |key: &str, value: Option<SettingValue>| {
            if let Some(value) = value
                && is_kept(key)
                && kept.len() < KEYS_MAX
            {
                kept.push((key.to_owned(), kept_value(key, &value)));
            }
        };
        deserializer.deserialize_map(Keys::of(String::new(), &mut take))?;
        Ok(Self(kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(open: u64, closed: u64, example: &str) -> IndexTally {
        IndexTally {
            open,
            closed,
            example: example.to_owned(),
        }
    }

    #[test]
    fn values_are_counted_with_an_example() {
        let mut counter = Counter::default();
        counter
            .count(
                br#"{"old-1":{"settings":{"index.refresh_interval":"30s",
                    "index.number_of_shards":"5","index.number_of_replicas":"1"}},
                "old-2":{"settings":{"index.number_of_shards":"3","index.number_of_replicas":"0",
                    "index.uuid":"x"}}}"#,
                IndexState::Closed,
            )
            .unwrap();
        counter
            .count(
                br#"{"b":{"settings":{"index.refresh_interval":"30s"}},
                "a":{"settings":{"index.refresh_interval":"30s",
                    "index.provided_name":"hunter2","archived.index.x.token":"hunter2"}},
                "c":{"settings":{}}}"#,
                IndexState::Open,
            )
            .unwrap();
        let (indices, closed) = counter.finish();
        assert_eq!((indices.open, indices.closed), (3, 2));
        assert_eq!(indices.closed_shards_configured, 5 * 2 + 3);
        assert_eq!(closed.len(), 2);
        assert_eq!(
            indices.values["index.refresh_interval"],
            BTreeMap::from([("30s".to_owned(), tally(2, 1, "a"))])
        );
        assert_eq!(
            indices.values["index.number_of_shards"],
            BTreeMap::from([
                ("3".to_owned(), tally(0, 1, "old-2")),
                ("5".to_owned(), tally(0, 1, "old-1")),
            ])
        );
        assert_eq!(
            indices.values["archived.index.x.token"],
            BTreeMap::from([("(not kept)".to_owned(), tally(1, 0, "a"))])
        );
        assert!(!indices.values.contains_key("index.uuid"));
        assert!(!format!("{indices:?}").contains("hunter2"));
    }

    #[test]
    fn the_most_frequent_values_are_kept() {
        let mut counter = Counter::default();
        let mut bodies = Vec::new();
        for n in 0..COUNTED_MAX + 500 {
            bodies.push(format!(
                r#""i{n:06}":{{"settings":{{"index.refresh_interval":"v{n:06}"}}}}"#
            ));
        }
        for n in 0..3 {
            bodies.push(format!(
                r#""z{n}":{{"settings":{{"index.refresh_interval":"v000777"}}}}"#
            ));
        }
        let body = format!("{{{}}}", bodies.join(","));
        counter.count(body.as_bytes(), IndexState::Open).unwrap();
        let (indices, _) = counter.finish();
        let values = &indices.values["index.refresh_interval"];
        assert_eq!(values.len(), VALUES_MAX + 1);
        assert_eq!(values["v000777"], tally(4, 0, "i000777"));
        let total: u64 = values.values().map(|tally| tally.open).sum();
        assert_eq!(total, indices.open);
        // All but the most frequent one and 99 of those that occur once, by name.
        assert_eq!(values[OTHER].open, indices.open - 4 - 99);
    }

    #[test]
    fn anything_but_a_list_of_indices_is_an_error() {
        for body in ["[]", "{\"a\":1}", "{\"a\":{}}", "{", "{} x", ""] {
            let mut counter = Counter::default();
            assert!(
                counter.count(body.as_bytes(), IndexState::Open).is_err(),
                "{body}"
            );
        }
    }
}
