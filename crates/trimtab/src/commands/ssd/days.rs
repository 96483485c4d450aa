//! A drive below a filesystem, over days: what was asked, simulated beside what a change would bring.

use super::args::Scene;
use super::bare::refuse;
use super::from_host::{Fact, Found};
use super::load::{self, Mix, TrimWhen, What};
use super::spec::{Basis, require_chunk};
use crate::config::SsdConfig;
use crate::error::{CommandError, Kind};
use flash::ftl::Collection;
use flash::scenario::{self, DriveSpec, Outcome, Point, Scenario, ScenarioError};
use flash::time::Timing;
use flash::workload::rhythm::Rhythm;
use std::ops::ControlFlow;

/// Live data where nothing says how much.
pub const FILL: f64 = 0.62;
/// Who writes where nothing says.
const WORKLOAD: &str = "elasticsearch";
/// Bytes of a page below a filesystem where nothing says.
const PAGE_BYTES: u64 = 16 * 1024;
/// Chunk of md's RAID-0.
const CHUNK_BYTES: u64 = 512 * 1024;
/// Pages that are simulated where nothing says how many.
const SIMULATED_PAGES: u32 = 1 << 18;
/// Days of the series where nothing says how many.
const DAYS: u32 = 28;
/// Hours of an interval where nothing says.
const INTERVAL_HOURS: u32 = 6;
/// Blocks of a drive at least, where nothing says how large they are.
const BLOCKS_MIN: u64 = 256;
/// Drive writes before the series begins.
const WARM_UP_DRIVE_WRITES: f64 = 3.0;
/// But no more than a year.
const WARM_UP_WEEKS_MAX: u32 = 52;
/// Share of the series, at its end, that stands for the long run.
const LONG_RUN: f64 = 0.25;
/// Spare area of drives for servers, and of those for clients: each is compared with the other.
const SERVER_SPARE: f64 = 0.28;
const CLIENT_SPARE: f64 = 0.07;

/// A scenario with the words for it.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What is simulated.
    pub scenario: Scenario,
    /// When it is trimmed.
    pub when: TrimWhen,
    /// Who writes, in the command line's words.
    pub workload: String,
    /// A drive's name, where it has one.
    pub drive_name: Option<String>,
    /// `tlc`, or the file's.
    pub preset: String,
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
    pub trim: Option<TrimWhen>,
}

impl Plan {
    /// Puts together what was said: flags, the drive's file, the host's facts, what is usual.
    ///
    /// # Errors
    /// Something without which there is nothing to simulate; numbers of which there is no drive.
    pub fn new(
        scene: &Scene,
        axes: Axes,
        found: Option<&Found>,
        config: &SsdConfig,
    ) -> Result<Self, CommandError> {
        refuse_bare(scene)?;
        let basis = Basis::new(&scene.drive, axes.op, axes.policy, config, PAGE_BYTES)?;
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
            .unwrap_or(TrimWhen::WEEKLY);
        let mix = match (
            &scene.workload,
            found.and_then(|found| found.workload.clone()),
        ) {
            (Some(mix), _) => mix.clone(),
            (None, Some(mix)) => mix,
            (None, None) => {
                load::mix(WORKLOAD).map_err(|message| CommandError::new(Kind::Usage, message))?
            }
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
            pages_per_block: basis
                .pages_per_block
                .unwrap_or_else(|| superblock(&timing, capacity_bytes, basis.page_bytes)),
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
            parts: parts(&mix, basis.page_bytes),
            bytes_per_day,
            rhythm: days.rhythm.unwrap_or(Rhythm::STEADY),
            reads: days.reads.unwrap_or(0.0),
            request_bytes: (128 * 1024).max(u64::from(basis.page_bytes)),
            trims: when.trims,
            reach: when.reach,
            warm_up_days: days
                .warm_up_days
                .unwrap_or_else(|| warm_up_days(capacity_bytes, drives, bytes_per_day)),
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
            scenario,
            when,
            outranked: outranked(scene, axes, basis.file.capacity_bytes.is_some()),
            workload: mix.to_string(),
            preset: basis.preset,
            drive_name: basis.file.name,
        })
    }

    /// Bytes that the tables of its drives take, more or less.
    pub fn table_bytes(&self) -> u64 {
        let pages = self
            .scenario
            .scale()
            .map_or(0, |scale| u64::from(scale.pages));
        // Ten bytes by page of the drive, and some for the filesystem's bits.
        pages * u64::from(self.scenario.drive.drives) * 11
    }

    /// What is compared with it: another trim schedule, and another spare area.
    pub fn variants(&self) -> Vec<(String, Self)> {
        let mut variants = Vec::new();
        let other = if self.when == TrimWhen::DAILY {
            TrimWhen::WEEKLY
        } else {
            TrimWhen::DAILY
        };
        let name = format!("trimmed {other}");
        variants.push((name, self.trimmed(other)));
        let spare = if self.scenario.drive.over_provisioning < 0.2 {
            SERVER_SPARE
        } else {
            CLIENT_SPARE
        };
        let mut with_spare = self.clone();
        with_spare.scenario.drive.over_provisioning = spare;
        variants.push((
            format!("at {} spare", super::numbers::percent(spare)),
            with_spare,
        ));
        variants
    }

    fn trimmed(&self, when: TrimWhen) -> Self {
        let mut other = self.clone();
        other.when = when;
        other.scenario.trims = when.trims;
        other.scenario.reach = when.reach;
        other
    }

    /// Simulates it.
    ///
    /// # Errors
    /// What cannot be simulated.
    pub fn simulate(&self, watch: &dyn Fn(u64, u64)) -> Result<Simulated, CommandError> {
        let mut watch = |progress: scenario::Progress| {
            // Loading is a drive write; the days are some.
            let (done, total) = (progress.done, progress.total.max(1));
            let whole = 1000;
            let part = done * whole / total;
            watch(
                if progress.loading {
                    part / 10
                } else {
                    whole / 10 + part * 9 / 10
                },
                whole,
            );
            ControlFlow::Continue(())
        };
        let outcome = self.scenario.run(&mut watch).map_err(refused)?;
        Ok(Simulated::new(outcome, &self.scenario.drive))
    }
}

