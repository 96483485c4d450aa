//! Model of the master's shard allocation: reproduces the decisions of Elasticsearch and OpenSearch and
//! estimates their cost.
//!
//! [`model::Cluster`] is the master's view of the cluster. [`service`] implements the master's operations
//! on it: reroute, started copies, nodes that join and leave, indices that are created and closed. An allocation round distributes
//! the routing table over the nodes ([`nodes::RoutingNodes`]), runs the gateway allocator ([`gateway`])
//! and then the balancer ([`balancer`]), both of which consult the [`deciders`], and writes the table
//! back.

mod allocation;
pub mod balancer;
mod circle;
pub mod copy;
pub mod cost;
pub mod deciders;
pub mod desired;
pub mod doubt;
pub mod estimate;
pub mod explanation;
pub mod forecast;
pub mod gateway;
mod introsort;
pub mod java;
pub mod joining;
pub mod model;
pub mod nodes;
mod priority;
pub mod profile;
pub mod reading;
mod recovery;
pub mod service;
#[cfg(test)]
mod small_cluster;
pub mod state;
mod sums;
pub mod what_if;
