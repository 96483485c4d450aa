//! How a pass ended, in plain words.

use super::words::{Page, command_text, long, rate, short};
use report::{count, escape, human_bytes, listed};
use trim::account::Swallowed;
use trim::pace::QuietLevel;
use trim::pass::Ended;
use trim::resume::CommandLine;
use trim::summary::PassSummary;

/// Writes the summary; `resume` is the command that resumes the pass.
pub fn write(page: &mut Page, summary: &PassSummary, resume: &CommandLine) {
    let ended = &summary.outcome.ended;
    let mount = escape(&summary.mount_point);
    page.head(&match ended {
        Ended::Complete => format!("{mount}: complete"),
        Ended::Stopped { reason } => format!("{mount}: stopped: {reason}"),
        Ended::Signal(_) => {
            format!("{mount}: ended by {}", ended.reason().unwrap_or_default())
        }
        Ended::Cancelled => format!("{mount}: cancelled; its checkpoint is forgotten"),
        Ended::Swallowed(swallowed) => format!("{mount}: {}", describe_swallowed(swallowed)),
        Ended::Failed { reason, .. } => format!("{mount}: failed: {reason}"),
    });
    if summary.has_figures() {
        figures(page, summary);
    }
    for finding in &summary.findings {
        page.finding(finding);
    }
    if matches!(ended, Ended::Swallowed(_)) && summary.findings.is_empty() {
        page.row(
            "why",
            "no rule knows this stack: look at the settings of the layer that takes discards and \
             passes none on; `trimtab check -v` draws it",
        );
    }
    if ended.is_resumable() {
        page.row("to resume", &command_text(resume));
    }
}

