//! `GET /_cluster/pending_tasks`.

use facts::cluster::{PendingKind, PendingTask, PendingTasks};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Maximum number of tasks kept, in addition to the running one and the oldest.
const TASKS_MAX: usize = 1000;
/// Maximum length of a task's source, in characters: a task for many started shards lists them all.
const SOURCE_CHARS_MAX: usize = 300;
/// Maximum number of kinds kept.
const KINDS_MAX: usize = 50;
/// Maximum length of a kind, in characters.
const KIND_CHARS_MAX: usize = 60;

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
    #[serde(default)]
    time_in_execution_millis: Option<i64>,
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
            // 0 for those that wait.
            executing_ms: task
                .time_in_execution_millis
                .filter(|_| task.executing)
                .and_then(|ms| u64::try_from(ms).ok()),
        })
        .collect();
    let kinds = kinds(&tasks);
    if tasks.len() > TASKS_MAX {
        let (executing, rest): (Vec<_>, Vec<_>) = tasks
            .split_off(TASKS_MAX)
            .into_iter()
            .partition(|task| task.executing);
        tasks.extend(executing.into_iter().take(1));
        let oldest = rest.into_iter().max_by_key(|task| task.in_queue_ms);
        let oldest_kept_ms = tasks.iter().map(|task| task.in_queue_ms).max();
        tasks.extend(oldest.filter(|task| Some(task.in_queue_ms) > oldest_kept_ms));
    }
    Ok(PendingTasks {
        total,
        tasks,
        kinds,
    })
}

/// Counts the waiting tasks by kind and priority.
fn kinds(tasks: &[PendingTask]) -> Vec<PendingKind> {
    let mut counts: BTreeMap<(String, &str), (u64, u64)> = BTreeMap::new();
    for task in tasks.iter().filter(|task| !task.executing) {
        let (waiting, oldest_ms) = counts
            .entry((kind(&task.source), &task.priority))
            .or_default();
        *waiting += 1;
        *oldest_ms = task.in_queue_ms.max(*oldest_ms);
    }
    let mut kinds: Vec<PendingKind> = counts
        .into_iter()
        .map(|((kind, priority), (waiting, oldest_ms))| PendingKind {
            kind,
            priority: priority.to_owned(),
            waiting,
            oldest_ms,
        })
        .collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.waiting));
    kinds.truncate(KINDS_MAX);
    kinds
}

/// Returns the words of a source before the names in it: `put-mapping` of
/// `put-mapping [logs-7/uuid]`, `shard-started` of `shard-started StartedShardEntry{...}`.
fn kind(source: &str) -> String {
    let end = source
        .find(['[', '{', '(', ',', ':'])
        .unwrap_or(source.len());
    let words = source[..end].split_whitespace().enumerate();
    // Later words in upper case are names of classes.
    let words: Vec<&str> = words
        .take_while(|(at, word)| *at == 0 || !word.contains(char::is_uppercase))
        .map(|(_, word)| word)
        .collect();
    let kind = words.join(" ");
    let kind = match kind.trim_end_matches('-') {
        "" => "(other)",
        kind => kind,
    };
    kind.chars().take(KIND_CHARS_MAX).collect()
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
    fn all_waiting_tasks_are_counted_by_kind() {
        // The urgent ones are in front, so that none of the others is among the tasks kept.
        let mut tasks: Vec<String> = (0..1200)
            .map(|n| {
                task(
                    &format!("shard-started StartedShardEntry{{shardId [[a][{n}]]}}"),
                    n,
                )
            })
            .collect();
        tasks.extend((0..2000).map(|n| {
            task(&format!("put-mapping [logs-{n}/KBz7]"), 50_000 - n).replace("URGENT", "HIGH")
        }));
        tasks.push(
            task("cluster_reroute(reroute after starting shards)", 7)
                .replace(r#""priority""#, r#""executing":true,"priority""#),
        );
        let body = format!(r#"{{"tasks":[{}]}}"#, tasks.join(","));
        let parsed = parse(body.as_bytes()).unwrap();
        assert_eq!(parsed.total, 3201);
        let kinds: Vec<_> = parsed
            .kinds
            .iter()
            .map(|kind| {
                (
                    kind.kind.as_str(),
                    kind.priority.as_str(),
                    kind.waiting,
                    kind.oldest_ms,
                )
            })
            .collect();
        assert_eq!(
            kinds,
            [
                ("put-mapping", "HIGH", 2000, 50_000),
                ("shard-started", "URGENT", 1200, 1199),
            ]
        );
        // The first thousand, the running one, and the oldest.
        assert_eq!(parsed.tasks.len(), 1002);
        assert!(parsed.tasks[1000].executing);
        assert_eq!(parsed.tasks[1001].in_queue_ms, 50_000);
    }

    #[test]
    fn a_kind_names_no_index() {
        for (source, expected) in [
            ("put-mapping [logs-7/KBz7]", "put-mapping"),
            ("create-index [logs-7], cause [api]", "create-index"),
            ("auto create [logs-7]", "auto create"),
            ("shard-failed StartedShardEntry{x}", "shard-failed"),
            (
                "cluster_reroute(reroute after starting shards)",
                "cluster_reroute",
            ),
            ("node-join[{n1}{x} joining]", "node-join"),
            ("ilm-set-step-info {policy [p]}", "ilm-set-step-info"),
            ("update snapshot state", "update snapshot state"),
            ("remove-data-stream-[logs]", "remove-data-stream"),
            ("[x]", "(other)"),
            ("", "(other)"),
            ("Réseau Ümlaut", "Réseau"),
        ] {
            assert_eq!(kind(source), expected, "{source}");
        }
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
