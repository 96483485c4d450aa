//! Whether trials ran in the same environment.

use super::trial::{Trial, TrialSet};
use std::collections::{BTreeMap, BTreeSet};

/// A property of the environment that is not the same in all trials.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct EnvironmentDifference {
    /// The property: `kernel`, `governor`.
    pub key: String,
    /// Where it differs.
    pub place: Place,
    /// For each set, in order, its values and how many trials have each. `null` counts trials that do not
    /// say.
    pub values: Vec<SetValues>,
}

/// Where a property differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Between sets only: it may be what is compared, or what explains a difference in its stead.
    Between,
    /// Within a set: its trials are not repetitions of the same.
    Within,
}

/// The values of a property in one set.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct SetValues {
    /// The set's name.
    pub set: String,
    /// Values, each with its number of trials.
    pub values: Vec<(Option<String>, usize)>,
}

/// Returns what differs between or within sets, by key. Nothing is known of a property that no trial states.
pub fn environment_differences(sets: &[TrialSet]) -> Vec<EnvironmentDifference> {
    let keys: BTreeSet<&String> = sets
        .iter()
        .flat_map(|set| &set.trials)
        .flat_map(|trial| trial.environment.keys())
        .collect();
    keys.into_iter()
        .filter_map(|key| {
            let counts: Vec<BTreeMap<Option<&String>, usize>> =
                sets.iter().map(|set| count(&set.trials, key)).collect();
            let place = if counts.iter().any(|counts| counts.len() > 1) {
                Place::Within
            } else if differ(&counts) {
                Place::Between
            } else {
                return None;
            };
            let values = sets.iter().zip(counts).map(|(set, counts)| SetValues {
                set: set.name.clone(),
                values: counts
                    .into_iter()
                    .map(|(value, count)| (value.cloned(), count))
                    .collect(),
            });
            Some(EnvironmentDifference {
                key: key.clone(),
                place,
                values: values.collect(),
            })
        })
        .collect()
}

fn count<'t>(trials: &'t [Trial], key: &str) -> BTreeMap<Option<&'t String>, usize> {
    let mut counts = BTreeMap::new();
    for trial in trials {
        *counts.entry(trial.environment.get(key)).or_insert(0) += 1;
    }
    counts
}

/// Whether sets that each have one value have different ones.
fn differ(counts: &[BTreeMap<Option<&String>, usize>]) -> bool {
    let values: BTreeSet<_> = counts.iter().flat_map(BTreeMap::keys).collect();
    values.len() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, trials: &[&[(&str, &str)]]) -> TrialSet {
        TrialSet {
            name: name.to_owned(),
            trials: trials
                .iter()
                .map(|environment| Trial {
                    environment: environment
                        .iter()
                        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                        .collect(),
                    ..Trial::default()
                })
                .collect(),
        }
    }

    #[test]
    fn differences_are_named_with_their_place() {
        let (old, new): (&[_], &[_]) = (
            &[("kernel", "6.1"), ("cpu", "x")],
            &[("kernel", "6.12"), ("cpu", "x")],
        );
        let mixed: &[_] = &[("kernel", "6.12"), ("cpu", "x"), ("governor", "powersave")];
        let found = environment_differences(&[set("a", &[old, old]), set("b", &[new, mixed])]);
        let places: Vec<(&str, Place)> = found
            .iter()
            .map(|difference| (difference.key.as_str(), difference.place))
            .collect();
        assert_eq!(
            places,
            [("governor", Place::Within), ("kernel", Place::Between)]
        );
        assert_eq!(
            found[0].values[1].values,
            [(None, 1), (Some("powersave".to_owned()), 1)]
        );
    }

    #[test]
    fn the_same_environment_and_sets_of_different_sizes() {
        let same: &[_] = &[("kernel", "6.1")];
        assert!(environment_differences(&[set("a", &[same; 3]), set("b", &[same; 5])]).is_empty());
        assert!(environment_differences(&[]).is_empty());
    }
}
