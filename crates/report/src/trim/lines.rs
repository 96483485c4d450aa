//! JSON lines of `trimtab trim --format json`: one object per line, with `schema`, `seq`, `type`
//! and `at`. Times are RFC 3339 in UTC, sizes are in bytes, durations in seconds (`_s`), unknown
//! values are null.

use super::plan::{Plan, missing_consent};
use crate::envelope::titled_schema;
use jiff::Timestamp;
use rules::TrimRefusal;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use trim::audit::by_device;
use trim::events::SessionEvent;
use trim::forecast::Basis;
use trim::geometry::Survey;
use trim::layers::LayerCounters;
use trim::pace::QuietLevel;
use trim::pass::{Event, Progressed};
use trim::status::{CancelOutcome, Cancelled, PassState, PassStatus};
use trim::summary::PassSummary;

/// Name and version of the stream's schema.
pub const SCHEMA: &str = "trimtab.trim/1";

/// One line of the stream.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Line {
    /// Name and version of the schema. Fields and types may be added under the same version.
    schema: &'static str,
    /// Number of the line in its stream, from 0.
    seq: u64,
    /// Type of the line.
    #[serde(rename = "type")]
    kind: Kind,
    /// When it was written, RFC 3339 in UTC.
    at: Timestamp,
    /// Fields of this type: sizes in bytes (`_bytes`), durations in seconds (`_s`); unknown values
    /// are null.
    #[serde(flatten)]
    fields: Map<String, Value>,
}

/// Type of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The plan for a mount.
    Plan,
    /// A message about a mount, or about the whole run.
    Note,
    /// The quiet level is being measured.
    Measuring,
    /// A pass begins or is resumed.
    Begins,
    /// A step was made.
    Step,
    /// The pass is waiting.
    Waiting,
    /// A warning that does not stop the pass.
    Warning,
    /// A pass has ended or was refused.
    Ended,
    /// Progress of a pass (`--status`).
    Pass,
    /// A request to cancel a pass (`--cancel`).
    Cancelled,
}

impl Line {
    /// Renders a line without a newline and without control characters in its text.
    pub fn json(seq: u64, at: Timestamp, kind: Kind, fields: Value) -> String {
        let line = Self {
            schema: SCHEMA,
            seq,
            kind,
            at,
            fields: match fields {
                Value::Object(fields) => fields,
                _ => Map::new(),
            },
        };
        units::escape::escape_json(&json!(line).to_string())
    }
}

/// The JSON Schema (2020-12) of a line, indented, with a trailing newline: what [`generated_schema`] makes.
pub const JSON_SCHEMA: &str = include_str!("../../schemas/trim.json");

/// Makes [`JSON_SCHEMA`] from the type.
///
/// # Panics
/// Never: a schema is already a JSON value.
pub fn generated_schema() -> String {
    titled_schema::<Line>("trimtab trim, one line", SCHEMA)
}

/// Fields of a plan for a mount.
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
        "consent_missing": missing_consent(filesystem, request),
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
        "require_green": request.green_cluster,
        "probes": request.probes,
        "resumes": forecast.checkpoint.as_ref().map(|checkpoint| json!({
            "started_at": checkpoint.started_at,
            "visited_bytes": checkpoint.visited_bytes,
            "free_bytes": checkpoint.free_bytes,
        })),
    })
}

/// Fields of the end of a pass that did not begin.
pub fn not_begun(mount_point: &str, reason: &str, hints: &[String]) -> Value {
    json!({
        "mount_point": mount_point,
        "outcome": "refused",
        "reason": reason,
        "hints": hints,
    })
}

/// Fields of the end of a pass over a mount that was refused.
pub fn refused(mount_point: &str, refusal: &TrimRefusal) -> Value {
    let mut fields = not_begun(mount_point, &refusal.reason, &refusal.hints);
    fields["findings"] = json!(refusal.finding.as_slice());
    fields
}

/// Fields of a request to cancel a pass: `outcome` is `asked`, `forgotten` or `nothing_there`, `pid`
/// is the process that was asked to end.
pub fn cancelled(request: &Cancelled) -> Value {
    let (outcome, pid) = match request.outcome {
        CancelOutcome::Asked { pid } => ("asked", pid),
        CancelOutcome::Forgotten => ("forgotten", None),
        CancelOutcome::NothingThere => ("nothing_there", None),
    };
    json!({
        "path": request.path.to_string_lossy(),
        "outcome": outcome,
        "pid": pid,
    })
}

