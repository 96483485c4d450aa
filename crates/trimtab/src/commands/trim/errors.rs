//! Converts errors of the `trim` crate to command errors with hints.

use crate::error::{CommandError, Kind};
use report::trim::command_text;
use std::io;
use trim::filesystem::MountPathError;
use trim::privilege;
use trim::request::RUN_DIR;
use trim::resume::ResumeCommand;
use trim::session::SessionError;
use trim::state::StateError;
use trim::status::StatusError;
use units::escape;

const NEEDS_ROOT: &str = "run it as root, with sudo";

/// Why a pass could not start.
pub enum PassError {
    /// An error of the session.
    Session(SessionError),
    /// An error of this binary's part.
    Command(CommandError),
}

impl From<SessionError> for PassError {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

impl From<CommandError> for PassError {
    fn from(error: CommandError) -> Self {
        Self::Command(error)
    }
}

impl PassError {
    /// Adds hints; `resume` builds the commands they suggest.
    pub fn explain(self, resume: &ResumeCommand) -> CommandError {
        match self {
            Self::Session(error) => session_error(error, resume),
            Self::Command(error) => error,
        }
    }
}

/// A path that does not name a filesystem, with a hint what to name instead.
impl From<MountPathError> for CommandError {
    fn from(error: MountPathError) -> Self {
        let name_instead = |relation: &str, point: &String| {
            format!("{relation} {}: name that instead", escape(point))
        };
        let (kind, hint) = match &error {
            MountPathError::NotUtf8 { .. } => return Self::because(Kind::Usage, error),
            MountPathError::NoDrive { .. } => return Self::because(Kind::Refused, error),
            MountPathError::Unreadable { .. } => (
                Kind::Usage,
                "name the directory on which a filesystem is mounted; `findmnt` lists them"
                    .to_owned(),
            ),
            MountPathError::MayHang { .. } => (
                Kind::Refused,
                "trim it on the host that has the drives".to_owned(),
            ),
            MountPathError::Device { mounted_on, .. } => (
                Kind::Refused,
                mounted_on.as_ref().map_or_else(
                    || "mount it first; nothing of it is mounted here".to_owned(),
                    |point| name_instead("it is mounted on", point),
                ),
            ),
            MountPathError::NotAMountPoint { lies_on, .. } => (
                Kind::Refused,
                lies_on.as_ref().map_or_else(
                    || "`findmnt` lists mount points".to_owned(),
                    |point| name_instead("it lies on", point),
                ),
            ),
        };
        Self::because(kind, error).hint(hint)
    }
}

/// An error of the state directory or the lock directory.
impl From<StateError> for CommandError {
    fn from(error: StateError) -> Self {
        let hint = match &error {
            StateError::Io { source, .. } if is_denied(source) && !privilege::may_trim() => {
                NEEDS_ROOT.to_owned()
            }
            StateError::Io { path, .. } if path.starts_with(RUN_DIR) => format!(
                "locks are in {RUN_DIR} whatever --state says; it has to be a directory of root's, on \
                 a filesystem that can be written to and has room"
            ),
            StateError::Io { .. } => "--state DIR keeps checkpoints elsewhere".to_owned(),
            // The message already says what to do.
            _ => return Self::because(Kind::Environment, error),
        };
        Self::because(Kind::Environment, error).hint(hint)
    }
}

/// An error of `--status` or `--cancel`.
impl From<StatusError> for CommandError {
    fn from(error: StatusError) -> Self {
        match error {
            StatusError::Path(error) => error.into(),
            StatusError::Target(error) => Self::because(Kind::Environment, error),
            StatusError::State(error) => error.into(),
        }
    }
}

/// A checkpoint or a lock that `--status` cannot read.
pub fn unreadable(error: StateError) -> CommandError {
    let denied = matches!(&error, StateError::Io { source, .. } if is_denied(source));
    CommandError::because(Kind::Environment, error)
        .hints(denied.then_some("run it as root: sudo trimtab trim --status"))
}

/// Why a session could not start; `resume` builds the commands in the hints.
fn session_error(error: SessionError, resume: &ResumeCommand) -> CommandError {
    let hint = match error {
        SessionError::State {
            mount_point,
            source,
        } => {
            return match source {
                StateError::Busy { .. } => busy(&mount_point, source, resume),
                source => source.into(),
            };
        }
        SessionError::Checkpoint(source) => {
            return CommandError::from(source).hint("--restart starts over without it");
        }
        SessionError::Probe(_) => {
            "check that the device node exists: trimtab does not trim without watching latency"
        }
        SessionError::Unidentified { .. }
        | SessionError::Geometry { .. }
        | SessionError::Locks(_) => return CommandError::because(Kind::Environment, error),
    };
    CommandError::because(Kind::Environment, error).hint(hint)
}

fn busy(mount_point: &str, error: StateError, resume: &ResumeCommand) -> CommandError {
    let StateError::Busy {
        what,
        pid,
        same_filesystem,
    } = &error
    else {
        return error.into();
    };
    let name = escape(mount_point);
    if *same_filesystem {
        return CommandError::refused(format!("{name} is being trimmed by process {pid}"))
            .hint(format!(
                "{} shows how far it is",
                command_text(&resume.status())
            ))
            .hint(format!(
                "{} ends it for good; `kill {pid}` ends it so that it can be resumed later",
                command_text(&resume.cancel(mount_point))
            ));
    }
    CommandError::refused(format!(
        "{name}: {what} is below a filesystem that process {pid} is trimming"
    ))
    .hint(
        "filesystems that share a drive are trimmed one after another: name them in one command, \
         or wait",
    )
}

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}
