//! Decides which series are shown individually or summed up, and how each is titled.

use super::names;
use crate::explain::ExplainReport;
use explain::verdict::{Kind, SeriesVerdict};
use facts::series::{Dating, Series};
use std::collections::{BTreeSet, HashMap, VecDeque};
use units::count::{counted, grouped_usize};

#[derive(Debug, Clone, Copy)]
pub(super) struct ListedSeries<'a> {
    pub verdict: &'a SeriesVerdict,
    /// `None` if the series was not passed in.
    pub series: Option<&'a Series>,
}

/// Splits the series into those shown individually and those summed up: series of a disk log that
/// is shown as a whole, unless they show something of their own, and series of any log without dates
/// that is too short for them to be analysed individually.
pub(super) fn split_listed<'a>(
    report: &ExplainReport<'a>,
    all: bool,
) -> (Vec<ListedSeries<'a>>, Vec<ListedSeries<'a>>) {
    let is_summed_up = |listed: &ListedSeries<'_>| {
        let of_a_log = listed
            .series
            .is_some_and(|series| series.labels.contains_key("metric"));
        let of_a_told_one = || {
            let host = listed.series.and_then(|series| series.labels.get("host"));
            report
                .disk_logs
                .iter()
                .any(|log| log.source == listed.verdict.source && log.host.as_ref() == host)
        };
        of_a_log
            && match listed.verdict.verdict.kind {
                Kind::Undecided => listed.verdict.dating != Dating::Absolute || of_a_told_one(),
                Kind::None => of_a_told_one(),
                Kind::Periodic | Kind::Unattributed | Kind::Change => false,
            }
    };
    let (summed_up, listed): (Vec<_>, Vec<_>) = in_order(report)
        .into_iter()
        .partition(|one| !all && is_summed_up(one));
    // A single series is always shown.
    if report.disk_logs.is_empty() && listed.is_empty() && summed_up.len() == 1 {
        return (summed_up, Vec::new());
    }
    (listed, summed_up)
}

/// Pairs verdicts with their series by source and name; if several share both, in their order.
fn in_order<'a>(report: &ExplainReport<'a>) -> Vec<ListedSeries<'a>> {
    let mut known: HashMap<(&str, &str), VecDeque<&Series>> = HashMap::new();
    for series in report.series {
        known
            .entry((&series.source, &series.name))
            .or_default()
            .push_back(series);
    }
    report
        .analysis
        .series
        .iter()
        .map(|verdict| ListedSeries {
            verdict,
            series: known
                .get_mut(&(verdict.source.as_str(), verdict.name.as_str()))
                .and_then(VecDeque::pop_front),
        })
        .collect()
}

/// Returns a title for each series: its name, and if series of several sources share it, the part
/// of their source that tells them apart.
pub(super) fn titles(listed: &[ListedSeries<'_>]) -> Vec<String> {
    let mut sources: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for one in listed {
        let named = sources.entry(&one.verdict.name).or_default();
        named.insert(&one.verdict.source);
    }
    listed
        .iter()
        .map(|one| {
            let name = &one.verdict.name;
            let all = &sources[name.as_str()];
            if all.len() < 2 {
                return name.clone();
            }
            format!("{name} of {}", &one.verdict.source[common_len(all)..])
        })
        .collect()
}

/// Returns the length of the directories that all paths share, which are left out to save space.
fn common_len(paths: &BTreeSet<&str>) -> usize {
    // In sorted order the first and the last path differ earliest.
    let (Some(first), Some(last)) = (paths.first(), paths.last()) else {
        return 0;
    };
    let same = first.bytes().zip(last.bytes());
    let same = same.take_while(|(one, other)| one == other).count();
    first.as_bytes()[..same]
        .iter()
        .rposition(|&byte| byte == b'/')
        .map_or(0, |slash| slash + 1)
}

/// Summarises the verdicts: `4 series: 1 recurring with a known job, 3 without a pattern`.
pub(super) fn counts(listed: &[ListedSeries<'_>]) -> String {
    let kinds = [
        Kind::Periodic,
        Kind::Unattributed,
        Kind::Change,
        Kind::Undecided,
        Kind::None,
    ];
    let parts: Vec<String> = kinds
        .into_iter()
        .filter_map(|kind| {
            let of_it = |one: &&ListedSeries<'_>| one.verdict.verdict.kind == kind;
            let number = listed.iter().filter(of_it).count();
            let words = names::kind_of_some(kind);
            (number > 0).then(|| format!("{} {words}", grouped_usize(number)))
        })
        .collect();
    let series = counted(listed.len(), "series", "series");
    format!("{series}: {}", parts.join(", "))
}

/// Returns the line that stands for series that are not shown individually.
pub(super) fn summed_up(series: &[ListedSeries<'_>]) -> String {
    format!(
        "Taken one by one, the logs of disks are {}. A pattern takes three cycles; `--all` shows each \
         series.",
        counts(series)
    )
}
