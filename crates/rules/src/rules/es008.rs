//! # ES008: settings that fight the disk
//!
//! ## What it finds
//! - `index.merge.scheduler.max_thread_count: 1` on flash, and more than 1 on hard disks
//! - `index.merge.scheduler.auto_throttle: false`
//! - `index.refresh_interval` below a second, switched off, or set to its own default
//! - `index.translog.durability: async`
//! - store throttling (`indices.store.throttle.*`, `index.store.throttle.*`), which is gone since 2.0,
//!   and other archived settings of older versions
//!
//! ## Why it hurts
//! - One merge thread cannot keep up with a fast drive: segments pile up until indexing is held up.
//!   Several on a hard disk make it seek between them.
//! - Without the throttle, merges use all of the drive's throughput.
//! - Each refresh writes a segment that has to be merged. Switched off, as for a bulk load, new
//!   documents are not found. From 7.0 on, an explicit interval, even the default of 1s, keeps
//!   refreshing shards that nobody searches.
//! - With `async` a write is acknowledged before it is on disk: a power failure loses up to 5 seconds
//!   (`index.translog.sync_interval`).
//! - Archived cluster settings make every change of cluster settings fail.
//!
//! ## Evidence
//! Each setting, how many indices have it, and one of them; what the drives of the nodes' hosts are
//! made of, where those hosts were read.
//!
//! ## Remedy
//! The default, which fits flash; one thread on hard disks.
//!
//! ## Risk
//! Named with each remedy.
//!
//! ## When it is silent
//! With defaults. Threads are judged only where the nodes' hosts were read and all their drives are of
//! one kind; where a value is set and hosts are not known, that part is reported as skipped.
//!
//! ## References
//! - Elasticsearch reference, "Merge": `max_thread_count`; "Translog": `durability`; "Index
//!   modules": `refresh_interval` and `index.search.idle.after`
//! - Elasticsearch pull request 82069: archived cluster settings block changes

use crate::cluster::ClusterContext;
use crate::cluster::drives::{self, Drives};
use crate::cluster::refresh::Refresh;
use crate::outcome::Outcome;
use crate::rule::{Check, Rule};
use crate::shell::printable;
use crate::wording;
use facts::cluster::{IndexSetting, IndexSettings, SettingOrigin};
use facts::{Evidence, Finding, Remedy, Severity, Skipped};

pub(crate) const RULE: Rule = Rule {
    id: "ES008",
    title: "settings that fight the disk",
    source: include_str!("es008.rs"),
    check: Check::Cluster(check),
};

const THREADS_KEY: &str = "index.merge.scheduler.max_thread_count";
const THROTTLE_KEY: &str = "index.merge.scheduler.auto_throttle";
const REFRESH_KEY: &str = "index.refresh_interval";
const DURABILITY_KEY: &str = "index.translog.durability";
const SHARED: &str = "/_all/_settings";

fn check(cx: &ClusterContext<'_>, out: &mut Outcome) {
    if cx.settings_or_skip(&RULE, out).is_some() {
        left_over(cx, out);
    }
    let Some(settings) = cx.index_settings_or_skip(&RULE, out) else {
        return;
    };
    merge_threads(cx, settings, out);
    merge_throttle(cx, settings, out);
    refresh(cx, settings, out);
    durability(cx, settings, out);
    store_throttle(cx, settings, out);
}

/// Creates a finding about values of an index setting, with the values as evidence.
fn about_indices(
    cx: &ClusterContext<'_>,
    severity: Severity,
    key: &str,
    values: &[&IndexSetting],
    title: String,
    why: &str,
) -> Finding {
    let mut finding = cx.about_setting(&RULE, severity, key, title);
    why.clone_into(&mut finding.why);
    for value in values.iter().take(wording::EVIDENCE_MAX) {
        finding.evidence.push(Evidence::new(
            format!("GET /_all/_settings: {}", printable(&value.key)),
            format!(
                "{} in {}, such as {}",
                printable(&value.value),
                units::count::counted(value.indices(), "index", "indices"),
                printable(&value.example)
            ),
        ));
    }
    finding
}

/// Returns the number of open indices that have one of these values.
fn open(values: &[&IndexSetting]) -> u64 {
    let counts = values.iter().map(|value| value.open);
    counts.fold(0, u64::saturating_add)
}

