//! Jobs that start at the same time.

use crate::run::Run;
use facts::host::Job;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Maximum number of distinct groups of jobs.
pub const GROUPS_MAX: usize = 1_000;

/// Maximum number of runs examined in total, counting each time a group meets. Bounds the time
/// spent on hostile input.
const COMPARED_MAX: usize = 5_000_000;

/// A group of jobs that may repeatedly all start within the slack of each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Collision {
    /// Indices into the given jobs, ascending; at least two.
    pub jobs: Vec<usize>,
    /// How often they meet within the given runs.
    pub times: usize,
    /// How often they certainly meet, regardless of random delays.
    pub times_certain: usize,
    /// Start of the first meeting: none of its runs starts earlier.
    pub earliest: Timestamp,
    /// End of the first meeting: none of its runs starts later.
    pub latest: Timestamp,
}

impl Collision {
    /// Whether they certainly meet at least once.
    pub fn is_certain(&self) -> bool {
        self.times_certain > 0
    }
}

/// The result of [`collisions`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Collisions {
    /// Each group once, the largest and most frequent first.
    pub groups: Vec<Collision>,
    /// Runs starting later were not compared, because there would have been more than
    /// [`GROUPS_MAX`] groups or too many concurrent runs.
    pub truncated_at: Option<Timestamp>,
}

/// Finds the groups of jobs whose runs meet: one may start while the other is running (if its duration
/// is known) or within `slack_s` seconds of its start or end.
///
/// Groups are maximal: jobs that meet in threes are not also listed in pairs, unless two of them
/// also meet without the third. Runs of the same job do not collide. Sorts the runs and sweeps over
/// them once; in addition, each meeting takes time proportional to the size of the group, which is
/// bounded.
pub fn collisions(jobs: &[(&Job, Vec<Run>)], slack_s: f64) -> Collisions {
    let mut spans: Vec<ActiveSpan> = jobs
        .iter()
        .enumerate()
        .flat_map(|(job, (_, runs))| {
            runs.iter()
                .map(move |run| ActiveSpan::of(job, run, slack_s))
        })
        .collect();
    spans.sort_unstable_by_key(|span| (span.earliest_us, span.end_us, span.job));
    let mut sweep = Sweep {
        spans: &spans,
        slack_us: micros(slack_s),
        by_end: BTreeSet::new(),
        runs_per_job: BTreeMap::new(),
        grew: false,
        groups: HashMap::new(),
        compared: 0,
    };
    let stopped_at = (0..spans.len()).find(|&index| !sweep.start(index));
    if stopped_at.is_none() {
        sweep.close_group();
    }
    let mut groups: Vec<Collision> = sweep.groups.into_values().map(|(found, _)| found).collect();
    groups.sort_unstable_by(|a, b| {
        (b.jobs.len().cmp(&a.jobs.len()))
            .then(b.times.cmp(&a.times))
            .then(a.jobs.cmp(&b.jobs))
    });
    Collisions {
        groups,
        truncated_at: stopped_at
            .and_then(|index| Timestamp::from_microsecond(spans[index].earliest_us).ok()),
    }
}

/// A run and the time span in which it can meet others.
#[derive(Debug, Clone, Copy)]
struct ActiveSpan {
    job: usize,
    earliest_us: i64,
    latest_us: i64,
    /// The latest start plus duration and slack.
    end_us: i64,
}

impl ActiveSpan {
    fn of(job: usize, run: &Run, slack_s: f64) -> Self {
        let latest_us = run.latest.as_microsecond();
        let after_us = micros(run.len_s.unwrap_or(0.0)).saturating_add(micros(slack_s));
        Self {
            job,
            earliest_us: run.earliest.as_microsecond(),
            latest_us,
            end_us: latest_us.saturating_add(after_us),
        }
    }
}

/// Converts seconds to microseconds; negative values and NaN become 0.
fn micros(span_s: f64) -> i64 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "`as` saturates, which is what an endless span means here"
    )]
    let micros = (span_s.max(0.0) * 1e6) as i64;
    micros
}

/// Sweeps over the runs by earliest start.
struct Sweep<'a> {
    spans: &'a [ActiveSpan],
    slack_us: i64,
    /// Runs active at the current time, sorted by end.
    by_end: BTreeSet<(i64, usize)>,
    /// Number of active runs per job.
    runs_per_job: BTreeMap<usize, usize>,
    /// Whether a run was added since the last group was closed.
    grew: bool,
    /// Each group with the index of the latest run when it was last counted.
    groups: HashMap<Vec<usize>, (Collision, usize)>,
    /// Number of runs examined to close groups.
    compared: usize,
}

