//! Descriptions of a cluster.

use super::phrases::grouped;
use facts::{Cluster, Finding};
use units::{count, list};

/// Returns its name, or its address if the name is unknown.
pub(crate) fn name(cluster: &Cluster) -> &str {
    cluster.name.as_deref().unwrap_or(&cluster.endpoint)
}

/// Describes a cluster: `cluster logs (Elasticsearch 7.4.0, 12 nodes, 50,000 shards)`.
pub(crate) fn words(cluster: &Cluster) -> String {
    format!("cluster {} ({})", name(cluster), about(cluster))
}

/// Describes a cluster without its name: `Elasticsearch 7.4.0, 12 nodes, 50,000 shards`. Unknown
/// parts are left out.
pub(crate) fn about(cluster: &Cluster) -> String {
    let mut words = vec![format!("{} {}", cluster.flavour.label(), cluster.version)];
    if let Some(nodes) = &cluster.nodes {
        words.push(count(nodes.len(), "node"));
    }
    if let Some(shards) = &cluster.shards {
        words.push(count(shards.total, "shard"));
    }
    words.join(", ")
}

/// Describes what was examined, in parts: `12 nodes`, `50,000 shards`,
/// `4,200 indices (200 closed)`; unknown parts are named as such.
pub(crate) fn scope(cluster: &Cluster) -> Vec<String> {
    let nodes = match &cluster.nodes {
        Some(nodes) => count(nodes.len(), "node"),
        None => "unknown nodes".to_owned(),
    };
    let shards = match &cluster.shards {
        Some(shards) => count(shards.total, "shard"),
        None => "unknown shards".to_owned(),
    };
    let indices = match &cluster.indices {
        Some(indices) => format!(
            "{} indices ({} closed)",
            units::grouped(indices.open.saturating_add(indices.closed)),
            units::grouped(indices.closed)
        ),
        None => "unknown indices".to_owned(),
    };
    vec![nodes, shards, indices]
}

/// Returns the sections of a report: heading, description of the cluster, its findings. The checked
/// cluster has a section even without findings.
pub(crate) fn sections<'a>(
    cluster: Option<&Cluster>,
    findings: Vec<&'a Finding>,
) -> Vec<(String, String, Vec<&'a Finding>)> {
    let findings = findings.into_iter();
    let named = findings.filter_map(|finding| Some((finding.cluster.as_deref()?, finding)));
    let mut sections: Vec<(String, String, Vec<&'a Finding>)> = grouped(named)
        .into_iter()
        .map(|(name, group)| (name.to_owned(), String::new(), group))
        .collect();
    if let Some(cluster) = cluster {
        let name = name(cluster);
        match sections.iter_mut().find(|(known, ..)| known == name) {
            Some((_, about_it, _)) => *about_it = about(cluster),
            None => sections.insert(0, (name.to_owned(), about(cluster), Vec::new())),
        }
    }
    sections
}

/// Returns the names of a few nodes, for a line of text.
pub(crate) fn node_names(cluster: &Cluster) -> Option<String> {
    const NAMES_MAX: usize = 6;
    let nodes = cluster.nodes.as_ref()?;
    let mut names: Vec<String> = nodes
        .iter()
        .take(NAMES_MAX)
        .map(|node| node.name.clone())
        .collect();
    if nodes.len() > NAMES_MAX {
        names.push(format!("{} more", nodes.len() - NAMES_MAX));
    }
    (!names.is_empty()).then(|| list(&names))
}
