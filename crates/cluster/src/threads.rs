//! Stack traces of a server's threads: its own report (`hot_threads`), or a JVM thread dump
//! (`jstack`, `jcmd PID Thread.print`, `kill -3`). Only names of threads, classes and methods are
//! kept.

use facts::InputError;
use facts::cluster::{HotThread, MasterThreads, ThreadSource, ThreadStack};

/// Maximum number of threads kept.
const THREADS_MAX: usize = 10_000;
/// Maximum number of stacks kept for a thread.
const STACKS_MAX: usize = 100;
/// Maximum number of frames kept for a stack: the JVM's own limit (`-XX:MaxJavaStackTraceDepth`).
const FRAMES_MAX: usize = 1024;
/// Maximum length of a name, in characters.
const NAME_CHARS_MAX: usize = 300;
/// Start of the line above a node's threads.
const HEAD: &str = "Hot threads at ";
/// Number of snapshots the server takes, if the response does not say.
const SNAPSHOTS: u32 = 10;

/// Parses a saved thread dump or hot threads response; the format is detected.
///
/// # Errors
/// If it is neither.
pub fn from_file(bytes: &[u8], source_name: &str) -> Result<MasterThreads, InputError> {
    let text = String::from_utf8_lossy(bytes);
    // Pastes often begin below the line of the node, or even with the first thread.
    if text.lines().any(is_hot_threads) {
        let mut threads = parse(&text, true);
        threads.source = ThreadSource::HotThreadsFile(source_name.to_owned());
        return Ok(threads);
    }
    let threads = parse_dump(&text);
    if threads.is_empty() {
        let first = text.lines().find(|line| !line.trim().is_empty());
        return Err(InputError::new(
            source_name,
            "a thread dump (jstack PID > FILE) or an answer of _nodes/hot_threads",
            first.unwrap_or_default(),
        ));
    }
    Ok(MasterThreads {
        source: ThreadSource::ThreadDumpFile(source_name.to_owned()),
        interval_ms: None,
        threads,
    })
}

/// Whether only a response of `_nodes/hot_threads` has such a line.
fn is_hot_threads(line: &str) -> bool {
    let line = line.trim();
    line.starts_with(":::") || line.starts_with(HEAD) || parse_usage(line, false).is_some()
}

/// Parses the text of `_nodes/ID/hot_threads` of one node, whose name is not kept. Unrecognized
/// lines are skipped.
pub(crate) fn parse_hot_threads(text: &str) -> MasterThreads {
    parse(text, false)
}

/// Parses the text of `_nodes/hot_threads`, with the names of its nodes if asked for.
fn parse(text: &str, with_nodes: bool) -> MasterThreads {
    let mut node = None;
    let mut found = MasterThreads {
        source: ThreadSource::HotThreads,
        interval_ms: None,
        threads: Vec::new(),
    };
    // Whether a stack of the last thread has started.
    let mut in_stack = false;
    for line in text.lines() {
        let words = line.trim();
        if words.is_empty() {
            in_stack = false;
        } else if let Some(rest) = words.strip_prefix(":::") {
            in_stack = false;
            node = with_nodes.then(|| node_name(rest)).flatten();
        } else if let Some(rest) = words.strip_prefix(HEAD) {
            let interval = rest.split_once("interval=").map(|(_, rest)| rest);
            found.interval_ms = interval.and_then(|rest| {
                let value = rest.split(',').next()?;
                parse_interval_ms(value)
            });
        } else if let Some(mut thread) = parse_usage(words, with_nodes) {
            thread.node = node.clone().or(thread.node);
            if found.threads.len() >= THREADS_MAX {
                break;
            }
            found.threads.push(thread);
            in_stack = false;
        } else if let Some(thread) = found.threads.last_mut() {
            if let Some((seen, snapshots, complete)) = parse_sharing(words) {
                in_stack = thread.stacks.len() < STACKS_MAX;
                if in_stack {
                    thread.stacks.push(ThreadStack {
                        seen,
                        snapshots,
                        complete,
                        frames: Vec::new(),
                    });
                }
            } else if in_stack
                && let Some(stack) = thread.stacks.last_mut()
                && stack.frames.len() < FRAMES_MAX
            {
                stack.frames.extend(frame(words));
            }
        }
    }
    found
}

/// Returns the name in ` {es-1}{KBz7OsBEQnuTM9b3XX8lcA}...`.
fn node_name(text: &str) -> Option<String> {
    let (name, _) = text.trim().strip_prefix('{')?.split_once('}')?;
    (!name.is_empty()).then(|| cut(name))
}

/// `500ms`, `1s`, `500micros`.
fn parse_interval_ms(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, factor) = [("ms", 1.0), ("s", 1000.0), ("m", 60_000.0)]
        .into_iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    let ms = number.parse::<f64>().ok()? * factor;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    (0.0..1e12).contains(&ms).then_some(ms as u64)
}

