//! How a pass ended, in plain words.

use super::lines;
use super::over::Over;
use super::words::{Page, count, list, long, rate, short};
use facts::Finding;
use report::human_bytes;
use std::time::Duration;
use trim::account::Swallowed;
use trim::pace::QuietLevel;
use trim::pass::Ended;

/// What is told of a pass that has ended.
pub struct Ending<'a> {
    /// The mount point, fit for a terminal.
    pub mount: &'a str,
    pub over: &'a Over<'a>,
    /// Findings that explain why discards are swallowed.
    pub explained: &'a [Finding],
    /// The words of the command that goes on: `trimtab trim /data`.
    pub command: &'a str,
    /// How long the quiet level was measured.
    pub measuring: Duration,
}

/// Writes the summary.
pub fn write(page: &mut Page, ending: &Ending<'_>) {
    let outcome = ending.over.outcome;
    let mount = ending.mount;
    page.head(&match &outcome.ended {
        Ended::Complete => format!("{mount}: complete"),
        Ended::Stopped { reason } => format!("{mount}: stopped: {reason}"),
        Ended::Signal(_) => format!(
            "{mount}: ended by {}",
            lines::reason(&outcome.ended).unwrap_or_default()
        ),
        Ended::Cancelled => format!("{mount}: cancelled; its checkpoint is forgotten"),
        Ended::Swallowed(swallowed) => format!("{mount}: {}", swallowed_words(swallowed)),
        Ended::Failed { reason, .. } => format!("{mount}: failed: {reason}"),
    });
    if outcome.survey.is_some() || outcome.progress.steps > 0 {
        figures(page, ending);
    }
    for finding in ending.explained {
        page.finding(finding);
    }
    if matches!(outcome.ended, Ended::Swallowed(_)) && ending.explained.is_empty() {
        page.row(
            "why",
            "no rule knows this stack: look at the settings of the layer that takes discards and \
             passes none on; `trimtab check -v` draws it",
        );
    }
    if lines::is_resumable(&outcome.ended) {
        page.row("to go on", &format!("`{}`", ending.command));
    }
}

fn figures(page: &mut Page, ending: &Ending<'_>) {
    let (outcome, earlier) = (ending.over.outcome, &ending.over.earlier);
    let progress = &outcome.progress;
    page.rows("freed", &freed(page, ending.over));
    let before = if earlier.visited_bytes > 0 {
        format!(
            ", {} of it in earlier sittings",
            human_bytes(earlier.visited_bytes)
        )
    } else {
        String::new()
    };
    page.row("visited", &format!("{}{before}", visited(ending.over)));
    let measuring = ending.measuring.min(progress.active);
    let (sitting, steps) = if ending.over.is_resumed {
        (
            "in this sitting ",
            progress.steps.saturating_sub(earlier.steps),
        )
    } else {
        ("", progress.steps)
    };
    page.row(
        "took",
        &format!(
            "{sitting}{}, {} of it measuring before; {}, {} visited",
            long(progress.active),
            long(measuring),
            count(steps, "step"),
            rate(mean_rate(
                progress.visited_bytes.saturating_sub(earlier.visited_bytes),
                progress.active.saturating_sub(measuring)
            ))
        ),
    );
    if ending.over.is_resumed {
        page.row(
            "in all",
            &format!(
                "{}, {}; what was freed and visited is that of all sittings",
                long(earlier.active.saturating_add(progress.active)),
                count(progress.steps, "step")
            ),
        );
    }
    for (label, quiet) in &outcome.quiet {
        let during = progress
            .latency
            .iter()
            .find(|(known, _)| known == label)
            .map(|(_, level)| level);
        page.row("latency", &latency(label, quiet, during));
    }
    if !outcome.longest_step.is_zero() {
        let locked = if outcome.locks_whole_steps {
            "an allocation that needed just its space waited so long"
        } else {
            "one free extent after the other was locked meanwhile"
        };
        page.row(
            "one step",
            &format!("took {} at most; {locked}", short(outcome.longest_step)),
        );
    }
}

/// A pass that is complete has been everywhere, whatever the figures: what is free changes meanwhile,
/// and Btrfs' unallocated space is visited in each sitting.
fn visited(over: &Over<'_>) -> String {
    let progress = &over.outcome.progress;
    let (visited, free) = (progress.visited_bytes, human_bytes(progress.free_bytes));
    let is_complete = over.outcome.ended == Ended::Complete;
    match (is_complete, visited >= progress.free_bytes) {
        (true, true) => format!("{free} of free space, all of it"),
        (true, false) => format!(
            "{}: all that was still free, of {free} at the beginning",
            human_bytes(visited)
        ),
        (false, false) => format!("{} of {free} of free space", human_bytes(visited)),
        (false, true) => format!(
            "{} in a free space of {free}, some of it twice and not yet all of it",
            human_bytes(visited)
        ),
    }
}

#[allow(clippy::cast_precision_loss)] // a rate for people
fn mean_rate(bytes: u64, over: Duration) -> f64 {
    if over.is_zero() {
        0.0
    } else {
        bytes as f64 / over.as_secs_f64()
    }
}

