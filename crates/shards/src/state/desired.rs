//! Reads `_internal/desired_balance`: where the copies of each shard should be, and what the server expects
//! of them.

use super::answer;
use super::copies::SHARD_BYTES_MAX;
use super::json::{Each, Fields, Object, Source, Text, once, shown, skip};
use super::{DesiredWork, State, StateError};
use crate::desired::{Assignment, DesiredBalance};
use crate::model::{IndexIndex, NodeIndex, ShardId};
use serde::Deserialize;
use serde::de::{Error, MapAccess};
use std::collections::HashMap;

/// Copies of a shard at most; more cannot be on different nodes of any cluster.
const COPIES_MAX: usize = 100_000;

/// Reads the response. Indices, shards and nodes that the state does not list are skipped: they came or
/// went in between.
pub fn read(state: &mut State, source: Source<'_>) -> Result<(), StateError> {
    const WHAT: &str = "_internal/desired_balance";
    let cluster = &state.cluster;
    let mut balance = Balance {
        indices: (0..)
            .zip(&cluster.indices)
            .map(|(at, index)| (index.name.clone(), (IndexIndex(at), index.shards)))
            .collect(),
        nodes: (0..)
            .zip(&cluster.nodes)
            .map(|(at, node)| (node.id.clone(), NodeIndex(at)))
            .collect(),
        desired: DesiredBalance::default(),
        forecasts: Vec::new(),
        work: DesiredWork::default(),
        has_table: false,
    };
    answer::object(source, WHAT, &mut balance)?;
    if !balance.has_table {
        return Err(StateError::Contradiction(format!(
            "{WHAT}: expected \"routing_table\", found none"
        )));
    }
    for (index, forecast) in balance.forecasts {
        let known = &mut state.cluster.indices[index.at()].forecast;
        known.write_load = forecast.0.or(known.write_load);
        known.shard_bytes = forecast.1.or(known.shard_bytes);
    }
    state.desired_work = (balance.work.computations > 0).then_some(balance.work);
    state.desired = Some(balance.desired);
    Ok(())
}

/// Write load and bytes of a copy.
type Expected = (Option<f64>, Option<i64>);

struct Balance {
    indices: HashMap<String, (IndexIndex, u32)>,
    nodes: HashMap<String, NodeIndex>,
    desired: DesiredBalance,
    forecasts: Vec<(IndexIndex, Expected)>,
    work: DesiredWork,
    has_table: bool,
}

impl<'de> Fields<'de> for Balance {
    const WHAT: &'static str = "a desired balance: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "stats" => {
                let stats: Stats = map.next_value()?;
                // Submitted and converged carry the same numbers.
                self.desired.converged =
                    !stats.active && stats.converged_index.saturating_add(1) >= stats.submitted;
                Ok(())
            }
            "routing_table" => {
                once(&mut self.has_table, "routing_table")?;
                map.next_value_seed(Object(&mut Table(self)))
            }
            _ => skip(map),
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default, expecting = "statistics: an object")]
struct Stats {
    #[serde(rename = "computation_active")]
    active: bool,
    #[serde(rename = "computation_submitted")]
    submitted: i64,
    #[serde(rename = "computation_executed")]
    executed: i64,
    #[serde(rename = "computation_time_in_millis")]
    time_ms: i64,
    #[serde(rename = "reconciliation_time_in_millis")]
    reconciliation_ms: i64,
    #[serde(rename = "computation_converged_index")]
    converged_index: i64,
}

struct Table<'b>(&'b mut Balance);

impl<'de> Fields<'de> for Table<'_> {
    const WHAT: &'static str = "shards by index: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match self.0.indices.get(name) {
            Some(&(index, shards)) => {
                map.next_value_seed(Object(&mut Shards(self.0, index, shards)))
            }
            None => skip(map),
        }
    }
}

struct Shards<'b>(&'b mut Balance, IndexIndex, u32);

impl<'de> Fields<'de> for Shards<'_> {
    const WHAT: &'static str = "an index by the numbers of its shards: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        let number: u32 = name.parse().map_err(|_| {
            A::Error::custom(format!(
                "expected the number of a shard, found {:?}",
                shown(name)
            ))
        })?;
        if number >= self.2 {
            return skip(map);
        }
        let id = ShardId {
            index: self.1,
            shard: number,
        };
        let mut read = Shard {
            balance: self.0,
            id,
            forecast: (None, None),
        };
        map.next_value_seed(Object(&mut read))?;
        let forecast = read.forecast;
        if number == 0 && forecast != (None, None) {
            self.0.forecasts.push((self.1, forecast));
        }
        Ok(())
    }
}

struct Shard<'b> {
    balance: &'b mut Balance,
    id: ShardId,
    forecast: Expected,
}

impl<'de> Fields<'de> for Shard<'_> {
    const WHAT: &'static str = "a shard: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "current" => {
                let forecast = &mut self.forecast;
                let mut take = |copy: Current| {
                    let load = copy.forecast_write_load;
                    if load.is_some_and(|load| !(load.is_finite() && load >= 0.0)) {
                        return Err("expected a write load of 0 or more".to_owned());
                    }
                    let bytes = copy.forecast_shard_size_in_bytes;
                    if bytes.is_some_and(|bytes| !(0..=SHARD_BYTES_MAX).contains(&bytes)) {
                        return Err("expected the size of a shard in bytes".to_owned());
                    }
                    forecast.0 = load.or(forecast.0);
                    forecast.1 = bytes.or(forecast.1);
                    Ok(())
                };
                map.next_value_seed(Each::new(&mut take))
            }
            "desired" => {
                // Null where nothing is computed yet.
                let Some(desired) = map.next_value::<Option<Desired<'de>>>()? else {
                    return Ok(());
                };
                if desired.node_ids.len() > COPIES_MAX {
                    return Err(A::Error::custom("a shard is wanted on too many nodes"));
                }
                let mut nodes: Vec<NodeIndex> = Vec::new();
                for Text(id) in &desired.node_ids {
                    if let Some(&node) = self.balance.nodes.get(&**id)
                        && !nodes.contains(&node)
                    {
                        nodes.push(node);
                    }
                }
                let assignment = Assignment {
                    nodes,
                    total: desired.total,
                    unassigned: desired.unassigned,
                    ignored: desired.ignored,
                };
                let assignments = &mut self.balance.desired.assignments;
                if assignments.insert(self.id, assignment).is_some() {
                    return Err(A::Error::custom(format!(
                        "shard {} is in the routing table twice",
                        self.id.shard
                    )));
                }
                Ok(())
            }
            _ => skip(map),
        }
    }
}

#[derive(Deserialize)]
#[serde(expecting = "a copy: an object")]
struct Current {
    #[serde(default)]
    forecast_write_load: Option<f64>,
    #[serde(default)]
    forecast_shard_size_in_bytes: Option<i64>,
}

#[derive(Deserialize)]
#[serde(expecting = "what is desired: an object with node_ids")]
struct Desired<'a> {
    #[serde(borrow)]
    node_ids: Vec<Text<'a>>,
    #[serde(default)]
    total: u32,
    #[serde(default)]
    unassigned: u32,
    #[serde(default)]
    ignored: u32,
}
