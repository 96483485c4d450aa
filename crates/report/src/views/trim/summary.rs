//! Page of a trim's summary: what was freed at each layer, how long it took, the latency of reads
//! meanwhile, and how a stopped pass is resumed.

use crate::trim::{PassEnd, command_text};
use crate::views::finding;
use crate::views::phrases::{self, grouped, words_if};
use page::{Block, Facts, Level, Page, Section, Tone};
use trim::account::Swallowed;
use trim::pace::QuietLevel;
use trim::pass::Ended;
use trim::resume::CommandLine;
use trim::summary::PassSummary;
use units::{bytes, count, list};

/// Builds the page of the ends of all passes of a run, in order.
pub fn summary(ends: &[PassEnd]) -> Page {
    let mut page = Page::new("trimtab trim: summary", "");
    if let [end] = ends {
        page.lead = format!("{}: {}", end.mount_point(), outcome(end));
        page.tone = tone(end);
        page.blocks = blocks(end);
        return page;
    }
    let complete = ends.iter().filter(|end| is_complete(end)).count();
    page.lead = format!(
        "{complete} of {} trimmed completely.",
        count(ends.len(), "filesystem")
    );
    page.tone = if complete == ends.len() {
        Tone::Strong
    } else {
        Tone::Level(Level::Warning)
    };
    for end in ends {
        let mut section = Section::with_aside(end.mount_point(), outcome(end));
        section.blocks = blocks(end);
        page.push(section);
    }
    page
}

fn is_complete(end: &PassEnd) -> bool {
    matches!(end, PassEnd::Ended { summary, .. } if summary.outcome.ended == Ended::Complete)
}

fn tone(end: &PassEnd) -> Tone {
    match end {
        PassEnd::Ended { summary, .. } => match summary.outcome.ended {
            Ended::Complete => Tone::Strong,
            Ended::Stopped { .. } | Ended::Signal(_) | Ended::Cancelled => {
                Tone::Level(Level::Warning)
            }
            Ended::Swallowed(_) | Ended::Failed { .. } => Tone::Level(Level::Error),
        },
        PassEnd::NotBegun { .. } => Tone::Level(Level::Error),
    }
}

/// Describes how the pass ended, to follow the mount point.
fn outcome(end: &PassEnd) -> String {
    let ended = match end {
        PassEnd::Ended { summary, .. } => &summary.outcome.ended,
        PassEnd::NotBegun { reason, .. } => return format!("not begun: {reason}"),
    };
    match ended {
        Ended::Complete => "complete".to_owned(),
        Ended::Stopped { reason } => format!("stopped: {reason}"),
        Ended::Signal(_) => format!("ended by {}", ended.reason().unwrap_or_default()),
        Ended::Cancelled => "cancelled; its checkpoint has been removed".to_owned(),
        Ended::Swallowed(swallowed) => describe_swallowed(swallowed),
        Ended::Failed { reason, .. } => format!("failed: {reason}"),
    }
}

fn blocks(end: &PassEnd) -> Vec<Block> {
    match end {
        PassEnd::Ended { summary, resume } => of_pass(summary, resume),
        PassEnd::NotBegun { hints, .. } if hints.is_empty() => Vec::new(),
        PassEnd::NotBegun { hints, .. } => vec![phrases::hints(hints).into()],
    }
}

fn of_pass(summary: &PassSummary, resume: &CommandLine) -> Vec<Block> {
    let ended = &summary.outcome.ended;
    let mut blocks = Vec::new();
    let mut facts = if summary.has_figures() {
        figures(summary)
    } else {
        Facts::default()
    };
    if matches!(ended, Ended::Swallowed(_)) && summary.findings.is_empty() {
        facts.push(
            "why",
            "no rule knows this stack: look at the settings of the layer that takes discards and \
             passes none on; `trimtab check -v` draws it",
        );
    }
    if ended.is_resumable() {
        facts.push("to resume", command_text(resume));
    }
    if !facts.is_empty() {
        blocks.push(facts.into());
    }
    blocks.extend(
        summary
            .findings
            .iter()
            .map(|found| finding::in_full(found).into()),
    );
    blocks
}

