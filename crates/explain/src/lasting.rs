//! What stays: changes of level and slope, patterns that begin or end, and what happened beside them.

use crate::JobRuns;
use crate::analyse::RUNS_MIN;
use crate::change::{ChangeOptions, ChangePoint, Segment, Segments, segments};
use crate::compose::moment;
use crate::found::{Found, Samples, is_wave};
use crate::numbers::as_i64;
use crate::phrases;
use crate::verdict::{Change, ChangeKind, Kind, Verdict};
use crate::words::Scene;
use schedule::{Run, Seen, rhythm_changes};

/// A series, without what recurs in it, as stretches.
pub(crate) struct Lasting {
    /// Where one ends and the next begins.
    pub changes: Vec<ChangePoint>,
    stretches: Vec<Segment>,
}

impl Lasting {
    /// Looks for changes in what is left without the patterns.
    pub fn new(times_us: &[i64], values: &[f64]) -> Self {
        let Segments {
            changes, segments, ..
        } = segments(times_us, values, &ChangeOptions::default());
        Self {
            changes,
            stretches: segments,
        }
    }

    /// The values without their changes: each stretch's own line is taken off.
    pub fn without(&self, times_us: &[i64], values: &[f64]) -> Vec<f64> {
        let mut level = values.to_vec();
        for stretch in &self.stretches {
            for i in stretch.from..stretch.to {
                level[i] -= stretch.at(times_us[i]);
            }
        }
        level
    }

    /// The slope, in units a day, where one line explains it all.
    pub fn trend_per_day(&self) -> Option<f64> {
        match self.stretches[..] {
            [only] => Some(only.slope_per_day).filter(|slope| *slope != 0.0),
            _ => None,
        }
    }

    /// Puts it into a verdict on the pattern `main`.
    pub fn tell(
        &self,
        verdict: &mut Verdict,
        main: Option<&Found>,
        samples: &Samples,
        jobs: &[JobRuns],
        scene: &Scene,
    ) {
        let happened = happened(jobs, &samples.times_us);
        let times = &samples.times_us;
        let lasting: Vec<Change> = self
            .changes
            .iter()
            .map(|change| {
                let (from, to) = (times[change.index.saturating_sub(1)], times[change.index]);
                Change {
                    from: moment(from),
                    to: moment(to),
                    what: change.kind,
                    level_before: Some(change.level_before),
                    level_after: Some(change.level_after),
                    slope_before_per_day: Some(change.slope_before_per_day),
                    slope_after_per_day: Some(change.slope_after_per_day),
                    provisional: change.provisional,
                    beside: beside((from, to), 2 * samples.gap_us, &happened),
                }
            })
            .collect();
        let ends = main.map_or(Vec::new(), |found| ends(verdict, found, samples, &happened));
        verdict.trend_per_day = self.trend_per_day();
        let is_load = verdict.kind == Kind::Unattributed && main.is_some_and(is_wave);
        if (verdict.kind == Kind::None || is_load) && !lasting.is_empty() {
            let load = is_load.then(|| std::mem::take(&mut verdict.sentence));
            verdict.kind = Kind::Change;
            verdict.sentence = scene.changed(&lasting);
            if let Some(load) = load {
                verdict.sentence.push_str(" Besides, ");
                verdict.sentence.push_str(&load);
            }
        } else {
            verdict.sentence.push_str(&Scene::bounds(&ends));
        }
        if let (Kind::None, Some(slope), [only], Some(&first), Some(&last)) = (
            verdict.kind,
            verdict.trend_per_day,
            &self.stretches[..],
            times.first(),
            times.last(),
        ) {
            let trend = scene.trend(slope, only.at(first), only.at(last));
            verdict.sentence.push_str(&trend);
        }
        verdict.changes = lasting;
        verdict.changes.extend(ends);
        verdict.changes.sort_by_key(|change| change.from);
    }
}

/// Where a pattern begins or ends within the samples.
fn ends(
    verdict: &Verdict,
    found: &Found,
    samples: &Samples,
    happened: &[(i64, String)],
) -> Vec<Change> {
    let period_us = as_i64(found.pattern.clock.period_us());
    let (first, last) = found.pattern.on_us;
    let begins = (found.on.start > 0).then_some((first, ChangeKind::PatternBegins));
    let ends = verdict
        .until
        .is_some()
        .then_some((last, ChangeKind::PatternEnds));
    begins
        .into_iter()
        .chain(ends)
        .map(|(wall_us, what)| {
            let at = samples.wall.moment(wall_us);
            let (from, to) = (at - period_us / 2, at + period_us / 2);
            Change {
                from: moment(from),
                to: moment(to),
                what,
                level_before: None,
                level_after: None,
                slope_before_per_day: None,
                slope_after_per_day: None,
                provisional: false,
                beside: beside((from, to), period_us, happened),
            }
        })
        .collect()
}

/// When jobs began to run much more often, or much less, and in which words. Runs that were seen
/// are not compared with computed ones: today's schedule says nothing of yesterday's.
fn happened(jobs: &[JobRuns], times_us: &[i64]) -> Vec<(i64, String)> {
    let (Some(&first), Some(&last)) = (times_us.first(), times_us.last()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for job in jobs {
        let alike = |a: &Run, b: &Run| (a.seen == Seen::Computed) == (b.seen == Seen::Computed);
        for runs in job.runs.chunk_by(alike) {
            for change in rhythm_changes(runs) {
                let at = change.first_after.as_microsecond();
                if (first..=last).contains(&at) {
                    found.push((
                        at,
                        format!(
                            "{} runs {} instead of {}",
                            job.name,
                            phrases::every(None, change.after_s),
                            phrases::every(None, change.before_s)
                        ),
                    ));
                }
            }
        }
        // Single runs of jobs that hardly ever run: deployments, upgrades.
        if job.runs.len() < RUNS_MIN {
            found.extend(
                job.runs
                    .iter()
                    .map(|run| (run.earliest.as_microsecond(), format!("{} ran", job.name))),
            );
        }
    }
    found
}

/// What happened between two moments, or within `reach_us` of them.
fn beside(
    (from_us, to_us): (i64, i64),
    reach_us: i64,
    happened: &[(i64, String)],
) -> Option<String> {
    let near = |at: i64| at >= from_us - reach_us && at <= to_us + reach_us;
    let middle = from_us + (to_us - from_us) / 2;
    happened
        .iter()
        .filter(|(at, _)| near(*at))
        .min_by_key(|(at, _)| (at - middle).abs())
        .map(|(_, what)| what.clone())
}