/// `73.9% (369.6ms out of 500ms) cpu usage by thread 'NAME'`, from 7.16 on with
/// `[cpu=73.9%, other=0.0%]` in between; with `type=wait` or `type=block` another word for `cpu`.
fn parse_usage(line: &str, with_node: bool) -> Option<HotThread> {
    let (head, name) = line.split_once(" usage by thread '")?;
    let name = name.strip_suffix('\'')?;
    let (percent, rest) = head.split_once('%')?;
    let cpu = rest
        .split_once("[cpu=")
        .and_then(|(_, rest)| rest.split_once('%'))
        .map_or(percent, |(cpu, _)| cpu);
    let cpu_percent: f64 = cpu.trim().parse().ok()?;
    let is_cpu = cpu_percent.is_finite() && head.ends_with(" cpu");
    Some(HotThread {
        node: node_of(name).filter(|_| with_node),
        pool: pool(name),
        cpu_percent: is_cpu.then_some(cpu_percent),
        state: None,
        stacks: Vec::new(),
    })
}

/// `7/10 snapshots sharing following 12 elements`, or `unique snapshot`: returns seen, total and
/// whether the stack is complete.
fn parse_sharing(line: &str) -> Option<(u32, u32, bool)> {
    if line == "unique snapshot" {
        return Some((1, SNAPSHOTS, true));
    }
    let (counts, rest) = line.split_once(" snapshots sharing following ")?;
    rest.strip_suffix(" elements")?;
    let (seen, snapshots) = counts.split_once('/')?;
    Some((seen.parse().ok()?, snapshots.parse().ok()?, false))
}

/// Parses a JVM thread dump; threads without frames are dropped.
fn parse_dump(text: &str) -> Vec<HotThread> {
    let mut threads: Vec<HotThread> = Vec::new();
    let mut in_thread = false;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix('"') {
            // The name itself may contain quotes; what follows never does.
            in_thread = false;
            if let Some((name, _)) = rest.rsplit_once('"')
                && threads.len() < THREADS_MAX
            {
                threads.push(HotThread {
                    node: node_of(name),
                    pool: pool(name),
                    cpu_percent: None,
                    state: None,
                    stacks: vec![ThreadStack {
                        seen: 1,
                        snapshots: 1,
                        complete: true,
                        frames: Vec::new(),
                    }],
                });
                in_thread = true;
            }
            continue;
        }
        let words = line.trim();
        if words.is_empty() {
            in_thread = false;
        }
        let Some(thread) = threads.last_mut().filter(|_| in_thread) else {
            continue;
        };
        if let Some(state) = words.strip_prefix("java.lang.Thread.State: ") {
            let state = state.split_whitespace().next().unwrap_or_default();
            thread.state = Some(cut(state));
        } else if let Some(call) = words.strip_prefix("at ") {
            let frames = &mut thread.stacks[0].frames;
            if frames.len() < FRAMES_MAX {
                frames.extend(frame(call));
            }
        }
    }
    threads.retain(|thread| !thread.stacks[0].frames.is_empty());
    threads
}

/// Returns a thread's name without the node name, and without the index that it is merging.
fn pool(name: &str) -> String {
    let Some((_, pool)) = node_and_pool(name) else {
        return cut(name);
    };
    // `[INDEX][0]: Lucene Merge Thread #4`
    cut(pool.rsplit_once("]: ").map_or(pool, |(_, task)| task))
}

/// Returns the node that a thread's name begins with.
fn node_of(name: &str) -> Option<String> {
    node_and_pool(name).map(|(node, _)| cut(node))
}

/// Splits `elasticsearch[NODE][POOL]...`.
fn node_and_pool(name: &str) -> Option<(&str, &str)> {
    let rest = ["elasticsearch[", "opensearch["]
        .iter()
        .find_map(|start| name.strip_prefix(start))?;
    let (node, rest) = group(rest)?;
    let (pool, _) = group(rest.strip_prefix('[')?)?;
    Some((node, pool))
}

/// Splits at the bracket that closes the one just opened: the text before it and after it.
fn group(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth == 0 => return Some((&text[..at], &text[at + 1..])),
            ']' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Extracts `class.method` from a frame such as
/// `app//org.elasticsearch.cluster.routing.RoutingNode.shardsWithState(RoutingNode.java:190)`.
fn frame(line: &str) -> Option<String> {
    let (call, _) = line.split_once('(')?;
    // Strips the class loader and module (`app//`, `java.base@17.0.15/`); but the address of a
    // lambda's class (`Type$$Lambda$12/0x00000008003a.run`) is part of the class name.
    let mut call = call;
    while let Some((before, after)) = call.split_once('/') {
        if before.contains("$$") || after.starts_with("0x") {
            break;
        }
        call = after;
    }
    let name = match call.split_once("$$Lambda") {
        Some((class, rest)) => {
            let method = rest.rsplit_once('.').map_or("", |(_, method)| method);
            format!("{class}$$Lambda.{method}")
        }
        None => call.to_owned(),
    };
    let plain = |c: char| c.is_alphanumeric() || "._$<>-/".contains(c);
    (name.contains('.') && name.chars().all(plain)).then(|| cut(&name))
}

fn cut(text: &str) -> String {
    text.chars().take(NAME_CHARS_MAX).collect()
}

#[cfg(test)]
#[path = "threads_tests.rs"]
mod tests;
