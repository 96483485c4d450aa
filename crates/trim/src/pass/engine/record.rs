//! Records the progress of a pass, for display and for the checkpoint.

use super::state::{Engine, Judged, Recent, ratio};
use crate::pass::model::{Ended, Progressed};
use crate::state::{CHECKPOINT_SCHEMA, Checkpoint, Phase, boot_id};
use std::time::Duration;

/// Rates are averaged over this time.
const RATE_OVER: Duration = Duration::from_mins(1);

impl Engine<'_> {
    pub(super) fn progressed(&mut self, judged: Option<&Judged>) -> Progressed {
        let now = self.parts.clock.elapsed();
        while self
            .recent
            .front()
            .is_some_and(|step| now.saturating_sub(step.at) > RATE_OVER)
        {
            self.recent.pop_front();
        }
        let since = self.stepping_since.unwrap_or(now);
        let span = now.saturating_sub(since).min(RATE_OVER);
        let per_s = |bytes: u64| {
            if span.is_zero() {
                0.0
            } else {
                ratio(bytes, 1) / span.as_secs_f64()
            }
        };
        let sum = |of: fn(&Recent) -> u64| self.recent.iter().map(of).fold(0, u64::saturating_add);
        let discarding = per_s(sum(|step| {
            step.discarded_bytes.unwrap_or(step.visited_bytes)
        }));
        let visiting = per_s(sum(|step| step.visited_bytes));
        let visited_bytes = self
            .earlier
            .visited_bytes
            .saturating_add(self.now.visited_bytes);
        // Covers the whole filesystem, even in a later session.
        let free_bytes = self.survey.as_ref().map_or(0, |survey| survey.free_bytes);
        let left = (visiting > 0.0).then(|| {
            let bytes = free_bytes.saturating_sub(visited_bytes);
            Duration::try_from_secs_f64(ratio(bytes, 1) / visiting).unwrap_or(Duration::MAX)
        });
        let mut discarded = self.earlier.discarded.clone();
        discarded.add(&self.now.discarded);
        let latency = judged.map_or_else(Vec::new, |judged| {
            self.quiet
                .iter()
                .enumerate()
                .filter_map(|(index, (label, _))| {
                    Some((label.clone(), judged.controller.seen(index)?))
                })
                .collect()
        });
        Progressed {
            steps: self.earlier.steps.saturating_add(self.now.steps),
            free_bytes,
            visited_bytes,
            discarded,
            active: now.saturating_sub(self.began),
            left,
            rate_bytes_per_s: discarding,
            latency,
        }
    }

    pub(super) fn save(&mut self, judged: &Judged, phase: Phase) -> Result<(), Ended> {
        let progress = self.progressed(Some(judged));
        self.save_progress(&progress, phase).map_err(Ended::failed)
    }

    fn save_progress(&mut self, progress: &Progressed, phase: Phase) -> Result<(), String> {
        let clock = self.parts.clock;
        let checkpoint = Checkpoint {
            schema: CHECKPOINT_SCHEMA.to_owned(),
            identity: self.parts.target.identity.clone(),
            mount_point: self.parts.target.mount_point.display().to_string(),
            started_at: self.started_at,
            updated_at: clock.wall(),
            cursor: self.cursor,
            steps: progress.steps,
            free_bytes: progress.free_bytes,
            visited_bytes: progress.visited_bytes,
            discarded_bytes: progress.discarded.0.clone(),
            active_s: self
                .earlier
                .active
                .saturating_add(progress.active)
                .as_secs_f64(),
            phase,
            remark: progress
                .latency
                .first()
                .map(|(label, level)| format!("{label}: mean {}", units::duration(level.mean))),
            left_s: progress.left.map(|left| left.as_secs_f64()),
            boot_id: boot_id(),
        };
        self.saved_at = Some(clock.elapsed());
        self.parts
            .state
            .save(&checkpoint)
            .map_err(|error| format!("the checkpoint could not be written: {error}"))
    }

    /// Leaves the checkpoint that suits the way the pass ended.
    pub(super) fn finish_checkpoint(&mut self, ended: Ended) -> Ended {
        let key = self.parts.target.identity.key();
        let stopped = match &ended {
            // What was swallowed has to be trimmed again once the stack is fixed.
            Ended::Complete | Ended::Cancelled | Ended::Swallowed(_) => {
                return match self.parts.state.forget(&key) {
                    Ok(()) => ended,
                    Err(error) => {
                        Ended::failed(format!("the checkpoint could not be removed: {error}"))
                    }
                };
            }
            Ended::Stopped { reason } | Ended::Failed { reason, .. } => reason.clone(),
            Ended::Signal(number) => format!("signal {number}"),
        };
        // Nothing was done yet: keep the checkpoint of an earlier session as it is.
        if self.now.steps == 0 && self.saved_at.is_none() {
            return ended;
        }
        let progress = self.progressed(None);
        let phase = Phase::Stopped { reason: stopped };
        match (self.save_progress(&progress, phase), ended) {
            (Ok(()), ended) | (Err(_), ended @ Ended::Failed { .. }) => ended,
            (Err(reason), _) => Ended::failed(reason),
        }
    }
}
