//! Determines the server of a cluster state, and fills in and lists missing information.

use crate::model::Version;
use crate::profile::{Product, ProfileError, Server};
use crate::state::State;

/// Determines the server that a cluster runs: the one given, else the one its nodes report, else the one
/// the queried node reported; otherwise 7.4.0. Nodes without a
/// version are assumed to run it.
///
/// # Errors
/// If the version reported by the nodes is not modelled
pub fn determine_server(
    state: &mut State,
    given: Option<&Server>,
    queried: Option<Server>,
) -> Result<(Server, Vec<String>), ProfileError> {
    let mut warnings = Vec::new();
    let server = match (given, state.known_versions()) {
        (Some(server), known) => {
            if let Some(known) = known.filter(|&known| known != (server.version, server.version)) {
                warnings.push(format!(
                    "--version is {server}, but {}: times are predicted for {server}, decisions use \
                     the nodes' own versions.",
                    nodes_run(known)
                ));
            }
            server.clone()
        }
        (None, Some(known)) => {
            // OpenSearch started at 1.0, long after Elasticsearch had passed these versions. At `/` it
            // may report itself as Elasticsearch 7.10.2 (compatibility.override_main_response_version).
            let product = if known.0 < Version::release(4, 0, 0) {
                Product::OpenSearch
            } else {
                queried.map_or(Product::Elasticsearch, |server| server.product)
            };
            if known.0 != known.1 {
                warnings.push(format!(
                    "{}: the cluster is modelled as {}, the lowest of them, whatever its master runs \
                     (override with --version).",
                    units::list::capitalised(&nodes_run(known)),
                    known.0
                ));
            }
            Server::of(product, known.0)?
        }
        (None, None) => queried.unwrap_or_else(|| {
            warnings.push(
                "The server's version is unknown; assuming 7.4.0 (pass --version, or the answer of _nodes \
                 with --nodes)."
                    .to_owned(),
            );
            Server::default()
        }),
    };
    state.assume_version(server.version);
    state.cluster.product = server.product;
    state.cluster.version = server.version;
    if state.cluster.has_desired_balance() {
        state.key_paths_by_place();
    }
    // Changed after 8.15.5, and before 8.19.4.
    if state.cluster.has_desired_balance() && server.version >= Version::release(8, 16, 0) {
        let allow = "cluster.routing.allocation.allow_rebalance";
        let assumed = state.assume_default(allow, "always");
        debug_assert!(assumed.is_ok(), "a value of this setting");
    }
    Ok((server, warnings))
}

fn nodes_run((low, high): (Version, Version)) -> String {
    if low == high {
        format!("the nodes run {low}")
    } else {
        format!("the nodes run {low} to {high}")
    }
}

/// Note for servers that decide in a way that was not compared with this model: older than 7.4, and newer
/// than the newest that was.
pub fn decisions_note(server: &Server) -> Option<String> {
    let (first, last) = match server.product {
        Product::Elasticsearch => (Version::release(7, 4, 0), Version::release(9, 3, 0)),
        Product::OpenSearch => (Version::release(1, 0, 0), Version::release(3, 1, 0)),
    };
    let like = match server.version {
        version if version < first => "Elasticsearch 7.4.0",
        version if version < last => return None,
        _ => match server.product {
            Product::Elasticsearch => "Elasticsearch 9.2.0",
            Product::OpenSearch => "OpenSearch 3.0.0",
        },
    };
    Some(format!(
        "Decisions are those of {like}: {server} may decide otherwise."
    ))
}

/// Lists missing information and what is assumed instead. Fills in data paths that can be derived.
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
    fn the_server_is_given_or_reported() {
        let settled = |mut state: State, said: Option<&str>, asked: Option<&str>| {
            let said = said.map(|text| Server::parse(text).unwrap());
            let asked = asked.map(|text| Server::parse(text).unwrap());
            let (server, warnings) = determine_server(&mut state, said.as_ref(), asked).unwrap();
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
        // The nodes' version takes precedence over the one at `/`.
        let (server, _) = settled(read([Some("2.19.1"); 3]), None, Some("7.10.2"));
        assert_eq!(server, "OpenSearch 2.19.1");
    }

    #[test]
    fn a_server_that_is_not_modelled_is_refused() {
        let mut state = read([Some("5.6.16"); 3]);
        let error = determine_server(&mut state, None, None).unwrap_err();
        assert!(error.to_string().contains("5.6.16"), "{error}");
    }

    #[test]
    fn versions_that_were_not_compared_get_a_note() {
        let note = |version| decisions_note(&Server::parse(version).unwrap());
        for version in [
            "7.4.0",
            "7.17.28",
            "8.3.3",
            "8.11.0",
            "9.2.4",
            "opensearch-1.3.20",
        ] {
            assert_eq!(note(version), None, "{version}");
        }
        for (version, like) in [
            ("7.3.2", "Elasticsearch 7.4.0"),
            ("9.3.0", "Elasticsearch 9.2.0"),
            ("opensearch-3.1.0", "OpenSearch 3.0.0"),
        ] {
            let note = note(version).unwrap();
            assert!(note.contains(&format!("those of {like}:")), "{note}");
        }
    }

    #[test]
    fn later_versions_rebalance_at_any_time_unless_told_otherwise() {
        use crate::model::AllowRebalance;
        let allow = |version: &str, told: Option<&str>| {
            let mut state = read([Some(version); 3]);
            if let Some(told) = told {
                state
                    .set("cluster.routing.allocation.allow_rebalance", told)
                    .unwrap();
            }
            determine_server(&mut state, None, None).unwrap();
            state.cluster.settings.allow_rebalance
        };
        assert_eq!(allow("9.2.0", None), AllowRebalance::Always);
        assert_eq!(allow("8.11.0", None), AllowRebalance::IndicesAllActive);
        let told = allow("9.2.0", Some("indices_primaries_active"));
        assert_eq!(told, AllowRebalance::IndicesPrimariesActive);
    }

    #[test]
    fn known_values_are_not_assumed() {
        let mut bare = read([None; 3]);
        let said = assumptions(&mut bare).join(" ");
        for part in ["roles of 3 nodes", "Disk usage is unknown", "Shard sizes"] {
            assert!(said.contains(part), "{part:?} is not in {said}");
        }
        let mut full = small_cluster::full(40);
        assert_eq!(assumptions(&mut full), Vec::<String>::new());
    }
}
