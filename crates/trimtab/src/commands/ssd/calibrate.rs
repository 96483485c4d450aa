//! `trimtab ssd calibrate`: which spare area and timing explain a measured decay.

use super::args::{Calibrate, Measured, SsdFormat, Stamped};
use super::calibrate_page::{chart, page};
use super::document;
use super::numbers::{bytes, digits, percent};
use super::spec::shown;
use super::table;
use crate::answer::envelope;
use crate::commands::trim::words::Page;
use crate::config::SsdConfig;
use crate::error::{CommandError, Kind};
use crate::output;
use flash::calibrate::{
    Calibration, Estimate, HostWrites, Known, Policy, Quantity, Series, Stamps, Verdict, calibrate,
};
use flash::ftl::Collection;
use flash::theory::Start;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

/// A series of more bytes than this is none.
const BYTES_MAX: u64 = 64 << 20;
/// A year of minutes, and some; a longer series says no more.
const POINTS_MAX: usize = 1_000_000;
/// A thousand years.
const SECONDS_MAX: f64 = 1e3 * 365.25 * 86_400.0;
/// No drive takes as many megabytes a second.
const VALUE_MAX: f64 = 1e15;
/// Pages of a block where nothing says.
const PAGES_PER_BLOCK: u32 = 256;

/// Runs it.
///
/// # Errors
/// When the series cannot be read or fitted; that it determines nothing is no error.
pub fn run(arguments: &Calibrate, config: &SsdConfig) -> Result<ExitCode, CommandError> {
    let name = shown(&arguments.series);
    let text = read(&arguments.series, &name)?;
    let (time_s, mut value) = parse(&text, &name)?;
    let quantity = match arguments.value.unwrap_or(Measured::Throughput) {
        Measured::Throughput => Quantity::Throughput,
        Measured::WriteAmplification => Quantity::WriteAmplification,
    };
    if quantity == Quantity::Throughput {
        #[allow(clippy::cast_precision_loss)] // a unit
        let unit = arguments.unit.unwrap_or(1_000_000) as f64;
        for value in &mut value {
            *value *= unit;
        }
    } else if arguments.unit.is_some() {
        return Err(CommandError::new(
            Kind::Usage,
            "--unit is that of a throughput, and write amplification has none",
        ));
    }
    let policy = match arguments.policy.unwrap_or(Collection::Greedy) {
        Collection::Fifo => Policy::Fifo,
        Collection::Greedy => Policy::Greedy {
            pages_per_block: arguments.pages_per_block.unwrap_or(PAGES_PER_BLOCK),
        },
        Collection::DChoices(_) => {
            return Err(CommandError::new(
                Kind::Usage,
                "--policy: a fit knows fifo and greedy only",
            ));
        }
    };
    #[allow(clippy::cast_precision_loss)] // three digits count
    let capacity_bytes = arguments.capacity.map(|bytes| bytes as f64);
    let series = Series {
        time_s: &time_s,
        value: &value,
        quantity,
        host_writes: arguments
            .written_per_second
            .unwrap_or(HostWrites::Saturated),
        stamps: match arguments.stamps.unwrap_or(Stamped::End) {
            Stamped::End => Stamps::End,
            Stamped::Begin => Stamps::Begin,
            Stamped::Middle => Stamps::Middle,
        },
    };
    let known = Known {
        start: arguments
            .start
            .unwrap_or(Start::Filled { mapped_share: 1.0 }),
        policy,
        capacity_bytes,
        moved_page_cost: arguments.moved_page_cost,
    };
    let found = calibrate(&series, &known).map_err(|error| {
        let hint = match error {
            flash::calibrate::CalibrateError::RateWanted => {
                "say what the host wrote: --written-per-second 210MB"
            }
            _ => "a line holds a time in seconds and a value, times ascend",
        };
        CommandError::new(Kind::Input, format!("{name}: {error}")).hint(hint)
    })?;
    match arguments.format.or(config.format).unwrap_or_default() {
        SsdFormat::Text => output::print(&words(&name, &series, &found))?,
        SsdFormat::Csv => output::print(&csv(&series, &found))?,
        SsdFormat::Html => output::print(&page(&name, &series, &found))?,
        SsdFormat::Json => {
            let answer = document::Answer::Calibration(Box::new(Answer::of(&series, &found)));
            output::print(&envelope(format!("series {name}"), answer)?.json())?;
        }
    }
    Ok(ExitCode::from(u8::from(!is_answer(found.verdict))))
}

/// Whether the spare area is known.
fn is_answer(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Determined | Verdict::Partly)
}

