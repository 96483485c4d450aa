//! Turns raw samples into a clean curve with ascending times and finite values, and notes everything that
//! was changed.

use facts::series::Better;

/// Microseconds per second.
const SECOND_US: f64 = 1e6;

/// Raw samples: in any order, possibly with duplicate times.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Samples {
    times_us: Vec<i64>,
    values: Vec<f64>,
    missing: usize,
    not_finite: usize,
}

impl Extend<(i64, f64)> for Samples {
    /// Adds samples, as [`Samples::push`] does.
    fn extend<T: IntoIterator<Item = (i64, f64)>>(&mut self, samples: T) {
        for (time_us, value) in samples {
            self.push(time_us, value);
        }
    }
}

/// A clean curve, as [`Series`](facts::series::Series) requires.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Curve {
    /// Microseconds since the epoch, strictly ascending.
    pub times_us: Vec<i64>,
    /// Finite values, one for each time.
    pub values: Vec<f64>,
    /// What was changed, in plain words with counts.
    pub notes: Vec<String>,
}

impl Samples {
    /// Adds a sample; a value that is not finite is dropped and counted.
    pub fn push(&mut self, time_us: i64, value: f64) {
        if value.is_finite() {
            self.times_us.push(time_us);
            self.values.push(value);
        } else {
            self.not_finite += 1;
        }
    }

    /// Counts a sample without a value.
    pub(crate) fn push_missing(&mut self) {
        self.missing += 1;
    }

    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Replaces every time; samples whose new time is `None` are dropped.
    #[must_use]
    pub(crate) fn with_times(self, time_us: impl Fn(i64) -> Option<i64>) -> Self {
        let mut changed = Self {
            missing: self.missing,
            not_finite: self.not_finite,
            ..Self::default()
        };
        for (at, value) in self.times_us.into_iter().zip(self.values) {
            if let Some(at) = time_us(at) {
                changed.times_us.push(at);
                changed.values.push(value);
            }
        }
        changed
    }

    /// Sorts by time and merges samples with equal times: equal values become one, different ones their
    /// mean.
    pub fn clean(self) -> Curve {
        let Self {
            mut times_us,
            mut values,
            missing,
            not_finite,
        } = self;
        let mut notes = Vec::new();
        if missing > 0 {
            notes.push(format!(
                "{} left out: without a value",
                units::count(missing, "sample")
            ));
        }
        if not_finite > 0 {
            let what = units::count(not_finite, "sample");
            notes.push(format!("{what} left out: no number, or infinite"));
        }
        let out_of_order = times_us.windows(2).filter(|pair| pair[1] < pair[0]).count();
        if out_of_order > 0 {
            let mut pairs: Vec<(i64, f64)> = times_us.into_iter().zip(values).collect();
            // Stable, so that the mean of samples with equal times depends only on the input.
            pairs.sort_by_key(|pair| pair.0);
            (times_us, values) = pairs.into_iter().unzip();
            notes.push(format!(
                "{} out of order: sorted",
                units::count(out_of_order, "sample")
            ));
        }
        if times_us.windows(2).any(|pair| pair[0] == pair[1]) {
            merge_equal_times(&mut times_us, &mut values, &mut notes);
        }
        Curve {
            times_us,
            values,
            notes,
        }
    }
}

