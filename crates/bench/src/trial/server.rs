//! What the servers count: merges, refreshes, collections, caches, sizes, from `_nodes/stats`.

use bounded_http::{Client, Endpoint, ErrorKind, HttpError, Secret};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How a figure behaves over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It counts up; a rate per second is recorded.
    Counter,
    /// It goes up and down; it is recorded as it is.
    Gauge,
}

/// A figure of each node, added up over the nodes.
struct Figure {
    name: &'static str,
    kind: Kind,
    /// Where it is below the node; `*` is any key.
    path: &'static str,
    /// What a value is multiplied by.
    scale: f64,
}

const fn figure(name: &'static str, path: &'static str, kind: Kind, scale: f64) -> Figure {
    Figure {
        name,
        kind,
        path,
        scale,
    }
}

const fn counter(name: &'static str, path: &'static str) -> Figure {
    figure(name, path, Kind::Counter, 1.0)
}

/// A counter of milliseconds, in seconds.
const fn time_s(name: &'static str, path: &'static str) -> Figure {
    figure(name, path, Kind::Counter, 0.001)
}

const fn gauge(name: &'static str, path: &'static str) -> Figure {
    figure(name, path, Kind::Gauge, 1.0)
}

/// The same in Elasticsearch 5 to 9 and OpenSearch 1 to 3.
const FIGURES: &[Figure] = &[
    counter("indexed_documents", "indices.indexing.index_total"),
    time_s("indexing_time_s", "indices.indexing.index_time_in_millis"),
    time_s(
        "indexing_throttled_s",
        "indices.indexing.throttle_time_in_millis",
    ),
    counter("queries", "indices.search.query_total"),
    time_s("query_time_s", "indices.search.query_time_in_millis"),
    gauge(MERGES_RUNNING, "indices.merges.current"),
    counter("merges", "indices.merges.total"),
    time_s("merge_time_s", "indices.merges.total_time_in_millis"),
    counter("merged_bytes", "indices.merges.total_size_in_bytes"),
    counter("refreshes", "indices.refresh.total"),
    time_s("refresh_time_s", "indices.refresh.total_time_in_millis"),
    counter("flushes", "indices.flush.total"),
    counter(REQUEST_CACHE_HITS, "indices.request_cache.hit_count"),
    counter("request_cache_misses", "indices.request_cache.miss_count"),
    counter("query_cache_hits", "indices.query_cache.hit_count"),
    counter("query_cache_misses", "indices.query_cache.miss_count"),
    gauge("store_bytes", "indices.store.size_in_bytes"),
    gauge("translog_bytes", "indices.translog.size_in_bytes"),
    counter("gc_collections", "jvm.gc.collectors.*.collection_count"),
    time_s("gc_time_s", "jvm.gc.collectors.*.collection_time_in_millis"),
    gauge("heap_used_bytes", "jvm.mem.heap_used_in_bytes"),
    counter("rejected", "thread_pool.*.rejected"),
];

const MERGES_RUNNING: &str = "merges_running";
/// Searches that the request cache answered.
pub(super) const REQUEST_CACHE_HITS: &str = "request_cache_hits";
/// Shards that move between nodes.
pub(super) const RELOCATING: &str = "relocating_shards";

const STATS: &str = "/_nodes/stats/indices,jvm,thread_pool?filter_path=\
    nodes.*.indices.indexing.index_total,nodes.*.indices.indexing.*_time_in_millis,\
    nodes.*.indices.search.query_t*,nodes.*.indices.merges.current,nodes.*.indices.merges.total*,\
    nodes.*.indices.refresh.total*,nodes.*.indices.flush.total,\
    nodes.*.indices.request_cache.*_count,nodes.*.indices.query_cache.*_count,\
    nodes.*.indices.store.size_in_bytes,nodes.*.indices.translog.size_in_bytes,\
    nodes.*.jvm.gc.collectors.*.collection_*,nodes.*.jvm.mem.heap_used_in_bytes,\
    nodes.*.thread_pool.*.rejected";
const HEALTH: &str = "/_cluster/health?filter_path=relocating_shards";
const NODES: &str = "/_nodes/process,jvm?filter_path=nodes.*.name,nodes.*.version,nodes.*.process.id,\
    nodes.*.jvm.version,nodes.*.jvm.mem.heap_max_in_bytes";
const ROOT: &str = "/";

/// Figures at one time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServerReading {
    /// On a clock that is never set.
    pub at: Duration,
    values: BTreeMap<&'static str, f64>,
}

/// The servers, as they describe themselves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// Product and version: `Elasticsearch 8.15.0`.
    pub server: Option<String>,
    /// Versions of the nodes, each once.
    pub versions: BTreeSet<String>,
    /// Versions of their Java machines.
    pub java: BTreeSet<String>,
    /// Sizes of their heaps in bytes.
    pub heap_bytes: BTreeSet<u64>,
    /// Number of nodes.
    pub nodes: usize,
    /// Their process ids, in the numbering of their own hosts.
    pub pids: Vec<u32>,
}

