//! Progress of a command: a line redrawn in place on a terminal, a line now and then elsewhere. All
//! progress output is drawn here; results are rendered by `page`.

use rayon::prelude::*;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use units::escape::escape;

/// Minimum time between redraws.
const REDRAW_EVERY: Duration = Duration::from_millis(200);
/// Time between lines without a terminal.
const TELL_EVERY: Duration = Duration::from_secs(30);
/// Maximum width of a line, even on wider terminals.
pub const COLUMNS_MAX: usize = 80;

/// Progress output on standard error.
#[derive(Debug)]
pub struct Draw {
    quiet: bool,
    /// Usable columns, if the terminal can redraw a line.
    columns: Option<usize>,
    drawn_at: Option<Instant>,
    told_at: Instant,
    is_shown: bool,
}

impl Draw {
    /// Detects the terminal. `quiet` suppresses all output.
    pub fn new(quiet: bool) -> Self {
        let stderr = std::io::stderr();
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let columns = (stderr.is_terminal() && !is_dumb).then(|| {
            let columns = rustix::termios::tcgetwinsize(&stderr).map_or(0, |size| size.ws_col);
            // Leave one column free: some terminals wrap when the last one is filled.
            match usize::from(columns) {
                0 => COLUMNS_MAX - 1,
                columns => columns.min(COLUMNS_MAX) - 1,
            }
        });
        Self {
            quiet,
            columns,
            drawn_at: None,
            told_at: Instant::now(),
            is_shown: false,
        }
    }

    /// Whether the line is redrawn in place.
    pub fn is_live(&self) -> bool {
        self.columns.is_some()
    }

    /// Only appends lines, even on a terminal, so that they remain next to the output.
    pub fn plain(quiet: bool) -> Self {
        Self {
            columns: None,
            ..Self::new(quiet)
        }
    }

    /// Prints a message above the progress line.
    pub fn say(&mut self, text: &str) {
        if self.quiet {
            return;
        }
        self.clear();
        for (index, line) in page::wrap(text, COLUMNS_MAX - 2).iter().enumerate() {
            let indent = if index > 0 { "  " } else { "" };
            write(&format!("{indent}{line}\n"));
        }
    }

    /// Updates the progress line; without a terminal it is printed now and then.
    pub fn show(&mut self, line: &str) {
        if self.quiet {
            return;
        }
        let now = Instant::now();
        let Some(columns) = self.columns else {
            if now.duration_since(self.told_at) >= TELL_EVERY {
                self.told_at = now;
                write(&format!("{}\n", escape(line)));
            }
            return;
        };
        if self
            .drawn_at
            .is_none_or(|at| now.duration_since(at) >= REDRAW_EVERY)
        {
            self.drawn_at = Some(now);
            self.is_shown = true;
            write(&format!("\r{}\x1b[K", units::cut(&escape(line), columns)));
        }
    }

    /// Clears the progress line.
    pub fn clear(&mut self) {
        if self.is_shown {
            self.is_shown = false;
            self.drawn_at = None;
            write("\r\x1b[K");
        }
    }
}

impl Drop for Draw {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Ignores errors: progress is optional.
fn write(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

/// The value of a completed part.
const WHOLE: u32 = 1_000_000;
/// Time before the remaining time is estimated.
const GUESS_AFTER: Duration = Duration::from_secs(2);
/// Width of the bar in columns.
const BAR: usize = 24;

/// Progress of several parts that run in parallel.
pub struct Meter {
    what: &'static str,
    parts: Vec<AtomicU32>,
    began: Instant,
    draw: Mutex<Draw>,
}

impl Meter {
    /// A meter of `parts` parts, none started. `quiet` draws nothing.
    pub fn new(what: &'static str, parts: usize, quiet: bool) -> Self {
        Self {
            what,
            parts: (0..parts).map(|_| AtomicU32::new(0)).collect(),
            began: Instant::now(),
            draw: Mutex::new(Draw::new(quiet)),
        }
    }

    /// Runs `one` for each of the parts, in parallel. `one` reports how much of its part is done, and out of how much.
    pub fn run<P: Sync, O: Send>(
        what: &'static str,
        parts: &[P],
        quiet: bool,
        one: impl Fn(&P, &(dyn Fn(u64, u64) + Sync)) -> O + Sync,
    ) -> Vec<O> {
        let meter = Self::new(what, parts.len(), quiet);
        let parts = parts.par_iter().enumerate();
        parts
            .map(|(index, part)| {
                let outcome = one(part, &|done, total| meter.tell(index, done, total));
                meter.tell(index, 1, 1);
                outcome
            })
            .collect()
    }

    /// Updates the progress of a part.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // a share
    pub fn tell(&self, part: usize, done: u64, total: u64) {
        let share = done as f64 / total.max(1) as f64;
        let share = (share.clamp(0.0, 1.0) * f64::from(WHOLE)) as u32;
        self.parts[part].store(share, Ordering::Relaxed);
        // If another thread is drawing, skip this update.
        if let Ok(mut draw) = self.draw.try_lock() {
            draw.show(&self.line());
        }
    }

    fn line(&self) -> String {
        let shares = self.parts.iter().map(|part| part.load(Ordering::Relaxed));
        let whole: u64 = shares.clone().map(u64::from).sum();
        #[allow(clippy::cast_precision_loss)] // a share
        let share = whole as f64 / (f64::from(WHOLE) * self.parts.len().max(1) as f64);
        line(
            self.what,
            share,
            (
                shares.filter(|&share| share == WHOLE).count(),
                self.parts.len(),
            ),
            self.began.elapsed(),
        )
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // shares
fn line(what: &str, share: f64, (done, parts): (usize, usize), took: Duration) -> String {
    let filled = (share * 24.0) as usize;
    let mut text = format!(
        "{what} [{:<BAR$}] {:>3} %",
        "#".repeat(filled.min(BAR)),
        (share * 100.0) as u32
    );
    if parts > 1 {
        let _ = write!(text, "  {done} of {parts}");
    }
    if took >= GUESS_AFTER && share > 0.01 {
        let left = took.as_secs_f64() * (1.0 - share) / share;
        let _ = write!(text, "  {} left", units::seconds(left.ceil()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is() {
        assert_eq!(
            line("simulating", 0.5, (1, 4), Duration::from_secs(10)),
            "simulating [############            ]  50 %  1 of 4  10 s left"
        );
        assert_eq!(
            line("simulating", 0.0, (0, 1), Duration::ZERO),
            "simulating [                        ]   0 %"
        );
    }

    #[test]
    fn parts_add_up() {
        let meter = Meter::new("simulating", 2, true);
        meter.tell(0, 10, 10);
        meter.tell(1, 0, 10);
        assert!(meter.line().contains("50 %  1 of 2"), "{}", meter.line());
    }
}