fn read(path: &Path, name: &str) -> Result<String, CommandError> {
    let failed = |error: std::io::Error| {
        CommandError::new(Kind::Environment, format!("{name}: {error}"))
            .hint("name a file that is there and that you may read")
    };
    let mut bytes = Vec::new();
    let reader: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(path).map_err(failed)?)
    };
    reader
        .take(BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(CommandError::new(
            Kind::Input,
            format!("{name}: expected a series, found more than 64 MiB"),
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        CommandError::new(
            Kind::Input,
            format!(
                "{name}: expected text, found bytes that are no UTF-8 at byte {}",
                error.utf8_error().valid_up_to() + 1
            ),
        )
    })
}

/// Whether a line was meant to hold a point.
fn begins_with_number(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+' || c == '.')
}

/// What no series holds, whatever is measured.
fn sound(time: f64, before: Option<f64>, value: f64) -> Result<(), String> {
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

/// Times and values.
fn parse(text: &str, name: &str) -> Result<(Vec<f64>, Vec<f64>), CommandError> {
    let mut times = Vec::new();
    let mut values = Vec::new();
    let mut named = false;
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut fields = line.split([',', ';', '\t']).map(str::trim);
        let pair = fields.next().zip(fields.next());
        let numbers = pair.and_then(|(time, value)| {
            Some((time.parse::<f64>().ok()?, value.parse::<f64>().ok()?))
        });
        match (numbers, fields.next()) {
            (Some((time, value)), None) => {
                sound(time, times.last().copied(), value).map_err(|what| {
                    CommandError::new(Kind::Input, format!("{name}: line {}: {what}", index + 1))
                        .hint("a line holds a time in seconds and a value, times ascend")
                })?;
                times.push(time);
                values.push(value);
            }
            // One line of names, before any number; a first line that begins with one is spoilt.
            (None, _) if times.is_empty() && !named && !begins_with_number(line) => named = true,
            _ => {
                return Err(CommandError::new(
                    Kind::Input,
                    format!(
                        "{name}: line {}: expected a time in seconds and a value, found {:?}",
                        index + 1,
                        report::cut(line, 40)
                    ),
                )
                .hint("two columns, divided by a comma, semicolon or tab"));
            }
        }
        if times.len() > POINTS_MAX {
            return Err(CommandError::new(
                Kind::Input,
                format!("{name}: more than {POINTS_MAX} points"),
            )
            .hint("average neighbours: a decay is told by some hundred points"));
        }
    }
    Ok((times, values))
}

fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Determined => "determined",
        Verdict::Partly => "partly",
        Verdict::ScaleOnly => "scale_only",
        Verdict::Unexplained => "unexplained",
    }
}

/// What came of a fit.
pub fn verdict_sentence(found: &Calibration) -> String {
    let spare = percent(found.over_provisioning.value);
    match found.verdict {
        Verdict::Determined => {
            format!("An effective spare area of {spare} explains the series; all that was fitted has a range.")
        }
        Verdict::Partly => {
            format!("An effective spare area of {spare} explains the series best; not all that was fitted has a range.")
        }
        Verdict::ScaleOnly => "The series does not determine the spare area: it is too short, too flat, or neither its start nor its end is that of a decay.".to_owned(),
        Verdict::Unexplained => "Garbage collection after uniform writes does not explain the series: another cause, or writes that are far from uniform.".to_owned(),
    }
}

