//! Control of false discoveries among many series (Benjamini and Hochberg 1995).

use super::decision::Decision;
use super::result::Kind;
use crate::numbers::count_f64;

/// Of the series that are reported to recur, at most this share does by chance.
const FALSE_SHARE: f64 = 0.05;

/// What a decision is worth among all others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Significance {
    /// The verdict in one word.
    pub kind: Kind,
    /// Probability by chance after the control; `None` if nothing was searched. No smaller than p.
    pub q: Option<f64>,
    /// The extrapolated probability after the control, if it makes a pattern a likely chance.
    pub likely_chance: Option<f64>,
}

/// Controls the share of false discoveries among these decisions; one answer for each.
pub(crate) fn control_false_discoveries<'a>(
    decisions: impl Iterator<Item = &'a Decision> + Clone,
) -> Vec<Significance> {
    let mut significances: Vec<Significance> = decisions
        .clone()
        .map(|decision| Significance {
            kind: decision.kind,
            q: None,
            likely_chance: None,
        })
        .collect();
    let mut order: Vec<(usize, f64, f64)> = decisions
        .enumerate()
        .filter_map(|(i, decision)| {
            let chance = decision.chance?;
            Some((i, chance.p_extrapolated, chance.p.unwrap_or(0.0)))
        })
        .collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let count = count_f64(order.len());
    let mut least: f64 = 1.0;
    for (rank, &(i, p_extrapolated, p)) in order.iter().enumerate().rev() {
        least = least.min(p_extrapolated * count / count_f64(rank + 1));
        let one = &mut significances[i];
        // An extrapolation may decide among many series, but shows no more than was simulated.
        one.q = Some(least.max(p));
        let recurs = matches!(one.kind, Kind::Periodic | Kind::Unattributed);
        if recurs && least > FALSE_SHARE {
            one.kind = Kind::Undecided;
            one.likely_chance = Some(least);
        }
    }
    significances
}
