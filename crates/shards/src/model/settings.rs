//! Cluster and index settings that the allocator uses, with the defaults of 7.4.0.

use std::borrow::Cow;
use std::collections::HashSet;

/// `cluster.routing.allocation.enable`, `index.routing.allocation.enable`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AllocationEnable {
    /// Nothing is allocated.
    None,
    /// Only primaries that never held data.
    NewPrimaries,
    /// Only primaries.
    Primaries,
    /// Everything.
    #[default]
    All,
}

/// `cluster.routing.rebalance.enable`, `index.routing.rebalance.enable`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RebalanceEnable {
    /// Nothing is rebalanced.
    None,
    /// Only primaries.
    Primaries,
    /// Only replicas.
    Replicas,
    /// Everything.
    #[default]
    All,
}

/// `cluster.routing.allocation.allow_rebalance`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AllowRebalance {
    /// At any time.
    Always,
    /// When all primaries are active.
    IndicesPrimariesActive,
    /// When all copies are active.
    #[default]
    IndicesAllActive,
}

/// Filters of one group: pairs of an attribute and its values, already split at commas.
///
/// An empty list means no filter. Values may contain `*` (`DiscoveryNodeFilters`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filters(pub Vec<(String, Vec<String>)>);

impl Filters {
    /// Adds a filter in the form used in settings, with comma-separated values. A filter without a value
    /// is ignored (`buildFromKeyValue`).
    pub fn add(&mut self, attribute: &str, values: &str) {
        let values = comma_separated(values);
        if !values.is_empty() {
            self.0.push((attribute.to_owned(), values));
        }
    }

    /// Adds a filter that replaces one of the same attribute once [`Filters::settle`] is called. Without a
    /// value it removes that.
    pub(crate) fn replace(&mut self, attribute: &str, values: &str) {
        let before = self.0.len();
        self.add(attribute, values);
        if self.0.len() == before {
            self.0.push((attribute.to_owned(), Vec::new()));
        }
    }

    /// Keeps the last filter of each attribute. Settings may name any number of them, so the earlier ones
    /// are not searched each time.
    pub(crate) fn settle(&mut self) {
        let mut seen: HashSet<String> = HashSet::with_capacity(self.0.len());
        let mut kept: Vec<(String, Vec<String>)> = std::mem::take(&mut self.0)
            .into_iter()
            .rev()
            .filter(|(attribute, _)| seen.insert(attribute.clone()))
            .filter(|(_, values)| !values.is_empty())
            .collect();
        kept.reverse();
        self.0 = kept;
    }

    /// Whether there are no filters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A disk watermark: a maximum used share of the disk, or a minimum of free bytes.
///
/// Only one of the two rules is active; the other is set so that it never applies
/// (`DiskThresholdSettings`).
#[derive(Debug, Clone, PartialEq)]
pub struct Watermark {
    /// The original text.
    pub raw: String,
    /// Free space below which the watermark is crossed, percent; 0 for a watermark in bytes.
    pub free_percent: f64,
    /// Free space below which the watermark is crossed, bytes; 0 for a watermark in percent.
    pub free_bytes: i64,
    /// Free space that is enough whatever the share (`max_headroom`, from 8.5 on, where servers set it
    /// themselves), bytes; `None` in 7.4.0.
    pub max_headroom_bytes: Option<i64>,
}

/// The text is not a valid watermark.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a watermark is a share like 85% or 0.85, or a size like 500mb; found {0:?}")]
pub struct WatermarkError(pub String);

impl Watermark {
    /// Parses a watermark as 7.4.0 does (`RatioValue`, then `ByteSizeValue`).
    ///
    /// # Errors
    /// If the text is neither a share between 0 and 100 % nor a size with a unit
    pub fn parse(raw: &str) -> Result<Self, WatermarkError> {
        if let Some(percent) = ratio(raw) {
            return Ok(Self::of(raw.to_owned(), 100.0 - percent, 0));
        }
        let bytes = size_bytes(raw).ok_or_else(|| WatermarkError(raw.to_owned()))?;
        Ok(Self::of(raw.to_owned(), 0.0, bytes))
    }

    fn of(raw: String, free_percent: f64, free_bytes: i64) -> Self {
        Self {
            raw,
            free_percent,
            free_bytes,
            max_headroom_bytes: None,
        }
    }

