//! Pages of plans: `--dry-run`, and `--all` before it asks for consent. Also the page of refused
//! filesystems.

use crate::trim::{Plan, missing_consent, store_names};
use crate::views::phrases::{ago, grouped, hints, words_if};
use crate::views::{finding, stack};
use facts::host::Mount;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use page::{Block, Facts, Level, Page, Section, Tone, Tree};
use rules::TrimRefusal;
use std::time::Duration;
use trim::forecast::{Basis, Estimate, Forecast, Stall, shared_drives};
use trim::geometry::Survey;
use trim::pass::ASSUMED_BYTES_PER_S;
use units::{bytes, count, list};

/// If the last trim is longer ago than this, or unknown, a long pass is likely.
const OVERDUE: Duration = Duration::from_hours(14 * 24);

/// Builds the page of a dry run.
pub fn dry_run(plans: &[Plan<'_>], now: Timestamp) -> Page {
    let (lead, tone) = lead(plans);
    let mut page = Page {
        tone,
        ..Page::new("trimtab trim: dry run", lead)
    };
    page.extend(plans.iter().map(|plan| section(plan, now)));
    let wanted = plans.iter().filter(|plan| plan.verdict.may_trim());
    let wanted = wanted.map(|plan| (plan.filesystem.mount_point(), plan.forecast));
    for (drive, mounts) in shared_drives(wanted) {
        page.push(Block::text(format!(
            "{} share {drive}: they are trimmed one after another.",
            list(&mounts)
        )));
    }
    page
}

/// Builds the page of filesystems that must not or cannot be trimmed. Unless `in_full`, it has only
/// the findings that say why, because an error with reasons and hints follows on the terminal.
pub fn refused(refused: &[(&str, &TrimRefusal)], in_full: bool) -> Page {
    let mut page = Page {
        tone: REFUSED,
        ..Page::new("trimtab trim: refused", "")
    };
    if in_full {
        page.lead = match refused {
            [(mount_point, _)] => refused_lead(mount_point),
            _ => format!("{} cannot be trimmed.", count(refused.len(), "filesystem")),
        };
    }
    for (mount_point, refusal) in refused {
        if !in_full && refusal.finding.is_none() {
            continue;
        }
        let mut section = Section::new(*mount_point);
        if in_full {
            refusal_in_full(&mut section, refusal);
        } else {
            section.extend(refusal.finding.as_ref().map(finding::in_full));
        }
        page.push(section);
    }
    page
}

const REFUSED: Tone = Tone::Level(Level::Error);

fn refused_lead(mount_point: &str) -> String {
    format!("{mount_point} cannot be trimmed.")
}

fn lead(plans: &[Plan<'_>]) -> (String, Tone) {
    let possible = plans.iter().filter(|plan| plan.verdict.may_trim()).count();
    let refusals = plans.len() - possible;
    let lead = match plans {
        [] => {
            "No writable local filesystem on a block device was found: nothing to trim.".to_owned()
        }
        [plan] => {
            let point = plan.filesystem.mount_point();
            if refusals > 0 {
                return (refused_lead(point), REFUSED);
            }
            match &plan.forecast.estimate {
                Some(estimate) => format!(
                    "A trim of {point} would take {}. Nothing was changed.",
                    takes(estimate)
                ),
                None => format!("{point} can be trimmed. Nothing was changed."),
            }
        }
        _ if possible == 0 => {
            return (
                "None of these filesystems can be trimmed.".to_owned(),
                REFUSED,
            );
        }
        _ if refusals == 0 => format!(
            "{} would be trimmed, one after another. Nothing was changed.",
            count(possible, "filesystem")
        ),
        all => format!(
            "{possible} of {} would be trimmed; {refusals} cannot be. Nothing was changed.",
            count(all.len(), "filesystem")
        ),
    };
    (lead, Tone::Strong)
}

fn section(plan: &Plan<'_>, now: Timestamp) -> Section {
    let (filesystem, forecast) = (plan.filesystem, plan.forecast);
    let mut section =
        Section::with_aside(filesystem.mount_point(), about(filesystem.mount, forecast));
    if let Some(refusal) = &plan.verdict.refusal {
        refusal_in_full(&mut section, refusal);
    }
    if !filesystem.other_mount_points.is_empty() {
        let others = list(&filesystem.other_mount_points);
        let words = format!("also on {others}; trimmed once");
        section.push(Facts::of([("mounts", words)]));
    }
    if !forecast.stacks.is_empty() {
        let trees = forecast.stacks.iter();
        let nodes = trees.flat_map(|each| stack::tree(each, |_| (Vec::new(), None)).nodes);
        section.push(Tree {
            title: "stack".to_owned(),
            nodes: nodes.collect(),
        });
    }
    if plan.verdict.may_trim() {
        let mut facts = Facts::default();
        geometry(&mut facts, forecast);
        facts.push_each("discards", expected(forecast));
        time(&mut facts, forecast, now);
        conditions(&mut facts, plan);
        section.push(facts);
    }
    section
}

fn refusal_in_full(section: &mut Section, refusal: &TrimRefusal) {
    section.push(Facts::of([("refused", &refusal.reason)]));
    section.extend(refusal.finding.as_ref().map(finding::in_full));
    if !refusal.hints.is_empty() {
        section.push(hints(&refusal.hints));
    }
}

/// Describes a filesystem: `ext4 on /dev/sda1, 1 GiB, 973.4 MiB free`.
fn about(mount: &Mount, forecast: &Forecast<'_>) -> String {
    let sized = |size: Option<u64>, suffix: &str| {
        size.map_or(String::new(), |size| format!(", {}{suffix}", bytes(size)))
    };
    format!(
        "{} on {}{}{}",
        mount.fs_type,
        mount.source,
        sized(forecast.size_bytes, ""),
        sized(forecast.free_bytes, " free")
    )
}

fn geometry(facts: &mut Facts, forecast: &Forecast<'_>) {
    let Some(survey) = &forecast.survey else {
        let unknown = forecast.unknown.as_ref();
        facts.push_each("geometry", unknown.map(|why| format!("not known: {why}")));
        return;
    };
    facts.push("geometry", &survey.description);
    facts.push("steps", steps(survey));
    facts.push_each("one step", forecast.stalls.iter().map(describe_stall));
}

fn steps(survey: &Survey) -> String {
    let extents = survey.free_extents.map_or(String::new(), |extents| {
        format!(" over {}", count(extents, "free extent"))
    });
    let largest = survey
        .largest_extent_bytes
        .filter(|size| *size > 0)
        .map_or(String::new(), |size| {
            format!(", the largest {}", bytes(size))
        });
    format!(
        "about {}{extents}{largest}; fewer and larger ones while reads stay quick",
        count(survey.steps, "step")
    )
}

/// Describes a part that cannot be split, and the stall it may cause.
fn describe_stall(part: &Stall) -> String {
    let size = bytes(part.bytes);
    let Some(stall) = part.stall else {
        return format!(
            "{}. Up to {size} in one call; the kernel locks one free extent at a time.",
            part.what
        );
    };
    let advice = if part.is_beyond_allowed() {
        format!(
            " The limit is {}; --accept-stall {}s raises it that far.",
            units::duration(part.allowed),
            stall.as_secs() + 1
        )
    } else {
        String::new()
    };
    format!(
        "{}, {size}, in one call. An allocation may wait for {} (at an assumed {}/s).{advice}",
        part.what,
        units::duration(stall),
        bytes(ASSUMED_BYTES_PER_S)
    )
}

/// Describes the expected discards of each layer, grouping layers with the same figure.
fn expected(forecast: &Forecast<'_>) -> Option<String> {
    let layers = forecast.expected.iter();
    let clauses: Vec<String> = grouped(layers.map(|layer| (layer.bytes_max, &layer.device)))
        .into_iter()
        .map(|(size, names)| {
            let each = if names.len() > 1 { " each" } else { "" };
            match (size, forecast.free_bytes) {
                (Some(size), _) => format!("up to {}{each} at {}", bytes(size), list(&names)),
                (None, Some(free)) => {
                    format!("their parts of {} at {}", bytes(free), list(&names))
                }
                (None, None) => format!("not known at {}", list(&names)),
            }
        })
        .collect();
    (!clauses.is_empty()).then(|| clauses.join("; "))
}

fn time(facts: &mut Facts, forecast: &Forecast<'_>, now: Timestamp) {
    if let Some(checkpoint) = &forecast.checkpoint {
        let resumes = format!(
            "from the pass of {}, {} of {} visited; --restart starts over",
            units::date::minute_in_zone(checkpoint.started_at, &TimeZone::UTC),
            bytes(checkpoint.visited_bytes),
            bytes(checkpoint.free_bytes)
        );
        facts.push("resumes", resumes);
    }
    facts.push_each("time", forecast.estimate.as_ref().map(estimated));
    let last = match &forecast.last_trim {
        None => "no earlier trim is known: the first one visits all free space and may take long"
            .to_owned(),
        Some((at, by)) => {
            let exact = Duration::try_from(now.duration_since(*at)).unwrap_or_default();
            let overdue = words_if(exact > OVERDUE, "; it is overdue and may take long");
            format!("{} by {by}, as far as is known{overdue}", ago(*at, now))
        }
    };
    facts.push("last trim", last);
}

/// Formats a duration: `about 3 h 20 min`.
fn takes(estimate: &Estimate) -> String {
    if estimate.takes < Duration::from_mins(1) {
        "less than a minute".to_owned()
    } else {
        format!("about {}", units::duration(estimate.takes))
    }
}

fn estimated(estimate: &Estimate) -> String {
    let basis = match estimate.basis {
        Basis::Assumed => "assumed",
        Basis::LastPass => "as in the last pass",
        Basis::RateLimit => "as --rate allows",
    };
    format!(
        "{} at {}/s ({basis}); more where reads get slower and the pass has to pause",
        takes(estimate),
        bytes(estimate.bytes_per_s)
    )
}

/// Adds when it begins, what is needed, and further notes.
fn conditions(facts: &mut Facts, plan: &Plan<'_>) {
    let (filesystem, request) = (plan.filesystem, plan.request);
    if !request.windows.is_empty() {
        facts.push("window", request.windows.words());
    }
    if let Some(cluster) = &request.green_cluster {
        let green = format!("only while the cluster at {cluster} is green");
        facts.push("begins", green);
    }
    if !request.probes.is_empty() {
        let probes = list(&request.probes);
        facts.push("probe", format!("{probes}, beside reads of the drives"));
    }
    if !filesystem.stores.is_empty() {
        let stores = store_names(filesystem);
        facts.push("store", format!("{stores} runs on it"));
    }
    facts.push_each("needs", missing_consent(filesystem, request));
    facts.push_each("note", &plan.verdict.notes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stall_is_shown_with_its_cost_and_how_to_allow_it() {
        let unallocated = Stall {
            what: "unallocated space".to_owned(),
            bytes: 8 << 30,
            stall: Some(Duration::from_secs(4)),
            allowed: Duration::from_millis(250),
        };
        let text = describe_stall(&unallocated);
        assert!(text.contains("for 4 s (at an assumed 2 GiB/s)"), "{text}");
        assert!(text.ends_with("The limit is 250 ms; --accept-stall 5s raises it that far."));
        let allowed = Stall {
            allowed: Duration::from_secs(5),
            ..unallocated.clone()
        };
        let text = describe_stall(&allowed);
        assert!(!text.contains("--accept-stall"), "{text}");
        // The pass makes such steps without asking, so no advice is needed.
        let groups = Stall {
            what: "8 block groups exceed the step size: ext4 can only trim whole groups".to_owned(),
            bytes: 128 << 20,
            stall: None,
            ..unallocated
        };
        assert_eq!(
            describe_stall(&groups),
            "8 block groups exceed the step size: ext4 can only trim whole groups. Up to 128 MiB in \
             one call; the kernel locks one free extent at a time."
        );
    }

    #[test]
    fn nothing_to_trim_is_reported() {
        let page = dry_run(&[], Timestamp::UNIX_EPOCH);
        assert!(page.lead.ends_with("nothing to trim."), "{}", page.lead);
        assert!(page.blocks.is_empty());
    }
}
