//! The time of a device's discards and flushes, from histories that record neither.
//!
//! The eleventh counter of /proc/diskstats, the weighted time, is the sum of the time of reads, writes, discards and
//! flushes (`diskstats_show` in Linux' block/genhd.c, since 5.7). What reads and writes leave of it is that of
//! discards and flushes. Older kernels add up the requests in flight instead: there it is an estimate, which shows
//! in samples that it leaves less than nothing.

mod recorders;

use crate::{SourceError, clean};
use facts::Skipped;
use facts::series::{Better, Dating, DiscardTime, HOST_LABELS, SampleOf, Series};
use recorders::{COUNTERS, DISCARDS, RECORDED, RECORDERS, Recorder, Spent, otel_name};
use std::collections::{BTreeMap, BTreeSet};

/// What the names of derived series begin with; the device follows.
pub(crate) const NAME: &str = "discard or flush time of ";
/// Counters are cut to milliseconds, so three of them may differ by less than this in each interval.
const ROUNDING_MS: f64 = 3.0;
/// Rates, too, are rounded: to such a part of their sum.
const ROUNDING_SHARE: f64 = 0.01;
/// It is an estimate if more samples than this share leave less than nothing.
const ESTIMATE_SHARE: f64 = 0.01;
/// Flushes vary: a sample may have less than usual by this share of them.
const QUIET_SHARE: f64 = 0.5;
/// Labels that say what is measured, rather than of which device.
const OF_METRIC: &[&str] = &["metric", "direction", "figure", "unit"];
/// Labels that name a device, and a host.
const DEVICES: &[&str] = &["device", "system.diskio.name", "disk", "name"];
/// The queue of Metricbeat is rounded to a ten-thousandth: 0.05 ms/s, and a second one for flushes.
const USED_MS_PER_S: f64 = 0.1;

/// Returns the name of the series that is derived for a device.
pub(crate) fn name_of(device: &str) -> String {
    format!("{NAME}{device}")
}

/// Returns the part of a metric's name before the one of these that it ends with, if it is an input.
pub(crate) fn before_input(metric: &str) -> Option<&str> {
    let mut inputs = RECORDERS.iter().flat_map(Recorder::inputs);
    inputs.find_map(|name| before(metric, name))
}

/// Adds the time of discards and flushes of each device whose weighted time is among the series, beside that of its reads
/// and writes, unless its discards are there as well.
pub(crate) fn add(series: &mut Vec<Series>) {
    let devices = Devices::of(series);
    let derived: Vec<Series> = devices
        .parts
        .iter()
        .filter_map(|(device, parts)| devices.derive(device, parts))
        .collect();
    series.extend(derived);
}

/// Returns what the series of a server tell of the discards of its disks, as recorded or computed, by names that may be the
/// same. Disks without any are counted beside them, and so are those of which not all parts are there.
///
/// # Errors
/// When there is no disk with any.
pub(crate) fn of_disks(
    series: &[Series],
    source_name: &str,
) -> Result<(Vec<Series>, Vec<Skipped>), SourceError> {
    let devices = Devices::of(series);
    let (mut all, mut skipped) = (Vec::new(), Vec::new());
    let (mut idle, mut without_parts) = (0, 0);
    for (device, parts) in &devices.parts {
        let mut told = devices.recorded(device, parts);
        told.extend(devices.derive(device, parts));
        without_parts += usize::from(told.is_empty());
        let is_used = |one: &Series| (one.values.iter()).any(|value| *value > USED_MS_PER_S);
        if !told.is_empty() && !told.iter().any(is_used) {
            idle += 1;
            continue;
        }
        all.extend(told);
    }
    let mut skip = |disks: usize, why: &str| {
        if disks > 0 {
            let what = units::count(disks, "disk");
            skipped.push(Skipped::new(what, why, None));
        }
    };
    skip(
        idle,
        "no discards, and no flushes beyond what writes usually take",
    );
    skip(without_parts, WITHOUT_PARTS);
    if all.is_empty() {
        return Err(SourceError::empty(
            source_name,
            match (idle, without_parts) {
                (0, 1..) => format!("{WITHOUT_PARTS}, of all disks"),
                (_, 1..) => format!(
                    "no disk spent time on discards, or on more flushes than usual; of {}, {WITHOUT_PARTS}",
                    units::count(without_parts, "disk")
                ),
                _ => "no disk spent time on discards, or on more flushes than usual".to_owned(),
            },
        ));
    }
    Ok((all, skipped))
}

