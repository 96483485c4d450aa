//! CPU time: of the host, of processes and of control groups.

/// CPU time of the host since boot, in clock ticks, summed over all CPUs
/// (`cpu` in /proc/stat, `proc_stat(5)`). Time of guests is part of `user` and `nice` and not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTicks {
    /// Processes in user mode, niced ones included.
    pub user: u64,
    /// The kernel, interrupts included.
    pub system: u64,
    /// Nothing to do.
    pub idle: u64,
    /// Nothing to do while I/O was outstanding.
    pub io_wait: u64,
    /// Wanted to run while the hypervisor ran something else.
    pub steal: u64,
}

impl CpuTicks {
    /// All time, idle included.
    pub fn total(&self) -> u64 {
        [self.user, self.system, self.idle, self.io_wait, self.steal]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// Time in which this host ran something.
    pub fn busy(&self) -> u64 {
        self.user.saturating_add(self.system)
    }
}

/// A text of the kernel that is not as documented.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}")]
pub struct Malformed {
    /// What was expected.
    pub expected: &'static str,
}

/// Parses the first line of /proc/stat. Columns that old kernels lack (steal came with 2.6.11) are 0.
///
/// # Errors
/// If it is not there, or has fewer than four counts.
pub fn parse_stat(text: &str) -> Result<CpuTicks, Malformed> {
    let malformed = Malformed {
        expected: "a line \"cpu USER NICE SYSTEM IDLE...\"",
    };
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "));
    let counts: Option<Vec<u64>> = line
        .into_iter()
        .flat_map(str::split_ascii_whitespace)
        .map(|count| count.parse().ok())
        .collect();
    let counts = counts.filter(|counts| counts.len() >= 4).ok_or(malformed)?;
    let at = |column: usize| counts.get(column).copied().unwrap_or(0);
    let sum = |columns: &[usize]| {
        columns
            .iter()
            .fold(0u64, |sum, &column| sum.saturating_add(at(column)))
    };
    Ok(CpuTicks {
        user: sum(&[0, 1]),
        system: sum(&[2, 5, 6]),
        idle: at(3),
        io_wait: at(4),
        steal: at(7),
    })
}

/// CPU time of one process, in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessTicks {
    /// In user mode.
    pub user: u64,
    /// In the kernel.
    pub system: u64,
    /// When it started, in ticks since boot: another process with the same id has another one.
    pub started: u64,
}

/// Parses /proc/PID/stat (`proc_pid_stat(5)`). The name in parentheses may hold any character, parentheses
/// and spaces included, so columns are counted from the last closing one.
///
/// # Errors
/// If it has too few columns, or others than counts.
pub fn parse_process_stat(text: &str) -> Result<ProcessTicks, Malformed> {
    let malformed = || Malformed {
        expected: "PID (NAME) STATE and 19 further columns",
    };
    let (_, columns) = text.rsplit_once(')').ok_or_else(malformed)?;
    // The state is column 3 of the manual and 0 here.
    let columns: Vec<&str> = columns.split_ascii_whitespace().collect();
    let at = |manual: usize| columns.get(manual - 3)?.parse().ok();
    let ticks = || {
        Some(ProcessTicks {
            user: at(14)?,
            system: at(15)?,
            started: at(22)?,
        })
    };
    ticks().ok_or_else(malformed)
}

/// Parses `throttled_usec` (cgroup v2) or `throttled_time` (v1, nanoseconds) of a control group's cpu.stat, in
/// microseconds; `None` where the group has no limit and so no such line
/// (Documentation/admin-guide/cgroup-v2.rst, Documentation/scheduler/sched-bwc.rst).
pub fn parse_throttled_us(text: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        let value: u64 = value.trim().parse().ok()?;
        match key {
            "throttled_usec" => Some(value),
            "throttled_time" => Some(value / 1000),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_columns_of_the_manual() {
        let text = "cpu  10 2 30 400 50 6 7 8 3 1\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5\n";
        let ticks = parse_stat(text).unwrap();
        let expected = CpuTicks {
            user: 12,
            system: 43,
            idle: 400,
            io_wait: 50,
            steal: 8,
        };
        assert_eq!(ticks, expected);
        assert_eq!((ticks.total(), ticks.busy()), (513, 55));
        // 2.4 had four columns.
        assert_eq!(parse_stat("cpu 1 2 3 4\n").unwrap().idle, 4);
        for wrong in ["", "cpu 1 2 3\n", "cpu 1 2 3 x\n", "cpu0 1 2 3 4\n"] {
            assert!(parse_stat(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_may_hold_anything() {
        let text = "77 (a) b (c) R 1 77 77 0 -1 4194304 1 2 3 4 150 25 8 9 20 0 1 0 123456 99 1\n";
        let ticks = parse_process_stat(text).unwrap();
        assert_eq!(
            (ticks.user, ticks.system, ticks.started),
            (150, 25, 123_456)
        );
        assert!(parse_process_stat("77 (a) R 1 2\n").is_err());
        assert!(parse_process_stat("").is_err());
    }

    #[test]
    fn throttling_of_both_versions() {
        let v2 = "usage_usec 9\nuser_usec 5\nnr_throttled 3\nthrottled_usec 4200\n";
        assert_eq!(parse_throttled_us(v2), Some(4200));
        assert_eq!(
            parse_throttled_us("nr_periods 1\nthrottled_time 4200999\n"),
            Some(4200)
        );
        assert_eq!(parse_throttled_us("usage_usec 9\n"), None);
    }

    #[test]
    fn this_process() {
        let text = std::fs::read_to_string("/proc/self/stat").unwrap();
        assert!(parse_process_stat(&text).unwrap().started > 0);
        let text = std::fs::read_to_string("/proc/stat").unwrap();
        assert!(parse_stat(&text).unwrap().total() > 0);
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_rejected(text in "\\PC*|cpu ([0-9]{0,21} ?){0,12}|1 \\(\\PC{0,9}\\) R( [0-9]{0,21}){0,30}") {
            if let Ok(ticks) = parse_stat(&text) {
                prop_assert!(ticks.total() >= ticks.busy());
            }
            let _ = parse_process_stat(&text);
            let _ = parse_throttled_us(&text);
        }
    }
}
