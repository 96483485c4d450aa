//! Result and page of `trimtab ssd calibrate`: the spare area and timing that explain a measured
//! decay, their ranges, and the resulting drive.

use super::csv;
use flash::calibrate::{Calibration, Estimate, Policy, Quantity, Series, Verdict};
use page::chart::{Axis, Bar, BarChart, BarPanel, Curve, Format, LineChart, Scale};
use page::{Block, Commands, Level, Page, Tone};
use schemars::JsonSchema;
use serde::Serialize;
use units::{bytes_per_s, number, percent, size::bytes_estimate};

/// Result of a fit.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CalibrationAnswer {
    /// `calibration`.
    #[schemars(extend("const" = "calibration"))]
    kind: &'static str,
    /// `determined`, `partly`, `scale_only`, `unexplained`.
    verdict: &'static str,
    /// The verdict as a sentence.
    sentence: String,
    /// The effective spare area.
    over_provisioning: CalibrationEstimate,
    /// The same in bytes.
    spare_bytes: f64,
    /// Bytes that the host can address.
    capacity_bytes: CalibrationEstimate,
    /// Throughput before the first page is moved. Null for a series of write amplification.
    fresh_bytes_per_s: Option<CalibrationEstimate>,
    /// Cost of a moved page, in host-written pages. Null for a series of write amplification.
    moved_page_cost: Option<CalibrationEstimate>,
    /// Steady-state write amplification.
    equilibrium: f64,
    /// Root mean square of the residuals, in the unit of the series.
    residual_rms: f64,
    /// Share of the variance that is explained. Null if the series does not vary.
    r_squared: Option<f64>,
    /// The series, measured and fitted.
    series: Vec<CalibrationPoint>,
}

/// A value and its 95 % range; an open end is null.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
struct CalibrationEstimate {
    /// The best value.
    value: f64,
    /// The low end of the range.
    low: Option<f64>,
    /// The high end of the range.
    high: Option<f64>,
    /// Whether it was given rather than fitted.
    given: bool,
}

impl From<&Estimate> for CalibrationEstimate {
    fn from(estimate: &Estimate) -> Self {
        Self {
            value: estimate.value,
            low: estimate.low,
            high: estimate.high,
            given: estimate.given,
        }
    }
}

/// A point of the series.
#[derive(Debug, Serialize, JsonSchema)]
struct CalibrationPoint {
    /// Time since the start.
    time_s: f64,
    /// Throughput in bytes per second, or write amplification.
    measured: f64,
    /// The fitted value.
    fitted: f64,
}

impl CalibrationAnswer {
    /// Builds the result of a fit.
    pub fn of(series: &Series<'_>, found: &Calibration) -> Self {
        let points = series.time_s.iter().zip(series.value).zip(&found.fitted);
        Self {
            kind: "calibration",
            verdict: match found.verdict {
                Verdict::Determined => "determined",
                Verdict::Partly => "partly",
                Verdict::ScaleOnly => "scale_only",
                Verdict::Unexplained => "unexplained",
            },
            sentence: sentence(found),
            over_provisioning: (&found.over_provisioning).into(),
            spare_bytes: found.spare_bytes(),
            capacity_bytes: (&found.capacity_bytes).into(),
            fresh_bytes_per_s: found.fresh_bytes_per_s.as_ref().map(Into::into),
            moved_page_cost: found.moved_page_cost.as_ref().map(Into::into),
            equilibrium: found.equilibrium,
            residual_rms: found.residual_rms,
            r_squared: found.r_squared,
            series: points
                .map(|((&time_s, &measured), &fitted)| CalibrationPoint {
                    time_s,
                    measured,
                    fitted,
                })
                .collect(),
        }
    }

    /// Formats the measured and the fitted series as comma-separated values.
    pub fn csv(&self) -> String {
        let mut out = csv::line(&["time_s", "measured", "fitted"]);
        for point in &self.series {
            let cells = [point.time_s, point.measured, point.fitted];
            out += &csv::line(&cells.map(|value| value.to_string()));
        }
        out
    }
}

fn sentence(found: &Calibration) -> String {
    let spare = percent(found.over_provisioning.value);
    match found.verdict {
        Verdict::Determined => format!(
            "An effective spare area of {spare} explains the series; every fitted value has a 95 % range."
        ),
        Verdict::Partly => format!(
            "An effective spare area of {spare} explains the series best, but not every fitted value \
             has a 95 % range."
        ),
        Verdict::ScaleOnly => {
            "The series does not determine the spare area: it is too short or too \
             flat, or it does not show the start or the end of a decay."
                .to_owned()
        }
        Verdict::Unexplained => {
            "Garbage collection after uniform writes does not explain the series: \
             there is another cause, or the writes are far from uniform."
                .to_owned()
        }
    }
}

