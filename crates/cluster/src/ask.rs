//! Queries a cluster.

use crate::answer::indices::{Counter, IndexState, Indices, KEYS};
use crate::answer::nodes::{Nodes, NodesStats};
use crate::answer::root::Root;
use crate::answer::routing::Routing;
use crate::answer::settings::Settings;
use crate::answer::{desired_balance, health, tasks};
use crate::answers::{Answers, Part, SCHEMA, Unanswered};
use crate::threads;
use bounded_http::{Client, Endpoint, ErrorKind, HttpError, Response};
use facts::cluster::{DesiredBalance, Flavour, ServerVersion};
use jiff::Timestamp;
use serde::Deserialize;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

/// Timeout for one response. A busy master responds slowly, and busy masters are what this tool is
/// used on.
const DEADLINE: Duration = Duration::from_secs(30);
/// Maximum length of a response, in bytes: the settings of 200,000 indices.
const BODY_BYTES_MAX: u64 = 128 << 20;
/// After this many consecutive timeouts, nothing else is requested: nobody waits for ten deadlines,
/// and the cluster is struggling already.
const TIMEOUTS_MAX: u32 = 2;
/// How long a node waits for the other nodes' responses. Shorter than [`DEADLINE`], so that those
/// that do respond are included.
const NODE_TIMEOUT: &str = "15s";

const NODE_FIELDS: &str = "_nodes,cluster_name,nodes.*.name,nodes.*.host,nodes.*.ip,\
    nodes.*.version,nodes.*.roles,nodes.*.attributes,nodes.*.jvm.version,\
    nodes.*.jvm.input_arguments,nodes.*.jvm.mem.heap_max_in_bytes,nodes.*.settings.cluster*,nodes.*.settings.indices*,\
    nodes.*.settings.discovery*";
const NODE_STATS_FIELDS: &str = "_nodes,nodes.*.fs.total,nodes.*.fs.data,\
    nodes.*.jvm.mem.heap_used_in_bytes";
const STATE_FIELDS: &str = "master_node,cluster_manager_node,\
    routing_table.indices.*.shards.*.state,routing_table.indices.*.shards.*.primary,\
    routing_table.indices.*.shards.*.node,\
    routing_table.indices.*.shards.*.unassigned_info.reason";
const HEALTH_FIELDS: &str = "status,number_of_in_flight_fetch,task_max_waiting_in_queue_millis";
const TASK_FIELDS: &str = "tasks.source,tasks.priority,tasks.time_in_queue_millis,tasks.executing,\
    tasks.time_in_execution_millis";
const BALANCE_FIELDS: &str = "stats";
/// What 8.6 to 8.11 do not count themselves.
const BALANCE_COPY_FIELDS: &str =
    "stats,routing_table.*.*.current.state,routing_table.*.*.current.node_is_desired";
const SETTING_FIELDS: &str = "*.cluster*,*.indices*,*.discovery*,*.archived*";

/// Why a cluster could not be queried at all.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It does not respond, or denies access.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// It responds, but is another kind of server.
    #[error("{endpoint}: expected Elasticsearch or OpenSearch, found {found}")]
    OtherServer {
        /// The URL, without its query string.
        endpoint: String,
        /// What the response looks like.
        found: String,
    },
}

impl AskError {
    /// Returns how to fix it, in one sentence.
    pub fn hint(&self) -> String {
        match self {
            Self::Http(error) => error.hint(),
            Self::OtherServer { .. } => "give the URL of the HTTP port of a node (9200 if nobody \
                chose another), with the path below which a proxy serves it"
                .to_owned(),
        }
    }
}

/// Returns the limits for querying a cluster, with the given trust and credentials.
pub fn options(options: bounded_http::Options) -> bounded_http::Options {
    bounded_http::Options {
        deadline: DEADLINE,
        body_bytes_max: BODY_BYTES_MAX,
        ..options
    }
}