/// Returns the command that sets a value for all indices, with its downside. The text says that it affects
/// all of them, because it is shown without the command as well.
fn for_all(cx: &ClusterContext<'_>, text: &str, key: &str, value: &str, price: &str) -> Remedy {
    let remedy = Remedy::command(
        format!(
            "{text} `PUT {SHARED}` changes all indices: name yours in place of _all to change only them."
        ),
        cx.put(SHARED, &format!("{{\n  \"{key}\": {value}}}")),
    );
    if price.is_empty() {
        remedy
    } else {
        remedy.risk(price)
    }
}

fn merge_threads(cx: &ClusterContext<'_>, settings: &IndexSettings, out: &mut Outcome) {
    let number = |value: &IndexSetting| value.value.trim().parse::<u64>().ok();
    let explicit: Vec<&IndexSetting> = settings.of(THREADS_KEY).collect();
    let one: Vec<&IndexSetting> = explicit
        .iter()
        .copied()
        .filter(|value| value.open > 0 && number(value) == Some(1))
        .collect();
    let several: Vec<&IndexSetting> = explicit
        .iter()
        .copied()
        .filter(|value| value.open > 0 && number(value).is_some_and(|threads| threads > 1))
        .collect();
    match drives::of(cx) {
        Drives::Unknown(why) => {
            if !one.is_empty() || !several.is_empty() {
                out.skipped.push(Skipped::new(
                    format!("{} for {THREADS_KEY}", RULE.id),
                    format!("{why}: one thread is right for hard disks only"),
                    Some("bundles of the nodes' hosts"),
                ));
            }
        }
        Drives::Flash if !one.is_empty() => {
            let mut finding = about_indices(
                cx,
                Severity::Warning,
                THREADS_KEY,
                &one,
                format!(
                    "one merge thread on flash in {}",
                    units::count::counted(open(&one), "open index", "open indices")
                ),
                "One thread is the advice for hard disks. On flash it cannot keep up with indexing: \
                 segments pile up until the server holds indexing up.",
            );
            finding.evidence.extend(drives::evidence(cx));
            finding.remedy.push(for_all(
                cx,
                "Reset the setting: the default fits flash.",
                THREADS_KEY,
                "null",
                "Merges then take more CPU and I/O at a time.",
            ));
            out.findings.push(finding);
        }
        Drives::Rotating => {
            // The default is half the number of CPUs, at most 4.
            let by_default = settings.at_default(THREADS_KEY);
            if several.is_empty() && by_default == 0 {
                return;
            }
            let severity = if several.is_empty() {
                Severity::Info
            } else {
                Severity::Warning
            };
            let mut finding = about_indices(
                cx,
                severity,
                THREADS_KEY,
                &several,
                "several merge threads on hard disks".to_owned(),
                "A hard disk has to seek between concurrent merges. The default, half the CPUs but \
                 at most 4, is meant for flash.",
            );
            finding.evidence.push(Evidence::new(
                format!("GET /_all/_settings: indices without {THREADS_KEY}"),
                by_default,
            ));
            finding.evidence.extend(drives::evidence(cx));
            finding.remedy.push(
                for_all(cx, "Use one thread on hard disks.", THREADS_KEY, "1", "Under heavy indexing, writes may then wait for merges: watch the indexing rate.")
                    .undo(cx.put(SHARED, &format!("{{\n  \"{THREADS_KEY}\": null}}"))),
            );
            out.findings.push(finding);
        }
        Drives::Flash => {}
    }
}

fn merge_throttle(cx: &ClusterContext<'_>, settings: &IndexSettings, out: &mut Outcome) {
    let off: Vec<&IndexSetting> = settings
        .of(THROTTLE_KEY)
        .filter(|value| value.open > 0 && value.value == "false")
        .collect();
    if off.is_empty() {
        return;
    }
    let mut finding = about_indices(
        cx,
        Severity::Info,
        THROTTLE_KEY,
        &off,
        format!(
            "merges are not throttled in {}",
            units::count::counted(open(&off), "open index", "open indices")
        ),
        "By default merges write no faster than indexing requires. Without throttling a large \
         merge takes all the bandwidth of the drives, and searches wait.",
    );
    finding.remedy.push(for_all(
        cx,
        "Reset the setting, unless you measured that it helps.",
        THROTTLE_KEY,
        "null",
        "",
    ));
    out.findings.push(finding);
}

