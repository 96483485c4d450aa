//! # ES006: a node's disk near or above a watermark
//!
//! ## What it finds
//! Data nodes whose disk is above the low, high or flood-stage watermark, or within 5 % of its size of
//! the low one; and a disk decider that is switched off.
//!
//! ## Why it hurts
//! Above the low watermark a node takes no further copies; above the high one the master moves copies
//! away, which costs network and disks, and where every node is above it nothing helps; above flood
//! stage every index with a copy on the node becomes read-only. A single data node is exempt from the
//! first two before Elasticsearch 8.0 and in OpenSearch, until a second one joins.
//!
//! ## Evidence
//! Size and free space of each data path, and the watermarks. They come as a percentage that may be
//! used, or as bytes that are to stay free.
//!
//! ## Remedy
//! Delete, or add disks or nodes. On large disks watermarks in bytes leave less unused than a
//! percentage does.
//!
//! ## Risk
//! Higher watermarks leave less room for merges, which need free space of the size of what they merge.
//!
//! ## When it is silent
//! With more free space, and for nodes of the frozen tier only, which have their own watermark. From
//! Elasticsearch 8.5 on, default percentages require at most 200, 150 and 100 GB, which is taken into
//! account. Above flood stage is an error, above the other two a warning, close to the low one a note.
//!
//! ## References
//! - Elasticsearch reference, "Disk-based shard allocation"
//! - Elasticsearch pull request 88639: `max_headroom` of the watermarks, 8.5
//! - Elasticsearch 7.4, release highlights: the block is taken back when there is room again

use crate::cluster::ClusterContext;
use crate::outcome::Outcome;
use crate::rule::{Check, Rule};
use crate::shell::printable;
use crate::wording;
use facts::cluster::{
    ClusterNode, ClusterSettings, Flavour, SettingOrigin, Watermark, WatermarkLevel,
};
use facts::{Finding, Remedy, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "ES006",
    title: "a node's disk near or above a watermark",
    source: include_str!("es006.rs"),
    check: Check::Cluster(check),
};

const ENABLED_KEY: &str = "cluster.routing.allocation.disk.threshold_enabled";
/// Distance to the low watermark, in percent of the disk, below which this is reported.
const NEAR_PERCENT: u64 = 5;
/// From this size on, a percentage watermark leaves much space unused.
const LARGE_DISK_BYTES: u64 = 4 << 40;
/// Maximum number of findings about nodes.
const NODES_MAX: usize = 50;

/// Lowest first.
const LEVELS: [WatermarkLevel; 3] = [
    WatermarkLevel::Low,
    WatermarkLevel::High,
    WatermarkLevel::FloodStage,
];

/// A watermark and the maximum free space that it requires.
#[derive(Debug, Clone, Copy)]
struct Limit {
    level: WatermarkLevel,
    watermark: Watermark,
    headroom_bytes: Option<u64>,
}

impl Limit {
    fn free_bytes_min(self, total_bytes: u64) -> u64 {
        let asked = self.watermark.free_bytes_min(total_bytes);
        match (self.watermark, self.headroom_bytes) {
            (Watermark::UsedPercent(_), Some(headroom)) => asked.min(headroom),
            _ => asked,
        }
    }
}

/// A node's filesystem with the least space left above a watermark.
#[derive(Debug, Clone, Copy)]
struct Disk<'a> {
    node: &'a ClusterNode,
    mount: Option<&'a str>,
    total_bytes: u64,
    available_bytes: u64,
    /// The highest watermark exceeded; `None` if the disk is only near one.
    above: Option<Limit>,
}

fn check(cx: &ClusterContext<'_>, out: &mut Outcome) {
    let Some(settings) = cx.settings_or_skip(&RULE, out) else {
        return;
    };
    if !settings.disk_threshold_enabled() {
        out.findings.push(switched_off(cx));
        return;
    }
    let mut limits = Vec::new();
    for level in LEVELS {
        let Some(watermark) = settings.watermark(level) else {
            let text = settings.text(level.key()).unwrap_or_default();
            let why = format!(
                "{} is neither a percentage nor bytes: {}",
                level.key(),
                printable(&text)
            );
            out.skip(RULE.id, why, None);
            return;
        };
        limits.push(Limit {
            level,
            watermark,
            headroom_bytes: headroom(cx, settings, level),
        });
    }
    if cx.nodes_or_skip(&RULE, out).is_none() {
        return;
    }
    judge_nodes(cx, &limits, out);
}

/// Returns the maximum that a percentage may require: `max_headroom`, since Elasticsearch 8.5. Its
/// default only applies if the watermark itself is not set.
fn headroom(
    cx: &ClusterContext<'_>,
    settings: &ClusterSettings,
    level: WatermarkLevel,
) -> Option<u64> {
    if !cx.is_elasticsearch_from(8, 5) {
        return None;
    }
    if let Some(text) = settings.text(&format!("{}.max_headroom", level.key())) {
        // -1 means none.
        return match Watermark::parse(&text) {
            Some(Watermark::FreeBytes(bytes)) => Some(bytes),
            _ => None,
        };
    }
    let is_set = settings
        .get(level.key())
        .is_some_and(|setting| setting.origin != SettingOrigin::Default);
    let default_gib = match level {
        WatermarkLevel::Low => 200,
        WatermarkLevel::High => 150,
        WatermarkLevel::FloodStage => 100,
    };
    (!is_set).then_some(default_gib << 30)
}

