//! The folder that an experiment works in: made, and removed whatever happens.

use crate::commands::STATE_DIR;
use crate::error::{CommandError, Kind};
use crate::progress::Draw;
use experiments::{DiskError, Place, Workspace, WorkspaceError};
use jiff::Timestamp;
use std::path::{Path, PathBuf};

/// Below the state directory: the folders of experiments that run, or that a crash left.
const REGISTER: &str = "experiments";

/// Where filesystems are made: a device, which is claimed now, or an image. What earlier experiments left is removed first,
/// since it may hold the device.
///
/// # Errors
/// Without root, or if the device must not be overwritten.
pub(super) fn place(
    device: Option<&Path>,
    overwrite: bool,
    image_bytes: u64,
    draw: &mut Draw,
) -> Result<Place, CommandError> {
    if !rustix::process::geteuid().is_root() {
        return Err(
            CommandError::environment("making and mounting filesystems needs root")
                .hint("run it with sudo"),
        );
    }
    remove_abandoned(draw)?;
    let Some(path) = device else {
        return Ok(Place::Image {
            len_bytes: image_bytes,
        });
    };
    Place::device(path, overwrite).map_err(|error| {
        let is_unconfirmed = matches!(error, DiskError::Unconfirmed { .. });
        let hint = "confirm with --overwrite that everything on it may be lost";
        CommandError::because(Kind::Refused, error)
            .at("--device")
            .hints(is_unconfirmed.then_some(hint))
    })
}

/// Runs `work` in a new workspace within the folder `within`, and removes it. Also returns what could not be removed.
///
/// # Errors
/// Of `work`, or if there is no workspace.
pub(super) fn with<T>(
    within: &Path,
    draw: &mut Draw,
    work: impl FnOnce(&Workspace, &mut Draw) -> Result<T, CommandError>,
) -> Result<(T, Vec<String>), CommandError> {
    let name = format!("{}-{}", Timestamp::now().as_second(), std::process::id());
    let workspace =
        Workspace::create(&register(), within, &name).map_err(|error| not_made(error, within))?;
    let result = work(&workspace, draw);
    draw.show("removing what was made");
    let removed = workspace.remove();
    draw.clear();
    let remains = removed
        .err()
        .map(|error| format!("not everything was removed: {error}"));
    match result {
        // What was measured is worth more than a folder that stays.
        Ok(done) => Ok((done, remains.into_iter().collect())),
        Err(error) => {
            let hint = |remains: String| format!("{remains}; the next experiment tries again");
            Err(error.hints(remains.map(hint)))
        }
    }
}

fn not_made(error: WorkspaceError, within: &Path) -> CommandError {
    if matches!(&error, WorkspaceError::Path(error) if error.path() == within) {
        return CommandError::because(Kind::Environment, error)
            .at("--loop-dir")
            .hint("name a folder that exists, on the drive that is to be measured");
    }
    if !matches!(error, WorkspaceError::Unprotected { .. }) {
        return CommandError::because(Kind::Environment, error);
    }
    CommandError::because(Kind::Refused, error)
        .at("--loop-dir")
        .hint("whoever can rename that folder could have root overwrite other files: nothing was changed")
        .hint(
            "name a folder of root's below folders of root's, or a sticky one such as /var/tmp; on the drive of a \
             store, make one and mount it elsewhere: mkdir DATA/bench /mnt/bench; mount --bind DATA/bench /mnt/bench",
        )
}

fn register() -> PathBuf {
    Path::new(STATE_DIR).join(REGISTER)
}

/// Removes what experiments left that no longer run, and says so.
fn remove_abandoned(draw: &mut Draw) -> Result<(), CommandError> {
    let abandoned = Workspace::remove_abandoned(&register())
        .map_err(|error| CommandError::because(Kind::Environment, error))?;
    for removed in abandoned {
        match removed {
            Ok(removed) => draw.say(&format!(
                "removed {}, left by an earlier experiment: {}, {}, {}",
                removed.workspace.display(),
                units::count::counted(removed.processes as u64, "process", "processes"),
                units::count(removed.mounts.len() as u64, "mount"),
                units::count(removed.loop_devices.len() as u64, "loop device"),
            )),
            Err(error) => draw.say(&format!(
                "could not remove what an earlier experiment left: {error}"
            )),
        }
    }
    Ok(())
}
