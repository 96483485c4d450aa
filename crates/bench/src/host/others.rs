//! Which other processes use the CPU within a trial, so that they can be stopped.

use super::rates::used;
use super::reading::Watched;
use linux::cpu::{CpuTicks, ProcessTicks, parse_process_stat};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

/// Processes that are looked at each second; of more, the host is asked as many times less often.
const PROCESSES_PER_S: u32 = 200;
/// Names that are kept.
const NAMES_MAX: usize = 1_000;

/// Adds up what processes other than server and driver use.
#[derive(Debug)]
pub struct Others {
    root: PathBuf,
    ours: BTreeSet<u32>,
    before: Option<Look>,
    /// The host's ticks between the first look and the last.
    passed: u64,
    used: BTreeMap<String, u64>,
    /// Of the kernel's threads that do the server's I/O.
    kernel_io: u64,
}

/// Beginnings of the names of the kernel's threads that write back, compress and decompress what servers write and read.
/// One that resyncs a RAID is not among them.
const KERNEL_IO: [&str; 7] = [
    "kworker",
    "btrfs",
    "xfs",
    "jbd2",
    "loop",
    "kswapd",
    "ksoftirqd",
];
/// The parent of the kernel's threads.
const KTHREADD: &str = "2";

#[derive(Debug)]
struct Look {
    at: Duration,
    total: u64,
    processes: BTreeMap<u32, ProcessTicks>,
}

impl Others {
    /// Looks at the processes in `proc` of `root` that are neither server nor driver.
    pub fn new(root: PathBuf, watched: &Watched) -> Self {
        let server = watched.server.iter().copied();
        Self {
            root,
            ours: server.chain(watched.driver).collect(),
            before: None,
            passed: 0,
            used: BTreeMap::new(),
            kernel_io: 0,
        }
    }

    /// Adds what each process used since the last look, if that is due: `cpu` is the host's CPU time at `at`.
    pub fn look(&mut self, at: Duration, cpu: CpuTicks) {
        if let Some(before) = &self.before {
            let busy = u32::try_from(before.processes.len()).unwrap_or(u32::MAX) / PROCESSES_PER_S;
            // A look of the same second may be the last of what counts.
            let wait = Duration::from_secs(1).saturating_mul(busy);
            if at.saturating_sub(before.at) < wait {
                return;
            }
        }
        let mut processes = BTreeMap::new();
        for (pid, name, is_kernel_io, now) in self.processes() {
            if let Some(before) = &self.before {
                let ticks = used(before.processes.get(&pid), &now);
                if is_kernel_io {
                    self.kernel_io += ticks;
                } else if ticks > 0
                    && (self.used.len() < NAMES_MAX || self.used.contains_key(&name))
                {
                    *self.used.entry(name).or_insert(0) += ticks;
                }
            }
            processes.insert(pid, now);
        }
        let total = cpu.total();
        if let Some(before) = &self.before {
            self.passed += total.saturating_sub(before.total);
        }
        self.before = Some(Look {
            at,
            total,
            processes,
        });
    }

    /// What the kernel's threads used for the server's I/O, as a share of the host's CPU time.
    #[allow(clippy::cast_precision_loss)] // a share
    pub fn kernel_io(&self) -> f64 {
        self.kernel_io as f64 / self.passed.max(1) as f64
    }

    /// Names and shares of the host's CPU time, the largest first. What began and ended between two looks is missing.
    #[allow(clippy::cast_precision_loss)] // shares
    pub fn shares(&self) -> Vec<(String, f64)> {
        let share = |ticks: u64| ticks as f64 / self.passed.max(1) as f64;
        let mut found: Vec<(String, f64)> = self
            .used
            .iter()
            .map(|(name, ticks)| (name.clone(), share(*ticks)))
            .collect();
        found.sort_by(|one, other| other.1.total_cmp(&one.1));
        found
    }

    /// Id, name, whether it is one of the kernel's threads that do I/O, and its ticks.
    fn processes(&self) -> Vec<(u32, String, bool, ProcessTicks)> {
        let Ok(entries) = self.root.join("proc").read_dir() else {
            return Vec::new();
        };
        let pids = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| !self.ours.contains(pid))
            .filter_map(|pid| {
                // It may have ended in between.
                let path = self.root.join(format!("proc/{pid}/stat"));
                let text = String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned();
                let ticks = parse_process_stat(&text).ok()?;
                let (_, name) = text.split_once('(')?;
                let (name, rest) = name.rsplit_once(')')?;
                let is_kernel_io = rest.split_ascii_whitespace().nth(1) == Some(KTHREADD)
                    && KERNEL_IO.iter().any(|known| name.starts_with(known));
                Some((pid, name.to_owned(), is_kernel_io, ticks))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(total: u64) -> CpuTicks {
        CpuTicks {
            idle: total,
            ..CpuTicks::default()
        }
    }

    #[test]
    fn other_processes_are_named_with_their_shares() {
        let root = tempfile::tempdir().unwrap();
        let process = |pid: u32, name: &str, ticks: u64, started: u64| {
            let parent = if name.starts_with("kworker") { 2 } else { 1 };
            let folder = root.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&folder).unwrap();
            let text = format!(
                "{pid} ({name}) R {parent} {pid} {pid} 0 -1 4194304 1 2 3 4 {ticks} 0 8 9 20 0 1 0 {started} 99 1\n"
            );
            std::fs::write(folder.join("stat"), text).unwrap();
        };
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        process(1, "init", 5_000, 1);
        process(7, "java", 900, 2);
        process(8, "rustc) x", 100, 3);
        process(6, "kworker/u4:1-btrfs-delalloc", 10, 1);
        let watched = Watched {
            server: vec![7],
            ..Watched::default()
        };
        let mut others = Others::new(root.path().to_owned(), &watched);
        others.look(Duration::from_secs(1), cpu(1_000));
        assert_eq!(others.shares(), []);
        process(7, "java", 990, 2);
        process(8, "rustc) x", 150, 3);
        process(9, "cc", 30, 4);
        process(6, "kworker/u4:1-btrfs-delalloc", 50, 1);
        others.look(Duration::from_secs(2), cpu(1_200));
        // Another process with the id of one that has ended.
        process(9, "cc", 10, 5);
        others.look(Duration::from_secs(3), cpu(1_400));
        let found = others.shares();
        assert_eq!(
            found,
            [("rustc) x".to_owned(), 0.125), ("cc".to_owned(), 0.1)]
        );
        assert!((others.kernel_io() - 0.1).abs() < 1e-9);
    }

    #[test]
    fn many_processes_are_looked_at_less_often() {
        let root = tempfile::tempdir().unwrap();
        for pid in 1..=600 {
            let folder = root.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&folder).unwrap();
            let text = format!("{pid} (x) R 1 1 1 0 -1 1 1 2 3 4 0 0 8 9 20 0 1 0 1 99 1\n");
            std::fs::write(folder.join("stat"), text).unwrap();
        }
        let mut others = Others::new(root.path().to_owned(), &Watched::default());
        for second in 0..7 {
            others.look(Duration::from_secs(second), cpu(100 * second));
        }
        // At 0, 3 and 6 s.
        assert_eq!(others.passed, 600);
        assert_eq!(others.before.unwrap().at, Duration::from_secs(6));
    }
}
