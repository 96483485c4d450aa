//! `GET /_internal/desired_balance` of Elasticsearch 8.6 and later. Its routing table is as large as
//! that of the cluster state, so copies are counted while parsing. It is not asked for where the
//! server counts them itself.

use facts::cluster::{DesiredBalance, DesiredCopies};
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;

#[derive(Default, Deserialize)]
struct Stats {
    computation_active: bool,
    computation_submitted: u64,
    computation_executed: u64,
    computation_converged: u64,
    #[serde(default)]
    computation_time_in_millis: u64,
    /// From 8.12 on; -1 if a node of an earlier version answered.
    total_allocations: Option<i64>,
    undesired_allocations: Option<i64>,
}

/// Counts the copies in a response.
pub(crate) fn parse(body: &[u8]) -> Result<DesiredBalance, serde_json::Error> {
    let (mut stats, mut counted) = (None, None);
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    Walk {
        stats: &mut stats,
        copies: &mut counted,
        level: RESPONSE,
    }
    .deserialize(&mut deserializer)?;
    deserializer.end()?;
    // The walk refuses a response without.
    let stats: Stats = stats.unwrap_or_default();
    let told = || {
        Some(DesiredCopies {
            started: u64::try_from(stats.total_allocations?).ok()?,
            undesired: u64::try_from(stats.undesired_allocations?).ok()?,
        })
    };
    Ok(DesiredBalance {
        computing: stats.computation_active,
        submitted: stats.computation_submitted,
        executed: stats.computation_executed,
        converged: stats.computation_converged,
        computation_ms: stats.computation_time_in_millis,
        copies: counted.or_else(told),
    })
}

/// Levels of nesting in a response. Below `routing_table` come indices, then their shards, then the parts of
/// a shard, one of which lists its copies.
const RESPONSE: u8 = 0;
const INDICES: u8 = 1;
const SHARDS: u8 = 2;
const PARTS: u8 = 3;
const COPIES: u8 = 4;

/// Walks down to the copies of each shard.
struct Walk<'a> {
    stats: &'a mut Option<Stats>,
    copies: &'a mut Option<DesiredCopies>,
    level: u8,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.level == COPIES {
            deserializer.deserialize_seq(self)
        } else {
            deserializer.deserialize_map(self)
        }
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part of a desired balance")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match (self.level, &*key) {
                (RESPONSE, "stats") => *self.stats = Some(map.next_value()?),
                (RESPONSE, "routing_table") | (INDICES | SHARDS, _) | (PARTS, "current") => {
                    if self.level == RESPONSE {
                        // Of several tables, the last one counts.
                        *self.copies = Some(DesiredCopies::default());
                    }
                    map.next_value_seed(Walk {
                        stats: &mut *self.stats,
                        copies: &mut *self.copies,
                        level: self.level + 1,
                    })?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if self.level == RESPONSE && self.stats.is_none() {
            return Err(A::Error::missing_field("stats"));
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut copies: A) -> Result<(), A::Error> {
        let counted = self.copies.get_or_insert_default();
        while let Some(copy) = copies.next_element::<Copy<'de>>()? {
            // Only those are moved for better balance.
            if copy.state == "STARTED" || copy.state == "RELOCATING" {
                counted.started += 1;
                counted.undesired += u64::from(!copy.node_is_desired);
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Copy<'a> {
    #[serde(borrow)]
    state: Cow<'a, str>,
    node_is_desired: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As 8.11.0 prints it.
    const STATS: &str = r#""stats":{"computation_converged_index":10,"computation_active":false,
        "computation_submitted":12,"computation_executed":11,"computation_converged":9,
        "computation_iterations":18,"computed_shard_movements":0,"computation_time_in_millis":201,
        "reconciliation_time_in_millis":0"#;
    const TABLE: &str = r#""routing_table":{"logs-1":{"0":{"current":[
        {"state":"STARTED","primary":true,"node":"a","node_is_desired":true,"relocating_node":null,
        "relocating_node_is_desired":null,"shard_id":0,"index":"logs-1","forecast_write_load":null},
        {"state":"STARTED","primary":false,"node":"b","node_is_desired":false},
        {"state":"RELOCATING","primary":false,"node":"b","node_is_desired":false},
        {"state":"UNASSIGNED","primary":false,"node":null,"node_is_desired":false}],
        "desired":{"node_ids":["a","c"],"total":3,"unassigned":0,"ignored":0}}}}"#;

    #[test]
    fn copies_are_counted_or_told() {
        let whole = format!(
            "{{{STATS}}},\"cluster_balance_stats\":{{\"tiers\":{{}}}},{TABLE},\"cluster_info\":{{}}}}"
        );
        let found = parse(whole.as_bytes()).unwrap();
        assert_eq!(
            (found.submitted, found.executed, found.converged),
            (12, 11, 9)
        );
        assert_eq!((found.computing, found.computation_ms), (false, 201));
        let counts = |found: &DesiredBalance| {
            let copies = found.copies?;
            Some((copies.started, copies.undesired))
        };
        assert_eq!(counts(&found), Some((3, 2)));
        let twice = format!(r#"{{{STATS}}},{TABLE},"routing_table":{{}}}}"#);
        assert_eq!(counts(&parse(twice.as_bytes()).unwrap()), Some((0, 0)));
        // From 8.12 on the server counts.
        let told = format!(
            r#"{{{STATS},"unassigned_shards":1,"total_allocations":6,
            "undesired_allocations":2,"undesired_allocations_ratio":0.33}}}}"#
        );
        assert_eq!(counts(&parse(told.as_bytes()).unwrap()), Some((6, 2)));
        let early = told.replace(":6", ":-1");
        for unknown in [early, format!("{{{STATS}}}}}")] {
            assert_eq!(parse(unknown.as_bytes()).unwrap().copies, None);
        }
    }

    #[test]
    fn other_answers_are_rejected() {
        for body in [
            "{}",
            "[]",
            r#"{"stats":{}}"#,
            r#"{"routing_table":{"a":{"0":{"current":{}}}}}"#,
        ] {
            assert!(parse(body.as_bytes()).is_err(), "{body}");
        }
        let deep = format!(
            r#"{{"routing_table":{{"a":{{"0":{}"#,
            r#"{"b":"#.repeat(100_000)
        );
        assert!(parse(deep.as_bytes()).is_err());
    }
}
