//! How a pass ended, in plain words.

use super::lines;
use super::over::Over;
use super::words::{Page, long, rate, short};
use facts::Finding;
use report::{count, human_bytes, listed};
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
    /// The command that goes on, as [`super::again::Again::resume`] says it.
    pub to_go_on: &'a str,
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
        page.row("to go on", ending.to_go_on);
    }
}

fn figures(page: &mut Page, ending: &Ending<'_>) {
    let (outcome, earlier) = (ending.over.outcome, &ending.over.earlier);
    let progress = &outcome.progress;
    // What a drive does with what it takes no counter tells: it is not called freed.
    let label = if outcome.measurable {
        "discarded"
    } else {
        "freed"
    };
    page.rows(label, &freed(page, ending.over));
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
                "{}, {}; what was discarded and visited is that of all sittings",
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
    let tops = || listed(&over.ways.top());
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
                None => format!("not counted at {}", listed(names)),
                Some(bytes) => {
                    let each = if names.len() > 1 { " each" } else { "" };
                    let of = std::mem::take(&mut of);
                    format!("{}{each} at {}{of}", human_bytes(*bytes), listed(names))
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
    use super::super::audit;
    use super::super::layers::{self, Ways};
    use super::super::options::of_a_test;
    use super::super::over::Earlier;
    use super::*;
    use facts::Host;
    use facts::host::{BlockDevice, DeviceKind, DeviceNumber};
    use jiff::Timestamp;
    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use trim::account::Discarded;
    use trim::geometry::Survey;
    use trim::pass::{Outcome, Progressed};
    use trim::target::{Identity, Target};

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

    fn device(name: &str, below: &[&str]) -> BlockDevice {
        let md = DeviceKind::Md {
            level: None,
            chunk_bytes: None,
            raid_disks: None,
            array_state: None,
            sync_action: None,
        };
        BlockDevice {
            name: name.to_owned(),
            number: DeviceNumber::default(),
            sysfs_path: format!("sys/block/{name}"),
            size_bytes: None,
            kind: if below.is_empty() {
                DeviceKind::Other
            } else {
                md
            },
            below: below.iter().map(|&name| name.to_owned()).collect(),
            discard: None,
            io_limits: None,
            rotational: None,
            read_only: None,
            counters: None,
        }
    }

    fn with_over<T>(
        outcome: &Outcome,
        earlier: Option<Earlier>,
        kernel_counts: bool,
        told: impl FnOnce(&Over<'_>) -> T,
    ) -> T {
        let host = Host {
            devices: vec![
                device("md0", &["nvme0n1", "nvme1n1"]),
                device("nvme0n1", &[]),
                device("nvme1n1", &[]),
            ],
            ..Host::default()
        };
        let stacks = [host.stack_below(&host.devices[0])];
        let target = Target {
            mount_point: PathBuf::from("/data"),
            mount_id: 1,
            identity: Identity {
                device: DeviceNumber { major: 9, minor: 0 },
                uuid: Some("0f0f".to_owned()),
                fs_type: "xfs".to_owned(),
            },
            device_path: PathBuf::from("/dev/md0"),
        };
        told(&Over {
            target: &target,
            began_at: Timestamp::UNIX_EPOCH,
            outcome,
            is_resumed: earlier.is_some(),
            earlier: earlier.unwrap_or_default(),
            ways: &Ways::new(&stacks, &layers::layers(&stacks)),
            kernel_counts,
            warnings: &[],
        })
    }

    fn page(over: &Over<'_>) -> String {
        let mut page = Page::new(80);
        write(
            &mut page,
            &Ending {
                mount: "/data",
                over,
                explained: &[],
                to_go_on: "`trimtab trim --now /data`",
                measuring: Duration::from_secs(5),
            },
        );
        page.finish()
    }

    fn text(outcome: &Outcome) -> String {
        with_over(outcome, None, false, page)
    }

    fn words(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
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
        let resumable = "to go on    `trimtab trim --now /data`";
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

    #[test]
    fn a_drive_that_does_not_count_is_no_old_kernel() {
        let outcome = outcome(Ended::Complete, false);
        let text = words(&with_over(&outcome, None, true, page));
        assert!(
            text.contains("freed not measurable: md0 counts nothing (queue/iostats is 0"),
            "{text}"
        );
        assert!(!text.contains("this kernel"), "{text}");
    }

    #[test]
    fn a_layer_that_does_not_count_is_not_at_zero() {
        let mut outcome = outcome(Ended::Complete, true);
        outcome.progress.discarded.0.insert("md0".to_owned(), 0);
        let all = text(&outcome);
        assert!(all.contains("discarded   not counted at md0\n"), "{all}");
        assert!(
            words(&all).contains("1.5 GiB each at nvme0n1 and nvme1n1 of 3 GiB free"),
            "{all}"
        );
        outcome.progress.discarded.0.remove("nvme1n1");
        let less = text(&outcome);
        assert!(less.contains("not counted at md0 and nvme1n1\n"), "{less}");
        let (ended, audited) = with_over(&outcome, None, true, |over| {
            let options = of_a_test(None);
            (
                lines::ended(over, "/data", &[]),
                audit::entry(over, &options),
            )
        });
        let bytes = |index: usize| ended["layers"][index]["discarded_bytes"].clone();
        assert!(bytes(0).is_null() && bytes(2).is_null(), "{ended}");
        assert_eq!(bytes(1), 1_556_925_645);
        let expected = serde_json::json!({
            "md0": null, "nvme0n1": 1_556_925_645, "nvme1n1": null,
        });
        assert_eq!(audited["discarded_bytes"], expected);
    }

    #[test]
    fn only_a_complete_pass_has_visited_all() {
        let stopped = Ended::Stopped {
            reason: "budget".to_owned(),
        };
        let mut outcome = outcome(stopped, true);
        outcome.progress.visited_bytes = 4 << 30;
        let text_of_stopped = words(&text(&outcome));
        assert!(
            text_of_stopped.contains("visited 4 GiB in a free space of 3 GiB, some of it twice"),
            "{text_of_stopped}"
        );
        assert!(
            !text_of_stopped.contains("space, all of it"),
            "{text_of_stopped}"
        );
        // Somebody wrote meanwhile.
        outcome.ended = Ended::Complete;
        outcome.progress.visited_bytes = 2 << 30;
        let text_of_complete = words(&text(&outcome));
        assert!(
            text_of_complete.contains("2 GiB: all that was still free, of 3 GiB"),
            "{text_of_complete}"
        );
    }

    #[test]
    fn sittings_are_told_apart() {
        let outcome = outcome(Ended::Complete, true);
        let earlier = Earlier {
            steps: 600,
            visited_bytes: 2 << 30,
            active: Duration::from_secs(90),
        };
        let (text, ended, audited) = with_over(&outcome, Some(earlier), true, |over| {
            let options = of_a_test(None);
            (
                words(&page(over)),
                lines::ended(over, "/data", &[]),
                audit::entry(over, &options),
            )
        });
        for part in [
            "3 GiB of free space, all of it, 2 GiB of it in earlier sittings",
            "took in this sitting 12.3 s, 5.0 s of it measuring before; 73 steps,",
            "in all 1 min 42 s, 673 steps;",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(
            (&ended["steps"], &ended["resumed_steps"]),
            (&673.into(), &600.into())
        );
        assert_eq!(
            (&audited["steps"], &audited["resumed_steps"]),
            (&73.into(), &600.into())
        );
        assert_eq!(audited["resumed_active_s"], 90.0);
    }
}
