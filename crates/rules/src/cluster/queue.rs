//! What waits for the master: its queue of changes of the cluster state.

use facts::cluster::{PendingKind, PendingTask, PendingTasks};

/// From when on a change that executes is not the load of a queue: clients of the changes behind it
/// have given up twenty times (`master_timeout`, 30 s).
const HELD_MS: u64 = 600_000;
/// From when on it is not, if it is proven: `cluster.publish.timeout` and `master_timeout` together.
const HELD_PROVEN_MS: u64 = 60_000;
/// Number of waiting changes from which one kind of them can be called a flood.
const FLOOD_MIN: u64 = 10;
/// How much longer the oldest change has waited than any more urgent one if those starve it.
const STARVED_FACTOR: u64 = 2;

/// Priorities, the most urgent first.
const PRIORITIES: &[&str] = &["IMMEDIATE", "URGENT", "HIGH", "NORMAL", "LOW", "LANGUID"];

/// The queue of a master.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queue<'a> {
    tasks: &'a PendingTasks,
}

/// A change that has kept the master for long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Held<'a> {
    /// The change that executes.
    pub task: &'a PendingTask,
    /// For how long it has been executing at least, in milliseconds, as the server tells or because a
    /// more urgent change that came that long ago would have gone first. 0 if neither is known.
    pub at_least_ms: u64,
}

/// The most frequent kind of waiting changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Flood<'a> {
    /// `put-mapping`, ...
    pub kind: &'a str,
    /// How many of them wait.
    pub waiting: u64,
    /// How many changes wait.
    pub of: u64,
}

/// A change that more urgent ones overtake.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Starved<'a> {
    /// Its kind.
    pub kind: &'a PendingKind,
    /// The more urgent kind that waits most often.
    pub behind: &'a PendingKind,
}

impl Held<'_> {
    /// Whether it is proven that it holds the master. A change of the server's own, which has no
    /// timeout, may also have waited for long and only just begun.
    pub fn is_proven(&self) -> bool {
        self.at_least_ms >= HELD_PROVEN_MS
    }
}

impl<'a> Queue<'a> {
    pub fn of(tasks: &'a PendingTasks) -> Self {
        Self { tasks }
    }

