//! How a pass ended, in plain words.

use super::lines;
use super::words::{Page, count, list, long, rate, short};
use facts::Finding;
use report::human_bytes;
use std::time::Duration;
use trim::account::{Layers, Swallowed};
use trim::pace::QuietLevel;
use trim::pass::{Ended, Outcome};

/// What is told of a pass that has ended.
pub struct Ending<'a> {
    /// The mount point, fit for a terminal.
    pub mount: &'a str,
    pub outcome: &'a Outcome,
    pub layers: &'a Layers,
    /// Findings that explain why discards are swallowed.
    pub explained: &'a [Finding],
    /// The words of the command that goes on: `trimtab trim /data`.
    pub command: &'a str,
    /// Bytes visited in earlier sittings.
    pub resumed_bytes: u64,
    /// How long the quiet level was measured.
    pub measuring: Duration,
}

/// Writes the summary.
pub fn write(page: &mut Page, ending: &Ending<'_>) {
    let outcome = ending.outcome;
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
    let outcome = ending.outcome;
    let progress = &outcome.progress;
    page.rows("freed", &freed(page, ending));
    let visited = if progress.visited_bytes >= progress.free_bytes {
        format!(
            "{} of free space, all of it",
            human_bytes(progress.free_bytes)
        )
    } else {
        format!(
            "{} of {} of free space",
            human_bytes(progress.visited_bytes),
            human_bytes(progress.free_bytes)
        )
    };
    let earlier = if ending.resumed_bytes > 0 {
        format!(
            ", {} of it in earlier sittings",
            human_bytes(ending.resumed_bytes)
        )
    } else {
        String::new()
    };
    page.row("visited", &format!("{visited}{earlier}"));
    let measuring = ending.measuring.min(progress.active);
    page.row(
        "took",
        &format!(
            "{}, {} of it measuring before; {}, {} visited",
            long(progress.active),
            long(measuring),
            count(progress.steps, "step"),
            rate(mean_rate(
                progress.visited_bytes.saturating_sub(ending.resumed_bytes),
                progress.active.saturating_sub(measuring)
            ))
        ),
    );
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

#[allow(clippy::cast_precision_loss)] // a rate for people
fn mean_rate(bytes: u64, over: Duration) -> f64 {
    if over.is_zero() {
        0.0
    } else {
        bytes as f64 / over.as_secs_f64()
    }
}

/// A line for each group of layers that saw the same.
fn freed(page: &Page, ending: &Ending<'_>) -> Vec<String> {
    let outcome = ending.outcome;
    if !outcome.measurable {
        return report::wrap(
            "not measurable on this kernel: it counts no discards (4.18 and later do)",
            page.room(),
        );
    }
    let mut groups: Vec<(u64, Vec<String>)> = Vec::new();
    for layer in &ending.layers.layers {
        let counted = outcome.progress.discarded.0.get(&layer.device);
        let bytes = counted.copied().unwrap_or(0);
        match groups.iter_mut().find(|(known, _)| *known == bytes) {
            Some((_, names)) => names.push(layer.device.clone()),
            None => groups.push((bytes, vec![layer.device.clone()])),
        }
    }
    let free = human_bytes(outcome.progress.free_bytes);
    groups
        .iter()
        .enumerate()
        .flat_map(|(index, (bytes, names))| {
            let each = if names.len() > 1 { " each" } else { "" };
            let of = if index == 0 {
                format!(" of {free} free")
            } else {
                String::new()
            };
            let text = format!("{}{each} at {}{of}", human_bytes(*bytes), list(names));
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
