//! In which order the trials of two sets ran.

use super::trial::Trial;

/// Fewest pairs that are compared as pairs. Fewer have too few degrees of freedom; comparing them as sets keeps
/// the promise too, as what drifts then counts as spread.
const PAIRS_MIN: usize = 4;

/// The order of trials in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// Not all trials say when they started, or two started at once.
    Unknown,
    /// One set ran after the other.
    Sequential,
    /// Mixed, but not in pairs.
    Mixed,
    /// Every two successive trials are one of each set; their indices, baseline first.
    Pairs(Vec<(usize, usize)>),
}

/// Returns how the trials were arranged.
pub(crate) fn arrangement(baseline: &[Trial], contender: &[Trial]) -> Arrangement {
    let starts = |set: &[Trial], is_contender: bool| {
        set.iter()
            .enumerate()
            .map(|(index, trial)| trial.started_us.map(|start| (start, is_contender, index)))
            .collect::<Option<Vec<_>>>()
    };
    let (Some(mut all), Some(others)) = (starts(baseline, false), starts(contender, true)) else {
        return Arrangement::Unknown;
    };
    all.extend(others);
    all.sort_unstable();
    if all.windows(2).any(|two| two[0].0 == two[1].0) {
        return Arrangement::Unknown;
    }
    let changes = all.windows(2).filter(|two| two[0].1 != two[1].1).count();
    if changes <= 1 {
        return Arrangement::Sequential;
    }
    let pairs: Option<Vec<(usize, usize)>> = all
        .chunks(2)
        .map(|two| match two {
            [(_, false, a), (_, true, b)] | [(_, true, b), (_, false, a)] => Some((*a, *b)),
            _ => None,
        })
        .collect();
    match pairs {
        Some(pairs) if pairs.len() >= PAIRS_MIN => Arrangement::Pairs(pairs),
        _ => Arrangement::Mixed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sets from an order such as `ABBA`, their trials in reverse.
    fn sets(order: &str) -> (Vec<Trial>, Vec<Trial>) {
        let of = |set: char| {
            order
                .char_indices()
                .rev()
                .filter(|(_, one)| *one == set)
                .map(|(at, _)| Trial {
                    started_us: i64::try_from(at).ok(),
                    ..Trial::default()
                })
                .collect::<Vec<_>>()
        };
        (of('A'), of('B'))
    }

    fn of(order: &str) -> Arrangement {
        let (a, b) = sets(order);
        arrangement(&a, &b)
    }

    #[test]
    fn orders_of_trials() {
        assert_eq!(of("AAABBB"), Arrangement::Sequential);
        assert_eq!(of("BBBA"), Arrangement::Sequential);
        assert_eq!(of("AABBAABB"), Arrangement::Mixed);
        assert_eq!(of("ABABA"), Arrangement::Mixed);
        assert_eq!(of("ABBA"), Arrangement::Mixed, "too few pairs");
        // The trials are in reverse, so the last of each set ran first.
        assert_eq!(
            of("ABBABAAB"),
            Arrangement::Pairs(vec![(3, 3), (2, 2), (1, 1), (0, 0)])
        );
    }

    #[test]
    fn without_all_times_nothing_is_known() {
        let (mut a, b) = sets("ABBAABBA");
        a[1].started_us = None;
        assert_eq!(arrangement(&a, &b), Arrangement::Unknown);
        let (mut a, b) = sets("ABBAABBA");
        a[0].started_us = b[0].started_us;
        assert_eq!(arrangement(&a, &b), Arrangement::Unknown);
    }
}