/// Asks servers.
#[derive(Debug, Clone)]
pub struct ServerReader {
    client: Client,
    endpoint: Endpoint,
    /// What must not be in a trial, though a server may repeat it.
    secret: Option<Secret>,
}

/// The longest name or version that is kept.
const NAME_COLUMNS_MAX: usize = 200;

impl ServerReader {
    /// Asks the cluster at `endpoint`.
    pub fn new(client: Client, endpoint: Endpoint) -> Self {
        let credentials = &client.options().credentials;
        Self {
            // A client has checked that they can be sent.
            secret: credentials.authorization().ok().flatten(),
            client,
            endpoint,
        }
    }

    /// Describes an error without credentials.
    pub fn describe(&self, error: &HttpError) -> String {
        self.without_secret(&error.to_string())
    }

    fn without_secret(&self, text: &str) -> String {
        match &self.secret {
            Some(secret) => secret.redacted(text),
            None => text.to_owned(),
        }
    }

    /// Asks who answers.
    ///
    /// # Errors
    /// If nobody does, or it is neither Elasticsearch nor OpenSearch.
    pub fn identify(&self) -> Result<Identity, HttpError> {
        let root = match self.client.get_json(&self.endpoint, ROOT) {
            // A server built for tests, or a proxy, may have no such page.
            Err(error) if matches!(error.kind, ErrorKind::Status { .. }) => Value::Null,
            other => other?,
        };
        let nodes: Value = self.client.get_json(&self.endpoint, NODES)?;
        let name = |text: &str| {
            let text = self.without_secret(text);
            units::cut(&units::escape(&text), NAME_COLUMNS_MAX).into_owned()
        };
        Ok(identity(&root, &nodes, &name))
    }

    /// Reads the figures.
    ///
    /// # Errors
    /// If they cannot be had.
    pub fn read(&self, at: Duration) -> Result<ServerReading, HttpError> {
        let stats: Value = self.client.get_json(&self.endpoint, STATS)?;
        let mut values = sums(&stats);
        // A user may lack the right to ask for the cluster's health.
        if let Ok(health) = self.client.get_json::<Value>(&self.endpoint, HEALTH)
            && let Some(count) = health.get(RELOCATING).and_then(Value::as_f64)
        {
            values.insert(RELOCATING, count);
        }
        Ok(ServerReading { at, values })
    }
}

fn identity(root: &Value, nodes: &Value, name: &dyn Fn(&str) -> String) -> Identity {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(name);
    let version = root.get("version");
    let number = text(version.and_then(|version| version.get("number")));
    let product = text(version.and_then(|version| version.get("distribution")));
    let product = match product.as_deref() {
        Some("opensearch") => "OpenSearch",
        _ => "Elasticsearch",
    };
    let mut found = Identity {
        server: number.map(|number| format!("{product} {number}")),
        ..Identity::default()
    };
    let nodes = nodes.get("nodes").and_then(Value::as_object);
    for node in nodes.into_iter().flat_map(|nodes| nodes.values()) {
        found.nodes += 1;
        found.versions.extend(text(node.get("version")));
        found.java.extend(text(node.pointer("/jvm/version")));
        let heap = node.pointer("/jvm/mem/heap_max_in_bytes");
        found.heap_bytes.extend(heap.and_then(Value::as_u64));
        let pid = node.pointer("/process/id").and_then(Value::as_u64);
        found
            .pids
            .extend(pid.and_then(|pid| u32::try_from(pid).ok()));
    }
    let versions: Vec<String> = found.versions.iter().cloned().collect();
    if found.server.is_none() && !versions.is_empty() {
        found.server = Some(versions.join(", "));
    }
    found
}

/// Each figure, summed over the nodes that have it.
fn sums(stats: &Value) -> BTreeMap<&'static str, f64> {
    let mut sums = BTreeMap::new();
    let nodes = stats.get("nodes").and_then(Value::as_object);
    for node in nodes.into_iter().flat_map(|nodes| nodes.values()) {
        for figure in FIGURES {
            let path: Vec<&str> = figure.path.split('.').collect();
            if let Some(value) = sum_at(node, &path) {
                *sums.entry(figure.name).or_insert(0.0) += value * figure.scale;
            }
        }
    }
    sums
}

fn sum_at(value: &Value, path: &[&str]) -> Option<f64> {
    match path {
        [] => value.as_f64(),
        ["*", rest @ ..] => {
            let parts = value.as_object()?.values();
            let found: Vec<f64> = parts.filter_map(|part| sum_at(part, rest)).collect();
            (!found.is_empty()).then(|| found.iter().sum())
        }
        [key, rest @ ..] => sum_at(value.get(key)?, rest),
    }
}

