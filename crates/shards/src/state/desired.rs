//! Reads `_internal/desired_balance`: where the copies of each shard should be, and what the server expects
//! of them.

use super::answer;
use super::copies::SHARD_BYTES_MAX;
use super::json::{Each, Fields, Object, Source, Text, once, shard_number, skip};
use super::nodes::node_numbers;
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
        nodes: node_numbers(cluster),
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
                let count = |number: i64| u64::try_from(number).unwrap_or(0);
                self.work = DesiredWork {
                    computations: count(stats.executed),
                    computing_ms: count(stats.time_ms),
                    reconciling_ms: count(stats.reconciliation_ms),
                };
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
        let number = shard_number(name)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::small_cluster;
    use serde_json::{Value, json};

    fn read(answer: &Value) -> Result<State, StateError> {
        let mut state = small_cluster::read(&small_cluster::state());
        let text = answer.to_string();
        state.read_desired(Source::Bytes(text.as_bytes()))?;
        Ok(state)
    }

    fn answer(node_ids: &Value) -> Value {
        let state = small_cluster::read(&small_cluster::state());
        let name = state.cluster.indices[0].name.clone();
        json!({
            "stats": {"computation_active": false, "computation_submitted": 3, "computation_executed": 3,
                "computation_converged_index": 2, "computation_time_in_millis": 30},
            "cluster_balance_stats": {"nodes": {}},
            "routing_table": {name: {"0": {
                "current": [{"state": "STARTED", "forecast_write_load": 0.5, "forecast_shard_size_in_bytes": 7}],
                "desired": {"node_ids": node_ids, "total": 2, "unassigned": 0, "ignored": 0}},
                "999": {"current": [], "desired": null}},
                "gone": {"0": {"current": []}}}
        })
    }

    #[test]
    fn nodes_forecasts_and_work_are_read() {
        let state = read(&answer(&json!(["b", "left", "a", "b"]))).unwrap();
        let desired = state.desired.as_ref().unwrap();
        assert!(desired.converged);
        let shard = ShardId {
            index: IndexIndex(0),
            shard: 0,
        };
        let nodes = &desired.assignment(shard).unwrap().nodes;
        let ids: Vec<&str> = nodes
            .iter()
            .map(|&node| state.cluster.node(node).id.as_str())
            .collect();
        // In the server's order; nodes that the state does not list are left out.
        assert_eq!(ids, ["b", "a"]);
        let forecast = state.cluster.indices[0].forecast;
        assert_eq!(
            (forecast.write_load, forecast.shard_bytes),
            (Some(0.5), Some(7))
        );
        let work = state.desired_work.unwrap();
        assert_eq!((work.computations, work.computing_ms), (3, 30));
    }

    #[test]
    fn answers_that_are_none_are_refused() {
        for wrong in [
            json!({"stats": {}}),
            json!({"routing_table": []}),
            json!({"error": {"type": "security_exception", "reason": "no"}, "status": 403}),
            answer(&json!([1])),
            answer(&json!("a")),
        ] {
            assert!(read(&wrong).is_err(), "{wrong}");
        }
        let mut twice = answer(&json!(["a"]));
        let table = twice["routing_table"].as_object_mut().unwrap();
        let name = table.keys().find(|name| *name != "gone").unwrap().clone();
        table[&name]["0"]["current"][0]["forecast_write_load"] = json!(-1.0);
        let error = read(&twice).unwrap_err().to_string();
        assert!(error.contains("a write load of 0 or more"), "{error}");
    }
}
