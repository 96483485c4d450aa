//! Compares sets of trials, metric by metric.

use super::arrangement::{Arrangement, PAIRS_MIN, Place, arrangement, days_between, places};
use super::batch_means::mean;
use super::comparison::{Comparison, Interval, NotCompared, Report, Shows, Verdict};
use super::drift::{Drift, Ordered};
use super::environment::environment_differences;
use super::error::CompareError;
use super::family::levels;
use super::options::Options;
use super::power::{Demand, pairs_needed};
use super::shift::{Design, LogValue, Shift, binomial};
use super::single::{RUN_TO_RUN_SDS, TYPICAL_WITHIN_ERROR, single_run_false_share};
use super::trial::{Metric, MetricKey, Rank, TrialSet};
use super::within::{TrialValue, trial_value};
use crate::random::Random;
use facts::series::Better;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use units::escape;

/// Logarithms of ratios beyond this are shown as this, e^±700, which f64 holds.
const LOG_MAX: f64 = 700.0;
/// From here on, what the order of trials costs is told even if neither set ran after the other.
const WIDENING_TOLD: f64 = 1.1;

/// Compares each set after the first, the baseline, with it.
///
/// # Errors
/// When there are fewer than two sets, a set has no trials, both sets of a comparison have a single one, a trial
/// was given twice, an option makes no sense, or no metric can be compared.
pub fn compare(sets: &[TrialSet], options: &Options) -> Result<Report, CompareError> {
    options.check()?;
    let [baseline, contenders @ ..] = sets else {
        return Err(CompareError::TooFewSets { found: 0 });
    };
    if contenders.is_empty() {
        return Err(CompareError::TooFewSets { found: 1 });
    }
    if let Some(empty) = sets.iter().find(|set| set.trials.is_empty()) {
        return Err(CompareError::NoTrials {
            set: empty.name.clone(),
        });
    }
    same_trials(sets)?;
    if baseline.trials.len() == 1
        && let Some(contender) = contenders.iter().find(|set| set.trials.len() == 1)
    {
        return Err(one_against_one(baseline, contender, options));
    }

    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    let mut pairs = Vec::new();
    for (index, contender) in contenders.iter().enumerate() {
        let places = places(&baseline.trials, &contender.trials);
        let pair = Pair {
            baseline,
            contender,
            arrangement: arrangement(places.as_deref()),
            places,
            all: options.pools_spread.then_some(sets),
            seed: options.seed ^ (index as u64) << 48,
        };
        let keys = pair.keys();
        let outcomes: Vec<Result<Shifted, Unfit>> = keys
            .par_iter()
            .enumerate()
            .map(|(number, (_, key))| pair.shift(key, number as u64, options.alpha))
            .collect();
        for ((rank, key), outcome) in keys.into_iter().zip(outcomes) {
            match outcome {
                Ok(shifted) => found.push((contender, key, shifted)),
                Err(Unfit { shows, reason }) => skipped.push(NotCompared {
                    contender: contender.name.clone(),
                    operation: key.operation.clone(),
                    metric: key.metric.clone(),
                    rank,
                    shows,
                    reason,
                }),
            }
        }
        pairs.push(pair);
    }
    if found.is_empty() {
        let reason = skipped.first().map_or_else(
            || "the sets have none in common".to_owned(),
            |first: &NotCompared| {
                format!(
                    "{} of {}: {} ({} in all)",
                    escape(&first.metric),
                    escape(&first.operation),
                    first.reason,
                    units::count(skipped.len(), "metric")
                )
            },
        );
        return Err(CompareError::NothingInCommon { reason });
    }
    let comparisons = judge(found, options);
    let orders = pairs
        .iter()
        .filter_map(|pair| pair.order_note(&comparisons));
    let notes = orders.chain(trial_notes(sets)).collect();
    Ok(Report {
        baseline: baseline.name.clone(),
        comparisons,
        skipped,
        environment: environment_differences(sets),
        notes,
    })
}