fn refresh(cx: &ClusterContext<'_>, settings: &IndexSettings, out: &mut Outcome) {
    let of = |refresh: Refresh| -> Vec<&IndexSetting> {
        settings
            .of(REFRESH_KEY)
            .filter(|value| value.open > 0 && Refresh::of(&value.value) == refresh)
            .collect()
    };
    let off = of(Refresh::Off);
    if !off.is_empty() {
        let mut finding = about_indices(
            cx,
            Severity::Warning,
            REFRESH_KEY,
            &off,
            format!(
                "refresh is switched off in {}",
                units::count::counted(open(&off), "open index", "open indices")
            ),
            "Searches do not find new documents until somebody requests a refresh. That is right \
             during a bulk load, and often forgotten afterwards.",
        );
        finding.remedy.push(
            for_all(
                cx,
                "Reset it when the load is done.",
                REFRESH_KEY,
                "null",
                "",
            )
            .undo(cx.put(SHARED, &format!("{{\n  \"{REFRESH_KEY}\": \"-1\"}}"))),
        );
        out.findings.push(finding);
    }
    let hasty = of(Refresh::Hasty);
    if !hasty.is_empty() {
        let mut finding = about_indices(
            cx,
            Severity::Warning,
            REFRESH_KEY,
            &hasty,
            format!(
                "several refreshes a second in {}",
                units::count::counted(open(&hasty), "open index", "open indices")
            ),
            "Each refresh writes a segment, and each segment has to be merged: with many small \
             ones the drives are mostly busy merging.",
        );
        finding.remedy.push(for_all(
            cx,
            "Refresh less often: 30s if searches can wait that long.",
            REFRESH_KEY,
            "\"30s\"",
            "Searches find new documents that much later.",
        ));
        out.findings.push(finding);
    }
    let explicit = of(Refresh::Default);
    let knows_idle = cx.elasticsearch().is_none() || cx.is_elasticsearch_from(7, 0);
    if knows_idle && !explicit.is_empty() {
        let mut finding = about_indices(
            cx,
            Severity::Info,
            REFRESH_KEY,
            &explicit,
            format!(
                "idle shards keep refreshing in {}",
                units::count::counted(open(&explicit), "open index", "open indices")
            ),
            "The interval is set to its own default of 1s. Left unset, a shard that nobody \
             searches for 30 \
             seconds stops refreshing, which makes indexing cheaper; set, it goes on every second.",
        );
        finding.remedy.push(
            for_all(
                cx,
                "Reset the setting.",
                REFRESH_KEY,
                "null",
                "The first search after a pause waits for a refresh.",
            )
            .undo(cx.put(SHARED, &format!("{{\n  \"{REFRESH_KEY}\": \"1s\"}}"))),
        );
        out.findings.push(finding);
    }
}

fn durability(cx: &ClusterContext<'_>, settings: &IndexSettings, out: &mut Outcome) {
    let is_async = |value: &&IndexSetting| value.value.eq_ignore_ascii_case("async");
    let found: Vec<&IndexSetting> = settings
        .of(DURABILITY_KEY)
        .filter(|value| value.open > 0)
        .filter(is_async)
        .collect();
    if found.is_empty() {
        return;
    }
    let mut finding = about_indices(
        cx,
        Severity::Info,
        DURABILITY_KEY,
        &found,
        format!(
            "acknowledged writes may be lost in {}",
            units::count::counted(open(&found), "open index", "open indices")
        ),
        "With durability async a write is acknowledged before it is on disk. A power failure or a \
         crash of the host loses the last 5 seconds (index.translog.sync_interval), on all copies \
         if they share the power supply. In return each request is spared a flush of the drive.",
    );
    finding.remedy.push(
        for_all(cx, "If lost data cannot be sent again, reset the setting.", DURABILITY_KEY, "null", "Each request then waits for a flush: small requests become slower, bulk requests hardly.")
        .undo(cx.put(SHARED, &format!("{{\n  \"{DURABILITY_KEY}\": \"async\"}}"))),
    );
    out.findings.push(finding);
}