/// An outcome and what is told of it.
#[derive(Debug, Clone)]
pub struct Simulated {
    /// All of it.
    pub outcome: Outcome,
    /// From trim to trim; `None` where there are no trims, or fewer than two in the series.
    pub cycle: Option<scenario::Cycle>,
    /// The last quarter of the series.
    pub long_run: Point,
}

impl Simulated {
    fn new(outcome: Outcome, drive: &DriveSpec) -> Self {
        let count = outcome.intervals.len();
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )] // a share of it
        let last = ((count as f64 * LONG_RUN).ceil() as usize).clamp(1, count.max(1));
        let long_run = outcome.mean(count.saturating_sub(last)..count, drive);
        Self {
            cycle: outcome.cycle(drive),
            long_run,
            outcome,
        }
    }

    /// Hours in which the drives were too slow for the load, of all: shares of the intervals.
    pub fn throttled_intervals(&self) -> usize {
        let intervals = self.outcome.intervals.iter();
        intervals.filter(|interval| interval.throttled).count()
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

/// Pages of a block where nothing says: one erase block of each die, as controllers stripe them, but not
/// more than can be counted, and not so large that there are few of them. What deleted files leave behind
/// depends on it.
fn superblock(timing: &Timing, capacity_bytes: u64, page_bytes: u32) -> u32 {
    let page_bytes = u64::from(page_bytes);
    let erased_at_once = u64::from(timing.dies) * u64::from(timing.erase_bytes) / page_bytes;
    let most = (capacity_bytes / page_bytes / BLOCKS_MIN).clamp(1, u16::MAX.into());
    u32::try_from(erased_at_once.clamp(1, most)).unwrap_or(1)
}

/// Weeks until the drives were written over some times.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)] // clamped
fn warm_up_days(capacity_bytes: u64, drives: u32, bytes_per_day: u64) -> u32 {
    let bytes = capacity_bytes as f64 * f64::from(drives) * WARM_UP_DRIVE_WRITES;
    let weeks = (bytes / bytes_per_day as f64 / 7.0).ceil();
    weeks.clamp(1.0, f64::from(WARM_UP_WEEKS_MAX)) as u32 * 7
}

/// The mix in the model's words.
fn parts(mix: &Mix, page_bytes: u32) -> Vec<scenario::Part> {
    let part = |part: &load::Part| {
        let kind = match part.what {
            What::Files(_, kind) => kind,
            What::Pages(pattern) => scenario::Kind::Database {
                pattern,
                write_bytes: page_bytes.into(),
            },
        };
        scenario::Part {
            weight: part.weight,
            space: part.space,
            ..scenario::Part::new(kind)
        }
    };
    mix.parts.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warm_up_is_whole_weeks() {
        let tb = 1_000_000_000_000;
        assert_eq!(warm_up_days(tb, 1, tb), 7);
        // 3 x 3.84 TB by 1.9 TB a day are 6.1 days.
        assert_eq!(warm_up_days(3_840_000_000_000, 1, 1_900_000_000_000), 7);
        assert_eq!(warm_up_days(3_840_000_000_000, 2, 1_900_000_000_000), 14);
        assert_eq!(warm_up_days(tb, 1, 1), 364);
    }
}
