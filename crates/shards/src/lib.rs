//! The master's shard scheduler: what Elasticsearch 7.4 decides, decision for decision, and what it costs.
//!
//! [`model::Cluster`] is what the master knows. [`service`] does to it what the master does: reroute,
//! start, fail, nodes that come and go. A round spreads the routing table over the nodes
//! ([`nodes::RoutingNodes`]), lets the gateway's rule ([`gateway`]) and then the balancer
//! ([`balancer`]) work on it, each asking the [`deciders`], and writes the table back.

mod allocation;
pub mod balancer;
pub mod copy;
pub mod cost;
pub mod deciders;
pub mod engine;
pub mod estimate;
pub mod explanation;
pub mod forecast;
pub mod gateway;
mod introsort;
pub mod java;
pub mod model;
pub mod nodes;
pub mod profile;
pub mod reading;
pub mod service;
#[cfg(test)]
mod small_cluster;
pub mod state;
pub mod what_if;