    /// Free bytes below which the watermark of a disk of this size is crossed, as servers from 8.4 on compute
    /// them (`RelativeByteSizeValue`): the used share is rounded up to a byte.
    pub(crate) fn free_of(&self, total_bytes: i64) -> i64 {
        if self.free_percent == 0.0 && ratio(&self.raw).is_none() {
            return self.free_bytes;
        }
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            reason = "as the server computes in double and casts to long"
        )]
        let used = (total_bytes as f64 * (100.0 - self.free_percent) / 100.0).ceil() as i64;
        let free = total_bytes.wrapping_sub(used);
        match self.max_headroom_bytes {
            Some(headroom) => free.min(headroom),
            None => free,
        }
    }

    /// The watermark of a disk of this size: the headroom in bytes if the share of the disk is more.
    pub(crate) fn of_disk(&self, total_bytes: i64) -> Cow<'_, Self> {
        #[expect(clippy::cast_precision_loss, reason = "shares are in double precision")]
        let by_share =
            |headroom: i64| total_bytes as f64 * self.free_percent / 100.0 > headroom as f64;
        match self
            .max_headroom_bytes
            .filter(|&headroom| by_share(headroom))
        {
            None => Cow::Borrowed(self),
            Some(headroom) => Cow::Owned(Self {
                free_percent: 0.0,
                free_bytes: headroom,
                ..self.clone()
            }),
        }
    }
}

/// A combination of three watermarks that the server rejects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WatermarkOrderError {
    /// Some are shares, others are sizes.
    #[error("disk watermarks: expected three that are all shares or all sizes, found {found}")]
    Mixed {
        /// All three, as originally written.
        found: String,
    },
    /// A watermark would be reached before a lower one.
    #[error(
        "disk watermarks: expected {lower} to be reached before {higher}, or with it; found {found}"
    )]
    Order {
        /// The one that should be reached first: `low` or `high`.
        lower: &'static str,
        /// The next one: `high` or `flood_stage`.
        higher: &'static str,
        /// All three, as originally written.
        found: String,
    },
}

/// The parts of a list in a setting; empty ones do not count.
pub(crate) fn comma_separated(text: &str) -> Vec<String> {
    let parts = text.split(',').map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

/// `RatioValue.parseRatioValue`: "85%" or "0.85", as a percentage.
fn ratio(text: &str) -> Option<f64> {
    if let Some(percent) = text.strip_suffix('%') {
        let value: f64 = percent.parse().ok()?;
        (0.0..=100.0).contains(&value).then_some(value)
    } else {
        let value: f64 = text.parse().ok()?;
        (0.0..=1.0).contains(&value).then(|| 100.0 * value.abs())
    }
}

/// `ByteSizeValue.parseBytesSizeValue`, sizes in powers of 1024.
pub(crate) fn size_bytes(text: &str) -> Option<i64> {
    const UNITS: [(&str, i64); 11] = [
        ("pb", 1 << 50),
        ("tb", 1 << 40),
        ("gb", 1 << 30),
        ("mb", 1 << 20),
        ("kb", 1 << 10),
        ("p", 1 << 50),
        ("t", 1 << 40),
        ("g", 1 << 30),
        ("m", 1 << 20),
        ("k", 1 << 10),
        ("b", 1),
    ];
    let lower = text.trim().to_lowercase();
    if lower == "0" || lower == "-1" {
        return lower.parse().ok();
    }
    let (number, factor) = UNITS
        .iter()
        .find_map(|&(unit, factor)| Some((lower.strip_suffix(unit)?.trim(), factor)))?;
    if let Ok(whole) = number.parse::<i64>() {
        return whole.checked_mul(factor).filter(|&bytes| bytes >= 0);
    }
    let part: f64 = number.parse().ok()?;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "as the server multiplies in double and casts to long"
    )]
    (part.is_finite() && part >= 0.0 && factor > 1).then_some((part * factor as f64) as i64)
}

