//! A grid of settings, simulated on all cores.

use super::args::{Sweep, TableFormat};
use super::bare::Setting;
use super::days::{Axes, Plan, Simulated};
use super::document::Document;
use super::from_host::Found;
use super::numbers::{digits, percent};
use super::progress::Meter;
use super::scenario_answer::Summary;
use super::story::{LABEL, TABLE_HEAD, cells};
use super::{memory, table, values};
use crate::config::SsdConfig;
use crate::error::{CommandError, Kind};
use crate::output;
use rayon::prelude::*;
use serde::Serialize;
use std::fmt::Write as _;
use std::process::ExitCode;

/// More settings than this are a mistake.
const SETTINGS_MAX: usize = 100_000;

/// A grid's answer.
#[derive(Debug, Serialize)]
struct Answer {
    /// `sweep`.
    kind: &'static str,
    /// What it is worth.
    label: &'static str,
    /// One for each combination, the last list running fastest.
    rows: Vec<Row>,
}

/// One setting.
#[derive(Debug, Serialize)]
struct Row {
    /// Spare area.
    over_provisioning: f64,
    /// Victims.
    policy: String,
    /// Live data; null for a bare drive.
    fill: Option<f64>,
    /// When it is trimmed; null for a bare drive.
    trim: Option<String>,
    /// Share of requests that trim; null below a filesystem.
    trim_share: Option<f64>,
    /// Pages programmed by page written; null where it could not be simulated.
    write_amplification: Option<f64>,
    /// What a closed form says; null where there is none.
    theory: Option<f64>,
    /// Below a filesystem, more; null otherwise.
    summary: Option<Summary>,
    /// Why it could not be simulated; null where it was.
    error: Option<String>,
    #[serde(skip)]
    cells: Vec<String>,
}

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
    let threads = usize::from(arguments.jobs.unwrap_or(0));
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
    let source = found.map_or_else(|| "arguments".to_owned(), |found| found.source.clone());
    print(arguments, rows, is_bare, source, found)?;
    Ok(ExitCode::from(u8::from(failed > 0)))
}

fn print(
    arguments: &Sweep,
    rows: Vec<Row>,
    is_bare: bool,
    source: String,
    found: Option<&Found>,
) -> Result<(), CommandError> {
    match arguments.format.unwrap_or_default() {
        TableFormat::Text => output::print(&text(&rows, is_bare)),
        TableFormat::Csv => output::print(&csv(&rows)),
        TableFormat::Json => {
            let mut document = Document::new(
                source,
                Answer {
                    kind: "sweep",
                    label: if is_bare { "simulated" } else { LABEL },
                    rows,
                },
            )?;
            document.skipped = found.map_or_else(Vec::new, |found| found.skipped.clone());
            output::print(&document.json())
        }
    }
}

/// One simulation.
enum Job {
    Bare(Box<Setting>),
    Days(Box<Plan>, f64),
}

impl Job {
    fn table_bytes(&self) -> u64 {
        match self {
            Self::Bare(setting) => setting.table_bytes(),
            Self::Days(plan, _) => plan.table_bytes(),
        }
    }

    fn row(&self, watch: &(dyn Fn(u64, u64) + Sync)) -> Row {
        match self {
            Self::Bare(setting) => bare_row(setting, watch),
            Self::Days(plan, fill) => days_row(plan, *fill, watch),
        }
    }
}

