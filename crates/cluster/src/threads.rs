//! Stack traces of a server's threads: its own report (`hot_threads`), or JVM thread dumps
//! (`jstack`, `jcmd PID Thread.print`, `kill -3`), as saved or as pasted. Only names of threads,
//! classes and methods are kept.

mod line;
mod name;

use facts::InputError;
use facts::cluster::{HotThread, LockHolder, MasterThreads, ThreadSource, ThreadStack};
use line::{Line, Lock};
use name::{cut, frame, node_of, pool};
use std::collections::HashMap;

/// Maximum number of threads kept.
const THREADS_MAX: usize = 10_000;
/// Maximum number of stacks kept for a thread.
const STACKS_MAX: usize = 100;
/// Maximum number of frames kept for a stack: the JVM's own limit (`-XX:MaxJavaStackTraceDepth`).
const FRAMES_MAX: usize = 1024;
/// Number of snapshots the server takes, if the response does not say.
const SNAPSHOTS: u32 = 10;
/// Maximum number of threads of a dump whose entries name who holds the lock they wait for.
const WAITS_MAX: usize = 1000;
/// Maximum number of frames kept of a thread that holds a lock.
const HOLDER_FRAMES_MAX: usize = 200;

/// Parses saved thread dumps or hot threads responses; the format is detected.
///
/// # Errors
/// If there is no thread in it.
pub fn from_file(bytes: &[u8], source_name: &str) -> Result<MasterThreads, InputError> {
    let text = String::from_utf8_lossy(bytes);
    let read = Reader::read(&text, true);
    if read.threads.is_empty() {
        let first = text.lines().find(|line| !line.trim().is_empty());
        let expected = if read.is_response {
            "threads in the answer of _nodes/hot_threads (it lists none, since all were idle; ask \
             with threads=50&ignore_idle_threads=false, while changes wait)"
        } else {
            "a thread dump (jstack PID > FILE) or an answer of _nodes/hot_threads"
        };
        let found = first.unwrap_or_default();
        return Err(InputError::new(source_name, expected, found));
    }
    let name = source_name.to_owned();
    Ok(if read.is_response {
        read.with_source(ThreadSource::HotThreadsFile(name))
    } else {
        read.with_source(ThreadSource::ThreadDumpFile(name))
    })
}

/// Parses the text of `_nodes/ID/hot_threads` of one node, whose name is not kept. Unrecognized
/// lines are skipped.
pub(crate) fn parse_hot_threads(text: &str) -> MasterThreads {
    Reader::read(text, false).with_source(ThreadSource::HotThreads)
}

/// What was read so far.
#[derive(Default)]
struct Reader {
    with_nodes: bool,
    /// Whether a line of a hot threads response was seen.
    is_response: bool,
    interval_ms: Option<u64>,
    /// The node that the response's lines belong to.
    node: Option<String>,
    threads: Vec<HotThread>,
    /// How many snapshots were taken of each of them, in all dumps together.
    snapshots: Vec<u32>,
    /// Threads by node, full name, and place among those of the same name in a dump.
    known: HashMap<(Option<String>, String, u32), usize>,
    /// How many threads of a name were seen since the last line that begins a dump.
    in_dump: HashMap<String, u32>,
    open: Option<Open>,
    /// The stacks whose threads hold a lock, by its address: thread and stack.
    holders: HashMap<u64, (usize, usize)>,
    /// The stacks whose threads wait for a lock.
    waits: Vec<(u64, usize, usize)>,
}

/// The thread whose lines are being read.
struct Open {
    thread: usize,
    is_dump: bool,
    stack: Option<ThreadStack>,
    /// The number of frames that the stack has, if the dump says so.
    elements: Option<usize>,
    /// Whether other text may follow instead of frames.
    has_ended: bool,
    /// The number of snapshots, if a line tells it.
    told: Option<u32>,
    /// The number of stacks that were seen once.
    unique: u32,
    holds: Vec<u64>,
    waits_for: Option<u64>,
}

impl Reader {
    fn read(text: &str, with_nodes: bool) -> Self {
        let mut reader = Self {
            with_nodes,
            ..Self::default()
        };
        line::each(text, |line| reader.take(line));
        reader.begin_dump();
        let counts = reader.threads.iter_mut().zip(&reader.snapshots);
        for (thread, &snapshots) in counts {
            for stack in &mut thread.stacks {
                stack.snapshots = snapshots.max(stack.seen);
            }
        }
        // A dump lists the JVM's own threads, which have no frames.
        let is_response = reader.is_response;
        reader
            .threads
            .retain(|thread| is_response || !thread.stacks.is_empty());
        reader
    }

    fn with_source(self, source: ThreadSource) -> MasterThreads {
        MasterThreads {
            source,
            interval_ms: self.interval_ms,
            threads: self.threads,
        }
    }

    fn take(&mut self, line: Line<'_>) {
        match line {
            Line::Node(name) => {
                self.begin_dump();
                self.is_response = true;
                self.node = name.filter(|_| self.with_nodes).map(cut);
            }
            Line::Head(interval_ms) => {
                self.begin_dump();
                self.is_response = true;
                self.interval_ms = interval_ms.or(self.interval_ms);
            }
            Line::Dump => self.begin_dump(),
            Line::Usage { cpu_percent, name } => {
                self.is_response = true;
                let node = self.node.clone();
                self.begin_thread(node, name, cpu_percent, false);
            }
            Line::DumpThread(name) => {
                self.begin_thread(None, name, None, true);
                self.begin_stack(1, None, true);
            }
            Line::Sharing {
                seen,
                snapshots,
                elements,
            } => {
                if let Some(open) = &mut self.open {
                    open.told = Some(snapshots);
                }
                self.begin_stack(seen, Some(elements), false);
            }
            Line::Unique => {
                if let Some(open) = &mut self.open {
                    open.unique = open.unique.saturating_add(1);
                }
                self.begin_stack(1, None, true);
            }
            line => {
                if let Some(open) = &mut self.open {
                    open.take(line);
                }
            }
        }
    }

