//! A drive below a filesystem, simulated over days, as described by flags, drive file and host facts.

use super::args::Scene;
use super::from_host::{Fact, Found};
use super::spec::{Basis, require_chunk};
use crate::config::SsdConfig;
use crate::error::CommandError;
use flash::ftl::Collection;
use flash::scenario::{DriveSpec, Scenario, ScenarioError};
use flash::setup::{Mix, Setup, TrimSchedule, usual_pages_per_block, usual_warm_up_days};
use flash::workload::rhythm::Rhythm;

/// Default fill level: share of live data.
pub const FILL: f64 = 0.62;
/// Default workload.
const WORKLOAD: &str = "elasticsearch";
/// Default chunk size of md RAID-0, in bytes.
const CHUNK_BYTES: u64 = 512 * 1024;
/// Default number of simulated pages.
const SIMULATED_PAGES: u32 = 1 << 18;
/// Default length of the series, in days.
const DAYS: u32 = 28;
/// Default interval, in hours.
const INTERVAL_HOURS: u32 = 6;

/// The resolved simulation.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Setup to simulate.
    pub setup: Setup,
    /// Host facts that flags or the drive file override.
    pub outranked: Vec<Fact>,
}

/// Parameters that vary across the runs of a grid.
#[derive(Debug, Clone, Copy, Default)]
pub struct Axes {
    /// Over-provisioning.
    pub op: Option<f64>,
    /// Garbage collection policy.
    pub policy: Option<Collection>,
    /// Fill level.
    pub fill: Option<f64>,
    /// When the filesystem is trimmed.
    pub trim: Option<TrimSchedule>,
}

impl Plan {
    /// Resolves the setup from flags, then the drive file, then host facts, then defaults.
    ///
    /// # Errors
    /// If a required value is missing, or the values describe no possible drive.
    pub fn resolve(
        scene: &Scene,
        axes: Axes,
        found: Option<&Found>,
        config: &SsdConfig,
    ) -> Result<Self, CommandError> {
        let basis = Basis::resolve(&scene.drive, axes.op, axes.policy, config)?;
        let days = &scene.days;
        let capacity_bytes = days
            .capacity
            .or(basis.file.capacity_bytes)
            .or(found.and_then(|found| found.load.capacity_bytes))
            .ok_or_else(|| missing("--capacity SIZE", "how large a drive is", found))?;
        let bytes_per_day = days
            .writes_per_day
            .or(found.and_then(|found| found.load.writes_per_day_bytes))
            .ok_or_else(|| {
                missing(
                    "--writes-per-day SIZE",
                    "how much is written per day",
                    found,
                )
            })?;
        let drives = days
            .drives
            .or(found.and_then(|found| found.load.drives))
            .unwrap_or(1);
        let when = axes
            .trim
            .or(found.and_then(|found| found.when))
            .unwrap_or(TrimSchedule::WEEKLY);
        let mix = match (
            &scene.workload,
            found.and_then(|found| found.workload.clone()),
        ) {
            (Some(mix), _) => mix.clone(),
            (None, Some(mix)) => mix,
            (None, None) => WORKLOAD
                .parse::<Mix>()
                .map_err(|error| CommandError::usage(error.to_string()))?,
        };
        let timing = basis.timing(capacity_bytes)?;
        let chunk_bytes = days
            .chunk
            .or(found.and_then(|found| found.load.chunk_bytes))
            .unwrap_or(CHUNK_BYTES);
        require_chunk(chunk_bytes, drives, basis.page_bytes)?;
        let drive = DriveSpec {
            capacity_bytes,
            over_provisioning: basis.over_provisioning,
            page_bytes: basis.page_bytes,
            pages_per_block: basis.pages_per_block.unwrap_or_else(|| {
                usual_pages_per_block(&timing, capacity_bytes, basis.page_bytes)
            }),
            collection: basis.collection,
            separate_moved: basis.moved_apart.unwrap_or(true),
            timing,
            drives,
            chunk_bytes,
        };
        let shown_days = days.days.unwrap_or(DAYS);
        let simulated = days.simulated_pages.unwrap_or(SIMULATED_PAGES.into());
        let scenario = Scenario {
            drive,
            history: days.history.unwrap_or_default(),
            fill: axes
                .fill
                .or(found.and_then(|found| found.load.fill))
                .unwrap_or(FILL),
            parts: mix.scenario_parts(basis.page_bytes),
            bytes_per_day,
            rhythm: days.rhythm.unwrap_or(Rhythm::STEADY),
            reads: days.reads.unwrap_or(0.0),
            request_bytes: (128 * 1024).max(u64::from(basis.page_bytes)),
            trims: when.trims,
            reach: when.reach,
            warm_up_days: days
                .warm_up_days
                .unwrap_or_else(|| usual_warm_up_days(capacity_bytes, drives, bytes_per_day)),
            days: shown_days,
            interval_hours: days.interval.unwrap_or(INTERVAL_HOURS),
            pages_max: u32::try_from(simulated).map_err(|_| {
                CommandError::usage(format!(
                    "--simulated-pages: expected less than 2^32, found {simulated}"
                ))
            })?,
            seed: scene.seed,
            ..Scenario::default()
        };
        // Detect an impossible scale before anything runs.
        let scale = scenario.scale().map_err(refused)?;
        scale.geometry(&scenario.drive).map_err(refused)?;
        Ok(Self {
            outranked: outranked(scene, axes, basis.file.capacity_bytes.is_some()),
            setup: Setup {
                scenario,
                when,
                workload: mix,
                preset: basis.preset,
                drive_name: basis.file.name,
            },
        })
    }
}

/// Host facts that flags or the drive file override.
fn outranked(scene: &Scene, axes: Axes, has_capacity: bool) -> Vec<Fact> {
    let days = &scene.days;
    let given = [
        (Fact::Capacity, has_capacity || days.capacity.is_some()),
        (Fact::Writes, days.writes_per_day.is_some()),
        (Fact::Fill, axes.fill.is_some()),
        (Fact::Trims, axes.trim.is_some()),
        (Fact::Workload, scene.workload.is_some()),
        (Fact::Media, days.host_written.is_some()),
    ];
    let given = given.into_iter().filter(|(_, given)| *given);
    given.map(|(fact, _)| fact).collect()
}

/// Converts an error of the model to a command-line error with hints.
#[allow(clippy::needless_pass_by_value)] // for map_err
pub fn refused(error: ScenarioError) -> CommandError {
    let hint = match &error {
        ScenarioError::DoesNotFit { .. } => Some("lower --fill"),
        ScenarioError::OutOfBounds { what, .. } if what.contains("simulated page") => {
            Some("raise --simulated-pages, or lower --page-bytes")
        }
        ScenarioError::OutOfBounds { what, .. } if what.contains("workload's space") => {
            Some("raise --simulated-pages, --fill or the workload's share of the data")
        }
        ScenarioError::Raid0(_) => Some("choose another --chunk"),
        _ => None,
    };
    CommandError::usage(error.to_string()).hints(hint)
}

/// The error for a missing required value.
fn missing(flag: &str, what: &str, found: Option<&Found>) -> CommandError {
    let error = CommandError::usage(format!("expected {flag}: nothing says {what}"));
    match found {
        Some(found) => {
            let skipped = found.load.skipped(&[]).into_iter();
            error.hints(skipped.map(|skipped| format!("{}: {}", skipped.what, skipped.why)))
        }
        None => error.hint("or take it from this host with --from-host"),
    }
}
