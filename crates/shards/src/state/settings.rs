//! Maps settings by name to the settings the allocator uses.

use super::answer;
use super::error::{SettingError, StateError};
use super::json::{self, Fields, Flatten, Sink, Source, once, skip};
use crate::model::{
    AllocationEnable, AllowRebalance, IndexSettings, RebalanceEnable, Settings, Watermark,
    comma_separated, size_bytes,
};
use serde::de::MapAccess;
use std::collections::BTreeMap;
use std::str::FromStr;

const PREFIX: &str = "cluster.routing.";
/// Limit on what a node sends and receives for recoveries; no decider uses it.
const RECOVERY_RATE: &str = "indices.recovery.max_bytes_per_sec";
const ALLOCATION: &str = "cluster.routing.allocation.";
/// Default for incoming and outgoing recoveries if they are not set individually.
const CONCURRENT_RECOVERIES: &str = "cluster.routing.allocation.node_concurrent_recoveries";

/// Most awareness attributes that are read; clusters have one to three.
const AWARENESS_MAX: usize = 1_000;

/// Common prefix of the disk watermark settings.
const WATERMARK: &str = "cluster.routing.allocation.disk.watermark.";

/// Whether a setting is one of the three disk watermarks.
pub fn is_watermark(name: &str) -> bool {
    let level = name.strip_prefix(WATERMARK);
    matches!(level, Some("low" | "high" | "flood_stage"))
}

/// Cluster settings by name that concern allocation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClusterSettings {
    defaults: BTreeMap<String, String>,
    set: BTreeMap<String, String>,
}

impl ClusterSettings {
    /// Reads `_cluster/settings`, flat or nested, with or without defaults. Transient settings take
    /// precedence over persistent ones, and both over defaults.
    ///
    /// # Errors
    /// If the input is not JSON, or does not have that structure
    pub fn read(source: Source<'_>) -> Result<Self, StateError> {
        let mut layers = Layers::default();
        answer::object(source, "_cluster/settings", &mut layers)?;
        if !layers.seen.contains(&true) {
            return Err(StateError::Contradiction(
                "_cluster/settings: expected \"persistent\", \"transient\" or \"defaults\", found none"
                    .to_owned(),
            ));
        }
        let mut set = layers.persistent.0;
        set.extend(layers.transient.0);
        Ok(Self {
            defaults: layers.defaults.0,
            set,
        })
    }

    /// Sets a setting, as `PUT _cluster/settings` does. An empty value or `null` resets it.
    pub fn set(&mut self, name: &str, value: &str) {
        if value.is_empty() || value == "null" {
            self.set.remove(name);
        } else {
            self.set.insert(name.to_owned(), value.to_owned());
        }
    }

    /// Takes a default of a later version, unless the server told its own.
    pub(super) fn assume(&mut self, name: &str, value: &str) {
        let known = self.defaults.entry(name.to_owned());
        known.or_insert_with(|| value.to_owned());
    }

    /// Returns the allocator's settings, and warnings about settings that the model does not know.
    ///
    /// # Errors
    /// If a value is not valid for its setting
    pub fn settings(&self) -> Result<(Settings, Vec<String>), SettingError> {
        let mut settings = Settings::default();
        for (name, value) in &self.defaults {
            apply(&mut settings, name, value)?;
        }
        // Defaults list the resolved values for incoming and outgoing; an explicit setting takes
        // precedence.
        if let Some(value) = self.set.get(CONCURRENT_RECOVERIES) {
            apply(&mut settings, CONCURRENT_RECOVERIES, value)?;
        }
        let mut warnings = Vec::new();
        for (name, value) in &self.set {
            if name == CONCURRENT_RECOVERIES {
                continue;
            }
            if !apply(&mut settings, name, value)? {
                warnings.push(format!(
                    "{}: {} is set, which the model does not know",
                    json::shown(name),
                    json::shown(value)
                ));
            }
        }
        settings.settle();
        // Each is asked about every copy.
        if settings.awareness_attributes.len() > AWARENESS_MAX {
            return Err(error(
                "cluster.routing.allocation.awareness.attributes",
                &units::count(settings.awareness_attributes.len() as u64, "attribute"),
                "at most 1,000 attributes",
            ));
        }
        // BalancedShardsAllocator.WeightFunction divides by the sum.
        if settings.balance_shard + settings.balance_index <= 0.0 {
            return Err(error(
                "cluster.routing.allocation.balance.index",
                "0 beside a balance.shard of 0",
                "one of the two above 0",
            ));
        }
        // No cluster can have such watermarks, but some of them may be set in the nodes' configuration
        // files and be missing here.
        if let Err(error) = settings.check_watermarks() {
            warnings.push(format!(
                "{error}. The others may be in elasticsearch.yml, which the answer of \
                 _cluster/settings?include_defaults=true tells"
            ));
        }
        Ok((settings, warnings))
    }
}