/// Judges the metrics of each rank as one family.
fn judge(found: Vec<(&TrialSet, &MetricKey, Shifted)>, options: &Options) -> Vec<Comparison> {
    let mut level_of = vec![options.alpha; found.len()];
    for rank in [Rank::Primary, Rank::Secondary] {
        let (places, ps): (Vec<usize>, Vec<f64>) = found
            .iter()
            .enumerate()
            .filter(|(_, (_, _, shifted))| shifted.metric.rank == rank)
            .map(|(place, (_, _, shifted))| (place, shifted.shift.p()))
            .unzip();
        for (place, level) in places.into_iter().zip(levels(&ps, options.alpha)) {
            level_of[place] = level;
        }
    }
    found
        .into_par_iter()
        .zip(level_of)
        .map(|((contender, key, shifted), level)| {
            shifted.comparison(&contender.name, key, level, options)
        })
        .collect()
}

/// A baseline, a contender, and how their trials ran.
struct Pair<'t> {
    baseline: &'t TrialSet,
    contender: &'t TrialSet,
    /// All trials in the order of time, if it is known.
    places: Option<Vec<Place>>,
    arrangement: Arrangement,
    /// All sets, if they are taken to spread alike.
    all: Option<&'t [TrialSet]>,
    seed: u64,
}

/// The shift of one metric, and what is needed to show it.
struct Shifted<'t> {
    metric: &'t Metric,
    shift: Shift,
    baseline_log: f64,
    contender_log: f64,
    within_run_error: Option<f64>,
}

/// Why a metric has no ratio.
struct Unfit {
    shows: Shows,
    reason: String,
}

impl From<String> for Unfit {
    fn from(reason: String) -> Self {
        Self {
            shows: Shows::Nothing,
            reason,
        }
    }
}

impl<'t> Pair<'t> {
    /// Returns the keys of all metrics, primary ones first.
    fn keys(&self) -> Vec<(Rank, &'t MetricKey)> {
        let mut ranks: BTreeMap<&MetricKey, Rank> = BTreeMap::new();
        for trial in self.baseline.trials.iter().chain(&self.contender.trials) {
            for (key, metric) in &trial.metrics {
                let rank = ranks.entry(key).or_insert(metric.rank);
                *rank = (*rank).min(metric.rank);
            }
        }
        let keys: BTreeSet<(Rank, &MetricKey)> =
            ranks.into_iter().map(|(key, rank)| (rank, key)).collect();
        keys.into_iter().collect()
    }

