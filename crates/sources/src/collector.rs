//! Collects samples into series, within limits.

use crate::clean::{self, Samples};
use crate::reading::SERIES_SAMPLES_MAX;
use crate::{Limits, Reading, SourceError, Times};
use facts::Skipped;
use facts::series::{Better, Dating, SampleOf, Series};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

/// The description of a series to be created.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Draft {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub unit: Option<String>,
    pub better: Option<Better>,
    /// Whether its values are a counter, to be converted to a rate.
    pub counter: bool,
}

/// Series under construction.
#[derive(Debug)]
pub(crate) struct SeriesCollector {
    source: String,
    wanted_us: Range<i64>,
    limits: Limits,
    drafts: Vec<(Draft, Samples)>,
    ids: HashMap<String, usize>,
    samples: usize,
    /// Number of values in series beyond the limit.
    beyond_series: usize,
    /// Number of values beyond the limit.
    beyond_samples: usize,
    /// The first and the last time of samples outside the requested range.
    outside_us: Option<(i64, i64)>,
    /// The zone in which times are shown.
    zone: TimeZone,
    /// What samples say that are no rates of counters.
    pub sample_of: Option<SampleOf>,
    pub skipped: Vec<Skipped>,
    pub warnings: Vec<String>,
}

/// Maximum number of empty series listed by name.
const NAMED_MAX: usize = 5;

