//! Where the fix is needed, and where it is.

use crate::need::{Need, need};
use facts::Cluster;
use facts::cluster::ClusterNode;
use schemars::JsonSchema;
use serde::Serialize;

/// What a node does in elections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It is the elected master, which alone computes reroutes.
    Master,
    /// It may become the master.
    MasterEligible,
    /// Neither: the fix does nothing there.
    Other,
}

/// A node and the fix.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NodeStatus {
    /// Its name.
    pub name: String,
    /// Its version; `null` if it is not known.
    pub version: Option<String>,
    /// What it does in elections.
    pub role: Role,
    /// Whether its own version needs the fix; that of the master, if it is not known.
    pub need: Need,
    /// Whether its JVM was started with the agent.
    pub has_agent: bool,
}

/// Predicted times of the master's thread, in milliseconds on the machine that measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Predicted {
    /// A reroute that finds nothing to do.
    pub reroute_ms: f64,
    /// Creating an index with the version's defaults: with the fewest reroutes.
    pub create_least_ms: f64,
    /// The same with the most.
    pub create_most_ms: f64,
}

/// Tasks that wait for the master.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Waiting {
    /// How many.
    pub tasks: u64,
    /// How long the first has waited, in milliseconds.
    pub longest_ms: u64,
}

/// A cluster and the fix.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Status {
    /// Product and version of the master: `Elasticsearch 7.4.2`.
    pub server: String,
    /// Whether it needs the fix.
    pub need: Need,
    /// The nodes, the master first; `null` if they are not known.
    pub nodes: Option<Vec<NodeStatus>>,
    /// With the scan; `null` if it cannot be predicted or nothing is scanned.
    pub with_scan: Option<Predicted>,
    /// With the fix: that of 7.6.
    pub with_fix: Option<Predicted>,
    /// What waits now; `null` if it is not known.
    pub waiting: Option<Waiting>,
}

impl Status {
    /// Returns the status of a cluster; `predicted` with the scan and with the fix.
    pub fn of(cluster: &Cluster, predicted: Option<(Predicted, Predicted)>) -> Self {
        let nodes = cluster.nodes.as_ref().map(|nodes| {
            let mut nodes: Vec<NodeStatus> =
                nodes.iter().map(|node| status_of(node, cluster)).collect();
            nodes.sort_by(|a, b| (a.role, &a.name).cmp(&(b.role, &b.name)));
            nodes
        });
        let waiting = cluster.pending_tasks.as_ref().map(|pending| {
            let tasks = pending.tasks.iter().map(|task| task.in_queue_ms);
            let health = cluster
                .health
                .as_ref()
                .map(|health| health.max_task_wait_ms);
            Waiting {
                tasks: pending.total,
                longest_ms: tasks.chain(health).max().unwrap_or(0),
            }
        });
        let need = need(cluster.flavour, &cluster.version);
        let predicted = predicted.filter(|_| need == Need::Needed);
        Self {
            server: format!("{} {}", cluster.flavour.label(), cluster.version),
            need,
            nodes,
            with_scan: predicted.map(|(with_scan, _)| with_scan),
            with_fix: predicted.map(|(_, with_fix)| with_fix),
            waiting,
        }
    }

    /// Returns the nodes that can be the master, in the order in which to restart them: the master last, so that it is
    /// elected anew only once.
    pub fn restart_order(&self) -> Vec<&NodeStatus> {
        let nodes = self.nodes.as_deref().unwrap_or_default().iter();
        let mut eligible: Vec<&NodeStatus> =
            nodes.filter(|node| node.role != Role::Other).collect();
        eligible.sort_by(|a, b| b.role.cmp(&a.role).then(a.name.cmp(&b.name)));
        eligible
    }

    /// Returns those among them that lack the agent and need it.
    pub fn without_agent(&self) -> Vec<&NodeStatus> {
        let mut nodes = self.restart_order();
        nodes.retain(|node| node.need == Need::Needed && !node.has_agent);
        nodes
    }

    /// Whether it is loaded wherever it is needed; `None` if the cluster did not report its nodes.
    pub fn is_complete(&self) -> Option<bool> {
        match (self.need, &self.nodes) {
            (Need::Needed, None) => None,
            _ => Some(self.without_agent().is_empty()),
        }
    }
}

fn status_of(node: &ClusterNode, cluster: &Cluster) -> NodeStatus {
    NodeStatus {
        name: node.name.clone(),
        version: node.version.as_ref().map(ToString::to_string),
        role: if node.is_master_of(cluster) {
            Role::Master
        } else if node.master_eligible && !node.voting_only {
            Role::MasterEligible
        } else {
            Role::Other
        },
        need: need(
            cluster.flavour,
            node.version.as_ref().unwrap_or(&cluster.version),
        ),
        has_agent: node.has_live_fix(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, role: Role, has_agent: bool) -> NodeStatus {
        NodeStatus {
            name: name.to_owned(),
            version: None,
            role,
            need: Need::Needed,
            has_agent,
        }
    }

    #[test]
    fn the_master_is_restarted_last() {
        let status = Status {
            server: "Elasticsearch 7.4.2".to_owned(),
            need: Need::Needed,
            nodes: Some(vec![
                node("m-2", Role::Master, false),
                node("m-3", Role::MasterEligible, true),
                node("m-1", Role::MasterEligible, false),
                node("d-1", Role::Other, false),
            ]),
            with_scan: None,
            with_fix: None,
            waiting: None,
        };
        let names = |nodes: Vec<&NodeStatus>| -> Vec<String> {
            nodes.iter().map(|node| node.name.clone()).collect()
        };
        assert_eq!(names(status.restart_order()), ["m-1", "m-3", "m-2"]);
        assert_eq!(names(status.without_agent()), ["m-1", "m-2"]);
        assert_eq!(status.is_complete(), Some(false));
        let mut upgraded = status.clone();
        for node in upgraded.nodes.iter_mut().flatten() {
            node.need = Need::NotNeeded;
        }
        assert!(upgraded.without_agent().is_empty());
        let untold = Status {
            nodes: None,
            ..status
        };
        assert_eq!(untold.is_complete(), None);
    }
}
