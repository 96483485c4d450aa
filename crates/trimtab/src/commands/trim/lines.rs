//! `--format json`: one object a line, with `schema`, `seq`, `type` and `at`. Times are RFC 3339 in
//! UTC, sizes bytes, durations seconds (`_s`), what is unknown is null.

use super::consent;
use super::forecast::{Basis, Forecast};
use super::layers::{Seen, Ways};
use super::options::Options;
use super::over::Over;
use super::plan::Plan;
use crate::error::CommandError;
use crate::output;
use facts::Finding;
use facts::host::DiscardLimits;
use jiff::Timestamp;
use serde_json::{Value, json};
use trim::geometry::Survey;
use trim::limits::lowered_to;
use trim::pace::QuietLevel;
use trim::pass::{Ended, Event, Progressed};

/// Name and version of the stream.
pub const SCHEMA: &str = "trimtab.trim/1";

/// Writes the stream to standard output.
#[derive(Debug, Default)]
pub struct Lines {
    seq: u64,
}

impl Lines {
    /// Writes one object.
    ///
    /// # Errors
    /// Where standard output cannot be written.
    pub fn emit(&mut self, kind: &str, fields: Value) -> Result<(), CommandError> {
        let mut line = json!({
            "schema": SCHEMA,
            "seq": self.seq,
            "type": kind,
            "at": Timestamp::now(),
        });
        if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
            line.extend(fields);
        }
        self.seq += 1;
        output::print(&format!("{}\n", report::escape_json(&line.to_string())))
    }
}

/// What is planned for a mount.
pub fn plan(plan: &Plan<'_>, forecast: &Forecast<'_>, options: &Options) -> Value {
    let survey = forecast.survey.as_ref();
    let estimate = forecast.estimate;
    let basis = estimate.map(|estimate| match estimate.basis {
        Basis::Assumed => "assumed",
        Basis::LastPass => "last_pass",
        Basis::RateLimit => "rate_limit",
    });
    let layers: Vec<Value> = forecast
        .layers
        .layers
        .iter()
        .map(|layer| {
            let limits: Option<DiscardLimits> = forecast
                .stacks
                .iter()
                .flat_map(|stack| &stack.layers)
                .find(|known| known.device.name == layer.device)
                .and_then(|known| known.device.discard);
            json!({
                "device": layer.device,
                "depth": layer.depth,
                "is_leaf": layer.is_leaf,
                "discard": limits,
                "expected_bytes_max": forecast.expected.get(&layer.device),
                "lowered_to_bytes": options.max_request.filter(|_| layer.is_leaf).and_then(
                    |max_bytes| lowered_to(limits?, max_bytes)
                ),
            })
        })
        .collect();
    json!({
        "mount_point": plan.mount.mount_point,
        "also_mounted_on": plan.others,
        "fs_type": plan.mount.fs_type,
        "uuid": forecast.target.as_ref().and_then(|target| target.identity.uuid.as_ref()),
        "size_bytes": survey.map(|s| s.size_bytes).or(plan.mount.usage.map(|u| u.size_bytes)),
        "free_bytes": forecast.free_bytes,
        "geometry": survey.map(|s| &s.description),
        "geometry_unknown": forecast.unknown,
        "free_extents": survey.and_then(|s| s.free_extents),
        "largest_extent_bytes": survey.and_then(|s| s.largest_extent_bytes),
        "steps": survey.map(|s| s.steps),
        "unsplittable": survey.map(unsplittable),
        "layers": layers,
        "stores": plan.stores.iter().map(|store| store.engine.label()).collect::<Vec<_>>(),
        "consent_missing": consent::missing(plan, options),
        "refusal": plan.refusal.as_ref().map(|refusal| json!({
            "reason": refusal.reason,
            "rule": refusal.finding.as_ref().map(|finding| &finding.rule),
            "hints": refusal.hints,
        })),
        "notes": plan.notes,
        "estimated_s": estimate.map(|estimate| estimate.takes.as_secs_f64()),
        "estimated_rate_bytes_per_s": estimate.map(|estimate| estimate.bytes_per_s),
        "estimated_from": basis,
        "last_trim_at": forecast.last_trim.as_ref().map(|(at, _)| at),
        "last_trim_by": forecast.last_trim.as_ref().map(|(_, by)| by),
        "max_request_bytes": options.max_request,
        "require_green": options.green_name(),
        "probes": options.probe_names(),
        "resumes": forecast.checkpoint.as_ref().map(|checkpoint| json!({
            "started_at": checkpoint.started_at,
            "visited_bytes": checkpoint.visited_bytes,
            "free_bytes": checkpoint.free_bytes,
        })),
    })
}

fn unsplittable(survey: &Survey) -> Vec<Value> {
    let each = survey.unsplittable.iter();
    each.map(|part| json!({"what": part.what, "bytes": part.bytes}))
        .collect()
}

