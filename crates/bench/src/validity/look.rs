//! What each check finds.

use super::check::Check;
use super::observed::{
    ClassObserved, CpuObserved, End, FrequencyObserved, JobWithin, Limits, Merges, Observed, Start,
    TrimDebt,
};
use super::samples::samples_needed;
use crate::compare::batch_means::mean;
use crate::compare::distribution::student_two_sided;
use crate::driver::{ErrorClass, OwnLateness};
use std::time::Duration;
use units::{bytes, percent, seconds};

/// What was found, and its remedy.
type Found = (String, String);

/// What one check finds, with remedies; `None` if it could not be made.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a count for display
pub(super) fn look(check: Check, observed: &Observed, limits: &Limits) -> Option<Vec<Found>> {
    let one = |found: Option<Found>| Some(found.into_iter().collect());
    match check {
        Check::ScheduledJob => Some(observed.jobs.as_ref()?.iter().map(job).collect()),
        Check::TrimDebt => one(trim_debt(observed.trim_debt?, limits)),
        Check::LateDriver => late(&observed.classes, limits),
        Check::ForeignCpu => one(share_above(observed.cpu?.foreign?, limits.foreign_cpu).map(|share| {
            (
                format!(
                    "other processes used {share} of the CPU time{}",
                    by_process(&observed.other_processes)
                ),
                "Stop them, or move the trial to a time or host where they do not run.".to_owned(),
            )
        })),
        Check::BusyDriver => one(busy_driver(observed.cpu?, limits)),
        Check::Steal => one(share_above(observed.cpu?.steal, limits.steal).map(|share| {
            (
                format!("the hypervisor took {share} of the CPU time (steal)"),
                "Use a machine with CPUs of its own; on burstable instances, wait until credits are back."
                    .to_owned(),
            )
        })),
        Check::Throttled => one(throttled(observed.throttled?, observed.measured, limits)),
        Check::ColdWithoutReads => cold(observed, limits),
        Check::WarmWithReads => warm(observed, limits),
        Check::RequestCache => one((observed.unwanted_cache_hits? > 0).then(|| {
            (
                format!(
                    "the request cache answered {} searches, and the track wants none from it",
                    units::grouped(observed.unwanted_cache_hits.unwrap_or(0))
                ),
                "Add `request_cache=false` to the searches, or vary their parameters.".to_owned(),
            )
        })),
        Check::ClockStep => one(clock_step(observed.clock_step_s?, limits)),
        Check::Frequency => one(frequency(observed.frequency.as_ref()?, limits)),
        Check::FewSamples => by_class(observed, |class| Some(few_samples(class, limits).into_iter().collect())),
        Check::Drift => by_class(observed, |class| drift(&class.block_means_us, &class.name, limits)),
        Check::Errors => by_class(observed, |class| Some(errors(class, limits).into_iter().collect())),
        Check::OtherStore => Some(
            observed
                .other_stores
                .as_ref()?
                .iter()
                .map(|store| {
                    (
                        format!("{} has its data on the same drive", units::escape(store)),
                        "Stop it, or put one of the two on a drive of its own.".to_owned(),
                    )
                })
                .collect(),
        ),
        Check::Relocations => one((observed.relocating_shards? > 0.0).then(|| {
            (
                format!(
                    "up to {} moved between nodes",
                    units::count(observed.relocating_shards.unwrap_or(0.0) as u64, "shard")
                ),
                "Wait until GET _cluster/health shows no relocating shards.".to_owned(),
            )
        })),
        Check::Merges => one(merges(observed.merges?, limits)),
        Check::Incomplete => one(incomplete(observed.end.as_ref()?, limits)),
    }
}

fn merges(merges: Merges, limits: &Limits) -> Option<Found> {
    let (here, usual) = (merges.share, merges.usual_share);
    let differs = (here - usual).abs() > limits.merge_share
        && (here > limits.merge_ratio * usual || usual > limits.merge_ratio * here);
    differs.then(|| {
        (
            format!(
                "the servers merged for {} of the time, in earlier trials for {}",
                percent(here),
                percent(usual)
            ),
            "Begin each trial with the same data: delete and create the index in setup, and let merges end \
             (POST INDEX/_forcemerge) before the measured phase."
                .to_owned(),
        )
    })
}

