//! Summaries of passes over a fake RAID.

use super::*;
use crate::trim::lines;
use facts::Host;
use facts::host::{BlockDevice, DeviceKind, DeviceNumber};
use jiff::Timestamp;
use page::Terminal;
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

fn page(pass: &PassSummary) -> String {
    text_of(&[ended(pass)])
}

fn ended(summary: &PassSummary) -> PassEnd {
    let resume = CommandLine {
        words: ["trimtab", "trim", "--now", "/data"]
            .map(str::to_owned)
            .to_vec(),
        omitted: Vec::new(),
        lacks_options: false,
    };
    PassEnd::Ended {
        summary: Box::new(summary.clone()),
        resume,
    }
}

fn text_of(ends: &[PassEnd]) -> String {
    let terminal = Terminal {
        unicode: false,
        ..Terminal::default()
    };
    page::terminal(&super::summary(ends), &terminal)
}

fn text(outcome: &Outcome) -> String {
    page(&summary(outcome, None))
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn summary_of_a_complete_pass() {
    assert_eq!(
        text(&outcome(Ended::Complete, true)),
        "/data: complete\n\
         \n\
         discarded  2.9 GiB at md0 of 3 GiB free; 1.5 GiB each at nvme0n1 and nvme1n1\n\
         visited    3 GiB of free space, all of it\n\
         took       12.3 s, 5 s of it measuring before; 673 steps, 418.5 MiB/s visited\n\
         latency    4 KiB reads: mean 210 us, p99 900 us; quiet: mean 150 us, p99 400 us\n\
         one step   took 56 ms at most; an allocation that needed exactly that space\n\
         \x20          waited as long\n"
    );
}

#[test]
fn kernel_without_discard_counters_claims_nothing() {
    let text = text(&outcome(Ended::Complete, false));
    assert!(
        text.contains("freed     not measurable on this kernel"),
        "{text}"
    );
}

#[test]
fn resume_command_is_shown_only_if_resumable() {
    let resumable = "to resume  `trimtab trim --now /data`";
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
fn uncounted_drive_is_not_mistaken_for_an_old_kernel() {
    let outcome = outcome(Ended::Complete, false);
    let pass = PassSummary {
        kernel_counts: true,
        ..summary(&outcome, None)
    };
    let text = words(&page(&pass));
    assert!(
        text.contains("freed not measurable: md0 counts nothing (queue/iostats is 0"),
        "{text}"
    );
    assert!(!text.contains("this kernel"), "{text}");
}

#[test]
fn uncounted_layer_is_not_shown_as_zero() {
    let mut outcome = outcome(Ended::Complete, true);
    outcome.progress.discarded.0.insert("md0".to_owned(), 0);
    let all = text(&outcome);
    assert!(
        all.contains("discarded  not counted at md0; 1.5 GiB"),
        "{all}"
    );
    assert!(
        words(&all).contains("1.5 GiB each at nvme0n1 and nvme1n1 of 3 GiB free"),
        "{all}"
    );
    outcome.progress.discarded.0.remove("nvme1n1");
    let less = text(&outcome);
    assert!(
        less.contains("not counted at md0 and nvme1n1; 1.5 GiB at nvme0n1 of 3 GiB"),
        "{less}"
    );
    let line = lines::ended(&summary(&outcome, None));
    let bytes = |index: usize| line["layers"][index]["discarded_bytes"].clone();
    assert!(bytes(0).is_null() && bytes(2).is_null(), "{line}");
    assert_eq!(bytes(1), 1_556_925_645);
}

#[test]
fn only_a_complete_pass_shows_everything_visited() {
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
    // Data was written meanwhile.
    outcome.ended = Ended::Complete;
    outcome.progress.visited_bytes = 2 << 30;
    let text_of_complete = words(&text(&outcome));
    assert!(
        text_of_complete.contains("2 GiB: all that was still free, of 3 GiB"),
        "{text_of_complete}"
    );
}

#[test]
fn sessions_are_reported_separately() {
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
        "took in this session 12.3 s, 5 s of it measuring before; 73 steps,",
        "in all 1 min 42 s, 673 steps;",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let line = lines::ended(&summary);
    assert_eq!(
        (&line["steps"], &line["resumed_steps"]),
        (&673.into(), &600.into())
    );
}

#[test]
fn ext4_pass_that_discards_little_explains_why() {
    let mut outcome = outcome(Ended::Complete, true);
    outcome.progress.discarded.0.insert("md0".to_owned(), 0);
    outcome.progress.discarded.0.insert("nvme0n1".to_owned(), 0);
    outcome.progress.discarded.0.insert("nvme1n1".to_owned(), 0);
    let why = "ext4 skips block groups in which nothing was freed";
    let mut pass = summary(&outcome, None);
    assert!(!words(&page(&pass)).contains(why));
    pass.target.identity.fs_type = "ext4".to_owned();
    assert!(words(&page(&pass)).contains(why));
}

#[test]
fn several_passes_are_counted_and_an_unstarted_one_has_its_reason() {
    let complete = ended(&summary(&outcome(Ended::Complete, true), None));
    let not_begun = PassEnd::NotBegun {
        mount_point: "/other".to_owned(),
        reason: "the deadline has passed".to_owned(),
        hints: vec!["give it more time".to_owned()],
    };
    let shown = text_of(&[complete, not_begun.clone()]);
    assert!(
        shown.starts_with("1 of 2 filesystems trimmed completely.\n"),
        "{shown}"
    );
    assert!(
        shown.contains("not begun: the deadline has passed"),
        "{shown}"
    );
    let one = text_of(&[not_begun]);
    assert!(
        one.starts_with("/other: not begun: the deadline has passed\n\nhint     give it"),
        "{one}"
    );
}