/// An event's type and fields; steps are to be rate-limited by the caller.
pub fn event(mount_point: &str, ways: &Ways, event: &Event) -> (&'static str, Value) {
    let (kind, mut fields) = match event {
        Event::Measuring { takes } => ("measuring", json!({"takes_s": takes.as_secs_f64()})),
        Event::Begins {
            survey,
            quiet,
            budgets,
            resumed_bytes,
        } => (
            "begins",
            json!({
                "geometry": survey.description,
                "size_bytes": survey.size_bytes,
                "free_bytes": survey.free_bytes,
                "free_extents": survey.free_extents,
                "largest_extent_bytes": survey.largest_extent_bytes,
                "steps": survey.steps,
                "unsplittable": unsplittable(survey),
                "quiet": levels(quiet),
                "budgets": budgets,
                "resumed_bytes": resumed_bytes,
            }),
        ),
        Event::Unsplittable {
            what,
            bytes,
            predicted,
        } => (
            "warning",
            json!({
                "text": format!("{what} cannot be split"),
                "bytes": bytes,
                "predicted_stall_s": predicted.as_secs_f64(),
            }),
        ),
        Event::Stepped {
            step,
            locked,
            progress,
        } => {
            let mut fields = progressed(progress, ways);
            // Not FITRIM's answer: what it was asked for, in the filesystem's own addresses.
            fields["range_start_bytes"] = step.range.start_bytes.into();
            fields["step_free_bytes"] = step.free_bytes.into();
            fields["step_free_extents"] = step.free_extents.into();
            fields["locked_s"] = locked.as_secs_f64().into();
            ("step", fields)
        }
        Event::Waiting {
            pause,
            reason,
            progress,
        } => {
            let mut fields = progressed(progress, ways);
            fields["pause_s"] = pause.as_secs_f64().into();
            fields["reason"] = reason.as_str().into();
            ("waiting", fields)
        }
        Event::Warning(text) => ("warning", json!({"text": text})),
    };
    fields["mount_point"] = mount_point.into();
    (kind, fields)
}

fn progressed(progress: &Progressed, ways: &Ways) -> Value {
    json!({
        "steps": progress.steps,
        "free_bytes": progress.free_bytes,
        "visited_bytes": progress.visited_bytes,
        "discarded_bytes": by_device(&ways.seen(&progress.discarded)),
        "active_s": progress.active.as_secs_f64(),
        "left_s": progress.left.map(|left| left.as_secs_f64()),
        "rate_bytes_per_s": progress.rate_bytes_per_s,
        "latency": levels(&progress.latency),
    })
}

fn levels(levels: &[(String, QuietLevel)]) -> Vec<Value> {
    levels
        .iter()
        .map(|(label, level)| {
            json!({
                "probe": label,
                "mean_s": level.mean.as_secs_f64(),
                "p50_s": level.p50.as_secs_f64(),
                "p99_s": level.p99.as_secs_f64(),
                "readings": level.readings,
            })
        })
        .collect()
}

/// Bytes discarded by device; null for one that does not count.
pub fn by_device(seen: &[Seen<'_>]) -> Value {
    let each = seen.iter();
    each.map(|seen| (seen.layer.device.clone(), seen.discarded_bytes.into()))
        .collect::<serde_json::Map<String, Value>>()
        .into()
}

/// The end of a pass. What begins with `resumed_` is of earlier sittings: `steps`, `visited_bytes`
/// and the layers' bytes have it in them, `took_s` and `active_s` are of this sitting alone.
pub fn ended(over: &Over<'_>, mount_point: &str, explained: &[Finding]) -> Value {
    let outcome = over.outcome;
    let of_layer: Vec<Value> = over
        .seen()
        .iter()
        .map(|seen| {
            json!({
                "device": seen.layer.device,
                "depth": seen.layer.depth,
                "is_leaf": seen.layer.is_leaf,
                "discarded_bytes": seen.discarded_bytes,
            })
        })
        .collect();
    json!({
        "mount_point": mount_point,
        "outcome": super::audit::word(&outcome.ended),
        "reason": reason(&outcome.ended),
        "resumable": is_resumable(&outcome.ended),
        "layers": of_layer,
        "measurable": outcome.measurable,
        "size_bytes": outcome.survey.as_ref().map(|survey| survey.size_bytes),
        "free_bytes": outcome.survey.as_ref().map(|_| outcome.progress.free_bytes),
        "visited_bytes": outcome.progress.visited_bytes,
        "resumed_bytes": over.earlier.visited_bytes,
        "steps": outcome.progress.steps,
        "resumed_steps": over.earlier.steps,
        "took_s": outcome.progress.active.as_secs_f64(),
        "active_s": outcome.progress.active.as_secs_f64(),
        "resumed_active_s": over.earlier.active.as_secs_f64(),
        "quiet": levels(&outcome.quiet),
        "latency": levels(&outcome.progress.latency),
        "longest_step_s": outcome.longest_step.as_secs_f64(),
        "findings": explained,
    })
}

/// Whether the same command goes on from where it was.
pub fn is_resumable(ended: &Ended) -> bool {
    match ended {
        Ended::Complete | Ended::Cancelled | Ended::Swallowed(_) => false,
        Ended::Stopped { .. } | Ended::Signal(_) => true,
        Ended::Failed { resumable, .. } => *resumable,
    }
}

/// Why it ended, where it is not complete.
pub fn reason(ended: &Ended) -> Option<String> {
    match ended {
        Ended::Complete => None,
        Ended::Stopped { reason } | Ended::Failed { reason, .. } => Some(reason.clone()),
        Ended::Signal(number) => Some(signal(*number)),
        Ended::Cancelled => Some("cancelled from another terminal".to_owned()),
        Ended::Swallowed(swallowed) => Some(format!(
            "discards are swallowed: {} bytes taken, {} bytes reached the drives",
            swallowed.taken_bytes, swallowed.passed_bytes
        )),
    }
}

fn signal(number: i32) -> String {
    match number {
        1 => "SIGHUP".to_owned(),
        2 => "SIGINT".to_owned(),
        15 => "SIGTERM".to_owned(),
        number => format!("signal {number}"),
    }
}

/// A checkpoint's reason, for people and programs: it has signals by their numbers.
pub fn stop_reason(reason: &str) -> String {
    let number = reason.strip_prefix("signal ").and_then(|n| n.parse().ok());
    number.map_or_else(
        || reason.to_owned(),
        |number| format!("ended by {}", signal(number)),
    )
}