fn incomplete(end: &End, limits: &Limits) -> Option<Found> {
    const LOWER: &str = "Lower the rate: a queue that only grows has no latency.";
    match end {
        End::Complete => None,
        End::Stopped => Some((
            "the trial was stopped before its end".to_owned(),
            "Run it again without stopping it.".to_owned(),
        )),
        End::Overloaded => Some((
            "the server did not answer everything that was planned in time".to_owned(),
            LOWER.to_owned(),
        )),
        End::Behind { planned, took } => {
            (took.as_secs_f64() > (1.0 + limits.behind) * planned.as_secs_f64()).then(|| {
                (
                    format!(
                        "the server took {} to answer what was planned for {}",
                        seconds(took.as_secs_f64()),
                        seconds(planned.as_secs_f64())
                    ),
                    LOWER.to_owned(),
                )
            })
        }
        End::Failed(why) => Some((
            units::escape(why).into_owned(),
            "Remove the cause, and run the trial again.".to_owned(),
        )),
    }
}

/// Finds of each class; `None` if the check can be made for none of them.
fn by_class(
    observed: &Observed,
    look: impl Fn(&ClassObserved) -> Option<Vec<Found>>,
) -> Option<Vec<Found>> {
    let looked: Vec<Vec<Found>> = observed.classes.iter().filter_map(look).collect();
    (!looked.is_empty()).then(|| looked.into_iter().flatten().collect())
}

fn share_above(share: f64, limit: f64) -> Option<String> {
    (share > limit).then(|| percent(share))
}

fn job(job: &JobWithin) -> Found {
    let name = units::escape(&job.name);
    let how = if job.is_proven { "ran" } else { "was due" };
    let when = match job.free_in {
        Some(wait) => format!("wait {}, or ", units::duration(wait)),
        None => String::new(),
    };
    (
        if job.start.is_empty() {
            format!("{name} {how} within the measured time")
        } else {
            format!("{name} {how} within the measured time, at {}", job.start)
        },
        units::list::capitalised(&format!("{when}move {name} out of the time of trials.")),
    )
}

#[allow(clippy::cast_precision_loss)] // shares
fn trim_debt(debt: TrimDebt, limits: &Limits) -> Option<Found> {
    let exceeds = debt.written_bytes as f64 > limits.trim_debt * debt.free_bytes as f64;
    exceeds.then(|| {
        let at_least = if debt.is_at_least { "at least " } else { "" };
        (
            format!(
                "{at_least}{} were written to the drive since its last complete trim, and {} are free: how \
                 fast it writes depends on what it still takes for data",
                bytes(debt.written_bytes),
                bytes(debt.free_bytes)
            ),
            "Trim before each trial: `trimtab trim MOUNT`.".to_owned(),
        )
    })
}

/// The operation that the driver's lateness changes most; `None` if lateness was measured for none.
#[allow(clippy::cast_precision_loss)] // shares
fn late(classes: &[ClassObserved], limits: &Limits) -> Option<Vec<Found>> {
    let known: Vec<(&ClassObserved, OwnLateness)> = classes
        .iter()
        .filter_map(|class| Some((class, class.lateness?)))
        .collect();
    let share = |(class, late): &(&ClassObserved, OwnLateness)| {
        late.p99_ns as f64 / 1e3 / class.p99_latency_us.max(1) as f64
    };
    let worst = known
        .iter()
        .max_by(|one, other| share(one).total_cmp(&share(other)))?;
    let (class, late) = worst;
    let by = Duration::from_nanos(late.p99_ns);
    // A starved driver also makes the latency longer that its lateness is compared with.
    let found = if share(worst) > limits.lateness || by > limits.lateness_max {
        format!(
            "the driver was late for {}: by {} at the 99th percentile, of a latency of {}",
            units::escape(&class.name),
            seconds(by.as_secs_f64()),
            seconds(class.p99_latency_us as f64 / 1e6)
        )
    } else {
        let losing = known
            .iter()
            .max_by(|one, other| one.1.lost.total_cmp(&other.1.lost));
        let Some((class, late)) = losing.filter(|(_, late)| late.lost > limits.lost) else {
            return Some(Vec::new());
        };
        format!(
            "the driver stood still while clients waited: {} of the requests of {} were not sent",
            percent(late.lost),
            units::escape(&class.name)
        )
    };
    let remedy = "Give the driver CPUs of its own, or a host of its own, or lower the load.";
    Some(vec![(found, remedy.to_owned())])
}

fn busy_driver(cpu: CpuObserved, limits: &Limits) -> Option<Found> {
    let takes = cpu.idle < limits.idle && cpu.driver > limits.foreign_cpu;
    takes.then(|| {
        (
            format!(
                "the driver used {} of the CPU time, and {} was idle: it took from the server",
                percent(cpu.driver),
                percent(cpu.idle)
            ),
            "Run the driver on another host, or lower the rate.".to_owned(),
        )
    })
}

