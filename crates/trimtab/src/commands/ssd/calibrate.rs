//! `trimtab ssd calibrate`: which spare area and timing explain a measured decay.

use super::args::{Calibrate, Measured, TableFormat};
use super::chart::{Chart, Curve};
use super::document::Document;
use super::numbers::{bytes, digits, percent};
use super::spec::shown;
use super::table;
use crate::commands::trim::words::Page;
use crate::error::{CommandError, Kind};
use crate::output;
use flash::calibrate::{
    Calibration, Estimate, HostWrites, Known, Policy, Quantity, Series, Verdict, calibrate,
};
use flash::ftl::Collection;
use flash::theory::Start;
use serde::Serialize;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

/// A series of more bytes than this is none.
const BYTES_MAX: u64 = 64 << 20;
/// The fit takes time by point; a longer series says no more.
const POINTS_MAX: usize = 20_000;
/// Pages of a block where nothing says.
const PAGES_PER_BLOCK: u32 = 256;

/// Runs it.
///
/// # Errors
/// When the series cannot be read or fitted; that it determines nothing is no error.
pub fn run(arguments: &Calibrate) -> Result<ExitCode, CommandError> {
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
    match arguments.format.unwrap_or_default() {
        TableFormat::Text => output::print(&words(&name, &series, &found))?,
        TableFormat::Csv => output::print(&csv(&series, &found))?,
        TableFormat::Json => {
            let source = format!("series {name}");
            output::print(&Document::new(source, Answer::of(&series, &found))?.json())?;
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
                times.push(time);
                values.push(value);
            }
            // One line of names, before any number.
            (None, _) if times.is_empty() && !named => named = true,
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

fn verdict_sentence(found: &Calibration) -> String {
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

/// `7.1 % (6.4 % to 8 %)`.
fn ranged(estimate: &Estimate, word: impl Fn(f64) -> String) -> String {
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

fn words(name: &str, series: &Series<'_>, found: &Calibration) -> String {
    let columns = usize::from(output::terminal_columns());
    let throughput = series.quantity == Quantity::Throughput;
    let mut page = Page::new(columns);
    page.head(&format!("{name}: {}", verdict_sentence(found)));
    page.row("spare area", &ranged(&found.over_provisioning, percent));
    page.row("capacity", &ranged(&found.capacity_bytes, bytes));
    if let Some(fresh) = &found.fresh_bytes_per_s {
        page.row("fresh", &ranged(fresh, |rate| format!("{}/s", bytes(rate))));
    }
    if let Some(cost) = &found.moved_page_cost {
        page.row(
            "moved page",
            &format!("costs {} host pages", ranged(cost, digits)),
        );
    }
    page.row(
        "long run",
        &format!("write amplification {}", digits(found.equilibrium)),
    );
    let rms = if throughput {
        format!("{}/s", bytes(found.residual_rms))
    } else {
        digits(found.residual_rms)
    };
    let explained = found.r_squared.map_or_else(
        || "the series does not vary".to_owned(),
        |r| format!("{} of the variance is explained", percent(r)),
    );
    page.row(
        "fit",
        &format!("{explained}; root mean square of what is left {rms}"),
    );
    page.row(
        "note",
        "effective: the spare area of a drive with uniform writes that decays the same way; skewed \
         writes make it look smaller, sequential ones larger",
    );
    page.blank();
    let scale = if throughput { 1e6 } else { 1.0 };
    let curve = |name: &str, values: &[f64]| Curve {
        name: name.to_owned(),
        points: series
            .time_s
            .iter()
            .zip(values)
            .map(|(time, value)| (time / 3600.0, value / scale))
            .collect(),
    };
    let chart = Chart {
        title: if throughput {
            "throughput, MB/s".to_owned()
        } else {
            "write amplification".to_owned()
        },
        x_label: "hours".to_owned(),
        curves: vec![
            curve("measured", series.value),
            curve("fitted", &found.fitted),
        ],
        floor: if throughput { 0.0 } else { 1.0 },
        ..Chart::default()
    };
    page.finish() + &chart.text(columns, output::use_unicode())
}

fn csv(series: &Series<'_>, found: &Calibration) -> String {
    let mut out = table::csv_line(&["time_s", "measured", "fitted"]);
    for ((time, value), fitted) in series.time_s.iter().zip(series.value).zip(&found.fitted) {
        out += &table::csv_line(&[time.to_string(), value.to_string(), fitted.to_string()]);
    }
    out
}

/// A fit's answer.
#[derive(Debug, Serialize)]
struct Answer {
    /// `calibration`.
    kind: &'static str,
    /// `determined`, `partly`, `scale_only`, `unexplained`.
    verdict: &'static str,
    sentence: String,
    over_provisioning: EstimateRow,
    spare_bytes: f64,
    capacity_bytes: EstimateRow,
    /// Null for a series of write amplification.
    fresh_bytes_per_s: Option<EstimateRow>,
    /// Null for a series of write amplification.
    moved_page_cost: Option<EstimateRow>,
    /// Write amplification in the long run.
    equilibrium: f64,
    residual_rms: f64,
    /// Null where the series does not vary.
    r_squared: Option<f64>,
    series: Vec<FittedRow>,
}

/// A number and its 95 % range; an end that is open is null.
#[derive(Debug, Serialize)]
struct EstimateRow {
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
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

#[derive(Debug, Serialize)]
struct FittedRow {
    time_s: f64,
    measured: f64,
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