    /// Returns the shift of a metric, or why there is none.
    fn shift(&self, key: &MetricKey, number: u64, alpha: f64) -> Result<Shifted<'t>, Unfit> {
        let (of_a, of_b) = (metrics(self.baseline, key), metrics(self.contender, key));
        let (Some((_, first)), Some(_)) = (of_a.first(), of_b.first()) else {
            let (has, lacks) = if of_a.is_empty() {
                (self.contender, self.baseline)
            } else {
                (self.baseline, self.contender)
            };
            let (has, lacks) = (escape(&has.name), escape(&lacks.name));
            return Err(format!("only {has} has it, {lacks} does not").into());
        };
        if let Some((_, other)) = of_a
            .iter()
            .chain(&of_b)
            .find(|(_, metric)| metric.unit != first.unit || metric.better != first.better)
        {
            let unit = |metric: &Metric| {
                metric
                    .unit
                    .as_deref()
                    .map_or_else(|| "no unit".to_owned(), |unit| escape(unit).into_owned())
            };
            return Err(format!(
                "trials disagree on its unit or on what is better: {} and {}",
                unit(first),
                unit(other)
            )
            .into());
        }
        let a = self.values(&of_a, self.baseline, number << 24)?;
        let b = self.values(&of_b, self.contender, (number << 24) | (1 << 23))?;
        let (logs_a, logs_b) = positive(&a)
            .zip(positive(&b))
            .ok_or_else(|| without_ratio(&a, &b, first.better, alpha))?;
        let logs = |set: &BTreeMap<usize, LogValue>| set.values().copied().collect::<Vec<_>>();
        let mut shift = match self.all {
            Some(sets) => {
                let all = self.logs_of_all(sets, key, number);
                Shift::of_pooled(&logs(&logs_a), &logs(&logs_b), &all)
            }
            None => self
                .paired(&logs_a, &logs_b)
                .or_else(|| Shift::of_sets(&logs(&logs_a), &logs(&logs_b))),
        };
        if let Some(shift) = &mut shift
            && shift.design != Design::Pairs
        {
            shift.drift = self.drift(&logs_a, &logs_b);
        }
        let log = |set: &BTreeMap<usize, LogValue>| {
            let logs: Vec<f64> = set.values().map(|value| value.log).collect();
            mean(&logs).unwrap_or(0.0)
        };
        let squares: Vec<f64> = a
            .values()
            .chain(b.values())
            .filter_map(|value| value.within_error.filter(|error| error.is_finite()))
            .map(|error| error * error)
            .collect();
        Ok(Shifted {
            metric: first,
            shift: shift
                .ok_or_else(|| "one trial of each set has it, which shows nothing".to_owned())?,
            baseline_log: log(&logs_a),
            contender_log: log(&logs_b),
            within_run_error: mean(&squares).map(f64::sqrt),
        })
    }

    /// The logarithms of a metric's values in every set that has it.
    fn logs_of_all(&self, sets: &[TrialSet], key: &MetricKey, number: u64) -> Vec<Vec<LogValue>> {
        let of_set = |set: &TrialSet| {
            let values = self.values(&metrics(set, key), set, number << 24).ok()?;
            Some(positive(&values)?.into_values().collect())
        };
        sets.iter().filter_map(of_set).collect()
    }

    fn values(
        &self,
        metrics: &[(usize, &Metric)],
        set: &TrialSet,
        number: u64,
    ) -> Result<BTreeMap<usize, TrialValue>, String> {
        metrics
            .iter()
            .map(|(index, metric)| {
                let mut random = Random::numbered(self.seed, number + *index as u64 + 1);
                trial_value(&metric.observations, &mut random)
                    .map(|value| (*index, value))
                    .map_err(|why| format!("{}: {why}", escape(&set.trials[*index].name)))
            })
            .collect()
    }

    /// Compares in pairs, if the trials ran so and no trial lacks the metric.
    fn paired(
        &self,
        baseline: &BTreeMap<usize, LogValue>,
        contender: &BTreeMap<usize, LogValue>,
    ) -> Option<Shift> {
        let Arrangement::Pairs(pairs) = &self.arrangement else {
            return None;
        };
        let values: Option<Vec<(LogValue, LogValue)>> = pairs
            .iter()
            .map(|(a, b)| Some((*baseline.get(a)?, *contender.get(b)?)))
            .collect();
        Shift::of_pairs(&values?)
    }

    /// Returns the drift that the trials which have a metric allow.
    fn drift(
        &self,
        baseline: &BTreeMap<usize, LogValue>,
        contender: &BTreeMap<usize, LogValue>,
    ) -> Drift {
        let ordered = |place: &Place| {
            let set = if place.is_contender {
                contender
            } else {
                baseline
            };
            Some(Ordered {
                started_us: place.started_us,
                is_contender: place.is_contender,
                log: set.get(&place.index)?.log,
            })
        };
        let places = self.places.iter().flatten();
        Drift::of(&places.filter_map(ordered).collect::<Vec<_>>())
    }

    /// Returns what the order of the trials leaves open, and the remedy. One trial against many is what a night is
    /// compared by, and needs none.
    fn order_note(&self, comparisons: &[Comparison]) -> Option<String> {
        let (one, other) = (self.baseline, self.contender);
        if one.trials.len().min(other.trials.len()) == 1 {
            return None;
        }
        let sets = format!("{} and {}", escape(&one.name), escape(&other.name));
        match self.arrangement {
            Arrangement::Pairs(_) => None,
            Arrangement::Unknown => Some(format!(
                "it is not known in which order the trials of {sets} ran: if one set ran after the other, drift of \
                 the machine looks like a difference between them; run them in turns (A B B A)"
            )),
            Arrangement::Sequential | Arrangement::Mixed => {
                let widest = comparisons
                    .iter()
                    .filter(|comparison| comparison.contender == other.name)
                    .map(|comparison| comparison.widening)
                    .fold(1.0, f64::max);
                let is_sequential = self.arrangement == Arrangement::Sequential;
                (is_sequential || widest > WIDENING_TOLD).then(|| {
                    format!(
                        "run {sets} in turns (A B B A): {} ran after the other, and drift of the machine looks like \
                         a difference between them; intervals allow for it and are up to {widest:.1} times as wide{}",
                        if is_sequential { "one" } else { "much of one" },
                        self.days_note()
                    )
                })
            }
        }
    }

    /// What no interval allows for: that the days differ.
    fn days_note(&self) -> String {
        let between = self.places.as_deref().and_then(days_between);
        between.map_or_else(String::new, |gap_us| {
            let gap = Duration::from_micros(gap_us.unsigned_abs());
            format!(
                "; they ran {} apart, and a difference between those days cannot be told from one between the sets",
                units::duration(gap)
            )
        })
    }
}