fn judge_nodes(cx: &ClusterContext<'_>, limits: &[Limit], out: &mut Outcome) {
    let data_nodes: Vec<&ClusterNode> = cx.nodes_with_shards().collect();
    let mut disks: Vec<Disk<'_>> = Vec::new();
    let mut unknown: Vec<String> = Vec::new();
    for &node in &data_nodes {
        let filesystems = filesystems(node);
        if filesystems.is_empty() {
            unknown.push(printable(&node.name));
        }
        let worst = filesystems
            .into_iter()
            .filter_map(|filesystem| judge(node, filesystem, limits))
            .max_by_key(|disk| {
                (
                    disk.above.map(|limit| limit.level),
                    u64::MAX - disk.available_bytes,
                )
            });
        disks.extend(worst);
    }
    if !unknown.is_empty() {
        out.skip(
            RULE.id,
            format!("the disks of {} are not known", wording::list(&unknown)),
            Some("an answer to GET /_nodes/stats/fs"),
        );
    }
    let high = |disk: &Disk<'_>| {
        disk.above
            .is_some_and(|limit| limit.level >= WatermarkLevel::High)
    };
    // In that case copies cannot be moved anywhere.
    let all_high = unknown.is_empty()
        && disks.iter().filter(|disk| high(disk)).count() == data_nodes.len()
        && data_nodes.len() > 1;
    disks.sort_by_key(|disk| std::cmp::Reverse(disk.above.map(|limit| limit.level)));
    if disks.len() > NODES_MAX {
        out.skip(
            RULE.id,
            format!(
                "{} more are near or above a watermark",
                units::count((disks.len() - NODES_MAX) as u64, "node")
            ),
            None,
        );
    }
    for disk in disks.iter().take(NODES_MAX) {
        out.findings.push(finding(cx, disk, limits, all_high));
    }
}

/// Returns the mount, size and free bytes of each data path, or of all together if paths are not
/// reported.
fn filesystems(node: &ClusterNode) -> Vec<(Option<&str>, u64, u64)> {
    if node.data_paths.is_empty() {
        return node
            .disk_total_bytes
            .zip(node.disk_available_bytes)
            .map(|(total, available)| (None, total, available))
            .into_iter()
            .collect();
    }
    node.data_paths
        .iter()
        .map(|path| {
            let mount = path.mount.as_deref().or(path.path.as_deref());
            (mount, path.total_bytes, path.available_bytes)
        })
        .collect()
}

fn judge<'a>(
    node: &'a ClusterNode,
    (mount, total_bytes, available_bytes): (Option<&'a str>, u64, u64),
    limits: &[Limit],
) -> Option<Disk<'a>> {
    let above = limits
        .iter()
        .rev()
        .find(|limit| available_bytes < limit.free_bytes_min(total_bytes));
    let low_bytes = limits.first()?.free_bytes_min(total_bytes);
    let near_bytes = low_bytes.saturating_add(total_bytes / 100 * NEAR_PERCENT);
    let is_near = available_bytes < near_bytes;
    (above.is_some() || is_near).then_some(Disk {
        node,
        mount,
        total_bytes,
        available_bytes,
        above: above.copied(),
    })
}

fn label(level: WatermarkLevel) -> &'static str {
    match level {
        WatermarkLevel::Low => "low",
        WatermarkLevel::High => "high",
        WatermarkLevel::FloodStage => "flood-stage",
    }
}

