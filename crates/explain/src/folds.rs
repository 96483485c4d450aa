//! Hosts whose folded weeks show the same thing at the same time.
//!
//! A thousand curves are too many to read, but not their folded weeks: what is high in each ten minutes of the week. Those
//! tell which hosts may share a pattern, so that a few of each such group are read whole. Whether it recurs, and
//! which job is behind it, only these tell: a folded week has no weeks.

use crate::numbers::count_f64;
use crate::statistics::median;
use facts::series::{Better, FoldedWeek};
use rayon::prelude::*;
use std::collections::BTreeSet;

/// Slots of a week and of a day.
const WEEK: usize = FoldedWeek::SLOTS;
const DAY: usize = WEEK / 7;
/// Load changes more slowly than this many slots: three hours to either side.
const SMOOTH: usize = 18;
/// What is beside something of the longest length, in slots before and after it.
const BESIDE: (usize, usize) = (13, 30);
/// Lengths of what is looked for, in slots: ten minutes to two hours.
const LENGTHS: [usize; 7] = [1, 2, 3, 4, 6, 8, 12];
/// What stands out is so many standard deviations above the rest of the week. The largest of some 7,000 places in noise is
/// about 4.2; the noise of curves has longer tails.
const OUTSTANDING: f64 = 7.0;
/// The same at the time of a group.
const OUTSTANDING_THERE: f64 = 5.0;
/// Places of hosts with no more slots between them are one: starts that are spread by a random delay.
const NEAR: usize = 3;
/// A group never takes more of a week, in slots: six hours.
const SPAN_MAX: usize = 36;
/// Fewer hosts are no group.
const HOSTS_MIN: usize = 3;
/// Maximum number of groups, the largest first.
const GROUPS_MAX: usize = 4;
/// Hosts of a group that are read whole.
const SHOWN: usize = 3;

/// Hosts that show something at the same time of the week, or of the day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kin {
    /// Their names, in the order of the weeks.
    pub hosts: Vec<String>,
    /// Those of them to read whole: from the strongest to the weakest.
    pub shown: Vec<String>,
}

/// Groups of hosts by their folded weeks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Folded {
    /// The groups, the largest first; a host may be in several.
    pub groups: Vec<Kin>,
    /// How many hosts have a folded week.
    pub hosts: usize,
}

/// One of the curves that are looked at: what is high or low, by the week or by the day.
#[derive(Clone, Copy, PartialEq, Eq)]
struct View {
    is_high: bool,
    is_daily: bool,
}

/// Where something stands out.
#[derive(Clone, Copy)]
struct Place {
    /// Its middle, in half slots.
    middle: usize,
    score: f64,
}

/// Groups hosts. If it is known whether higher or lower is better, only the other counts.
pub fn folded(weeks: &[FoldedWeek], better: Option<Better>) -> Folded {
    let mut groups = Vec::new();
    for (is_high, improved) in [(true, Better::Higher), (false, Better::Lower)] {
        if better == Some(improved) {
            continue;
        }
        for is_daily in [false, true] {
            groups.extend(groups_of(weeks, View { is_high, is_daily }));
        }
    }
    groups.sort_by_key(|kin| std::cmp::Reverse(kin.hosts.len()));
    // What is low where others are high, or on one day of those on which it is on all: told once.
    let mut kept: Vec<Kin> = Vec::new();
    for group in groups {
        if kept.len() < GROUPS_MAX && kept.iter().all(|known| known.hosts != group.hosts) {
            kept.push(group);
        }
    }
    Folded {
        groups: kept,
        hosts: weeks.len(),
    }
}

