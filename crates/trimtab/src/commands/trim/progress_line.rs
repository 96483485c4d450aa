//! Progress line of a pass.

use crate::progress::{COLUMNS_MAX, Draw};
use std::time::Duration;
use trim::pace::{Controller, QuietLevel, Settings};
use trim::pass::{Event, Progressed};
use units::{bytes, duration};

/// Without a terminal, waits at least this long get a line of their own.
const LONG_WAIT: Duration = Duration::from_secs(30);
/// Maximum width of the mount point, in columns.
const MOUNT_COLUMNS_MAX: usize = 18;

/// Turns the events of one pass into lines.
#[derive(Debug)]
pub struct ProgressLine {
    mount: String,
    /// Drives whose discarded bytes are counted.
    leaves: Vec<String>,
    settings: Settings,
    /// Budget of the drive probe.
    budget: Option<Duration>,
    waits: Option<String>,
}

impl ProgressLine {
    /// A progress line for one mount; `mount` is already escaped for a terminal.
    pub fn new(mount: String, leaves: Vec<String>, settings: Settings) -> Self {
        Self {
            mount,
            leaves,
            settings,
            budget: None,
            waits: None,
        }
    }

    /// Shows an event.
    pub fn tell(&mut self, draw: &mut Draw, event: &Event) {
        let mount = &self.mount;
        match event {
            Event::Measuring { takes } => draw.say(&format!(
                "{mount}: measuring for {} how quick the drives are without a trim",
                duration(*takes)
            )),
            Event::Begins {
                survey,
                quiet,
                budgets,
                resumed_bytes,
            } => {
                let resumed = if *resumed_bytes > 0 {
                    format!(", {} visited before", bytes(*resumed_bytes))
                } else {
                    String::new()
                };
                draw.say(&format!(
                    "{mount}: {}; {} free{resumed}",
                    survey.description,
                    bytes(survey.free_bytes)
                ));
                for budget in budgets {
                    draw.say(&format!("{mount}: {budget}"));
                }
                self.budget = self.budget_of(quiet);
            }
            Event::Unsplittable {
                what,
                bytes: size,
                predicted,
            } => {
                draw.say(&format!(
                    "{mount}: one step that cannot be split: {what}, {}, which may hold up an \
                     allocation for {}",
                    bytes(*size),
                    duration(*predicted)
                ));
            }
            Event::Stepped { progress, .. } => {
                self.waits = None;
                let line = self.line(progress);
                draw.show(&line);
            }
            Event::Waiting {
                pause,
                reason,
                progress,
            } => {
                let wait = format!("{mount}: waiting, {reason}");
                if draw.is_live() {
                    draw.show(&format!("{} | {reason}", self.head(progress)));
                } else if *pause >= LONG_WAIT && self.waits.as_ref() != Some(&wait) {
                    draw.say(&format!("{wait} ({})", duration(*pause)));
                    self.waits = Some(wait);
                } else {
                    draw.show(&wait);
                }
            }
            Event::Warning(text) => draw.say(&format!("{mount}: {text}")),
        }
    }

    fn budget_of(&self, quiet: &[(String, QuietLevel)]) -> Option<Duration> {
        let controller = Controller::new(self.settings.clone(), quiet.to_vec(), &[]);
        (!quiet.is_empty()).then(|| controller.budget(0))
    }

    /// Mount point and percentage.
    fn head(&self, progress: &Progressed) -> String {
        format!(
            "{}  {} %",
            shortened(&self.mount),
            units::share::percent_done(progress.visited_bytes, progress.free_bytes)
        )
    }

    /// `/data  43 %  1.3 GiB discarded  212 MiB/s  3 min left  reads 420 us/800 us`; parts that do not
    /// fit are left out.
    fn line(&self, progress: &Progressed) -> String {
        let freed = progress.discarded.sum(&self.leaves);
        let mut line = self.head(progress);
        let done = match freed {
            Some(freed) => format!("{} discarded", bytes(freed)),
            None => format!("{} visited", bytes(progress.visited_bytes)),
        };
        let left = progress.left.map(|left| format!("{} left", duration(left)));
        let latency = progress
            .latency
            .first()
            .map(|(_, level)| against(level.mean, self.budget));
        let speed = units::bytes_per_s(progress.rate_bytes_per_s);
        let parts = [Some(done), Some(speed), left, latency];
        for part in parts.into_iter().flatten() {
            if line.chars().count() + 2 + part.chars().count() < COLUMNS_MAX {
                line.push_str("  ");
                line.push_str(&part);
            }
        }
        line
    }
}

/// Mean latency and its budget: `reads 420 us/800 us`.
fn against(mean: Duration, budget: Option<Duration>) -> String {
    match budget {
        None => format!("reads {}", duration(mean)),
        Some(budget) => format!("reads {}/{}", duration(mean), duration(budget)),
    }
}

/// Shortens a long mount point to its end, the distinguishing part.
fn shortened(mount: &str) -> String {
    let columns = mount.chars().count();
    if columns <= MOUNT_COLUMNS_MAX {
        return mount.to_owned();
    }
    let end = mount.chars().skip(columns + 3 - MOUNT_COLUMNS_MAX);
    format!("...{}", end.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use trim::account::Discarded;

    fn line_of(mount: &str) -> ProgressLine {
        let mut line_of = ProgressLine::new(
            mount.to_owned(),
            vec!["sda".to_owned()],
            Settings::default(),
        );
        line_of.budget = Some(Duration::from_micros(800));
        line_of
    }

    fn progress() -> Progressed {
        let level = QuietLevel {
            mean: Duration::from_micros(420),
            p50: Duration::from_micros(400),
            p99: Duration::from_micros(900),
            readings: 50,
        };
        Progressed {
            steps: 7,
            free_bytes: 3 << 30,
            visited_bytes: 3 << 29,
            discarded: Discarded(BTreeMap::from([("sda".to_owned(), 1 << 30)])),
            active: Duration::from_secs(10),
            left: Some(Duration::from_secs(190)),
            rate_bytes_per_s: 212.0 * 1024.0 * 1024.0,
            latency: vec![("reads".to_owned(), level)],
        }
    }

    #[test]
    fn a_line_says_how_far_it_is() {
        assert_eq!(
            line_of("/data").line(&progress()),
            "/data  50 %  1 GiB discarded  212 MiB/s  3 min 10 s left  reads 420 us/800 us"
        );
    }

    #[test]
    fn a_line_fits_and_what_is_not_measurable_is_not_claimed() {
        let line = line_of("/srv/a/rather/long/mount/point/of/elasticsearch").line(&progress());
        assert!(line.chars().count() < COLUMNS_MAX, "{line}");
        assert!(line.starts_with("...f/elasticsearch  50 %"), "{line}");
        let mut old_kernel = progress();
        old_kernel.discarded = Discarded::default();
        let line = line_of("/data").line(&old_kernel);
        assert!(
            line.contains("1.5 GiB visited") && !line.contains("discarded"),
            "{line}"
        );
    }
}