/// Parameters of a fit, for its page.
#[derive(Debug, Clone, Copy)]
pub struct Fitted<'a> {
    /// File that holds the series.
    pub name: &'a str,
    /// What was measured.
    pub quantity: Quantity,
    /// The assumed collection policy.
    pub policy: Policy,
    /// Whether the series determines the spare area.
    pub is_answer: bool,
}

/// Builds the page of a fit.
pub fn calibration(answer: &CalibrationAnswer, fitted: &Fitted<'_>) -> Page {
    let mut page = Page {
        title: "Which spare area explains the decay".to_owned(),
        lead: format!("{}: {}", fitted.name, answer.sentence),
        tone: if fitted.is_answer {
            Tone::Strong
        } else {
            Tone::Level(Level::Warning)
        },
        about: vec!["fitted to a measured series".to_owned()],
        ..Page::default()
    };
    page.push(ranges(answer));
    page.push(Block::Facts(quality(answer, fitted.quantity)));
    page.push(curves(answer, fitted.quantity));
    if fitted.is_answer {
        page.push(Commands {
            title: "Save the fitted drive as `drive.toml` and pass it to other simulations with \
                    `--drive drive.toml`:"
                .to_owned(),
            lines: drive_file(answer, fitted.policy),
        });
    }
    page
}

/// Formats an estimate with its range: `7.1 % (95 %: 6.4 % to 8 %)`. The `unit` follows the value
/// only.
fn ranged(estimate: &CalibrationEstimate, word: impl Fn(f64) -> String, unit: &str) -> String {
    let value = format!("{}{unit}", word(estimate.value));
    if estimate.given {
        return format!("{value} (given)");
    }
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => format!("{value} (95 %: {} to {})", word(low), word(high)),
        (Some(low), None) => format!("{value} (95 %: {} or more)", word(low)),
        (None, Some(high)) => format!("{value} (95 %: {} or less)", word(high)),
        (None, None) => format!("{value} (not determined)"),
    }
}

/// Builds a chart of all estimates relative to their values, which shows how well each is known.
fn ranges(answer: &CalibrationAnswer) -> BarChart {
    let mut bars = vec![
        bar("spare area", &answer.over_provisioning, percent, ""),
        bar("capacity", &answer.capacity_bytes, bytes_estimate, ""),
    ];
    if let Some(fresh) = &answer.fresh_bytes_per_s {
        bars.push(bar("fresh drive", fresh, bytes_per_s, ""));
    }
    if let Some(cost) = &answer.moved_page_cost {
        bars.push(bar("moved page", cost, number, " host pages"));
    }
    BarChart {
        title: "Fitted values with their 95 % ranges".to_owned(),
        x_label: "relative to each value".to_owned(),
        panels: vec![BarPanel {
            name: String::new(),
            bars,
        }],
        ..BarChart::default()
    }
}

/// A range that ends beyond twice the value is drawn as open.
const RANGE_MAX: f64 = 2.0;

fn bar(
    label: &str,
    estimate: &CalibrationEstimate,
    word: impl Fn(f64) -> String,
    unit: &str,
) -> Bar {
    let relative = |end: Option<f64>| end.map(|end| end / estimate.value);
    let low = relative(estimate.low).unwrap_or(f64::NEG_INFINITY);
    let high = relative(estimate.high)
        .filter(|&high| high <= RANGE_MAX)
        .unwrap_or(f64::INFINITY);
    Bar {
        label: label.to_owned(),
        value: 1.0,
        range: (!estimate.given).then_some((low, high)),
        text: ranged(estimate, word, unit),
        marked: false,
    }
}

fn quality(answer: &CalibrationAnswer, quantity: Quantity) -> Vec<(String, String)> {
    let rms = match quantity {
        Quantity::Throughput => bytes_per_s(answer.residual_rms),
        Quantity::WriteAmplification => number(answer.residual_rms),
    };
    let explained = answer.r_squared.map_or_else(
        || "the series does not vary".to_owned(),
        |r| format!("{} of the variance is explained", percent(r)),
    );
    let fact = |label: &str, text: String| (label.to_owned(), text);
    vec![
        fact(
            "long run",
            format!("write amplification {}", number(answer.equilibrium)),
        ),
        fact("fit", format!("{explained}; the residuals have an RMS of {rms}")),
        fact(
            "effective",
            "the spare area of a drive that decays the same way under uniform writes; skewed writes \
             make it look smaller, sequential writes larger"
                .to_owned(),
        ),
    ]
}