/// Fields of the progress of a pass, whichever process runs it.
pub fn pass_status(status: &PassStatus) -> Value {
    let (state, reason, pid, waits_for_window) = match &status.state {
        PassState::Running {
            pid,
            waits_for_window,
        } => ("running", None, Some(*pid), *waits_for_window),
        PassState::Stopped { reason } => ("stopped", Some(reason), None, false),
        PassState::Interrupted => ("interrupted", None, None, false),
        PassState::Unknown => ("unknown", None, None, false),
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

/// Fields of a message about a mount, or about the whole run.
pub fn note(mount_point: Option<&str>, text: &str) -> Value {
    json!({"mount_point": mount_point, "text": text})
}

fn unsplittable(survey: &Survey) -> Vec<Value> {
    let each = survey.unsplittable.iter();
    each.map(|part| json!({"what": part.what, "bytes": part.bytes}))
        .collect()
}

/// Returns type and fields of an event. The caller should rate-limit steps and waits.
pub fn event(event: &SessionEvent<'_>) -> (Kind, Value) {
    match event {
        SessionEvent::Note { mount_point, text } => (Kind::Note, note(*mount_point, text)),
        SessionEvent::Waiting {
            mount_point,
            reason,
            pause,
        } => {
            let pause_s = pause.as_secs_f64();
            let fields = json!({
                "mount_point": mount_point, "reason": reason, "pause_s": pause_s,
            });
            (Kind::Waiting, fields)
        }
        SessionEvent::Pass {
            mount_point,
            counters,
            event,
            ..
        } => pass_event(mount_point, counters, event),
        SessionEvent::Ended(summary) => (Kind::Ended, ended(summary)),
    }
}

fn pass_event(mount_point: &str, counters: &LayerCounters, event: &Event) -> (Kind, Value) {
    let (kind, mut fields) = match event {
        Event::Measuring { takes } => (Kind::Measuring, json!({"takes_s": takes.as_secs_f64()})),
        Event::Begins {
            survey,
            quiet,
            budgets,
            resumed_bytes,
        } => (
            Kind::Begins,
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
            Kind::Warning,
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
            // The requested range in the filesystem's own addresses, not FITRIM's answer.
            fields["range_start_bytes"] = step.range.start_bytes.into();
            fields["step_free_bytes"] = step.free_bytes.into();
            fields["step_free_extents"] = step.free_extents.into();
            fields["locked_s"] = locked.as_secs_f64().into();
            (Kind::Step, fields)
        }
        Event::Waiting {
            pause,
            reason,
            progress,
        } => {
            let mut fields = progressed(progress, counters);
            fields["pause_s"] = pause.as_secs_f64().into();
            fields["reason"] = reason.as_str().into();
            (Kind::Waiting, fields)
        }
        Event::Warning(text) => (Kind::Warning, json!({"text": text})),
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

/// Fields of the end of a pass. Fields starting with `resumed_` cover earlier sessions; `steps`,
/// `visited_bytes` and the layers' bytes include them, while `took_s` and `active_s` cover this
/// session alone.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_start_with_common_fields_and_have_no_control_characters() {
        let at = "2026-03-02T01:00:00Z".parse().unwrap();
        let line = Line::json(7, at, Kind::Note, json!({"text": "a\u{1b}[31m\u{202e}"}));
        assert!(!line.contains('\u{202e}') && !line.contains('\n'), "{line}");
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            line,
            json!({
                "schema": "trimtab.trim/1",
                "seq": 7,
                "type": "note",
                "at": "2026-03-02T01:00:00Z",
                "text": "a\u{1b}[31m\u{202e}",
            })
        );
    }

    #[test]
    fn lines_match_their_schema() {
        let schema: Value = serde_json::from_str(JSON_SCHEMA).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let line = Line::json(0, Timestamp::UNIX_EPOCH, Kind::Plan, json!({"notes": []}));
        let mut line: Value = serde_json::from_str(&line).unwrap();
        assert!(validator.is_valid(&line), "{line}");
        line["type"] = "other".into();
        assert!(!validator.is_valid(&line));
    }
}
