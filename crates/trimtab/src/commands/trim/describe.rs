//! A plan in words: what `--dry-run` prints, and `--all` before it asks for consent.

use super::words::{Page, long, missing_consent, rate, short, store_names};
use facts::host::Mount;
use jiff::Timestamp;
use report::{count, escape, human_bytes, human_duration, listed, stack_tree};
use rules::TrimVerdict;
use std::time::Duration;
use trim::filesystem::Filesystem;
use trim::forecast::{Basis, Estimate, Forecast, LimitChange, Stall};
use trim::geometry::Survey;
use trim::pass::ASSUMED_BYTES_PER_S;
use trim::request::Request;

/// A trim that is longer ago than this, or unknown, makes a long pass likely.
const OVERDUE_DAYS: i64 = 14;

/// What is planned for one filesystem.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// Which.
    pub filesystem: &'a Filesystem<'a>,
    /// Whether it may be trimmed.
    pub verdict: &'a TrimVerdict,
    /// What a pass would do.
    pub forecast: &'a Forecast<'a>,
    /// What is asked for.
    pub request: &'a Request,
}

/// One mount's plan.
pub fn plan(page: &mut Page, plan: &Plan<'_>, unicode: bool, now: Timestamp) {
    let (filesystem, forecast) = (plan.filesystem, plan.forecast);
    page.head(&headline(filesystem.mount, forecast));
    if let Some(refusal) = &plan.verdict.refusal {
        page.row("refused", &refusal.reason);
        if let Some(finding) = &refusal.finding {
            page.finding(finding);
        }
        for hint in &refusal.hints {
            page.row("hint", hint);
        }
    }
    if !filesystem.other_mount_points.is_empty() {
        let others: Vec<String> = filesystem
            .other_mount_points
            .iter()
            .map(|other| escape(other).into_owned())
            .collect();
        page.row(
            "mounts",
            &format!("also on {}; trimmed once", listed(&others)),
        );
    }
    for (index, stack) in forecast.stacks.iter().enumerate() {
        let label = if index == 0 { "stack" } else { "" };
        page.rows(label, &stack_tree(stack, page.room(), unicode));
    }
    if !plan.verdict.may_trim() {
        return;
    }
    geometry(page, forecast);
    expected(page, forecast);
    time(page, forecast, now);
    changes(page, plan);
}

/// `/data: ext4 on /dev/sda1, 1 GiB, 973.4 MiB free`.
fn headline(mount: &Mount, forecast: &Forecast<'_>) -> String {
    let sized = |bytes: Option<u64>, suffix: &str| {
        bytes.map_or(String::new(), |bytes| {
            format!(", {}{suffix}", human_bytes(bytes))
        })
    };
    format!(
        "{}: {} on {}{}{}",
        escape(&mount.mount_point),
        mount.fs_type,
        escape(&mount.source),
        sized(forecast.size_bytes, ""),
        sized(forecast.free_bytes, " free")
    )
}

fn geometry(page: &mut Page, forecast: &Forecast<'_>) {
    let Some(survey) = &forecast.survey else {
        if let Some(reason) = &forecast.unknown {
            page.row("geometry", &format!("not known: {reason}"));
        }
        return;
    };
    page.row("geometry", &survey.description);
    page.row("steps", &steps(survey));
    for stall in &forecast.stalls {
        page.row("in one step", &describe_stall(stall));
    }
}

fn steps(survey: &Survey) -> String {
    let extents = survey.free_extents.map_or(String::new(), |extents| {
        format!(" over {}", count(extents, "free extent"))
    });
    let largest = survey
        .largest_extent_bytes
        .filter(|bytes| *bytes > 0)
        .map_or(String::new(), |bytes| {
            format!(", the largest {}", human_bytes(bytes))
        });
    format!(
        "about {}{extents}{largest}; fewer and larger ones while nobody notices",
        count(survey.steps, "step")
    )
}

/// What cannot be split, and what that may cost.
fn describe_stall(part: &Stall) -> String {
    let size = human_bytes(part.bytes);
    let Some(stall) = part.stall else {
        return format!(
            "{}. Up to {size} in one call; the kernel locks one free extent at a time.",
            part.what
        );
    };
    let advice = if part.is_beyond_allowed() {
        format!(
            " Allowed are {}; --accept-stall {}s allows as much.",
            short(part.allowed),
            stall.as_secs() + 1
        )
    } else {
        String::new()
    };
    format!(
        "{}, {size}. An allocation may wait for {} (at an assumed {}/s).{advice}",
        part.what,
        short(stall),
        human_bytes(ASSUMED_BYTES_PER_S)
    )
}

/// What each layer will see, layers of the same figure together.
fn expected(page: &mut Page, forecast: &Forecast<'_>) {
    let mut groups: Vec<(Option<u64>, Vec<String>)> = Vec::new();
    for layer in &forecast.expected {
        match groups
            .iter_mut()
            .find(|(known, _)| *known == layer.bytes_max)
        {
            Some((_, names)) => names.push(layer.device.clone()),
            None => groups.push((layer.bytes_max, vec![layer.device.clone()])),
        }
    }
    let lines: Vec<String> = groups
        .into_iter()
        .flat_map(|(bytes, names)| {
            let each = if names.len() > 1 { " each" } else { "" };
            let text = match (bytes, forecast.free_bytes) {
                (Some(bytes), _) => {
                    format!("up to {}{each} at {}", human_bytes(bytes), listed(&names))
                }
                (None, Some(free)) => {
                    format!("their parts of {} at {}", human_bytes(free), listed(&names))
                }
                (None, None) => format!("not known at {}", listed(&names)),
            };
            report::wrap(&text, page.room())
        })
        .collect();
    page.rows("discards", &lines);
}