/// Queries everything about a cluster; `read_at` becomes the current time for rules. The client
/// should use [`options`].
///
/// # Errors
/// If nothing can be learned: no connection, rejected credentials, a timeout, or another kind of
/// server. All other failures are recorded as a missing [`Part`].
pub fn ask(client: &Client, endpoint: &Endpoint, read_at: Timestamp) -> Result<Answers, AskError> {
    let mut requester = Requester {
        client,
        endpoint,
        timeouts: 0,
        no_master: false,
    };
    let root = requester.root()?;
    let nodes = requester.part(
        &format!("/_nodes/_all/jvm,settings?flat_settings=true&timeout={NODE_TIMEOUT}&filter_path={NODE_FIELDS}"),
        Scope::Cluster,
        Nodes::parse,
    );
    let (root, first_failure) = match root {
        Ok(root) => (Part::Answer(root), None),
        Err((why, error)) => (Part::Unanswered(why), Some(error)),
    };
    let server = Server::detect(root.answer(), nodes.answer());
    let Some(server) = server else {
        return Err(first_failure.unwrap_or_else(|| AskError::OtherServer {
            endpoint: endpoint.to_string(),
            found: "no version".to_owned(),
        }));
    };
    let node_stats = requester.part(
        &format!("/_nodes/stats/fs,jvm?timeout={NODE_TIMEOUT}&filter_path={NODE_STATS_FIELDS}"),
        Scope::Cluster,
        NodesStats::parse,
    );
    let (indices, closed) = requester.indices(&server);
    let routing = requester.part(
        &format!(
            "/_cluster/state/master_node,routing_table?{}&filter_path={STATE_FIELDS}",
            server.master_timeout()
        ),
        Scope::Master,
        |body| Routing::parse(body, closed.as_ref()),
    );
    let health = requester.part(
        &format!(
            "/_cluster/health?{}&filter_path={HEALTH_FIELDS}",
            server.master_timeout()
        ),
        Scope::Master,
        health::parse,
    );
    let pending_tasks = requester.part(
        &format!(
            "/_cluster/pending_tasks?{}&filter_path={TASK_FIELDS}",
            server.master_timeout()
        ),
        Scope::Master,
        // If there are no tasks, the filter of some versions leaves an empty body.
        |body| {
            tasks::parse(if body == b"{}" {
                br#"{"tasks":[]}"#
            } else {
                body
            })
        },
    );
    let settings = requester.part(
        &format!(
            "/_cluster/settings?include_defaults=true&flat_settings=true&{}&filter_path={SETTING_FIELDS}",
            server.master_timeout()
        ),
        Scope::Master,
        Settings::parse,
    );
    let master = routing
        .answer()
        .and_then(|routing| routing.master.as_deref())
        .filter(|id| is_plain_id(id))
        .unwrap_or("_master");
    let hot_threads = requester.part_by(
        // A thread that waits for its disk takes no processor time, and comes last.
        &format!("/_nodes/{master}/hot_threads?threads=50&type=cpu&timeout={NODE_TIMEOUT}"),
        Scope::Master,
        |body| {
            let text = String::from_utf8_lossy(body);
            if text.contains("Hot threads at ") {
                Ok(threads::parse_hot_threads(&text))
            } else {
                Err("no threads in the answer".to_owned())
            }
        },
    );
    // Last: it needs more rights than the others.
    let desired_balance = requester.desired_balance(&server);
    Ok(Answers {
        schema: SCHEMA.to_owned(),
        endpoint: endpoint.to_string(),
        read_at,
        root,
        nodes,
        node_stats,
        health,
        indices,
        routing,
        pending_tasks,
        settings,
        hot_threads,
        desired_balance,
    })
}

/// The API variant that a server supports.
pub(crate) struct Server {
    flavour: Flavour,
    version: ServerVersion,
}

impl Server {
    /// Determines the server from its responses. A server that does not report its product at `/`
    /// is recognized by its version: OpenSearch restarted at 1, and Elasticsearch before 5 is not
    /// supported.
    pub(crate) fn detect(root: Option<&Root>, nodes: Option<&Nodes>) -> Option<Self> {
        if let Some(root) = root {
            return Some(Self {
                flavour: root.flavour,
                version: root.version.clone(),
            });
        }
        let version = nodes?
            .nodes
            .values()
            .find_map(|node| node.version.clone())?;
        Some(Self {
            flavour: crate::assemble::flavour_of(&version),
            version,
        })
    }

    /// Returns the query parameter for how long the node waits for the master, which depends on the
    /// version.
    fn master_timeout(&self) -> &'static str {
        match self.flavour {
            Flavour::Opensearch if self.version.major >= 2 => "cluster_manager_timeout=15s",
            _ => "master_timeout=15s",
        }
    }

    /// Returns what to ask of the desired balance, if this version has one.
    pub(crate) fn desired_balance(&self) -> Option<&'static str> {
        let is_from = |minor| self.version >= ServerVersion::new(8, minor, 0);
        if self.flavour != Flavour::Elasticsearch || !is_from(6) {
            return None;
        }
        Some(if is_from(12) {
            BALANCE_FIELDS
        } else {
            BALANCE_COPY_FIELDS
        })
    }

    /// Returns the query parameter for hidden indices, which is needed since Elasticsearch 7.7 and
    /// rejected before.
    fn hidden(&self) -> &'static str {
        let known =
            self.flavour == Flavour::Opensearch || self.version >= ServerVersion::new(7, 7, 0);
        if known { ",hidden" } else { "" }
    }
}

