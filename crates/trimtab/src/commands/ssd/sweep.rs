//! `trimtab ssd sweep`: simulates a grid of settings on all cores.

use super::args::Sweep;
use super::bare;
use super::days::{Axes, Plan};
use super::document::Answer;
use super::from_host::{Fact, Found};
use super::memory;
use super::refuse::refuse;
use crate::answer::{Delivery, envelope};
use crate::config::SsdConfig;
use crate::error::CommandError;
use crate::progress::Meter;
use flash::bare::BareDrive;
use report::ssd::{SweepAnswer, SweepRow, bare_words, load_words, sweep};
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
    let is_bare = arguments.scene.bare.logical_pages.is_some();
    if !is_bare && !arguments.trim_share.is_empty() {
        return Err(CommandError::usage(
            "--trim-share is of bare drives; a drive below a filesystem is trimmed by --trim",
        )
        .hint("leave --trim-share out, or take --logical-pages instead of --capacity"));
    }
    refuse(
        &[(
            "--media-written",
            arguments.scene.days.media_written.is_some(),
        )],
        "what a drive wrote stands beside a single run, not beside a grid",
    )?;
    let threads = arguments.jobs.unwrap_or(0) as usize;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| CommandError::environment(format!("threads: {error}")))?;
    let jobs = if is_bare {
        bare_jobs(arguments, config)?
    } else {
        day_jobs(arguments, found, config)?
    };
    let largest = jobs.iter().map(Job::table_bytes).max().unwrap_or(0);
    memory::require(largest * pool.current_num_threads().min(jobs.len()) as u64)?;
    let rows: Vec<SweepRow> =
        pool.install(|| Meter::run("simulating", &jobs, quiet, |job, tell| job.row(tell)));
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
    let common = jobs
        .first()
        .map_or_else(String::new, |job| job.common(found.is_some()));
    let reads = arguments.scene.days.reads.unwrap_or(0.0) > 0.0;
    let answer = SweepAnswer::new(&common, rows, is_bare, reads);
    let source = found.map_or("arguments", |found| found.source.as_str());
    let mut document = envelope(source, Answer::Sweep(&answer))?;
    let outranked = jobs.first().map_or(&[][..], Job::outranked);
    document.skipped = found.map_or_else(Vec::new, |found| found.load.skipped(outranked));
    delivery.give_envelope(&document, |_, is_brief| sweep(&answer, is_brief))?;
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// One simulation.
enum Job {
    Bare(Box<BareDrive>),
    Days(Box<Plan>),
}

impl Job {
    fn table_bytes(&self) -> u64 {
        match self {
            Self::Bare(drive) => drive.table_bytes(),
            Self::Days(plan) => plan.setup.table_bytes(),
        }
    }

    /// Host facts that flags or the drive file override.
    fn outranked(&self) -> &[Fact] {
        match self {
            Self::Bare(_) => &[],
            Self::Days(plan) => &plan.outranked,
        }
    }

    /// Description of what all settings have in common.
    fn common(&self, from_host: bool) -> String {
        match self {
            Self::Bare(drive) => bare_words(drive),
            Self::Days(plan) => format!(
                "{}, workload {}",
                load_words(&plan.setup, from_host),
                plan.setup.workload
            ),
        }
    }

    fn row(&self, watch: &dyn Fn(u64, u64)) -> SweepRow {
        match self {
            Self::Bare(drive) => SweepRow::bare(drive, drive.simulate(watch)),
            Self::Days(plan) => SweepRow::of(&plan.setup, &plan.setup.simulate(watch)),
        }
    }
}

/// The values of an axis, or a single `None` for the default if the list is empty.
fn axis<T: Copy>(list: &[T]) -> Vec<Option<T>> {
    if list.is_empty() {
        vec![None]
    } else {
        list.iter().copied().map(Some).collect()
    }
}

fn bare_jobs(arguments: &Sweep, config: &SsdConfig) -> Result<Vec<Job>, CommandError> {
    let (ops, policies, shares) = (
        axis(&arguments.op),
        axis(&arguments.policy),
        axis(&arguments.trim_share),
    );
    limit(&[ops.len(), policies.len(), shares.len()])?;
    let mut jobs = Vec::new();
    for &op in &ops {
        for &policy in &policies {
            for &share in &shares {
                let share = share.unwrap_or(0.0);
                let drive = bare::drive(&arguments.scene, op, policy, share, config)?;
                jobs.push(Job::Bare(Box::new(drive)));
            }
        }
    }
    Ok(jobs)
}

fn day_jobs(
    arguments: &Sweep,
    found: Option<&Found>,
    config: &SsdConfig,
) -> Result<Vec<Job>, CommandError> {
    let (ops, fills, trims, policies) = (
        axis(&arguments.op),
        axis(&arguments.fill),
        axis(&arguments.trim),
        axis(&arguments.policy),
    );
    limit(&[ops.len(), fills.len(), trims.len(), policies.len()])?;
    let mut jobs = Vec::new();
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
                    let plan = Plan::resolve(&arguments.scene, axes, found, config)?;
                    jobs.push(Job::Days(Box::new(plan)));
                }
            }
        }
    }
    Ok(jobs)
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