/// `7.1 % (95 %: 6.4 % to 8 %)`.
pub fn ranged(estimate: &Estimate, word: impl Fn(f64) -> String) -> String {
    let value = word(estimate.value);
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

/// What was fitted: its name, its estimate, and that in words.
pub fn estimates(found: &Calibration) -> Vec<(&'static str, &Estimate, String)> {
    let mut all = vec![
        (
            "spare area",
            &found.over_provisioning,
            ranged(&found.over_provisioning, percent),
        ),
        (
            "capacity",
            &found.capacity_bytes,
            ranged(&found.capacity_bytes, bytes),
        ),
    ];
    if let Some(fresh) = &found.fresh_bytes_per_s {
        let words = ranged(fresh, |rate| format!("{}/s", bytes(rate)));
        all.push(("fresh", fresh, words));
    }
    if let Some(cost) = &found.moved_page_cost {
        let words = format!("{}, in host pages", ranged(cost, digits));
        all.push(("moved page", cost, words));
    }
    all
}

/// What follows from the fit.
pub fn consequences(series: &Series<'_>, found: &Calibration) -> Vec<(&'static str, String)> {
    let rms = if series.quantity == Quantity::Throughput {
        format!("{}/s", bytes(found.residual_rms))
    } else {
        digits(found.residual_rms)
    };
    let explained = found.r_squared.map_or_else(
        || "the series does not vary".to_owned(),
        |r| format!("{} of the variance is explained", percent(r)),
    );
    vec![
        (
            "long run",
            format!("write amplification {}", digits(found.equilibrium)),
        ),
        (
            "fit",
            format!("{explained}; root mean square of what is left {rms}"),
        ),
        (
            "note",
            "effective: the spare area of a drive with uniform writes that decays the same way; \
             skewed writes make it look smaller, sequential ones larger"
                .to_owned(),
        ),
    ]
}

fn words(name: &str, series: &Series<'_>, found: &Calibration) -> String {
    let columns = usize::from(output::terminal_columns());
    let mut page = Page::new(columns);
    page.head(&format!("{name}: {}", verdict_sentence(found)));
    for (label, _, words) in estimates(found) {
        page.row(label, &words);
    }
    page.blank();
    for (label, words) in consequences(series, found) {
        page.row(label, &words);
    }
    page.blank();
    page.finish() + &chart(series, found).text(columns, output::use_unicode())
}

fn csv(series: &Series<'_>, found: &Calibration) -> String {
    let mut out = table::csv_line(&["time_s", "measured", "fitted"]);
    for ((time, value), fitted) in series.time_s.iter().zip(series.value).zip(&found.fitted) {
        out += &table::csv_line(&[time.to_string(), value.to_string(), fitted.to_string()]);
    }
    out
}

/// A fit's answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CalibrationAnswer")]
pub struct Answer {
    /// `calibration`.
    #[schemars(extend("const" = "calibration"))]
    kind: &'static str,
    /// `determined`, `partly`, `scale_only`, `unexplained`.
    verdict: &'static str,
    /// The verdict in words.
    sentence: String,
    /// The effective spare area.
    over_provisioning: EstimateRow,
    /// The same in bytes.
    spare_bytes: f64,
    /// What the host can address.
    capacity_bytes: EstimateRow,
    /// Throughput before the first page is moved. Null for a series of write amplification.
    fresh_bytes_per_s: Option<EstimateRow>,
    /// What moving a page costs, in pages that the host writes. Null for a series of write amplification.
    moved_page_cost: Option<EstimateRow>,
    /// Write amplification in the long run.
    equilibrium: f64,
    /// Root mean square of what is left.
    residual_rms: f64,
    /// Share of the variance that is explained. Null where the series does not vary.
    r_squared: Option<f64>,
    /// Over time.
    series: Vec<FittedRow>,
}

/// A number and its 95 % range; an end that is open is null.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CalibrationEstimate")]
struct EstimateRow {
    /// It.
    value: f64,
    /// Its low end.
    low: Option<f64>,
    /// Its high end.
    high: Option<f64>,
    /// It was not fitted.
    given: bool,
}

impl EstimateRow {
    fn of(estimate: &Estimate) -> Self {
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
#[schemars(rename = "CalibrationPoint")]
struct FittedRow {
    /// When.
    time_s: f64,
    /// Throughput in bytes a second, or write amplification.
    measured: f64,
    /// The same by the fit.
    fitted: f64,
}

impl Answer {
    fn of(series: &Series<'_>, found: &Calibration) -> Self {
        Self {
            kind: "calibration",
            verdict: verdict_word(found.verdict),
            sentence: verdict_sentence(found),
            over_provisioning: EstimateRow::of(&found.over_provisioning),
            spare_bytes: found.spare_bytes(),
            capacity_bytes: EstimateRow::of(&found.capacity_bytes),
            fresh_bytes_per_s: found.fresh_bytes_per_s.as_ref().map(EstimateRow::of),
            moved_page_cost: found.moved_page_cost.as_ref().map(EstimateRow::of),
            equilibrium: found.equilibrium,
            residual_rms: found.residual_rms,
            r_squared: found.r_squared,
            series: series
                .time_s
                .iter()
                .zip(series.value)
                .zip(&found.fitted)
                .map(|((&time_s, &measured), &fitted)| FittedRow {
                    time_s,
                    measured,
                    fitted,
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_columns() {
        let text = "\u{feff}time,value\n# a remark\n0,1.5\n 10 ; 1.25 \n20\t1\n\n";
        let (times, values) = parse(text, "x.csv").unwrap();
        assert_eq!(times, [0.0, 10.0, 20.0]);
        assert_eq!(values, [1.5, 1.25, 1.0]);
    }

    #[test]
    fn bad_lines_have_their_number() {
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
            let error = parse(text, "x.csv").unwrap_err();
            assert!(error.message.contains(named), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*|([0-9.eE+-]{0,6}[,;\t]?[0-9.a-z]{0,6}\n){0,9}") {
            if let Ok((times, values)) = parse(&text, "x") {
                prop_assert_eq!(times.len(), values.len());
            }
        }
    }
}