impl SeriesCollector {
    pub fn new(source: &str, times: &Times, limits: Limits) -> Self {
        Self {
            source: source.to_owned(),
            wanted_us: times.wanted_us(),
            limits,
            drafts: Vec::new(),
            ids: HashMap::new(),
            samples: 0,
            beyond_series: 0,
            beyond_samples: 0,
            outside_us: None,
            zone: times.zone.clone(),
            sample_of: None,
            skipped: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Returns whether the maximum number of series is reached.
    pub fn is_full(&self) -> bool {
        self.drafts.len() >= self.limits.series_max
    }

    /// Whether there is no series.
    pub fn is_empty(&self) -> bool {
        self.drafts.is_empty()
    }

    /// Adds a series and returns its id; `None` if the maximum number is reached.
    pub fn add(&mut self, draft: Draft) -> Option<usize> {
        if self.is_full() {
            return None;
        }
        self.drafts.push((draft, Samples::default()));
        Some(self.drafts.len() - 1)
    }

    /// Returns the id of the series with this key, creating it from `draft` on first use.
    pub fn id(&mut self, key: &str, draft: impl FnOnce() -> Draft) -> Option<usize> {
        if let Some(&id) = self.ids.get(key) {
            return Some(id);
        }
        let id = self.add(draft())?;
        self.ids.insert(key.to_owned(), id);
        Some(id)
    }

    /// Adds a sample to a series. A `value` of `None` is a missing value; an `id` of `None` is a series
    /// that was rejected.
    pub fn push(&mut self, id: Option<usize>, time_us: i64, value: Option<f64>) {
        let Some((_, samples)) = id.and_then(|id| self.drafts.get_mut(id)) else {
            self.beyond_series += 1;
            return;
        };
        if !self.wanted_us.contains(&time_us) {
            let (first, last) = self.outside_us.unwrap_or((time_us, time_us));
            self.outside_us = Some((first.min(time_us), last.max(time_us)));
            return;
        }
        let Some(value) = value else {
            samples.push_missing();
            return;
        };
        if self.samples >= self.limits.samples_max || samples.len() >= SERIES_SAMPLES_MAX {
            self.beyond_samples += 1;
            return;
        }
        self.samples += 1;
        samples.push(time_us, value);
    }

    /// Returns an error once there is more than the limits allow: readers stop there, whatever follows.
    ///
    /// # Errors
    /// [`SourceError::TooMuch`].
    pub fn check_limits(&self) -> Result<(), SourceError> {
        let Limits {
            samples_max,
            series_max,
        } = self.limits;
        let most = |count: usize, what: &str| {
            format!("more than {} {what}", units::count::grouped_usize(count))
        };
        let what = if self.beyond_samples > 0 && self.samples < samples_max {
            most(SERIES_SAMPLES_MAX, "samples of one series")
        } else if self.beyond_samples > 0 {
            most(samples_max, "samples")
        } else if self.beyond_series > samples_max {
            most(series_max, "series")
        } else {
            return Ok(());
        };
        Err(SourceError::TooMuch {
            source_name: self.source.clone(),
            reason: format!(
                "{what}: take part of the time (--since, --until) or of the columns (--column), or thin \
                 it, for example with awk 'NR == 1 || NR % 10 == 0'"
            ),
        })
    }

    /// Returns the collected series.
    ///
    /// # Errors
    /// When there are no values, or none within the requested times.
    pub fn finish(self, dating: Dating) -> Result<Reading, SourceError> {
        self.finish_with(dating, &[], Some)
    }

    /// Like [`SeriesCollector::finish`], with every time replaced by `time_us` of it, and further notes added
    /// to every series.
    ///
    /// # Errors
    /// Same as [`SeriesCollector::finish`].
    pub fn finish_with(
        mut self,
        dating: Dating,
        notes: &[String],
        time_us: impl Fn(i64) -> Option<i64>,
    ) -> Result<Reading, SourceError> {
        self.check_limits()?;
        self.report_limits();
        let mut series = Vec::with_capacity(self.drafts.len());
        let mut without = Vec::new();
        for (mut draft, samples) in self.drafts {
            let mut curve = samples.with_times(&time_us).clean();
            if draft.counter {
                curve = clean::rates(curve);
                draft.unit = draft.unit.map(|unit| format!("{unit}/s"));
            }
            if curve.values.is_empty() {
                without.push(draft.name);
                continue;
            }
            curve.notes.extend(notes.iter().cloned());
            let of_rate = draft.counter.then_some(SampleOf::Interval);
            series.push(Series {
                sample_of: of_rate.or(self.sample_of),
                name: draft.name,
                source: self.source.clone(),
                labels: draft.labels,
                unit: draft.unit,
                better: draft.better,
                dating,
                times_us: curve.times_us,
                values: curve.values,
                notes: curve.notes,
                discard_time: None,
            });
        }
        if series.is_empty() {
            return Err(SourceError::empty(
                self.source,
                match self.outside_us {
                    Some(outside_us) => describe_times_outside(outside_us, &self.zone, dating),
                    None => "it holds no samples with a value".to_owned(),
                },
            ));
        }
        report_empty_series(&without, &mut self.skipped);
        make_names_unique(&mut series);
        Ok(Reading {
            series,
            skipped: self.skipped,
            warnings: self.warnings,
            unselected: Vec::new(),
        })
    }

    fn report_limits(&mut self) {
        let series_max = self.limits.series_max;
        if self.beyond_series > 0 {
            self.skipped.push(Skipped::new(
                format!(
                    "{} of further series",
                    units::count(self.beyond_series, "value")
                ),
                format!("{series_max} series are read at most"),
                Some("fewer columns or labels"),
            ));
        }
    }
}

/// Explains where the samples are if none is within the requested range.
fn describe_times_outside(
    (first_us, last_us): (i64, i64),
    zone: &TimeZone,
    dating: Dating,
) -> String {
    let none = "no sample lies between the times that are wanted";
    let shown = |at_us: i64| {
        let at = Timestamp::from_microsecond(at_us).ok()?;
        let at = at.to_zoned(zone.clone());
        Some(at.strftime("%Y-%m-%d %H:%M %Z").to_string())
    };
    match (shown(first_us), shown(last_us)) {
        (Some(first), Some(last)) if dating == Dating::Absolute => {
            format!("{none}: there are samples from {first} to {last}")
        }
        _ => none.to_owned(),
    }
}

fn report_empty_series(names: &[String], skipped: &mut Vec<Skipped>) {
    for name in names.iter().take(NAMED_MAX) {
        skipped.push(Skipped::new(name.clone(), "it has no values", None));
    }
    if names.len() > NAMED_MAX {
        skipped.push(Skipped::new(
            format!("{} further series", names.len() - NAMED_MAX),
            "they have no values",
            None,
        ));
    }
}

/// Makes duplicate names unique by adding distinguishing labels, or a number if there are none.
pub(crate) fn make_names_unique(series: &mut [Series]) {
    let mut same: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, one) in series.iter().enumerate() {
        same.entry(one.name.clone()).or_default().push(index);
    }
    for group in same.values().filter(|group| group.len() > 1) {
        let keys: BTreeSet<String> = group
            .iter()
            .flat_map(|&index| series[index].labels.keys().cloned())
            .filter(|key| {
                let first = series[group[0]].labels.get(key);
                group
                    .iter()
                    .any(|&index| series[index].labels.get(key) != first)
            })
            .collect();
        for &index in group {
            let one = &mut series[index];
            let told: Vec<&str> = keys
                .iter()
                .filter_map(|key| one.labels.get(key).map(String::as_str))
                .collect();
            if !told.is_empty() {
                one.name = format!("{} {}", one.name, told.join(" "));
            }
        }
    }
    let mut taken: BTreeSet<String> = series.iter().map(|one| one.name.clone()).collect();
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    for one in series {
        let count = met.entry(one.name.clone()).or_insert(0);
        *count += 1;
        if *count == 1 {
            continue;
        }
        loop {
            let name = format!("{} ({count})", one.name);
            if taken.insert(name.clone()) {
                one.name = name;
                break;
            }
            *count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::names;

    fn draft(name: &str, labels: &[(&str, &str)]) -> Draft {
        Draft {
            name: name.to_owned(),
            labels: labels
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            ..Draft::default()
        }
    }

    #[test]
    fn limits_are_enforced_and_reported() {
        let limits = Limits {
            samples_max: 2,
            series_max: 1,
        };
        let mut collector = SeriesCollector::new("f", &Times::default(), limits);
        let first = collector.add(draft("a", &[]));
        let second = collector.add(draft("b", &[]));
        assert_eq!((first, second), (Some(0), None));
        for time in 0..2 {
            collector.push(first, time, Some(1.0));
            collector.push(second, time, Some(1.0));
        }
        collector.check_limits().unwrap();
        let reading = collector.finish(Dating::Absolute).unwrap();
        assert_eq!(reading.series.len(), 1);
        assert_eq!(reading.series[0].values.len(), 2);
        let what: Vec<&str> = reading
            .skipped
            .iter()
            .map(|one| one.what.as_str())
            .collect();
        assert_eq!(what, ["2 values of further series"]);
    }

    #[test]
    fn too_many_samples_are_an_error_that_names_the_way_out() {
        let limits = Limits {
            samples_max: 2,
            series_max: 1,
        };
        let mut collector = SeriesCollector::new("f", &Times::default(), limits);
        let id = collector.add(draft("a", &[]));
        for time in 0..3 {
            collector.push(id, time, Some(1.0));
        }
        let error = collector.check_limits().unwrap_err().to_string();
        assert!(
            error.starts_with("f: more than 2 samples: take part"),
            "{error}"
        );
        assert!(
            error.contains("--since") && error.contains("thin"),
            "{error}"
        );
        assert!(collector.finish(Dating::Absolute).is_err());
        // Values of further series do not keep a reader busy for good either.
        let mut collector = SeriesCollector::new("f", &Times::default(), limits);
        for time in 0..3 {
            collector.push(None, time, Some(1.0));
        }
        assert!(collector.check_limits().is_err());
    }

    #[test]
    fn duplicate_names_get_their_labels() {
        let mut collector = SeriesCollector::new("f", &Times::default(), Limits::default());
        for one in [
            draft("cpu", &[("host", "a"), ("zone", "x")]),
            draft("cpu", &[("host", "b"), ("zone", "x")]),
            draft("disk", &[]),
            draft("disk", &[]),
            draft("disk (2)", &[]),
        ] {
            let id = collector.add(one);
            collector.push(id, 1, Some(1.0));
        }
        let reading = collector.finish(Dating::Absolute).unwrap();
        assert_eq!(
            names(&reading),
            ["cpu a", "cpu b", "disk", "disk (3)", "disk (2)"]
        );
    }

    #[test]
    fn times_outside_the_range_are_dropped() {
        let times = Times {
            since: Some("2026-01-01T00:00:00Z".parse().unwrap()),
            until: Some("2026-01-02T00:00:00Z".parse().unwrap()),
            ..Times::default()
        };
        let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_microsecond();
        let mut collector = SeriesCollector::new("f", &times, Limits::default());
        let id = collector.add(draft("a", &[]));
        collector.push(id, at("2025-12-31T23:59:59Z"), Some(1.0));
        collector.push(id, at("2026-01-02T00:00:00Z"), Some(2.0));
        collector.push(id, at("2025-12-31T01:02:03Z"), Some(3.0));
        let error = collector.finish(Dating::Absolute).unwrap_err().to_string();
        assert_eq!(
            error,
            "f: no sample lies between the times that are wanted: there are samples from 2025-12-31 \
             01:02 UTC to 2026-01-02 00:00 UTC"
        );
    }
}
