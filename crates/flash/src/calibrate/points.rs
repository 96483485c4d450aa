//! A measured series as text: a time in seconds and a value on each line.

use thiserror::Error;

/// Maximum number of points, about two years of minutes; a longer series adds no information.
pub const POINTS_MAX: usize = 1_000_000;
/// A thousand years.
const SECONDS_MAX: f64 = 1e3 * 365.25 * 86_400.0;
/// Maximum value, far above any drive's throughput.
const VALUE_MAX: f64 = 1e15;
/// Maximum length of a line quoted in an error.
const QUOTED_MAX: usize = 40;

/// The points of a series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Points {
    /// Seconds, ascending.
    pub time_s: Vec<f64>,
    /// Values above 0.
    pub value: Vec<f64>,
}

/// Why a text is not a valid series.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PointsError {
    /// A line that does not consist of two numbers.
    #[error("line {line}: expected a time in seconds and a value, found {found:?}")]
    Columns {
        /// Line number, from 1.
        line: usize,
        /// The line, shortened.
        found: String,
    },
    /// Two numbers that are not a valid point.
    #[error("line {line}: {what}")]
    Point {
        /// Line number, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// Too many points.
    #[error("more than {POINTS_MAX} points")]
    TooMany,
}

impl Points {
    /// Parses two columns separated by a comma, semicolon or tab. A header line at the top, blank
    /// lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// If a line is invalid, describing the first one.
    pub fn parse(text: &str) -> Result<Self, PointsError> {
        let mut points = Self::default();
        let mut named = false;
        for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let number = index + 1;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match two_numbers(line) {
                Some((time, value)) => {
                    check(time, points.time_s.last().copied(), value)
                        .map_err(|what| PointsError::Point { line: number, what })?;
                    points.time_s.push(time);
                    points.value.push(value);
                }
                // A first line that begins with a number is a damaged point rather than a header.
                None if points.time_s.is_empty() && !named && !begins_with_number(line) => {
                    named = true;
                }
                None => {
                    return Err(PointsError::Columns {
                        line: number,
                        found: units::cut(line, QUOTED_MAX).into_owned(),
                    });
                }
            }
            if points.time_s.len() > POINTS_MAX {
                return Err(PointsError::TooMany);
            }
        }
        Ok(points)
    }

    /// Multiplies every value by a unit.
    pub fn scale(&mut self, unit: f64) {
        for value in &mut self.value {
            *value *= unit;
        }
    }
}

fn two_numbers(line: &str) -> Option<(f64, f64)> {
    let mut fields = line.split([',', ';', '\t']).map(str::trim);
    let (time, value) = (fields.next()?, fields.next()?);
    if fields.next().is_some() {
        return None;
    }
    Some((time.parse().ok()?, value.parse().ok()?))
}

fn begins_with_number(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+' || c == '.')
}

/// Rejects values that no series can contain, whatever is measured.
fn check(time: f64, before: Option<f64>, value: f64) -> Result<(), String> {
    if !time.is_finite() || time.abs() > SECONDS_MAX {
        return Err(format!(
            "the time is {time:e}, expected seconds, a thousand years of them at most"
        ));
    }
    if let Some(before) = before
        && time <= before
    {
        return Err(format!(
            "the time is {time}, expected more than {before}, that of the point before"
        ));
    }
    if !(value > 0.0 && value <= VALUE_MAX) {
        return Err(format!(
            "the value is {value:e}, expected more than 0 and at most {VALUE_MAX:e}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_columns() {
        let text = "\u{feff}time,value\n# a remark\n0,1.5\n 10 ; 1.25 \n20\t1\n\n";
        let mut points = Points::parse(text).unwrap();
        assert_eq!(points.time_s, [0.0, 10.0, 20.0]);
        assert_eq!(points.value, [1.5, 1.25, 1.0]);
        points.scale(1e6);
        assert_eq!(points.value, [1_500_000.0, 1_250_000.0, 1_000_000.0]);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, named) in [
            ("a,b\n1,2\nx,3\n", "line 3"),
            ("a,b\nc,d\n", "line 2"),
            ("1,2,3\n", "line 1"),
            ("1,2\n3\n", "line 2"),
            ("0x1,5\n", "line 1"),
            ("1 s,5\n", "line 1"),
            ("1,2\n1,2\n", "line 2: the time is 1, expected more than 1"),
            ("2,2\n1,2\n", "line 2: the time"),
            ("1,2\nnan,2\n", "line 2: the time is NaN"),
            ("1,2\n1e300,2\n", "line 2: the time is 1e300"),
            ("1,2\n2,nan\n", "line 2: the value is NaN"),
            ("1,2\n2,0\n", "line 2: the value is 0e0"),
            ("1,2\n2,-5\n", "line 2: the value is -5e0"),
            ("1,2\n2,inf\n", "line 2: the value is inf"),
        ] {
            let error = Points::parse(text).unwrap_err().to_string();
            assert!(error.contains(named), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*|([0-9.eE+-]{0,6}[,;\t]?[0-9.a-z]{0,6}\n){0,9}") {
            if let Ok(points) = Points::parse(&text) {
                prop_assert_eq!(points.time_s.len(), points.value.len());
            }
        }
    }
}