fn curves(answer: &CalibrationAnswer, quantity: Quantity) -> LineChart {
    let points = |of: fn(&CalibrationPoint) -> f64| {
        let points = answer.series.iter();
        points.map(move |point| (point.time_s, of(point)))
    };
    let (title, y_format, y_from) = match quantity {
        Quantity::Throughput => ("Throughput", Format::BytesPerSecond, 0.0),
        Quantity::WriteAmplification => ("Write amplification", Format::Number, 1.0),
    };
    LineChart {
        title: title.to_owned(),
        x: Axis {
            label: "time".to_owned(),
            scale: Scale::Elapsed,
            range: None,
        },
        y_label: title.to_lowercase(),
        y_format,
        y_from: Some(y_from),
        curves: vec![
            Curve::line("fitted", points(|point| point.fitted)),
            Curve::dots("measured", points(|point| point.measured)),
        ],
        ..LineChart::default()
    }
}

/// Formats the fit as a drive file for `--drive`. A capacity that the series does not determine is
/// left out.
fn drive_file(answer: &CalibrationAnswer, policy: Policy) -> String {
    let mut lines = Vec::new();
    let capacity = &answer.capacity_bytes;
    if capacity.given || capacity.low.is_some() || capacity.high.is_some() {
        lines.push(format!("capacity = \"{:.0}B\"", capacity.value));
    }
    let spare = answer.over_provisioning.value * 100.0;
    lines.push(format!("over_provisioning = \"{spare:.2}%\""));
    match policy {
        Policy::Fifo => lines.push("policy = \"fifo\"".to_owned()),
        Policy::Greedy { pages_per_block } => lines.extend([
            "policy = \"greedy\"".to_owned(),
            format!("pages_per_block = {pages_per_block}"),
        ]),
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, low: Option<f64>, high: Option<f64>) -> Estimate {
        Estimate {
            value,
            low,
            high,
            given: false,
        }
    }

    fn found(verdict: Verdict) -> Calibration {
        Calibration {
            over_provisioning: estimate(0.071, Some(0.064), Some(0.08)),
            capacity_bytes: estimate(480e9, None, None),
            fresh_bytes_per_s: Some(estimate(500e6, Some(490e6), None)),
            moved_page_cost: Some(Estimate {
                given: true,
                ..estimate(1.1, Some(1.1), Some(1.1))
            }),
            equilibrium: 7.5,
            fitted: vec![500e6, 250e6],
            residual_rms: 1e6,
            r_squared: Some(0.987),
            verdict,
        }
    }

    fn asked(is_answer: bool) -> Fitted<'static> {
        Fitted {
            name: "decay.csv",
            quantity: Quantity::Throughput,
            policy: Policy::Greedy {
                pages_per_block: 64,
            },
            is_answer,
        }
    }

    fn shown(verdict: Verdict) -> String {
        let series = Series {
            time_s: &[0.0, 3600.0],
            value: &[510e6, 240e6],
            quantity: Quantity::Throughput,
            host_writes: flash::calibrate::HostWrites::Saturated,
            stamps: flash::calibrate::Stamps::End,
        };
        let answer = CalibrationAnswer::of(&series, &found(verdict));
        let page = calibration(&answer, &asked(verdict.is_answer()));
        page::markdown(&page)
    }

    #[test]
    fn every_estimate_is_shown_with_its_range() {
        let text = shown(Verdict::Partly);
        for words in [
            "7.1 % (95 %: 6.4 % to 8 %)",
            "447 GiB (not determined)",
            "476.8 MiB/s (95 %: 467.3 MiB/s or more)",
            "1.1 host pages (given)",
            "write amplification 7.5",
            "98.7 % of the variance is explained",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn undetermined_fit_produces_no_drive_file() {
        let text = shown(Verdict::Determined);
        assert!(
            text.contains("over_provisioning = \"7.10%\"") && text.contains("pages_per_block = 64"),
            "{text}"
        );
        // The capacity is unknown.
        assert!(!text.contains("capacity ="), "{text}");
        assert!(!shown(Verdict::ScaleOnly).contains("drive.toml"));
        assert!(shown(Verdict::ScaleOnly).contains("does not determine"));
    }

    #[test]
    fn distant_range_end_is_drawn_open_but_shown_exactly() {
        let far = CalibrationEstimate::from(&estimate(1.0, Some(0.5), Some(7.0)));
        let bar = bar("x", &far, number, "");
        assert_eq!(bar.range, Some((0.5, f64::INFINITY)));
        assert_eq!(bar.text, "1 (95 %: 0.5 to 7)");
    }
}