fn time(page: &mut Page, forecast: &Forecast<'_>, now: Timestamp) {
    if let Some(checkpoint) = &forecast.checkpoint {
        page.row(
            "resumes",
            &format!(
                "from the pass of {}, {} of {} visited; --restart starts over",
                checkpoint.started_at.strftime("%Y-%m-%d %H:%M UTC"),
                human_bytes(checkpoint.visited_bytes),
                human_bytes(checkpoint.free_bytes)
            ),
        );
    }
    if let Some(estimate) = forecast.estimate {
        page.row("time", &estimated(&estimate));
    }
    let last = match &forecast.last_trim {
        None => "no earlier trim is known: the first one visits all free space and may take long"
            .to_owned(),
        Some((at, by)) => {
            let ago = now.duration_since(*at).as_secs().max(0);
            let overdue = if ago > OVERDUE_DAYS * 86_400 {
                "; it is overdue and may take long"
            } else {
                ""
            };
            format!(
                "{} ago by {}, as far as is known{overdue}",
                human_duration(ago.unsigned_abs()),
                escape(by)
            )
        }
    };
    page.row("last trim", &last);
}

fn estimated(estimate: &Estimate) -> String {
    let takes = if estimate.takes < Duration::from_mins(1) {
        "less than a minute".to_owned()
    } else {
        format!("about {}", long(estimate.takes))
    };
    #[allow(clippy::cast_precision_loss)] // a rate for people
    let per_s = rate(estimate.bytes_per_s as f64);
    format!(
        "{takes} at {per_s} ({}); more where reads get slower and pauses are made",
        basis_text(estimate.basis)
    )
}

fn basis_text(basis: Basis) -> &'static str {
    match basis {
        Basis::Assumed => "assumed",
        Basis::LastPass => "as in the last pass",
        Basis::RateLimit => "as --rate allows",
    }
}

/// What is changed, what is needed, what is worth knowing.
fn changes(page: &mut Page, plan: &Plan<'_>) {
    let (filesystem, request) = (plan.filesystem, plan.request);
    if let Some(max_request_bytes) = request.max_request_bytes
        && !plan.forecast.limit_changes.is_empty()
    {
        let changes = &plan.forecast.limit_changes;
        page.row("changes", &describe_changes(changes, max_request_bytes));
    }
    if !request.windows.is_empty() {
        page.row("window", &request.windows.words());
    }
    if let Some(cluster) = &request.green_cluster {
        page.row(
            "begins",
            &format!("only while the cluster at {} is green", escape(cluster)),
        );
    }
    if !request.probes.is_empty() {
        let probes = listed(&request.probes);
        let text = format!("{}, beside reads of the drives", escape(&probes));
        page.row("probe", &text);
    }
    if !filesystem.stores.is_empty() {
        page.row("store", &format!("{} runs on it", store_names(filesystem)));
    }
    if let Some(missing) = missing_consent(filesystem, request) {
        page.row("needs", &missing);
    }
    for note in &plan.verdict.notes {
        page.row("note", note);
    }
}

/// What `--max-request` writes; drives by what is written for them.
fn describe_changes(changes: &[LimitChange], asked_bytes: u64) -> String {
    let mut by_value: Vec<(u64, Vec<String>)> = Vec::new();
    for change in changes {
        let text = match change.now_bytes {
            Some(now) => format!("{} (now {})", change.device, human_bytes(now)),
            None => change.device.clone(),
        };
        match by_value
            .iter_mut()
            .find(|(known, _)| *known == change.new_bytes)
        {
            Some((_, drives)) => drives.push(text),
            None => by_value.push((change.new_bytes, vec![text])),
        }
    }
    let clauses: Vec<String> = by_value
        .iter()
        .map(|(new_bytes, drives)| {
            let drives = listed(drives);
            format!("of {drives} becomes {}", rounded(asked_bytes, *new_bytes))
        })
        .collect();
    format!(
        "discard_max_bytes {} until the pass ends, and is put back afterwards, whatever happens",
        listed(&clauses)
    )
}

/// What is written, and what it was rounded from.
fn rounded(asked_bytes: u64, written_bytes: u64) -> String {
    if asked_bytes == written_bytes {
        return human_bytes(written_bytes);
    }
    let asked = count(asked_bytes, "byte");
    format!(
        "{}, to which the granularity rounds {asked},",
        human_bytes(written_bytes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_says_what_it_may_cost_and_how_to_allow_it() {
        let unallocated = Stall {
            what: "unallocated space".to_owned(),
            bytes: 8 << 30,
            stall: Some(Duration::from_secs(4)),
            allowed: Duration::from_millis(250),
        };
        let text = describe_stall(&unallocated);
        assert!(text.contains("for 4.0 s (at an assumed 2 GiB/s)"), "{text}");
        assert!(text.ends_with("Allowed are 250 ms; --accept-stall 5s allows as much."));
        let allowed = Stall {
            allowed: Duration::from_secs(5),
            ..unallocated.clone()
        };
        let text = describe_stall(&allowed);
        assert!(!text.contains("--accept-stall"), "{text}");
        // What the pass makes without asking needs no advice.
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
}
