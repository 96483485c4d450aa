//! A clearer event is no worse evidence: something takes some minutes once a week, from a random moment of a window on, as
//! a timer with `RandomizedDelaySec=` does it, and is larger and larger.
use crate::testing::{DAY_US, HOUR_US, START_US, cron, noise, only, series, timer};
use explain::JobRuns;
use explain::verdict::{Cycle, Level, Verdict};
use facts::series::Series;
use jiff::Timestamp;
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use std::fmt::Write as _;

const MINUTE_US: i64 = HOUR_US / 60;
const WEEK_US: i64 = 7 * DAY_US;
const FACTORS: [f64; 7] = [2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0];
const SEEDS: std::ops::Range<u64> = 1..13;

/// What happens in one series.
struct Weekly {
    seed: u64,
    weeks: i64,
    gap_us: i64,
    /// The window of each week in which it starts: from here on, and so long.
    due_us: i64,
    delay_us: i64,
    /// When it really starts, and how long it takes.
    events: Vec<(i64, i64)>,
}

impl Weekly {
    fn new(seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed * 7_919);
        let mut below = |count: i64| (random.next_u64() >> 1) as i64 % count;
        let gap_us = [5, 5, 10, 15][below(4) as usize] * MINUTE_US;
        let (weeks, delay_us) = (8 + below(5), 100 * MINUTE_US);
        let due_us = below(7) * DAY_US + [0, 0, 3, 21][below(4) as usize] * HOUR_US;
        let events = (0..weeks)
            .map(|week| {
                let start = START_US + week * WEEK_US + due_us + below(delay_us);
                (start, 20 * MINUTE_US + below(20 * MINUTE_US))
            })
            .collect();
        Self {
            seed,
            weeks,
            gap_us,
            due_us,
            delay_us,
            events,
        }
    }

    /// Two humps of load by day, noise in proportion that remembers, and now and then one sample that is twice as high.
    fn series(&self, factor: f64) -> Series {
        let times_us: Vec<i64> = (1..self.weeks * WEEK_US / self.gap_us)
            .map(|at| START_US + at * self.gap_us)
            .collect();
        let wild = noise(times_us.len(), self.seed + 500);
        let mut left = 0.0;
        let values = (times_us
            .iter()
            .zip(noise(times_us.len(), self.seed))
            .zip(wild))
        .map(|((&at, noise), wild)| {
            left = 0.6 * left + 0.05 * noise;
            let hour = (at - START_US).rem_euclid(DAY_US) as f64 / HOUR_US as f64;
            let hump = |middle: f64| (-((hour - middle) / 3.0).powi(2)).exp();
            let load = 40.0 * (1.0 + 0.3 * hump(10.5) + 0.25 * hump(16.0));
            let busy = |&(start, len): &(i64, i64)| {
                (at.min(start + len) - start.max(at - self.gap_us)).max(0)
            };
            let busy: i64 = self.events.iter().map(busy).sum();
            let more = (factor - 1.0) * busy as f64 / self.gap_us as f64;
            let outlier = if wild > 3.6 { 1.0 } else { 0.0 };
            load * left.exp() * (1.0 + more + outlier)
        })
        .collect();
        series(times_us, values)
    }

    /// The timer that does it.
    fn timer(&self) -> JobRuns {
        let due = |week: i64| START_US + week * WEEK_US + self.due_us;
        timer("trim.timer", (-1..=self.weeks).map(due), self.delay_us)
    }

    /// Whether an answer says that something recurs every week when it does.
    fn is_in(&self, verdict: &Verdict) -> bool {
        let (Some(Cycle::Week), Some(phase)) = (verdict.cycle, verdict.phase.as_ref()) else {
            return false;
        };
        let after = |at: Timestamp| at.as_microsecond() - START_US - self.due_us;
        let (from, len) = (
            after(phase.from).rem_euclid(WEEK_US),
            after(phase.to) - after(phase.from),
        );
        let from = if from > WEEK_US / 2 {
            from - WEEK_US
        } else {
            from
        };
        // While it goes on: the longer ones overlap at the same time.
        let last = self.delay_us + 40 * MINUTE_US;
        from + len >= -self.gap_us && from <= last + self.gap_us
    }
}

/// Answers to all sizes of each series, each as good as `quality` says: none may be worse than one to a smaller size.
fn swept(
    jobs: impl Fn(&Weekly, &Series) -> Vec<JobRuns> + Sync,
    quality: impl Fn(&Weekly, &Verdict) -> u8 + Sync,
) -> Vec<u8> {
    let of_seed = |seed: u64| {
        let weekly = Weekly::new(seed);
        let (mut least, mut told) = (0, String::new());
        for factor in FACTORS {
            let made = weekly.series(factor);
            let jobs = jobs(&weekly, &made);
            let verdict = only(made, &jobs);
            let now = quality(&weekly, &verdict);
            writeln!(told, "seed {seed}, x {factor}: {now}, {}", verdict.sentence).expect("text");
            assert!(now >= least, "worse than before:\n{told}");
            assert!(!verdict.sentence.contains("drop"), "{told}");
            least = now.max(least);
        }
        least
    };
    SEEDS.into_par_iter().map(of_seed).collect()
}

#[test]
fn what_no_list_has_is_found_however_large() {
    let others = |_: &Weekly, made: &Series| vec![cron("logrotate", "0 0 * * *", made)];
    let found = swept(others, |weekly, verdict| u8::from(weekly.is_in(verdict)));
    assert_eq!(found, [1; 12]);
}

#[test]
fn a_listed_timer_is_named_however_large_its_effect() {
    let with = |weekly: &Weekly, made: &Series| {
        vec![
            weekly.timer(),
            cron("logrotate", "0 0 * * *", made),
            cron("weekly", "47 6 * * 7", made),
        ]
    };
    let named = swept(with, |weekly, verdict| {
        let is_named =
            verdict.level == Some(Level::Named) && verdict.classes[0].jobs == ["trim.timer"];
        u8::from(weekly.is_in(verdict)) + u8::from(is_named)
    });
    assert_eq!(named, [2; 12]);
}
