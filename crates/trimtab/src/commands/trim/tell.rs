//! Where a run goes: people read standard error and standard output, programs a stream of objects.

use super::args::TrimFormat;
use super::draw::ProgressLine;
use super::lines::{self, Lines};
use crate::error::CommandError;
use crate::progress::Draw;
use report::escape;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use trim::events::{EventSink, SessionEvent};
use trim::pace::Settings;
use trim::pass::Event;
use trim::summary::PassSummary;

/// Steps and waits are told to programs no more often than this.
const STEP_EVERY: Duration = Duration::from_secs(1);

/// The way out of a run.
#[derive(Debug)]
pub struct Output {
    draw: Draw,
    lines: Option<Lines>,
    settings: Settings,
    /// The line of the pass that runs, and its mount point.
    line: Option<(String, ProgressLine)>,
    told_at: Option<Instant>,
    /// The pass that ended last.
    ended: Option<PassSummary>,
    /// Standard output failed in mid-pass: told at the end, the pass goes on.
    failed: Option<CommandError>,
}

impl Output {
    /// For a form of output; `settings` have the budgets that the progress line shows.
    pub fn new(format: TrimFormat, quiet: bool, settings: Settings) -> Self {
        let is_json = format == TrimFormat::Json;
        Self {
            draw: Draw::new(quiet || is_json),
            lines: is_json.then(Lines::default),
            settings,
            line: None,
            told_at: None,
            ended: None,
            failed: None,
        }
    }

    /// An object for programs; people get nothing.
    pub fn emit(&mut self, kind: &str, fields: Value) {
        let Some(lines) = &mut self.lines else {
            return;
        };
        if let Err(error) = lines.emit(kind, fields) {
            self.failed.get_or_insert(error);
        }
    }

    /// Text for standard output, where people read.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn print(&mut self, text: &str) -> Result<(), CommandError> {
        self.draw.clear();
        if self.lines.is_some() {
            return Ok(());
        }
        crate::output::print(text)
    }

    /// The summary of the pass that has just ended.
    pub fn take_ended(&mut self) -> Option<PassSummary> {
        self.ended.take()
    }

    /// What went wrong on standard output.
    ///
    /// # Errors
    /// The first failure.
    pub fn finish(self) -> Result<(), CommandError> {
        self.failed.map_or(Ok(()), Err)
    }

    fn pass_event(&mut self, mount_point: &str, drives: &[String], event: &Event) {
        if self.line.as_ref().is_none_or(|(of, _)| of != mount_point) {
            let shown = escape(mount_point).into_owned();
            let line = ProgressLine::new(shown, drives.to_vec(), self.settings.clone());
            self.line = Some((mount_point.to_owned(), line));
            self.told_at = None;
        }
        if let Some((_, line)) = &mut self.line {
            line.tell(&mut self.draw, event);
        }
    }

    /// Whether programs were told of a step or a wait a moment ago.
    fn is_soon(&mut self, event: &Event) -> bool {
        if !matches!(event, Event::Stepped { .. } | Event::Waiting { .. }) {
            return false;
        }
        if self.told_at.is_some_and(|at| at.elapsed() < STEP_EVERY) {
            return true;
        }
        self.told_at = Some(Instant::now());
        false
    }
}

impl EventSink for Output {
    fn event(&mut self, event: SessionEvent<'_>) {
        match event {
            SessionEvent::Note { mount_point, text } => {
                let subject = mount_point.map_or(String::new(), |point| format!("{point}: "));
                self.draw.say(&escape(&format!("{subject}{text}")));
                self.emit("note", json!({"mount_point": mount_point, "text": text}));
            }
            SessionEvent::Waiting {
                mount_point,
                reason,
                pause,
            } => {
                let pause_s = pause.as_secs_f64();
                let fields = json!({
                    "mount_point": mount_point, "reason": reason, "pause_s": pause_s,
                });
                self.emit("waiting", fields);
            }
            SessionEvent::Pass {
                mount_point,
                drives,
                counters,
                event,
            } => {
                self.pass_event(mount_point, drives, event);
                if self.lines.is_some() && !self.is_soon(event) {
                    let (kind, fields) = lines::event(mount_point, counters, event);
                    self.emit(kind, fields);
                }
            }
            SessionEvent::Ended(summary) => {
                self.emit("ended", lines::ended(summary));
                self.line = None;
                self.ended = Some(summary.clone());
            }
        }
    }
}
