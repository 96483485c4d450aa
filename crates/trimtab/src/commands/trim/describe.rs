//! A plan in words: what `--dry-run` prints, and `--all` before it asks for consent.

use super::consent;
use super::forecast::{Estimate, Forecast};
use super::options::Options;
use super::plan::Plan;
use super::words::{Page, long, rate, short};
use facts::Stack;
use jiff::Timestamp;
use report::{count, human_bytes, human_duration, listed, stack_tree};
use std::time::Duration;
use trim::geometry::{Survey, Unsplittable};
use trim::limits::lowered_to;
use trim::pass::{ASSUMED_BYTES_PER_S, STALL_UNASKED};

/// A trim that is longer ago than this, or unknown, makes a long pass likely.
const OVERDUE_DAYS: i64 = 14;

/// One mount's plan.
pub fn plan(
    page: &mut Page,
    plan: &Plan<'_>,
    forecast: &Forecast<'_>,
    options: &Options,
    unicode: bool,
    now: Timestamp,
) {
    let size = forecast
        .survey
        .as_ref()
        .map(|survey| survey.size_bytes)
        .or(plan.mount.usage.map(|usage| usage.size_bytes))
        .map_or(String::new(), |size| format!(", {}", human_bytes(size)));
    let free = forecast.free_bytes.map_or(String::new(), |free| {
        format!(", {} free", human_bytes(free))
    });
    page.head(&format!(
        "{}: {} on {}{size}{free}",
        plan.name(),
        plan.mount.fs_type,
        report::escape(&plan.mount.source)
    ));
    if let Some(refusal) = &plan.refusal {
        page.row("refused", &refusal.reason);
        if let Some(finding) = &refusal.finding {
            page.finding(finding);
        }
        for hint in &refusal.hints {
            page.row("hint", hint);
        }
    }
    if !plan.others.is_empty() {
        let others: Vec<String> = plan
            .others
            .iter()
            .map(|other| report::escape(other).into_owned())
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
    if plan.refusal.is_some() {
        return;
    }
    geometry(page, forecast, options);
    expected(page, forecast);
    time(page, forecast, now);
    changes(page, plan, forecast, options);
}

fn geometry(page: &mut Page, forecast: &Forecast<'_>, options: &Options) {
    let Some(survey) = &forecast.survey else {
        if let Some(reason) = &forecast.unknown {
            page.row("geometry", &format!("not known: {reason}"));
        }
        return;
    };
    page.row("geometry", &survey.description);
    page.row("steps", &steps(survey));
    for part in &survey.unsplittable {
        let locks_all = part.is_unallocated || !forecast.locks_one_extent;
        page.row("in one step", &unsplittable(part, locks_all, options));
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

/// What cannot be split, with what it may cost before anything is measured: the figures are those by
/// which the pass itself decides.
fn unsplittable(part: &Unsplittable, locks_all: bool, options: &Options) -> String {
    let head = format!("{}, {}", part.what, human_bytes(part.bytes));
    if !locks_all {
        return format!("{head}: one free extent after the other is locked");
    }
    let stall = Duration::from_secs_f64(seconds(part.bytes, ASSUMED_BYTES_PER_S));
    let allowed = options
        .accept_stall
        .unwrap_or(STALL_UNASKED)
        .max(options.settings.stall);
    let word = if stall > allowed {
        format!(
            "; {} are allowed, --accept-stall {}s allows as much",
            short(allowed),
            stall.as_secs() + 1
        )
    } else {
        String::new()
    };
    format!(
        "{head}: may hold up an allocation for {} (at an assumed {}/s){word}",
        short(stall),
        human_bytes(ASSUMED_BYTES_PER_S)
    )
}

#[allow(clippy::cast_precision_loss)] // an estimate
fn seconds(bytes: u64, per_s: u64) -> f64 {
    bytes as f64 / per_s as f64
}

/// What each layer will see, layers of the same figure together.
fn expected(page: &mut Page, forecast: &Forecast<'_>) {
    let mut groups: Vec<(Option<u64>, Vec<String>)> = Vec::new();
    for layer in &forecast.layers.layers {
        let bytes = forecast.expected.get(&layer.device).copied();
        match groups.iter_mut().find(|(known, _)| *known == bytes) {
            Some((_, names)) => names.push(layer.device.clone()),
            None => groups.push((bytes, vec![layer.device.clone()])),
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
            "goes on",
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
        None => "nothing here tells of an earlier trim: the first one visits all free space and \
                 may take long"
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
                report::escape(by)
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
        estimate.basis.words()
    )
}

/// What is changed, what is needed, what is worth knowing.
fn changes(page: &mut Page, plan: &Plan<'_>, forecast: &Forecast<'_>, options: &Options) {
    if let Some(text) = lowers(forecast, options) {
        page.row("changes", &text);
    }
    if !options.windows.is_empty() {
        page.row("window", &options.windows.words());
    }
    if let Some(cluster) = options.green_name() {
        page.row(
            "begins",
            &format!("only while the cluster at {cluster} is green"),
        );
    }
    let probes = options.probe_names();
    if !probes.is_empty() {
        let text = format!("{}, beside reads of the drives", listed(&probes));
        page.row("probe", &text);
    }
    if !plan.stores.is_empty() {
        page.row("store", &format!("{} runs on it", plan.store_names()));
    }
    if let Some(missing) = consent::missing(plan, options) {
        page.row("needs", &missing);
    }
    for note in &plan.notes {
        page.row("note", note);
    }
}

/// What `--max-request` writes; `None` where it writes nothing.
pub fn lowers(forecast: &Forecast<'_>, options: &Options) -> Option<String> {
    let max_request = options.max_request?;
    // Drives by what is written for them.
    let mut changed: Vec<(u64, Vec<String>)> = Vec::new();
    for drive in forecast.stacks.iter().flat_map(Stack::leaves) {
        let found = drive.discard.and_then(|limits| limits.max_bytes);
        let (new_bytes, text) = match found {
            Some(found) => {
                let limits = drive.discard.unwrap_or_default();
                let Some(new_bytes) = lowered_to(limits, max_request) else {
                    continue;
                };
                let text = format!("{} (now {})", drive.name, human_bytes(found));
                (new_bytes, text)
            }
            None => (max_request, drive.name.clone()),
        };
        match changed.iter_mut().find(|(known, _)| *known == new_bytes) {
            Some((_, drives)) if drives.contains(&text) => {}
            Some((_, drives)) => drives.push(text),
            None => changed.push((new_bytes, vec![text])),
        }
    }
    let clauses: Vec<String> = changed
        .iter()
        .map(|(new_bytes, drives)| {
            format!(
                "of {} becomes {}",
                listed(drives),
                rounded(max_request, *new_bytes)
            )
        })
        .collect();
    (!clauses.is_empty()).then(|| {
        format!(
            "discard_max_bytes {} for the length of the pass, and is put back afterwards, whatever \
             happens",
            listed(&clauses)
        )
    })
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
    use super::super::options::of_a_test;
    use super::*;

    #[test]
    fn a_plan_judges_stalls_as_the_pass_does() {
        let part = |gib: u64| Unsplittable {
            what: "unallocated space".to_owned(),
            bytes: gib << 30,
            is_unallocated: true,
        };
        // 2 GiB/s are assumed, a quarter of a second is allowed unasked.
        let text = unsplittable(&part(8), true, &of_a_test(None));
        assert!(text.contains("for 4.0 s (at an assumed 2 GiB/s)"), "{text}");
        assert!(text.ends_with("250 ms are allowed, --accept-stall 5s allows as much"));
        let half = Unsplittable {
            bytes: 400 << 20,
            ..part(0)
        };
        let text = unsplittable(&half, true, &of_a_test(None));
        assert!(!text.contains("--accept-stall"), "195 ms: {text}");
        let asked = of_a_test(Some(Duration::from_secs(5)));
        let text = unsplittable(&part(8), true, &asked);
        assert!(!text.contains("--accept-stall"), "{text}");
        // What the pass makes without asking needs no advice.
        let text = unsplittable(&part(8), false, &of_a_test(None));
        assert!(!text.contains("--accept-stall"), "{text}");
    }
}
