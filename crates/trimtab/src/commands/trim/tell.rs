//! Who is told: people on standard error, or programs on standard output.

use super::draw::{Draw, Narrator};
use super::layers::Ways;
use super::lines::{self, Lines};
use crate::cli::TrimFormat;
use crate::error::CommandError;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use trim::pace::Settings;
use trim::pass::{Event, Progress};

/// Steps and waits are told to programs no more often than this.
const STEP_EVERY: Duration = Duration::from_secs(1);

/// The way out of a run.
#[derive(Debug)]
pub struct Teller {
    draw: Draw,
    lines: Option<Lines>,
    /// Standard output failed in mid-pass: told at the end, the pass goes on.
    failed: Option<CommandError>,
}

impl Teller {
    /// For a form of output.
    pub fn new(format: TrimFormat, quiet: bool) -> Self {
        let is_json = format == TrimFormat::Json;
        Self {
            draw: Draw::new(quiet || is_json),
            lines: is_json.then(Lines::default),
            failed: None,
        }
    }

    /// Whether programs read along.
    pub fn is_json(&self) -> bool {
        self.lines.is_some()
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

    /// A message about a mount.
    pub fn say(&mut self, mount_point: &str, text: &str) {
        self.draw
            .say(&format!("{}: {text}", report::escape(mount_point)));
        self.emit("note", json!({"mount_point": mount_point, "text": text}));
    }

    /// A message about the run.
    pub fn remark(&mut self, text: &str) {
        self.draw.say(text);
        self.emit("note", json!({"mount_point": null, "text": text}));
    }

    /// Text for standard output, where people read.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn print(&mut self, text: &str) -> Result<(), CommandError> {
        self.draw.clear();
        if self.is_json() {
            return Ok(());
        }
        crate::output::print(text)
    }

    /// What went wrong on standard output.
    ///
    /// # Errors
    /// The first failure.
    pub fn finish(self) -> Result<(), CommandError> {
        self.failed.map_or(Ok(()), Err)
    }
}

/// Hears one pass.
#[derive(Debug)]
pub struct Ear<'t> {
    teller: &'t mut Teller,
    mount_point: String,
    narrator: Narrator,
    ways: &'t Ways,
    told_at: Option<Instant>,
    /// What was warned of, for the audit log.
    pub warnings: Vec<String>,
}

impl<'t> Ear<'t> {
    /// For one mount.
    pub fn new(
        teller: &'t mut Teller,
        mount_point: &str,
        leaves: Vec<String>,
        ways: &'t Ways,
        settings: Settings,
    ) -> Self {
        let shown = report::escape(mount_point).into_owned();
        Self {
            teller,
            mount_point: mount_point.to_owned(),
            narrator: Narrator::new(shown, leaves, settings),
            ways,
            told_at: None,
            warnings: Vec::new(),
        }
    }
}

impl Progress for Ear<'_> {
    fn event(&mut self, event: &Event) {
        if let Event::Warning(text) = event {
            self.warnings.push(text.clone());
        }
        self.narrator.tell(&mut self.teller.draw, event);
        if !self.teller.is_json() {
            return;
        }
        if matches!(event, Event::Stepped { .. } | Event::Waiting { .. }) {
            let is_soon = self.told_at.is_some_and(|at| at.elapsed() < STEP_EVERY);
            if is_soon {
                return;
            }
            self.told_at = Some(Instant::now());
        }
        let (kind, fields) = lines::event(&self.mount_point, self.ways, event);
        self.teller.emit(kind, fields);
    }
}
