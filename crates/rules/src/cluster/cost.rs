//! What one reroute costs the master, from measurements of the real servers' code.
//!
//! Measured with the classes of each server on one machine, Java 17: CPU time of a reroute that finds
//! nothing to do; 2 data nodes, all shards started, disks 40 % full. Between two measured sizes it is
//! interpolated on logarithmic scales. The machine was shared, single figures moved by half, and a
//! master's processor is another one: take a prediction as right within a factor of [`ERROR_FACTOR`].

/// A prediction may be this many times too high or too low.
pub(crate) const ERROR_FACTOR: f64 = 2.0;

/// Data nodes of the measured clusters.
const MEASURED_NODES: f64 = 2.0;

/// Shards and milliseconds.
type Measured = [(f64, f64); 4];

/// Elasticsearch 6.8.23.
const SCAN_6_8: Measured = [
    (2_500.0, 63.0),
    (5_000.0, 325.0),
    (10_000.0, 1_794.0),
    (25_000.0, 8_924.0),
];
/// Elasticsearch 7.1.1.
const SCAN_7_1: Measured = [
    (2_500.0, 38.0),
    (5_000.0, 233.0),
    (10_000.0, 962.0),
    (25_000.0, 4_793.0),
];
/// Elasticsearch 7.4.0; the largest on a quiet machine.
const SCAN_7_4: Measured = [
    (2_500.0, 48.0),
    (5_000.0, 383.0),
    (10_000.0, 1_776.0),
    (25_000.0, 7_219.0),
];
/// Elasticsearch 7.4.0 with `include_relocations` switched off: everything but the scan.
const WITHOUT_SCAN: Measured = [
    (2_500.0, 11.0),
    (5_000.0, 28.0),
    (10_000.0, 41.0),
    (25_000.0, 114.0),
];
/// Elasticsearch 7.6.0.
const FIXED_7_6: Measured = [
    (2_500.0, 11.0),
    (5_000.0, 34.0),
    (10_000.0, 45.0),
    (25_000.0, 103.0),
];

/// A measured server whose reroutes scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scanning {
    /// Measured with 6.8.23.
    V6_8,
    /// 7.0 and 7.1, measured with 7.1.1.
    V7_1,
    /// 7.2 to 7.5, measured with 7.4.0.
    V7_4,
}

impl Scanning {
    /// The server that was measured.
    pub fn measured_version(self) -> &'static str {
        match self {
            Self::V6_8 => "6.8.23",
            Self::V7_1 => "7.1.1",
            Self::V7_4 => "7.4.0",
        }
    }

    fn measured(self) -> &'static Measured {
        match self {
            Self::V6_8 => &SCAN_6_8,
            Self::V7_1 => &SCAN_7_1,
            Self::V7_4 => &SCAN_7_4,
        }
    }
}

/// One reroute, in milliseconds of the master's processor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cost {
    /// As the server is.
    pub with_scan_ms: f64,
    /// The same server without the scan, as `include_relocations: false` makes it.
    pub without_scan_ms: f64,
    /// After an upgrade to 7.6.0.
    pub fixed_ms: f64,
    /// The size lies outside of what was measured.
    pub is_extrapolated: bool,
}

/// The predicted cost of a reroute of so many assigned shards on so many data nodes (at least 2:
/// below that nothing is scanned).
///
/// The scan asks each shard's node for all of its shards, n^2/m steps for n shards on m nodes. What
/// is measured on 2 nodes is therefore scaled with 2/m, in its scanning part alone.
pub(crate) fn reroute(server: Scanning, shards: u64, data_nodes: u64) -> Cost {
    // Clusters are smaller than 2^53 shards.
    #[allow(clippy::cast_precision_loss)]
    let (shards, nodes) = (shards as f64, data_nodes.max(2) as f64);
    let without_scan_ms = interpolate(&WITHOUT_SCAN, shards, 1.0);
    let whole_ms = interpolate(server.measured(), shards, 2.0);
    let scan_ms = (whole_ms - without_scan_ms).max(0.0);
    let (smallest, largest) = (WITHOUT_SCAN[0].0, WITHOUT_SCAN[WITHOUT_SCAN.len() - 1].0);
    Cost {
        with_scan_ms: without_scan_ms + scan_ms * MEASURED_NODES / nodes,
        without_scan_ms,
        fixed_ms: interpolate(&FIXED_7_6, shards, 1.0),
        is_extrapolated: !(smallest..=largest).contains(&shards),
    }
}

/// On logarithmic scales between the two neighbours; beyond the ends with this exponent, which the
/// algorithm has.
fn interpolate(measured: &Measured, shards: f64, exponent: f64) -> f64 {
    let (first, last) = (measured[0], measured[measured.len() - 1]);
    for end in [first, last] {
        let is_beyond = (shards < first.0 && end == first) || (shards > last.0 && end == last);
        if is_beyond {
            return end.1 * (shards / end.0).powf(exponent);
        }
    }
    let pairs = measured.windows(2).map(|pair| (pair[0], pair[1]));
    for ((x0, y0), (x1, y1)) in pairs {
        if shards <= x1 {
            let share = (shards / x0).ln() / (x1 / x0).ln();
            return y0 * (y1 / y0).powf(share);
        }
    }
    last.1
}

