//! `proc/PID` from `ps`.

use super::made::Made;
use super::outputs::Outputs;
use crate::parse::outputs::processes;

/// More processes than any real host has.
const PROCESSES_MAX: usize = 100_000;

pub(super) fn make(outputs: &Outputs<'_>, made: &mut Made) {
    let lines = ["ps_alxwww", "ps_auxwww", "ps_auxwwwm", "ps_-eLFww"]
        .iter()
        .find_map(|command| processes::parse(&outputs.first(&[command])?))
        .unwrap_or_default();
    for line in lines.iter().take(PROCESSES_MAX) {
        let path = format!("proc/{}", line.pid);
        made.file(&format!("{path}/comm"), line.comm().as_bytes());
        // ps prints spaces between the arguments, and those within one, alike.
        let arguments: Vec<&str> = line.command_line.split(' ').collect();
        made.file(
            &format!("{path}/cmdline"),
            (arguments.join("\0") + "\0").as_bytes(),
        );
        if let Some(parent) = line.parent_pid {
            made.file(
                &format!("{path}/status"),
                format!("PPid:\t{parent}\n").as_bytes(),
            );
        }
    }
}