#[derive(Default)]
struct Layers {
    /// Which sections were present: persistent, transient, defaults.
    seen: [bool; 3],
    persistent: Wanted,
    transient: Wanted,
    defaults: Wanted,
}

impl<'de> Fields<'de> for Layers {
    const WHAT: &'static str = "an object with persistent and transient settings";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        let (sink, at) = match name {
            "persistent" => (&mut self.persistent, 0),
            "transient" => (&mut self.transient, 1),
            "defaults" => (&mut self.defaults, 2),
            _ => return skip(map),
        };
        once(&mut self.seen[at], name)?;
        map.next_value_seed(Flatten {
            name: &mut String::new(),
            sink,
        })
    }
}

#[derive(Default)]
struct Wanted(BTreeMap<String, String>);

impl Sink for Wanted {
    fn wants(&self, prefix: &str) -> bool {
        PREFIX.starts_with(prefix)
            || prefix.starts_with(PREFIX)
            || RECOVERY_RATE.starts_with(prefix.trim_end_matches('.'))
    }
    fn put(&mut self, name: &str, value: &str) {
        if name.starts_with(PREFIX) || name == RECOVERY_RATE {
            self.0.insert(name.to_owned(), value.to_owned());
        }
    }
}

/// Applies a setting. Returns whether the model knows it.
fn apply(settings: &mut Settings, name: &str, value: &str) -> Result<bool, SettingError> {
    let integer = || number::<i32>(name, value, "a whole number");
    let boolean = || boolean(name, value);
    let share = || {
        let number = number::<f32>(name, value, "a number, at least 0")?;
        if number.is_finite() && number >= 0.0 {
            Ok(number)
        } else {
            Err(error(name, value, "a number, at least 0"))
        }
    };
    let watermark = || {
        Watermark::parse(value).map_err(|_| {
            error(
                name,
                value,
                "a share like 85% or 0.85, or a size like 500mb",
            )
        })
    };
    let headroom = || {
        let bytes =
            size_bytes(value).ok_or_else(|| error(name, value, "a size like 200gb, or -1"))?;
        Ok(Some(bytes).filter(|&bytes| bytes >= 0))
    };
    if name == RECOVERY_RATE {
        let rate = size_bytes(value)
            .ok_or_else(|| error(name, value, "a size for each second like 40mb"))?;
        settings.recovery_bytes_per_s = u64::try_from(rate).ok().filter(|&rate| rate > 0);
        return Ok(true);
    }
    match name.strip_prefix(PREFIX).unwrap_or_default() {
        "allocation.enable" => settings.allocation_enable = allocation_enable(name, value)?,
        "rebalance.enable" => settings.rebalance_enable = rebalance_enable(name, value)?,
        "allocation.allow_rebalance" => settings.allow_rebalance = allow_rebalance(name, value)?,
        "allocation.cluster_concurrent_rebalance" => {
            settings.cluster_concurrent_rebalance = integer()?;
        }
        "allocation.node_initial_replicas_recoveries" => {
            settings.node_initial_replicas_recoveries = integer()?;
        }
        "allocation.node_initial_primaries_recoveries" => {
            settings.node_initial_primaries_recoveries = integer()?;
        }
        "allocation.node_concurrent_incoming_recoveries" => {
            settings.node_concurrent_incoming_recoveries = integer()?;
        }
        "allocation.node_concurrent_outgoing_recoveries" => {
            settings.node_concurrent_outgoing_recoveries = integer()?;
        }
        "allocation.node_concurrent_recoveries" => {
            settings.node_concurrent_incoming_recoveries = integer()?;
            settings.node_concurrent_outgoing_recoveries = integer()?;
        }
        "allocation.same_shard.host" => settings.same_shard_host = boolean()?,
        "allocation.total_shards_per_node" => settings.total_shards_per_node = integer()?,
        "allocation.awareness.attributes" => settings.awareness_attributes = comma_separated(value),
        "allocation.disk.threshold_enabled" => settings.disk_threshold_enabled = boolean()?,
        "allocation.disk.watermark.low" => settings.watermark_low = watermark()?,
        "allocation.disk.watermark.high" => settings.watermark_high = watermark()?,
        "allocation.disk.watermark.flood_stage" => settings.watermark_flood_stage = watermark()?,
        "allocation.disk.watermark.low.max_headroom" => {
            settings.watermark_low.max_headroom_bytes = headroom()?;
        }
        "allocation.disk.watermark.high.max_headroom" => {
            settings.watermark_high.max_headroom_bytes = headroom()?;
        }
        "allocation.disk.watermark.flood_stage.max_headroom" => {
            settings.watermark_flood_stage.max_headroom_bytes = headroom()?;
        }
        "allocation.disk.include_relocations" => settings.include_relocations = boolean()?,
        "allocation.balance.shard" => settings.balance_shard = share()?,
        "allocation.balance.index" => settings.balance_index = share()?,
        "allocation.balance.write_load" => settings.balance_write_load = share()?,
        "allocation.balance.disk_usage" => settings.balance_disk_usage = share()?,
        "allocation.balance.threshold" => settings.balance_threshold = share()?,
        _ => return Ok(groups(settings, name, value)),
    }
    Ok(true)
}

