//! The tables of a track. `validate` checks what the types alone cannot say.

use super::values::{Count, Rate, Size, Span};
use crate::validity::Start;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A track: the documents, the requests, and the phases in which they are sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Track {
    /// A name for display.
    pub name: String,
    /// The seed of everything random: documents, parameters, planned starts.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// What must be in memory when the first measured phase begins. It is checked, not brought about.
    #[serde(default)]
    pub start: Start,
    /// Requests before the first phase, in order; one that fails ends the trial.
    #[serde(default)]
    pub setup: Vec<Request>,
    /// Requests after the last phase, in order, also if a phase failed.
    #[serde(default)]
    pub teardown: Vec<Request>,
    /// Generators of documents, by name.
    #[serde(default)]
    pub generator: BTreeMap<String, GeneratorSpec>,
    /// Classes of requests, by name. Each class has its own figures.
    pub operation: BTreeMap<String, Operation>,
    /// What is sent, one phase after the other.
    pub phase: Vec<Phase>,
}

fn default_seed() -> u64 {
    1
}

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs)]
pub enum Method {
    Get,
    Put,
    Post,
    Delete,
}

/// A request that prepares or removes what the trial works on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// `GET`, `PUT`, `POST` or `DELETE`.
    pub method: Method,
    /// Path and query, such as `/metrics?wait_for_active_shards=1`.
    pub path: String,
    /// A JSON body.
    #[serde(default)]
    pub body: Option<String>,
    /// Statuses besides 200 to 299 that count as success, such as 404 of a `DELETE`.
    #[serde(default)]
    pub accept: Vec<u16>,
}

/// A generator of documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum GeneratorSpec {
    /// Metrics of hosts, as Metricbeat's system module sends them: cpu, load, core, diskio, filesystem,
    /// fsstat, memory, network, process, socket.
    Metricbeat(Metricbeat),
    /// Access logs of web servers.
    WebLog(WebLog),
    /// Records with keys that are written again and again, as the rows of a B-tree.
    Updates(Updates),
}

/// Options of [`GeneratorSpec::Metricbeat`]; the defaults are those of two small hosts, one second apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Metricbeat {
    /// Number of hosts.
    pub hosts: u32,
    /// Time between the metrics of one host.
    pub period: Span,
    /// Time of the first metrics.
    pub start: Timestamp,
    /// Processes of each host, a document each.
    pub processes: u32,
    /// CPU cores of each host, a document each.
    pub cores: u32,
}

impl Default for Metricbeat {
    fn default() -> Self {
        Self {
            hosts: 2,
            period: Span::new(std::time::Duration::from_secs(1)),
            start: start_of_2017_04_07(),
            processes: 11,
            cores: 2,
        }
    }
}

fn start_of_2017_04_07() -> Timestamp {
    Timestamp::constant(1_491_523_200, 0)
}

/// Options of [`GeneratorSpec::WebLog`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WebLog {
    /// Time of the first request.
    pub start: Timestamp,
    /// Mean rate of the logged requests, in the documents' own time; arrivals are a Poisson process.
    pub rate: Rate,
    /// Number of clients; some come more often than others (Zipf, exponent 0.9).
    pub clients: Count,
    /// Number of pages; some are asked for more often than others (Zipf, exponent 0.9).
    pub pages: Count,
}

impl Default for WebLog {
    fn default() -> Self {
        Self {
            start: start_of_2017_04_07(),
            rate: Rate::parse("100/s").expect("a rate"),
            clients: Count(20_000),
            pages: Count(2_000),
        }
    }
}

/// Options of [`GeneratorSpec::Updates`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Updates {
    /// Number of keys.
    pub keys: Count,
    /// Which keys are written.
    #[serde(default)]
    pub distribution: Distribution,
    /// Size of each record's random payload.
    #[serde(default = "default_payload")]
    pub payload: Size,
}

fn default_payload() -> Size {
    Size { bytes: 200 }
}

/// How keys are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Each key is as likely as any other.
    #[default]
    Uniform,
    /// Zipf's law with exponent 0.99, as in YCSB (Cooper et al. 2010). Frequent keys are not neighbours.
    Zipf,
    /// One after the other, from the first key on.
    Sequential,
}

/// A class of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Operation {
    /// Writes documents with the bulk API.
    Bulk(Bulk),
    /// Searches with a body in which parameters change.
    Search(Search),
    /// Reads a page.
    Get(Get),
}

impl Operation {
    /// Whether it sends bodies that are prepared beforehand.
    pub fn is_prepared(&self) -> bool {
        matches!(self, Self::Bulk(_))
    }
}

/// Options of [`Operation::Bulk`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// Name of the generator.
    pub generator: String,
    /// The index that is written.
    pub index: String,
    /// Documents in each request.
    pub documents: Count,
    /// What is done with each document. `update` needs a generator with keys.
    #[serde(default)]
    pub action: WriteAction,
    /// Mapping type, which Elasticsearch before 7 asks for.
    #[serde(default)]
    pub mapping_type: Option<String>,
    /// Path and query. The default asks for no more of the answer than the driver reads.
    #[serde(default = "default_bulk_path")]
    pub path: String,
}