/// Reports store throttling of indices, which no supported version has.
fn store_throttle(cx: &ClusterContext<'_>, settings: &IndexSettings, out: &mut Outcome) {
    let found: Vec<&IndexSetting> = settings
        .values
        .iter()
        .filter(|value| {
            let key = value.key.strip_prefix("archived.").unwrap_or(&value.key);
            key.starts_with("index.store.throttle.")
        })
        .collect();
    if found.is_empty() {
        return;
    }
    let indices = found.iter().map(|value| value.indices()).max().unwrap_or(0);
    let mut finding = about_indices(
        cx,
        Severity::Info,
        &found[0].key,
        &found,
        format!(
            "store throttling of old versions is set in {}",
            units::count::counted(indices, "index", "indices")
        ),
        "Store throttling is gone since 2.0: merges throttle themselves. The setting has no \
         effect, and \
         templates that still hold it make new indices fail.",
    );
    finding.remedy.push(Remedy::advice(
        "Remove it from index templates. In an existing index it can stay; reindexing removes it.",
    ));
    out.findings.push(finding);
}

/// Reports cluster settings of older versions that are still set.
fn left_over(cx: &ClusterContext<'_>, out: &mut Outcome) {
    let settings = cx.cluster.settings.as_ref();
    let keys: Vec<&String> = settings
        .iter()
        .flat_map(|settings| &settings.values)
        .filter(|(key, setting)| {
            key.starts_with("archived.")
                || (key.starts_with("indices.store.throttle.")
                    && setting.origin != SettingOrigin::Default)
        })
        .map(|(key, _)| key)
        .collect();
    if keys.is_empty() {
        return;
    }
    let archived: Vec<String> = keys
        .iter()
        .filter(|key| key.starts_with("archived."))
        .map(|key| printable(key))
        .collect();
    let (severity, title, why) = if archived.is_empty() {
        (
            Severity::Info,
            "store throttling of old versions is set",
            "Store throttling is gone since 2.0: merges throttle themselves. The setting has no \
             effect.",
        )
    } else {
        (
            Severity::Warning,
            "archived settings block every change of cluster settings",
            "The cluster holds settings of an older version that it does not know. While they \
             exist, changing any cluster setting fails, even in an emergency.",
        )
    };
    let mut finding = cx.about_setting(&RULE, severity, keys[0], title);
    why.clone_into(&mut finding.why);
    for key in keys.iter().take(wording::EVIDENCE_MAX) {
        finding.evidence.push(cx.setting_evidence(key, ""));
    }
    if archived.is_empty() {
        finding.remedy.push(Remedy::advice(
            "Remove it from the configuration file of the nodes and from the cluster settings.",
        ));
    } else {
        finding.remedy.push(Remedy::command(
            "Remove them, with nothing else in the same request.",
            cx.put(
                "/_cluster/settings",
                "{\"persistent\": {\"archived.*\": null},\n  \"transient\": {\"archived.*\": null}}",
            ),
        ));
    }
    out.findings.push(finding);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_cluster::{TestCluster, assert_well_formed};
    use crate::test_host::{TestHost, hard_disk, nvme, only};
    use facts::Host;
    use facts::host::BlockDevice;

    /// Returns a host with Elasticsearch's data on this drive.
    fn host(name: &str, drive: BlockDevice) -> Host {
        let device = drive.name.clone();
        TestHost::new()
            .device(drive)
            .mount("/data", &device, "xfs", "rw")
            .elasticsearch("/data/es")
            .with(|host| host.platform.host_name = Some(name.to_owned()))
            .build()
    }

    fn threads(value: &str, hosts: &[&Host]) -> Outcome {
        let outcome = TestCluster::new()
            .index_setting(THREADS_KEY, value, 100)
            .check_with(&RULE, hosts);
        assert_well_formed(&outcome);
        outcome
    }

    #[test]
    fn one_thread_on_flash_is_a_warning() {
        let flash = host("es-1", nvme("nvme0n1"));
        let outcome = threads("1", &[&flash]);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.title,
            "one merge thread on flash in 100 open indices"
        );
        assert!(
            finding
                .evidence
                .iter()
                .any(|evidence| evidence.source.starts_with("host es-1: "))
        );
        assert_eq!(threads("4", &[&flash]), Outcome::default());
    }

    #[test]
    fn several_threads_on_hard_disks_are_a_warning() {
        let rotating = host("es-1", hard_disk("sda"));
        assert_eq!(
            only(&threads("4", &[&rotating])).severity,
            Severity::Warning
        );
        assert_eq!(threads("1", &[&rotating]), Outcome::default());
        // The default is several threads as well.
        let outcome = TestCluster::new().check_with(&RULE, &[&rotating]);
        assert_well_formed(&outcome);
        assert_eq!(only(&outcome).severity, Severity::Info);
    }

    #[test]
    fn without_hosts_or_with_several_kinds_threads_are_skipped() {
        let (flash, rotating) = (
            host("es-1", nvme("nvme0n1")),
            host("es-2", hard_disk("sda")),
        );
        for (hosts, why) in [
            (vec![], "the hosts of the nodes were not read"),
            (vec![&flash, &rotating], "several kinds"),
        ] {
            let outcome = threads("1", &hosts);
            assert!(outcome.findings.is_empty());
            assert!(
                outcome.skipped[0].why.contains(why),
                "{:?}",
                outcome.skipped
            );
        }
    }

    #[test]
    fn refresh_intervals_have_their_severities() {
        let at = |value: &str, version: &str| {
            let outcome = TestCluster::new()
                .version(version)
                .index_setting(REFRESH_KEY, value, 7)
                .check(&RULE);
            assert_well_formed(&outcome);
            let severities = outcome.findings.iter().map(|finding| finding.severity);
            severities.collect::<Vec<_>>()
        };
        assert_eq!(at("-1", "7.17.28"), [Severity::Warning]);
        assert_eq!(at("100ms", "6.8.23"), [Severity::Warning]);
        assert_eq!(at("1s", "7.0.0"), [Severity::Info]);
        // 6.8 has no idle shards.
        assert_eq!(at("1s", "6.8.23"), []);
        assert_eq!(at("30s", "7.17.28"), []);
    }

    #[test]
    fn asynchronous_durability_and_unthrottled_merges_are_an_information() {
        for (key, value) in [(DURABILITY_KEY, "async"), (THROTTLE_KEY, "false")] {
            let outcome = TestCluster::new().index_setting(key, value, 3).check(&RULE);
            assert_well_formed(&outcome);
            assert_eq!(only(&outcome).severity, Severity::Info);
        }
        for (key, value) in [(DURABILITY_KEY, "request"), (THROTTLE_KEY, "true")] {
            let outcome = TestCluster::new().index_setting(key, value, 3).check(&RULE);
            assert_eq!(outcome, Outcome::default());
        }
        // Closed indices are not written to.
        let outcome = TestCluster::new()
            .index_setting(DURABILITY_KEY, "async", 0)
            .check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn archived_settings_are_found() {
        let old = "indices.store.throttle.max_bytes_per_sec";
        let outcome = TestCluster::new()
            .setting(
                SettingOrigin::Persistent,
                &format!("archived.{old}"),
                "20mb",
            )
            .check(&RULE);
        assert_well_formed(&outcome);
        assert_eq!(only(&outcome).severity, Severity::Warning);
        let outcome = TestCluster::new()
            .setting(SettingOrigin::NodeFile, old, "20mb")
            .index_setting("index.store.throttle.type", "merge", 2)
            .check(&RULE);
        assert_well_formed(&outcome);
        assert_eq!(outcome.findings.len(), 2);
        assert!(
            outcome
                .findings
                .iter()
                .all(|finding| finding.severity == Severity::Info)
        );
    }

    #[test]
    fn defaults_are_silent() {
        assert_eq!(TestCluster::new().check(&RULE), Outcome::default());
    }

    #[test]
    fn missing_answers_are_skipped() {
        let outcome = TestCluster::new()
            .with(|cluster| {
                cluster.settings = None;
                cluster.index_settings = None;
            })
            .check(&RULE);
        assert_well_formed(&outcome);
        assert!(outcome.findings.is_empty());
        assert_eq!(outcome.skipped.len(), 2);
    }
}
