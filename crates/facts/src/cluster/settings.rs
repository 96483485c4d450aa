use super::watermark::{Watermark, WatermarkLevel};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Source of the effective value of a cluster setting, lowest precedence first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingOrigin {
    /// The server's built-in default, or the configuration file of the node that answered where the
    /// two cannot be told apart.
    Default,
    /// `elasticsearch.yml` or `opensearch.yml` of the master.
    NodeFile,
    /// Set with the settings API; survives a full cluster restart.
    Persistent,
    /// Set with the settings API until the next full cluster restart. Overrides all others.
    Transient,
}

impl SettingOrigin {
    /// Returns a short label for display.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::NodeFile => "configuration file",
            Self::Persistent => "persistent",
            Self::Transient => "transient",
        }
    }
}

/// A setting value as the cluster formats it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// One value.
    One(String),
    /// A list.
    List(Vec<String>),
}

impl SettingValue {
    /// Returns the value as text; list members are joined with commas.
    pub fn text(&self) -> String {
        match self {
            Self::One(text) => text.clone(),
            Self::List(texts) => texts.join(","),
        }
    }
}

/// The effective value of a cluster setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The value.
    pub value: SettingValue,
    /// Where it is set.
    pub origin: SettingOrigin,
}

/// Cluster settings by full key: `cluster.routing.*`, `cluster.max_shards_per_node`,
/// `cluster.info.update.interval`, `indices.recovery.*`, `indices.store.throttle.*`,
/// `indices.memory.index_buffer_size`, `discovery.zen.minimum_master_nodes`; and each of these
/// below `archived.`, where an upgrade puts settings that the new version no longer supports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClusterSettings {
    /// Effective values, including defaults if the server reports them.
    pub values: BTreeMap<String, Setting>,
}

impl ClusterSettings {
    /// Returns the setting with this key.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.values.get(key)
    }

    /// Returns the value of this key as text.
    pub fn text(&self, key: &str) -> Option<String> {
        self.get(key).map(|setting| setting.value.text())
    }

    /// `cluster.routing.allocation.disk.include_relocations`: whether the disk decider counts
    /// incoming relocations. Defaults to true. Always true for versions that no longer have the
    /// setting (8.0 and later).
    pub fn include_relocations(&self) -> bool {
        self.is_not_false("cluster.routing.allocation.disk.include_relocations")
    }

    /// `cluster.routing.allocation.disk.threshold_enabled`: whether the disk decider is enabled.
    /// Defaults to true.
    pub fn disk_threshold_enabled(&self) -> bool {
        self.is_not_false("cluster.routing.allocation.disk.threshold_enabled")
    }

    fn is_not_false(&self, key: &str) -> bool {
        self.text(key).is_none_or(|text| text != "false")
    }

    /// Returns a watermark, or its default if the cluster does not report it. `None` if the value
    /// is neither a percentage nor a size.
    pub fn watermark(&self, level: WatermarkLevel) -> Option<Watermark> {
        match self.text(level.key()) {
            Some(text) => Watermark::parse(&text),
            None => Some(Watermark::UsedPercent(level.default_used_percent())),
        }
    }

    /// Returns the number of bytes that a watermark requires to stay free on a disk of this size.
    /// Since Elasticsearch 8.5 a percentage is capped by `max_headroom`, so that large disks need
    /// not keep terabytes free. `None` if the watermark is neither a percentage nor a size.
    pub fn free_bytes_min(&self, level: WatermarkLevel, total_bytes: u64) -> Option<u64> {
        let watermark = self.watermark(level)?;
        let free_bytes = watermark.free_bytes_min(total_bytes);
        let headroom = self
            .text(&format!("{}.max_headroom", level.key()))
            .and_then(|text| Watermark::parse(&text));
        Some(match (watermark, headroom) {
            (Watermark::UsedPercent(_), Some(Watermark::FreeBytes(most))) => free_bytes.min(most),
            _ => free_bytes,
        })
    }
}