fn groups_of(weeks: &[FoldedWeek], view: View) -> Vec<Kin> {
    let slots = if view.is_daily { DAY } else { WEEK };
    let best = |week: &FoldedWeek| Curve::of(week, view).best(0..slots, OUTSTANDING);
    let places: Vec<Option<Place>> = weeks.par_iter().map(best).collect();
    let found = clusters(&places, slots);
    if found.is_empty() {
        return Vec::new();
    }
    // Others may have a stronger place elsewhere.
    let there = |week: &FoldedWeek| -> Vec<Option<f64>> {
        let curve = Curve::of(week, view);
        let of_group = |&(from, to): &(usize, usize)| {
            let near = (from..=to).map(|place| place % slots);
            Some(curve.best(near, OUTSTANDING_THERE)?.score)
        };
        found.iter().map(of_group).collect()
    };
    let scores: Vec<Vec<Option<f64>>> = weeks.par_iter().map(there).collect();
    (0..found.len())
        .map(|group| {
            let all = scores.iter().zip(weeks);
            kin(all.filter_map(|(scores, week)| Some((week.name.as_str(), scores[group]?))))
        })
        .collect()
}

/// A group of hosts with their scores.
fn kin<'a>(scored: impl Iterator<Item = (&'a str, f64)>) -> Kin {
    let mut scored: Vec<(&str, f64)> = scored.collect();
    let hosts = scored.iter().map(|&(name, _)| name.to_owned()).collect();
    scored.sort_by(|one, other| other.1.total_cmp(&one.1));
    let last = scored.len().saturating_sub(1);
    let ranks: BTreeSet<usize> = (0..SHOWN).map(|part| part * last / (SHOWN - 1)).collect();
    let shown = ranks.into_iter().filter_map(|rank| scored.get(rank));
    Kin {
        hosts,
        shown: shown.map(|&(name, _)| name.to_owned()).collect(),
    }
}

/// Finds the times at which more hosts have their place than by chance; from and to in slots, which may be beyond the end.
fn clusters(places: &[Option<Place>], slots: usize) -> Vec<(usize, usize)> {
    let mut middles: Vec<usize> = places
        .iter()
        .flatten()
        .map(|place| place.middle / 2 % slots)
        .collect();
    middles.sort_unstable();
    let next_week = middles.iter().map(|middle| middle + slots);
    let twice: Vec<usize> = middles.iter().copied().chain(next_week).collect();
    // Begins after the widest gap, so that no cluster is cut in two.
    let widest = (1..=middles.len()).max_by_key(|&at| twice[at] - twice[at - 1]);
    let Some(begin) = widest else {
        return Vec::new();
    };
    let mut found: Vec<Vec<usize>> = Vec::new();
    for &middle in &twice[begin..begin + middles.len()] {
        match found.last_mut() {
            Some(cluster)
                if middle - cluster[cluster.len() - 1] <= NEAR
                    && middle - cluster[0] <= SPAN_MAX =>
            {
                cluster.push(middle);
            }
            _ => found.push(vec![middle]),
        }
    }
    let is_more_than_chance = |cluster: &Vec<usize>| {
        let span = cluster[cluster.len() - 1] - cluster[0] + 1 + 2 * NEAR;
        let expected = count_f64(middles.len()) * count_f64(span) / count_f64(slots);
        cluster.len() >= HOSTS_MIN && count_f64(cluster.len()) > expected + 6.0 * expected.sqrt()
    };
    found.retain(is_more_than_chance);
    found.sort_by_key(|cluster| std::cmp::Reverse(cluster.len()));
    let ends = found
        .iter()
        .map(|cluster| (cluster[0], cluster[cluster.len() - 1]));
    ends.take(GROUPS_MAX).collect()
}

/// What stands out of a host's week or day.
struct Curve {
    /// For each of [`LENGTHS`], the sums over so many slots from each on, in standard deviations.
    sums: Vec<Vec<f64>>,
}