/// Why nothing is computed of a disk.
const WITHOUT_PARTS: &str = "the weighted time, or that of reads or of writes, is missing";

/// The devices that series are about, with the series about each and the metric's own name.
struct Devices<'s> {
    parts: BTreeMap<Device, Vec<(&'static str, &'s Series)>>,
    has_hosts: bool,
}

impl<'s> Devices<'s> {
    fn of(series: &'s [Series]) -> Self {
        let mut parts: BTreeMap<Device, Vec<_>> = BTreeMap::new();
        for one in series.iter().filter(|one| one.discard_time.is_none()) {
            let Some(metric) = one.labels.get("metric") else {
                continue;
            };
            let metric = otel_name(metric, one.labels.get("direction"));
            let of_one = |name: &'static str| Some((before(&metric, name)?.to_owned(), name));
            let known = RECORDERS.iter().flat_map(Recorder::inputs);
            let mut known = known.chain(DISCARDS.iter().copied());
            let (prefix, end) = match known.find_map(of_one) {
                Some(found) => found,
                None if metric.to_ascii_lowercase().contains("discard") => {
                    let (prefix, _) = split_last(&metric);
                    (prefix.to_owned(), DISCARDS[0])
                }
                None => continue,
            };
            let of_metric = |label: &str| OF_METRIC.contains(&label);
            let labels = one.labels.iter().filter(|(label, _)| !of_metric(label));
            let device = Device {
                source: one.source.clone(),
                prefix,
                labels: labels.map(|(k, v)| (k.clone(), v.clone())).collect(),
            };
            parts.entry(device).or_default().push((end, one));
        }
        let hosts: BTreeSet<Option<&String>> = parts
            .keys()
            .map(|device| device.label(HOST_LABELS))
            .collect();
        Self {
            has_hosts: hosts.len() > 1,
            parts,
        }
    }

    /// Computes the series of a device; `None` if its discards are recorded, or a part is not.
    fn derive(&self, device: &Device, parts: &[(&str, &Series)]) -> Option<Series> {
        if parts.iter().any(|(end, _)| DISCARDS.contains(end)) {
            return None;
        }
        let derived = RECORDERS.iter().find_map(|one| one.derive(parts))?;
        Some(self.named(NAME, device, derived))
    }

    /// Returns the discards of a device that are recorded, as rates.
    fn recorded(&self, device: &Device, parts: &[(&str, &Series)]) -> Vec<Series> {
        let of_part = |(end, one): &(&str, &Series)| {
            let (_, what, unit, factor) = RECORDED.iter().find(|(name, ..)| name == end)?;
            let curve = rate(one, end)?;
            let series = Series {
                labels: BTreeMap::from([("metric".to_owned(), (*end).to_owned())]),
                unit: Some((*unit).to_owned()),
                better: Some(Better::Lower),
                sample_of: Some(SampleOf::Interval),
                times_us: curve.times_us,
                values: curve.values.iter().map(|value| value * factor).collect(),
                notes: curve.notes,
                ..(*one).clone()
            };
            (!series.values.is_empty()).then(|| self.named(what, device, series))
        };
        parts.iter().filter_map(of_part).collect()
    }

    /// Names a series after its device, and after its host if there are several.
    fn named(&self, what: &str, device: &Device, mut series: Series) -> Series {
        series.name = format!("{what}{}", device.name());
        if let (Some(host), true) = (device.label(HOST_LABELS), self.has_hosts) {
            series.name = format!("{} on {host}", series.name);
        }
        series.labels.extend(device.labels.clone());
        series.source.clone_from(&device.source);
        series
    }
}

/// What a series is about, apart from the metric.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Device {
    source: String,
    /// What stands before the metric's own name, where that names the device: `systemMetrics.disks.sda.`.
    prefix: String,
    labels: BTreeMap<String, String>,
}

impl Device {
    fn label(&self, names: &[&str]) -> Option<&String> {
        names.iter().find_map(|name| self.labels.get(*name))
    }

    fn name(&self) -> &str {
        let of_prefix = split_last(self.prefix.trim_end_matches(['.', ' ', '_'])).1;
        self.label(DEVICES).map_or(of_prefix, String::as_str)
    }
}

