//! The articles' documents and query, as tracks for a server's version.
//!
//! Metrics of two hosts, one second apart, as Metricbeat's system module sends them; the query is a date histogram of 30
//! minutes over a day, with the mean of one field, in Tokyo's time. It reads two columns of one day over and over, which
//! fit into any memory; where data is to be larger than memory, queries that read all columns and documents are sent.

use crate::server::{Product, Version};
use serde_json::{Value, json};
use std::time::Duration;

pub(crate) const INDEX: &str = "metricbeat-2017.04.07";
/// Documents of both hosts with every field in them.
const MAPPING_DOCUMENTS: u64 = 2 * DOCUMENTS_PER_SECOND;
/// Documents that two hosts sent each second.
const DOCUMENTS_PER_SECOND: u64 = 90;
/// Requests a second in which those are written beside queries.
pub(crate) const INGEST_PER_S: u64 = 10;
/// When the first documents were sent.
const FIRST_MS: u64 = 1_491_523_200_000;
const DAY_MS: u64 = 86_400_000;
/// Fields of which some queries take the mean.
const FIELDS: [&str; 10] = [
    "system.cpu.user.pct",
    "system.cpu.system.pct",
    "system.load.1",
    "system.memory.actual.used.pct",
    "system.core.user.pct",
    "system.process.cpu.total.pct",
    "system.process.memory.rss.bytes",
    "system.network.in.bytes",
    "system.diskio.write.bytes",
    "system.filesystem.used.pct",
];
/// Metricbeat 5 sent 50 at a time; larger requests spend less of the time on HTTP.
const DOCUMENTS_PER_REQUEST: u64 = 500;
/// As many shards as an index of the time had.
const SHARDS: u32 = 5;

/// What a server's version takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    /// The mapping type of documents, which Elasticsearch before 7 asks for.
    mapping_type: Option<&'static str>,
    /// Name of the distance of a date histogram.
    interval: &'static str,
    /// Whether field types of x-pack's and Elastic's modules are there.
    has_scaled_float: bool,
    /// Whether each document is also indexed as one text.
    has_all_field: bool,
    /// Whether a translog is kept after a flush, up to 512 MB a shard, which would be measured as well.
    keeps_translog: bool,
}

impl Dialect {
    /// Returns what `product` takes. `has_scaled_float`: whether the module mapper-extras is installed.
    pub(crate) fn of(product: Product, version: &Version, has_scaled_float: bool) -> Self {
        let is_before = |release| product == Product::Elasticsearch && *version < release;
        Self {
            mapping_type: is_before((7, 0)).then_some("doc"),
            interval: if is_before((7, 2)) {
                "interval"
            } else {
                "fixed_interval"
            },
            has_scaled_float,
            has_all_field: is_before((6, 0)),
            keeps_translog: is_before((7, 0)) && !is_before((6, 0)),
        }
    }

    /// Settings and mappings of the index, as Metricbeat's template has them.
    fn index(self, best_compression: bool) -> Value {
        let mut templates = vec![json!({ "strings_as_keyword": {
            "match_mapping_type": "string",
            "mapping": { "type": "keyword", "ignore_above": 1024 }
        } })];
        if self.has_scaled_float {
            templates.push(json!({ "shares": {
                "match": "pct",
                "match_mapping_type": "*",
                "mapping": { "type": "scaled_float", "scaling_factor": 1000 }
            } }));
        }
        templates.push(json!({ "doubles": {
            "match_mapping_type": "double",
            "mapping": { "type": "float" }
        } }));
        let mut mapping = json!({
            "date_detection": false,
            "dynamic_templates": templates,
            "properties": { "@timestamp": { "type": "date" } }
        });
        if self.has_all_field {
            // Metricbeat's template leaves it on, and it would be half of the index.
            mapping["_all"] = json!({ "enabled": false });
        }
        let mut settings = json!({
            "index.number_of_shards": SHARDS,
            "index.number_of_replicas": 0,
            "index.refresh_interval": "5s",
            // The size of its files may be ten seconds old otherwise.
            "index.store.stats_refresh_interval": "1s",
            "index.codec": if best_compression { "best_compression" } else { "default" },
        });
        if self.keeps_translog {
            settings["index.translog.retention.size"] = json!("-1");
            settings["index.translog.retention.age"] = json!("-1");
        }
        json!({
            "settings": settings,
            "mappings": match self.mapping_type {
                Some(name) => json!({ name: mapping }),
                None => mapping,
            }
        })
    }