impl Curve {
    fn of(week: &FoldedWeek, view: View) -> Self {
        let (values, sign) = if view.is_high {
            (&week.high, 1.0)
        } else {
            (&week.low, -1.0)
        };
        let value = |slot: usize| values.get(slot).map_or(f64::NAN, |&value| f64::from(value));
        let usual: Vec<f64> = (0..DAY)
            .map(|slot| usual((0..7).map(|day| value(day * DAY + slot))))
            .collect();
        let rest: Vec<f64> = if view.is_daily {
            usual
        } else {
            (0..WEEK)
                .map(|slot| value(slot) - usual[slot % DAY])
                .collect()
        };
        let slots = rest.len();
        let sharp: Vec<f64> = (0..slots)
            .map(|slot| {
                let level = |from: usize, to: usize| {
                    sign * self::usual((from..=to).map(|near| rest[near % slots]))
                };
                let at = slot + slots;
                // Load has humps, and steps where a weekend begins: above what is around it, and above both sides.
                let around = level(at - SMOOTH, at + SMOOTH);
                let before = level(at - BESIDE.1, at - BESIDE.0);
                let after = level(at + BESIDE.0, at + BESIDE.1);
                let above = sign * rest[slot] - around.max(before).max(after);
                if above.is_finite() { above } else { 0.0 }
            })
            .collect();
        let sums = LENGTHS.map(|len| {
            let sum = |from: usize| {
                (from..from + len)
                    .map(|slot| sharp[slot % slots])
                    .sum::<f64>()
            };
            let sums: Vec<f64> = (0..slots).map(sum).collect();
            let middle = usual_of(sums.clone());
            let spread = usual_of(sums.iter().map(|sum| (sum - middle).abs()).collect());
            // Of a curve that hardly ever moves, whatever moves stands out.
            let largest = sums.iter().fold(0.0_f64, |most, sum| most.max(sum.abs()));
            let deviation = (1.4826 * spread).max(largest * 1e-3).max(f64::MIN_POSITIVE);
            sums.iter().map(|sum| (sum - middle) / deviation).collect()
        });
        Self {
            sums: sums.to_vec(),
        }
    }

    /// The place that stands out most, of those that begin at one of `slots`.
    fn best(&self, slots: impl IntoIterator<Item = usize>, least: f64) -> Option<Place> {
        let mut best: Option<Place> = None;
        for slot in slots {
            for (len, sums) in LENGTHS.iter().zip(&self.sums) {
                // The middle is at `slot`.
                let from = (slot + sums.len() - len / 2) % sums.len();
                let score = sums[from];
                if score >= least && best.is_none_or(|best| score > best.score) {
                    let middle = 2 * (slot + sums.len()) - len / 2 * 2 + len;
                    best = Some(Place {
                        middle: middle % (2 * sums.len()),
                        score,
                    });
                }
            }
        }
        best
    }
}

/// The median of the finite values; not a number if there are none.
fn usual(values: impl Iterator<Item = f64>) -> f64 {
    usual_of(values.filter(|value| value.is_finite()).collect())
}