fn metrics<'t>(set: &'t TrialSet, key: &MetricKey) -> Vec<(usize, &'t Metric)> {
    let trials = set.trials.iter().enumerate();
    trials
        .filter_map(|(index, trial)| Some((index, trial.metrics.get(key)?)))
        .collect()
}

/// Returns the logarithms of a set's values, if all have one.
fn positive(set: &BTreeMap<usize, TrialValue>) -> Option<BTreeMap<usize, LogValue>> {
    set.iter()
        .map(|(index, value)| LogValue::new(value).map(|log| (*index, log)))
        .collect()
}

/// Returns what values show of which some are 0 or below, and why they have no ratio.
fn without_ratio(
    baseline: &BTreeMap<usize, TrialValue>,
    contender: &BTreeMap<usize, TrialValue>,
    better: Better,
    alpha: f64,
) -> Unfit {
    let is_zero = |set: &BTreeMap<usize, TrialValue>| set.values().all(|one| one.value == 0.0);
    if is_zero(baseline) && is_zero(contender) {
        return Unfit {
            shows: Shows::Same,
            reason: "it is 0 in all trials".to_owned(),
        };
    }
    let appeared = better == Better::Lower
        && is_zero(baseline)
        && contender.values().all(|one| one.value > 0.0);
    // Of all ways to deal out these values to two sets of these sizes, two separate them (Wilcoxon's rank sum).
    let ways = binomial((baseline.len(), contender.len()));
    let range = |set: &BTreeMap<usize, TrialValue>| {
        let ends = set.values().fold((f64::MAX, f64::MIN), |(low, high), one| {
            (low.min(one.value), high.max(one.value))
        });
        format!("{} to {}", units::number(ends.0), units::number(ends.1))
    };
    Unfit {
        shows: if appeared && 2.0 / ways <= alpha {
            Shows::Appeared
        } else {
            Shows::Nothing
        },
        reason: format!(
            "a ratio takes values above 0: {} before, {} after",
            range(baseline),
            range(contender)
        ),
    }
}

