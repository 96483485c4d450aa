//! What was seen of a trial, as its checks want it.

use super::before::Place;
use super::document::{Latency, OperationResult};
use super::jobs::Within;
use super::monitor::Seen;
use super::server::REQUEST_CACHE_HITS;
use crate::driver::{ClassSummary, Ended, ErrorClass, PhaseSummary, Times, TrialSummary};
use crate::track::{Operation, Track};
use crate::validity::{
    ClassObserved, CpuObserved, End, JobWithin, Merges, Observed, TrimDebt, samples_needed,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// Bytes discarded within a trial from which on something has trimmed the drive: deleting files with online
/// discards has been ruled out, and a log that is truncated discards less.
const TRIM_BYTES_MIN: u64 = 64 << 20;

/// Means of the latency of each second of the measured phases, by number of the phase and operation, in microseconds.
pub(super) type Blocks = BTreeMap<(u32, String), Vec<f64>>;

/// Everything that is known of a trial after its end.
pub(super) struct Outcome<'a> {
    pub track: &'a Track,
    pub summary: &'a TrialSummary,
    pub blocks: &'a Blocks,
    pub seen: &'a Seen,
    pub place: &'a Place,
    pub within: Option<&'a Within>,
    pub trim_debt: Option<TrimDebt>,
    /// Share of time that servers merged in earlier trials.
    pub usual_merge_share: Option<f64>,
}

impl Outcome<'_> {
    /// Gathers what the checks look at.
    pub(super) fn observed(&self) -> Observed {
        let (summary, seen) = (self.summary, self.seen);
        let measured = summary.measured().map(|phase| phase.len_ns).sum();
        let measured = Duration::from_nanos(measured);
        let classes = summary
            .measured()
            .flat_map(|phase| phase.classes.iter().map(move |class| (phase, class)))
            .map(|(phase, class)| {
                let mut observed = observed_class(phase, class, self.blocks);
                if is_background(self.track, phase, class) {
                    observed.highest_percentile = 0.0;
                    observed.block_means_us.clear();
                    observed.lateness = None;
                }
                observed
            })
            .collect();
        let mut jobs = self.within.map(|within| within.jobs.clone());
        if let Some(trim) = unplanned_trim(seen, self.place) {
            jobs.get_or_insert_default().push(trim);
        }
        Observed {
            measured,
            classes,
            jobs,
            trim_debt: self.trim_debt,
            cpu: seen.host.cpu().map(|cpu| CpuObserved {
                foreign: if self.place.is_elsewhere {
                    cpu.foreign
                } else {
                    // The own CPU time of a server that was not found among the host's stores would be foreign. Btrfs
                    // compresses in the kernel's threads: that is the server's work.
                    let is_known = !self.place.watched.server.is_empty();
                    let others = cpu.foreign.filter(|_| is_known);
                    others.map(|foreign| (foreign - seen.kernel_io).max(0.0))
                },
                ..cpu
            }),
            other_processes: seen.others.clone(),
            throttled: seen.host.throttled(),
            read_bytes: seen.host.read_bytes(),
            start: self.track.start,
            unwanted_cache_hits: unwanted_cache_hits(self.track, seen),
            clock_step_s: Some(seen.clock_step_s),
            frequency: seen.host.frequency(),
            relocating_shards: seen.relocating,
            merges: merge_share(&seen.server, measured)
                .zip(self.usual_merge_share)
                .map(|(share, usual_share)| Merges { share, usual_share }),
            end: summary.end.as_ref().map(|end| match &end.ended {
                Ended::Complete => complete(self.track, summary),
                Ended::Stopped => End::Stopped,
                Ended::Overloaded => End::Overloaded,
                Ended::WriteFailed(why) => {
                    End::Failed(format!("the trial could not be written: {why}"))
                }
                Ended::Failed(why) => End::Failed(why.clone()),
            }),
            other_stores: self.place.other_stores.clone(),
        }
    }
}

/// How far the answers of an open loop were behind its plan, where they were furthest.
fn complete(track: &Track, summary: &TrialSummary) -> End {
    let behind = summary.measured().filter_map(|phase| {
        let planned = track.phase.get(phase.start.phase as usize)?.duration?;
        let took = Duration::from_nanos(phase.len_ns);
        let is_open = phase.start.open.contains(&true);
        is_open.then(|| (planned.duration(), took))
    });
    let share = |(planned, took): &(Duration, Duration)| {
        took.as_secs_f64() / planned.as_secs_f64().max(1e-9)
    };
    let furthest = behind.max_by(|one, other| share(one).total_cmp(&share(other)));
    furthest.map_or(End::Complete, |(planned, took)| End::Behind {
        planned,
        took,
    })
}

/// Time spent on merges, as a share of the measured time.
pub(super) fn merge_share(server: &BTreeMap<String, f64>, measured: Duration) -> Option<f64> {
    let merged_s = server.get("merge_time_s")?;
    (!measured.is_zero()).then(|| merged_s / measured.as_secs_f64())
}