/// Cluster settings. Comments give the defaults of 7.4.0.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// `cluster.routing.allocation.enable`: all.
    pub allocation_enable: AllocationEnable,
    /// `cluster.routing.rebalance.enable`: all.
    pub rebalance_enable: RebalanceEnable,
    /// `cluster.routing.allocation.allow_rebalance`: `indices_all_active`.
    pub allow_rebalance: AllowRebalance,
    /// `cluster.routing.allocation.cluster_concurrent_rebalance`: 2; -1 for no limit.
    pub cluster_concurrent_rebalance: i32,
    /// `cluster.routing.allocation.node_initial_primaries_recoveries`: 4.
    pub node_initial_primaries_recoveries: i32,
    /// `cluster.routing.allocation.node_initial_replicas_recoveries` of OpenSearch: 4.
    pub node_initial_replicas_recoveries: i32,
    /// `cluster.routing.allocation.node_concurrent_incoming_recoveries`: 2.
    pub node_concurrent_incoming_recoveries: i32,
    /// `cluster.routing.allocation.node_concurrent_outgoing_recoveries`: 2.
    pub node_concurrent_outgoing_recoveries: i32,
    /// `cluster.routing.allocation.same_shard.host`: false.
    pub same_shard_host: bool,
    /// `cluster.routing.allocation.total_shards_per_node`: -1, no limit.
    pub total_shards_per_node: i32,
    /// `cluster.routing.allocation.awareness.attributes`: none.
    pub awareness_attributes: Vec<String>,
    /// `cluster.routing.allocation.awareness.force.<attribute>.values`: none.
    pub awareness_forced: Vec<(String, Vec<String>)>,
    /// `cluster.routing.allocation.require.*`.
    pub require: Filters,
    /// `cluster.routing.allocation.include.*`.
    pub include: Filters,
    /// `cluster.routing.allocation.exclude.*`.
    pub exclude: Filters,
    /// `cluster.routing.allocation.disk.threshold_enabled`: true.
    pub disk_threshold_enabled: bool,
    /// `cluster.routing.allocation.disk.watermark.low`: 85 %.
    pub watermark_low: Watermark,
    /// `cluster.routing.allocation.disk.watermark.high`: 90 %.
    pub watermark_high: Watermark,
    /// `cluster.routing.allocation.disk.watermark.flood_stage`: 95 %. Not used by any decider.
    pub watermark_flood_stage: Watermark,
    /// `cluster.routing.allocation.disk.include_relocations`: true.
    pub include_relocations: bool,
    /// `cluster.routing.allocation.balance.shard`: 0.45.
    pub balance_shard: f32,
    /// `cluster.routing.allocation.balance.index`: 0.55.
    pub balance_index: f32,
    /// `cluster.routing.allocation.balance.write_load`, from 8.4 on.
    pub balance_write_load: f32,
    /// `cluster.routing.allocation.balance.disk_usage`, per byte, from 8.4 on.
    pub balance_disk_usage: f32,
    /// `cluster.routing.allocation.balance.threshold`: 1.0.
    pub balance_threshold: f32,
    /// `indices.recovery.max_bytes_per_sec`: 40 MiB; `None` for no limit. Not used by any decider.
    pub recovery_bytes_per_s: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        let share = |used: u32| Watermark::of(format!("{used}%"), 100.0 - f64::from(used), 0);
        Self {
            allocation_enable: AllocationEnable::All,
            rebalance_enable: RebalanceEnable::All,
            allow_rebalance: AllowRebalance::IndicesAllActive,
            cluster_concurrent_rebalance: 2,
            node_initial_primaries_recoveries: 4,
            node_initial_replicas_recoveries: 4,
            node_concurrent_incoming_recoveries: 2,
            node_concurrent_outgoing_recoveries: 2,
            same_shard_host: false,
            total_shards_per_node: -1,
            awareness_attributes: Vec::new(),
            awareness_forced: Vec::new(),
            require: Filters::default(),
            include: Filters::default(),
            exclude: Filters::default(),
            disk_threshold_enabled: true,
            watermark_low: share(85),
            watermark_high: share(90),
            watermark_flood_stage: share(95),
            include_relocations: true,
            balance_shard: 0.45,
            balance_index: 0.55,
            balance_write_load: 10.0,
            balance_disk_usage: 2e-11,
            balance_threshold: 1.0,
            recovery_bytes_per_s: Some(40 << 20),
        }
    }
}

impl Settings {
    /// Keeps the last of repeated filters and forced values.
    pub(crate) fn settle(&mut self) {
        for filters in [&mut self.require, &mut self.include, &mut self.exclude] {
            filters.settle();
        }
        let mut seen: HashSet<String> = HashSet::new();
        self.awareness_forced.reverse();
        self.awareness_forced
            .retain(|(attribute, _)| seen.insert(attribute.clone()));
        self.awareness_forced.reverse();
    }

