//! The explanations that were compared, with their evidence.

use super::detail::ExplainDetail;
use super::names;
use explain::verdict::{Candidate, JobClass, Verdict};
use page::{Block, Table};
use units::count::grouped_usize;
use units::share::score;

/// Maximum number of explanations and pieces of evidence on a terminal.
const EXPLANATIONS_MAX: usize = 8;
const EVIDENCE_MAX: usize = 3;
/// Maximum number of job classes that are drawn and, on a terminal, described in full.
pub(super) const CLASSES_DRAWN: usize = 4;

/// Name of the candidate that blames nothing.
const NOTHING: &str = "nothing";
/// Its label.
const NOISE: &str = "nothing: noise alone";

struct Row<'a> {
    score: String,
    name: String,
    class: Option<&'a JobClass>,
}

/// Builds the table of explanations, with the evidence of the most likely ones.
pub(super) fn blocks(verdict: &Verdict, detail: ExplainDetail) -> Vec<Block> {
    let rows = rows(verdict);
    let is_shown = |(index, row): &(usize, &Row<'_>)| {
        *index < detail.shown(rows.len(), EXPLANATIONS_MAX) || row.class.is_none()
    };
    let shown: Vec<&Row<'_>> = rows
        .iter()
        .enumerate()
        .filter(is_shown)
        .map(|(_, row)| row)
        .collect();
    // Leave out columns without any number.
    let has_runs = shown.iter().any(|row| row.class.is_some());
    let mut columns = vec!["<explanation", "score"];
    if has_runs {
        columns.extend(["<effect", "matched", "missed", "runs without effect"]);
    }
    let mut table = Table::titled("Explanations, most likely first", &columns);
    for row in &shown {
        let mut cells = vec![row.name.clone(), row.score.clone()];
        if has_runs {
            cells.extend(row.class.map_or_else(Default::default, |class| {
                [
                    names::role(class.role).to_owned(),
                    grouped_usize(class.matched),
                    grouped_usize(class.missed),
                    grouped_usize(class.idle_runs),
                ]
            }));
        }
        table.row(cells);
    }
    let mut blocks = vec![table.into()];
    if shown.len() < rows.len() {
        let left = grouped_usize(rows.len() - shown.len());
        blocks.push(Block::aside(format!("and {left} more (-v lists them all)")));
    }
    let listed: Vec<&JobClass> = match (detail.verbose, detail.brief) {
        (true, _) => verdict.classes.iter().collect(),
        (false, true) => likely(verdict).take(CLASSES_DRAWN).collect(),
        (false, false) => likely(verdict).collect(),
    };
    for class in listed {
        let mut items = class.evidence[..detail.shown(class.evidence.len(), EVIDENCE_MAX)].to_vec();
        items.extend(detail.more(class.evidence.len(), EVIDENCE_MAX));
        if let Some(experiment) = &class.separate_by {
            items.push(format!("To tell them apart: {experiment}"));
        }
        blocks.extend(detail.list(&class.jobs.join(", "), &items, usize::MAX));
    }
    blocks
}

/// Returns the classes that are drawn and described in full: all that are not practically ruled
/// out.
pub(super) fn likely(verdict: &Verdict) -> impl Iterator<Item = &JobClass> {
    /// Less likely classes appear only in the table, except for the most likely one.
    const SCORE_MIN: f64 = 0.01;
    let all = verdict.classes.iter().enumerate();
    all.filter(|(index, class)| *index == 0 || class.score >= SCORE_MIN)
        .map(|(_, class)| class)
}

/// Returns every explanation, the most likely first; "nothing" is always among them.
fn rows(verdict: &Verdict) -> Vec<Row<'_>> {
    let mut rows: Vec<(f64, Row<'_>)> = Vec::new();
    let mut add = |of: f64, name: String, class| {
        let score = score(of);
        rows.push((of, Row { score, name, class }));
    };
    let mut is_listed = vec![false; verdict.classes.len()];
    for candidate in &verdict.candidates {
        let class = verdict
            .classes
            .iter()
            .position(|class| is_of(class, candidate));
        if let Some(index) = class {
            is_listed[index] = true;
        }
        let name = match candidate.name.as_str() {
            NOTHING => NOISE,
            name => name,
        };
        let class = class.map(|index| &verdict.classes[index]);
        add(candidate.score, name.to_owned(), class);
    }
    for (class, is_listed) in verdict.classes.iter().zip(is_listed) {
        if !is_listed {
            add(class.score, class.jobs.join(", "), Some(class));
        }
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut rows: Vec<Row<'_>> = rows.into_iter().map(|(_, row)| row).collect();
    let is_nothing = |candidate: &Candidate| candidate.name == NOTHING;
    if !verdict.candidates.iter().any(is_nothing) {
        rows.push(Row {
            score: "-".to_owned(),
            name: NOISE.to_owned(),
            class: None,
        });
    }
    rows
}

/// Returns whether a candidate is a class: it has the same score, and names its jobs, possibly
/// grouping those of one directory: `cron.weekly (fstrim, man-db)`.
fn is_of(class: &JobClass, candidate: &Candidate) -> bool {
    let own = |job: &String| {
        let (_, own) = job.split_once('/').unwrap_or(("", job));
        candidate.name.contains(own)
    };
    class.score.to_bits() == candidate.score.to_bits() && class.jobs.iter().all(own)
}
