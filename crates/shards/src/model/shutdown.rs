//! Nodes that are about to leave (`SingleNodeShutdownMetadata`), from 7.13 on.

use super::NodeIndex;

/// What is to become of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownKind {
    /// It comes back soon; its copies stay.
    Restart,
    /// It leaves for good.
    Remove,
    /// It leaves, and another node takes over what it holds.
    Replace,
    /// It was asked to end (8.9 on).
    Sigterm,
}

/// A node that was announced to shut down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shutdown {
    /// The node.
    pub node: NodeIndex,
    /// What is to become of it.
    pub kind: ShutdownKind,
    /// The name of the node that takes over.
    pub target: Option<String>,
    /// How long its copies wait for a restart, nanoseconds; `None` for the index's setting.
    pub delay_nanos: Option<i64>,
}
