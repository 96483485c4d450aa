//! `--require-green URL`: only while Elasticsearch or OpenSearch has every copy of every shard.

use super::{http_error, warn_of_clear_secrets};
use crate::commands::access::parse_endpoint;
use crate::error::{CommandError, Kind};
use http::Client;
use serde::Deserialize;

/// `level=cluster` keeps the answer small; the time is the master's, for clusters without one.
const HEALTH: &str = "/_cluster/health?level=cluster&timeout=5s";
/// The longest cluster name that is shown, in characters.
const NAME_CHARS_MAX: usize = 60;

/// What both stores answer, in all versions; members that are not named here are ignored.
#[derive(Debug, Deserialize)]
struct Health {
    cluster_name: String,
    status: Status,
    timed_out: bool,
    number_of_nodes: u64,
    initializing_shards: u64,
    unassigned_shards: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Green,
    Yellow,
    Red,
}

/// Asks the cluster once and returns its name, quoted.
///
/// # Errors
/// A refusal in words where it is not green (`cluster "x" is yellow: 3 unassigned shards`) or its
/// master does not answer; a usage or environment error where it cannot be asked.
pub fn require_green(url: &str, client: &Client) -> Result<String, CommandError> {
    let endpoint = parse_endpoint(url, "--require-green")?;
    warn_of_clear_secrets(client, &endpoint);
    let response = client
        .get(&endpoint, HEALTH)
        .map_err(|error| in_words(http_error(&error)))?;
    // 408 is how the API says that its own time was over; it comes with the usual body.
    let health: Health = if response.status == 408 {
        response.json()
    } else {
        response.success().and_then(|response| response.json())
    }
    .map_err(|error| in_words(http_error(&error)))?;
    judge(&health)
}

fn in_words(mut error: CommandError) -> CommandError {
    error.message = format!("--require-green: {}", error.message);
    error
}

fn judge(health: &Health) -> Result<String, CommandError> {
    let mut name: String = health.cluster_name.chars().take(NAME_CHARS_MAX).collect();
    if name.len() < health.cluster_name.len() {
        name.push_str("...");
    }
    // Escapes quotes and control characters.
    let name = format!("{name:?}");
    let refused = |text: String| {
        CommandError::new(Kind::Refused, format!("cluster {name} {text}"))
            .hint("wait until it is green, or start without --require-green")
    };
    if health.timed_out {
        return Err(refused("has no master that answers in time".to_owned()));
    }
    if health.number_of_nodes == 0 {
        return Err(refused("reports no nodes".to_owned()));
    }
    let shards = [
        (health.unassigned_shards, "unassigned"),
        (health.initializing_shards, "initializing"),
    ];
    let counts: Vec<String> = shards
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, state)| match count {
            1 => format!("1 {state} shard"),
            count => format!("{count} {state} shards"),
        })
        .collect();
    let status = match health.status {
        Status::Green if health.unassigned_shards == 0 => return Ok(name),
        Status::Green => "green, and yet has",
        Status::Yellow => "yellow",
        Status::Red => "red",
    };
    Err(refused(match (health.status, counts.is_empty()) {
        (Status::Green, _) => format!("is {status} {}", counts.join(", ")),
        (_, true) => format!("is {status}"),
        (_, false) => format!("is {status}: {}", counts.join(", ")),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Options;
    use http::testing::{Answer, Server};
    use proptest::prelude::*;

    /// An answer of Elasticsearch 7.17 with the status and the numbers of shards changed.
    fn body(status: &str, initializing: u64, unassigned: u64, timed_out: bool) -> String {
        format!(
            r#"{{"cluster_name":"logs","status":"{status}","timed_out":{timed_out},
            "number_of_nodes":3,"number_of_data_nodes":3,"active_primary_shards":10,
            "active_shards":20,"relocating_shards":1,"initializing_shards":{initializing},
            "unassigned_shards":{unassigned},"delayed_unassigned_shards":0,
            "number_of_pending_tasks":0,"number_of_in_flight_fetch":0,
            "task_max_waiting_in_queue_millis":0,"active_shards_percent_as_number":100.0}}"#
        )
    }

    fn ask(status: u16, body: &str) -> Result<String, CommandError> {
        let bytes = body.as_bytes().to_vec();
        let server = Server::start(move |head| {
            assert!(head.starts_with("GET /_cluster/health?level=cluster"));
            Answer::Body(status, bytes.clone())
        });
        let client = Client::new(Options::default()).unwrap();
        require_green(&server.url("/"), &client)
    }

    #[test]
    fn green_passes_with_its_name() {
        assert_eq!(ask(200, &body("green", 0, 0, false)).unwrap(), "\"logs\"");
        // OpenSearch names its master besides.
        let open = body("green", 0, 0, false).replace(
            "\"number_of_nodes\"",
            "\"discovered_master\":true,\"discovered_cluster_manager\":true,\"number_of_nodes\"",
        );
        assert_eq!(ask(200, &open).unwrap(), "\"logs\"");
    }

    #[test]
    fn everything_else_is_refused_in_words() {
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
            assert_eq!((error.kind, error.message.as_str()), (Kind::Refused, words));
            assert!(!error.hints.is_empty());
        }
        let error = ask(408, &body("red", 0, 0, true)).unwrap_err();
        assert_eq!(error.kind, Kind::Refused);
    }

    #[test]
    fn what_is_no_health_is_an_error_and_never_green() {
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
            assert_eq!(error.kind, Kind::Environment, "{error}");
            assert!(
                error.message.len() < 500 && !error.hints.is_empty(),
                "{error}"
            );
        }
    }

    #[test]
    fn a_hostile_name_is_cut_and_escaped() {
        let name = format!("\\u001b[31m{}", "x".repeat(1000));
        let text = body("red", 0, 0, false).replace("logs", &name);
        let error = ask(200, &text).unwrap_err().to_string();
        assert!(!error.contains('\u{1b}') && error.len() < 300, "{error}");
    }

    #[test]
    fn a_url_that_is_none_is_a_usage_error() {
        let client = Client::new(Options::default()).unwrap();
        for url in ["es1:9200", "http://u:hunter2@es1", "http://es1/?q=1#x"] {
            let error = require_green(url, &client).unwrap_err();
            assert_eq!(error.kind, Kind::Usage);
            assert!(!error.to_string().contains("hunter2"));
        }
    }

    proptest! {
        /// Whatever a cluster answers, only one that says so is green.
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
                prop_assert!(judge(&health).is_err());
            }
        }
    }
}
