//! `GET /_nodes` and `GET /_nodes/stats`.

use super::settings::SettingsByKey;
use facts::cluster::ServerVersion;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// More nodes than any cluster has.
const NODES_MAX: usize = 10_000;
/// Attributes that servers set themselves: they describe the installation, not the location of a
/// node.
const OWN_ATTRIBUTES: &[&str] = &[
    "ml.",
    "shard_indexing_pressure_enabled",
    "transform.",
    "xpack.",
    "remote_store.",
];

/// Option of a JVM that loads an agent.
const AGENT: &str = "-javaagent:";

/// The `_nodes` header: how many nodes responded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Responses {
    /// Nodes asked.
    pub total: u64,
    /// Nodes among them that failed to respond.
    pub failed: u64,
}

/// `_nodes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nodes {
    /// How many nodes responded.
    #[serde(default, rename = "_nodes")]
    pub responses: Responses,
    /// `cluster.name`.
    pub cluster_name: Option<String>,
    /// Nodes by id.
    #[serde(deserialize_with = "bounded")]
    pub nodes: BTreeMap<String, Node>,
}

/// One node of `_nodes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// `node.name`.
    pub name: String,
    /// Host name or address.
    pub host: Option<String>,
    /// Address.
    pub ip: Option<String>,
    /// Version.
    pub version: Option<ServerVersion>,
    /// Node roles.
    #[serde(default)]
    pub roles: Vec<String>,
    /// `node.attr.*`, without those set by the server itself.
    #[serde(default, deserialize_with = "attributes")]
    pub attributes: BTreeMap<String, String>,
    /// The JVM.
    #[serde(default)]
    pub jvm: Jvm,
    /// Settings from its configuration file, after filtering.
    #[serde(default)]
    pub settings: SettingsByKey,
}

/// A node's JVM.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Jvm {
    /// Version.
    pub version: Option<String>,
    /// Memory usage.
    pub mem: JvmMemory,
    /// Options that load agents, without the agents' folders and arguments. Nothing else of the command line, which may
    /// hold passwords.
    #[serde(
        rename = "input_arguments",
        deserialize_with = "agents",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub agents: Vec<String>,
}

impl Jvm {
    /// Returns the file names of the agents.
    pub fn agent_names(&self) -> impl Iterator<Item = &str> {
        self.agents
            .iter()
            .filter_map(|agent| agent.strip_prefix(AGENT))
    }
}

/// Heap sizes of a JVM.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JvmMemory {
    /// Maximum size.
    pub heap_max_in_bytes: Option<u64>,
    /// Size in use.
    pub heap_used_in_bytes: Option<u64>,
}

/// `_nodes/stats`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodesStats {
    /// How many nodes responded.
    #[serde(default, rename = "_nodes")]
    pub responses: Responses,
    /// Statistics by node id.
    #[serde(deserialize_with = "bounded")]
    pub nodes: BTreeMap<String, NodeStats>,
}

/// One node of `_nodes/stats`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeStats {
    /// The JVM.
    pub jvm: Jvm,
    /// Filesystems.
    pub fs: FsStats,
}

/// A node's filesystems.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FsStats {
    /// Totals over all data paths.
    pub total: FsSizes,
    /// The individual data paths.
    pub data: Vec<FsPath>,
}

/// Filesystem sizes. They are negative if the filesystem could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FsSizes {
    /// Size.
    pub total_in_bytes: Option<i64>,
    /// Space available to the server.
    pub available_in_bytes: Option<i64>,
}

/// A data path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FsPath {
    /// Directory.
    pub path: Option<String>,
    /// Mount and device.
    pub mount: Option<String>,
    /// Filesystem type.
    #[serde(rename = "type")]
    pub fs_type: Option<String>,
    /// Size.
    pub total_in_bytes: Option<i64>,
    /// Space available to the server.
    pub available_in_bytes: Option<i64>,
}

impl Nodes {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body)
    }
}