/// Applies settings whose names contain an attribute.
fn groups(settings: &mut Settings, name: &str, value: &str) -> bool {
    let Some(rest) = name.strip_prefix(ALLOCATION) else {
        return false;
    };
    if let Some(attribute) = rest
        .strip_prefix("awareness.force.")
        .and_then(|rest| rest.strip_suffix(".values"))
    {
        let forced = &mut settings.awareness_forced;
        forced.push((attribute.to_owned(), comma_separated(value)));
        return true;
    }
    let group = [
        ("require.", &mut settings.require),
        ("include.", &mut settings.include),
        ("exclude.", &mut settings.exclude),
    ];
    for (prefix, filters) in group {
        if let Some(attribute) = rest.strip_prefix(prefix) {
            filters.replace(attribute, value);
            return true;
        }
    }
    // Known not to affect where copies go.
    rest.starts_with("disk.reroute_interval")
        || rest.starts_with("shard_state.")
        || rest == "enforce_default_tier_preference"
}

/// Collects the settings of an index; names include the prefix `index.`.
#[derive(Debug, Default)]
pub struct IndexSink {
    /// `index.number_of_shards`.
    pub shards: Option<u32>,
    /// `index.number_of_replicas`.
    pub replicas: Option<u32>,
    /// `index.uuid`.
    pub uuid: String,
    /// Name or uuid of the index from which this one is resized.
    pub resize_source: Option<String>,
    /// The remaining settings.
    pub settings: IndexSettings,
    /// The first invalid value.
    pub error: Option<SettingError>,
}

impl Sink for IndexSink {
    fn wants(&self, prefix: &str) -> bool {
        let Some(rest) = prefix.strip_prefix("index.") else {
            return false;
        };
        // Skip analyzers, which may contain megabytes of synonyms.
        let first = rest.split('.').next().unwrap_or_default();
        matches!(
            first,
            "" | "number_of_shards"
                | "number_of_replicas"
                | "uuid"
                | "priority"
                | "creation_date"
                | "allocation"
                | "routing"
                | "unassigned"
                | "auto_expand_replicas"
                | "resize"
                | "shrink"
                | "store"
        )
    }

    fn put(&mut self, name: &str, value: &str) {
        if let Err(error) = self.apply(name, value) {
            self.error.get_or_insert(error);
        }
    }
}