    /// Checks the three disk watermarks together as the server does: all shares or all sizes, reached in
    /// the order low, high, flood stage (`DiskThresholdSettings.doValidate`).
    ///
    /// # Errors
    /// If the server would reject them
    pub(crate) fn check_watermarks(&self) -> Result<(), WatermarkOrderError> {
        let marks = [
            ("low", &self.watermark_low),
            ("high", &self.watermark_high),
            ("flood_stage", &self.watermark_flood_stage),
        ];
        let found = || {
            let words = marks.map(|(name, mark)| format!("{name} {}", mark.raw));
            words.join(", ")
        };
        let in_order = |fine: [bool; 2]| match fine.iter().position(|&fine| !fine) {
            None => Ok(()),
            Some(at) => Err(WatermarkOrderError::Order {
                lower: marks[at].0,
                higher: marks[at + 1].0,
                found: found(),
            }),
        };
        let shares = marks.map(|(_, mark)| ratio(&mark.raw));
        if let [Some(low), Some(high), Some(flood_stage)] = shares {
            return in_order([low <= high, high <= flood_stage]);
        }
        // "0" is valid both as a share and as a size.
        let sizes = marks.map(|(_, mark)| size_bytes(&mark.raw));
        if let [Some(low), Some(high), Some(flood_stage)] = sizes {
            return in_order([low >= high, high >= flood_stage]);
        }
        Err(WatermarkOrderError::Mixed { found: found() })
    }
}

/// Index settings. Comments give the defaults of 7.4.0.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexSettings {
    /// `index.priority`: 1.
    pub priority: i32,
    /// `index.creation_date`, milliseconds since 1970; -1 if missing.
    pub creation_date: i64,
    /// `index.allocation.max_retries`: 5.
    pub max_retries: u32,
    /// `index.routing.allocation.enable`: unset, so the cluster's setting applies.
    pub allocation_enable: Option<AllocationEnable>,
    /// `index.routing.rebalance.enable`: unset, so the cluster's setting applies.
    pub rebalance_enable: Option<RebalanceEnable>,
    /// `index.routing.allocation.total_shards_per_node`: -1, no limit.
    pub total_shards_per_node: i32,
    /// `index.routing.allocation.require.*`.
    pub require: Filters,
    /// `index.routing.allocation.include.*`.
    pub include: Filters,
    /// `index.routing.allocation.exclude.*`.
    pub exclude: Filters,
    /// `index.routing.allocation.initial_recovery.*`: set by a shrink.
    pub initial_recovery: Filters,
    /// `index.routing.allocation.include._tier_preference`: data tiers, the most preferred first. Servers
    /// from 7.10 on set it themselves; 7.4.0 has no tiers.
    pub tier_preference: Vec<String>,
    /// `index.store.snapshot.partial`: a partially mounted snapshot of Elasticsearch.
    pub partial_snapshot: bool,
    /// `index.store.type` is `remote_snapshot`: a mounted snapshot of OpenSearch.
    pub remote_snapshot: bool,
    /// `index.unassigned.node_left.delayed_timeout`: one minute, nanoseconds.
    pub delayed_timeout_nanos: i64,
    /// `index.auto_expand_replicas`: off; otherwise minimum and maximum, with `u32::MAX` for "all".
    pub auto_expand_replicas: Option<(u32, u32)>,
}

impl Default for IndexSettings {
    fn default() -> Self {
        Self {
            priority: 1,
            creation_date: -1,
            max_retries: 5,
            allocation_enable: None,
            rebalance_enable: None,
            total_shards_per_node: -1,
            require: Filters::default(),
            include: Filters::default(),
            exclude: Filters::default(),
            initial_recovery: Filters::default(),
            tier_preference: Vec::new(),
            partial_snapshot: false,
            remote_snapshot: false,
            delayed_timeout_nanos: 60_000_000_000,
            auto_expand_replicas: None,
        }
    }
}