impl Sweep<'_> {
    /// Adds a run; returns `false` if that would exceed a limit.
    fn start(&mut self, index: usize) -> bool {
        let span = self.spans[index];
        // Runs that end before this one starts meet no more runs. The first one removed closes a
        // group.
        while let Some(&(end_us, ended)) = self.by_end.first() {
            if end_us >= span.earliest_us {
                break;
            }
            if self.grew && !self.close_group() {
                return false;
            }
            self.by_end.remove(&(end_us, ended));
            let job = self.spans[ended].job;
            if let Some(runs) = self.runs_per_job.get_mut(&job) {
                *runs -= 1;
                if *runs == 0 {
                    self.runs_per_job.remove(&job);
                }
            }
        }
        self.by_end.insert((span.end_us, index));
        *self.runs_per_job.entry(span.job).or_insert(0) += 1;
        self.grew = true;
        true
    }

    /// Records the active runs if they belong to different jobs; returns `false` if that would
    /// exceed a limit.
    fn close_group(&mut self) -> bool {
        self.grew = false;
        if self.runs_per_job.len() < 2 {
            return true;
        }
        self.compared += self.by_end.len();
        if self.compared > COMPARED_MAX {
            return false;
        }
        let (mut earliest_us, mut latest_us) = (i64::MAX, i64::MIN);
        let mut last_runs: BTreeMap<usize, usize> = BTreeMap::new();
        for &(_, index) in &self.by_end {
            let span = self.spans[index];
            earliest_us = earliest_us.min(span.earliest_us);
            latest_us = latest_us.max(span.latest_us);
            let last = last_runs.entry(span.job).or_insert(index);
            *last = index.max(*last);
        }
        let certain = usize::from(latest_us.saturating_sub(earliest_us) <= self.slack_us);
        let last_index = last_runs.values().copied().max().unwrap_or(0);
        let jobs: Vec<usize> = last_runs.keys().copied().collect();
        if let Some((known, counted_at)) = self.groups.get_mut(&jobs) {
            // They meet again only once each of them has started again.
            if last_runs.values().all(|index| *index > *counted_at) {
                known.times += 1;
                known.times_certain += certain;
                *counted_at = last_index;
            }
            return true;
        }
        if self.groups.len() == GROUPS_MAX {
            return false;
        }
        if let (Ok(earliest), Ok(latest)) = (
            Timestamp::from_microsecond(earliest_us),
            Timestamp::from_microsecond(latest_us),
        ) {
            let found = Collision {
                jobs: jobs.clone(),
                times: 1,
                times_certain: certain,
                earliest,
                latest,
            };
            self.groups.insert(jobs, (found, last_index));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::tests::{cron_job, timer_job};
    use crate::{Conditions, Delays, Seen, parse_zone, runs};
    use proptest::prelude::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    fn run(earliest_s: i64, wide_s: i64) -> Run {
        Run {
            job: "job".to_owned(),
            earliest: Timestamp::from_second(earliest_s).expect("in range"),
            latest: Timestamp::from_second(earliest_s + wide_s).expect("in range"),
            delays: Delays::Either,
            len_s: None,
            seen: Seen::Computed,
            evidence: "".into(),
        }
    }

    fn five_weeks(jobs: &[Job]) -> Vec<(&Job, Vec<Run>)> {
        let zone = parse_zone("Europe/Berlin").expect("known");
        let (from, until) = (at("2024-06-01T00:00:00Z"), at("2024-07-06T00:00:00Z"));
        jobs.iter()
            .map(|job| {
                let conditions = Conditions::in_zone(&zone);
                (
                    job,
                    runs(job, from, until, &conditions).expect("readable").runs,
                )
            })
            .collect()
    }

    /// Whether two runs meet.
    fn overlaps(a: &Run, b: &Run, slack_s: f64) -> bool {
        let (a, b) = (ActiveSpan::of(0, a, slack_s), ActiveSpan::of(1, b, slack_s));
        a.earliest_us <= b.end_us && b.earliest_us <= a.end_us
    }

    #[test]
    fn overlap_is_within_the_slack_and_the_length() {
        assert!(overlaps(&run(0, 0), &run(60, 0), 60.0));
        assert!(overlaps(&run(60, 0), &run(0, 0), 60.0));
        assert!(!overlaps(&run(0, 0), &run(61, 0), 60.0));
        assert!(overlaps(&run(0, 100), &run(60, 0), 0.0));
        let mut long = run(0, 0);
        long.len_s = Some(3_600.0);
        assert!(overlaps(&long, &run(3_600, 0), 0.0));
        assert!(!overlaps(&long, &run(3_601, 0), 0.0));
        assert!(!overlaps(&run(0, 0), &run(1, 0), f64::NAN));
    }

    #[test]
    fn a_weekly_trim_meets_a_monthly_backup_once() {
        // Sundays in these weeks: 2, 9, 16, 23 and 30 June. The backup is on the 2nd of the month.
        let jobs = [
            cron_job("trim", "0 3 * * 0"),
            cron_job("backup", "5 3 2 * *"),
            cron_job("other", "0 12 * * *"),
        ];
        let found = collisions(&five_weeks(&jobs), 600.0);
        assert_eq!(
            found.groups,
            [Collision {
                jobs: vec![0, 1],
                times: 1,
                times_certain: 1,
                earliest: at("2024-06-02T01:00:00Z"),
                latest: at("2024-06-02T01:05:00Z"),
            }]
        );
        assert!(found.groups[0].is_certain());
        assert!(collisions(&five_weeks(&jobs), 240.0).groups.is_empty());
    }

    #[test]
    fn groups_of_three_are_not_also_listed_as_pairs() {
        // Daily, on Sundays, and on the 2nd, which is a Sunday in June and a Tuesday in July.
        let jobs = [
            cron_job("daily", "0 3 * * *"),
            cron_job("weekly", "0 3 * * 0"),
            cron_job("monthly", "0 3 2 * *"),
        ];
        let found = collisions(&five_weeks(&jobs), 0.0);
        let reported: Vec<_> = found
            .groups
            .iter()
            .map(|g| (g.jobs.clone(), g.times))
            .collect();
        assert_eq!(
            reported,
            [(vec![0, 1, 2], 1), (vec![0, 1], 4), (vec![0, 2], 1)]
        );
        assert_eq!(found.truncated_at, None);
    }

    #[test]
    fn random_delays_make_it_possible_and_not_certain() {
        let jobs = [
            timer_job("fstrim.timer", "weekly", 6_000.0),
            cron_job("backup", "30 0 * * 1"),
        ];
        let found = collisions(&five_weeks(&jobs), 60.0);
        assert_eq!(found.groups.len(), 1);
        // Mondays: 3, 10, 17, 24 June and 1 July.
        assert_eq!(
            (found.groups[0].times, found.groups[0].times_certain),
            (5, 0)
        );
    }

    #[test]
    fn a_run_is_counted_once_against_a_frequent_job() {
        let jobs = [
            cron_job("often", "* * * * *"),
            cron_job("daily", "0 3 * * *"),
        ];
        let mut runs = five_weeks(&jobs);
        let end = at("2024-06-03T00:00:00Z");
        for (_, runs) in &mut runs {
            runs.retain(|run| run.earliest < end);
        }
        let found = collisions(&runs, 120.0);
        assert_eq!(found.groups.len(), 1);
        assert_eq!(found.groups[0].times, 2, "on 1 and 2 June");
    }

    #[test]
    fn too_many_groups_are_truncated() {
        // Two jobs every minute, never the same pair.
        let name = |index: i64| index.to_string();
        let jobs: Vec<Job> = (0..2_200)
            .map(|index| cron_job(&name(index), "@daily"))
            .collect();
        let pairs: Vec<(&Job, Vec<Run>)> = (0..)
            .zip(&jobs)
            .map(|(index, job)| (job, vec![run(index / 2 * 600, 0)]))
            .collect();
        let found = collisions(&pairs, 0.0);
        assert_eq!(found.groups.len(), GROUPS_MAX);
        // Pair number 1000 exceeds the limit; this is noticed when the next one starts.
        assert_eq!(found.truncated_at, Timestamp::from_second(1_001 * 600).ok());
    }

    proptest! {
        /// Any two jobs that meet are in a group together, and no others are.
        #[test]
        fn groups_match_pairwise_overlaps(
            starts in proptest::collection::vec(
                proptest::collection::vec((0i64..500, 0i64..20), 0..6), 2..7),
            slack_s in 0u8..30,
        ) {
            let slack_s = f64::from(slack_s);
            let jobs: Vec<Job> = starts.iter().map(|_| cron_job("job", "@daily")).collect();
            let pairs: Vec<(&Job, Vec<Run>)> = jobs
                .iter()
                .zip(&starts)
                .map(|(job, starts)| (job, starts.iter().map(|&(at, wide)| run(at, wide)).collect()))
                .collect();
            let found = collisions(&pairs, slack_s);
            prop_assert_eq!(found.truncated_at, None);
            for a in 0..jobs.len() {
                for b in a + 1..jobs.len() {
                    let meet = pairs[a].1.iter().any(|x| pairs[b].1.iter().any(|y| overlaps(x, y, slack_s)));
                    let reported = found.groups.iter().any(|g| g.jobs.contains(&a) && g.jobs.contains(&b));
                    prop_assert_eq!(meet, reported, "{} and {}", a, b);
                }
            }
        }
    }
}