fn finding(cx: &ClusterContext<'_>, disk: &Disk<'_>, limits: &[Limit], all_high: bool) -> Finding {
    let severity = match disk.above.map(|limit| limit.level) {
        Some(WatermarkLevel::FloodStage) => Severity::Error,
        Some(_) => Severity::Warning,
        None => Severity::Info,
    };
    let left = units::bytes(disk.available_bytes);
    let total = units::bytes(disk.total_bytes);
    let low_bytes = limits[0].free_bytes_min(disk.total_bytes);
    let title = match disk.above {
        Some(limit) => format!(
            "above the {} watermark: {left} of {total} left",
            label(limit.level)
        ),
        None => format!(
            "{} from the low watermark: {left} of {total} left",
            units::bytes(disk.available_bytes.saturating_sub(low_bytes))
        ),
    };
    let mut finding = cx.about_node(&RULE, severity, disk.node, title);
    finding.why = match disk.above.map(|limit| limit.level) {
        Some(WatermarkLevel::FloodStage) => {
            "Every index with a copy on this node is made read-only: writing to it fails."
                .to_owned()
        }
        _ if cx.is_single_data_node_exempt() => {
            "With one data node this version ignores the low and high watermarks; only flood stage \
             counts. From the second data node on, all of them do."
                .to_owned()
        }
        Some(WatermarkLevel::High) => format!(
            "The master moves copies away from this node, which loads disks and network{}.",
            if all_high {
                "; every data node is that full, so they have nowhere to go"
            } else {
                ""
            }
        ),
        Some(WatermarkLevel::Low) => {
            "The node takes no more copies except new primaries: replicas stay unassigned if the \
             other nodes are full as well, and copies that leave another node cannot come here."
                .to_owned()
        }
        None => "The node will soon take no more copies.".to_owned(),
    };
    let next = match disk.above {
        Some(limit) => limit.free_bytes_min(disk.total_bytes),
        None => low_bytes,
    };
    finding.why = format!(
        "{} {} should stay free{}.",
        finding.why,
        units::bytes(next),
        match disk.above {
            Some(limit) if limit.level == WatermarkLevel::Low => String::new(),
            Some(_) => format!(
                "; to get below the low watermark, {}",
                units::bytes(low_bytes)
            ),
            None => String::new(),
        }
    );
    finding.add_evidence(
        format!(
            "GET /_nodes/stats/fs: {}",
            printable(disk.mount.unwrap_or("all data paths"))
        ),
        format!(
            "{} of {} bytes available",
            disk.available_bytes, disk.total_bytes
        ),
    );
    for limit in limits {
        let default_value = format!("{}%", limit.level.default_used_percent());
        let mut evidence = cx.setting_evidence(limit.level.key(), &default_value);
        if let (Watermark::UsedPercent(_), Some(headroom)) = (limit.watermark, limit.headroom_bytes)
        {
            let value = &evidence.value;
            evidence.value = format!("{value}, {} free at most", units::bytes(headroom));
        }
        finding.evidence.push(evidence);
    }
    finding.remedy = remedies(cx, disk, limits);
    finding
}

fn remedies(cx: &ClusterContext<'_>, disk: &Disk<'_>, limits: &[Limit]) -> Vec<Remedy> {
    let mut all = vec![Remedy::advice(
        "Delete what is no longer needed, or add disks or data nodes. Next, give up replicas of \
         indices that can be rebuilt.",
    )];
    let level = disk.above.map(|limit| limit.level);
    // From 7.4 on the server removes the block itself.
    let keeps_block = cx
        .elasticsearch()
        .is_some_and(|version| (version.major, version.minor) < (7, 4));
    if level == Some(WatermarkLevel::FloodStage) && keeps_block {
        all.push(
            Remedy::command(
                "Once there is room again, remove the block: this version does not do it by itself.",
                cx.put(
                    "/_all/_settings",
                    "{\n  \"index.blocks.read_only_allow_delete\": null}",
                ),
            )
            .risk("Without free space the block comes back within a minute."),
        );
    }
    let is_percentage = matches!(limits[0].watermark, Watermark::UsedPercent(_))
        && limits[0].headroom_bytes.is_none();
    if is_percentage && disk.total_bytes >= LARGE_DISK_BYTES {
        let low = units::bytes(limits[0].free_bytes_min(disk.total_bytes));
        all.push(
            Remedy::command(
                format!(
                    "On disks of this size set the watermarks in bytes: the low one leaves {low} \
                     unused on this disk. Elasticsearch has used such limits by default since 8.5."
                ),
                cx.put(
                    "/_cluster/settings",
                    "{\"persistent\": {\n  \
                     \"cluster.routing.allocation.disk.watermark.low\": \"200gb\",\n  \
                     \"cluster.routing.allocation.disk.watermark.high\": \"150gb\",\n  \
                     \"cluster.routing.allocation.disk.watermark.flood_stage\": \"100gb\"}}",
                ),
            )
            .risk(
                "Merges need as much free space as the segments they merge. The values apply to \
                 all nodes, small disks included.",
            ),
        );
    }
    all
}

fn switched_off(cx: &ClusterContext<'_>) -> Finding {
    let mut finding = cx.about_cluster(
        &RULE,
        Severity::Warning,
        "nothing keeps disks from filling up: the disk decider is switched off",
    );
    finding.why = format!(
        "With {ENABLED_KEY}: false the master ignores how full disks are, and no watermark \
         applies. A full disk fails shards, and may damage what is being written.",
    );
    let setting = cx.setting_evidence(ENABLED_KEY, "true");
    finding.evidence.push(setting);
    let is_old = cx.cluster.flavour == Flavour::Elasticsearch && !cx.is_elasticsearch_from(7, 6);
    let mut remedy = Remedy::command("Switch it on.", cx.put_setting(ENABLED_KEY, "true"))
        .undo(cx.put_setting(ENABLED_KEY, "false"));
    remedy = remedy.risk(if is_old {
        "The master then moves copies away from nodes above the high watermark; on 6.8 to 7.5 the \
         decider also scans at each reroute (ES001)."
    } else {
        "The master then moves copies away from nodes above the high watermark."
    });
    finding.add_remedy(remedy);
    finding
}

#[cfg(test)]
mod tests;
