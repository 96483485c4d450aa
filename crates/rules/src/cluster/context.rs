//! The input of rules about clusters.

use crate::context::Context;
use crate::shell::printable;
use crate::volume::Volume;
use facts::cluster::ClusterNode;
use facts::{Cluster, Finding, Host, Severity};
use jiff::Timestamp;

/// The input of a rule about a cluster.
pub struct ClusterContext<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The time at which the cluster was queried.
    pub now: Timestamp,
    /// The given hosts, each with the nodes running on it.
    pub hosts: Vec<NodeHost<'a>>,
}

/// A host of the cluster.
pub struct NodeHost<'a> {
    /// Its facts.
    pub context: Context<'a>,
    /// Nodes running on it, matched by name; empty if none could be matched.
    pub nodes: Vec<&'a ClusterNode>,
    /// What the rules about hosts found on it, informations left out.
    pub found: Vec<FoundOnHost>,
}

/// A finding about a host, in short.
#[derive(Debug, Clone)]
pub struct FoundOnHost {
    /// Id of the rule.
    pub rule: String,
    /// As in [`Finding`].
    pub title: String,
    /// The mount point that it is about; `None` for a job or the whole host.
    pub mount_point: Option<String>,
}

impl FoundOnHost {
    /// Returns the findings in short.
    pub(crate) fn of(findings: &[Finding]) -> Vec<Self> {
        let counts = findings
            .iter()
            .filter(|finding| finding.severity > Severity::Info);
        let short = counts.map(|finding| Self {
            rule: finding.rule.clone(),
            title: finding.title.clone(),
            mount_point: finding.mount_point.clone(),
        });
        short.take(FOUND_MAX).collect()
    }
}

/// Maximum number of findings of a host that are kept beside its cluster.
const FOUND_MAX: usize = 1000;

impl<'a> ClusterContext<'a> {
    /// Builds the shared views. Hosts given twice (with the same name) count once.
    pub fn new(cluster: &'a Cluster, hosts: &[&'a Host]) -> Self {
        let contexts = hosts.iter().map(|host| (Context::new(host), Vec::new()));
        Self::of_contexts(cluster, contexts)
    }

    /// Builds the shared views from those of the hosts; see [`Self::new`].
    pub(crate) fn of_contexts(
        cluster: &'a Cluster,
        hosts: impl IntoIterator<Item = (Context<'a>, Vec<FoundOnHost>)>,
    ) -> Self {
        let mut known: Vec<NodeHost<'a>> = Vec::new();
        for (context, found) in hosts {
            let host = context.host;
            let name = host.platform.host_name.as_deref();
            let is_known = known.iter().any(|other| {
                let other = other.context.host;
                std::ptr::eq(other, host)
                    || (name.is_some() && other.platform.host_name.as_deref() == name)
            });
            if !is_known {
                known.push(NodeHost {
                    context,
                    nodes: nodes_on(cluster, host),
                    found,
                });
            }
        }
        Self {
            cluster,
            now: cluster.read_at,
            hosts: known,
        }
    }
}

impl<'a> NodeHost<'a> {
    /// Returns the host's name, escaped for use in a sentence.
    pub(crate) fn name(&self) -> String {
        printable(
            self.context
                .host
                .platform
                .host_name
                .as_deref()
                .unwrap_or("a host without a name"),
        )
    }

    /// Returns what was found about the disks of the cluster's data on this host: jobs, trims,
    /// filesystems.
    pub(crate) fn found_about_disks(&self) -> impl Iterator<Item = &FoundOnHost> {
        let points: Vec<&str> = self
            .volumes()
            .map(|volume| volume.mount.mount_point.as_str())
            .collect();
        self.found.iter().filter(move |found| {
            let point = found.mount_point.as_deref();
            point.is_none_or(|point| points.contains(&point))
        })
    }

    /// Returns the filesystems that hold the cluster's data on this host: those named by its nodes,
    /// and those below data paths of Elasticsearch and OpenSearch found on the host.
    pub(crate) fn volumes(&self) -> impl Iterator<Item = &Volume<'a>> {
        let named: Vec<&str> = self
            .nodes
            .iter()
            .flat_map(|node| &node.data_paths)
            .filter_map(|path| {
                let mount = path.mount.as_deref()?;
                Some(mount.split_once(" (").map_or(mount, |(point, _)| point))
            })
            .collect();
        self.context.volumes.iter().filter(move |volume| {
            named.contains(&volume.mount.mount_point.as_str())
                || volume.stores.iter().any(|store| store.engine.is_lucene())
        })
    }
}

/// Returns the nodes whose published host, address or name equals the host's name. If one of the
/// names is unqualified, only the part before the first dot is compared.
fn nodes_on<'a>(cluster: &'a Cluster, host: &Host) -> Vec<&'a ClusterNode> {
    let Some(host_name) = host.platform.host_name.as_deref() else {
        return Vec::new();
    };
    let is_it = |name: &str| {
        let short = |name: &str| name.split('.').next().unwrap_or(name).to_ascii_lowercase();
        let is_address = name.parse::<std::net::IpAddr>().is_ok();
        name.eq_ignore_ascii_case(host_name)
            || (!is_address
                && name.contains('.') != host_name.contains('.')
                && short(name) == short(host_name))
    };
    cluster
        .nodes
        .iter()
        .flatten()
        .filter(|node| node.host.as_deref().is_some_and(is_it) || is_it(&node.name))
        .collect()
}