/// A time for people, with two digits: `7.2 s`, `380 ms`, `2.6 minutes`.
pub(crate) fn words(ms: f64) -> String {
    let two_digits = |value: f64| {
        if value >= 9.95 || value == 0.0 {
            // 7,219 becomes 7,200.
            let scale = 10_f64.powf((value.max(1.0).log10().floor() - 1.0).max(0.0));
            format!("{:.0}", (value / scale).round() * scale)
        } else {
            format!("{value:.1}")
        }
    };
    if ms < 995.0 {
        format!("{} ms", two_digits(ms))
    } else if ms < 99_500.0 {
        format!("{} s", two_digits(ms / 1000.0))
    } else if ms < 99.5 * 60_000.0 {
        format!("{} minutes", two_digits(ms / 60_000.0))
    } else {
        format!("{} hours", two_digits(ms / 3_600_000.0))
    }
}

/// `3.6 to 14 s`: what a prediction means, given its error.
pub(crate) fn range_words(ms: f64) -> String {
    format!(
        "{} to {}",
        words(ms / ERROR_FACTOR),
        words(ms * ERROR_FACTOR)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 1e-9
    }

    #[test]
    fn measured_sizes_come_back_as_measured() {
        for (server, shards, ms) in [
            (Scanning::V6_8, 2_500, 63.0),
            (Scanning::V7_1, 10_000, 962.0),
            (Scanning::V7_4, 5_000, 383.0),
            (Scanning::V7_4, 25_000, 7_219.0),
        ] {
            let cost = reroute(server, shards, 2);
            assert!(close(cost.with_scan_ms, ms), "{server:?} {shards} {cost:?}");
            assert!(!cost.is_extrapolated);
        }
        assert!(close(reroute(Scanning::V7_4, 10_000, 2).fixed_ms, 45.0));
        let without = reroute(Scanning::V7_4, 10_000, 2).without_scan_ms;
        assert!(close(without, 41.0));
    }

    #[test]
    fn between_two_sizes_it_is_their_geometric_mean_in_the_middle() {
        // 7,071 is the geometric mean of 5,000 and 10,000 shards; sqrt(383 * 1776) is 824.7.
        let ms = reroute(Scanning::V7_4, 7_071, 2).with_scan_ms;
        assert!((ms - 824.7).abs() < 0.5, "{ms}");
    }

    #[test]
    fn it_grows_with_shards_and_shrinks_with_nodes() {
        let ms = |shards, nodes| reroute(Scanning::V7_4, shards, nodes).with_scan_ms;
        let mut before = 0.0;
        for shards in [1, 10, 1_000, 2_500, 4_000, 9_999, 24_000, 26_000, 1_000_000] {
            assert!(ms(shards, 2) > before, "{shards}");
            before = ms(shards, 2);
        }
        assert!(ms(25_000, 10) < ms(25_000, 2) / 4.0);
        // The rest does not depend on the nodes.
        assert!(ms(25_000, 1_000_000) > 100.0);
    }

    #[test]
    fn a_reported_cluster_is_met_within_the_stated_error() {
        // 60,000 shards on 10 nodes: about 15,000 ms.
        let cost = reroute(Scanning::V7_4, 60_000, 10);
        assert!(cost.is_extrapolated);
        let off = 15_000.0 / cost.with_scan_ms;
        assert!((1.0 / ERROR_FACTOR..=ERROR_FACTOR).contains(&off), "{off}");
    }

    #[test]
    fn ten_nodes_are_met_within_the_stated_error() {
        // Measured apart from the tables above, 4,000 shards on 10 data nodes.
        for (server, measured_ms) in [
            (Scanning::V6_8, 27.9),
            (Scanning::V7_1, 22.3),
            (Scanning::V7_4, 45.3),
        ] {
            let off = reroute(server, 4_000, 10).with_scan_ms / measured_ms;
            let is_met = (1.0 / ERROR_FACTOR..=ERROR_FACTOR).contains(&off);
            assert!(is_met, "{server:?}: {off}");
        }
    }

    #[test]
    fn no_shards_and_absurd_numbers_stay_numbers() {
        for shards in [0, u64::MAX] {
            let cost = reroute(Scanning::V6_8, shards, 0);
            assert!(cost.with_scan_ms.is_finite(), "{cost:?}");
            assert!(cost.with_scan_ms >= 0.0);
            assert!(!words(cost.with_scan_ms).is_empty());
        }
    }

    #[test]
    fn times_have_two_digits() {
        for (ms, expected) in [
            (0.0, "0 ms"),
            (3.24, "3.2 ms"),
            (9.97, "10 ms"),
            (383.0, "380 ms"),
            (996.0, "1.0 s"),
            (7_219.0, "7.2 s"),
            (14_438.0, "14 s"),
            (99_000.0, "99 s"),
            (120_000.0, "2.0 minutes"),
            (7_200_000.0, "2.0 hours"),
        ] {
            assert_eq!(words(ms), expected);
        }
        assert_eq!(range_words(7_219.0), "3.6 s to 14 s");
    }
}