impl IndexSettings {
    /// Keeps the last of repeated filters.
    pub(crate) fn settle(&mut self) {
        let groups = [&mut self.require, &mut self.include, &mut self.exclude];
        for filters in groups.into_iter().chain([&mut self.initial_recovery]) {
            filters.settle();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Filters, Settings, Watermark};

    #[test]
    fn watermarks_are_shares_or_sizes() {
        for (raw, percent, bytes) in [
            ("85%", 15.0, 0),
            ("0.85", 15.0, 0),
            ("0", 100.0, 0),
            ("1", 0.0, 0),
            ("500mb", 0.0, 500 << 20),
            ("1.5gb", 0.0, 3 << 29),
            ("20 GB", 0.0, 20 << 30),
            ("7k", 0.0, 7 << 10),
            ("12b", 0.0, 12),
        ] {
            let mark = Watermark::parse(raw).unwrap();
            assert_eq!(mark.raw, raw);
            assert!((mark.free_percent - percent).abs() < 1e-9, "{raw}");
            assert_eq!(mark.free_bytes, bytes, "{raw}");
        }
        for wrong in [
            "",
            "%",
            "101%",
            "-1%",
            "85",
            "1.5b",
            "-5mb",
            "lots",
            "9999999999pb",
        ] {
            let error = Watermark::parse(wrong).unwrap_err();
            assert!(error.to_string().contains(&format!("{wrong:?}")), "{wrong}");
        }
    }

    #[test]
    fn headroom_limits_the_share_of_a_large_disk() {
        const GIB: i64 = 1 << 30;
        let mark = Watermark {
            max_headroom_bytes: Some(200 * GIB),
            ..Watermark::parse("85%").unwrap()
        };
        // 15 % of 1,000 GiB are 150.
        assert_eq!(*mark.of_disk(1_000 * GIB), mark);
        let large = mark.of_disk(10_000 * GIB).into_owned();
        assert_eq!((large.free_percent, large.free_bytes), (0.0, 200 * GIB));
        let without = Watermark::parse("85%").unwrap();
        assert_eq!(*without.of_disk(i64::MAX), without);
    }

    #[test]
    fn watermarks_are_reached_in_their_order() {
        let check = |low: &str, high: &str, flood: &str| {
            let settings = Settings {
                watermark_low: Watermark::parse(low).unwrap(),
                watermark_high: Watermark::parse(high).unwrap(),
                watermark_flood_stage: Watermark::parse(flood).unwrap(),
                ..Settings::default()
            };
            settings
                .check_watermarks()
                .map_err(|error| error.to_string())
        };
        for (low, high, flood) in [
            ("85%", "90%", "95%"),
            ("0.85", "90%", "0.95"),
            ("90%", "90%", "90%"),
            ("100gb", "50gb", "10gb"),
            ("1tb", "1024gb", "0"),
            // All are shares, 0 of the disk.
            ("0", "0", "0"),
        ] {
            assert_eq!(check(low, high, flood), Ok(()), "{low} {high} {flood}");
        }
        for (low, high, flood, expected) in [
            (
                "95%",
                "90%",
                "97%",
                "expected low to be reached before high,",
            ),
            (
                "85%",
                "96%",
                "95%",
                "expected high to be reached before flood_stage,",
            ),
            (
                "10gb",
                "50gb",
                "5gb",
                "expected low to be reached before high,",
            ),
            (
                "100gb",
                "5gb",
                "10gb",
                "expected high to be reached before flood_stage,",
            ),
            ("85%", "90%", "10gb", "all shares or all sizes"),
            ("85%", "50gb", "95%", "all shares or all sizes"),
        ] {
            let error = check(low, high, flood).unwrap_err();
            assert!(error.contains(expected), "{error}");
            let found = format!("found low {low}, high {high}, flood_stage {flood}");
            assert!(error.ends_with(&found), "{error}");
        }
    }

    #[test]
    fn the_last_filter_of_an_attribute_counts() {
        let mut filters = Filters::default();
        for (attribute, values) in [("a", "1"), ("b", "2"), ("c", "3"), ("a", "4"), ("b", "")] {
            filters.replace(attribute, values);
        }
        filters.settle();
        let pair = |attribute: &str, value: &str| (attribute.to_owned(), vec![value.to_owned()]);
        assert_eq!(filters.0, [pair("c", "3"), pair("a", "4")]);
    }

    #[test]
    fn filters_are_split_at_commas() {
        let mut filters = Filters::default();
        filters.add("rack", " a ,,b");
        filters.add("zone", " , ");
        assert_eq!(
            filters.0,
            [("rack".to_owned(), vec!["a".to_owned(), "b".to_owned()])]
        );
        assert!(!filters.is_empty());
    }
}
