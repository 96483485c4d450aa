//! Notices a server that does nothing any more: its disk is full, or it has died.

use super::interval::Interval;
use super::outcome::ErrorClass;
use std::time::Duration;

/// What has failed since the last request that did anything.
pub(super) struct Silence {
    max: Duration,
    /// The end of the last interval in which something succeeded.
    since_ns: u64,
    errors: [u64; ErrorClass::ALL.len()],
    /// The ends of the first and the last interval since then in which something failed.
    failed_ns: Option<(u64, u64)>,
}

impl Silence {
    /// Notices a silence of `max`.
    pub(super) fn new(max: Duration) -> Self {
        Self {
            max,
            since_ns: 0,
            errors: [0; ErrorClass::ALL.len()],
            failed_ns: None,
        }
    }

    /// Adds what a thread measured. Returns what is wrong once nothing has succeeded for too long and something has
    /// failed in each half of that time: a server that works on one long request is not silent, nor one that is seldom asked
    /// and failed once.
    pub(super) fn add(&mut self, interval: &Interval) -> Option<String> {
        // Of a bulk request that counts as failed most documents may have been written.
        let does_something = interval
            .classes
            .iter()
            .any(|class| class.latency.count() > 0 || class.documents_written > 0);
        if does_something {
            self.since_ns = self.since_ns.max(interval.to_ns);
            self.errors = [0; ErrorClass::ALL.len()];
            self.failed_ns = None;
            return None;
        }
        if interval.classes.iter().any(|class| class.failed() > 0) {
            let (first_ns, _) = self.failed_ns.unwrap_or((interval.to_ns, 0));
            self.failed_ns = Some((first_ns, interval.to_ns));
        }
        for class in &interval.classes {
            for (all, of_class) in self.errors.iter_mut().zip(class.errors) {
                *all += of_class;
            }
        }
        let silent = Duration::from_nanos(interval.to_ns.saturating_sub(self.since_ns));
        let failed = self.errors.iter().sum::<u64>();
        let (first_ns, last_ns) = self.failed_ns?;
        if silent < self.max || Duration::from_nanos(last_ns - first_ns) < self.max / 2 {
            return None;
        }
        let by_class = ErrorClass::ALL.iter().zip(self.errors);
        let found: Vec<String> = by_class
            .filter(|(_, count)| *count > 0)
            .map(|(class, count)| format!("{count} with {}", class.label()))
            .collect();
        Some(format!(
            "no request succeeded for {} s ({} failed: {}); look into the server's log, and at the space on its disk",
            silent.as_secs(),
            units::count(failed, "request"),
            found.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::interval::ClassInterval;
    use super::*;

    fn interval(second: u64, written: u64, timeouts: u64) -> Interval {
        let mut class = ClassInterval {
            documents_written: written,
            ..ClassInterval::default()
        };
        class.errors[ErrorClass::Timeout.index()] = timeouts;
        Interval {
            from_ns: (second - 1) * 1_000_000_000,
            to_ns: second * 1_000_000_000,
            classes: vec![class],
            ..Interval::default()
        }
    }

    #[test]
    fn failures_without_a_success_for_too_long_are_told() {
        let mut silence = Silence::new(Duration::from_secs(10));
        assert_eq!(silence.add(&interval(1, 5, 1)), None);
        assert_eq!(silence.add(&interval(5, 0, 2)), None);
        assert_eq!(
            silence.add(&interval(11, 0, 1)).unwrap(),
            "no request succeeded for 10 s (3 requests failed: 3 with timeout); look into the server's log, and at the \
             space on its disk"
        );
    }

    #[test]
    fn a_success_of_any_thread_ends_it() {
        let mut silence = Silence::new(Duration::from_secs(10));
        assert_eq!(silence.add(&interval(9, 0, 2)), None);
        assert_eq!(silence.add(&interval(9, 1, 0)), None);
        assert_eq!(silence.add(&interval(11, 0, 7)), None);
        assert!(silence.add(&interval(19, 0, 1)).is_some());
    }

    #[test]
    fn one_failure_is_no_silence() {
        let mut silence = Silence::new(Duration::from_secs(10));
        assert_eq!(silence.add(&interval(1, 0, 1)), None);
        for second in 2..100 {
            assert_eq!(silence.add(&interval(second, 0, 0)), None);
        }
    }

    #[test]
    fn a_long_request_is_no_silence() {
        let mut silence = Silence::new(Duration::from_secs(10));
        for second in 1..100 {
            assert_eq!(silence.add(&interval(second, 0, 0)), None);
        }
    }
}