fn figures(page: &mut Page, summary: &PassSummary) {
    let (outcome, earlier) = (&summary.outcome, &summary.earlier);
    let progress = &outcome.progress;
    // What a drive does with what it takes no counter tells: it is not called freed.
    let label = if outcome.measurable {
        "discarded"
    } else {
        "freed"
    };
    page.rows(label, &discarded(page, summary));
    if summary.was_trimmed_before() {
        page.row(
            "",
            "ext4 skips block groups in which nothing was freed since they were last trimmed",
        );
    }
    let before = if earlier.visited_bytes > 0 {
        format!(
            ", {} of it in earlier sessions",
            human_bytes(earlier.visited_bytes)
        )
    } else {
        String::new()
    };
    page.row("visited", &format!("{}{before}", visited(summary)));
    let session = if summary.is_resumed {
        "in this session "
    } else {
        ""
    };
    page.row(
        "took",
        &format!(
            "{session}{}, {} of it measuring before; {}, {} visited",
            long(progress.active),
            long(summary.session_measuring()),
            count(summary.session_steps(), "step"),
            rate(summary.visited_bytes_per_s())
        ),
    );
    if summary.is_resumed {
        page.row(
            "in all",
            &format!(
                "{}, {}; what was discarded and visited is that of all sessions",
                long(summary.active_in_all()),
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
/// and Btrfs' unallocated space is visited in each session.
fn visited(summary: &PassSummary) -> String {
    let progress = &summary.outcome.progress;
    let (visited, free) = (progress.visited_bytes, human_bytes(progress.free_bytes));
    let is_complete = summary.outcome.ended == Ended::Complete;
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

/// A line for each group of layers that saw the same.
fn discarded(page: &Page, summary: &PassSummary) -> Vec<String> {
    let outcome = &summary.outcome;
    let tops = || listed(&summary.top_devices);
    if !outcome.measurable {
        let text = if summary.kernel_counts {
            let verb = if summary.top_devices.len() > 1 {
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
    for layer in &summary.layers {
        let name = layer.device.clone();
        match groups
            .iter_mut()
            .find(|(known, _)| *known == layer.discarded_bytes)
        {
            Some((_, names)) => names.push(name),
            None => groups.push((layer.discarded_bytes, vec![name])),
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
fn describe_swallowed(swallowed: &Swallowed) -> String {
    let taken = human_bytes(swallowed.taken_bytes);
    match &swallowed.device {
        Some(device) => format!(
            "stopped: discards end at {device}: it took {taken}, the drives below saw {}. Going \
             on would free nothing",
            human_bytes(swallowed.passed_bytes)
        ),
        None => format!(
            "stopped: the filesystem says that it trimmed {taken}, and no device saw a discard. \
             Going on would free nothing"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;
    use facts::Host;
    use facts::host::{BlockDevice, DeviceKind, DeviceNumber};
    use jiff::Timestamp;
    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use std::time::Duration;
    use trim::account::Discarded;
    use trim::geometry::Survey;
    use trim::layers::{self, LayerCounters};
    use trim::pass::{Outcome, Progressed};
    use trim::summary::EarlierSessions;
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

    fn summary(outcome: &Outcome, earlier: Option<EarlierSessions>) -> PassSummary {
        let host = Host {
            devices: vec![
                device("md0", &["nvme0n1", "nvme1n1"]),
                device("nvme0n1", &[]),
                device("nvme1n1", &[]),
            ],
            ..Host::default()
        };
        let stacks = [host.stack_below(&host.devices[0])];
        let counters = LayerCounters::new(&stacks, &layers::layers(&stacks));
        let mut layers = counters.read(&outcome.progress.discarded);
        if !outcome.measurable {
            for layer in &mut layers {
                layer.discarded_bytes = None;
            }
        }
        PassSummary {
            mount_point: "/data".to_owned(),
            target: Target {
                mount_point: PathBuf::from("/data"),
                mount_id: 1,
                identity: Identity {
                    device: DeviceNumber { major: 9, minor: 0 },
                    uuid: Some("0f0f".to_owned()),
                    fs_type: "xfs".to_owned(),
                },
                device_path: PathBuf::from("/dev/md0"),
            },
            began_at: Timestamp::UNIX_EPOCH,
            outcome: outcome.clone(),
            is_resumed: earlier.is_some(),
            earlier: earlier.unwrap_or_default(),
            layers,
            top_devices: counters.top(),
            kernel_counts: false,
            measuring: Duration::from_secs(5),
            warnings: Vec::new(),
            findings: Vec::new(),
        }
    }

    fn page(summary: &PassSummary) -> String {
        let mut page = Page::new(80);
        let resume = CommandLine {
            words: ["trimtab", "trim", "--now", "/data"]
                .map(str::to_owned)
                .to_vec(),
            omitted: Vec::new(),
            lacks_options: false,
        };
        write(&mut page, summary, &resume);
        page.finish()
    }

    fn text(outcome: &Outcome) -> String {
        page(&summary(outcome, None))
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
    fn what_can_be_resumed_says_how_and_what_cannot_does_not() {
        let resumable = "to resume   `trimtab trim --now /data`";
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
        let told = PassSummary {
            kernel_counts: true,
            ..summary(&outcome, None)
        };
        let text = words(&page(&told));
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
        let ended = lines::ended(&summary(&outcome, None));
        let bytes = |index: usize| ended["layers"][index]["discarded_bytes"].clone();
        assert!(bytes(0).is_null() && bytes(2).is_null(), "{ended}");
        assert_eq!(bytes(1), 1_556_925_645);
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
    fn sessions_are_told_apart() {
        let outcome = outcome(Ended::Complete, true);
        let earlier = EarlierSessions {
            steps: 600,
            visited_bytes: 2 << 30,
            active: Duration::from_secs(90),
        };
        let summary = summary(&outcome, Some(earlier));
        let text = words(&page(&summary));
        for part in [
            "3 GiB of free space, all of it, 2 GiB of it in earlier sessions",
            "took in this session 12.3 s, 5.0 s of it measuring before; 73 steps,",
            "in all 1 min 42 s, 673 steps;",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let ended = lines::ended(&summary);
        assert_eq!(
            (&ended["steps"], &ended["resumed_steps"]),
            (&673.into(), &600.into())
        );
    }

    #[test]
    fn a_pass_of_ext4_that_discards_little_says_why() {
        let mut outcome = outcome(Ended::Complete, true);
        outcome.progress.discarded.0.insert("md0".to_owned(), 0);
        outcome.progress.discarded.0.insert("nvme0n1".to_owned(), 0);
        outcome.progress.discarded.0.insert("nvme1n1".to_owned(), 0);
        let why = "ext4 skips block groups in which nothing was freed";
        let mut told = summary(&outcome, None);
        assert!(!words(&page(&told)).contains(why));
        told.target.identity.fs_type = "ext4".to_owned();
        assert!(words(&page(&told)).contains(why));
    }
}