fn merge_equal_times(times_us: &mut Vec<i64>, values: &mut Vec<f64>, notes: &mut Vec<String>) {
    let (mut merged, mut averaged, mut moments) = (0, 0, 0);
    let mut kept = 0;
    let mut from = 0;
    while from < times_us.len() {
        let len = times_us[from..]
            .iter()
            .take_while(|&&time| time == times_us[from])
            .count();
        let group = &values[from..from + len];
        let first = group[0];
        #[expect(clippy::float_cmp, reason = "the same sample written twice")]
        let same = group.iter().all(|&value| value == first);
        let value = if same {
            merged += len - 1;
            first
        } else {
            averaged += len;
            moments += 1;
            // Divided before summing, because the sum of finite values may overflow.
            #[expect(clippy::cast_precision_loss, reason = "a count of samples")]
            let parts = group.iter().map(|value| value / len as f64);
            parts.sum()
        };
        times_us[kept] = times_us[from];
        values[kept] = value;
        kept += 1;
        from += len;
    }
    times_us.truncate(kept);
    values.truncate(kept);
    if merged > 0 {
        notes.push(format!(
            "{} repeated: merged",
            units::count(merged, "sample")
        ));
    }
    if averaged > 0 {
        notes.push(format!(
            "{averaged} samples with different values at the same time: averaged into {moments}"
        ));
    }
}

/// Converts a counter to its rate per second, each at the end of its interval. Where the counter decreases,
/// it was reset; its increase in that interval is unknown, so there is no sample.
#[must_use]
pub fn rates(counter: Curve) -> Curve {
    let mut rates = Curve {
        notes: counter.notes,
        ..Curve::default()
    };
    let mut resets = 0;
    let mut too_large = 0;
    let times = counter.times_us.windows(2);
    for (time, value) in times.zip(counter.values.windows(2)) {
        let growth = value[1] - value[0];
        #[expect(
            clippy::cast_precision_loss,
            reason = "microseconds of centuries: off by less than a millionth"
        )]
        let len_s = (i128::from(time[1]) - i128::from(time[0])) as f64 / SECOND_US;
        let rate = growth / len_s;
        if growth < 0.0 {
            resets += 1;
        } else if rate.is_finite() {
            rates.times_us.push(time[1]);
            rates.values.push(rate);
        } else {
            too_large += 1;
        }
    }
    rates
        .notes
        .push("a counter, turned into its rate per second".to_owned());
    if resets > 0 {
        rates.notes.push(reset_note(resets));
    }
    if too_large > 0 {
        let what = units::count(too_large, "sample");
        rates
            .notes
            .push(format!("{what} left out: the rate is out of range"));
    }
    rates
}

/// Returns the note about counter resets.
pub(crate) fn reset_note(resets: usize) -> String {
    let times = units::count(resets, "time");
    format!("the counter began anew {times}: the samples across are left out")
}

/// Names that imply that higher is better.
const HIGHER: &[&str] = &["throughput", "qps", "rps", "ops_s", "ops_per_sec"];

/// Names that imply that lower is better.
const LOWER: &[&str] = &[
    "latency",
    "await",
    "svctm",
    "iowait",
    "steal",
    "response_time",
    "service_time",
    "processing_time",
    "error_rate",
    "errors",
    "lag",
    "stall",
    "pause",
];

/// Units of work per second, of which more is better.
const WORK_UNITS: &[&str] = &[
    "ops/s",
    "op/s",
    "docs/s",
    "doc/s",
    "req/s",
    "requests/s",
    "queries/s",
    "tx/s",
    "transactions/s",
];

/// Returns whether higher or lower is better, if the name or unit leaves no doubt: `throughput` and `ops/s`
/// are better higher; `latency`, `await`, `%iowait` lower. For a drive's throughput, neither holds.
pub fn better(name: &str, unit: Option<&str>) -> Option<Better> {
    let words = words(name);
    let says = |list: &[&str]| list.iter().any(|word| words.contains(&format!("_{word}_")));
    let unit = unit.unwrap_or("").to_ascii_lowercase();
    let higher = says(HIGHER) || WORK_UNITS.contains(&unit.as_str());
    match (higher, says(LOWER)) {
        (true, false) => Some(Better::Higher),
        (false, true) => Some(Better::Lower),
        _ => None,
    }
}