fn throttled(held: Duration, measured: Duration, limits: &Limits) -> Option<Found> {
    let share = held.as_secs_f64() / measured.as_secs_f64().max(1e-9);
    share_above(share, limits.throttled).map(|_| {
        (
            format!(
                "the server's control group was held back by its CPU limit for {}",
                units::duration(held)
            ),
            "Raise cpu.max (CPUQuota= of its unit), unless the limit is what you measure."
                .to_owned(),
        )
    })
}

fn cold(observed: &Observed, limits: &Limits) -> Option<Vec<Found>> {
    if observed.start != Start::Cold {
        return Some(Vec::new());
    }
    let read = observed.read_bytes?;
    let found = (read < limits.cold_read_bytes).then(|| {
        let read = match read {
            0 => "nothing was".to_owned(),
            read => format!("only {} were", bytes(read)),
        };
        (
            format!("the trial was to start cold, and {read} read from the drive"),
            "Unmount and mount the filesystem, or drop the page cache, before the server starts."
                .to_owned(),
        )
    });
    Some(found.into_iter().collect())
}

#[allow(clippy::cast_precision_loss)] // a rate
fn warm(observed: &Observed, limits: &Limits) -> Option<Vec<Found>> {
    if observed.start != Start::Warm {
        return Some(Vec::new());
    }
    let read = observed.read_bytes?;
    let rate = read as f64 / observed.measured.as_secs_f64().max(1e-9);
    let found = (rate > limits.warm_reads_per_s).then(|| {
        (
            format!(
                "the trial was to start warm, and {} were read from the drive",
                bytes(read)
            ),
            "Lengthen the warm-up, or use less data than there is page cache.".to_owned(),
        )
    });
    Some(found.into_iter().collect())
}

fn clock_step(step_s: f64, limits: &Limits) -> Option<Found> {
    (step_s.abs() > limits.clock_step_s).then(|| {
        let direction = if step_s > 0.0 { "forward" } else { "back" };
        (
            format!("the clock was set {direction} by {}", seconds(step_s.abs())),
            "Let the clock settle first (`chronyc waitsync`); logs of the trial cannot be dated."
                .to_owned(),
        )
    })
}

fn frequency(observed: &FrequencyObserved, limits: &Limits) -> Option<Found> {
    let remedy =
        "Set one governor for all trials (`cpupower frequency-set --governor performance`).";
    let (before, after) = (&observed.governor_before, &observed.governor_after);
    if let (Some(before), Some(after)) = (before, after)
        && before != after
    {
        let found = format!(
            "the CPU governor changed from {} to {}",
            units::escape(before),
            units::escape(after)
        );
        return Some((found, remedy.to_owned()));
    }
    if let Some(count) = observed.thermal_throttles.filter(|&count| count > 0) {
        return Some((
            format!(
                "the CPUs were slowed by heat {} times",
                units::grouped(count)
            ),
            "Mend the cooling, or lower the load until it lasts.".to_owned(),
        ));
    }
    let lowest = observed
        .lowest_share
        .filter(|&share| share < limits.frequency)?;
    Some((
        format!(
            "the CPUs ran at {} of their frequency for a part of the trial",
            percent(lowest)
        ),
        remedy.to_owned(),
    ))
}

fn few_samples(class: &ClassObserved, limits: &Limits) -> Option<Found> {
    let needed = samples_needed(class.highest_percentile);
    // Measuring longer does not help if requests fail.
    let are_too_few =
        class.samples < needed && (class.samples > 0 || errors(class, limits).is_none());
    are_too_few.then(|| {
        (
            format!(
                "{} samples of {} are too few for its p{}: {} are needed",
                units::grouped(class.samples),
                units::escape(&class.name),
                class.highest_percentile,
                units::grouped(needed)
            ),
            match needed.checked_div(class.samples) {
                Some(times) => format!("Measure {} times as long.", times + 1),
                None => "Measure longer.".to_owned(),
            },
        )
    })
}

#[allow(clippy::cast_precision_loss)] // shares
fn errors(class: &ClassObserved, limits: &Limits) -> Option<Found> {
    let all = class.samples.saturating_add(class.errors);
    (class.errors as f64 > limits.errors * all as f64).then(|| {
        (
            format!(
                "{} of {} operations of {} failed{}",
                units::grouped(class.errors),
                units::grouped(all),
                units::escape(&class.name),
                by_error(class)
            ),
            error_remedy(class).to_owned(),
        )
    })
}

/// ` (rustc 50 %, cc 30 %)`: at most three, of 1 % or more.
fn by_process(others: &[(String, f64)]) -> String {
    let shown: Vec<String> = others
        .iter()
        .take_while(|(_, share)| *share >= 0.01)
        .take(3)
        .map(|(name, share)| format!("{} {}", units::escape(name), percent(*share)))
        .collect();
    in_parentheses(&shown)
}

