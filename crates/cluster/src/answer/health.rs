//! `GET /_cluster/health`.

use facts::cluster::{Health, HealthStatus};
use serde::Deserialize;

#[derive(Deserialize)]
struct Raw {
    status: HealthStatus,
    number_of_in_flight_fetch: u64,
    task_max_waiting_in_queue_millis: u64,
}

pub(crate) fn parse(body: &[u8]) -> Result<Health, serde_json::Error> {
    let raw: Raw = serde_json::from_slice(body)?;
    Ok(Health {
        status: raw.status,
        in_flight_fetches: raw.number_of_in_flight_fetch,
        max_task_wait_ms: raw.task_max_waiting_in_queue_millis,
    })
}
