//! Checks that a cluster is green and at rest: every copy of every shard is active, and none moves.

use bounded_http::{Client, Endpoint, HttpError};
use serde::Deserialize;

/// `level=cluster` keeps the response small; the timeout is the server's, for clusters without a
/// master.
const HEALTH: &str = "/_cluster/health?level=cluster&timeout=5s";
/// Maximum length of a cluster name in messages, in characters.
const NAME_CHARS_MAX: usize = 60;

/// The fields that both products return in all versions; other fields are ignored.
#[derive(Debug, Deserialize)]
pub(crate) struct Health {
    cluster_name: String,
    pub(crate) status: Status,
    pub(crate) timed_out: bool,
    /// `None` before Elasticsearch 1.5, and where a proxy filters the response.
    pub(crate) number_of_pending_tasks: Option<u64>,
    number_of_nodes: u64,
    initializing_shards: u64,
    relocating_shards: u64,
    unassigned_shards: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Green,
    Yellow,
    Red,
}

/// Why a cluster does not count as green.
#[derive(Debug, thiserror::Error)]
pub enum GreenError {
    /// It reports that it is not green, or its master does not respond.
    #[error("cluster {name} {why}")]
    NotGreen {
        /// The cluster name, quoted.
        name: String,
        /// The reason: `is yellow: 3 unassigned shards`.
        why: String,
    },
    /// The request failed, or the response is invalid.
    #[error(transparent)]
    Http(#[from] HttpError),
}

/// Queries the cluster's health once and returns the cluster name, quoted.
///
/// # Errors
/// If the cluster is not green, its master does not respond, or the request fails.
pub fn require_green(client: &Client, endpoint: &Endpoint) -> Result<String, GreenError> {
    check_green(&health(client, endpoint)?)
}

/// Queries the cluster's health.
///
/// # Errors
/// If the request fails, or the response is invalid.
pub(crate) fn health(client: &Client, endpoint: &Endpoint) -> Result<Health, HttpError> {
    let response = client.get(endpoint, HEALTH)?;
    // 408 means that the server-side timeout expired; the usual body is included.
    if response.status == 408 {
        response.json()
    } else {
        response.success()?.json()
    }
}

fn check_green(health: &Health) -> Result<String, GreenError> {
    let mut name: String = health.cluster_name.chars().take(NAME_CHARS_MAX).collect();
    if name.len() < health.cluster_name.len() {
        name.push_str("...");
    }
    // Escapes quotes and control characters.
    let name = format!("{name:?}");
    let refused = |why: String| GreenError::NotGreen {
        name: name.clone(),
        why,
    };
    if health.timed_out {
        return Err(refused("has no master that answers in time".to_owned()));
    }
    if health.number_of_nodes == 0 {
        return Err(refused("reports no nodes".to_owned()));
    }
    let shards = [
        (health.unassigned_shards, "unassigned shard"),
        (health.initializing_shards, "initializing shard"),
    ];
    let counts: Vec<String> = shards
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| units::count(*number, what))
        .collect();
    let counts = counts.join(", ");
    let status = match health.status {
        // A trim slows both ends of a move.
        Status::Green if health.unassigned_shards == 0 && health.relocating_shards > 0 => {
            let moves = units::count(health.relocating_shards, "shard");
            return Err(refused(format!("is green, and moves {moves}")));
        }
        Status::Green if health.unassigned_shards == 0 => return Ok(name),
        Status::Green => return Err(refused(format!("is green, and yet has {counts}"))),
        Status::Yellow => "yellow",
        Status::Red => "red",
    };
    Err(refused(if counts.is_empty() {
        format!("is {status}")
    } else {
        format!("is {status}: {counts}")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bounded_http::Options;
    use bounded_http::testing::{Answer, Server};
    use proptest::prelude::*;

    /// A response of Elasticsearch 7.17 with the status and the shard counts replaced.
    fn body(status: &str, initializing: u64, unassigned: u64, timed_out: bool) -> String {
        format!(
            r#"{{"cluster_name":"logs","status":"{status}","timed_out":{timed_out},
            "number_of_nodes":3,"number_of_data_nodes":3,"active_primary_shards":10,
            "active_shards":20,"relocating_shards":0,"initializing_shards":{initializing},
            "unassigned_shards":{unassigned},"delayed_unassigned_shards":0,
            "number_of_pending_tasks":0,"number_of_in_flight_fetch":0,
            "task_max_waiting_in_queue_millis":0,"active_shards_percent_as_number":100.0}}"#
        )
    }

    fn ask(status: u16, body: &str) -> Result<String, GreenError> {
        let bytes = body.as_bytes().to_vec();
        let server = Server::start(move |head| {
            assert!(head.starts_with("GET /_cluster/health?level=cluster"));
            Answer::Body(status, bytes.clone())
        });
        let client = Client::new(Options::default()).unwrap();
        let endpoint = Endpoint::parse(&server.url("/")).unwrap();
        require_green(&client, &endpoint)
    }

    #[test]
    fn a_response_without_the_pending_tasks_says_whether_it_is_green() {
        let filtered = body("green", 0, 0, false).replace(r#""number_of_pending_tasks":0,"#, "");
        assert_eq!(ask(200, &filtered).unwrap(), "\"logs\"");
    }

    #[test]
    fn green_passes_and_returns_the_name() {
        assert_eq!(ask(200, &body("green", 0, 0, false)).unwrap(), "\"logs\"");
        // OpenSearch includes the name of its master.
        let open = body("green", 0, 0, false).replace(
            "\"number_of_nodes\"",
            "\"discovered_master\":true,\"discovered_cluster_manager\":true,\"number_of_nodes\"",
        );
        assert_eq!(ask(200, &open).unwrap(), "\"logs\"");
    }

    #[test]
    fn any_other_state_is_rejected_with_a_reason() {
        for (body, words) in [
            (
                body("yellow", 0, 3, false),
                "cluster \"logs\" is yellow: 3 unassigned shards",
            ),
            (
                body("red", 1, 2, false),
                "cluster \"logs\" is red: 2 unassigned shards, 1 initializing shard",
            ),
            (body("yellow", 0, 0, false), "cluster \"logs\" is yellow"),
            (
                body("green", 0, 1, false),
                "cluster \"logs\" is green, and yet has 1 unassigned shard",
            ),
            (
                body("green", 0, 0, true),
                "cluster \"logs\" has no master that answers in time",
            ),
        ] {
            let error = ask(200, &body).unwrap_err();
            assert!(matches!(error, GreenError::NotGreen { .. }), "{error}");
            assert_eq!(error.to_string(), words);
        }
        let moving = body("green", 0, 0, false)
            .replace("\"relocating_shards\":0", "\"relocating_shards\":2");
        let error = ask(200, &moving).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cluster \"logs\" is green, and moves 2 shards"
        );
        let error = ask(408, &body("red", 0, 0, true)).unwrap_err();
        assert!(matches!(error, GreenError::NotGreen { .. }), "{error}");
    }

    #[test]
    fn an_invalid_response_is_an_error_and_never_green() {
        let green = body("green", 0, 0, false);
        for (status, text) in [
            (
                503,
                r#"{"error":{"type":"master_not_discovered_exception"},"status":503}"#.to_owned(),
            ),
            (401, String::new()),
            (200, "<html>green</html>".to_owned()),
            (200, green.replace("\"green\"", "\"GREEN\"")),
            (200, green.replace("\"green\"", "\"greenish\"")),
            (200, green.replace("\"green\"", "[\"green\"]")),
            (200, green.replace("\"timed_out\"", "\"other\"")),
            (
                200,
                green.replace("\"unassigned_shards\":0", "\"unassigned_shards\":-1"),
            ),
            (
                200,
                green.replace("{\"cluster_name\"", "{\"status\":\"red\",\"cluster_name\""),
            ),
            (200, format!("{green}{green}")),
            (200, "[".repeat(1 << 20)),
        ] {
            let error = ask(status, &text).unwrap_err();
            assert!(matches!(error, GreenError::Http(_)), "{error}");
            assert!(error.to_string().len() < 500, "{error}");
        }
    }

    #[test]
    fn a_hostile_name_is_truncated_and_escaped() {
        let name = format!("\\u001b[31m{}", "x".repeat(1000));
        let text = body("red", 0, 0, false).replace("logs", &name);
        let error = ask(200, &text).unwrap_err().to_string();
        assert!(!error.contains('\u{1b}') && error.len() < 300, "{error}");
    }

    proptest! {
        /// Whatever a cluster responds, it only counts as green if it reports green.
        #[test]
        fn hostile_health_is_never_green(
            at in any::<prop::sample::Index>(),
            cut in 0usize..10,
            piece in prop_oneof![
                "[\\[\\]{}\":,0-9a-z_.eE+-]{0,6}",
                Just("18446744073709551616".to_owned()),
                Just("-1".to_owned()),
                Just("null".to_owned()),
                "\\PC{0,4}",
            ],
        ) {
            let line = body("yellow", 0, 3, false);
            let start = at.index(line.len() + 1);
            let end = (start + cut).min(line.len());
            let hostile = format!("{}{piece}{}", &line[..start], &line[end..]);
            if let Ok(health) = serde_json::from_str::<Health>(&hostile) {
                prop_assert!(check_green(&health).is_err());
            }
        }
    }
}
