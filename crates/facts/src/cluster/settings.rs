use super::watermark::{Watermark, WatermarkLevel};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where the effective value of a cluster setting comes from, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingOrigin {
    /// The server's own default, or the configuration file of the node that answered where that
    /// could not be told apart.
    Default,
    /// `elasticsearch.yml` or `opensearch.yml` of the master.
    NodeFile,
    /// Set with the settings API, survives a restart of the whole cluster.
    Persistent,
    /// Set with the settings API until the whole cluster restarts. It wins over all others.
    Transient,
}

impl SettingOrigin {
    /// One word for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::NodeFile => "configuration file",
            Self::Persistent => "persistent",
            Self::Transient => "transient",
        }
    }
}

/// A value as the cluster writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// One value.
    One(String),
    /// A list.
    List(Vec<String>),
}

impl SettingValue {
    /// The value as one text; a list's members with commas between.
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
    /// Where it was set.
    pub origin: SettingOrigin,
}

/// Cluster settings by their full keys: `cluster.routing.*`, `cluster.max_shards_per_node`,
/// `cluster.info.update.interval`, `indices.recovery.*`, `indices.store.throttle.*`,
/// `indices.memory.index_buffer_size`, `discovery.zen.minimum_master_nodes`; and each of them below
/// `archived.`, where an older version left it and this one does not know it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClusterSettings {
    /// Effective values, defaults included where the server tells them.
    pub values: BTreeMap<String, Setting>,
}

impl ClusterSettings {
    /// The setting with this key.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.values.get(key)
    }

    /// The value of this key as one text.
    pub fn text(&self, key: &str) -> Option<String> {
        self.get(key).map(|setting| setting.value.text())
    }

    /// `cluster.routing.allocation.disk.include_relocations`: whether the disk decider counts what
    /// relocations will bring. Default: it does. Always true where the version has no such setting
    /// any more (from 8.0 on).
    pub fn include_relocations(&self) -> bool {
        self.text("cluster.routing.allocation.disk.include_relocations")
            .is_none_or(|text| text != "false")
    }

    /// `cluster.routing.allocation.disk.threshold_enabled`: whether the disk decider decides at
    /// all. Default: it does.
    pub fn disk_threshold_enabled(&self) -> bool {
        self.text("cluster.routing.allocation.disk.threshold_enabled")
            .is_none_or(|text| text != "false")
    }

    /// A watermark; its default where the cluster does not tell it. `None` where the value is of
    /// neither form.
    pub fn watermark(&self, level: WatermarkLevel) -> Option<Watermark> {
        match self.text(level.key()) {
            Some(text) => Watermark::parse(&text),
            None => Some(Watermark::UsedPercent(level.default_used_percent())),
        }
    }

    /// How many bytes have to stay free of a disk of this size by a watermark. From Elasticsearch
    /// 8.5 on a share is bounded by `max_headroom`, so that large disks need not leave terabytes.
    /// `None` where the watermark's value is of neither form.
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

/// What indices set of their own, summarised.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IndexSettings {
    /// How many indices were looked at, closed ones included.
    pub indices: u64,
    /// Each value that some index sets explicitly, sorted by key, then by count (largest first),
    /// then by value. Keys: `index.codec`, `index.store.type`, `index.refresh_interval`,
    /// `index.merge.*`, `index.translog.*`, `index.store.throttle.*`,
    /// `index.store.stats_refresh_interval`, `index.number_of_shards`, `index.number_of_replicas`,
    /// `index.routing.allocation.*`, `index.soft_deletes.*`, `index.blocks.*`,
    /// `index.version.created`.
    pub values: Vec<IndexSetting>,
}

impl IndexSettings {
    /// The explicit values of one key, most frequent first.
    pub fn of<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a IndexSetting> {
        self.values.iter().filter(move |value| value.key == key)
    }

    /// How many indices leave this key at its default.
    pub fn at_default(&self, key: &str) -> u64 {
        let set = self
            .of(key)
            .map(IndexSetting::indices)
            .fold(0, u64::saturating_add);
        self.indices.saturating_sub(set)
    }
}

/// One value of one index setting, and who has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexSetting {
    /// Full key: `index.merge.scheduler.max_thread_count`.
    pub key: String,
    /// Value as it is set; a list's members with commas between. Of a key with very many values
    /// only the most frequent 100 are told, the rest together as `(other)`.
    pub value: String,
    /// Open indices with it.
    pub open: u64,
    /// Closed indices with it.
    pub closed: u64,
    /// The first of them by name, an open one where there is one.
    pub example: String,
}

impl IndexSetting {
    /// Indices with it, closed ones included.
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
    fn what_is_not_told_is_the_default() {
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
    fn a_headroom_bounds_a_share_and_nothing_else() {
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
    fn indices_without_a_value_have_the_default() {
        let value = |value: &str, open, closed| IndexSetting {
            key: "index.codec".to_owned(),
            value: value.to_owned(),
            open,
            closed,
            example: "a".to_owned(),
        };
        let settings = IndexSettings {
            indices: 10,
            values: vec![value("best_compression", 3, 1), value("zstd", 1, 0)],
        };
        assert_eq!(settings.at_default("index.codec"), 5);
        assert_eq!(settings.at_default("index.store.type"), 10);
        assert_eq!(settings.of("index.codec").count(), 2);
    }
}
