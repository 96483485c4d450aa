//! # ES009: documents could be stored smaller
//!
//! ## What it finds
//! Open indices that store their documents with the default codec, where this server's version has a
//! denser one.
//!
//! ## Why it hurts
//! It takes disk, and what is on disk has to be written, trimmed, copied and backed up. What a codec
//! brings depends on the server's version and the data:
//!
//! | server | denser codec | size against default |
//! |---|---|---|
//! | Elasticsearch to 8.15 | `best_compression` (DEFLATE, since 2.0) | 0.67 with 6.8.23, measured |
//! | Elasticsearch from 8.16 | `best_compression` (Zstandard) | down to 0.72, its makers say of logs |
//! | OpenSearch to 2.8 | `best_compression` (DEFLATE) | not measured |
//! | OpenSearch from 2.9 | `zstd`, `zstd_no_dict` | 0.65 and 0.70, its makers say of taxi rides |
//!
//! Measured here: 1,866,239 metric documents (1,051 MB of JSON), all segments merged, on XFS. To
//! measure the same kind of documents with another version or drive:
//!
//! ```text
//! trimtab bench filesystems --server elasticsearch-6.8.23 \
//!   --variants xfs,xfs+best_compression
//! ```
//!
//! Other kinds of data compress differently: try it on a copy of one index.
//!
//! ## Evidence
//! The server's version, the number of indices with each codec, and the size of the data.
//!
//! ## Remedy
//! `index.codec` in the templates of new indices. An old index takes it while it is closed; only
//! segments that are written afterwards have it, so that a force merge to one segment rewrites all.
//!
//! ## Risk
//! Fetching documents costs more processor time: with Zstandard in 8.17 one user measured 30 to 45 %
//! more (issue 119662). OpenSearch's `zstd` cannot be used for k-NN and Security Analytics indices, and
//! snapshots with it cannot be restored by OpenSearch before 2.9.
//!
//! ## When it is silent
//! With less than 10 GiB of data on all nodes; where every open index sets a codec. It is never more
//! than an information.
//!
//! ## References
//! - Elasticsearch reference, index.codec; pull request 112665 (Zstandard, 8.16)
//! - OpenSearch documentation, "Index codecs"
//! - FS001, on the filesystem's compression

use crate::cluster::ClusterContext;
use crate::outcome::Outcome;
use crate::rule::{Check, Rule};
use crate::shell::{printable, server_operand};
use crate::wording;
use facts::cluster::{Flavour, IndexSetting, IndexSettings};
use facts::{Evidence, Remedy, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "ES009",
    title: "documents could be stored smaller",
    source: include_str!("es009.rs"),
    check: Check::Cluster(check),
};

const CODEC_KEY: &str = "index.codec";
/// Minimum size of the data to report.
const STORE_MIN_BYTES: u64 = 10 << 30;

/// The denser codec of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Denser {
    /// DEFLATE under the name `best_compression`, and whether the figure was measured with
    /// Elasticsearch.
    Deflate { is_elasticsearch: bool },
    /// Zstandard under the name `best_compression`.
    BestIsZstd,
    /// Zstandard under its own names.
    Zstd,
}

impl Denser {
    fn of(cx: &ClusterContext<'_>) -> Option<Self> {
        let version = &cx.cluster.version;
        match cx.cluster.flavour {
            Flavour::Opensearch if (version.major, version.minor) >= (2, 9) => Some(Self::Zstd),
            Flavour::Opensearch => Some(Self::Deflate {
                is_elasticsearch: false,
            }),
            Flavour::Elasticsearch if cx.is_elasticsearch_from(8, 16) => Some(Self::BestIsZstd),
            Flavour::Elasticsearch if version.major >= 2 => Some(Self::Deflate {
                is_elasticsearch: true,
            }),
            Flavour::Elasticsearch => None,
        }
    }

