//! When requests start: the clients of a closed loop, or the planned starts of an open one.
//!
//! An open loop's queue is not stored. Planned starts are computed one by one when a connection is free for
//! them, so a queue of any length takes no memory, and none is ever skipped.

use crate::random::Random;
use crate::track::{Arrivals, Pace};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A request to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Start {
    /// Its number within the load, from 0.
    pub(super) sequence: u64,
    /// When to send it, in nanoseconds since the phase's start.
    pub(super) planned_ns: u64,
}

/// Starts that should have been, and were not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Overdue {
    pub(super) count: u64,
    /// When the first of them was planned.
    pub(super) first_ns: Option<u64>,
}

impl Overdue {
    /// Adds a start.
    pub(super) fn add(&mut self, planned_ns: u64) {
        self.count += 1;
        self.first_ns = Some(
            self.first_ns
                .map_or(planned_ns, |first_ns| first_ns.min(planned_ns)),
        );
    }

    /// Adds those of somebody else.
    pub(super) fn add_all(&mut self, other: Self) {
        if let Some(first_ns) = other.first_ns {
            self.add(first_ns);
            self.count += other.count - 1;
        }
    }
}

/// The starts of a load, which all threads share.
#[derive(Debug)]
pub(super) enum Starts {
    Closed {
        next: AtomicU64,
        count: u64,
        len_ns: u64,
    },
    Open(Mutex<Planned>),
}

/// The planned starts of an open loop, computed one by one.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    sequence: u64,
    count: u64,
    len_ns: u64,
    gap_ns: f64,
    /// A Poisson process, and its next start.
    poisson: Option<(Random, f64)>,
}

impl Planned {
    /// Creates the planned starts before `len_ns`, at most `count`.
    pub(super) fn new(
        rate_per_s: f64,
        arrivals: Arrivals,
        seed: u64,
        count: u64,
        len_ns: u64,
    ) -> Self {
        let gap_ns = 1e9 / rate_per_s;
        let poisson = (arrivals == Arrivals::Poisson).then(|| {
            let mut random = Random::new(seed);
            let first_ns = random.exponential() * gap_ns;
            (random, first_ns)
        });
        Self {
            sequence: 0,
            count,
            len_ns,
            gap_ns,
            poisson,
        }
    }
}

impl Iterator for Planned {
    type Item = Start;

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // nanoseconds below 2^53: 104 days
    fn next(&mut self) -> Option<Start> {
        let planned_ns = match &self.poisson {
            Some((_, next_ns)) => *next_ns,
            // Not a sum, so that no error grows.
            None => self.sequence as f64 * self.gap_ns,
        };
        let planned_ns = planned_ns as u64;
        if self.sequence >= self.count || planned_ns >= self.len_ns {
            return None;
        }
        let start = Start {
            sequence: self.sequence,
            planned_ns,
        };
        self.sequence += 1;
        if let Some((random, next_ns)) = &mut self.poisson {
            *next_ns += random.exponential() * self.gap_ns;
        }
        Some(start)
    }
}

impl Starts {
    /// Creates the starts of a load: at most `count`, before `len_ns`.
    pub(super) fn new(pace: Pace, seed: u64, count: u64, len_ns: u64) -> Self {
        match pace {
            Pace::Closed { .. } => Self::Closed {
                next: AtomicU64::new(0),
                count,
                len_ns,
            },
            Pace::Open { rate, arrivals, .. } => {
                // Another stream than that of the parameters.
                let seed = Random::seed_of(seed, "arrivals");
                Self::Open(Mutex::new(Planned::new(
                    rate.per_s(),
                    arrivals,
                    seed,
                    count,
                    len_ns,
                )))
            }
        }
    }

    /// Takes the next start; `None` if there is no more. `now_ns` is since the phase's start.
    pub(super) fn take(&self, now_ns: u64) -> Option<Start> {
        match self {
            Self::Closed {
                next,
                count,
                len_ns,
            } => {
                if now_ns >= *len_ns {
                    return None;
                }
                let sequence = next.fetch_add(1, Ordering::Relaxed);
                (sequence < *count).then_some(Start {
                    sequence,
                    planned_ns: now_ns,
                })
            }
            Self::Open(planned) => lock(planned).next(),
        }
    }

    /// The starts before `now_ns` that nobody has taken.
    pub(super) fn overdue(&self, now_ns: u64) -> Overdue {
        let mut overdue = Overdue::default();
        if let Self::Open(planned) = self {
            let rest = lock(planned).clone();
            rest.take_while(|start| start.planned_ns < now_ns)
                .for_each(|start| overdue.add(start.planned_ns));
        }
        overdue
    }
}