fn figures(summary: &PassSummary) -> Facts {
    let (outcome, earlier) = (&summary.outcome, &summary.earlier);
    let progress = &outcome.progress;
    let mut facts = Facts::default();
    // What the drive does with a discard is not counted anywhere, so do not call it freed.
    let label = if outcome.measurable {
        "discarded"
    } else {
        "freed"
    };
    let mut freed = discarded(summary);
    if summary.was_trimmed_before() {
        freed.push_str(
            ". ext4 skips block groups in which nothing was freed since they were last trimmed, until it is \
             mounted again (needed only if a layer below dropped those discards)",
        );
    }
    facts.push(label, freed);
    let before = if earlier.visited_bytes > 0 {
        format!(
            ", {} of it in earlier sessions",
            bytes(earlier.visited_bytes)
        )
    } else {
        String::new()
    };
    facts.push("visited", format!("{}{before}", visited(summary)));
    let session = words_if(summary.is_resumed, "in this session ");
    let took = format!(
        "{session}{}, {} of it measuring before; {}, {} visited",
        units::duration(progress.active),
        units::duration(summary.session_measuring()),
        count(summary.session_steps(), "step"),
        units::bytes_per_s(summary.visited_bytes_per_s())
    );
    facts.push("took", took);
    if summary.is_resumed {
        let in_all = format!(
            "{}, {}; what was discarded and visited is that of all sessions",
            units::duration(summary.active_in_all()),
            count(progress.steps, "step")
        );
        facts.push("in all", in_all);
    }
    for (label, quiet) in &outcome.quiet {
        let during = progress
            .latency
            .iter()
            .find(|(known, _)| known == label)
            .map(|(_, level)| level);
        facts.push("latency", latency(label, quiet, during));
    }
    if !outcome.longest_step.is_zero() {
        let locked = if outcome.locks_whole_steps {
            "an allocation that needed exactly that space waited as long"
        } else {
            "one free extent after the other was locked meanwhile"
        };
        let longest = units::duration(outcome.longest_step);
        facts.push("one step", format!("took {longest} at most; {locked}"));
    }
    facts
}

/// Formats the visited bytes. A complete pass has visited everything, whatever the figures: free
/// space changes meanwhile, and Btrfs' unallocated space is visited in each session.
fn visited(summary: &PassSummary) -> String {
    let progress = &summary.outcome.progress;
    let (visited, free) = (progress.visited_bytes, bytes(progress.free_bytes));
    let is_complete = summary.outcome.ended == Ended::Complete;
    match (is_complete, visited >= progress.free_bytes) {
        (true, true) => format!("{free} of free space, all of it"),
        (true, false) => format!(
            "{}: all that was still free, of {free} at the beginning",
            bytes(visited)
        ),
        (false, false) => format!("{} of {free} of free space", bytes(visited)),
        (false, true) => format!(
            "{} in a free space of {free}, some of it twice and not yet all of it",
            bytes(visited)
        ),
    }
}

/// Describes the discards of the layers, grouping those with the same figure.
fn discarded(summary: &PassSummary) -> String {
    let outcome = &summary.outcome;
    if !outcome.measurable {
        return if summary.kernel_counts {
            let verb = if summary.top_devices.len() > 1 {
                "count"
            } else {
                "counts"
            };
            format!(
                "not measurable: {} {verb} nothing (queue/iostats is 0, or NVMe multipath before \
                 Linux 6.2)",
                list(&summary.top_devices)
            )
        } else {
            "not measurable on this kernel: it counts no discards (4.18 and later do)".to_owned()
        };
    }
    let layers = summary.layers.iter();
    let groups = grouped(layers.map(|layer| (layer.discarded_bytes, &layer.device)));
    let mut of = format!(" of {} free", bytes(outcome.progress.free_bytes));
    let clauses: Vec<String> = groups
        .iter()
        .map(|(size, names)| match size {
            None => format!("not counted at {}", list(names)),
            Some(size) => {
                let each = if names.len() > 1 { " each" } else { "" };
                let of = std::mem::take(&mut of);
                format!("{}{each} at {}{of}", bytes(*size), list(names))
            }
        })
        .collect();
    clauses.join("; ")
}

fn latency(label: &str, quiet: &QuietLevel, during: Option<&QuietLevel>) -> String {
    let words = |level: &QuietLevel| {
        format!(
            "mean {}, p99 {}",
            units::duration(level.mean),
            units::duration(level.p99)
        )
    };
    match during {
        Some(during) => format!("{label}: {}; quiet: {}", words(during), words(quiet)),
        None => format!(
            "{label}: quiet: {}; too few readings during the pass",
            words(quiet)
        ),
    }
}

/// Describes the layer at which discards end.
fn describe_swallowed(swallowed: &Swallowed) -> String {
    let taken = bytes(swallowed.taken_bytes);
    match &swallowed.device {
        Some(device) => format!(
            "stopped: discards end at {device}: it took {taken}, the drives below saw {}. Going \
             on would free nothing",
            bytes(swallowed.passed_bytes)
        ),
        None => format!(
            "stopped: the filesystem says that it trimmed {taken}, and no device saw a discard. \
             Going on would free nothing"
        ),
    }
}

#[cfg(test)]
mod tests;