fn bare_row(setting: &Setting, watch: &(dyn Fn(u64, u64) + Sync)) -> Row {
    let theory = setting.theory().map(|(expected, _)| expected);
    let (found, error) = match setting.simulate(&|done, total| watch(done, total)) {
        Ok(answer) => (answer.write_amplification, None),
        Err(error) => (None, Some(error.message)),
    };
    let off = found
        .zip(theory)
        .map(|(found, theory)| 100.0 * (found / theory - 1.0));
    Row {
        over_provisioning: setting.over_provisioning,
        policy: values::policy_word(setting.collection),
        fill: None,
        trim: None,
        trim_share: Some(setting.trim_share),
        write_amplification: found,
        theory,
        summary: None,
        cells: vec![
            percent(setting.over_provisioning),
            values::policy_word(setting.collection),
            digits(setting.trim_share),
            found.map_or_else(|| "-".to_owned(), |found| format!("{found:.3}")),
            theory.map_or_else(|| "-".to_owned(), |theory| format!("{theory:.3}")),
            off.map_or_else(|| "-".to_owned(), |off| format!("{off:+.2} %")),
        ],
        error,
    }
}

fn days_row(plan: &Plan, fill: f64, watch: &(dyn Fn(u64, u64) + Sync)) -> Row {
    let drive = &plan.scenario.drive;
    let simulated = plan.simulate(&|done, total| watch(done, total));
    let mut shown = vec![
        percent(drive.over_provisioning),
        percent(fill),
        plan.when.to_string(),
        values::policy_word(drive.collection),
    ];
    let ok: Option<&Simulated> = simulated.as_ref().ok();
    shown.extend(ok.map_or_else(|| vec!["-".to_owned(); TABLE_HEAD.len() - 1], cells));
    Row {
        over_provisioning: drive.over_provisioning,
        policy: values::policy_word(drive.collection),
        fill: Some(fill),
        trim: Some(plan.when.to_string()),
        trim_share: None,
        write_amplification: ok.and_then(|ok| ok.outcome.total.write_amplification),
        theory: None,
        summary: ok.map(Summary::of),
        error: simulated.as_ref().err().map(|error| error.message.clone()),
        cells: shown,
    }
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
                let setting = Setting::new(&arguments.scene, op, policy, share, config)?;
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
                    let fill = plan.scenario.fill;
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

fn text(rows: &[Row], is_bare: bool) -> String {
    let cells: Vec<Vec<String>> = rows.iter().map(|row| row.cells.clone()).collect();
    let mut out = if is_bare {
        let head = [
            "spare",
            "policy",
            "trims",
            "write\nampl.",
            "theory",
            "off by",
        ];
        table::text(&head, &cells, 2)
    } else {
        let mut head = vec!["spare", "fill", "trimmed", "policy"];
        head.extend(&TABLE_HEAD[1..]);
        table::text(&head, &cells, 4) + &format!("({LABEL}.)\n")
    };
    for row in rows {
        if let Some(error) = &row.error {
            let _ = writeln!(out, "{}: {error}", row.cells[..3].join(", "));
        }
    }
    out
}

fn csv(rows: &[Row]) -> String {
    let mut out = table::csv_line(&[
        "over_provisioning",
        "policy",
        "fill",
        "trim",
        "trim_share",
        "write_amplification",
        "theory",
        "after_trim",
        "before_next_trim",
        "throughput_fall",
        "sustained_mb_s",
        "write_p99_us",
        "error",
    ]);
    for row in rows {
        let summary = row.summary.as_ref();
        let number = table::csv_number;
        let end = |point: Option<&super::scenario_answer::PointRow>| {
            number(point.and_then(|point| point.write_amplification))
        };
        out += &table::csv_line(&[
            row.over_provisioning.to_string(),
            row.policy.clone(),
            number(row.fill),
            row.trim.clone().unwrap_or_default(),
            number(row.trim_share),
            number(row.write_amplification),
            number(row.theory),
            end(summary.and_then(|summary| summary.after_trim.as_ref())),
            end(summary.and_then(|summary| summary.before_next_trim.as_ref())),
            number(summary.and_then(|summary| summary.throughput_fall)),
            number(summary.and_then(|summary| summary.mean.sustained_mb_s)),
            number(summary.and_then(|summary| summary.mean.write_p99_us())),
            row.error.clone().unwrap_or_default(),
        ]);
    }
    out
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
