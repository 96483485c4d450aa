//! Output of a run: progress to standard error; the result, or a stream of JSON lines, to standard output
//! or `-o FILE`.

use super::progress_line::ProgressLine;
use crate::answer::{AnswerArgs, Delivery, Format, generated_at};
use crate::error::CommandError;
use crate::output;
use crate::progress::Draw;
use jiff::Timestamp;
use page::Page;
use report::trim::PassEnd;
use report::trim::lines::{self, Kind, Line};
use serde_json::Value;
use std::time::{Duration, Instant};
use trim::events::{EventSink, SessionEvent};
use trim::pace::Settings;
use trim::pass::Event;
use trim::summary::PassSummary;
use units::escape;

/// Minimum time between steps or waits in the JSON stream.
const STEP_EVERY: Duration = Duration::from_secs(1);

/// Output of a run.
#[derive(Debug)]
pub struct Output<'a> {
    delivery: Delivery<'a>,
    arguments: &'a AnswerArgs,
    draw: Draw,
    settings: Settings,
    /// Mount point of the current pass and its progress line.
    line: Option<(String, ProgressLine)>,
    told_at: Option<Instant>,
    /// Summary of the last pass that ended.
    pub ended: Option<PassSummary>,
    /// Results not shown yet.
    ends: Vec<PassEnd>,
    /// Number of pages printed.
    printed: usize,
    /// Number of JSON lines emitted.
    seq: u64,
    /// JSON lines to be written to a file at the end.
    lines: String,
    /// First write error of standard output; the pass continues and the error is reported at the end.
    failed: Option<CommandError>,
}

impl<'a> Output<'a> {
    /// Uses the format of the arguments or the configuration; `settings` hold the budgets shown in the
    /// progress line.
    ///
    /// # Errors
    /// When the format and the file name disagree.
    pub fn new(
        arguments: &'a AnswerArgs,
        configured: Option<Format>,
        quiet: bool,
        settings: Settings,
    ) -> Result<Self, CommandError> {
        let delivery = Delivery::of(arguments, configured)?;
        let draw = match delivery.format {
            Format::Text => Draw::new(quiet),
            Format::Json => Draw::new(true),
            Format::Markdown | Format::Html => Draw::plain(quiet),
        };
        Ok(Self {
            delivery,
            arguments,
            draw,
            settings,
            line: None,
            told_at: None,
            ended: None,
            ends: Vec::new(),
            printed: 0,
            seq: 0,
            lines: String::new(),
            failed: None,
        })
    }

    /// Whether the output is a document that must be complete in itself; errors still go to standard error.
    pub fn is_document(&self) -> bool {
        matches!(self.delivery.format, Format::Markdown | Format::Html)
    }

    /// Emits a JSON line; other formats ignore it.
    pub fn emit(&mut self, kind: Kind, fields: Value) {
        if self.delivery.format != Format::Json {
            return;
        }
        let mut line = Line::json(self.seq, Timestamp::now(), kind, fields);
        line.push('\n');
        self.seq += 1;
        if self.arguments.output.file().is_some() {
            self.lines.push_str(&line);
        } else if let Err(error) = output::print(&line) {
            self.failed.get_or_insert(error);
        }
    }

    /// Shows a page; the JSON stream has already delivered it line by line.
    ///
    /// # Errors
    /// When writing fails.
    pub fn show(&mut self, page: Page) -> Result<(), CommandError> {
        self.draw.clear();
        if self.delivery.format == Format::Json {
            return Ok(());
        }
        self.give(page)
    }

    /// Writes a page; documents get a footer with time and version.
    fn give(&self, mut page: Page) -> Result<(), CommandError> {
        if self.is_document() {
            let at = generated_at()?;
            page.about
                .push(report::trim::origin(at, crate::version::VERSION));
        }
        self.delivery.give(|_| page, String::new)
    }

    /// Shows the result of a pass: immediately for text on standard output, else when all passes are done.
    ///
    /// # Errors
    /// When writing fails.
    pub fn show_end(&mut self, end: PassEnd) -> Result<(), CommandError> {
        self.draw.clear();
        let is_text = self.delivery.format == Format::Text;
        if !is_text || self.arguments.output.file().is_some() {
            self.ends.push(end);
            return Ok(());
        }
        if matches!(end, PassEnd::NotBegun { .. }) {
            // Standard error says why.
            return Ok(());
        }
        if self.printed > 0 {
            output::print("\n")?;
        }
        self.printed += 1;
        self.give(report::trim::summary(&[end]))
    }

    /// Clears the progress line before a message is written around it.
    pub fn clear(&mut self) {
        self.draw.clear();
    }

    /// Writes what was kept until the end. A call that failed without a line leaves a file as it was.
    ///
    /// # Errors
    /// The first write error of the run.
    pub fn finish(mut self, has_failed: bool) -> Result<(), CommandError> {
        self.draw.clear();
        if self.delivery.format == Format::Json {
            let has_lines = !self.lines.is_empty();
            if self.arguments.output.file().is_some() && (has_lines || !has_failed) {
                self.arguments.output.write(&self.lines)?;
            }
        } else if !self.ends.is_empty() {
            self.give(report::trim::summary(&self.ends))?;
        }
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

    /// Whether a step or wait was emitted less than [`STEP_EVERY`] ago.
    fn is_soon(&mut self, event: &SessionEvent<'_>) -> bool {
        let SessionEvent::Pass { event, .. } = event else {
            return false;
        };
        match event {
            Event::Stepped { .. } => {}
            // A longer one is reported once, as the wait for a window is.
            Event::Waiting { pause, .. } if *pause < STEP_EVERY => {}
            _ => return false,
        }
        if self.told_at.is_some_and(|at| at.elapsed() < STEP_EVERY) {
            return true;
        }
        self.told_at = Some(Instant::now());
        false
    }
}

impl EventSink for Output<'_> {
    fn event(&mut self, event: SessionEvent<'_>) {
        match &event {
            SessionEvent::Note { mount_point, text } => {
                let subject = mount_point.map_or(String::new(), |point| format!("{point}: "));
                self.draw.say(&escape(&format!("{subject}{text}")));
            }
            SessionEvent::Waiting { .. } => {}
            SessionEvent::Pass {
                mount_point,
                drives,
                event,
                ..
            } => self.pass_event(mount_point, drives, event),
            SessionEvent::Ended(summary) => {
                self.line = None;
                self.ended = Some((*summary).clone());
            }
        }
        if self.delivery.format == Format::Json && !self.is_soon(&event) {
            let (kind, fields) = lines::event(&event);
            self.emit(kind, fields);
        }
    }
}
