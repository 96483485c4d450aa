//! How far a command is: one line on a terminal, drawn again and again, or a line now and then
//! elsewhere. All that is drawn while a command works is drawn here; answers are drawn by `page`.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How often the line is drawn at most.
const REDRAW_EVERY: Duration = Duration::from_millis(200);
/// How often a line is written where there is no terminal.
const TELL_EVERY: Duration = Duration::from_secs(30);
/// Terminals are wider, lines are not.
pub const COLUMNS_MAX: usize = 80;

/// Draws on standard error.
#[derive(Debug)]
pub struct Draw {
    quiet: bool,
    /// Columns of a terminal that can go back to a line's begin.
    columns: Option<usize>,
    drawn_at: Option<Instant>,
    told_at: Instant,
    is_shown: bool,
}

impl Draw {
    /// Looks at the terminal. `quiet` draws and says nothing.
    pub fn new(quiet: bool) -> Self {
        let stderr = std::io::stderr();
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let columns = (stderr.is_terminal() && !is_dumb).then(|| {
            let columns = rustix::termios::tcgetwinsize(&stderr).map_or(0, |size| size.ws_col);
            // One column is left: some terminals begin a new line when the last is filled.
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

    /// Whether the line is drawn again and again.
    pub fn is_live(&self) -> bool {
        self.columns.is_some()
    }

    /// Lines are only ever added, also on a terminal: what is shown there is kept with the answer.
    pub fn plain(quiet: bool) -> Self {
        Self {
            columns: None,
            ..Self::new(quiet)
        }
    }

    /// A message, above the line.
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

    /// The line as it stands now; elsewhere than on a terminal it is written now and then.
    pub fn show(&mut self, line: &str) {
        if self.quiet {
            return;
        }
        let now = Instant::now();
        let Some(columns) = self.columns else {
            if now.duration_since(self.told_at) >= TELL_EVERY {
                self.told_at = now;
                write(&format!("{line}\n"));
            }
            return;
        };
        if self
            .drawn_at
            .is_none_or(|at| now.duration_since(at) >= REDRAW_EVERY)
        {
            self.drawn_at = Some(now);
            self.is_shown = true;
            write(&format!("\r{}\x1b[K", units::cut(line, columns)));
        }
    }

    /// Takes the line away.
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

/// Progress is for people who are there; that nobody is, is no error.
fn write(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

/// What counts as done.
const WHOLE: u32 = 1_000_000;
/// Before this there is no telling how long it takes.
const GUESS_AFTER: Duration = Duration::from_secs(2);
/// Columns of the bar.
const BAR: usize = 24;

/// Several parts, each with its progress.
pub struct Meter {
    what: &'static str,
    parts: Vec<AtomicU32>,
    began: Instant,
    draw: Mutex<Draw>,
}

impl Meter {
    /// So many parts, none begun. `quiet` draws nothing.
    pub fn new(what: &'static str, parts: usize, quiet: bool) -> Self {
        Self {
            what,
            parts: (0..parts).map(|_| AtomicU32::new(0)).collect(),
            began: Instant::now(),
            draw: Mutex::new(Draw::new(quiet)),
        }
    }

    /// A part is so far.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // a share
    pub fn tell(&self, part: usize, done: u64, total: u64) {
        let share = done as f64 / total.max(1) as f64;
        let share = (share.clamp(0.0, 1.0) * f64::from(WHOLE)) as u32;
        self.parts[part].store(share, Ordering::Relaxed);
        // Another thread that draws is as good.
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