fn default_bulk_path() -> String {
    "/_bulk?filter_path=errors,items.*.error.type".to_owned()
}

/// What a bulk request does with a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteAction {
    /// Writes it; a document with the same key is replaced.
    #[default]
    Index,
    /// Merges it into the document with its key, or creates that.
    Update,
}

/// Options of [`Operation::Search`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The index, or a pattern.
    pub index: String,
    /// The body; `{{name}}` is replaced by a parameter.
    pub body: String,
    /// The parameters, drawn anew for each request.
    #[serde(default)]
    pub parameters: BTreeMap<String, Parameter>,
    /// Whether the server may answer from its cache of whole requests.
    #[serde(default)]
    pub request_cache: bool,
    /// Path and query, instead of those made of `index` and `request_cache`.
    #[serde(default)]
    pub path: Option<String>,
}

/// Options of [`Operation::Get`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Get {
    /// Path and query; `{{name}}` is replaced by a parameter.
    pub path: String,
    /// The parameters, drawn anew for each request.
    #[serde(default)]
    pub parameters: BTreeMap<String, Parameter>,
}

/// A parameter of a search or a path, drawn anew for each request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Parameter {
    /// A whole number from `min` to `max`.
    Number {
        /// The lowest value.
        min: u64,
        /// The highest value.
        max: u64,
    },
    /// A time in milliseconds since 1970: `from`, or later by whole steps, but before `to`.
    Time {
        /// The earliest value.
        from: Timestamp,
        /// Values are earlier than this.
        to: Timestamp,
        /// Distance between two values.
        step: Span,
    },
    /// Another parameter's number or time, and a constant more; a span counts in milliseconds.
    After {
        /// The other parameter, itself not of this kind.
        parameter: String,
        /// What is added.
        by: Span,
    },
    /// One of these texts, inserted as it is.
    Choice {
        /// The texts.
        values: Vec<String>,
    },
    /// A key of an `updates` generator.
    Key {
        /// Number of keys.
        keys: Count,
        /// Which keys are chosen.
        #[serde(default)]
        distribution: Distribution,
    },
}

/// A phase: operations that are sent at the same time.
///
/// It ends after its duration or counts, when everything that was planned has been answered. Then the next
/// one begins, with new connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// A name for display.
    pub name: String,
    /// Whether its figures count.
    #[serde(default)]
    pub kind: PhaseKind,
    /// Time without requests before it begins, in which the server ends what it has begun.
    #[serde(default)]
    pub pause: Option<Span>,
    /// For how long requests are planned. Without it, each load needs a count.
    #[serde(default)]
    pub duration: Option<Span>,
    /// What is sent, and how fast.
    pub load: Vec<Load>,
}

/// Whether a phase is part of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseKind {
    /// Recorded, but not part of the result.
    WarmUp,
    /// Part of the result.
    #[default]
    Measured,
}

/// How fast one operation comes in a phase: as `clients` in a closed loop, or at a `rate` in an open loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Name of the operation.
    pub operation: String,
    /// Closed loop: so many clients, each of which sends its next request when it has the last answer.
    #[serde(default)]
    pub clients: Option<u32>,
    /// Open loop: requests are planned at this rate, whether the server keeps up or not.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// Open loop: when requests are planned.
    #[serde(default)]
    pub arrivals: Option<Arrivals>,
    /// Open loop: the most connections, by default 64. A planned request waits for a free one, and this is
    /// part of its latency.
    #[serde(default)]
    pub connections: Option<u32>,
    /// The number of requests after which it ends, even within the phase's duration.
    #[serde(default)]
    pub count: Option<Count>,
    /// Whether it only accompanies the others: the trial is not judged by its latencies and their number.
    #[serde(default)]
    pub background: bool,
}

/// When the requests of an open loop are planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At equal distances.
    #[default]
    Fixed,
    /// As a Poisson process, as independent users come.
    Poisson,
}

/// How a load is sent, after validation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// A closed loop.
    Closed {
        /// Number of clients.
        clients: u32,
    },
    /// An open loop.
    Open {
        /// Planned requests per second.
        rate: Rate,
        /// When they are planned.
        arrivals: Arrivals,
        /// The most connections.
        connections: u32,
    },
}

/// Connections of an open loop that does not say how many.
const CONNECTIONS_DEFAULT: u32 = 64;

impl Load {
    /// Returns how it is sent; a load with both or neither of `clients` and `rate` has none, and validation
    /// rejects it.
    pub fn pace(&self) -> Option<Pace> {
        match (self.clients, self.rate) {
            (Some(clients), None) => Some(Pace::Closed { clients }),
            (None, Some(rate)) => Some(Pace::Open {
                rate,
                arrivals: self.arrivals.unwrap_or_default(),
                connections: self.connections.unwrap_or(CONNECTIONS_DEFAULT),
            }),
            _ => None,
        }
    }
}