/// A trim that no schedule knows, by what the drives discarded.
fn unplanned_trim(seen: &Seen, place: &Place) -> Option<JobWithin> {
    let discarded = seen.host.drives(|drive| drive.discarded_bytes)?;
    (discarded >= TRIM_BYTES_MIN && !place.discards_online).then(|| JobWithin {
        name: format!("a trim of {}", units::bytes(discarded)),
        start: String::new(),
        is_proven: true,
        free_in: None,
    })
}

/// Hits of the request cache, if no search of the track may use it.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a count
fn unwanted_cache_hits(track: &Track, seen: &Seen) -> Option<u64> {
    let mut searches = track
        .operation
        .values()
        .filter_map(|operation| match operation {
            Operation::Search(search) => Some(search.request_cache),
            _ => None,
        });
    let wanted = searches.any(|cached| cached);
    let hits = seen.server.get(REQUEST_CACHE_HITS)?;
    Some(if wanted { 0 } else { *hits as u64 })
}

/// Whether an operation only accompanies the others of its phase.
fn is_background(track: &Track, phase: &PhaseSummary, class: &ClassSummary) -> bool {
    let of = track.phase.get(phase.start.phase as usize);
    let mut loads = of.iter().flat_map(|phase| &phase.load);
    loads.any(|load| load.operation == class.operation && load.background)
}

fn observed_class(phase: &PhaseSummary, class: &ClassSummary, blocks: &Blocks) -> ClassObserved {
    let us = |times: &Times, quantile: f64| times.quantile_ns(quantile).unwrap_or(0) / 1_000;
    ClassObserved {
        name: class.operation.clone(),
        samples: class.succeeded(),
        // What was on its way when a trial ended early did not fail.
        errors: class.failed(),
        errors_by_class: ErrorClass::ALL
            .into_iter()
            .map(|error| (error, class.errors_of(error)))
            .filter(|(_, count)| *count > 0)
            .collect(),
        highest_percentile: 99.0,
        p99_latency_us: us(&class.latency, 0.99),
        lateness: phase.own_lateness(class),
        block_means_us: blocks
            .get(&(phase.start.phase, class.operation.clone()))
            .cloned()
            .unwrap_or_default(),
    }
}

/// The results of the measured phases.
pub(super) fn results(summary: &TrialSummary) -> Vec<OperationResult> {
    summary
        .measured()
        .flat_map(|phase| phase.classes.iter().map(|class| result(phase, class)))
        .collect()
}

#[allow(clippy::cast_precision_loss)] // for display
fn result(phase: &PhaseSummary, class: &ClassSummary) -> OperationResult {
    let duration_s = phase.len_ns as f64 / 1e9;
    let rate = |count: u64| {
        if duration_s > 0.0 {
            count as f64 / duration_s
        } else {
            0.0
        }
    };
    let errors = ErrorClass::ALL
        .into_iter()
        .map(|error| (error.id(), class.errors_of(error)))
        .filter(|(_, count)| *count > 0)
        .collect();
    OperationResult {
        phase: phase.start.name.clone(),
        operation: class.operation.clone(),
        open: class.open,
        duration_s,
        succeeded: class.succeeded(),
        errors,
        unfinished: class.unfinished.sent + class.unfinished.not_sent,
        requests_per_s: rate(class.succeeded()),
        documents_per_s: (class.documents_written > 0).then(|| rate(class.documents_written)),
        latency: latency(&class.latency),
        service: class.open.then(|| latency(&class.service)).flatten(),
        lateness: class.open.then(|| latency(&class.lateness)).flatten(),
    }
}

#[allow(clippy::cast_precision_loss)] // for display
fn latency(times: &Times) -> Option<Latency> {
    let ms = |quantile: f64| times.quantile_ns(quantile).map(|ns| ns as f64 / 1e6);
    Some(Latency {
        mean_ms: times.mean_ns()? / 1e6,
        p50_ms: ms(0.5)?,
        p90_ms: ms(0.9)?,
        p99_ms: ms(0.99)?,
        p99_9_ms: ms(0.999).filter(|_| times.count() >= samples_needed(99.9)),
        max_ms: times.max_ns() as f64 / 1e6,
    })
}

/// What the host counted within the measured time.
#[allow(clippy::cast_precision_loss)] // for display
pub(super) fn host_totals(seen: &Seen) -> BTreeMap<String, f64> {
    let mut totals = BTreeMap::new();
    let mut put = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            totals.insert(name.to_owned(), value);
        }
    };
    let bytes = |value: Option<u64>| value.map(|value| value as f64);
    put("read_bytes", bytes(seen.host.read_bytes()));
    put(
        "written_bytes",
        bytes(seen.host.drives(|drive| Some(drive.written_bytes))),
    );
    put(
        "discarded_bytes",
        bytes(seen.host.drives(|drive| drive.discarded_bytes)),
    );
    if let Some(cpu) = seen.host.cpu() {
        let foreign = cpu
            .foreign
            .map(|foreign| (foreign - seen.kernel_io).max(0.0));
        put("cpu_foreign", foreign);
        put("cpu_kernel_io", Some(seen.kernel_io));
        put("cpu_steal", Some(cpu.steal));
        put("cpu_driver", Some(cpu.driver));
        put("cpu_idle", Some(cpu.idle));
    }
    put(
        "throttled_s",
        seen.host.throttled().map(|held| held.as_secs_f64()),
    );
    totals
}
