//! Control of false discoveries among many series (Benjamini and Hochberg 1995).

use super::decision::Decision;
use super::result::Kind;
use crate::numbers::count_f64;

/// False discovery rate: the maximum expected share of chance patterns among those reported.
const FALSE_SHARE: f64 = 0.05;

/// The significance of a decision among all others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Significance {
    /// The classification after the adjustment.
    pub kind: Kind,
    /// Adjusted probability by chance, at least p; `None` if nothing was searched.
    pub q: Option<f64>,
    /// The adjusted extrapolated probability, if it means that the pattern is likely due to chance.
    pub likely_chance: Option<f64>,
}

/// Controls the false discovery rate among these decisions; returns one result for each.
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
        // An extrapolation may decide among many series, but must not claim more than was simulated.
        one.q = Some(least.max(p));
        let recurs = matches!(one.kind, Kind::Periodic | Kind::Unattributed);
        if recurs && least > FALSE_SHARE {
            one.kind = Kind::Undecided;
            one.likely_chance = Some(least);
        }
    }
    significances
}
