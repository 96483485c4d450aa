//! `GET /_cluster/settings`, and the node settings in `_nodes`: keys, of which only those that affect
//! shards and disks are kept.

use facts::cluster::SettingValue;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Prefixes of the keys that are kept. Credentials are under other keys (`xpack.*`, `plugins.*`,
/// `cluster.remote.*`, `s3.*`).
const KEPT: &[&str] = &[
    "cluster.info.update.",
    "cluster.max_shards_per_node",
    "cluster.routing.",
    "discovery.zen.minimum_master_nodes",
    "indices.memory.index_buffer_size",
    "indices.recovery.",
    "indices.store.throttle.",
];

/// More keys than any server has under [`KEPT`].
const KEYS_MAX: usize = 2000;
/// Maximum length of a value, in characters.
const VALUE_CHARS_MAX: usize = 4096;
/// Maximum number of list members kept.
const LIST_MAX: usize = 1000;

/// Prefix of settings from an older version that this version does not support. Their presence
/// matters; their values are kept only if the rest of the key matches [`KEPT`].
pub(crate) const ARCHIVED: &str = "archived.";
/// Replaces a value that is not kept.
pub(crate) const NOT_KEPT: &str = "(not kept)";

fn is_kept(key: &str) -> bool {
    KEPT.iter().any(|start| key.starts_with(start))
}

/// Settings by full key, after filtering.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct SettingsByKey(pub BTreeMap<String, SettingValue>);

/// The cluster's settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Settings that last until the next full cluster restart.
    pub transient: SettingsByKey,
    /// Settings that survive restarts.
    pub persistent: SettingsByKey,
    /// All other settings: from the configuration file of the node that responded, and defaults.
    pub defaults: SettingsByKey,
}

impl Settings {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body)
    }
}

impl<'de> Deserialize<'de> for SettingsByKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut kept = BTreeMap::new();
        let mut take = |key: &str, value: Option<SettingValue>| {
            let archived = key.strip_prefix(ARCHIVED);
            if kept.len() >= KEYS_MAX {
            } else if archived.is_some_and(|key| !is_kept(key)) {
                kept.insert(key.to_owned(), SettingValue::One(NOT_KEPT.to_owned()));
            } else if let (true, Some(value)) = (is_kept(archived.unwrap_or(key)), value) {
                kept.insert(key.to_owned(), value);
            }
        };
        deserializer.deserialize_map(Keys::of(String::new(), &mut take))?;
        Ok(Self(kept))
    }
}

/// Reads settings by their full keys, whether the server was asked for flat ones or not: a key within
/// an object is appended to the object's own, after a dot. A setting that is null has no value.
pub(super) struct Keys<'a> {
    key: String,
    take: &'a mut dyn FnMut(&str, Option<SettingValue>),
}

impl<'a> Keys<'a> {
    /// What is read lies below `key`; `take` gets each setting.
    pub(super) fn of(key: String, take: &'a mut dyn FnMut(&str, Option<SettingValue>)) -> Self {
        Self { key, take }
    }

    fn one(self, text: &str) {
        (self.take)(&self.key, Some(SettingValue::One(cut(text))));
    }
}

impl<'de> DeserializeSeed<'de> for Keys<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("settings by their keys")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.one(text);
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.one(&value.to_string());
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.one(&value.to_string());
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.one(&value.to_string());
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.one(&value.to_string());
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        (self.take)(&self.key, None);
        Ok(())
    }

    /// A list of plain values; what else is in it is left out.
    fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut list = Vec::new();
        let mut add = |key: &str, member: Option<SettingValue>| {
            if let (true, Some(SettingValue::One(text))) = (key.is_empty(), member)
                && list.len() < LIST_MAX
            {
                list.push(text);
            }
        };
        while members
            .next_element_seed(Keys::of(String::new(), &mut add))?
            .is_some()
        {}
        (self.take)(&self.key, Some(SettingValue::List(list)));
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let key = match self.key.as_str() {
                "" => key.into_owned(),
                above => format!("{above}.{key}"),
            };
            map.next_value_seed(Keys::of(key, self.take))?;
        }
        Ok(())
    }
}

fn cut(text: &str) -> String {
    text.chars().take(VALUE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_keys_are_kept() {
        let settings = Settings::parse(
            br#"{"persistent":{"xpack.notification.slack.account.a.url":"https://hunter2",
                "cluster.remote.a.proxy":"hunter2","cluster.routing.allocation.enable":"none"},
            "transient":{"archived.xpack.token":"hunter2",
                "archived.indices.store.throttle.type":"merge"},"defaults":{"indices.recovery.max_bytes_per_sec":"40mb",
                "cluster.routing.allocation.awareness.attributes":["rack","zone"],
                "cluster.max_shards_per_node":1000,"cluster.routing.x":null,
                "cluster.routing.y":[{"a":"hunter2"}],"cluster.initial_master_nodes":["h"],
                "cluster":{"routing":{"z":{"a":"1"}},"remote":{"b":"hunter2"}}}}"#,
        )
        .unwrap();
        let one = |text: &str| SettingValue::One(text.to_owned());
        let pairs = |map: &SettingsByKey| map.0.clone().into_iter().collect::<Vec<_>>();
        assert_eq!(
            pairs(&settings.persistent),
            [("cluster.routing.allocation.enable".to_owned(), one("none"))]
        );
        assert_eq!(
            pairs(&settings.transient),
            [
                (
                    "archived.indices.store.throttle.type".to_owned(),
                    one("merge")
                ),
                ("archived.xpack.token".to_owned(), one("(not kept)")),
            ]
        );
        assert_eq!(
            pairs(&settings.defaults),
            [
                ("cluster.max_shards_per_node".to_owned(), one("1000")),
                (
                    "cluster.routing.allocation.awareness.attributes".to_owned(),
                    SettingValue::List(vec!["rack".to_owned(), "zone".to_owned()])
                ),
                (
                    "cluster.routing.y".to_owned(),
                    SettingValue::List(Vec::new())
                ),
                ("cluster.routing.z.a".to_owned(), one("1")),
                ("indices.recovery.max_bytes_per_sec".to_owned(), one("40mb")),
            ]
        );
        assert!(!format!("{settings:?}").contains("hunter2"));
    }

    #[test]
    fn hostile_lists_and_values_are_bounded() {
        let list = vec!["\"x\""; LIST_MAX * 3].join(",");
        let text = "y".repeat(VALUE_CHARS_MAX * 3);
        let body = format!(
            r#"{{"defaults":{{"cluster.routing.a":[{list}],"cluster.routing.b":"{text}"}}}}"#
        );
        let settings = Settings::parse(body.as_bytes()).unwrap();
        let lengths: Vec<usize> = settings
            .defaults
            .0
            .values()
            .map(|value| match value {
                SettingValue::One(text) => text.len(),
                SettingValue::List(list) => list.len(),
            })
            .collect();
        assert_eq!(lengths, [LIST_MAX, VALUE_CHARS_MAX]);
    }
}