    /// The track that writes `documents` documents.
    pub(crate) fn ingest(self, documents: u64, best_compression: bool) -> String {
        let requests = documents.div_ceil(DOCUMENTS_PER_REQUEST);
        format!(
            r#"name = "ingest"
seed = 1

[[setup]]
method = "PUT"
path = "/{INDEX}"
body = '{index}'

[generator.metrics]
kind = "metricbeat"

{index_operation}
# One document after the other, until all fields are mapped: shards that map the same field at once may refuse documents.
{map_operation}
[[phase]]
name = "mapping"
kind = "warm-up"
load = [{{ operation = "map", clients = 1, count = {MAPPING_DOCUMENTS} }}]

[[phase]]
name = "ingest"
load = [{{ operation = "index", clients = 2, count = {requests}, background = true }}]
"#,
            index = self.index(best_compression),
            index_operation = self.bulk("index", DOCUMENTS_PER_REQUEST),
            map_operation = self.bulk("map", 1),
        )
    }

    /// An operation that writes `documents` documents in each request.
    fn bulk(self, name: &str, documents: u64) -> String {
        let mapping_type = self
            .mapping_type
            .map_or(String::new(), |name| format!("mapping_type = \"{name}\"\n"));
        format!(
            r#"[operation.{name}]
kind = "bulk"
generator = "metrics"
index = "{INDEX}"
documents = {documents}
{mapping_type}"#
        )
    }

    /// The track that queries, one query after the other.
    pub(crate) fn query(self, of: &Queries) -> String {
        let (operations, background) = match of.ingest_requests {
            None => (String::new(), String::new()),
            Some(count) => (
                format!(
                    "\n[generator.metrics]\nkind = \"metricbeat\"\n\n{}",
                    self.bulk("index", DOCUMENTS_PER_SECOND / INGEST_PER_S)
                ),
                format!(
                    ", {{ operation = \"index\", rate = \"{INGEST_PER_S}/s\", count = {count}, background = true }}"
                ),
            ),
        };
        let parameters = if of.reads_everything {
            let fields = FIELDS.map(|field| format!("\"{field}\"")).join(", ");
            let last_ms = FIRST_MS + (of.documents * 1_000 / DOCUMENTS_PER_SECOND).max(600_000);
            format!(
                r#"parameters.field = {{ kind = "choice", values = [{fields}] }}
parameters.from = {{ kind = "number", min = {FIRST_MS}, max = {last_ms} }}
parameters.until = {{ kind = "after", parameter = "from", by = "10m" }}
"#
            )
        } else {
            String::new()
        };
        format!(
            r#"name = "{name}"
seed = 1
{operations}
[operation.query]
kind = "search"
index = "{INDEX}"
request_cache = {is_cached}
body = '{body}'
{parameters}
[[phase]]
name = "warm-up"
kind = "warm-up"
load = [{{ operation = "query", clients = 1, count = {warm_up} }}]

[[phase]]
name = "queries"
{pause}load = [{{ operation = "query", {pace}, count = {measured} }}{background}]
"#,
            pace = of.rate_per_s.map_or_else(
                || "clients = 1".to_owned(),
                |rate| format!("rate = \"{rate}/s\"")
            ),
            name = of.name,
            is_cached = of.request_cache,
            body = self.body(of.reads_everything),
            warm_up = of.warm_up,
            pause = match of.pause.as_millis() {
                0 => String::new(),
                pause_ms => format!("pause = \"{pause_ms}ms\"\n"),
            },
            measured = of.measured,
        )
    }