/// Which part of the cluster is needed to respond.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The nodes that respond.
    Cluster,
    /// The elected master.
    Master,
}

/// The privileges needed, for error messages about a 403.
const PRIVILEGES: &str = "the cluster privilege monitor, and view_index_metadata on all indices";

/// What is needed after a timeout.
const FASTER: &str = "a cluster that answers, or a longer --timeout";

struct Requester<'a> {
    client: &'a Client,
    endpoint: &'a Endpoint,
    /// Number of consecutive timeouts.
    timeouts: u32,
    /// The cluster reported that it has no master.
    no_master: bool,
}

impl Requester<'_> {
    /// Queries `/`. The outer error is fatal; the inner one only if no other response reveals the
    /// version.
    fn root(&mut self) -> Result<Result<Root, (Unanswered, AskError)>, AskError> {
        let response = match self.client.get(self.endpoint, "/") {
            Ok(response) => response,
            Err(error) => {
                return match error.kind {
                    // Other paths may still work.
                    ErrorKind::Cut | ErrorKind::TooLarge { .. } => {
                        Ok(Err((unanswered("/", &error.kind), error.into())))
                    }
                    _ => Err(error.into()),
                };
            }
        };
        let status = response.status;
        if !(200..=299).contains(&status) {
            let why = self.status("/", &response);
            let exception = exception(&response.body).unwrap_or_default();
            let Err(mut error) = response.success() else {
                return Err(self.other_server("no usable answer"));
            };
            // An error page may echo the request, including its credentials.
            if let ErrorKind::Status { body, .. } = &mut error.kind {
                *body = exception;
            }
            // Other paths will fail in the same way; other statuses may be specific to `/` (8.11
            // test builds: 405).
            return match status {
                300..=399 | 401 => Err(error.into()),
                _ => Ok(Err((why, error.into()))),
            };
        }
        Ok(Root::parse(&response.body).map_err(|error| {
            let found = looks_like(&response.body, &error);
            let why = Unanswered::new(format!("GET /: {found}"), None);
            (why, self.other_server(&found))
        }))
    }

    fn other_server(&self, found: &str) -> AskError {
        AskError::OtherServer {
            endpoint: self.endpoint.to_string(),
            found: found.to_owned(),
        }
    }

    /// Requests one part.
    fn part<T>(
        &mut self,
        path: &str,
        scope: Scope,
        parse: impl FnOnce(&[u8]) -> Result<T, serde_json::Error>,
    ) -> Part<T> {
        self.part_by(path, scope, |body| {
            parse(body).map_err(|error| looks_like(body, &error))
        })
    }

    /// Requests one part. The error of `parse` says what the answer looks like instead.
    fn part_by<T>(
        &mut self,
        path: &str,
        scope: Scope,
        parse: impl FnOnce(&[u8]) -> Result<T, String>,
    ) -> Part<T> {
        let answer = self.response(path, scope).and_then(|response| {
            parse(&response.body)
                .map_err(|found| Unanswered::new(format!("GET {}: {found}", page(path)), None))
        });
        match answer {
            Ok(answer) => Part::Answer(answer),
            Err(why) => Part::Unanswered(why),
        }
    }

    /// Queries the desired balance, if the server has one.
    fn desired_balance(&mut self, server: &Server) -> Option<Part<DesiredBalance>> {
        let path = format!(
            "/_internal/desired_balance?filter_path={}",
            server.desired_balance()?
        );
        Some(self.part(&path, Scope::Master, desired_balance::parse))
    }

    /// Queries closed indices, then open ones. Returns the counts and the names of the closed ones,
    /// which are known even if the request for open ones fails.
    fn indices(&mut self, server: &Server) -> (Part<Indices>, Option<HashSet<String>>) {
        let path = |state: &str| {
            format!(
                "/_all/_settings/{}?flat_settings=true&ignore_unavailable=true\
                 &allow_no_indices=true&{}&expand_wildcards={state}{}",
                KEYS.join(","),
                server.master_timeout(),
                server.hidden()
            )
        };
        let closed = self.part(&path("closed"), Scope::Master, |body| {
            let mut counter = Counter::default();
            counter.count(body, IndexState::Closed)?;
            Ok(counter)
        });
        let mut counter = match closed {
            Part::Answer(counter) => counter,
            Part::Unanswered(why) => return (Part::Unanswered(why), None),
        };
        let open = self.part(&path("open"), Scope::Master, |body| {
            counter.count(body, IndexState::Open)
        });
        let (indices, names) = counter.finish();
        let indices = match open {
            Part::Answer(()) => Part::Answer(indices),
            Part::Unanswered(why) => Part::Unanswered(why),
        };
        (indices, Some(names))
    }

    /// Returns a successful response, or why there is none.
    fn response(&mut self, path: &str, scope: Scope) -> Result<Response, Unanswered> {
        if self.timeouts >= TIMEOUTS_MAX {
            let why = format!(
                "GET {}: not asked, after {TIMEOUTS_MAX} answers in a row had not come in time",
                page(path)
            );
            return Err(Unanswered::new(why, Some(FASTER)));
        }
        if self.no_master && scope == Scope::Master {
            let why = format!("GET {}: not asked, no master is elected", page(path));
            return Err(Unanswered::new(why, Some("an elected master")));
        }
        match self.client.get(self.endpoint, path) {
            Ok(response) if (200..=299).contains(&response.status) => {
                self.timeouts = 0;
                Ok(response)
            }
            Ok(response) => {
                self.timeouts = 0;
                Err(self.status(path, &response))
            }
            Err(error) => {
                if matches!(error.kind, ErrorKind::Timeout { .. }) {
                    self.timeouts += 1;
                }
                Err(unanswered(page(path), &error.kind))
            }
        }
    }

    /// Explains an error response. Only the exception type is repeated from its body: the rest may
    /// name users and indices.
    fn status(&mut self, path: &str, response: &Response) -> Unanswered {
        let exception = exception(&response.body);
        let mut why = format!("GET {}: status {}", page(path), response.status);
        if let Some(exception) = &exception {
            // Writing to a String cannot fail.
            let _ = write!(why, " ({exception})");
        }
        let no_master = exception.is_some_and(|name| name.ends_with("_not_discovered_exception"));
        if no_master {
            self.no_master = true;
            why.push_str(": no master is elected");
        }
        let needs = match response.status {
            _ if no_master => Some("an elected master"),
            401 => Some("credentials that the cluster accepts"),
            403 if path.starts_with("/_internal/") => Some("the cluster privilege manage"),
            403 => Some(PRIVILEGES),
            _ => None,
        };
        Unanswered::new(why, needs)
    }
}