/// Summary of explicit index settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IndexSettings {
    /// Number of indices examined, closed ones included.
    pub indices: u64,
    /// Each value that some index sets explicitly, sorted by key, then by count (descending), then
    /// by value. Keys: `index.store.type`, `index.refresh_interval`, `index.merge.*`, `index.translog.*`,
    /// `index.store.throttle.*`, `index.store.stats_refresh_interval`, `index.number_of_shards`,
    /// `index.number_of_replicas`, `index.routing.allocation.*`, `index.soft_deletes.*`,
    /// `index.blocks.*`, `index.version.created`.
    pub values: Vec<IndexSetting>,
}

impl IndexSettings {
    /// Iterates over the explicit values of one key, most frequent first.
    pub fn of<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a IndexSetting> {
        self.values.iter().filter(move |value| value.key == key)
    }

    /// Returns how many indices leave this key at its default.
    pub fn at_default(&self, key: &str) -> u64 {
        let set = self
            .of(key)
            .map(IndexSetting::indices)
            .fold(0, u64::saturating_add);
        self.indices.saturating_sub(set)
    }
}

/// One value of one index setting, and the indices that use it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexSetting {
    /// Full key: `index.merge.scheduler.max_thread_count`.
    pub key: String,
    /// The value; list members are joined with commas. For keys with very many values only the 100
    /// most frequent are listed, the rest are combined as `(other)`.
    pub value: String,
    /// Number of open indices with this value.
    pub open: u64,
    /// Number of closed indices with this value.
    pub closed: u64,
    /// The first such index by name, an open one if possible.
    pub example: String,
}

impl IndexSetting {
    /// Returns the number of indices with this value, closed ones included.
    pub fn indices(&self) -> u64 {
        self.open.saturating_add(self.closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> ClusterSettings {
        let setting = |value: &str| Setting {
            value: SettingValue::One(value.to_owned()),
            origin: SettingOrigin::Transient,
        };
        ClusterSettings {
            values: pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), setting(value)))
                .collect(),
        }
    }

    #[test]
    fn unreported_settings_have_their_default() {
        let none = settings(&[]);
        assert!(none.include_relocations());
        assert!(none.disk_threshold_enabled());
        assert_eq!(
            none.watermark(WatermarkLevel::High),
            Some(Watermark::UsedPercent(90.0))
        );
        let set = settings(&[
            (
                "cluster.routing.allocation.disk.include_relocations",
                "false",
            ),
            ("cluster.routing.allocation.disk.watermark.high", "10gb"),
            ("cluster.routing.allocation.disk.watermark.low", "?"),
        ]);
        assert!(!set.include_relocations());
        assert_eq!(
            set.watermark(WatermarkLevel::High),
            Some(Watermark::FreeBytes(10 << 30))
        );
        assert_eq!(set.watermark(WatermarkLevel::Low), None);
    }

    #[test]
    fn headroom_caps_percentages_only() {
        let low = WatermarkLevel::Low;
        let total_bytes = 10 << 40;
        let free = |pairs: &[(&str, &str)]| settings(pairs).free_bytes_min(low, total_bytes);
        let headroom = "cluster.routing.allocation.disk.watermark.low.max_headroom";
        assert_eq!(free(&[(headroom, "200GB")]), Some(200 << 30));
        assert_eq!(free(&[(headroom, "-1")]), Some(total_bytes / 100 * 15 + 9));
        assert_eq!(
            free(&[(headroom, "200GB"), (low.key(), "300gb")]),
            Some(300 << 30)
        );
        assert_eq!(free(&[(low.key(), "x")]), None);
    }

    #[test]
    fn indices_without_a_value_use_the_default() {
        let value = |value: &str, open, closed| IndexSetting {
            key: "index.refresh_interval".to_owned(),
            value: value.to_owned(),
            open,
            closed,
            example: "a".to_owned(),
        };
        let settings = IndexSettings {
            indices: 10,
            values: vec![value("30s", 3, 1), value("-1", 1, 0)],
        };
        assert_eq!(settings.at_default("index.refresh_interval"), 5);
        assert_eq!(settings.at_default("index.store.type"), 10);
        assert_eq!(settings.of("index.refresh_interval").count(), 2);
    }
}