    /// A query. `reads_everything`: ten minutes anywhere, the mean of any field, and the last 50 documents.
    pub(crate) fn body(self, reads_everything: bool) -> String {
        let (size, from, until, field) = if reads_everything {
            (50, json!("{{from}}"), json!("{{until}}"), "{{field}}")
        } else {
            let (from, until) = (json!(FIRST_MS), json!(FIRST_MS + DAY_MS));
            (0, from, until, "system.process.cpu.total.pct")
        };
        let range = json!({ "gte": from, "lte": until, "format": "epoch_millis" });
        let mut body = json!({
            "size": size,
            "query": { "bool": { "must": [
                { "query_string": { "query": "*", "analyze_wildcard": true } },
                { "range": { "@timestamp": range } }
            ] } },
            "aggs": { "time": {
                "date_histogram": {
                    "field": "@timestamp",
                    self.interval: "30m",
                    "time_zone": "Asia/Tokyo",
                    "min_doc_count": 1
                },
                "aggs": { "mean": { "avg": { "field": field } } }
            } }
        });
        if reads_everything {
            // Equals are taken from the first shard, so that without an order all documents would be of that one.
            body["sort"] = json!([{ "@timestamp": { "order": "desc" } }]);
        }
        body.to_string()
    }
}

/// Documents that are written if so many are asked for: whole requests, and those that map the fields.
pub(crate) fn documents_written(documents: u64) -> u64 {
    MAPPING_DOCUMENTS + documents.div_ceil(DOCUMENTS_PER_REQUEST) * DOCUMENTS_PER_REQUEST
}

/// Queries of a trial.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queries {
    /// Name of the track.
    pub(crate) name: &'static str,
    /// Whether the server may answer from its request cache.
    pub(crate) request_cache: bool,
    /// Queries that warm up.
    pub(crate) warm_up: u64,
    /// Queries that are measured.
    pub(crate) measured: u64,
    /// Time between both.
    pub(crate) pause: Duration,
    /// Measured queries a second; `None`: one after the other.
    pub(crate) rate_per_s: Option<u64>,
    /// Whether queries differ, and read all columns and documents.
    pub(crate) reads_everything: bool,
    /// Requests that are written beside the measured queries, [`INGEST_PER_S`] a second.
    pub(crate) ingest_requests: Option<u64>,
    /// Documents in the index.
    pub(crate) documents: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::track::Track;

    const QUERIES: Queries = Queries {
        name: "query",
        request_cache: false,
        warm_up: 500,
        measured: 1_000,
        pause: Duration::from_mins(1),
        rate_per_s: None,
        reads_everything: false,
        ingest_requests: None,
        documents: 1_000_000,
    };

    fn dialect(product: Product, version: &str) -> Dialect {
        Dialect::of(product, &Version::parse(version).unwrap(), true)
    }

    #[test]
    fn tracks_are_valid_for_each_version() {
        for (product, version) in [
            (Product::Elasticsearch, "5.6.16"),
            (Product::Elasticsearch, "6.8.23"),
            (Product::Elasticsearch, "8.11.0"),
            (Product::Opensearch, "2.19.1"),
        ] {
            let dialect = dialect(product, version);
            let mut texts = vec![dialect.ingest(1_000_000, true)];
            for (reads_everything, ingest_requests) in [(false, None), (true, Some(20))] {
                texts.push(dialect.query(&Queries {
                    reads_everything,
                    ingest_requests,
                    rate_per_s: ingest_requests,
                    ..QUERIES
                }));
            }
            for text in texts {
                text.parse::<Track>()
                    .unwrap_or_else(|error| panic!("{version}: {error}\n{text}"));
            }
        }
    }

    #[test]
    fn each_version_gets_what_it_takes() {
        let five = dialect(Product::Elasticsearch, "5.6.16");
        let six = dialect(Product::Elasticsearch, "6.8.23");
        let open = dialect(Product::Opensearch, "2.19.1");
        assert!(six.index(false)["mappings"]["doc"]["properties"].is_object());
        assert!(open.index(false)["mappings"]["properties"].is_object());
        assert_eq!(
            six.index(true)["settings"]["index.translog.retention.size"],
            "-1"
        );
        for other in [five, open] {
            assert!(other.index(true)["settings"]["index.translog.retention.size"].is_null());
        }
        assert_eq!(
            five.index(false)["mappings"]["doc"]["_all"]["enabled"],
            false
        );
        assert!(six.query(&QUERIES).contains("\"interval\":\"30m\""));
        assert!(open.query(&QUERIES).contains("\"fixed_interval\":\"30m\""));
        let any = open.query(&Queries {
            reads_everything: true,
            ..QUERIES
        });
        assert!(any.contains("\"{{from}}\""), "{any}");
    }
}
