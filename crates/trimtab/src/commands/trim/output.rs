//! Where a run goes: progress to standard error, and the answer, or a stream of objects for programs, to
//! standard output or `-o FILE`.

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

/// Steps and waits are told to programs no more often than this.
const STEP_EVERY: Duration = Duration::from_secs(1);

/// The way out of a run.
#[derive(Debug)]
pub struct Output<'a> {
    delivery: Delivery<'a>,
    arguments: &'a AnswerArgs,
    draw: Draw,
    settings: Settings,
    /// The line of the pass that runs, and its mount point.
    line: Option<(String, ProgressLine)>,
    told_at: Option<Instant>,
    /// The pass that ended last.
    ended: Option<PassSummary>,
    /// Ends of passes that were not shown yet.
    ends: Vec<PassEnd>,
    /// Pages that were printed.
    printed: usize,
    /// Lines of the stream so far.
    seq: u64,
    /// Those that wait for the end, to be written to a file.
    lines: String,
    /// Standard output failed in mid-pass: told at the end, the pass goes on.
    failed: Option<CommandError>,
}

impl<'a> Output<'a> {
    /// In the form that the arguments and the configuration ask for; `settings` have the budgets that the
    /// progress line shows.
    ///
    /// # Errors
    /// When the form and the name of the file disagree.
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

    /// Whether the answer is kept, and has to be complete by itself: errors go to standard error.
    pub fn is_document(&self) -> bool {
        matches!(self.delivery.format, Format::Markdown | Format::Html)
    }

    /// A line for programs; people get nothing.
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

    /// A whole answer for people; programs had it line by line.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn show(&mut self, page: Page) -> Result<(), CommandError> {
        self.draw.clear();
        if self.delivery.format == Format::Json {
            return Ok(());
        }
        self.give(page)
    }

    /// Below an answer that is kept stands when it was made.
    fn give(&self, mut page: Page) -> Result<(), CommandError> {
        if self.is_document() {
            let at = generated_at()?;
            let version = env!("CARGO_PKG_VERSION");
            page.about.push(report::trim::origin(at, version));
        }
        self.delivery.give(|_| page, String::new)
    }

    /// The end of a pass: shown at once where people read along, else when all passes are over.
    ///
    /// # Errors
    /// Where it cannot be written.
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

    /// Takes the progress line away, for a message that is written past it.
    pub fn clear(&mut self) {
        self.draw.clear();
    }

    /// The summary of the pass that has just ended.
    pub fn take_ended(&mut self) -> Option<PassSummary> {
        self.ended.take()
    }

    /// Writes what waited for the end.
    ///
    /// # Errors
    /// The first failure of the run's output.
    pub fn finish(mut self) -> Result<(), CommandError> {
        self.draw.clear();
        if self.delivery.format == Format::Json {
            if self.arguments.output.file().is_some() {
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

    /// Whether programs were told of a step or a wait a moment ago.
    fn is_soon(&mut self, event: &SessionEvent<'_>) -> bool {
        let SessionEvent::Pass { event, .. } = event else {
            return false;
        };
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