fn usual_of(values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    median(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number between -1 and 1 that looks random.
    fn noise(seed: usize) -> f32 {
        let mixed = (seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        #[allow(clippy::cast_precision_loss)]
        let share = ((mixed ^ mixed >> 32) % 10_000) as f32 / 5_000.0;
        share - 1.0
    }

    /// Forty hosts with a daily wave and quiet weekends. In `places`, the host's `effect` is added in some slots.
    fn weeks(effect: f32, places: impl Fn(usize) -> Vec<usize>) -> Vec<FoldedWeek> {
        (0..40)
            .map(|host| {
                let busy = places(host);
                let value = |slot: usize| {
                    #[allow(clippy::cast_precision_loss)]
                    let hour = (slot % DAY) as f32 / 6.0;
                    let load = 0.5 + 0.5 * ((hour - 14.0) / 24.0 * std::f32::consts::TAU).cos();
                    let is_weekend = slot / DAY >= 5;
                    let load = if is_weekend { load * 0.3 } else { load };
                    let more = if busy.contains(&slot) { effect } else { 0.0 };
                    10.0 + 4.0 * load + 0.3 * noise(host * WEEK + slot) + more
                };
                let high: Vec<f32> = (0..WEEK).map(value).collect();
                FoldedWeek {
                    name: format!("db{host:02}"),
                    low: high.clone(),
                    high,
                }
            })
            .collect()
    }

    fn named(hosts: impl IntoIterator<Item = usize>) -> Vec<String> {
        hosts
            .into_iter()
            .map(|host| format!("db{host:02}"))
            .collect()
    }

    #[test]
    fn hosts_of_one_time_of_the_week_are_a_group_however_strong_it_is() {
        for effect in [2.0, 5.0, 100.0, 1e6] {
            // Mondays from 00:00 on, somewhere within 100 minutes; the week begins on a Thursday.
            let monday = 4 * DAY;
            let found = folded(
                &weeks(effect, |host| {
                    let from = monday + host % 8;
                    if host < 12 {
                        (from..from + 3).collect()
                    } else {
                        Vec::new()
                    }
                }),
                Some(Better::Lower),
            );
            assert_eq!(found.groups.len(), 1, "{effect}: {found:?}");
            assert_eq!(found.groups[0].hosts, named(0..12), "{effect}");
            assert_eq!(found.groups[0].shown.len(), SHOWN);
            assert_eq!(found.hosts, 40);
        }
    }

    #[test]
    fn a_group_at_the_end_of_the_week_is_one() {
        let found = folded(
            &weeks(8.0, |host| {
                if host < 6 {
                    vec![(WEEK - 3 + host) % WEEK]
                } else {
                    Vec::new()
                }
            }),
            Some(Better::Lower),
        );
        assert_eq!(found.groups.len(), 1, "{found:?}");
        assert_eq!(found.groups[0].hosts, named(0..6));
    }

    #[test]
    fn what_is_on_every_day_is_found_as_well() {
        let found = folded(
            &weeks(8.0, |host| {
                let days = (0..7).map(|day| day * DAY + 19);
                if host % 2 == 0 {
                    days.collect()
                } else {
                    Vec::new()
                }
            }),
            Some(Better::Lower),
        );
        assert_eq!(found.groups.len(), 1, "{found:?}");
        assert_eq!(found.groups[0].hosts, named((0..40).step_by(2)));
    }

    #[test]
    fn load_noise_and_events_of_single_hosts_are_no_group() {
        for better in [None, Some(Better::Lower), Some(Better::Higher)] {
            assert_eq!(folded(&weeks(0.0, |_| Vec::new()), better).groups, []);
        }
        // Each at another time.
        let apart = weeks(50.0, |host| vec![host * 25]);
        assert_eq!(folded(&apart, Some(Better::Lower)).groups, []);
        assert_eq!(folded(&[], None), Folded::default());
    }

    #[test]
    fn hosts_with_another_pattern_of_their_own_are_members_too() {
        let found = folded(
            &weeks(8.0, |host| match host {
                0..10 => vec![600, 601],
                // Stronger elsewhere: three slots instead of two.
                10..13 => vec![600, 601, 100 + host * 20, 101 + host * 20, 102 + host * 20],
                _ => Vec::new(),
            }),
            Some(Better::Lower),
        );
        assert_eq!(found.groups.len(), 1, "{found:?}");
        assert_eq!(found.groups[0].hosts, named(0..13));
    }

    #[test]
    fn weeks_with_gaps_or_of_another_length_do_no_harm() {
        let mut weeks = weeks(8.0, |host| if host < 5 { vec![300] } else { Vec::new() });
        for week in &mut weeks {
            week.high[500..520].fill(f32::NAN);
        }
        weeks[30].high.truncate(10);
        weeks[31].high.clear();
        weeks[32].high.fill(0.0);
        weeks[33].high.fill(f32::INFINITY);
        let found = folded(&weeks, Some(Better::Lower));
        assert_eq!(found.groups[0].hosts, named(0..5));
    }
}