/// Returns the path without query string and ids; lists of keys are shortened to their beginning.
fn page(path: &str) -> &str {
    let page = path.split('?').next().unwrap_or_default();
    if page.ends_with("/hot_threads") {
        return "/_nodes/_master/hot_threads";
    }
    match page.find("/_settings/") {
        Some(at) => &page[..at + "/_settings".len()],
        None => page,
    }
}

fn unanswered(page: &str, kind: &ErrorKind) -> Unanswered {
    let why = match kind {
        // Its text may contain anything.
        ErrorKind::NotHttp(_) => "the answer is not HTTP".to_owned(),
        kind => kind.to_string(),
    };
    let needs = matches!(kind, ErrorKind::Timeout { .. }).then_some(FASTER);
    Unanswered::new(format!("GET {page}: {why}"), needs)
}

/// Describes what was received instead of the expected JSON.
pub(crate) fn looks_like(body: &[u8], error: &serde_json::Error) -> String {
    let start = body.trim_ascii_start();
    if start.is_empty() {
        "an empty answer".to_owned()
    } else if start.starts_with(b"<") {
        "HTML or XML, not JSON".to_owned()
    } else if error.is_eof() {
        format!("half an answer (JSON that ends after {} bytes)", body.len())
    } else {
        format!(
            "unexpected JSON at line {} column {}",
            error.line(),
            error.column()
        )
    }
}

/// Extracts the exception type from an error body.
pub(crate) fn exception(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Body {
        error: Inner,
    }
    #[derive(Deserialize)]
    struct Inner {
        #[serde(rename = "type")]
        kind: String,
    }
    const EXCEPTION_CHARS_MAX: usize = 80;
    let body: Body = serde_json::from_slice(body).ok()?;
    let kind = body.error.kind;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    (kind.len() <= EXCEPTION_CHARS_MAX && kind.chars().all(plain)).then_some(kind)
}

/// Whether an id is safe to use in a path.
fn is_plain_id(id: &str) -> bool {
    const ID_CHARS_MAX: usize = 64;
    !id.is_empty()
        && id.len() <= ID_CHARS_MAX
        && !id.starts_with('_')
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}