    /// Ends what was read: a thread of the same name that follows is the same one, later.
    fn begin_dump(&mut self) {
        self.end_thread();
        self.in_dump.clear();
        for (lock, thread, stack) in std::mem::take(&mut self.waits) {
            let holder = self.holders.get(&lock).copied();
            if let Some((by, its)) = holder.filter(|(by, _)| *by != thread) {
                let frames = &self.threads[by].stacks[its].frames;
                let holder = LockHolder {
                    pool: self.threads[by].pool.clone(),
                    frames: frames.iter().take(HOLDER_FRAMES_MAX).cloned().collect(),
                };
                self.threads[thread].stacks[stack].lock_holder = Some(holder);
            }
        }
        self.holders.clear();
    }

    fn begin_thread(
        &mut self,
        node: Option<String>,
        name: &str,
        cpu_percent: Option<f64>,
        is_dump: bool,
    ) {
        self.end_thread();
        let node = node.or_else(|| node_of(name).filter(|_| self.with_nodes));
        let name = cut(name);
        // Threads of a pool are numbered; others may have the same name.
        let place = if name.contains("[T#") {
            0
        } else {
            let places = self.in_dump.entry(name.clone()).or_default();
            *places += 1;
            *places
        };
        let next = self.threads.len();
        let key = (node, name, place);
        let thread = match self.known.get(&key) {
            Some(&thread) => thread,
            None if next >= THREADS_MAX => return,
            None => {
                self.threads.push(HotThread {
                    node: key.0.clone(),
                    pool: pool(&key.1),
                    cpu_percent: None,
                    stacks: Vec::new(),
                });
                self.snapshots.push(0);
                self.known.insert(key, next);
                next
            }
        };
        let most = &mut self.threads[thread].cpu_percent;
        *most = match (*most, cpu_percent) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        self.open = Some(Open {
            thread,
            is_dump,
            stack: None,
            elements: None,
            has_ended: false,
            told: None,
            unique: 0,
            holds: Vec::new(),
            waits_for: None,
        });
    }

    fn begin_stack(&mut self, seen: u32, elements: Option<usize>, complete: bool) {
        self.end_stack();
        if let Some(open) = &mut self.open {
            open.elements = elements;
            open.has_ended = false;
            open.stack = Some(ThreadStack {
                seen,
                snapshots: 0,
                complete,
                frames: Vec::new(),
                state: None,
                lock_holder: None,
            });
        }
    }

    /// Keeps the stack that was read. Returns its place.
    fn end_stack(&mut self) -> Option<usize> {
        let open = self.open.as_mut()?;
        let stack = open.stack.take()?;
        if open.is_dump && stack.frames.is_empty() {
            return None;
        }
        let stacks = &mut self.threads[open.thread].stacks;
        let same = stacks.iter().position(|other| {
            other.complete == stack.complete
                && other.frames == stack.frames
                && other.state == stack.state
        });
        if let Some(same) = same {
            let other = &mut stacks[same];
            other.seen = other.seen.saturating_add(stack.seen);
            return Some(same);
        }
        (stacks.len() < STACKS_MAX).then(|| {
            stacks.push(stack);
            stacks.len() - 1
        })
    }

    fn end_thread(&mut self) {
        let kept = self.end_stack();
        let Some(open) = self.open.take() else { return };
        let stacks = &self.threads[open.thread].stacks;
        let own = match open.told {
            _ if stacks.is_empty() => 0,
            _ if open.is_dump => 1,
            Some(told) => told,
            None => SNAPSHOTS.max(open.unique),
        };
        let snapshots = &mut self.snapshots[open.thread];
        *snapshots = snapshots.saturating_add(own);
        if let Some(stack) = kept {
            for lock in open.holds {
                self.holders.insert(lock, (open.thread, stack));
            }
            if let Some(lock) = open.waits_for.filter(|_| self.waits.len() < WAITS_MAX) {
                self.waits.push((lock, open.thread, stack));
            }
        }
    }
}

impl Open {
    fn take(&mut self, line: Line<'_>) {
        let Some(stack) = &mut self.stack else { return };
        match line {
            Line::Blank => self.has_ended = true,
            Line::State(state) if self.is_dump => stack.state = Some(cut(state)),
            Line::Lock(lock, address) if self.is_dump => match lock {
                // A thread that waits to be notified gave up the lock that its frames show.
                Lock::Notified => self.holds.retain(|held| *held != address),
                Lock::Wanted => self.waits_for = Some(address),
                Lock::Held if self.waits_for == Some(address) => {}
                Lock::Held => self.holds.push(address),
            },
            Line::Calls(calls) => {
                let known = self.elements.is_some_and(|all| stack.frames.len() < all);
                if self.has_ended && !known {
                    return;
                }
                let most = self.elements.unwrap_or(FRAMES_MAX).min(FRAMES_MAX);
                let room = most.saturating_sub(stack.frames.len());
                stack
                    .frames
                    .extend(line::calls(calls).filter_map(frame).take(room));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