/// Returns the words of a name delimited by underscores: `_read_latency_ms_` for `readLatency (ms)`.
fn words(name: &str) -> String {
    let mut words = String::from("_");
    let mut small = false;
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            if small && c.is_ascii_uppercase() {
                words.push('_');
            }
            words.push(c.to_ascii_lowercase());
        } else if !words.ends_with('_') {
            words.push('_');
        }
        small = c.is_ascii_lowercase();
    }
    if !words.ends_with('_') {
        words.push('_');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn samples(pairs: &[(i64, f64)]) -> Samples {
        let mut samples = Samples::default();
        for &(time, value) in pairs {
            samples.push(time, value);
        }
        samples
    }

    #[test]
    fn clean_samples_are_unchanged() {
        let curve = samples(&[(1, 2.0), (3, 4.0)]).clean();
        assert_eq!(curve.times_us, [1, 3]);
        assert_eq!(curve.values, [2.0, 4.0]);
        assert!(curve.notes.is_empty());
    }

    #[test]
    fn everything_cleaned_is_counted() {
        let mut raw = samples(&[
            (30, 1.0),
            (10, 2.0),
            (20, 5.0),
            (20, 5.0),
            (10, 4.0),
            (40, f64::NAN),
            (50, f64::INFINITY),
        ]);
        raw.push_missing();
        let curve = raw.clean();
        assert_eq!(curve.times_us, [10, 20, 30]);
        assert_eq!(curve.values, [3.0, 5.0, 1.0]);
        assert_eq!(
            curve.notes,
            [
                "1 sample left out: without a value",
                "2 samples left out: no number, or infinite",
                "2 samples out of order: sorted",
                "1 sample repeated: merged",
                "2 samples with different values at the same time: averaged into 1",
            ]
        );
    }

    #[test]
    fn the_mean_of_huge_values_is_finite() {
        let curve = samples(&[(1, f64::MAX), (1, f64::MAX / 2.0)]).clean();
        assert!(curve.values[0].is_finite());
    }

    #[test]
    fn counters_become_rates_and_resets_are_skipped() {
        let second = 1_000_000;
        let curve = rates(
            samples(&[
                (0, 100.0),
                (10 * second, 150.0),
                (20 * second, 20.0),
                (25 * second, 40.0),
            ])
            .clean(),
        );
        // 50 in 10 s; no sample across the reset; 20 in 5 s.
        assert_eq!(curve.times_us, [10 * second, 25 * second]);
        assert_eq!(curve.values, [5.0, 4.0]);
        assert_eq!(
            curve.notes,
            [
                "a counter, turned into its rate per second",
                "the counter began anew 1 time: the samples across are left out"
            ]
        );
    }

    #[test]
    fn direction_is_inferred_when_unambiguous() {
        for (name, unit, expected) in [
            ("root throughput mean", None, Some(Better::Higher)),
            ("value", Some("ops/s"), Some(Better::Higher)),
            ("indexing", Some("docs/s"), Some(Better::Higher)),
            ("r_await", None, Some(Better::Lower)),
            ("%iowait", None, Some(Better::Lower)),
            ("readLatency", Some("ms"), Some(Better::Lower)),
            ("latency_p99 (ms)", None, Some(Better::Lower)),
            ("root service_time p99.9", None, Some(Better::Lower)),
            ("tps", None, None),
            ("kB_wrtn/s", Some("kB/s"), None),
            ("flag", None, None),
            ("throughput latency", None, None),
        ] {
            assert_eq!(better(name, unit), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn curves_ascend_and_lose_nothing(
            pairs in prop::collection::vec((-50_i64..50, prop::num::f64::ANY), 0..80)
        ) {
            let curve = samples(&pairs).clean();
            prop_assert!(curve.times_us.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(curve.values.iter().all(|value| value.is_finite()));
            let mut expected: Vec<i64> =
                pairs.iter().filter(|pair| pair.1.is_finite()).map(|pair| pair.0).collect();
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(&curve.times_us, &expected);
            let rates = rates(curve);
            prop_assert!(rates.values.iter().all(|rate| rate.is_finite() && *rate >= 0.0));
            prop_assert!(rates.times_us.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
