//! A cluster's answers as elastic/support-diagnostics saves them: one file for each
//! (`src/main/resources/elastic-rest.yml`). They are those of `GET`, complete and with nested settings,
//! and a request that failed leaves the error in its file.

use crate::answer::indices::{Counter, IndexState};
use crate::answer::nodes::{Nodes, NodesStats};
use crate::answer::root::Root;
use crate::answer::routing::Routing;
use crate::answer::settings::Settings;
use crate::answer::{desired_balance, health, tasks};
use crate::answers::{Answers, Part, SCHEMA, Unanswered};
use crate::ask::{Server, exception, looks_like};
use crate::threads;
use facts::InputError;
use jiff::Timestamp;
use serde::Deserialize;
use std::collections::{HashMap, HashSet};

/// The file that says which server was asked.
pub const VERSION_FILE: &str = "version.json";
const HOT_THREADS_FILE: &str = "nodes_hot_threads.txt";
/// The files that say what the tool did and when, the newer one first.
pub const MANIFESTS: [&str; 2] = ["diagnostic_manifest.json", "manifest.json"];

/// Where the files of an archive come from: the content of one by its name.
pub type Files<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// Reads a cluster's answers out of the files of an archive. `endpoint` names the archive.
///
/// # Errors
/// If neither `version.json` nor `nodes.json` tells what server it is.
pub fn from_diagnostics(files: Files<'_>, endpoint: &str) -> Result<Answers, InputError> {
    let saved = Saved { files };
    let root = saved.part(VERSION_FILE, Root::parse);
    let nodes = saved.part("nodes.json", Nodes::parse);
    if let (Some(_), None) = (root.unanswered(), nodes.answer()) {
        let found = files(VERSION_FILE).unwrap_or_else(String::into_bytes);
        let expected = "the answer of `GET /` by Elasticsearch or OpenSearch";
        let found = String::from_utf8_lossy(&found).into_owned();
        return Err(InputError::new(VERSION_FILE, expected, &found));
    }
    let state = files("cluster_state.json");
    let closed = state.as_deref().ok().and_then(closed_indices);
    let routing = match &state {
        Ok(body) => parsed("cluster_state.json", body, |body| {
            Routing::parse(body, closed.as_ref())
        }),
        Err(why) => missing("cluster_state.json", why),
    };
    let indices = saved.part("settings.json", |body| {
        let mut counter = Counter::default();
        let is_closed = |name: &str| closed.as_ref().is_some_and(|names| names.contains(name));
        counter.count_each(body, &|name| {
            if is_closed(name) {
                IndexState::Closed
            } else {
                IndexState::Open
            }
        })?;
        Ok(counter.finish().0)
    });
    let settings = match saved.part("cluster_settings_defaults.json", Settings::parse) {
        Part::Answer(settings) => Part::Answer(settings),
        Part::Unanswered(_) => saved.part("cluster_settings.json", Settings::parse),
    };
    let hot_threads = match files(HOT_THREADS_FILE) {
        Ok(body) => match threads::from_file(&body, HOT_THREADS_FILE) {
            Ok(found) => Part::Answer(found),
            Err(error) => Part::Unanswered(Unanswered::new(
                format!("{HOT_THREADS_FILE}: expected {}", error.expected),
                None,
            )),
        },
        Err(why) => missing(HOT_THREADS_FILE, &why),
    };
    let server = Server::detect(root.answer(), nodes.answer());
    let has_balance = server.is_some_and(|server| server.desired_balance().is_some());
    let desired_balance =
        has_balance.then(|| saved.part("internal_desired_balance.json", desired_balance::parse));
    Ok(Answers {
        schema: SCHEMA.to_owned(),
        endpoint: endpoint.to_owned(),
        read_at: read_at(files).unwrap_or(Timestamp::UNIX_EPOCH),
        root,
        nodes,
        node_stats: saved.part("nodes_stats.json", NodesStats::parse),
        health: saved.part("cluster_health.json", health::parse),
        indices,
        routing,
        pending_tasks: saved.part("cluster_pending_tasks.json", tasks::parse),
        settings,
        hot_threads,
        desired_balance,
    })
}

/// When the archive was made, by its manifest.
pub fn read_at(files: Files<'_>) -> Option<Timestamp> {
    #[derive(Deserialize)]
    struct Manifest {
        #[serde(alias = "collectionDate")]
        timestamp: Timestamp,
    }
    let manifests = MANIFESTS.iter().filter_map(|name| files(name).ok());
    let mut read = manifests.filter_map(|body| serde_json::from_slice::<Manifest>(&body).ok());
    Some(read.next()?.timestamp)
}

struct Saved<'a> {
    files: Files<'a>,
}

impl Saved<'_> {
    fn part<T>(
        &self,
        name: &str,
        parse: impl FnOnce(&[u8]) -> Result<T, serde_json::Error>,
    ) -> Part<T> {
        match (self.files)(name) {
            Ok(body) => parsed(name, &body, parse),
            Err(why) => missing(name, &why),
        }
    }
}

fn parsed<T>(
    name: &str,
    body: &[u8],
    parse: impl FnOnce(&[u8]) -> Result<T, serde_json::Error>,
) -> Part<T> {
    let why = match (exception(body), parse(body)) {
        (_, Ok(answer)) => return Part::Answer(answer),
        (Some(exception), _) => format!("{name}: the server answered with an error ({exception})"),
        (None, Err(error)) => format!("{name}: {}", looks_like(body, &error)),
    };
    Part::Unanswered(Unanswered::new(why, None))
}

