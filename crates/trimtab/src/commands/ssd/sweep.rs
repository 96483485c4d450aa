//! A grid of settings, simulated on all cores.

use super::args::{SsdFormat, Sweep};
use super::bare;
use super::days::{Axes, Plan};
use super::document;
use super::from_host::{Fact, Found};
use super::memory;
use super::numbers::{fine, micros};
use super::refuse::refuse;
use super::sweep_answer::{Answer, Row, table_head};
use crate::answer::envelope;
use crate::config::SsdConfig;
use crate::error::{CommandError, Kind};
use crate::output;
use crate::progress::Meter;
use flash::bare::BareDrive;
use flash::scenario::Latency;
use flash::setup::Simulated;
use rayon::prelude::*;
use report::grouped;
use report::ssd::{Summary, load_words};
use std::process::ExitCode;

/// More settings than this are a mistake.
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
    let is_bare = arguments.scene.bare.logical_pages.is_some();
    if !is_bare && !arguments.trim_share.is_empty() {
        return Err(CommandError::new(
            Kind::Usage,
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
        .map_err(|error| CommandError::new(Kind::Environment, format!("threads: {error}")))?;
    let jobs = if is_bare {
        bare_jobs(arguments, config)?
    } else {
        day_jobs(arguments, found, config)?
    };
    let largest = jobs.iter().map(Job::table_bytes).max().unwrap_or(0);
    memory::require(largest * pool.current_num_threads().min(jobs.len()) as u64)?;
    let meter = Meter::new("simulating", jobs.len(), quiet);
    let rows: Vec<Row> = pool.install(|| {
        jobs.par_iter()
            .enumerate()
            .map(|(index, job)| {
                let row = job.row(&|done, total| meter.tell(index, done, total));
                meter.tell(index, 1, 1);
                row
            })
            .collect()
    });
    drop(meter);
    let failed = rows.iter().filter(|row| row.error.is_some()).count();
    if failed == rows.len() {
        let why = rows
            .into_iter()
            .find_map(|row| row.error)
            .unwrap_or_default();
        return Err(CommandError::new(
            Kind::Usage,
            format!("none of the settings could be simulated: {why}"),
        ));
    }
    let common = jobs
        .first()
        .map_or_else(String::new, |job| job.common(found.is_some()));
    let reads = arguments.scene.days.reads.unwrap_or(0.0) > 0.0;
    let answer = Answer::new(&common, rows, is_bare, reads);
    match arguments.format.or(config.format).unwrap_or_default() {
        SsdFormat::Text => {
            output::print(&answer.text(usize::from(output::terminal_columns())))?;
        }
        SsdFormat::Csv => output::print(&answer.csv())?,
        SsdFormat::Html | SsdFormat::Markdown => output::print(&answer.page())?,
        SsdFormat::Json => {
            let source = found.map_or("arguments", |found| found.source.as_str());
            let mut document = envelope(source, document::Answer::Sweep(Box::new(answer)))?;
            let outranked = jobs.first().map_or(&[][..], Job::outranked);
            document.skipped = found.map_or_else(Vec::new, |found| found.skipped(outranked));
            output::print(&document.json())?;
        }
    }
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// One simulation.
enum Job {
    Bare(Box<BareDrive>),
    Days(Box<Plan>, f64),
}

impl Job {
    fn table_bytes(&self) -> u64 {
        match self {
            Self::Bare(setting) => setting.table_bytes(),
            Self::Days(plan, _) => plan.setup.table_bytes(),
        }
    }

    /// What a host's facts were not asked for.
    fn outranked(&self) -> &[Fact] {
        match self {
            Self::Bare(_) => &[],
            Self::Days(plan, _) => &plan.outranked,
        }
    }

    /// What all settings have in common.
    fn common(&self, from_host: bool) -> String {
        match self {
            Self::Bare(setting) => format!(
                "Bare drives of {} logical pages with {} a block, {} writes",
                grouped(setting.geometry.logical_pages),
                setting.geometry.pages_per_block,
                setting.pattern
            ),
            Self::Days(plan, _) => format!(
                "{}, workload {}",
                load_words(&plan.setup, from_host),
                plan.setup.workload
            ),
        }
    }

    fn row(&self, watch: &(dyn Fn(u64, u64) + Sync)) -> Row {
        match self {
            Self::Bare(setting) => bare_row(setting, watch),
            Self::Days(plan, fill) => days_row(plan, *fill, watch),
        }
    }
}

fn bare_row(setting: &BareDrive, watch: &(dyn Fn(u64, u64) + Sync)) -> Row {
    let theory = setting.theory().ok().map(|(expected, _)| expected);
    let (found, error) = match setting.simulate(&|done, total| watch(done, total)) {
        Ok(outcome) => (outcome.counters.write_amplification(), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let off = found
        .zip(theory)
        .map(|(found, theory)| 100.0 * (found / theory - 1.0));
    Row {
        over_provisioning: setting.over_provisioning,
        over_provisioning_built: Some(setting.geometry.over_provisioning()),
        policy: setting.collection.to_string(),
        fill: None,
        trim: None,
        trim_share: Some(setting.trim_share),
        write_amplification: found,
        theory,
        summary: None,
        cells: vec![
            found.map_or_else(|| "-".to_owned(), |found| format!("{found:.3}")),
            theory.map_or_else(|| "-".to_owned(), |theory| format!("{theory:.3}")),
            off.map_or_else(|| "-".to_owned(), |off| format!("{off:+.2} %")),
        ],
        error,
    }
}

fn days_row(plan: &Plan, fill: f64, watch: &(dyn Fn(u64, u64) + Sync)) -> Row {
    let drive = &plan.setup.scenario.drive;
    let simulated = plan.setup.simulate(&|done, total| watch(done, total));
    let ok: Option<&Simulated> = simulated.as_ref().ok();
    let reads = plan.setup.scenario.reads > 0.0;
    let shown = ok.map_or_else(
        || vec!["-".to_owned(); table_head(reads).len() - 1],
        |ok| cells(ok, reads),
    );
    Row {
        over_provisioning: drive.over_provisioning,
        over_provisioning_built: ok.map(|ok| ok.outcome.over_provisioning),
        policy: drive.collection.to_string(),
        fill: Some(fill),
        trim: Some(plan.setup.when.to_string()),
        trim_share: None,
        write_amplification: ok.and_then(|ok| ok.outcome.total.write_amplification),
        theory: None,
        summary: ok.map(Summary::of),
        error: simulated.as_ref().err().map(ToString::to_string),
        cells: shown,
    }
}

/// Cells of a scenario, its name left out.
fn cells(simulated: &Simulated, reads: bool) -> Vec<String> {
    let total = &simulated.outcome.total;
    let rate =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
    let cycle = simulated.cycle.as_ref();
    let p99 = |latency: Option<Latency>| {
        latency.map_or_else(|| "-".to_owned(), |latency| micros(latency.p99_us))
    };
    let mut cells = vec![
        fine(total.write_amplification),
        fine(cycle.and_then(|cycle| cycle.after.write_amplification)),
        fine(cycle.and_then(|cycle| cycle.before.write_amplification)),
        rate(total.sustained_mb_s),
        rate(simulated.worst_mb_s()),
        p99(total.writes),
    ];
    if reads {
        cells.push(p99(simulated.outcome.reads));
    }
    cells
}

/// A list, or what is usual where it is empty.
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
                let setting = bare::drive(&arguments.scene, op, policy, share, config)?;
                jobs.push(Job::Bare(Box::new(setting)));
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
                    let plan = Plan::new(&arguments.scene, axes, found, config)?;
                    let fill = plan.setup.scenario.fill;
                    jobs.push(Job::Days(Box::new(plan), fill));
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
        _ => Err(CommandError::new(
            Kind::Usage,
            format!("the grid has more than {SETTINGS_MAX} settings"),
        )
        .hint("shorten a list")),
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