/// ` (no connection 1,800, timeout 83)`.
fn by_error(class: &ClassObserved) -> String {
    let shown: Vec<String> = class
        .errors_by_class
        .iter()
        .map(|(error, count)| format!("{} {}", error.label(), units::grouped(*count)))
        .collect();
    in_parentheses(&shown)
}

fn in_parentheses(items: &[String]) -> String {
    if items.is_empty() {
        String::new()
    } else {
        format!(" ({})", items.join(", "))
    }
}

/// What to do about the most frequent error.
fn error_remedy(class: &ClassObserved) -> &'static str {
    let most = class.errors_by_class.iter().max_by_key(|(_, count)| *count);
    match most.map(|(error, _)| *error) {
        None => "Read the server's log.",
        Some(ErrorClass::Connect | ErrorClass::Closed | ErrorClass::Timeout) => {
            "Look whether the server still runs, and read its log."
        }
        Some(ErrorClass::TooManyRequests) => {
            "Lower the rate or the number of clients: the server's queue was full."
        }
        Some(ErrorClass::Status4xx) => {
            "Send one such request with curl and read the answer: index, path or credentials may be wrong."
        }
        Some(ErrorClass::Status5xx | ErrorClass::PartialResult) => {
            "Read the server's log: it could not do what it was asked for."
        }
        Some(ErrorClass::StatusOther | ErrorClass::Answer) => {
            "Look with curl at what answers at this URL; redirects are not followed."
        }
        Some(ErrorClass::BulkItems) => {
            "Send one such bulk request with curl and read its errors: a mapping may refuse the documents."
        }
    }
}

/// Thirds that differ less often than this by chance differ: what lies beyond three standard deviations of a normal distribution.
const DRIFT_BY_CHANCE_MAX: f64 = 0.0027;
/// Smallest number of blocks in a third.
const BLOCKS_MIN: usize = 5;

/// Whether the first and last third differ by more than the limit, and by more than their own scatter explains: by as
/// much as normal noise would once in 370 cases, which is three standard errors of many blocks. `None` for too few blocks.
pub(super) fn drift(blocks: &[f64], name: &str, limits: &Limits) -> Option<Vec<Found>> {
    let third = blocks.len() / 3;
    if third < BLOCKS_MIN {
        return None;
    }
    let (first, last) = (&blocks[..third], &blocks[blocks.len() - third..]);
    let (before, after) = (mean(first)?, mean(last)?);
    let difference = after - before;
    let share = difference / f64::midpoint(before, after).max(f64::MIN_POSITIVE);
    let drifts = share.abs() > limits.drift && by_chance(first, last)? < DRIFT_BY_CHANCE_MAX;
    let found = drifts.then(|| {
        let direction = if difference > 0.0 { "slower" } else { "faster" };
        (
            format!(
                "{} was {} {direction} in the last third than in the first",
                units::escape(name),
                percent(share.abs())
            ),
            "Lengthen the warm-up until the latency is level; look at merges, caches and the drive's trim debt."
                .to_owned(),
        )
    });
    Some(found.into_iter().collect())
}

/// The probability that the means of two equally long parts of level noise differ as much as these, by Student's t; `None` for
/// no blocks.
/// Neighbouring blocks resemble each other: the effective number of samples is reduced by their lag-1 autocorrelation,
/// n (1 - r) / (1 + r) (Zwiers and von Storch 1995), which so few blocks show too small by about (1 + 4 r) / n (Kendall 1954).
/// The degrees of freedom are those of the blocks: with the effective number, three in ten steps of half the latency would
/// be missed in 24 blocks of r = 0.5, where now one trial in 35 is told to drift by chance, instead of one in 370.
#[allow(clippy::cast_precision_loss)] // counts of blocks
fn by_chance(first: &[f64], last: &[f64]) -> Option<f64> {
    let n = first.len() as f64;
    let (mut squares, mut lagged) = (0.0, 0.0);
    for part in [first, last] {
        let mean = mean(part)?;
        squares += part.iter().map(|one| (one - mean).powi(2)).sum::<f64>();
        let pairs = part.windows(2);
        lagged += pairs
            .map(|pair| (pair[0] - mean) * (pair[1] - mean))
            .sum::<f64>();
    }
    if squares <= 0.0 {
        return Some(0.0);
    }
    let seen = lagged / squares;
    let r = (seen + (1.0 + 4.0 * seen) / n).clamp(0.0, 0.9);
    let effective = (n * (1.0 - r) / (1.0 + r)).max(2.0);
    let freedom = 2.0 * (n - 1.0);
    let error = (2.0 * squares / freedom / effective).sqrt();
    let difference = mean(last)? - mean(first)?;
    Some(student_two_sided(difference / error, freedom))
}