/// Splits a dotted name before its last part.
fn split_last(name: &str) -> (&str, &str) {
    let at = name.rfind(['.', ' ']).map_or(0, |at| at + 1);
    name.split_at(at)
}

/// Returns what stands before the end of a metric's name; `None` if it has another end.
fn before<'m>(metric: &'m str, end: &str) -> Option<&'m str> {
    let prefix = metric.strip_suffix(end)?;
    let is_whole = prefix.is_empty() || prefix.ends_with(['.', ' ', '_']);
    is_whole.then_some(prefix)
}

impl Recorder {
    /// Derives the series of a device; `None` if this recorder did not record it.
    fn derive(&self, parts: &[(&str, &Series)]) -> Option<Series> {
        let find = |name: &str| {
            parts
                .iter()
                .find(|(end, _)| *end == name)
                .map(|(_, one)| *one)
        };
        let weighted = find(self.weighted)?;
        if weighted.dating != Dating::Absolute {
            return None;
        }
        let known = |name: &'static str| Some(Cursor::new(rate(find(name)?, name)?));
        let spent = self.spent.iter().map(|spent| match spent {
            Spent::Time(name) => Some((known(name)?, None)),
            Spent::Each(count, each) => {
                let count = known(count)?;
                // Where there are never any, nothing may tell how long each takes.
                let any = count.curve.values.iter().any(|count| *count > 0.0);
                let each = known(each);
                (each.is_some() || !any).then_some((count, each))
            }
        });
        let mut spent = spent.collect::<Option<Vec<_>>>()?;
        let mut writes = self.writes.and_then(known);
        let whole = rate(weighted, self.weighted)?;
        let mut times = Parts::default();
        for (&at_us, &weighted) in whole.times_us.iter().zip(&whole.values) {
            let counted = spent.iter_mut().map(|(value, each)| {
                let value = value.at(at_us);
                match (value, each) {
                    // Without requests, the time that each takes may be absent.
                    (Some(0.0) | None, _) | (_, None) => value,
                    (Some(count), Some(each)) => Some(count * each.at(at_us)?),
                }
            });
            let counted: Vec<Option<f64>> = counted.collect();
            let counted: Option<f64> = counted.into_iter().sum();
            let wrote = writes.as_mut().map(|writes| writes.at(at_us));
            let (Some(counted), false) = (counted, wrote == Some(None)) else {
                times.alone += 1;
                continue;
            };
            let counted = counted * self.spent_factor;
            times.left.push(weighted * self.factor - counted);
            times.counted.push(counted);
            times.writes.extend(wrote.flatten());
            let gap_us = times
                .at_us
                .last()
                .map(|last_us| at_us.saturating_sub(*last_us));
            times.gap_us = gap_us.into_iter().chain(times.gap_us).min();
            times.at_us.push(at_us);
        }
        times.series(writes.is_some())
    }
}

/// Returns a series as rates, given the metric's own name; `None` if it cannot be told what it is.
fn rate(series: &Series, name: &str) -> Option<clean::Curve> {
    let curve = clean::Curve {
        times_us: series.times_us.clone(),
        values: series.values.clone(),
        notes: Vec::new(),
    };
    let unit = series.unit.as_deref().unwrap_or("");
    let is_rate = series.sample_of == Some(SampleOf::Interval)
        || unit.ends_with("/s")
        || !COUNTERS.contains(&name);
    if is_rate {
        return Some(curve);
    }
    let falls = curve.values.windows(2).filter(|pair| pair[1] < pair[0]);
    let is_counter = falls.count() * 10 <= curve.values.len();
    is_counter.then(|| clean::rates(curve))
}

/// A curve that is read in the order of its times.
struct Cursor {
    curve: clean::Curve,
    next: usize,
}

impl Cursor {
    fn new(curve: clean::Curve) -> Self {
        Self { curve, next: 0 }
    }

    /// Returns the value at a time, which is later than all that were asked for before.
    fn at(&mut self, at_us: i64) -> Option<f64> {
        let later = self.curve.times_us[self.next..].iter();
        self.next += later.take_while(|time| **time < at_us).count();
        let is_there = self.curve.times_us.get(self.next) == Some(&at_us);
        is_there.then(|| self.curve.values[self.next])
    }
}

