//! A drive below a filesystem, over days, as flags, the drive's file and the host's facts describe it.

use super::args::Scene;
use super::from_host::{Fact, Found};
use super::refuse::refuse;
use super::spec::{Basis, require_chunk};
use crate::config::SsdConfig;
use crate::error::{CommandError, Kind};
use flash::ftl::Collection;
use flash::scenario::{DriveSpec, Scenario, ScenarioError};
use flash::setup::{Mix, Setup, TrimSchedule, usual_pages_per_block, usual_warm_up_days};
use flash::workload::rhythm::Rhythm;

/// Live data where nothing says how much.
pub const FILL: f64 = 0.62;
/// Who writes where nothing says.
const WORKLOAD: &str = "elasticsearch";
/// Bytes of a page below a filesystem where nothing says.
const PAGE_BYTES: u32 = 16 * 1024;
/// Chunk of md's RAID-0.
const CHUNK_BYTES: u64 = 512 * 1024;
/// Pages that are simulated where nothing says how many.
const SIMULATED_PAGES: u32 = 1 << 18;
/// Days of the series where nothing says how many.
const DAYS: u32 = 28;
/// Hours of an interval where nothing says.
const INTERVAL_HOURS: u32 = 6;

/// What was asked, and where it was said.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What is simulated.
    pub setup: Setup,
    /// What a host's facts were not asked for: flags or the drive's file say it.
    pub outranked: Vec<Fact>,
}

/// What differs from run to run of a grid.
#[derive(Debug, Clone, Copy, Default)]
pub struct Axes {
    /// Spare area.
    pub op: Option<f64>,
    /// Victims.
    pub policy: Option<Collection>,
    /// Live data.
    pub fill: Option<f64>,
    /// Trims.
    pub trim: Option<TrimSchedule>,
}

impl Plan {
    /// Puts together what was said: flags, the drive's file, the host's facts, what is usual.
    ///
    /// # Errors
    /// Something without which there is nothing to simulate; numbers of which there is no drive.
    pub fn resolve(
        scene: &Scene,
        axes: Axes,
        found: Option<&Found>,
        config: &SsdConfig,
    ) -> Result<Self, CommandError> {
        refuse_bare(scene)?;
        let basis = Basis::resolve(&scene.drive, axes.op, axes.policy, config, PAGE_BYTES)?;
        let days = &scene.days;
        let capacity_bytes = days
            .capacity
            .or(basis.file.capacity_bytes)
            .or(found.and_then(|found| found.load.capacity_bytes))
            .ok_or_else(|| missing("--capacity SIZE", "how large a drive is", found))?;
        let bytes_per_day = days
            .writes_per_day
            .or(found.and_then(|found| found.load.writes_per_day_bytes))
            .ok_or_else(|| missing("--writes-per-day SIZE", "what is written a day", found))?;
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
                .map_err(|error| CommandError::new(Kind::Usage, error.to_string()))?,
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
            streams: 1,
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
                CommandError::new(
                    Kind::Usage,
                    format!("--simulated-pages: expected less than 2^32, found {simulated}"),
                )
            })?,
            seed: scene.seed,
            ..Scenario::default()
        };
        // A scale that cannot be is found before anything runs.
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

/// What a host's facts were not asked for, since flags say it or the drive's file does.
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

/// What the model refuses, in the command line's words.
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
    let refusal = CommandError::new(Kind::Usage, error.to_string());
    match hint {
        Some(hint) => refusal.hint(hint),
        None => refusal,
    }
}

/// Something without which nothing can be simulated.
fn missing(flag: &str, what: &str, found: Option<&Found>) -> CommandError {
    let error = CommandError::new(Kind::Usage, format!("expected {flag}: nothing says {what}"));
    match found {
        Some(found) => found.skipped(&[]).iter().fold(error, |error, skipped| {
            error.hint(format!("{}: {}", skipped.what, skipped.why))
        }),
        None => error.hint(
            "or take it from this host with --from-host; a bare drive needs --logical-pages only",
        ),
    }
}

/// Words of a bare drive are not passed over.
fn refuse_bare(scene: &Scene) -> Result<(), CommandError> {
    let bare = &scene.bare;
    let given = [
        ("--streams", bare.streams),
        ("--power-on", bare.power_on.is_some()),
        ("--warm-up", bare.warm_up.is_some()),
        ("--passes", bare.passes.is_some()),
        ("--writes", bare.writes.is_some()),
    ];
    refuse(
        &given,
        "a drive below a filesystem is simulated by days (see --history, --days)",
    )
}