    /// Returns the oldest change, whether it executes or waits.
    pub fn oldest(self) -> Option<&'a PendingTask> {
        self.tasks.tasks.iter().max_by_key(|task| task.in_queue_ms)
    }

    /// Returns the change that executes.
    pub fn executing(self) -> Option<&'a PendingTask> {
        self.tasks.tasks.iter().find(|task| task.executing)
    }

    /// Returns how many changes wait.
    pub fn waiting(self) -> u64 {
        let executing = u64::from(self.executing().is_some());
        self.tasks.total.saturating_sub(executing)
    }

    /// Returns the change that executes, if it has kept the master for so long that no load explains
    /// it. Most servers tell when a change was queued, not when it began.
    pub fn held(self) -> Option<Held<'a>> {
        let task = self.executing()?;
        if let Some(at_least_ms) = task.executing_ms {
            return (at_least_ms >= HELD_PROVEN_MS).then_some(Held { task, at_least_ms });
        }
        // Priorities that are not known prove nothing.
        let own = rank(&task.priority);
        let is_more_urgent = |other: &&PendingTask| {
            let both = rank(&other.priority).zip(own);
            both.is_some_and(|(other, own)| other < own)
        };
        let waiting = self.tasks.tasks.iter().filter(|other| !other.executing);
        let at_least_ms = waiting
            .filter(is_more_urgent)
            .map(|other| other.in_queue_ms)
            .max();
        // Both are ages at one moment; a task cannot have been executing for longer than it exists.
        let at_least_ms = at_least_ms.unwrap_or(0).min(task.in_queue_ms);
        (task.in_queue_ms >= HELD_MS || at_least_ms >= HELD_PROVEN_MS)
            .then_some(Held { task, at_least_ms })
    }

    /// Returns the waiting changes by kind, whatever their priority, the most frequent first.
    pub fn kinds(self) -> Vec<(&'a str, u64)> {
        let mut kinds: Vec<(&str, u64)> = Vec::new();
        for kind in &self.tasks.kinds {
            match kinds.iter_mut().find(|(other, _)| *other == kind.kind) {
                Some((_, waiting)) => *waiting = waiting.saturating_add(kind.waiting),
                None => kinds.push((&kind.kind, kind.waiting)),
            }
        }
        kinds.sort_by_key(|(_, waiting)| std::cmp::Reverse(*waiting));
        kinds
    }

    /// Returns the kind to which most waiting changes belong, if many wait.
    pub fn flood(self) -> Option<Flood<'a>> {
        let (kind, waiting) = self.kinds().first().copied()?;
        let of = self.waiting().max(waiting);
        (waiting >= FLOOD_MIN && waiting > of / 2).then_some(Flood { kind, waiting, of })
    }

    /// Returns the change that has waited longest, if many more urgent ones wait that came later.
    pub fn starved(self) -> Option<Starved<'a>> {
        let kinds = &self.tasks.kinds;
        let kind = kinds.iter().max_by_key(|kind| kind.oldest_ms)?;
        let own = rank(&kind.priority)?;
        let more_urgent = || {
            kinds
                .iter()
                .filter(|other| rank(&other.priority).is_some_and(|rank| rank < own))
        };
        let waiting = more_urgent().fold(0_u64, |sum, other| sum.saturating_add(other.waiting));
        let oldest_ms = more_urgent().map(|other| other.oldest_ms).max()?;
        let behind = more_urgent().max_by_key(|other| other.waiting)?;
        (waiting >= FLOOD_MIN && kind.oldest_ms / STARVED_FACTOR >= oldest_ms)
            .then_some(Starved { kind, behind })
    }
}

