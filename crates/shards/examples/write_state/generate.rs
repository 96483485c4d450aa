//! Generates a synthetic cluster state in the format of 7.4.0's `_cluster/state`.

use std::io::{self, Write};

/// Dimensions of the generated cluster.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// Data nodes.
    pub nodes: u32,
    /// Indices; every tenth is closed.
    pub indices: u32,
    /// Primaries of each.
    pub primaries: u32,
    /// Replicas of each primary; replicas that do not fit on a node of their own are unassigned.
    pub replicas: u32,
    /// Fields in the mapping of each index, about 60 bytes each.
    pub mapping_fields: u32,
}

/// Writes the cluster state. Copies are assigned to the nodes round-robin and all are started, except for
/// replicas without a node.
///
/// # Errors
/// When writing to `out` fails
pub fn write_state(out: &mut impl Write, spec: &Spec) -> io::Result<()> {
    write!(
        out,
        r#"{{"cluster_name":"made-up","cluster_uuid":"_na_","version":1,"state_uuid":"s","master_node":"id-0","blocks":{{}},"nodes":{{"#
    )?;
    for node in 0..spec.nodes {
        let comma = if node > 0 { "," } else { "" };
        write!(
            out,
            r#"{comma}"id-{node}":{{"name":"node-{node}","ephemeral_id":"e-{node}","transport_address":"10.0.{}.{}:9300","attributes":{{"zone":"z{}"}}}}"#,
            node / 256,
            node % 256,
            node % 2
        )?;
    }
    write!(
        out,
        r#"}},"metadata":{{"cluster_uuid":"_na_","templates":{{}},"indices":{{"#
    )?;
    for index in 0..spec.indices {
        if index > 0 {
            write!(out, ",")?;
        }
        write_metadata(out, spec, index)?;
    }
    write!(out, r#"}}}},"routing_table":{{"indices":{{"#)?;
    for index in 0..spec.indices {
        if index > 0 {
            write!(out, ",")?;
        }
        write_table(out, spec, index)?;
    }
    writeln!(out, r"}}}}}}")
}

/// Name of an index.
pub fn name(index: u32) -> String {
    format!("logs-{index:07}")
}

/// Node of a copy, or `None` when every node already has a copy of the shard.
pub fn node_of(spec: &Spec, index: u32, shard: u32, copy: u32) -> Option<u32> {
    (copy < spec.nodes).then(|| (index + shard + copy) % spec.nodes)
}

fn allocation(index: u32, shard: u32, copy: u32) -> String {
    // As long as the server's ids: 22 characters.
    format!("{index:010}-{shard:05}-{copy:05}")
}

fn write_metadata(out: &mut impl Write, spec: &Spec, index: u32) -> io::Result<()> {
    let state = if index % 10 == 9 { "close" } else { "open" };
    write!(
        out,
        r#""{}":{{"state":"{state}","settings":{{"index":{{"creation_date":"{}","number_of_shards":"{}","number_of_replicas":"{}","uuid":"uuid-{index}","version":{{"created":"7040099"}},"provided_name":"x"}}}},"mappings":{{"_doc":{{"properties":{{"#,
        name(index),
        1_570_000_000_000_u64 + u64::from(index),
        spec.primaries,
        spec.replicas
    )?;
    for field in 0..spec.mapping_fields {
        let comma = if field > 0 { "," } else { "" };
        write!(
            out,
            r#"{comma}"field_{field:06}":{{"type":"keyword","ignore_above":1024}}"#
        )?;
    }
    write!(out, r#"}}}}}},"aliases":[],"primary_terms":{{"#)?;
    for shard in 0..spec.primaries {
        let comma = if shard > 0 { "," } else { "" };
        write!(out, r#"{comma}"{shard}":1"#)?;
    }
    write!(out, r#"}},"in_sync_allocations":{{"#)?;
    for shard in 0..spec.primaries {
        let comma = if shard > 0 { "," } else { "" };
        write!(out, r#"{comma}"{shard}":["#)?;
        let held = (0..=spec.replicas).filter(|&copy| node_of(spec, index, shard, copy).is_some());
        for copy in held {
            let comma = if copy > 0 { "," } else { "" };
            write!(out, r#"{comma}"{}""#, allocation(index, shard, copy))?;
        }
        write!(out, "]")?;
    }
    write!(out, "}}}}")
}

fn write_table(out: &mut impl Write, spec: &Spec, index: u32) -> io::Result<()> {
    let name = name(index);
    write!(out, r#""{name}":{{"shards":{{"#)?;
    for shard in 0..spec.primaries {
        let comma = if shard > 0 { "," } else { "" };
        write!(out, r#"{comma}"{shard}":["#)?;
        for copy in 0..=spec.replicas {
            let comma = if copy > 0 { "," } else { "" };
            let primary = copy == 0;
            match node_of(spec, index, shard, copy) {
                Some(node) => write!(
                    out,
                    r#"{comma}{{"state":"STARTED","primary":{primary},"node":"id-{node}","relocating_node":null,"shard":{shard},"index":"{name}","allocation_id":{{"id":"{}"}}}}"#,
                    allocation(index, shard, copy)
                )?,
                None => write!(
                    out,
                    r#"{comma}{{"state":"UNASSIGNED","primary":{primary},"node":null,"relocating_node":null,"shard":{shard},"index":"{name}","recovery_source":{{"type":"PEER"}},"unassigned_info":{{"reason":"INDEX_CREATED","at":"2019-10-01T12:34:56.789Z","delayed":false,"allocation_status":"no_attempt"}}}}"#
                )?,
            }
        }
        write!(out, "]")?;
    }
    write!(out, "}}}}")
}
