//! Finds the processes of a host that are stores.

use crate::parse::store_process::{Process, is_wanted_comm, split_command_line};
use crate::source::Reader;
use facts::Skipped;

/// What is skipped if processes are hidden.
pub(super) const WHAT: &str = "running stores";

/// Returns the processes that are stores, by process id. If processes are hidden, that is added to
/// `skipped`.
pub(crate) fn list(reader: &Reader<'_>, skipped: &mut Vec<Skipped>) -> Vec<Process> {
    let names = match reader.list("proc") {
        Ok(names) => names,
        Err(unread) => {
            skipped.push(Skipped::new(WHAT, format!("proc: {unread}"), None));
            return Vec::new();
        }
    };
    let mut pids: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    pids.sort_unstable();
    // Process 1 always exists; hidepid=2 hides it, hidepid=1 denies access (proc(5)).
    let hidden = match pids.first() {
        None => {
            skipped.push(Skipped::new(WHAT, "proc lists no process", None));
            return Vec::new();
        }
        Some(1) => reader.text("proc/1/comm").is_err(),
        Some(_) => true,
    };
    if hidden {
        skipped.push(if reader.is_whole() {
            let why = "proc hides the processes of other users (hidepid)";
            Skipped::new(WHAT, why, Some("root"))
        } else {
            Skipped::new(WHAT, "proc holds only some of the host's processes", None)
        });
        if pids.first() == Some(&1) {
            return Vec::new();
        }
    }
    pids.into_iter()
        .filter(|pid| {
            // A process may end at any moment; then it is not a running store.
            let comm = reader.text(&format!("proc/{pid}/comm")).unwrap_or_default();
            is_wanted_comm(comm.trim_end())
        })
        .filter_map(|pid| {
            let line = reader.text(&format!("proc/{pid}/cmdline")).ok()?;
            let arguments = split_command_line(&line);
            (!arguments.is_empty()).then_some(Process { pid, arguments })
        })
        .collect()
}