impl NodesStats {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body)
    }
}

/// Deserializes a map of at most [`NODES_MAX`] entries.
fn bounded<'de, D, T>(deserializer: D) -> Result<BTreeMap<String, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Bounded<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Bounded<T> {
        type Value = BTreeMap<String, T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("nodes by id")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut nodes = BTreeMap::new();
            while let Some((id, node)) = map.next_entry()? {
                nodes.insert(id, node);
                if nodes.len() > NODES_MAX {
                    return Err(A::Error::custom(format!("more than {NODES_MAX} nodes")));
                }
            }
            Ok(nodes)
        }
    }

    deserializer.deserialize_map(Bounded(PhantomData))
}

fn attributes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    let mut attributes = BTreeMap::<String, String>::deserialize(deserializer)?;
    attributes.retain(|key, _| !OWN_ATTRIBUTES.iter().any(|own| key.starts_with(own)));
    Ok(attributes)
}

fn agents<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    // Whatever else it is, it must not cost the rest of the answer.
    let arguments = serde_json::Value::deserialize(deserializer)?;
    let agents = arguments
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|argument| {
            let path = argument.as_str()?.strip_prefix(AGENT)?.split('=').next()?;
            let name = path.rsplit(['/', '\\']).next()?;
            Some(format!("{AGENT}{name}"))
        });
    Ok(agents.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_needs_only_a_name() {
        let nodes = Nodes::parse(br#"{"nodes":{"a":{"name":"n1"}}}"#).unwrap();
        assert_eq!(nodes.nodes["a"].name, "n1");
        assert_eq!(nodes.responses, Responses::default());
        assert!(Nodes::parse(br#"{"nodes":{"a":{}}}"#).is_err());
        assert!(Nodes::parse(b"{}").is_err());
    }

    #[test]
    fn attributes_set_by_servers_are_ignored() {
        let nodes = Nodes::parse(
            br#"{"nodes":{"a":{"name":"n1","attributes":
            {"xpack.installed":"true","ml.enabled":"true","rack":"r1"}}}}"#,
        )
        .unwrap();
        let keys: Vec<&String> = nodes.nodes["a"].attributes.keys().collect();
        assert_eq!(keys, ["rack"]);
    }

    #[test]
    fn of_a_command_line_only_agents_are_kept() {
        let body = br#"{"nodes":{"a":{"name":"n1","jvm":{"input_arguments":["-Xms1g",
            "-javaagent:/opt/apm.jar=token=s3cret","-Djavax.net.ssl.keyStorePassword=s3cret",
            "-javaagent:/etc/elasticsearch/trimtab-livefix.jar"]}}}}"#;
        let nodes = Nodes::parse(body).unwrap();
        let saved = serde_json::to_string(&nodes).unwrap();
        assert!(!saved.contains("s3cret"), "{saved}");
        for other in ["null", "7", "[null, 7]"] {
            let body = format!(
                r#"{{"nodes":{{"a":{{"name":"n1","jvm":{{"input_arguments":{other}}}}}}}}}"#
            );
            assert!(
                Nodes::parse(body.as_bytes()).unwrap().nodes["a"]
                    .jvm
                    .agents
                    .is_empty()
            );
        }
        for nodes in [nodes, Nodes::parse(saved.as_bytes()).unwrap()] {
            let names: Vec<&str> = nodes.nodes["a"].jvm.agent_names().collect();
            assert_eq!(names, ["apm.jar", "trimtab-livefix.jar"]);
        }
    }

    #[test]
    fn a_hostile_list_of_nodes_is_rejected() {
        let nodes: Vec<String> = (0..=NODES_MAX)
            .map(|n| format!(r#""{n}":{{"name":"n"}}"#))
            .collect();
        let body = format!(r#"{{"nodes":{{{}}}}}"#, nodes.join(","));
        let error = Nodes::parse(body.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("more than 10000 nodes"), "{error}");
    }
}
