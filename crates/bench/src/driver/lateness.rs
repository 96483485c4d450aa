//! How late the driver itself was for the requests of an operation.

use super::histogram::Times;

/// Beats that are later show a driver that stood still: timers of a virtual machine that has its CPUs are rarely late
/// by as much.
const STANDING_NS: u64 = 1_000_000;

/// What a driver that was late did to an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OwnLateness {
    /// 99th percentile, over the requests, of the time by which the driver delayed them.
    pub p99_ns: u64,
    /// Closed loop: requests that were never sent because the driver stood still, as a share of all that clients
    /// would have sent; 0 for an open loop, which sends them all.
    pub lost: f64,
}

impl OwnLateness {
    /// Of an open loop: the starts of its requests sample time, as the threads' heartbeat does.
    ///
    /// After a driver has stood still, requests wait for a connection, and what they saw of it themselves is short;
    /// beats count the whole time.
    pub(super) fn of_open_loop(beats: &Times, seen: &Times) -> Self {
        let p99s = [beats, seen].map(|times| times.quantile_ns(0.99).unwrap_or(0));
        Self {
            p99_ns: p99s[0].max(p99s[1]),
            lost: 0.0,
        }
    }

    /// Of a closed loop with the mean latency m. A client sends nothing while the driver stands still.
    ///
    /// Its answer comes at any time within m: a stall of length d delays one request by more than x with probability
    /// min(1, (d - x) / m). Summed over stalls, this is the share of beats that are late by more than x, less the
    /// share late by more than x + m. Integrated over x, the mean delay is that of min(lateness, m) over the beats,
    /// and is lost throughput.
    pub(super) fn of_closed_loop(beats: &Times, mean_ns: f64) -> Self {
        Self {
            p99_ns: p99(beats, mean_ns),
            lost: lost(beats, mean_ns),
        }
    }
}

/// The lateness that one request in a hundred exceeds.
#[allow(clippy::cast_precision_loss)] // counts and times
fn p99(beats: &Times, mean_ns: f64) -> u64 {
    let counts: Vec<(u64, u64)> = beats.counts().collect();
    let (mut longest, mut within) = (counts.len(), 0);
    // From the latest beat on: those late by `counts[at]` or more, and by less than the mean latency more.
    for at in (0..counts.len()).rev() {
        within += counts[at].1;
        while counts[longest - 1].0 as f64 > counts[at].0 as f64 + mean_ns {
            longest -= 1;
            within -= counts[longest].1;
        }
        if within as f64 >= 0.01 * beats.count() as f64 {
            return counts[at].0;
        }
    }
    0
}

/// The share of requests that were never sent.
#[allow(clippy::cast_precision_loss)] // counts and times
fn lost(beats: &Times, mean_ns: f64) -> f64 {
    let standing = beats.counts().filter(|(late_ns, _)| *late_ns > STANDING_NS);
    let lost: f64 = standing
        .map(|(late_ns, count)| (late_ns as f64 / mean_ns.max(1.0)).min(1.0) * count as f64)
        .sum();
    lost / beats.count().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const ORDINARY_NS: u64 = 50_000;

    /// A driver that stands still for `stall_ms` each second: beats each 10 ms that fall into the stall are late by what
    /// is left of it, the others as usual.
    fn beats(stall_ms: u64) -> Times {
        let mut beats = Times::default();
        for second in 0..100 {
            for beat in 0..100 {
                // Another phase each second, so that beats fall anywhere in the stall.
                let at_us = beat * 10_000 + second * 100;
                let late_ns = (stall_ms * 1000).saturating_sub(at_us) * 1000;
                beats.record(late_ns.max(ORDINARY_NS));
            }
        }
        beats
    }

    #[test]
    fn a_stall_costs_each_client_of_a_closed_loop_one_request() {
        // Requests of 0.1 ms: one in 9,800 sees the stall. Of 5 ms: one in 196.
        for mean_ns in [0.1e6, 5e6] {
            let seen = p99(&beats(20), mean_ns);
            assert!(seen.abs_diff(ORDINARY_NS) < 1_000, "{seen}");
        }
        // Of 15 ms: one in 66 ends in the first 15 ms of the stall, and one in 100 in the first 10.
        let seen = p99(&beats(20), 15e6);
        assert!(seen.abs_diff(10 * MS) < MS / 5, "{seen}");
        // Of 100 ms: as many as there are beats.
        let seen = p99(&beats(20), 100e6);
        assert!(seen.abs_diff(beats(20).quantile_ns(0.99).unwrap()) < MS / 5);
    }

    #[test]
    fn short_requests_lose_the_whole_of_a_stall_and_long_ones_a_part() {
        let lost_to = |stall_ms, mean_ns| lost(&beats(stall_ms), mean_ns);
        // 300 of each 1000 ms; beats that are late by less than 1 ms do not count.
        assert!(
            (lost_to(300, 0.1e6) - 0.299).abs() < 0.002,
            "{}",
            lost_to(300, 0.1e6)
        );
        // A request of a second ends 150 ms later if it ends within the stall: 0.3 * 0.15.
        assert!(
            (lost_to(300, 1e9) - 0.045).abs() < 0.001,
            "{}",
            lost_to(300, 1e9)
        );
        assert!(lost_to(0, 0.1e6).abs() < f64::EPSILON);
    }
}