impl IndexSink {
    /// Changes one setting of an existing index, as `PUT index/_settings` does; an empty value resets it.
    /// Returns the number of replicas if that is what was set.
    ///
    /// # Errors
    /// If the value is not valid, or the setting cannot be changed or is not known to the model
    pub fn change(
        settings: &mut IndexSettings,
        name: &str,
        value: &str,
    ) -> Result<Option<u32>, SettingError> {
        const FIXED: [&str; 4] = ["number_of_shards", "uuid", "creation_date", "resize"];
        let rest = name.strip_prefix("index.").unwrap_or_default();
        let is_fixed = FIXED.iter().any(|fixed| rest.starts_with(fixed));
        let mut sink = Self::default();
        if is_fixed || rest.is_empty() || !sink.wants(name) {
            return Err(error(
                name,
                value,
                "a setting that can be changed and that decides where copies go",
            ));
        }
        let (default, is_reset) = (
            IndexSettings::default(),
            value.is_empty() || value == "null",
        );
        sink.settings = settings.clone();
        match rest {
            "number_of_replicas" if is_reset => sink.replicas = Some(1),
            "priority" if is_reset => sink.settings.priority = default.priority,
            "allocation.max_retries" if is_reset => sink.settings.max_retries = default.max_retries,
            "routing.allocation.enable" if is_reset => sink.settings.allocation_enable = None,
            "routing.rebalance.enable" if is_reset => sink.settings.rebalance_enable = None,
            "routing.allocation.total_shards_per_node" if is_reset => {
                sink.settings.total_shards_per_node = default.total_shards_per_node;
            }
            "unassigned.node_left.delayed_timeout" if is_reset => {
                sink.settings.delayed_timeout_nanos = default.delayed_timeout_nanos;
            }
            "auto_expand_replicas" if is_reset => sink.settings.auto_expand_replicas = None,
            _ => sink.apply(name, if is_reset { "" } else { value })?,
        }
        sink.settings.settle();
        *settings = sink.settings;
        Ok(sink.replicas)
    }

    fn apply(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
        let settings = &mut self.settings;
        let count = |expected| number::<u32>(name, value, expected);
        match name.strip_prefix("index.").unwrap_or_default() {
            "number_of_shards" => self.shards = Some(count("a number of shards")?),
            "number_of_replicas" => self.replicas = Some(count("a number of replicas")?),
            "uuid" => value.clone_into(&mut self.uuid),
            "priority" => settings.priority = number(name, value, "a whole number")?,
            "creation_date" => {
                settings.creation_date = number(name, value, "milliseconds since 1970")?;
            }
            "allocation.max_retries" => settings.max_retries = count("a number of retries")?,
            "routing.allocation.enable" => {
                settings.allocation_enable = Some(allocation_enable(name, value)?);
            }
            "routing.rebalance.enable" => {
                settings.rebalance_enable = Some(rebalance_enable(name, value)?);
            }
            "routing.allocation.total_shards_per_node" => {
                settings.total_shards_per_node = number(name, value, "a whole number")?;
            }
            "unassigned.node_left.delayed_timeout" => {
                settings.delayed_timeout_nanos =
                    time_nanos(value).ok_or_else(|| error(name, value, "a time like 60s or 5m"))?;
            }
            "auto_expand_replicas" => {
                settings.auto_expand_replicas = auto_expand(name, value)?;
            }
            "resize.source.name" | "shrink.source.name" => {
                self.resize_source = Some(value.to_owned());
            }
            "routing.allocation.include._tier_preference" => {
                settings.tier_preference = tiers(value);
            }
            // As the filter decider, which leaves this name to another one.
            "routing.allocation.require._tier_preference"
            | "routing.allocation.exclude._tier_preference" => {}
            "store.type" => settings.remote_snapshot = value == "remote_snapshot",
            "store.snapshot.partial" => settings.partial_snapshot = boolean(name, value)?,
            rest => {
                let group = rest.strip_prefix("routing.allocation.").and_then(|rest| {
                    let (group, attribute) = rest.split_once('.')?;
                    let filters = match group {
                        "require" => &mut settings.require,
                        "include" => &mut settings.include,
                        "exclude" => &mut settings.exclude,
                        "initial_recovery" => &mut settings.initial_recovery,
                        _ => return None,
                    };
                    Some((filters, attribute))
                });
                if let Some((filters, attribute)) = group {
                    filters.replace(attribute, value);
                }
            }
        }
        Ok(())
    }
}

