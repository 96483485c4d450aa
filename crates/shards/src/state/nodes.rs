//! Reads `_nodes` and `_nodes/stats`: roles, versions, hosts, disks.

use super::json::{Fields, Object, Source, once, shown, skip};
use super::{State, StateError, answer};
use crate::model::{Cluster, DiskUsage, NodeIndex, Roles};
use crate::profile;
use serde::Deserialize;
use serde::de::{Error, MapAccess};
use std::collections::{BTreeMap, HashMap};

/// Reads either response.
pub fn read(state: &mut State, source: Source<'_>) -> Result<(), StateError> {
    let mut answer = Answer {
        numbers: node_numbers(&state.cluster),
        state,
        seen: false,
        strangers: Vec::new(),
    };
    answer::object(source, "_nodes", &mut answer)?;
    let (seen, strangers) = (answer.seen, std::mem::take(&mut answer.strangers));
    if !seen {
        return Err(StateError::Contradiction(
            "_nodes: expected \"nodes\", found none".to_owned(),
        ));
    }
    if !strangers.is_empty() {
        state.warnings.push(format!(
            "{} told of, which the state does not list: {}",
            if strangers.len() == 1 {
                "a node is"
            } else {
                "nodes are"
            },
            strangers.join(", ")
        ));
    }
    let nodes = &state.cluster.nodes;
    state
        .cluster
        .data_nodes
        .retain(|node| nodes[node.at()].is_live_data());
    Ok(())
}

/// The numbers of all nodes by id.
pub fn node_numbers(cluster: &Cluster) -> HashMap<String, NodeIndex> {
    let numbered = cluster.nodes.iter().zip((0..).map(NodeIndex));
    numbered.map(|(node, at)| (node.id.clone(), at)).collect()
}

struct Answer<'s> {
    state: &'s mut State,
    numbers: HashMap<String, NodeIndex>,
    seen: bool,
    strangers: Vec<String>,
}

impl<'de> Fields<'de> for Answer<'_> {
    const WHAT: &'static str = "an object with nodes";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        if name != "nodes" {
            return skip(map);
        }
        once(&mut self.seen, "nodes")?;
        map.next_value_seed(Object(&mut Nodes(self)))
    }
}

struct Nodes<'a, 's>(&'a mut Answer<'s>);

impl<'de> Fields<'de> for Nodes<'_, '_> {
    const WHAT: &'static str = "nodes by id: an object";
    fn field<A: MapAccess<'de>>(&mut self, id: &str, map: &mut A) -> Result<(), A::Error> {
        let Some(&number) = self.0.numbers.get(id) else {
            if self.0.strangers.len() < 10 {
                self.0.strangers.push(shown(id));
            }
            return skip(map);
        };
        let node = map.next_value::<RawNode>()?;
        take(self.0.state, number, node)
            .map_err(|problem| A::Error::custom(format!("node {}: {problem}", shown(id))))
    }
}

#[derive(Deserialize)]
#[serde(expecting = "a node: an object")]
struct RawNode {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    host: Option<String>,
    #[serde(default)]
    ip: Option<String>,
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    roles: Option<Vec<String>>,
    #[serde(default)]
    attributes: Option<BTreeMap<String, String>>,
    #[serde(default)]
    fs: Option<RawFs>,
}

#[derive(Deserialize)]
#[serde(expecting = "the disks of a node: an object with data")]
struct RawFs {
    #[serde(default)]
    data: Vec<RawPath>,
}

#[derive(Deserialize)]
#[serde(expecting = "a disk: an object")]
struct RawPath {
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    total_in_bytes: Option<i64>,
    #[serde(default)]
    available_in_bytes: Option<i64>,
}

fn take(state: &mut State, number: NodeIndex, raw: RawNode) -> Result<(), String> {
    if let Some(fs) = raw.fs {
        disks(state, number, &fs.data)?;
    }
    let node = &mut state.cluster.nodes[number.at()];
    if let Some(name) = raw.name {
        node.name = name;
    }
    if let Some(host) = raw.host {
        node.host = host;
    }
    if let Some(ip) = raw.ip {
        without_port(&ip).clone_into(&mut node.host_address);
    }
    if let Some(version) = raw.version.as_deref().and_then(profile::version) {
        node.version = version;
        state.versions_known[number.at()] = true;
    }
    if let Some(attributes) = raw.attributes {
        node.attributes = attributes;
    }
    if let Some(roles) = raw.roles {
        node.roles = Roles::new(roles);
        node.data = node.roles.hold_shards();
        state.roles_known[number.at()] = true;
    }
    Ok(())
}

/// The host part of an address with a port.
pub fn without_port(address: &str) -> &str {
    let host = match address.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => address,
    };
    // An IPv6 address without a port contains colons as well.
    if host.contains(':') && !host.starts_with('[') {
        return address;
    }
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Maximum size of a disk in bytes, so that sums stay within 64 bits.
const DISK_BYTES_MAX: i64 = 1 << 55;

/// Records the paths with the least and the most available space, chosen as in
/// `InternalClusterInfoService.fillDiskUsagePerNode`.
fn disks(state: &mut State, number: NodeIndex, paths: &[RawPath]) -> Result<(), String> {
    let info = state.cluster.info.get_or_insert_default();
    let mut picked: Option<(DiskUsage, DiskUsage)> = None;
    for raw in paths {
        let (Some(path), Some(total_bytes), Some(free_bytes)) =
            (&raw.path, raw.total_in_bytes, raw.available_in_bytes)
        else {
            continue;
        };
        for bytes in [total_bytes, free_bytes] {
            // -1 means that the server does not know.
            if !(-1..=DISK_BYTES_MAX).contains(&bytes) {
                return Err(format!("a disk of {bytes} bytes"));
            }
        }
        if free_bytes > total_bytes.max(0) {
            return Err(format!(
                "disk {} has {free_bytes} bytes available of {total_bytes}",
                shown(path)
            ));
        }
        if total_bytes <= 0 {
            // InternalClusterInfoService omits -1; with 0 bytes DiskUsage assumes 100 % free.
            let taken = if total_bytes < 0 { "not told" } else { "empty" };
            let name = shown(&state.cluster.nodes[number.at()].name);
            state.warnings.push(format!(
                "Disk {} of node {name} has {total_bytes} bytes in all: it counts as {taken}, as in the \
                 server.",
                shown(path)
            ));
        }
        let usage = DiskUsage {
            path: Some(info.path(path)),
            total_bytes,
            free_bytes,
        };
        picked = Some(match picked {
            None => (usage, usage),
            Some((least, most)) if least.free_bytes > free_bytes => (usage, most),
            Some((least, most)) if most.free_bytes < free_bytes => (least, usage),
            Some(both) => both,
        });
    }
    if let Some((least, most)) = picked {
        if least.total_bytes >= 0 {
            info.least.insert(number, least);
        }
        if most.total_bytes >= 0 {
            info.most.insert(number, most);
        }
    }
    Ok(())
}