/// A line for each group of layers that saw the same.
fn freed(page: &Page, over: &Over<'_>) -> Vec<String> {
    let outcome = over.outcome;
    let tops = || list(&over.ways.top());
    if !outcome.measurable {
        let text = if over.kernel_counts {
            let verb = if over.ways.top().len() > 1 {
                "count"
            } else {
                "counts"
            };
            format!(
                "not measurable: {} {verb} nothing (queue/iostats is 0, or NVMe multipath before \
                 Linux 6.2)",
                tops()
            )
        } else {
            "not measurable on this kernel: it counts no discards (4.18 and later do)".to_owned()
        };
        return report::wrap(&text, page.room());
    }
    let mut groups: Vec<(Option<u64>, Vec<String>)> = Vec::new();
    for seen in over.seen() {
        let name = seen.layer.device.clone();
        match groups
            .iter_mut()
            .find(|(known, _)| *known == seen.discarded_bytes)
        {
            Some((_, names)) => names.push(name),
            None => groups.push((seen.discarded_bytes, vec![name])),
        }
    }
    let free = human_bytes(outcome.progress.free_bytes);
    let mut of = format!(" of {free} free");
    groups
        .iter()
        .flat_map(|(bytes, names)| {
            let text = match bytes {
                None => format!("not counted at {}", list(names)),
                Some(bytes) => {
                    let each = if names.len() > 1 { " each" } else { "" };
                    let of = std::mem::take(&mut of);
                    format!("{}{each} at {}{of}", human_bytes(*bytes), list(names))
                }
            };
            report::wrap(&text, page.room())
        })
        .collect()
}

fn latency(label: &str, quiet: &QuietLevel, during: Option<&QuietLevel>) -> String {
    let words =
        |level: &QuietLevel| format!("mean {}, p99 {}", short(level.mean), short(level.p99));
    match during {
        Some(during) => format!("{label}: {}; quiet: {}", words(during), words(quiet)),
        None => format!(
            "{label}: quiet: {}; too few readings during the pass",
            words(quiet)
        ),
    }
}

/// At which layer discards end.
pub fn swallowed_words(swallowed: &Swallowed) -> String {
    let taken = human_bytes(swallowed.taken_bytes);
    match &swallowed.device {
        Some(device) => format!(
            "stopped: discards end at {device}: it took {taken}, the drives below saw {}. Nothing \
             is freed by going on",
            human_bytes(swallowed.passed_bytes)
        ),
        None => format!(
            "stopped: the filesystem says that it trimmed {taken}, and no device saw a discard. \
             Nothing is freed by going on"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use trim::account::{Discarded, LayerName};
    use trim::geometry::Survey;
    use trim::pass::Progressed;

    fn level(mean_us: u64, p99_us: u64) -> QuietLevel {
        QuietLevel {
            mean: Duration::from_micros(mean_us),
            p50: Duration::from_micros(mean_us),
            p99: Duration::from_micros(p99_us),
            readings: 100,
        }
    }

    fn outcome(ended: Ended, measurable: bool) -> Outcome {
        let discarded = BTreeMap::from([
            ("md0".to_owned(), 3_113_851_290),
            ("nvme0n1".to_owned(), 1_556_925_645),
            ("nvme1n1".to_owned(), 1_556_925_645),
        ]);
        Outcome {
            ended,
            progress: Progressed {
                steps: 673,
                free_bytes: 3 << 30,
                visited_bytes: 3 << 30,
                discarded: Discarded(if measurable {
                    discarded
                } else {
                    BTreeMap::new()
                }),
                active: Duration::from_millis(12_340),
                left: None,
                rate_bytes_per_s: 250.0 * 1024.0 * 1024.0,
                latency: vec![("4 KiB reads".to_owned(), level(210, 900))],
            },
            survey: Some(Survey {
                description: "XFS".to_owned(),
                free_bytes: 3 << 30,
                free_extents: Some(5017),
                largest_extent_bytes: Some(1 << 20),
                steps: 673,
                unsplittable: Vec::new(),
                size_bytes: 4 << 30,
            }),
            quiet: vec![("4 KiB reads".to_owned(), level(150, 400))],
            longest_step: Duration::from_millis(56),
            locks_whole_steps: true,
            measurable,
        }
    }

    fn text(outcome: &Outcome) -> String {
        let layer = |device: &str, depth, is_leaf| LayerName {
            device: device.to_owned(),
            depth,
            is_leaf,
            is_mapped: false,
        };
        let layers = Layers {
            layers: vec![
                layer("md0", 0, false),
                layer("nvme0n1", 1, true),
                layer("nvme1n1", 1, true),
            ],
        };
        let mut page = Page::new(80);
        write(
            &mut page,
            &Ending {
                mount: "/data",
                outcome,
                layers: &layers,
                explained: &[],
                command: "trimtab trim /data",
                resumed_bytes: 0,
                measuring: Duration::from_secs(5),
            },
        );
        page.finish()
    }

    #[test]
    fn a_complete_pass_in_plain_words() {
        insta::assert_snapshot!(text(&outcome(Ended::Complete, true)));
    }

    #[test]
    fn an_old_kernel_claims_nothing() {
        let text = text(&outcome(Ended::Complete, false));
        assert!(
            text.contains("freed       not measurable on this kernel"),
            "{text}"
        );
    }

    #[test]
    fn what_can_go_on_says_how_and_what_cannot_does_not() {
        let resumable = "`trimtab trim /data`";
        for (ended, goes_on) in [
            (Ended::Signal(2), true),
            (
                Ended::Stopped {
                    reason: "budget".to_owned(),
                },
                true,
            ),
            (Ended::Cancelled, false),
            (
                Ended::Swallowed(Swallowed {
                    device: Some("dm-3".to_owned()),
                    taken_bytes: 1 << 30,
                    passed_bytes: 0,
                }),
                false,
            ),
            (
                Ended::Failed {
                    reason: "gone".to_owned(),
                    resumable: false,
                },
                false,
            ),
            (
                Ended::Failed {
                    reason: "no space".to_owned(),
                    resumable: true,
                },
                true,
            ),
        ] {
            let text = text(&outcome(ended, true));
            assert_eq!(text.contains(resumable), goes_on, "{text}");
        }
    }
}
