//! Resets this process's signal handling. FITRIM is interrupted only by a signal that terminates
//! the process; a signal with a handler is noticed only after the call.
//!
//! Handlers do not survive exec, but ignored signals do (nohup, background jobs of a shell), and so
//! does the mask. The mask is cleared. Ignored signals are reset by a second exec: a handler is
//! installed first, and exec resets signals that have a handler to the default (signal(7)).

use super::signal_mask;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Signals that should terminate the child.
const DEADLY: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Set for the second exec, so that there is no third.
const MARK: &str = "TRIMTAB_FITRIM_SECOND_EXEC";

/// Makes [`DEADLY`] signals terminate the process, re-executing the program if necessary. Returns
/// whether SIGTERM still has no effect, so that only SIGKILL works. Must be called while there is
/// no other thread, because each thread has its own mask.
pub(super) fn make_default() -> io::Result<bool> {
    signal_mask::clear()?;
    let masks = Masks::parse(&std::fs::read_to_string("/proc/self/status")?);
    let ignored = DEADLY.iter().filter(|&&signal| masks.ignores(signal));
    if ignored.clone().next().is_some() && std::env::var_os(MARK).as_deref() != Some(one()) {
        for &signal in ignored {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
        // Safe to exec: nothing has been read from stdin yet.
        return Err(Command::new("/proc/self/exe")
            .args(std::env::args_os().skip(1))
            .env(MARK, one())
            .exec());
    }
    Ok(masks.ignores(SIGTERM) || masks.blocks(SIGTERM))
}

fn one() -> &'static OsStr {
    OsStr::new("1")
}

/// Signal masks from /proc/PID/status; bit n-1 is signal n.
#[derive(Debug, Default, PartialEq, Eq)]
struct Masks {
    ignored: u64,
    blocked: u64,
}

impl Masks {
    fn parse(status: &str) -> Self {
        let mask = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
                .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
                .unwrap_or(0)
        };
        Self {
            ignored: mask("SigIgn"),
            blocked: mask("SigBlk"),
        }
    }

    fn ignores(&self, signal: i32) -> bool {
        self.ignored >> (signal - 1) & 1 == 1
    }

    fn blocks(&self, signal: i32) -> bool {
        self.blocked >> (signal - 1) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_read_from_status() {
        let status = "Name:\ttrimtab\nSigQ:\t0/127\nSigPnd:\t0000000000000000\n\
                      SigBlk:\t0000000000004000\nSigIgn:\t0000000000001002\nSigCgt:\t0\n";
        let masks = Masks::parse(status);
        assert!(masks.ignores(SIGINT) && !masks.ignores(SIGTERM) && !masks.ignores(SIGHUP));
        assert!(masks.blocks(SIGTERM) && !masks.blocks(SIGINT));
        assert_eq!(Masks::parse(""), Masks::default());
    }
}
