//! # ES008: settings that fight the disk
//!
//! ## What it finds
//! - `index.merge.scheduler.max_thread_count: 1` on flash, and more than 1 on hard disks
//! - `index.merge.scheduler.auto_throttle: false`
//! - `index.refresh_interval` below a second, switched off, or set to its own default
//! - `index.translog.durability: async`
//! - store throttling (`indices.store.throttle.*`, `index.store.throttle.*`), which was removed in 2.0,
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
use crate::{finding, wording};
use facts::cluster::{IndexSetting, IndexSettings, SettingOrigin};
use facts::{Finding, Remedy, Severity};

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

/// A value of an index setting that is worth a finding.
struct IndexCheck {
    key: &'static str,
    is_found: fn(&str) -> bool,
    severity: Severity,
    /// What goes on in the open indices that have it.
    title: &'static str,
    why: &'static str,
    /// The remedy, the value that it sets, and what that costs (nothing if empty).
    remedy: &'static str,
    value: &'static str,
    risk: &'static str,
    /// The value before, where taking the remedy back makes sense.
    before: Option<&'static str>,
}

/// Right on hard disks.
const ONE_THREAD: IndexCheck = IndexCheck {
    key: THREADS_KEY,
    is_found: |value| threads(value) == Some(1),
    severity: Severity::Warning,
    title: "one merge thread on flash",
    why: "One thread is the advice for hard disks. On flash it cannot keep up with indexing: \
          segments pile up until the server holds indexing up.",
    remedy: "Reset the setting: the default fits flash.",
    value: "null",
    risk: "Merges then take more CPU and I/O at a time.",
    before: None,
};

/// The default of 1s, set explicitly: worth a finding where servers know idle shards.
const SET_TO_DEFAULT: IndexCheck = IndexCheck {
    key: REFRESH_KEY,
    is_found: |value| Refresh::of(value) == Refresh::Default,
    severity: Severity::Info,
    title: "idle shards keep refreshing",
    why: "The interval is set to its own default of 1s. Left unset, a shard that nobody searches for 30 \
          seconds stops refreshing, which makes indexing cheaper; set, it goes on every second.",
    remedy: "Reset the setting.",
    value: "null",
    risk: "The first search after a pause waits for a refresh.",
    before: Some("\"1s\""),
};

/// Checks that need nothing but the setting.
const CHECKS: &[IndexCheck] = &[
    IndexCheck {
        key: THROTTLE_KEY,
        is_found: |value| value == "false",
        severity: Severity::Info,
        title: "merges are not throttled",
        why: "By default merges write no faster than indexing requires. Without throttling a large \
              merge takes all the bandwidth of the drives, and searches wait.",
        remedy: "Reset the setting, unless you measured that it helps.",
        value: "null",
        risk: "",
        before: None,
    },
    IndexCheck {
        key: REFRESH_KEY,
        is_found: |value| Refresh::of(value) == Refresh::Off,
        severity: Severity::Warning,
        title: "refresh is switched off",
        why: "Searches do not find new documents until somebody requests a refresh. That is right \
              during a bulk load, and often forgotten afterwards.",
        remedy: "Reset it when the load is done.",
        value: "null",
        risk: "",
        before: Some("\"-1\""),
    },
    IndexCheck {
        key: REFRESH_KEY,
        is_found: |value| Refresh::of(value) == Refresh::Hasty,
        severity: Severity::Warning,
        title: "several refreshes a second",
        why: "Each refresh writes a segment, and each segment has to be merged: with many small \
              ones the drives are mostly busy merging.",
        remedy: "Refresh less often: 30s if searches can wait that long.",
        value: "\"30s\"",
        risk: "Searches find new documents that much later.",
        before: None,
    },
    IndexCheck {
        key: DURABILITY_KEY,
        is_found: |value| value.eq_ignore_ascii_case("async"),
        severity: Severity::Info,
        title: "acknowledged writes may be lost",
        why: "With durability async a write is acknowledged before it is on disk. A power failure or a \
              crash of the host loses the last 5 seconds (index.translog.sync_interval), on all copies \
              if they share the power supply. In return each request is spared a flush of the drive.",
        remedy: "If lost data cannot be sent again, reset the setting.",
        value: "null",
        risk: "Each request then waits for a flush: small requests become slower, bulk requests hardly.",
        before: Some("\"async\""),
    },
];

fn check(cx: &ClusterContext<'_>, out: &mut Outcome) {
    if cx.settings_or_skip(&RULE, out).is_some() {
        left_over(cx, out);
    }
    let Some(settings) = cx.index_settings_or_skip(&RULE, out) else {
        return;
    };
    merge_threads(cx, settings, out);
    let knows_idle = cx.elasticsearch().is_none() || cx.is_elasticsearch_from(7, 0);
    let checks = CHECKS.iter().chain(knows_idle.then_some(&SET_TO_DEFAULT));
    out.findings
        .extend(checks.filter_map(|check| by_value(cx, settings, check)));
    store_throttle(cx, settings, out);
}

