//! In which order the trials of two sets ran.

use super::trial::Trial;

/// Fewest pairs that are compared as pairs. Fewer have too few degrees of freedom; comparing them as sets keeps
/// the promise too, as what drifts then counts as spread.
pub(crate) const PAIRS_MIN: usize = 4;
/// A break between sets of at least this, in microseconds, may be one between days: 12 hours.
const BREAK_MIN_US: i64 = 12 * 3_600_000_000;
/// How many times as long as any other between trials such a break is. Sets of nights have none.
const BREAK_TIMES: i64 = 3;

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

/// One trial in the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// When it started, in microseconds.
    pub started_us: i64,
    /// Of which set it is.
    pub is_contender: bool,
    /// Its index in the set.
    pub index: usize,
}

/// Returns the trials of both sets in the order in which they started; `None` if it is not known.
pub(crate) fn places(baseline: &[Trial], contender: &[Trial]) -> Option<Vec<Place>> {
    let of = |set: &[Trial], is_contender: bool| {
        let place = |(index, trial): (usize, &Trial)| {
            Some(Place {
                started_us: trial.started_us?,
                is_contender,
                index,
            })
        };
        set.iter()
            .enumerate()
            .map(place)
            .collect::<Option<Vec<_>>>()
    };
    let mut all = of(baseline, false)?;
    all.extend(of(contender, true)?);
    all.sort_unstable();
    all.windows(2)
        .all(|two| two[0].started_us != two[1].started_us)
        .then_some(all)
}

/// Returns how trials in the order of time were arranged.
pub(crate) fn arrangement(places: Option<&[Place]>) -> Arrangement {
    let Some(places) = places else {
        return Arrangement::Unknown;
    };
    if changes(places).count() <= 1 {
        return Arrangement::Sequential;
    }
    let pairs: Option<Vec<(usize, usize)>> = places
        .chunks(2)
        .map(|two| {
            let of = |is_contender: bool| two.iter().find(|one| one.is_contender == is_contender);
            Some((of(false)?.index, of(true)?.index))
        })
        .collect();
    match pairs {
        Some(pairs) if pairs.len() >= PAIRS_MIN => Arrangement::Pairs(pairs),
        _ => Arrangement::Mixed,
    }
}

/// Returns the time between two sets, in microseconds, if one ran after the other on other days: then a
/// difference between the days is not seen within either.
pub(crate) fn days_between(places: &[Place]) -> Option<i64> {
    let mut all = changes(places);
    let (Some(change), None) = (all.next(), all.next()) else {
        return None;
    };
    let steps = || {
        places
            .windows(2)
            .map(|two| two[1].started_us.saturating_sub(two[0].started_us))
    };
    let between = steps().nth(change)?;
    let other = steps().enumerate().filter(|(at, _)| *at != change);
    let longest = other.map(|(_, step)| step).max().unwrap_or(0);
    (between >= BREAK_MIN_US && between > longest.saturating_mul(BREAK_TIMES)).then_some(between)
}

/// The steps, by number, from a trial of one set to one of the other.
fn changes(places: &[Place]) -> impl Iterator<Item = usize> {
    let steps = places.windows(2).enumerate();
    steps
        .filter(|(_, two)| two[0].is_contender != two[1].is_contender)
        .map(|(at, _)| at)
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
        arrangement(places(&a, &b).as_deref())
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
        assert_eq!(places(&a, &b), None);
        let (mut a, b) = sets("ABBAABBA");
        a[0].started_us = b[0].started_us;
        assert_eq!(places(&a, &b), None);
        assert_eq!(arrangement(None), Arrangement::Unknown);
    }

    #[test]
    fn days_lie_between_sets_whose_trials_followed_each_other() {
        let between = |hours: &[i64], of_baseline: usize| {
            let places: Vec<Place> = hours
                .iter()
                .enumerate()
                .map(|(index, hour)| Place {
                    started_us: hour * 3_600_000_000,
                    is_contender: index >= of_baseline,
                    index,
                })
                .collect();
            days_between(&places).map(|gap| gap / 3_600_000_000)
        };
        assert_eq!(between(&[0, 1, 2, 170, 171, 172], 3), Some(168));
        // A week later, but it began within a set; on the same day; one each night.
        assert_eq!(between(&[0, 1, 2, 170, 171, 172], 4), None);
        assert_eq!(between(&[0, 1, 2, 10, 11, 12], 3), None);
        assert_eq!(between(&[0, 24, 48, 72, 96, 120], 3), None);
    }
}