/// Nothing can panic while it is locked.
fn lock(planned: &Mutex<Planned>) -> std::sync::MutexGuard<'_, Planned> {
    planned
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::Rate;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn fixed_starts_are_at_equal_distances_without_drift() {
        let starts: Vec<Start> =
            Planned::new(3.0, Arrivals::Fixed, 1, u64::MAX, 1000 * SECOND_NS).collect();
        assert_eq!(starts.len(), 3000);
        for (n, start) in (0_u64..).zip(&starts) {
            assert_eq!(start.sequence, n);
            assert!(
                start.planned_ns.abs_diff(n * SECOND_NS / 3) <= 1,
                "{start:?}"
            );
        }
    }

    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn poisson_starts_have_exponential_gaps_and_poisson_counts() {
        let rate = 1000.0;
        let starts: Vec<Start> =
            Planned::new(rate, Arrivals::Poisson, 5, u64::MAX, 100 * SECOND_NS).collect();
        let n = starts.len() as f64;
        // The number is Poisson with mean 100,000: within five standard deviations.
        assert!((n - 1e5).abs() < 5.0 * 1e5_f64.sqrt(), "{n}");
        // Kolmogorov-Smirnov distance of the gaps to 1 - exp(-x): above 1.95 / sqrt(n) once in a thousand.
        let mut gaps: Vec<f64> = starts
            .windows(2)
            .map(|pair| (pair[1].planned_ns - pair[0].planned_ns) as f64 * rate / 1e9)
            .collect();
        gaps.sort_by(f64::total_cmp);
        let distance = gaps
            .iter()
            .enumerate()
            .map(|(i, gap)| ((1.0 - (-gap).exp()) - (i as f64 + 0.5) / gaps.len() as f64).abs())
            .fold(0.0, f64::max);
        assert!(distance < 1.95 / n.sqrt(), "{distance}");
        // Counts in bins of 10 ms have variance = mean = 10: the ratio's standard error is sqrt(2 / 10,000).
        let mut counts = vec![0.0_f64; 10_000];
        for start in &starts {
            counts[usize::try_from(start.planned_ns / 10_000_000).unwrap()] += 1.0;
        }
        let mean = n / 10_000.0;
        let variance = counts
            .iter()
            .map(|count| (count - mean).powi(2))
            .sum::<f64>()
            / 10_000.0;
        assert!(
            (variance / mean - 1.0).abs() < 5.0 * (2.0_f64 / 1e4).sqrt(),
            "{variance} {mean}"
        );
        // Gaps that follow each other are not correlated.
        let pairs: Vec<(f64, f64)> = starts
            .windows(3)
            .map(|w| {
                let gap =
                    |a: &Start, b: &Start| (b.planned_ns - a.planned_ns) as f64 * rate / 1e9 - 1.0;
                (gap(&w[0], &w[1]), gap(&w[1], &w[2]))
            })
            .collect();
        let correlation = pairs.iter().map(|(a, b)| a * b).sum::<f64>() / pairs.len() as f64;
        assert!(correlation.abs() < 5.0 / n.sqrt(), "{correlation}");
    }

    #[test]
    fn threads_take_every_start_once() {
        let rate = Rate::parse("1k/s").unwrap();
        let pace = Pace::Open {
            rate,
            arrivals: Arrivals::Poisson,
            connections: 1,
        };
        let starts = Starts::new(pace, 1, 5_000, u64::MAX);
        assert_eq!(starts.overdue(0), Overdue::default());
        let mut taken: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        std::iter::from_fn(|| starts.take(0))
                            .map(|start| start.sequence)
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap())
                .collect()
        });
        taken.sort_unstable();
        assert!(taken.into_iter().eq(0..5_000));
    }

    #[test]
    fn what_nobody_took_is_counted() {
        let pace = Pace::Open {
            rate: Rate::parse("10/s").unwrap(),
            arrivals: Arrivals::Fixed,
            connections: 1,
        };
        let starts = Starts::new(pace, 1, u64::MAX, 10 * SECOND_NS);
        starts.take(0);
        // 0.1, 0.2, ... 0.9 s.
        let overdue = starts.overdue(SECOND_NS);
        assert_eq!((overdue.count, overdue.first_ns), (9, Some(SECOND_NS / 10)));
        assert_eq!(starts.overdue(u64::MAX).count, 99);
    }

    #[test]
    fn a_closed_loop_ends_with_its_count_or_its_time() {
        let pace = Pace::Closed { clients: 1 };
        let starts = Starts::new(pace, 1, 2, SECOND_NS);
        assert!(starts.take(5).is_some_and(|start| start.planned_ns == 5));
        assert!(starts.take(SECOND_NS).is_none());
        assert!(starts.take(6).is_some());
        assert!(starts.take(7).is_none());
    }
}