fn missing<T>(name: &str, why: &str) -> Part<T> {
    Part::Unanswered(Unanswered::new(
        format!("{name}: {why}"),
        Some("an archive of support-diagnostics in its full mode"),
    ))
}

/// Names of the closed indices in a cluster state; `None` if it does not tell.
fn closed_indices(state: &[u8]) -> Option<HashSet<String>> {
    #[derive(Deserialize)]
    struct State {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        indices: HashMap<String, Index>,
    }
    #[derive(Deserialize)]
    struct Index {
        state: String,
    }
    let state: State = serde_json::from_slice(state).ok()?;
    let indices = state.metadata.indices.into_iter();
    let closed = indices.filter(|(_, index)| index.state == "close");
    Some(closed.map(|(name, _)| name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(name: &str) -> Result<Vec<u8>, String> {
        let text = match name {
            "version.json" => r#"{"cluster_name":"logs","version":{"number":"8.11.0"}}"#,
            "diagnostic_manifest.json" => {
                r#"{"mode":"full","timestamp":"2026-11-28T10:53:23.223Z"}"#
            }
            "nodes.json" => {
                r#"{"_nodes":{"total":1,"successful":1,"failed":0},"cluster_name":"logs","nodes":{"m1":{
                "name":"es-1","version":"8.11.0","roles":["master","data"],
                "settings":{"cluster":{"routing":{"allocation":{"enable":"none"}}},"pidfile":"x"}}}}"#
            }
            "cluster_state.json" => {
                r#"{"cluster_name":"logs","master_node":"m1","metadata":{"indices":{
                "a":{"state":"open"},"b":{"state":"close"}}},
                "routing_table":{"indices":{"a":{"shards":{"0":[{"state":"STARTED","primary":true,"node":"m1"}]}}}}}"#
            }
            "settings.json" => {
                r#"{"a":{"settings":{"index":{"number_of_shards":"1","refresh_interval":"30s"}}},
                "b":{"settings":{"index":{"number_of_shards":"2","number_of_replicas":"1"}}}}"#
            }
            "internal_desired_balance.json" => {
                r#"{"stats":{"computation_active":false,"computation_submitted":3,"computation_executed":3,
                "computation_converged":3},"routing_table":{"a":{"0":{"current":[
                {"state":"STARTED","node":"m1","node_is_desired":false}]}}}}"#
            }
            "cluster_pending_tasks.json" => {
                r#"{"error":{"type":"master_not_discovered_exception","reason":"x"},"status":503}"#
            }
            "nodes_hot_threads.txt" => {
                "::: {es-2}{d1}{x}\n   Hot threads at 2026-11-28T10:53:23Z, interval=500ms, busiestThreads=3:\n\
                 \n    50.0% (250ms out of 500ms) cpu usage by thread 'other'\n      java.base/x.y(A.java:1)\n\
                 ::: {es-1}{m1}{x}\n   Hot threads at 2026-11-28T10:53:23Z, interval=500ms, busiestThreads=3:\n\
                 \n    99.0% (495ms out of 500ms) cpu usage by thread 'masterService'\n      java.base/x.y(A.java:1)\n"
            }
            _ => return Err("not found".to_owned()),
        };
        Ok(text.as_bytes().to_vec())
    }

    #[test]
    fn the_files_are_read_as_answers() {
        let answers = from_diagnostics(&file, "local-diagnostics-1").unwrap();
        assert_eq!(answers.read_at.to_string(), "2026-11-28T10:53:23.223Z");
        let node = &answers.nodes.answer().unwrap().nodes["m1"];
        assert_eq!(node.settings.0.len(), 1, "nested, and filtered: {node:?}");
        let indices = answers.indices.answer().unwrap();
        assert_eq!((indices.open, indices.closed), (1, 1));
        assert_eq!(indices.closed_shards_configured, 4);
        assert_eq!(indices.values["index.refresh_interval"]["30s"].open, 1);
        let why = &answers.pending_tasks.unanswered().unwrap().why;
        assert!(why.contains("master_not_discovered_exception"), "{why}");
        let why = &answers.node_stats.unanswered().unwrap().why;
        assert!(why.contains("nodes_stats.json: not found"), "{why}");
        let threads = &answers.hot_threads.answer().unwrap().threads;
        let nodes: Vec<_> = threads
            .iter()
            .map(|thread| thread.node.as_deref())
            .collect();
        assert_eq!(nodes, [Some("es-2"), Some("es-1")]);
        let balance = answers.desired_balance.as_ref().unwrap().answer().unwrap();
        assert_eq!(balance.copies.unwrap().undesired, 1);
        answers.facts().unwrap();
    }

    #[test]
    fn an_archive_of_something_else_is_named() {
        let other = |name: &str| match name {
            "version.json" => Ok(b"{\"name\":\"kibana\"}".to_vec()),
            _ => Err("not found".to_owned()),
        };
        let error = from_diagnostics(&other, "x").unwrap_err().to_string();
        assert!(
            error.contains("version.json") && error.contains("kibana"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn total(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0_usize..400) {
            let _ = from_diagnostics(&|_| Ok(bytes.clone()), "x");
            let shortened = |name: &str| file(name).map(|mut bytes| { bytes.truncate(cut); bytes });
            let _ = from_diagnostics(&shortened, "x");
        }
    }
}
