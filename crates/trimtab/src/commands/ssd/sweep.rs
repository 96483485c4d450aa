//! `trimtab ssd sweep`: simulates a grid of settings on all cores.

use super::args::Sweep;
use super::days::{Axes, Plan};
use super::from_host::Found;
use super::memory;
use crate::answer::{Delivery, envelope};
use crate::config::SsdConfig;
use crate::error::CommandError;
use crate::progress::Meter;
use report::ssd::{SsdAnswer, SweepAnswer, SweepRow, load_words, sweep};
use std::process::ExitCode;

/// Maximum number of settings in a grid; more are likely a mistake.
const SETTINGS_MAX: usize = 100_000;

/// Runs `trimtab ssd sweep`.
///
/// # Errors
/// When nothing could be simulated.
pub fn run(
    arguments: &Sweep,
    found: Option<&Found>,
    config: &SsdConfig,
    quiet: bool,
) -> Result<ExitCode, CommandError> {
    let delivery = Delivery::of(&arguments.answer, config.format)?;
    if arguments.scene.days.media_written.is_some() {
        return Err(CommandError::usage(
            "--media-written: what a drive wrote stands beside a single run, not beside a grid",
        )
        .hint("leave it out, or take `trimtab ssd run`"));
    }
    let threads = arguments.jobs.unwrap_or(0) as usize;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| CommandError::environment(format!("threads: {error}")))?;
    let plans = plans(arguments, found, config)?;
    let tables = plans.iter().map(|plan| plan.setup.table_bytes());
    let largest = tables.max().unwrap_or(0);
    memory::require(largest * pool.current_num_threads().min(plans.len()) as u64)?;
    let row = |Plan { setup, .. }: &Plan, tell: &(dyn Fn(u64, u64) + Sync)| {
        SweepRow::of(setup, &setup.simulate(tell))
    };
    let rows: Vec<SweepRow> = pool.install(|| Meter::run("simulating", &plans, quiet, row));
    let failed = rows.iter().filter(|row| row.error.is_some()).count();
    if failed == rows.len() {
        let why = rows
            .into_iter()
            .find_map(|row| row.error)
            .unwrap_or_default();
        return Err(CommandError::usage(format!(
            "none of the settings could be simulated: {why}"
        )));
    }
    let common = plans
        .first()
        .map_or_else(String::new, |Plan { setup, .. }| {
            let load = load_words(setup, found.is_some());
            format!("{load}, workload {}", setup.workload)
        });
    let reads = arguments.scene.days.reads.unwrap_or(0.0) > 0.0;
    let answer = SweepAnswer::new(&common, rows, reads);
    let source = found.map_or("arguments", |found| found.source.as_str());
    let mut document = envelope(source, SsdAnswer::Sweep(&answer))?;
    let outranked = plans
        .first()
        .map_or(&[][..], |plan| plan.outranked.as_slice());
    document.skipped = found.map_or_else(Vec::new, |found| found.load.skipped(outranked));
    delivery.give_envelope(&document, |_, is_brief| sweep(&answer, is_brief))?;
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// The values of an axis, or a single `None` for the default if the list is empty.
fn axis<T: Copy>(list: &[T]) -> Vec<Option<T>> {
    if list.is_empty() {
        vec![None]
    } else {
        list.iter().copied().map(Some).collect()
    }
}

/// All combinations of the values in the lists.
fn plans(
    arguments: &Sweep,
    found: Option<&Found>,
    config: &SsdConfig,
) -> Result<Vec<Plan>, CommandError> {
    let (ops, fills, trims, policies) = (
        axis(&arguments.op),
        axis(&arguments.fill),
        axis(&arguments.trim),
        axis(&arguments.policy),
    );
    limit(&[ops.len(), fills.len(), trims.len(), policies.len()])?;
    let mut plans = Vec::new();
    for &op in &ops {
        for &fill in &fills {
            for &trim in &trims {
                for &policy in &policies {
                    let axes = Axes {
                        op,
                        policy,
                        fill,
                        trim,
                    };
                    plans.push(Plan::resolve(&arguments.scene, axes, found, config)?);
                }
            }
        }
    }
    Ok(plans)
}

fn limit(lengths: &[usize]) -> Result<(), CommandError> {
    let count = lengths
        .iter()
        .try_fold(1_usize, |product, &len| product.checked_mul(len));
    match count {
        Some(count) if count <= SETTINGS_MAX => Ok(()),
        _ => Err(
            CommandError::usage(format!("the grid has more than {SETTINGS_MAX} settings"))
                .hint("shorten a list"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_bounded() {
        assert!(limit(&[10, 10, 10]).is_ok());
        assert!(limit(&[1000, 1000]).is_err());
        assert!(limit(&[usize::MAX, 2]).is_err());
        assert_eq!(axis::<u32>(&[]), vec![None]);
    }
}