/// The samples at which all of a device's times are known.
#[derive(Debug, Default)]
struct Parts {
    at_us: Vec<i64>,
    /// What reads and writes leave of the weighted time, in milliseconds per second.
    left: Vec<f64>,
    /// The time of reads and writes.
    counted: Vec<f64>,
    writes: Vec<f64>,
    /// The shortest distance of two samples.
    gap_us: Option<i64>,
    /// Samples of the weighted time beside which another one is missing.
    alone: usize,
}

impl Parts {
    /// Returns the series, without a name; `None` without samples.
    fn series(self, has_writes: bool) -> Option<Series> {
        if self.at_us.is_empty() {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "microseconds of a gap")]
        let gap_s = self.gap_us.map_or(1.0, |gap_us| gap_us as f64 / 1e6);
        let noise = |counted: f64| ROUNDING_MS / gap_s + counted * ROUNDING_SHARE;
        let below = self.left.iter().zip(&self.counted);
        let below = below
            .filter(|(left, counted)| **left < -noise(**counted))
            .count();
        let flush_ms_per_write = self.flush_ms_per_write();
        let mut notes = vec![
            "computed: the weighted time of its requests without that of reads and writes"
                .to_owned(),
        ];
        if flush_ms_per_write > 0.0 {
            notes.push(format!(
                "{} a write taken off: flushes",
                units::number::with_unit(&units::number(flush_ms_per_write), Some("ms"))
            ));
        }
        #[expect(clippy::cast_precision_loss, reason = "counts of samples")]
        let share = below as f64 / self.left.len() as f64;
        if share > ESTIMATE_SHARE {
            notes.push(format!(
                "an estimate: reads and writes alone take longer than the weighted time in {} of {} \
                 (Linux before 5.7, or a recorder that rounds)",
                units::count::grouped_usize(below),
                units::count(self.left.len(), "sample"),
            ));
        }
        if self.alone > 0 {
            let what = units::count(self.alone, "sample");
            notes.push(format!("{what} left out: one of its parts is missing"));
        }
        let values = self.values(flush_ms_per_write, noise);
        Some(Series {
            name: String::new(),
            source: String::new(),
            labels: BTreeMap::from([(
                "metric".to_owned(),
                NAME.trim_end_matches(" of ").to_owned(),
            )]),
            unit: Some("ms/s".to_owned()),
            better: Some(Better::Lower),
            dating: Dating::Absolute,
            sample_of: Some(SampleOf::Interval),
            times_us: self.at_us,
            values,
            notes,
            discard_time: Some(DiscardTime {
                writes_per_s: has_writes.then_some(self.writes),
                flush_ms_per_write,
            }),
        })
    }

    /// Returns what is left without the usual flushes. A quiet sample may have a little less than nothing: if all of these were
    /// exactly zero, the noise of the series would look like none.
    fn values(&self, flush_ms_per_write: f64, noise: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut writes = self.writes.clone();
        let middle = writes.len() / 2;
        let usual = match writes.len() {
            0 => 0.0,
            _ => *writes.select_nth_unstable_by(middle, f64::total_cmp).1 * flush_ms_per_write,
        };
        let left = self.left.iter().zip(&self.counted).enumerate();
        left.map(|(at, (left, counted))| {
            let flushes = self
                .writes
                .get(at)
                .map_or(0.0, |writes| writes * flush_ms_per_write);
            (left - flushes).max(-noise(*counted) - usual * QUIET_SHARE)
        })
        .collect()
    }

    /// Returns what the flushes of a write take: the line through zero that is nearest to most samples (least absolute
    /// deviations), as most are without discards. None are taken off a device that is written to for a part of the time.
    fn flush_ms_per_write(&self) -> f64 {
        let pairs = self.left.iter().zip(&self.writes);
        let mut ratios: Vec<(f64, f64)> = pairs
            .filter(|(_, writes)| **writes > 0.0)
            .map(|(left, writes)| (left / writes, *writes))
            .collect();
        if ratios.len() * 2 < self.left.len() {
            return 0.0;
        }
        // That is the median of the ratios, each with the weight of its writes.
        ratios.sort_by(|one, other| one.0.total_cmp(&other.0));
        let half = ratios.iter().map(|(_, writes)| writes).sum::<f64>() / 2.0;
        let mut passed = 0.0;
        let median = ratios.iter().find(|(_, writes)| {
            passed += writes;
            passed >= half
        });
        median.map_or(0.0, |(ratio, _)| ratio.max(0.0))
    }
}

#[cfg(test)]
#[path = "discard_time_tests.rs"]
mod tests;
