//! The raw responses that tell where each shard is and why; crate `shards` parses them. They are
//! not stored, and grow with the cluster: a state may be hundreds of megabytes.

use crate::answer::root::Root;
use crate::ask::AskError;
use bounded_http::{Client, Endpoint, HttpError, Response};
use std::time::Duration;

/// A master may need a minute for a large state.
const DEADLINE: Duration = Duration::from_mins(3);
/// Maximum length of a response.
const BODY_BYTES_MAX: u64 = 1 << 30;

/// A response about shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardAnswer {
    /// Nodes, indices, and the location of each shard.
    State,
    /// Roles, versions and attributes of nodes.
    Roles,
    /// Disk usage of nodes.
    Disks,
    /// Shard sizes.
    Sizes,
    /// Cluster settings.
    Settings,
    /// Where Elasticsearch from 8.6 on wants each shard.
    Desired,
}

impl ShardAnswer {
    /// The responses that supplement the state; any of them may be missing.
    pub const OPTIONAL: [Self; 5] = [
        Self::Roles,
        Self::Disks,
        Self::Sizes,
        Self::Settings,
        Self::Desired,
    ];

    /// Returns the request path.
    pub const fn path(self) -> &'static str {
        match self {
            Self::State => "/_cluster/state",
            Self::Roles => "/_nodes",
            Self::Disks => "/_nodes/stats/fs",
            Self::Sizes => "/_stats/store?level=shards",
            Self::Settings => "/_cluster/settings?include_defaults=true&flat_settings=true",
            Self::Desired => "/_internal/desired_balance",
        }
    }
}

/// Returns the limits for these responses, with the given trust and credentials.
pub fn shard_options(options: bounded_http::Options) -> bounded_http::Options {
    bounded_http::Options {
        deadline: DEADLINE,
        body_bytes_max: BODY_BYTES_MAX,
        ..options
    }
}

/// Requests one of the responses.
///
/// # Errors
/// If the request fails.
pub fn ask_shards(
    client: &Client,
    endpoint: &Endpoint,
    answer: ShardAnswer,
) -> Result<Vec<u8>, HttpError> {
    body(client, endpoint, answer.path())
}

/// Queries the identity of the node.
///
/// # Errors
/// If it does not respond, or is another kind of server.
pub fn ask_root(client: &Client, endpoint: &Endpoint) -> Result<Root, AskError> {
    let body = body(client, endpoint, "/")?;
    Root::parse(&body).map_err(|error| AskError::OtherServer {
        endpoint: endpoint.to_string(),
        found: format!("an answer without a version ({error})"),
    })
}

fn body(client: &Client, endpoint: &Endpoint, path: &str) -> Result<Vec<u8>, HttpError> {
    let answer = client.get(endpoint, path).and_then(Response::success);
    answer.map(|response| response.body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bounded_http::testing::{Answer, Server};

    #[test]
    fn identity_and_each_response_are_requested() {
        let server = Server::start(|head| {
            let path = head.split(' ').nth(1).unwrap_or_default();
            match path {
                "/" => Answer::ok(r#"{"version":{"number":"2.19.1","distribution":"opensearch"}}"#),
                "/_nodes" => Answer::Body(403, b"no".to_vec()),
                path => Answer::ok(path),
            }
        });
        let client = Client::new(shard_options(bounded_http::Options::default())).unwrap();
        let endpoint = Endpoint::parse(&server.url("/")).unwrap();
        let root = ask_root(&client, &endpoint).unwrap();
        assert_eq!(root.flavour, facts::cluster::Flavour::Opensearch);
        let state = ask_shards(&client, &endpoint, ShardAnswer::State).unwrap();
        assert_eq!(state, b"/_cluster/state");
        let refused = ask_shards(&client, &endpoint, ShardAnswer::Roles).unwrap_err();
        assert!(refused.to_string().contains("403"), "{refused}");
    }

    #[test]
    fn another_kind_of_server_is_named() {
        let server = Server::start(|_| Answer::ok("<html>"));
        let client = Client::new(shard_options(bounded_http::Options::default())).unwrap();
        let endpoint = Endpoint::parse(&server.url("/")).unwrap();
        let error = ask_root(&client, &endpoint).unwrap_err().to_string();
        assert!(
            error.contains("expected Elasticsearch or OpenSearch"),
            "{error}"
        );
    }
}
