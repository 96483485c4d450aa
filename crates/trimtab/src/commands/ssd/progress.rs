//! How far simulations are: one line on a terminal, whatever the number of threads.

use crate::commands::trim::draw::Draw;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

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
        let _ = write!(
            text,
            "  {} left",
            report::human_duration(left.ceil() as u64)
        );
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
