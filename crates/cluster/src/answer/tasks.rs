//! `GET /_cluster/pending_tasks`.

use facts::cluster::{PendingTask, PendingTasks};
use serde::Deserialize;

/// Maximum number of tasks kept, in addition to the oldest.
const TASKS_MAX: usize = 1000;
/// Maximum length of a task's source, in characters: a task for many started shards lists them all.
const SOURCE_CHARS_MAX: usize = 300;

#[derive(Deserialize)]
struct Raw {
    tasks: Vec<RawTask>,
}

#[derive(Deserialize)]
struct RawTask {
    source: String,
    priority: String,
    time_in_queue_millis: i64,
    #[serde(default)]
    executing: bool,
}

pub(crate) fn parse(body: &[u8]) -> Result<PendingTasks, serde_json::Error> {
    let raw: Raw = serde_json::from_slice(body)?;
    let total = raw.tasks.len() as u64;
    let mut tasks: Vec<PendingTask> = raw
        .tasks
        .into_iter()
        .map(|task| PendingTask {
            source: cut(&task.source),
            priority: cut(&task.priority),
            // -1 if the server does not know it.
            in_queue_ms: u64::try_from(task.time_in_queue_millis).unwrap_or(0),
            executing: task.executing,
        })
        .collect();
    if tasks.len() > TASKS_MAX {
        let rest = tasks.split_off(TASKS_MAX);
        let oldest = rest.into_iter().max_by_key(|task| task.in_queue_ms);
        let oldest_kept_ms = tasks.iter().map(|task| task.in_queue_ms).max();
        tasks.extend(oldest.filter(|task| Some(task.in_queue_ms) > oldest_kept_ms));
    }
    Ok(PendingTasks { total, tasks })
}

fn cut(text: &str) -> String {
    let mut out: String = text.chars().take(SOURCE_CHARS_MAX).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(source: &str, in_queue_ms: i64) -> String {
        format!(
            r#"{{"insert_order":1,"priority":"URGENT","source":"{source}",
            "time_in_queue_millis":{in_queue_ms},"time_in_queue":"x"}}"#
        )
    }

    #[test]
    fn the_first_tasks_and_the_oldest_are_kept() {
        let mut tasks: Vec<String> = (0..1500).map(|n| task(&n.to_string(), 10)).collect();
        tasks[1400] = task("oldest", 99);
        let body = format!(r#"{{"tasks":[{}]}}"#, tasks.join(","));
        let parsed = parse(body.as_bytes()).unwrap();
        assert_eq!(parsed.total, 1500);
        assert_eq!(parsed.tasks.len(), 1001);
        assert_eq!(parsed.tasks[999].source, "999");
        assert_eq!(parsed.tasks[1000].source, "oldest");
    }

    #[test]
    fn a_long_source_is_truncated() {
        let body = format!(r#"{{"tasks":[{}]}}"#, task(&"shard ".repeat(500), -1));
        let parsed = parse(body.as_bytes()).unwrap();
        assert_eq!(parsed.tasks[0].source.chars().count(), 301);
        assert_eq!(parsed.tasks[0].in_queue_ms, 0);
        assert_eq!(parse(br#"{"tasks":[]}"#).unwrap().total, 0);
        assert!(parse(b"{}").is_err());
    }
}