impl Shifted<'_> {
    fn comparison(
        &self,
        contender: &str,
        key: &MetricKey,
        level: f64,
        options: &Options,
    ) -> Comparison {
        let ratio_of = |log: f64| log.clamp(-LOG_MAX, LOG_MAX).exp();
        let shift = &self.shift;
        let p = shift.p();
        let differs = p <= level;
        let (mut low, mut high) = shift.interval(level);
        if shift.error == 0.0 && !differs {
            // The spread is unknown, so that no difference is not excluded.
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        let log_margin = options.margin.ln_1p();
        let within_margin = shift.equivalence_p(log_margin) <= options.equivalence_alpha;
        let verdict = if differs {
            Verdict::Differs { within_margin }
        } else if within_margin {
            Verdict::NoDifferenceLargerThan {
                margin: options.margin,
            }
        } else {
            let demand = Demand {
                log_margin,
                alpha: level,
                equivalence_alpha: options.equivalence_alpha,
                power: options.power,
            };
            let (needed, at_most) = pairs_needed(shift, &demand);
            let have = u32::try_from(shift.trials.0.min(shift.trials.1)).unwrap_or(u32::MAX);
            let in_turns = shift.drift.is_possible();
            let more = |all: u32| {
                if in_turns {
                    all.max(PAIRS_MIN.try_into().unwrap_or(u32::MAX))
                } else {
                    all.saturating_sub(have).max(1)
                }
            };
            Verdict::CannotTell {
                more_pairs_needed: more(needed),
                more_pairs_at_most: more(at_most),
                in_turns,
            }
        };
        Comparison {
            contender: contender.to_owned(),
            operation: key.operation.clone(),
            metric: key.metric.clone(),
            unit: self.metric.unit.clone(),
            better: self.metric.better,
            rank: self.metric.rank,
            design: shift.design,
            trials: shift.trials,
            baseline_value: self.baseline_log.exp(),
            contender_value: self.contender_log.exp(),
            ratio: ratio_of(shift.log_ratio),
            interval: Interval {
                low: ratio_of(low),
                high: ratio_of(high),
                confidence: 1.0 - level,
            },
            widening: shift.widening(level),
            p,
            run_to_run_sd: f64::midpoint(shift.variances.0, shift.variances.1).sqrt(),
            within_run_error: self.within_run_error,
            verdict,
        }
    }
}

/// Refuses trials that were given twice.
fn same_trials(sets: &[TrialSet]) -> Result<(), CompareError> {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for trial in sets.iter().flat_map(|set| &set.trials) {
        if let Some(id) = &trial.id
            && let Some(earlier) = seen.insert(id, &trial.name)
        {
            return Err(CompareError::SameTrial {
                id: id.clone(),
                one: earlier.to_owned(),
                other: trial.name.clone(),
            });
        }
    }
    Ok(())
}

/// The refusal of one run against one run, with the noise within these runs if they show it.
fn one_against_one(baseline: &TrialSet, contender: &TrialSet, options: &Options) -> CompareError {
    let mut errors: Vec<f64> = [baseline, contender]
        .iter()
        .flat_map(|set| &set.trials)
        .flat_map(|trial| trial.metrics.values())
        .filter(|metric| metric.rank == Rank::Primary)
        .filter_map(|metric| {
            let mut random = Random::numbered(options.seed, 1);
            trial_value(&metric.observations, &mut random)
                .ok()?
                .within_error
        })
        .filter(|error| error.is_finite() && *error > 0.0)
        .collect();
    errors.sort_by(f64::total_cmp);
    let measured = errors.get(errors.len() / 2).copied();
    let within_error = measured.unwrap_or(TYPICAL_WITHIN_ERROR);
    CompareError::OneAgainstOne {
        baseline: baseline.name.clone(),
        contender: contender.name.clone(),
        within_error,
        is_measured: measured.is_some(),
        false_shares: RUN_TO_RUN_SDS
            .iter()
            .map(|sd| (*sd, single_run_false_share(*sd, within_error)))
            .collect(),
    }
}

fn trial_notes(sets: &[TrialSet]) -> impl Iterator<Item = String> {
    sets.iter().flat_map(|set| &set.trials).flat_map(|trial| {
        trial
            .notes
            .iter()
            .map(|note| format!("{}: {note}", escape(&trial.name)))
    })
}

#[cfg(test)]
#[path = "sets_tests.rs"]
mod tests;
