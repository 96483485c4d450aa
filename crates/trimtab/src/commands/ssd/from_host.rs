//! Reads a simulation's drives and load from a host.

use super::args::Days;
use crate::commands::source;
use crate::config::Config;
use crate::error::CommandError;
use flash::scenario::{Schedule, Trims};
use flash::setup::{Mix, TrimSchedule};
use rules::{DriveLoad, NoMount, TrimTimes, loaded_mount};

pub use rules::LoadFact as Fact;

/// Host facts, translated for the simulation.
#[derive(Debug, Clone)]
pub struct Found {
    /// Source: `live`, `bundle FILE` ...
    pub source: String,
    /// The drives and their load.
    pub load: DriveLoad,
    /// When the filesystem is trimmed.
    pub when: Option<TrimSchedule>,
    /// Workload of its store.
    pub workload: Option<Mix>,
}

/// Reads the selected host, if one is.
///
/// # Errors
/// When it cannot be read or has no such mount.
pub fn read(
    days: &Days,
    config: &Config,
    wants_measured: bool,
) -> Result<Option<Found>, CommandError> {
    let Some(mount_point) = days.from_host.as_deref() else {
        return Ok(None);
    };
    let opened = match &days.bundle {
        Some(bundle) => source::stored(bundle, "bundle")?,
        None => source::live_or(days.root.as_deref())?,
    };
    // With --host-written, the drives need not be queried.
    let ask_drives = wants_measured && days.host_written.is_none();
    let (host, _) = source::read(&opened, &[], &config.check.data_paths, ask_drives)?;
    let wanted = Some(mount_point).filter(|point| !point.is_empty());
    let mount = loaded_mount(&host, wanted).map_err(|none| no_mount(wanted, &none))?;
    let load = DriveLoad::of(&host, mount, ask_drives);
    Ok(Some(Found {
        source: opened.label,
        when: load.trims.map(|times| when(times, load.loses_discards)),
        workload: load.workload.and_then(|name| name.parse().ok()),
        load,
    }))
}

fn no_mount(wanted: Option<&str>, none: &NoMount) -> CommandError {
    let known = if none.known.is_empty() {
        "no mount on a block device is known".to_owned()
    } else {
        let points: Vec<_> = none
            .known
            .iter()
            .map(|point| units::escape(point))
            .collect();
        format!("mounts on block devices: {}", points.join(", "))
    };
    let error = match wanted {
        None => {
            CommandError::usage("--from-host: no store was found whose data lies on a block device")
                .hint("name the mount: --from-host /data")
        }
        Some(point) => CommandError::usage(format!(
            "--from-host {}: nothing is mounted there",
            units::escape(point)
        )),
    };
    error.hint(known)
}

/// Translates trim times to those of the scenario.
fn when(times: TrimTimes, loses_discards: bool) -> TrimSchedule {
    let when = match times {
        TrimTimes::Never => return TrimSchedule::NEVER,
        TrimTimes::Online => TrimSchedule::ONLINE,
        TrimTimes::Periodic {
            every_days,
            first_day,
            hour,
        } => TrimSchedule {
            trims: Trims::Periodic(Schedule {
                first_day,
                ..Schedule::every(every_days, hour)
            }),
            ..TrimSchedule::WEEKLY
        },
    };
    if loses_discards {
        when.swallowed()
    } else {
        when
    }
}
