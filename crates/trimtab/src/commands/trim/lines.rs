//! `--format json`: one object a line, with `schema`, `seq`, `type` and `at`. Times are RFC 3339 in
//! UTC, sizes bytes, durations seconds (`_s`), what is unknown is null.

use super::describe::Plan;
use super::words;
use crate::error::CommandError;
use crate::output;
use jiff::Timestamp;
use rules::TrimRefusal;
use serde_json::{Value, json};
use trim::audit::by_device;
use trim::forecast::Basis;
use trim::geometry::Survey;
use trim::layers::LayerCounters;
use trim::pace::QuietLevel;
use trim::pass::{Event, Progressed};
use trim::status::{PassState, PassStatus};
use trim::summary::PassSummary;

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
pub fn plan(plan: &Plan<'_>) -> Value {
    let (filesystem, forecast, request) = (plan.filesystem, plan.forecast, plan.request);
    let mount = filesystem.mount;
    let survey = forecast.survey.as_ref();
    let estimate = forecast.estimate;
    let basis = estimate.map(|estimate| match estimate.basis {
        Basis::Assumed => "assumed",
        Basis::LastPass => "last_pass",
        Basis::RateLimit => "rate_limit",
    });
    let layers: Vec<Value> = forecast
        .expected
        .iter()
        .map(|layer| {
            json!({
                "device": layer.device,
                "depth": layer.depth,
                "is_leaf": layer.is_leaf,
                "discard": layer.limits,
                "expected_bytes_max": layer.bytes_max,
                "lowered_to_bytes": layer.lowered_to_bytes,
            })
        })
        .collect();
    json!({
        "mount_point": mount.mount_point,
        "also_mounted_on": filesystem.other_mount_points,
        "fs_type": mount.fs_type,
        "uuid": forecast.target.as_ref().and_then(|target| target.identity.uuid.as_ref()),
        "size_bytes": survey.map(|s| s.size_bytes).or(mount.usage.map(|u| u.size_bytes)),
        "free_bytes": forecast.free_bytes,
        "geometry": survey.map(|s| &s.description),
        "geometry_unknown": forecast.unknown,
        "free_extents": survey.and_then(|s| s.free_extents),
        "largest_extent_bytes": survey.and_then(|s| s.largest_extent_bytes),
        "steps": survey.map(|s| s.steps),
        "unsplittable": survey.map(unsplittable),
        "layers": layers,
        "stores": filesystem.stores.iter().map(|store| store.engine.label()).collect::<Vec<_>>(),
        "consent_missing": words::missing_consent(filesystem, request),
        "refusal": plan.verdict.refusal.as_ref().map(|refusal| json!({
            "reason": refusal.reason,
            "rule": refusal.finding.as_ref().map(|finding| &finding.rule),
            "hints": refusal.hints,
        })),
        "notes": plan.verdict.notes,
        "estimated_s": estimate.map(|estimate| estimate.takes.as_secs_f64()),
        "estimated_rate_bytes_per_s": estimate.map(|estimate| estimate.bytes_per_s),
        "estimated_from": basis,
        "last_trim_at": forecast.last_trim.as_ref().map(|(at, _)| at),
        "last_trim_by": forecast.last_trim.as_ref().map(|(_, by)| by),
        "max_request_bytes": request.max_request_bytes,
        "require_green": request.green_cluster,
        "probes": request.probes,
        "resumes": forecast.checkpoint.as_ref().map(|checkpoint| json!({
            "started_at": checkpoint.started_at,
            "visited_bytes": checkpoint.visited_bytes,
            "free_bytes": checkpoint.free_bytes,
        })),
    })
}

/// A mount that is refused.
pub fn refused(mount_point: &str, refusal: &TrimRefusal) -> Value {
    json!({
        "mount_point": mount_point,
        "outcome": "refused",
        "reason": refusal.reason,
        "hints": refusal.hints,
        "findings": refusal.finding.as_slice(),
    })
}

/// How far a pass of any process is.
pub fn pass_status(status: &PassStatus) -> Value {
    let (state, reason, pid, waits_for_window) = match &status.state {
        PassState::Running {
            pid,
            waits_for_window,
        } => ("running", None, Some(*pid), *waits_for_window),
        PassState::Stopped { reason } => ("stopped", Some(reason), None, false),
        PassState::Interrupted => ("interrupted", None, None, false),
    };
    json!({
        "mount_point": status.mount_point,
        "uuid": status.uuid,
        "state": state,
        "reason": reason,
        "pid": pid,
        "waits_for_window": waits_for_window,
        "started_at": status.started_at,
        "updated_at": status.updated_at,
        "steps": status.steps,
        "free_bytes": status.free_bytes,
        "visited_bytes": status.visited_bytes,
        "discarded_bytes": status.discarded_bytes,
        "active_s": status.active_s,
        "rate_bytes_per_s": status.visited_bytes_per_s(),
        "left_s": status.left_s,
        "remark": status.remark,
    })
}

fn unsplittable(survey: &Survey) -> Vec<Value> {
    let each = survey.unsplittable.iter();
    each.map(|part| json!({"what": part.what, "bytes": part.bytes}))
        .collect()
}

/// An event's type and fields; steps are to be rate-limited by the caller.
pub fn event(mount_point: &str, counters: &LayerCounters, event: &Event) -> (&'static str, Value) {
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
            let mut fields = progressed(progress, counters);
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
            let mut fields = progressed(progress, counters);
            fields["pause_s"] = pause.as_secs_f64().into();
            fields["reason"] = reason.as_str().into();
            ("waiting", fields)
        }
        Event::Warning(text) => ("warning", json!({"text": text})),
    };
    fields["mount_point"] = mount_point.into();
    (kind, fields)
}

fn progressed(progress: &Progressed, counters: &LayerCounters) -> Value {
    json!({
        "steps": progress.steps,
        "free_bytes": progress.free_bytes,
        "visited_bytes": progress.visited_bytes,
        "discarded_bytes": by_device(&counters.read(&progress.discarded)),
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

/// The end of a pass. What begins with `resumed_` is of earlier sessions: `steps`, `visited_bytes`
/// and the layers' bytes have it in them, `took_s` and `active_s` are of this session alone.
pub fn ended(summary: &PassSummary) -> Value {
    let outcome = &summary.outcome;
    let of_layer: Vec<Value> = summary
        .layers
        .iter()
        .map(|layer| {
            json!({
                "device": layer.device,
                "depth": layer.depth,
                "is_leaf": layer.is_leaf,
                "discarded_bytes": layer.discarded_bytes,
            })
        })
        .collect();
    json!({
        "mount_point": summary.mount_point,
        "outcome": outcome.ended.word(),
        "reason": outcome.ended.reason(),
        "resumable": outcome.ended.is_resumable(),
        "layers": of_layer,
        "measurable": outcome.measurable,
        "size_bytes": outcome.survey.as_ref().map(|survey| survey.size_bytes),
        "free_bytes": outcome.survey.as_ref().map(|_| outcome.progress.free_bytes),
        "visited_bytes": outcome.progress.visited_bytes,
        "resumed_bytes": summary.earlier.visited_bytes,
        "steps": outcome.progress.steps,
        "resumed_steps": summary.earlier.steps,
        "took_s": outcome.progress.active.as_secs_f64(),
        "active_s": outcome.progress.active.as_secs_f64(),
        "resumed_active_s": summary.earlier.active.as_secs_f64(),
        "quiet": levels(&outcome.quiet),
        "latency": levels(&outcome.progress.latency),
        "longest_step_s": outcome.longest_step.as_secs_f64(),
        "findings": summary.findings,
    })
}