    /// Returns the value of `index.codec`.
    fn value(self) -> &'static str {
        match self {
            Self::Deflate { .. } | Self::BestIsZstd => "best_compression",
            Self::Zstd => "zstd_no_dict",
        }
    }

    /// Describes the savings and the server they were measured on.
    fn brings(self) -> &'static str {
        match self {
            Self::Deflate {
                is_elasticsearch: true,
            } => {
                "best_compression (DEFLATE) took 0.67 of the size on Elasticsearch 6.8.23, \
                 measured with \
                 metric documents on XFS"
            }
            Self::Deflate {
                is_elasticsearch: false,
            } => {
                "best_compression (DEFLATE) took 0.67 of the size on Elasticsearch 6.8.23, \
                 measured with \
                 metric documents on XFS; OpenSearch before 2.9 was not measured"
            }
            Self::BestIsZstd => {
                "best_compression is Zstandard from 8.16 on: its makers report 0.72 of the size \
                 and faster indexing for logs at best (0.67 was measured here on Elasticsearch \
                 6.8.23, with DEFLATE)"
            }
            Self::Zstd => {
                "OpenSearch's makers report 0.70 of the size and 14 % more throughput with \
                 zstd_no_dict, and 0.65 with zstd, for taxi rides; not measured here"
            }
        }
    }
}

fn check(cx: &ClusterContext<'_>, out: &mut Outcome) {
    let Some(settings) = cx.index_settings_or_skip(&RULE, out) else {
        return;
    };
    let what = "how many indices are open";
    let path = "/_cluster/state/metadata";
    let Some(indices) = cx.or_skip(cx.cluster.indices.as_ref(), &RULE, what, path, out) else {
        return;
    };
    let Some(denser) = Denser::of(cx) else {
        return;
    };
    let at_default = open_at_default(settings, indices.open);
    let store_bytes = store_bytes(cx);
    if at_default == 0 || store_bytes.is_some_and(|bytes| bytes < STORE_MIN_BYTES) {
        return;
    }
    let mut finding = cx.about_cluster(
        &RULE,
        Severity::Info,
        format!(
            "{} of {} store documents with the default codec",
            units::grouped(at_default),
            units::count::counted(indices.open, "open index", "open indices")
        ),
    );
    finding.why = format!(
        "This is {}: {}. What it saves depends on the version and the data, not on the filesystem.{}",
        cx.server(),
        denser.brings(),
        if cx.is_elasticsearch_from(8, 15) {
            " Indices in logsdb mode compress without this setting."
        } else {
            ""
        }
    );
    if let Some(bytes) = store_bytes {
        finding.evidence.push(Evidence::new(
            "GET /_nodes/stats/indices/store: all nodes",
            units::bytes(bytes),
        ));
    }
    finding.evidence.push(Evidence::new(
        "GET /_all/_settings: open indices without index.codec, or with default",
        at_default,
    ));
    for value in settings.of(CODEC_KEY).take(wording::EVIDENCE_MAX) {
        finding.evidence.push(Evidence::new(
            format!("GET /_all/_settings: {CODEC_KEY}"),
            format!(
                "{} in {}",
                printable(&value.value),
                units::count::counted(value.open, "open index", "open indices")
            ),
        ));
    }
    finding.remedy = remedies(cx, denser);
    out.findings.push(finding);
}

/// Returns the number of open indices with the default codec, explicitly set or not.
fn open_at_default(settings: &IndexSettings, open: u64) -> u64 {
    let is_default = |value: &&IndexSetting| value.value == "default";
    let others = settings
        .of(CODEC_KEY)
        .filter(|value| !is_default(value))
        .map(|value| value.open)
        .fold(0, u64::saturating_add);
    open.saturating_sub(others)
}

/// Returns the size of the data on all nodes; `None` if no node reported it.
fn store_bytes(cx: &ClusterContext<'_>) -> Option<u64> {
    let nodes = cx.cluster.nodes.iter().flatten();
    nodes
        .filter_map(|node| node.store_bytes)
        .reduce(u64::saturating_add)
}

