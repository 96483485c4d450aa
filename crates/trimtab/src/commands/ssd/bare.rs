//! A bare drive from command-line flags.

use super::args::Scene;
use super::refuse::refuse;
use super::spec::{Basis, PAGES_PER_BLOCK};
use crate::config::SsdConfig;
use crate::error::CommandError;
use flash::bare::{
    BareDrive, BareError, COUNTED_PAGES_MIN, PASSES, WARM_UP_PASSES, pages_of_passes,
};
use flash::ftl::{Collection, PowerOn};
use flash::geometry::Geometry;
use flash::workload::database::Pattern;

/// Builds the drive and its workload from flags, drive file and configuration.
///
/// # Errors
/// If the values describe no possible drive, or flags conflict.
pub fn drive(
    scene: &Scene,
    op: Option<f64>,
    policy: Option<Collection>,
    trim_share: f64,
    config: &SsdConfig,
) -> Result<BareDrive, CommandError> {
    let bare = &scene.bare;
    refuse_days(scene)?;
    let logical_pages = bare
        .logical_pages
        .ok_or_else(|| CommandError::usage("expected --logical-pages N for a bare drive"))?;
    let basis = Basis::resolve(&scene.drive, op, policy, config, 4096)?;
    let geometry = Geometry::new(
        logical_pages,
        basis.over_provisioning,
        basis.pages_per_block.unwrap_or(PAGES_PER_BLOCK),
        basis.page_bytes,
    )
    .map_err(|error| {
        CommandError::usage(error.to_string()).hint("take fewer --logical-pages, or less --op")
    })?;
    let pattern = match &scene.workload {
        None => Pattern::Uniform,
        Some(mix) => mix.single_pattern().ok_or_else(|| {
            CommandError::usage(format!(
                "--workload {mix} works on files, and --logical-pages is a bare drive"
            ))
            .hint(format!("a bare drive takes {}", Pattern::NAMES))
            .hint("files need --capacity instead of --logical-pages")
        })?,
    };
    let drive = BareDrive {
        geometry,
        over_provisioning: basis.over_provisioning,
        collection: basis.collection,
        pattern,
        trim_share,
        streams: bare.streams,
        // As in the papers whose closed forms the result is compared with.
        moved_apart: basis.moved_apart.unwrap_or(false),
        power_on: bare.power_on.unwrap_or(PowerOn::Filled),
        seed: scene.seed,
        warm_up_pages: pages_of_passes(bare.warm_up.unwrap_or(WARM_UP_PASSES), logical_pages),
        counted_pages: match bare.passes {
            Some(passes) => pages_of_passes(passes, logical_pages),
            None => pages_of_passes(PASSES, logical_pages).max(COUNTED_PAGES_MIN),
        },
    };
    drive.check().map_err(refused)?;
    Ok(drive)
}

/// Converts an error of the model to a command-line error with hints.
#[allow(clippy::needless_pass_by_value)] // for map_err
pub fn refused(error: BareError) -> CommandError {
    match error {
        BareError::NoHotPages(_) => {
            CommandError::usage(format!("--{error}")).hint("add --workload hot-cold:20/80")
        }
        BareError::TrimsWithPattern(pattern) => CommandError::usage(format!(
            "--trim-share goes with uniform writes only, found --workload {pattern}"
        ))
        .hint("leave --workload out")
        .hint("below a filesystem (--capacity) every workload is trimmed: --trim online"),
        BareError::Indivisible { pattern, pages } => CommandError::usage(format!(
            "--workload {pattern}: {pages} pages cannot be divided so"
        ))
        .hint("take more pages"),
        BareError::Drive(_) | BareError::Trims(_) => CommandError::usage(error.to_string()),
    }
}

/// Rejects flags that only apply to a drive below a filesystem.
fn refuse_days(scene: &Scene) -> Result<(), CommandError> {
    let days = &scene.days;
    let given = [
        ("--writes-per-day", days.writes_per_day.is_some()),
        ("--drives", days.drives.is_some()),
        ("--chunk", days.chunk.is_some()),
        ("--days", days.days.is_some()),
        ("--warm-up-days", days.warm_up_days.is_some()),
        ("--interval", days.interval.is_some()),
        ("--rhythm", days.rhythm.is_some()),
        ("--reads", days.reads.is_some()),
        ("--history", days.history.is_some()),
        ("--simulated-pages", days.simulated_pages.is_some()),
        ("--media-written", days.media_written.is_some()),
        ("--root", days.root.is_some()),
        ("--bundle", days.bundle.is_some()),
        ("--preset", scene.drive.preset.is_some()),
    ];
    refuse(
        &given,
        "--logical-pages is a bare drive, which knows no days and no time",
    )
}
