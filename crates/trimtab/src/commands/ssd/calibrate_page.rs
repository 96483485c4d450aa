//! A calibration's chart and page.

use super::calibrate::{consequences, estimates, verdict_sentence};
use super::chart::{Chart, Curve};
use super::html::{self, Part};
use super::ranges::{Range, Ranges};
use flash::calibrate::{Calibration, Quantity, Series};

/// Measured points and the fitted curve.
pub fn chart(series: &Series<'_>, found: &Calibration) -> Chart {
    let throughput = series.quantity == Quantity::Throughput;
    let scale = if throughput { 1e6 } else { 1.0 };
    let points = |values: &[f64]| {
        let pairs = series.time_s.iter().zip(values);
        let points = pairs.map(|(time, value)| (time / 3600.0, value / scale));
        points.collect()
    };
    Chart {
        title: if throughput {
            "throughput, MB/s".to_owned()
        } else {
            "write amplification".to_owned()
        },
        x_label: "hours".to_owned(),
        curves: vec![
            Curve::dots("measured", points(series.value)),
            Curve::line("fitted", points(&found.fitted)),
        ],
        floor: if throughput { 0.0 } else { 1.0 },
        ..Chart::default()
    }
}

/// A page that loads nothing.
pub fn page(name: &str, series: &Series<'_>, found: &Calibration) -> String {
    let ranges = estimates(found)
        .into_iter()
        .map(|(name, estimate, words)| Range {
            name: name.to_owned(),
            words,
            value: estimate.value,
            low: estimate.low,
            high: estimate.high,
            given: estimate.given,
        })
        .collect();
    let rows = consequences(series, found).into_iter();
    html::page(&html::Content {
        title: "Which spare area explains the decay".to_owned(),
        label: "fitted to a measured series".to_owned(),
        sentence: format!("{name}: {}", verdict_sentence(found)),
        notes: Vec::new(),
        parts: vec![
            Part::Chart(chart(series, found)),
            Part::Ranges(Ranges {
                title: "what was fitted, with 95 % ranges by the value".to_owned(),
                ranges,
            }),
        ],
        rows: rows
            .map(|(label, words)| (label.to_owned(), words))
            .collect(),
    })
}