/// Returns the place of a priority, 0 for the most urgent.
fn rank(priority: &str) -> Option<usize> {
    PRIORITIES.iter().position(|known| *known == priority)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(priority: &str, in_queue_ms: u64, executing: bool) -> PendingTask {
        PendingTask {
            source: "create-index [a]".to_owned(),
            priority: priority.to_owned(),
            in_queue_ms,
            executing,
            executing_ms: None,
        }
    }

    fn kind(kind: &str, priority: &str, waiting: u64, oldest_ms: u64) -> PendingKind {
        PendingKind {
            kind: kind.to_owned(),
            priority: priority.to_owned(),
            waiting,
            oldest_ms,
        }
    }

    fn tasks(tasks: Vec<PendingTask>, kinds: Vec<PendingKind>) -> PendingTasks {
        PendingTasks {
            total: tasks.len() as u64,
            tasks,
            kinds,
        }
    }

    const MINUTE_MS: u64 = 60_000;

    #[test]
    fn a_change_that_executes_for_long_holds_the_master() {
        let held = |all: Vec<PendingTask>| {
            let tasks = tasks(all, Vec::new());
            Queue::of(&tasks).held().map(|held| held.at_least_ms)
        };
        let long = task("HIGH", 120 * MINUTE_MS, true);
        // Alone; behind it as many as may be.
        assert_eq!(held(vec![long.clone()]), Some(0));
        for waiting in [40, 900] {
            let mut all = vec![long.clone()];
            all.extend((0..waiting).map(|n| task("NORMAL", n * 1000, false)));
            assert_eq!(held(all), Some(0), "{waiting}");
        }
        // What is more urgent would have gone first.
        let urgent = task("URGENT", 90 * MINUTE_MS, false);
        assert_eq!(held(vec![long.clone(), urgent]), Some(90 * MINUTE_MS));
        let older = task("URGENT", 150 * MINUTE_MS, false);
        assert_eq!(held(vec![long, older]), Some(120 * MINUTE_MS));
        // Two minutes are enough if they are proven.
        let short = task("NORMAL", 3 * MINUTE_MS, true);
        assert_eq!(held(vec![short.clone()]), None);
        assert_eq!(
            held(vec![short, task("URGENT", 2 * MINUTE_MS, false)]),
            Some(2 * MINUTE_MS)
        );
    }

    #[test]
    fn how_long_it_executes_is_known_where_the_server_tells() {
        for (executing_ms, expected) in [(59_000, None), (60_000, Some(60_000))] {
            let mut long = task("HIGH", 120 * MINUTE_MS, true);
            long.executing_ms = Some(executing_ms);
            let urgent = task("URGENT", 90 * MINUTE_MS, false);
            let tasks = tasks(vec![long, urgent], Vec::new());
            let held = Queue::of(&tasks).held();
            assert_eq!(held.map(|held| held.at_least_ms), expected);
        }
    }

    #[test]
    fn a_busy_queue_is_not_held() {
        let busy = [
            vec![],
            vec![task("HIGH", 45_000, true), task("HIGH", 44_900, false)],
            // It waits, and nothing executes: an answer of another moment.
            vec![task("HIGH", 120 * MINUTE_MS, false)],
            // Words that no server uses prove nothing.
            vec![
                task("HIGH", 45_000, true),
                task("ODD", 90 * MINUTE_MS, false),
            ],
            vec![
                task("ODD", 45_000, true),
                task("URGENT", 90 * MINUTE_MS, false),
            ],
        ];
        for all in busy {
            let tasks = tasks(all, Vec::new());
            assert_eq!(Queue::of(&tasks).held(), None, "{tasks:?}");
        }
    }

    #[test]
    fn most_waiting_changes_of_one_kind_are_a_flood() {
        let flood = |kinds: Vec<PendingKind>| {
            let total = kinds.iter().map(|kind| kind.waiting).sum();
            let tasks = PendingTasks {
                total,
                tasks: Vec::new(),
                kinds,
            };
            let flood = Queue::of(&tasks).flood();
            flood.map(|flood| (flood.kind.to_owned(), flood.waiting, flood.of))
        };
        let put = |priority: &str, waiting| kind("put-mapping", priority, waiting, 1);
        assert_eq!(
            flood(vec![put("HIGH", 900)]),
            Some(("put-mapping".to_owned(), 900, 900))
        );
        // The same kind at two priorities.
        assert_eq!(
            flood(vec![
                kind("create-index", "URGENT", 40, 1),
                put("HIGH", 30),
                put("NORMAL", 30)
            ]),
            Some(("put-mapping".to_owned(), 60, 100))
        );
        for kinds in [
            vec![],
            vec![put("HIGH", 9)],
            vec![put("HIGH", 50), kind("create-index", "URGENT", 50, 1)],
        ] {
            assert_eq!(flood(kinds), None);
        }
    }

    #[test]
    fn what_is_urgent_starves_what_is_not() {
        let starved = |kinds: Vec<PendingKind>| {
            let tasks = tasks(Vec::new(), kinds);
            let starved = Queue::of(&tasks).starved();
            starved.map(|starved| (starved.kind.kind.clone(), starved.behind.kind.clone()))
        };
        let urgent = |waiting, oldest_ms| kind("shard-started", "URGENT", waiting, oldest_ms);
        let high = |oldest_ms| kind("put-mapping", "HIGH", 1, oldest_ms);
        assert_eq!(
            starved(vec![urgent(500, 2_000), high(240_000)]),
            Some(("put-mapping".to_owned(), "shard-started".to_owned()))
        );
        for kinds in [
            // They came at the same time; few; the urgent one is the oldest; nothing is known.
            vec![urgent(500, 239_000), high(240_000)],
            vec![urgent(3, 2_000), high(240_000)],
            vec![urgent(500, 240_000), high(2_000)],
            vec![],
        ] {
            assert_eq!(starved(kinds), None);
        }
    }
}
