//! `trimtab ssd calibrate`: which spare area and timing explain a measured decay.

use super::args::{Calibrate, Measured, Stamped};
use super::delivery::Delivery;
use super::document::Answer;
use super::spec::shown;
use crate::answer::envelope;
use crate::config::SsdConfig;
use crate::error::{CommandError, Kind};
use crate::input;
use flash::calibrate::{
    CalibrateError, HostWrites, Known, Points, PointsError, Policy, Quantity, Series, Stamps,
    calibrate,
};
use flash::ftl::Collection;
use flash::theory::Start;
use report::ssd::{CalibrationAnswer, Fitted, calibration};
use std::process::ExitCode;

/// Maximum size of a series, in bytes.
const BYTES_MAX: u64 = 64 << 20;
/// Default unit of throughput, in bytes.
const UNIT_BYTES: u64 = 1_000_000;
/// Format of a line in a series.
const LINE: &str = "a line holds a time in seconds and a value, times ascend";

/// Runs `trimtab ssd calibrate`.
///
/// # Errors
/// When the series cannot be read or fitted; an inconclusive fit is not an error.
pub fn run(arguments: &Calibrate, config: &SsdConfig) -> Result<ExitCode, CommandError> {
    let delivery = Delivery::of(arguments.format, &arguments.output, config.format)?;
    let name = shown(&arguments.series);
    let text = input::text_or_stdin(&arguments.series, &name, BYTES_MAX)?;
    let mut points = Points::parse(&text).map_err(|error| no_series(&name, &error))?;
    let quantity = match arguments.value.unwrap_or(Measured::Throughput) {
        Measured::Throughput => Quantity::Throughput,
        Measured::WriteAmplification => Quantity::WriteAmplification,
    };
    if quantity == Quantity::Throughput {
        #[allow(clippy::cast_precision_loss)] // a unit
        points.scale(arguments.unit.unwrap_or(UNIT_BYTES) as f64);
    } else if arguments.unit.is_some() {
        return Err(CommandError::new(
            Kind::Usage,
            "--unit is that of a throughput, and write amplification has none",
        ));
    }
    let collection = arguments.policy.unwrap_or(Collection::Greedy);
    let pages_per_block = arguments
        .pages_per_block
        .unwrap_or(super::spec::PAGES_PER_BLOCK);
    let policy = Policy::of(collection, pages_per_block).ok_or_else(|| {
        CommandError::new(Kind::Usage, "--policy: a fit knows fifo and greedy only")
    })?;
    let series = Series {
        time_s: &points.time_s,
        value: &points.value,
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
    #[allow(clippy::cast_precision_loss)] // three digits count
    let capacity_bytes = arguments.capacity.map(|bytes| bytes as f64);
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
            CalibrateError::RateWanted => "say what the host wrote: --written-per-second 210MB",
            _ => LINE,
        };
        CommandError::new(Kind::Input, format!("{name}: {error}")).hint(hint)
    })?;
    let answer = CalibrationAnswer::of(&series, &found);
    let fitted = Fitted {
        name: &name,
        quantity,
        policy,
        is_answer: found.verdict.is_answer(),
    };
    delivery.give(
        answer,
        |answer, _| calibration(answer, &fitted),
        CalibrationAnswer::csv,
        |answer| {
            let answer = Answer::Calibration(Box::new(answer));
            Ok(envelope(format!("series {name}"), answer)?.json())
        },
    )?;
    Ok(ExitCode::from(u8::from(!fitted.is_answer)))
}

fn no_series(name: &str, error: &PointsError) -> CommandError {
    let hint = match error {
        PointsError::Columns { .. } => "two columns, divided by a comma, semicolon or tab",
        PointsError::Point { .. } => LINE,
        PointsError::TooMany => "average neighbours: a decay is told by some hundred points",
    };
    CommandError::new(Kind::Input, format!("{name}: {error}")).hint(hint)
}
