//! The chart of a metric over all nights.

use super::drawn::{Nightly, NightlyJob, likely};
use bench::nightly::{Metric, Outcome, Sample};
use explain::verdict::{SeriesVerdict, Verdict};
use facts::series::Better;
use jiff::Timestamp;
use page::chart::{Annotation, Axis, Curve, Format, LineChart, Scale, Spans};

/// Maximum number of values that are drawn and listed one by one: more than a chart can resolve.
const POINTS_MAX: usize = 1_000;
/// A gap longer than this many typical ones breaks the line.
const GAP_FACTOR: f64 = 3.5;
/// Maximum number of jobs below a chart.
const JOBS_MAX: usize = 4;
const DAY_S: f64 = 86_400.0;
const MINUTE_S: f64 = 60.0;

/// Builds the chart; `None` if there is nothing to draw.
pub(super) fn chart(
    nightly: &Nightly,
    metric: &Metric,
    verdict: &SeriesVerdict,
) -> Option<LineChart> {
    let trials = &nightly.history.trials;
    let ends = trials.first().zip(trials.last())?;
    let point = |sample: &Sample| (x(trials[sample.trial].at()), sample.value);
    let of = |outcome: Outcome| {
        let samples = metric.samples.iter();
        samples.filter(move |sample| trials[sample.trial].outcome == outcome)
    };
    let gap_s = verdict
        .gap_s
        .map_or(f64::INFINITY, |gap_s| gap_s * GAP_FACTOR);
    let values = line(of(Outcome::Valid).map(point).collect(), gap_s);
    let crosses = Curve::crosses(
        "not valid: left out, at the edge if beyond",
        of(Outcome::Invalid).map(point),
    );
    let level = Curve {
        name: "level".to_owned(),
        ..levels(&verdict.verdict, ends.0.at(), ends.1.at())
    };
    let has_points = |curve: &Curve| curve.stretches.iter().any(|stretch| !stretch.is_empty());
    let curves: Vec<Curve> = [values, level, crosses]
        .into_iter()
        .filter(has_points)
        .collect();
    if curves.is_empty() {
        return None;
    }
    Some(LineChart {
        title: title(metric),
        y_label: title(metric),
        y_format: format(&metric.unit),
        x: Axis {
            label: String::new(),
            scale: Scale::Time(nightly.clock.clone()),
            range: Some((x(ends.0.at()), x(ends.1.at()))).filter(|(first, last)| first < last),
        },
        curves,
        runs: runs(nightly, &verdict.verdict),
        annotations: annotations(nightly),
        lists_all: metric.samples.len() <= POINTS_MAX,
        ..LineChart::default()
    })
}

/// The line through the valid trials, broken where some are missing.
fn line(samples: Vec<(f64, f64)>, gap_s: f64) -> Curve {
    const NAME: &str = "valid trials";
    if samples.len() > POINTS_MAX {
        return Curve::reduced(NAME, samples, POINTS_MAX, gap_s);
    }
    let mut points = Vec::with_capacity(samples.len());
    let mut last = f64::INFINITY;
    for (x, value) in samples {
        if x - last > gap_s {
            points.push((x, f64::NAN));
        }
        points.push((x, value));
        last = x;
    }
    Curve::line(NAME, points)
}

fn x(at: Timestamp) -> f64 {
    at.as_duration().as_secs_f64()
}

/// `latency p99 in ms, lower is better`.
fn title(metric: &Metric) -> String {
    let unit = match metric.unit.as_str() {
        "" | "B" | "s" => String::new(),
        unit => format!(" in {unit}"),
    };
    let better = match metric.better {
        Some(Better::Higher) => ", higher is better",
        Some(Better::Lower) => ", lower is better",
        None => "",
    };
    format!("{}{unit}{better}", metric.metric)
}

fn format(unit: &str) -> Format {
    match unit {
        "B" => Format::Bytes,
        "s" => Format::Seconds,
        _ => Format::Number,
    }
}

/// The level between lasting changes, as far as the verdict tells it; without changes there is none.
fn levels(verdict: &Verdict, first: Timestamp, last: Timestamp) -> Curve {
    let changes: Vec<_> = verdict
        .changes
        .iter()
        .filter_map(|change| Some((change, change.levels()?, change.slopes_per_day()?)))
        .collect();
    let days = |from: Timestamp, to: Timestamp| to.duration_since(from).as_secs_f64() / DAY_S;
    let mut points = Vec::new();
    if let Some((change, (level, _), (slope, _))) = changes.first() {
        points.push((x(first), level - slope * days(first, change.from)));
    }
    for (change, (before, after), _) in &changes {
        points.extend([(x(change.from), *before), (x(change.to), *after)]);
    }
    if let Some((change, (_, level), (_, slope))) = changes.last() {
        points.push((x(last), level + slope * days(change.to, last)));
    }
    Curve::line("", points)
}

fn runs(nightly: &Nightly, verdict: &Verdict) -> Vec<Spans> {
    let named: Vec<&String> = likely(verdict).collect();
    let is_named = |job: &&NightlyJob| named.contains(&&job.name);
    let (own, general): (Vec<&NightlyJob>, Vec<&NightlyJob>) = nightly
        .jobs
        .iter()
        .filter(|job| job.is_general || is_named(job))
        .partition(is_named);
    own.into_iter()
        .chain(general)
        .take(JOBS_MAX)
        .map(|job| {
            let runs = job.runs.iter();
            Spans::new(&job.name, runs.map(|run| (x(run.from), x(run.to))))
        })
        .collect()
}

/// What changed, dated in the middle of when it may have.
fn annotations(nightly: &Nightly) -> Vec<Annotation> {
    let annotations = nightly.history.annotations.iter();
    annotations
        .map(|one| Annotation {
            at: (f64::midpoint(x(one.from), x(one.to)) / MINUTE_S).round() * MINUTE_S,
            text: format!("{}: {}", units::date::day(one.to, &nightly.clock), one.text),
        })
        .collect()
}