/// Returns the finding about the open indices with a value; `None` if there are none.
fn by_value(
    cx: &ClusterContext<'_>,
    settings: &IndexSettings,
    check: &IndexCheck,
) -> Option<Finding> {
    let found = in_open(settings, check.key, check.is_found);
    if found.is_empty() {
        return None;
    }
    let open = found
        .iter()
        .fold(0, |sum: u64, value| sum.saturating_add(value.open));
    let title = format!(
        "{} in {}",
        check.title,
        units::count::counted(open, "open index", "open indices")
    );
    let mut finding = about_indices(cx, check.severity, check.key, &found, title, check.why);
    let remedy = for_all(cx, check.remedy, check.key, check.value, check.risk);
    finding.add_remedy(match check.before {
        Some(before) => remedy.undo(put_for_all(cx, check.key, before)),
        None => remedy,
    });
    Some(finding)
}

/// Returns the values of a setting that are found and that open indices have.
fn in_open<'s>(
    settings: &'s IndexSettings,
    key: &'s str,
    is_found: impl Fn(&str) -> bool,
) -> Vec<&'s IndexSetting> {
    settings
        .of(key)
        .filter(|value| value.open > 0 && is_found(&value.value))
        .collect()
}

fn threads(value: &str) -> Option<u64> {
    value.trim().parse().ok()
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
        finding.add_evidence(
            format!("GET /_all/_settings: {}", printable(&value.key)),
            format!(
                "{} in {}, such as {}",
                printable(&value.value),
                units::count::counted(value.indices(), "index", "indices"),
                printable(&value.example)
            ),
        );
    }
    finding
}

/// Returns the command that sets a value for all indices, with its downside. The text says that it affects
/// all of them, because it is shown without the command as well.
fn for_all(cx: &ClusterContext<'_>, text: &str, key: &str, value: &str, price: &str) -> Remedy {
    let remedy = Remedy::command(
        format!(
            "{text} `PUT {SHARED}` changes all indices: name yours in place of _all to change only them."
        ),
        put_for_all(cx, key, value),
    );
    if price.is_empty() {
        remedy
    } else {
        remedy.risk(price)
    }
}

fn put_for_all(cx: &ClusterContext<'_>, key: &str, value: &str) -> String {
    cx.put(SHARED, &format!("{{\n  \"{key}\": {value}}}"))
}

fn merge_threads(cx: &ClusterContext<'_>, settings: &IndexSettings, out: &mut Outcome) {
    let several = in_open(settings, THREADS_KEY, |value| {
        threads(value).is_some_and(|threads| threads > 1)
    });
    match drives::of(cx) {
        Drives::Unknown(why) => {
            let one = in_open(settings, THREADS_KEY, ONE_THREAD.is_found);
            if !one.is_empty() || !several.is_empty() {
                out.skip(
                    format!("{} for {THREADS_KEY}", RULE.id),
                    format!("{why}: one thread is right for hard disks only"),
                    Some("bundles of the nodes' hosts"),
                );
            }
        }
        Drives::Flash => {
            if let Some(mut finding) = by_value(cx, settings, &ONE_THREAD) {
                finding.evidence.extend(drives::evidence(cx));
                out.findings.push(finding);
            }
        }
        Drives::Rotating => {
            // The default is half the number of CPUs, at most 4.
            let by_default = settings.at_default(THREADS_KEY);
            if several.is_empty() && by_default == 0 {
                return;
            }
            let severity = finding::warning_if(!several.is_empty());
            let mut finding = about_indices(
                cx,
                severity,
                THREADS_KEY,
                &several,
                "several merge threads on hard disks".to_owned(),
                "A hard disk has to seek between concurrent merges. The default, half the CPUs but \
                 at most 4, is meant for flash.",
            );
            finding.add_evidence(
                format!("GET /_all/_settings: indices without {THREADS_KEY}"),
                by_default,
            );
            finding.evidence.extend(drives::evidence(cx));
            finding.add_remedy(
                for_all(
                    cx,
                    "Use one thread on hard disks.",
                    THREADS_KEY,
                    "1",
                    "Under heavy indexing, writes may then wait for merges: watch the indexing rate.",
                )
                .undo(put_for_all(cx, THREADS_KEY, "null")),
            );
            out.findings.push(finding);
        }
    }
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
        "Store throttling was removed in 2.0: merges throttle themselves. The setting has no \
         effect, and \
         templates that still hold it make new indices fail.",
    );
    finding.add_remedy(Remedy::advice(
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
            "Store throttling was removed in 2.0: merges throttle themselves. The setting has no \
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
        finding.add_remedy(Remedy::advice(
            "Remove it from the configuration file of the nodes and from the cluster settings.",
        ));
    } else {
        finding.add_remedy(Remedy::command(
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
