//! What a state that was read is taken for: its server, and all that was not told.

use crate::model::Version;
use crate::profile::{Product, ProfileError, Server};
use crate::state::State;

/// The server that a cluster runs: the one that was said, the one that its nodes tell, or the one that
/// the asked node told of itself; 7.4.0, whose decisions are modelled, where nobody told any. Nodes
/// without a version are taken to run it.
///
/// # Errors
/// If what the nodes tell is not modelled.
pub fn settle_server(
    state: &mut State,
    said: Option<&Server>,
    asked: Option<Server>,
) -> Result<(Server, Vec<String>), ProfileError> {
    let mut warnings = Vec::new();
    let server = match (said, state.told_versions()) {
        (Some(server), told) => {
            if let Some(told) = told.filter(|&told| told != (server.version, server.version)) {
                warnings.push(format!(
                    "--version is {server}, but {}: times are predicted for {server}, decisions use \
                     the nodes' own versions.",
                    nodes_run(told)
                ));
            }
            server.clone()
        }
        (None, Some(told)) => {
            // OpenSearch began with 1.0, long after Elasticsearch of these numbers; at `/` it may pass
            // for Elasticsearch 7.10.2 (compatibility.override_main_response_version).
            let product = if told.0 < Version::release(4, 0, 0) {
                Product::OpenSearch
            } else {
                asked.map_or(Product::Elasticsearch, |server| server.product)
            };
            if told.0 != told.1 {
                warnings.push(format!(
                    "{}: the cluster is modelled as {}, the lowest of them, whatever its master runs \
                     (override with --version).",
                    units::list::capitalised(&nodes_run(told)),
                    told.0
                ));
            }
            Server::of(product, told.0)?
        }
        (None, None) => asked.unwrap_or_else(|| {
            warnings.push(
                "The server's version is unknown; assuming 7.4.0 (pass --version, or the answer of _nodes \
                 with --nodes)."
                    .to_owned(),
            );
            Server::default()
        }),
    };
    state.assume_version(server.version);
    Ok((server, warnings))
}

fn nodes_run((low, high): (Version, Version)) -> String {
    if low == high {
        format!("the nodes run {low}")
    } else {
        format!("the nodes run {low} to {high}")
    }
}

/// Said of servers that are none of 7.4, whose allocation is the one that is modelled.
pub fn decisions_note(server: &Server) -> Option<String> {
    let modelled = Version::release(7, 4, 0)..Version::release(7, 5, 0);
    let is_modelled =
        server.product == Product::Elasticsearch && modelled.contains(&server.version);
    (!is_modelled).then(|| {
        format!("Decisions are those of Elasticsearch 7.4.0: {server} may decide otherwise.")
    })
}

/// What was not told, and what it is taken for. Data paths that follow from others are filled in.
pub fn assumptions(state: &mut State) -> Vec<String> {
    let mut warnings = Vec::new();
    let without_path = state.complete_paths();
    let info = state.cluster.info.as_ref();
    let unknown = state.nodes_of_unknown_role() as u64;
    if unknown > 0 {
        warnings.push(format!(
            "The roles of {} are unknown; assuming data nodes (pass the answer of _nodes with \
             --nodes).",
            units::count(unknown, "node")
        ));
    }
    if info.is_none_or(crate::model::ClusterInfo::is_empty) {
        warnings.push(
            "Disk usage is unknown, so the disk decider allows everything (pass the answer of \
             _nodes/stats with --nodes)."
                .to_owned(),
        );
    }
    if without_path > 0 {
        warnings.push(format!(
            "The data path of {} is unknown; they stay where they are, however full that disk is \
             (pass the answer of _stats?level=shards with --sizes).",
            units::count(without_path, "shard")
        ));
    }
    let is_sized =
        state.cluster.routing.copies().any(|copy| {
            info.is_some_and(|info| info.size_bytes(copy.shard, copy.primary).is_some())
        });
    if !is_sized {
        warnings.push(
            "Shard sizes are unknown (pass the answer of _stats?level=shards or \
             _cat/shards?bytes=b&format=json with --sizes)."
                .to_owned(),
        );
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::small_cluster;
    use serde_json::json;

    fn read(versions: [Option<&str>; 3]) -> State {
        let mut state = small_cluster::state();
        for (id, version) in ["a", "b", "c"].into_iter().zip(versions) {
            if let Some(version) = version {
                state["nodes"][id]["version"] = json!(version);
            }
        }
        small_cluster::read(&state)
    }

    #[test]
    fn the_server_is_what_was_said_or_told() {
        let settled = |mut state: State, said: Option<&str>, asked: Option<&str>| {
            let said = said.map(|text| Server::parse(text).unwrap());
            let asked = asked.map(|text| Server::parse(text).unwrap());
            let (server, warnings) = settle_server(&mut state, said.as_ref(), asked).unwrap();
            (server.to_string(), warnings.join(" "))
        };
        let silent = || read([None; 3]);
        let (server, said) = settled(silent(), None, None);
        assert_eq!(server, "Elasticsearch 7.4.0");
        assert!(said.contains("assuming 7.4.0"), "{said}");
        let (server, said) = settled(silent(), None, Some("opensearch-2.19.1"));
        assert_eq!((server.as_str(), said.as_str()), ("OpenSearch 2.19.1", ""));
        let (server, said) = settled(read([Some("7.6.0"); 3]), Some("7.17.28"), None);
        assert_eq!(server, "Elasticsearch 7.17.28");
        assert!(said.contains("but the nodes run 7.6.0:"), "{said}");
        let mixed = read([Some("7.4.2"), Some("7.17.28"), None]);
        let (server, said) = settled(mixed, None, None);
        assert_eq!(server, "Elasticsearch 7.4.2");
        assert!(said.starts_with("The nodes run 7.4.2 to 7.17.28"), "{said}");
        // Its nodes tell what `/` hides.
        let (server, _) = settled(read([Some("2.19.1"); 3]), None, Some("7.10.2"));
        assert_eq!(server, "OpenSearch 2.19.1");
    }

    #[test]
    fn a_server_that_is_not_modelled_is_refused() {
        let mut state = read([Some("5.6.16"); 3]);
        let error = settle_server(&mut state, None, None).unwrap_err();
        assert!(error.to_string().contains("5.6.16"), "{error}");
    }

    #[test]
    fn only_7_4_decides_as_the_model_does() {
        let note = |version| decisions_note(&Server::parse(version).unwrap());
        assert_eq!((note("7.4.0"), note("7.4.2")), (None, None));
        for version in ["7.3.2", "7.5.0", "opensearch-2.19.1"] {
            assert!(note(version).is_some(), "{version}");
        }
    }

    #[test]
    fn what_was_told_is_not_assumed() {
        let mut bare = read([None; 3]);
        let said = assumptions(&mut bare).join(" ");
        for part in ["roles of 3 nodes", "Disk usage is unknown", "Shard sizes"] {
            assert!(said.contains(part), "{part:?} is not in {said}");
        }
        let mut full = small_cluster::full(40);
        assert_eq!(assumptions(&mut full), Vec::<String>::new());
    }
}