fn error(name: &str, found: &str, expected: &'static str) -> SettingError {
    SettingError {
        name: json::shown(name),
        expected,
        found: json::shown(found),
    }
}

fn number<T: FromStr>(name: &str, value: &str, expected: &'static str) -> Result<T, SettingError> {
    value
        .trim()
        .parse()
        .map_err(|_| error(name, value, expected))
}

fn boolean(name: &str, value: &str) -> Result<bool, SettingError> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(error(name, value, "true or false")),
    }
}

/// Data tiers by preference (`DataTier.parseTierList`).
fn tiers(value: &str) -> Vec<String> {
    const ALL: [&str; 5] = [
        "data_content",
        "data_hot",
        "data_warm",
        "data_cold",
        "data_frozen",
    ];
    let mut tiers: Vec<String> = Vec::new();
    for tier in value.split(',').map(str::trim) {
        if ALL.contains(&tier) && !tiers.iter().any(|known| known == tier) {
            tiers.push(tier.to_owned());
        }
    }
    tiers
}

fn allocation_enable(name: &str, value: &str) -> Result<AllocationEnable, SettingError> {
    match value.to_ascii_lowercase().as_str() {
        "all" => Ok(AllocationEnable::All),
        "primaries" => Ok(AllocationEnable::Primaries),
        "new_primaries" => Ok(AllocationEnable::NewPrimaries),
        "none" => Ok(AllocationEnable::None),
        _ => Err(error(name, value, "all, primaries, new_primaries or none")),
    }
}

fn rebalance_enable(name: &str, value: &str) -> Result<RebalanceEnable, SettingError> {
    match value.to_ascii_lowercase().as_str() {
        "all" => Ok(RebalanceEnable::All),
        "primaries" => Ok(RebalanceEnable::Primaries),
        "replicas" => Ok(RebalanceEnable::Replicas),
        "none" => Ok(RebalanceEnable::None),
        _ => Err(error(name, value, "all, primaries, replicas or none")),
    }
}

fn allow_rebalance(name: &str, value: &str) -> Result<AllowRebalance, SettingError> {
    match value.to_ascii_lowercase().replace('-', "_").as_str() {
        "always" => Ok(AllowRebalance::Always),
        "indices_primaries_active" => Ok(AllowRebalance::IndicesPrimariesActive),
        "indices_all_active" => Ok(AllowRebalance::IndicesAllActive),
        _ => Err(error(
            name,
            value,
            "always, indices_primaries_active or indices_all_active",
        )),
    }
}

/// `AutoExpandReplicas.parse`.
fn auto_expand(name: &str, value: &str) -> Result<Option<(u32, u32)>, SettingError> {
    if value == "false" {
        return Ok(None);
    }
    let range = || {
        let (least, most) = value.split_once('-')?;
        let least = least.parse().ok()?;
        let most = if most == "all" {
            u32::MAX
        } else {
            most.parse().ok()?
        };
        (least <= most).then_some((least, most))
    };
    range()
        .map(Some)
        .ok_or_else(|| error(name, value, "false, or a range like 0-1 or 0-all"))
}

/// `TimeValue.parseTimeValue`, in nanoseconds.
fn time_nanos(text: &str) -> Option<i64> {
    const UNITS: [(&str, i64); 7] = [
        ("nanos", 1),
        ("micros", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ];
    let text = text.trim().to_ascii_lowercase();
    if text == "0" || text == "-1" {
        return text.parse().ok();
    }
    let (number, factor) = UNITS
        .iter()
        .find_map(|&(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    let number: i64 = number.trim().parse().ok()?;
    number.checked_mul(factor).filter(|&nanos| nanos >= 0)
}

#[cfg(test)]
mod tests;
