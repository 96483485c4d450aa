//! The master's shard scheduler: what Elasticsearch 7.4 decides, decision for decision, and what it costs.
