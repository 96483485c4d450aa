//! Process identity that survives reuse of process IDs.

use serde::{Deserialize, Serialize};
use std::fs;

/// A process, identified by its ID and start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessId {
    /// Process ID.
    pub(crate) pid: u32,
    /// Start time in clock ticks since boot: field 22 of /proc/PID/stat (proc(5)).
    pub(crate) start_ticks: u64,
}

impl ProcessId {
    /// Returns the identity of this process. Without /proc the start time is 0, which never
    /// matches.
    pub(crate) fn own() -> Self {
        let pid = std::process::id();
        let start_ticks = read_stat(pid).map_or(0, |stat| stat.start_ticks);
        Self { pid, start_ticks }
    }

    /// Returns whether the process is still running. A zombie is not: its descriptors are closed
    /// and its locks are released.
    pub(crate) fn is_alive(self) -> bool {
        read_stat(self.pid)
            .is_some_and(|stat| stat.start_ticks == self.start_ticks && !stat.is_dead)
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Stat {
    start_ticks: u64,
    is_dead: bool,
}

fn read_stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses /proc/PID/stat. The command in the second field may contain blanks and parentheses, so
/// fields are counted from the last parenthesis.
fn parse_stat(text: &str) -> Option<Stat> {
    let (_, after_command) = text.rsplit_once(')')?;
    let mut fields = after_command.split_ascii_whitespace();
    let state = fields.next()?;
    // `state` is field 3, `starttime` field 22.
    let start_ticks = fields.nth(18)?.parse().ok()?;
    Some(Stat {
        start_ticks,
        is_dead: matches!(state, "Z" | "X" | "x"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn fields_are_counted_from_the_end_of_the_command() {
        let text = "17 (a) b (c) S 1 17 17 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 9\n";
        let stat = parse_stat(text).unwrap();
        assert_eq!(stat.start_ticks, 4242);
        assert!(!stat.is_dead);
        assert_eq!(parse_stat("17 (a"), None);
        assert_eq!(parse_stat("17 (a) S 1 2"), None);
    }

    #[test]
    fn zombie_is_not_alive() {
        assert!(ProcessId::own().is_alive());
        let mut sleeper = Command::new("sleep")
            .arg("600")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let id = ProcessId {
            pid: sleeper.id(),
            start_ticks: read_stat(sleeper.id()).unwrap().start_ticks,
        };
        assert!(id.is_alive());
        let later = ProcessId {
            start_ticks: id.start_ticks + 1,
            ..id
        };
        assert!(!later.is_alive(), "the number was used again");
        sleeper.kill().unwrap();
        while read_stat(id.pid).is_some_and(|stat| !stat.is_dead) {
            std::thread::yield_now();
        }
        assert!(!id.is_alive(), "a zombie");
        sleeper.wait().unwrap();
        assert!(!id.is_alive());
    }
}