/// Names of the columns: counters end in `_per_s`, unless they are times, whose rate is a share.
pub(super) fn columns() -> Vec<String> {
    FIGURES
        .iter()
        .map(|figure| match figure.kind {
            Kind::Counter => format!("{}_per_s", figure.name),
            Kind::Gauge => figure.name.to_owned(),
        })
        .chain([RELOCATING.to_owned()])
        .collect()
}

/// One value for each column, between two readings. A counter that went back, because a node was started again,
/// has no rate.
pub(super) fn values(before: &ServerReading, after: &ServerReading) -> Vec<Option<f64>> {
    let passed_s = after.at.saturating_sub(before.at).as_secs_f64();
    FIGURES
        .iter()
        .map(|figure| match figure.kind {
            Kind::Gauge => after.values.get(figure.name).copied(),
            Kind::Counter => {
                let grown = growth(before, after, figure.name)?;
                (passed_s > 0.0).then(|| grown / passed_s)
            }
        })
        .chain([after.values.get(RELOCATING).copied()])
        .collect()
}

/// What the counters counted between two readings, and the gauges at the end.
pub(super) fn totals(before: &ServerReading, after: &ServerReading) -> BTreeMap<String, f64> {
    FIGURES
        .iter()
        // How many merges run in one moment says nothing of the trial.
        .filter(|figure| figure.name != MERGES_RUNNING)
        .filter_map(|figure| {
            let value = match figure.kind {
                Kind::Counter => growth(before, after, figure.name),
                Kind::Gauge => after.values.get(figure.name).copied(),
            };
            Some((figure.name.to_owned(), value?))
        })
        .collect()
}

fn growth(before: &ServerReading, after: &ServerReading, name: &str) -> Option<f64> {
    let grown = after.values.get(name)? - before.values.get(name)?;
    (grown >= 0.0).then_some(grown)
}

impl ServerReading {
    /// Shards that moved at this time.
    pub(super) fn relocating(&self) -> Option<f64> {
        self.values.get(RELOCATING).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stats(merges: u64, gc_ms: u64) -> Value {
        let node = |factor: u64| {
            json!({
                "indices": {
                    "merges": { "total": merges * factor, "current": 1, "total_time_in_millis": 500 * merges },
                    "store": { "size_in_bytes": 1000 * factor }
                },
                "jvm": { "gc": { "collectors": {
                    "young": { "collection_count": 1, "collection_time_in_millis": gc_ms },
                    "old": { "collection_count": 2, "collection_time_in_millis": gc_ms }
                } } }
            })
        };
        json!({ "nodes": { "a": node(1), "b": node(2) } })
    }

    fn reading(at_s: u64, stats: &Value) -> ServerReading {
        ServerReading {
            at: Duration::from_secs(at_s),
            values: sums(stats),
        }
    }

    #[test]
    fn figures_are_added_up_over_nodes_and_collectors() {
        let (before, after) = (reading(10, &stats(10, 0)), reading(12, &stats(14, 250)));
        let totals = totals(&before, &after);
        // Node a: 4, node b: 8; two nodes with two collectors each.
        for (name, expected) in [
            ("merges", 12.0),
            ("merge_time_s", 4.0),
            ("gc_time_s", 1.0),
            ("store_bytes", 3000.0),
        ] {
            assert_eq!(totals.get(name), Some(&expected), "{name}");
        }
        assert!(!totals.contains_key("queries"));
        let row: BTreeMap<String, Option<f64>> =
            columns().into_iter().zip(values(&before, &after)).collect();
        assert_eq!(row["merges_per_s"], Some(6.0));
        assert_eq!(row["merges_running"], Some(2.0));
        assert_eq!(row["relocating_shards"], None);
    }

    #[test]
    fn counters_that_begin_again_have_no_rate() {
        let (before, after) = (reading(0, &stats(10, 9)), reading(1, &stats(3, 0)));
        let totals = totals(&before, &after);
        assert!(!totals.contains_key("merges") && !totals.contains_key("gc_time_s"));
    }

    #[test]
    fn servers_say_who_they_are() {
        let root = json!({ "cluster_name": "c", "version": { "number": "2.19.1", "distribution": "opensearch" } });
        let nodes = json!({ "nodes": {
            "x": { "version": "2.19.1", "process": { "id": 77 }, "jvm": { "version": "21.0.6", "mem": { "heap_max_in_bytes": 5 } } },
            "y": { "version": "2.19.1", "process": { "id": -1 } }
        } });
        let found = identity(&root, &nodes, &str::to_owned);
        assert_eq!(found.server.as_deref(), Some("OpenSearch 2.19.1"));
        assert_eq!((found.nodes, found.pids), (2, vec![77]));
        assert_eq!(found.heap_bytes.into_iter().collect::<Vec<_>>(), [5]);
        let unnamed = identity(&Value::Null, &nodes, &str::to_owned);
        assert_eq!(unnamed.server.as_deref(), Some("2.19.1"));
        assert_eq!(
            identity(&Value::Null, &Value::Null, &str::to_owned).server,
            None
        );
    }
}
