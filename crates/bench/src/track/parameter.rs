//! Parameters of searches and paths, drawn anew for each request.

use super::types::Parameter;
use super::updates::Keys;
use crate::random::Random;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::io::Write as _;

/// Most values that a time may have between `from` and `to`.
const STEPS_MAX: u64 = 1 << 53;

/// What is wrong with a parameter, if anything is.
pub(super) fn fault(parameters: &BTreeMap<String, Parameter>, name: &str) -> Option<String> {
    match parameters.get(name)? {
        Parameter::Number { min, max } if min > max => {
            Some(format!("min {min} is above max {max}"))
        }
        Parameter::Time { from, to, step } => {
            let len_ms = to.as_millisecond().saturating_sub(from.as_millisecond());
            let step_ms = u64::try_from(step.duration().as_millis()).unwrap_or(u64::MAX);
            if from.as_millisecond() < 0 {
                Some("from is before 1970".to_owned())
            } else if len_ms <= 0 {
                Some(format!("from {from} is not before to {to}"))
            } else if step_ms == 0 {
                Some("step is below 1ms".to_owned())
            } else if u64::try_from(len_ms).is_ok_and(|len_ms| len_ms / step_ms > STEPS_MAX) {
                Some("step is too short for so long a time".to_owned())
            } else {
                None
            }
        }
        Parameter::After { parameter, .. } => match parameters.get(parameter) {
            Some(Parameter::Number { .. } | Parameter::Time { .. }) => None,
            Some(_) => Some(format!(
                "parameter {} is neither a number nor a time",
                units::escape(parameter)
            )),
            None => Some(format!(
                "no parameter is named {}",
                units::escape(parameter)
            )),
        },
        Parameter::Choice { values } if values.is_empty() => Some("values is empty".to_owned()),
        Parameter::Key { keys, .. } if keys.0 == 0 => Some("keys is 0".to_owned()),
        _ => None,
    }
}

/// Draws the values of all parameters of an operation.
#[derive(Debug, Clone)]
pub(crate) struct Drawer {
    draws: Vec<Draw>,
}

#[derive(Debug, Clone)]
enum Draw {
    Number { min: u64, count: u64, step: u64 },
    After { index: usize, by: u64 },
    Choice(Vec<String>),
    Key(Keys),
}

impl Drawer {
    /// Prepares valid parameters, in the order of their names.
    pub(super) fn new(parameters: &BTreeMap<String, Parameter>) -> Self {
        let draws = parameters
            .values()
            .map(|parameter| match parameter {
                Parameter::Number { min, max } => Draw::Number {
                    min: *min,
                    count: (max - min).saturating_add(1),
                    step: 1,
                },
                Parameter::Time { from, to, step } => {
                    let step_ms = u64::try_from(step.duration().as_millis()).unwrap_or(u64::MAX);
                    let ms = |at: &Timestamp| u64::try_from(at.as_millisecond()).unwrap_or(0);
                    Draw::Number {
                        min: ms(from),
                        count: (ms(to) - ms(from)).div_ceil(step_ms),
                        step: step_ms,
                    }
                }
                Parameter::After { parameter, by } => Draw::After {
                    index: parameters
                        .keys()
                        .position(|name| name == parameter)
                        .unwrap_or(0),
                    by: u64::try_from(by.duration().as_millis()).unwrap_or(u64::MAX),
                },
                Parameter::Choice { values } => Draw::Choice(values.clone()),
                Parameter::Key { keys, distribution } => {
                    Draw::Key(Keys::new(keys.0, *distribution))
                }
            })
            .collect();
        Self { draws }
    }

    /// Draws the values of request `sequence` of an operation with this seed. They depend on nothing else.
    pub(crate) fn draw(&self, seed: u64, sequence: u64, values: &mut Vec<Vec<u8>>) {
        let mut random = Random::stream(seed, sequence);
        values.resize_with(self.draws.len(), Vec::new);
        let mut numbers = [0_u64; PARAMETERS_MAX];
        for (index, (draw, value)) in self.draws.iter().zip(values.iter_mut()).enumerate() {
            value.clear();
            match draw {
                Draw::Number { min, count, step } => {
                    numbers[index] = *min + random.below(*count) * *step;
                    let _ = write!(value, "{}", numbers[index]);
                }
                Draw::After { .. } => {}
                Draw::Choice(texts) => {
                    let chosen = usize::try_from(random.below(texts.len() as u64)).unwrap_or(0);
                    value.extend_from_slice(texts[chosen].as_bytes());
                }
                Draw::Key(keys) => keys.write(keys.nth(sequence, &mut random), value),
            }
        }
        for (draw, value) in self.draws.iter().zip(values) {
            if let Draw::After { index, by } = draw {
                let _ = write!(value, "{}", numbers[*index].saturating_add(*by));
            }
        }
    }
}

/// The most parameters of one operation.
pub(super) const PARAMETERS_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(text: &str) -> BTreeMap<String, Parameter> {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn values_stay_within_their_bounds_and_depend_on_the_sequence_alone() {
        let parameters = parameters(
            r#"
            n = { kind = "number", min = 5, max = 7 }
            t = { kind = "time", from = "1970-01-01T00:00:01Z", to = "1970-01-01T00:00:02Z", step = "300ms" }
            end = { kind = "after", parameter = "t", by = "2s" }
            word = { kind = "choice", values = ["cpu", "load"] }
            "#,
        );
        assert!(
            parameters
                .keys()
                .all(|name| fault(&parameters, name).is_none())
        );
        let drawer = Drawer::new(&parameters);
        let mut values = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for sequence in 0..500 {
            drawer.draw(9, sequence, &mut values);
            let texts: Vec<String> = values
                .iter()
                .map(|value| String::from_utf8(value.clone()).unwrap())
                .collect();
            // In the order of the names: end, n, t, word.
            let time: u64 = texts[2].parse().unwrap();
            assert_eq!(texts[0].parse::<u64>().unwrap(), time + 2000);
            seen.insert((texts[1].clone(), time, texts[3].clone()));
        }
        // 3 numbers, 4 times (1000, 1300, 1600, 1900), 2 words: all of them occur.
        assert_eq!(seen.len(), 24);
        assert!(
            seen.iter()
                .all(|(n, t, _)| (5..=7).contains(&n.parse().unwrap())
                    && [1000, 1300, 1600, 1900].contains(t))
        );
        let mut again = Vec::new();
        drawer.draw(9, 499, &mut again);
        assert_eq!(values, again);
    }

    #[test]
    fn impossible_parameters_are_found() {
        for (text, fault_start) in [
            (r#"x = { kind = "number", min = 2, max = 1 }"#, "min 2"),
            (r#"x = { kind = "choice", values = [] }"#, "values"),
            (
                r#"x = { kind = "after", parameter = "x", by = "1s" }"#,
                "parameter x is neither",
            ),
            (
                r#"x = { kind = "after", parameter = "y", by = "1s" }"#,
                "no parameter",
            ),
            (
                r#"x = { kind = "time", from = "2017-01-01T00:00:00Z", to = "2017-01-01T00:00:00Z", step = "1s" }"#,
                "from 2017",
            ),
        ] {
            let found = fault(&parameters(text), "x").unwrap_or_default();
            assert!(found.starts_with(fault_start), "{text}: {found}");
        }
    }
}