fn remedies(cx: &ClusterContext<'_>, denser: Denser) -> Vec<Remedy> {
    let value = denser.value();
    let mut all = vec![
        Remedy::advice(format!(
            "Set index.codec: {value} in the templates of new indices, first for those whose \
             documents are seldom fetched (logs, metrics)."
        ))
        .risk(match denser {
            Denser::Deflate { .. } => "Fetching documents costs more processor time.",
            Denser::BestIsZstd => {
                "Fetching documents costs more processor time: one user of 8.17 measured 30 to 45 \
                 % more \
                 than with DEFLATE."
            }
            Denser::Zstd => {
                "Not for k-NN and Security Analytics indices; the nodes need the plugin \
                 opensearch-custom-codecs (in the full distribution), and OpenSearch before 2.9 cannot restore \
                 snapshots of such indices."
            }
        })
        .undo("Set index.codec to default in the templates; merges rewrite old segments over time."),
    ];
    all.push(
        Remedy::advice(format!(
            "For an old index that is no longer written: close it, set index.codec to {value}, \
             open it, and force merge it to one segment, which rewrites it."
        ))
        .risk(
            "It reads and writes the whole index, temporarily needs as much free space again, and \
             the index cannot be searched while it is closed.",
        ),
    );
    // Of OpenSearch's own codecs the experiment has none, and it runs no server before 5.
    if !matches!(denser, Denser::Zstd)
        && (cx.elasticsearch().is_none() || cx.is_elasticsearch_from(5, 0))
    {
        all.push(Remedy::command(
            "To measure what it gains on this version, on a machine without production \
                 data: the space of metric documents, and the time of queries.",
            format!(
                "trimtab bench filesystems --variants xfs,xfs+best_compression \\\n  --server {}",
                server_operand(cx.cluster.flavour.label(), &cx.cluster.version.to_string())
            ),
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_cluster::{TestCluster, assert_well_formed};
    use crate::test_host::only;

    #[test]
    fn each_version_names_its_codec_and_the_source_of_figures() {
        for (cluster, value, words) in [
            (
                TestCluster::new().version("6.8.23"),
                "best_compression",
                "0.67 of the size on Elasticsearch 6.8.23",
            ),
            (
                TestCluster::new().version("8.15.5"),
                "best_compression",
                "(DEFLATE)",
            ),
            (
                TestCluster::new().version("8.16.0"),
                "best_compression",
                "Zstandard from 8.16",
            ),
            (
                TestCluster::new().opensearch("2.8.0"),
                "best_compression",
                "OpenSearch before 2.9 was not measured",
            ),
            (
                TestCluster::new().opensearch("2.9.0"),
                "zstd_no_dict",
                "zstd_no_dict",
            ),
        ] {
            let outcome = cluster.check(&RULE);
            assert_well_formed(&outcome);
            let finding = only(&outcome);
            assert_eq!(finding.severity, Severity::Info);
            assert!(finding.why.contains(words), "{}", finding.why);
            assert!(finding.why.starts_with("This is "));
            assert!(finding.remedy[0].text.contains(value));
        }
    }

    #[test]
    fn open_indices_without_a_codec_are_counted() {
        let outcome = TestCluster::new()
            .index_setting(CODEC_KEY, "best_compression", 60)
            .index_setting(CODEC_KEY, "default", 10)
            .check(&RULE);
        assert_well_formed(&outcome);
        assert_eq!(
            only(&outcome).title,
            "40 of 100 open indices store documents with the default codec"
        );
    }

    #[test]
    fn nothing_to_gain_is_silent() {
        let small = |cluster: &mut facts::Cluster| {
            for node in cluster.nodes.iter_mut().flatten() {
                node.store_bytes = Some(1 << 30);
            }
        };
        for cluster in [
            TestCluster::new().index_setting(CODEC_KEY, "best_compression", 100),
            TestCluster::new().with(small),
            TestCluster::new().version("1.7.6"),
        ] {
            assert_eq!(cluster.check(&RULE), Outcome::default());
        }
    }

    #[test]
    fn reported_without_sizes() {
        let outcome = TestCluster::new()
            .with(|cluster| {
                for node in cluster.nodes.iter_mut().flatten() {
                    node.store_bytes = None;
                }
            })
            .check(&RULE);
        assert_eq!(outcome.findings.len(), 1);
    }

    #[test]
    fn missing_answers_are_skipped() {
        for forget in [
            |cluster: &mut facts::Cluster| cluster.index_settings = None,
            |cluster: &mut facts::Cluster| cluster.indices = None,
        ] {
            let outcome = TestCluster::new().with(forget).check(&RULE);
            assert_well_formed(&outcome);
            assert!(outcome.findings.is_empty());
            assert_eq!(outcome.skipped.len(), 1);
        }
    }
}
