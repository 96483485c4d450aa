//! Errors of the crate `trim`, with the way out.

use crate::error::{CommandError, Kind};
use report::trim::command_text;
use rules::shell::quote;
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

/// Why a pass could not begin.
pub enum PassError {
    /// The session itself.
    Session(SessionError),
    /// What this binary does for it.
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
    /// With the way out; `resume` makes the commands to use.
    pub fn explain(self, resume: &ResumeCommand) -> CommandError {
        match self {
            Self::Session(error) => session_error(&error, resume),
            Self::Command(error) => error,
        }
    }
}

/// A path that names no filesystem, with what to name instead.
pub fn mount_path_error(error: &MountPathError) -> CommandError {
    let text = error.to_string();
    let of_kind = |kind| CommandError::new(kind, escape(&text));
    match error {
        MountPathError::Unreadable { .. } => of_kind(Kind::Usage)
            .hint("name the directory on which a filesystem is mounted; `findmnt` lists them"),
        MountPathError::NotUtf8 { .. } => of_kind(Kind::Usage),
        MountPathError::NoDrive { .. } => of_kind(Kind::Refused),
        MountPathError::Device { mounted_on, .. } => match mounted_on {
            Some(point) => of_kind(Kind::Refused).hint(format!(
                "it is mounted on {}: trimtab trim {}",
                escape(point),
                quote(point)
            )),
            None => of_kind(Kind::Refused).hint("mount it first; nothing of it is mounted here"),
        },
        MountPathError::NotAMountPoint { lies_on, .. } => match lies_on {
            Some(point) => of_kind(Kind::Refused).hint(format!(
                "it lies on {}: trimtab trim {}",
                escape(point),
                quote(point)
            )),
            None => of_kind(Kind::Refused).hint("`findmnt` lists mount points"),
        },
    }
}

/// An error of the state directory, or of that of the locks.
pub fn state_error(error: &StateError) -> CommandError {
    let text = error.to_string();
    let shown = CommandError::new(Kind::Environment, escape(&text));
    let StateError::Io { path, source } = error else {
        // Its words have the way out.
        return shown;
    };
    if is_denied(source) && !privilege::may_trim() {
        shown.hint(NEEDS_ROOT)
    } else if path.starts_with(RUN_DIR) {
        shown.hint(format!(
            "locks are in {RUN_DIR} whatever --state says; it has to be a directory of root's, on a \
             filesystem that can be written to and has room"
        ))
    } else {
        shown.hint("--state DIR keeps checkpoints elsewhere")
    }
}

/// What `--status` or `--cancel` could not do.
pub fn status_error(error: &StatusError) -> CommandError {
    match error {
        StatusError::Path(error) => mount_path_error(error),
        StatusError::Target(error) => {
            CommandError::new(Kind::Environment, escape(&error.to_string()))
        }
        StatusError::State(error) => state_error(error),
    }
}

/// A checkpoint or a lock that `--status` cannot read.
pub fn unreadable(error: &StateError) -> CommandError {
    let text = error.to_string();
    let shown = CommandError::new(Kind::Environment, escape(&text));
    match error {
        StateError::Io { source, .. } if is_denied(source) => {
            shown.hint("run it as root: sudo trimtab trim --status")
        }
        _ => shown,
    }
}

/// Why a session could not begin; `resume` makes the commands to use.
pub fn session_error(error: &SessionError, resume: &ResumeCommand) -> CommandError {
    let text = error.to_string();
    let shown = CommandError::new(Kind::Environment, escape(&text));
    match error {
        SessionError::State {
            mount_point,
            source,
        } => match source {
            StateError::Busy { .. } => busy(mount_point, source, resume),
            source => state_error(source),
        },
        SessionError::Checkpoint(source) => {
            state_error(source).hint("--restart starts over without it")
        }
        SessionError::Probe(_) => {
            shown.hint("a trim that is not watched would be noticed; is the device node there?")
        }
        SessionError::Limits(_) => {
            shown.hint("nothing is left lowered; the pass works without --max-request, too")
        }
        SessionError::Leftovers(_) if privilege::may_trim() => {
            shown.hint("the journal says what to write into queue/discard_max_bytes of which drive")
        }
        SessionError::Leftovers(_) => shown.hint(NEEDS_ROOT),
        SessionError::Unidentified { .. }
        | SessionError::Geometry { .. }
        | SessionError::Locks(_) => shown,
    }
}

fn busy(mount_point: &str, error: &StateError, resume: &ResumeCommand) -> CommandError {
    let StateError::Busy {
        what,
        pid,
        same_filesystem,
    } = error
    else {
        return state_error(error);
    };
    let name = escape(mount_point);
    if *same_filesystem {
        return CommandError::new(
            Kind::Refused,
            format!("{name} is being trimmed by process {pid}"),
        )
        .hint(format!(
            "{} shows how far it is",
            command_text(&resume.status())
        ))
        .hint(format!(
            "{} ends it for good; `kill {pid}` ends it so that it can be resumed later",
            command_text(&resume.cancel(mount_point))
        ));
    }
    CommandError::new(
        Kind::Refused,
        format!("{name}: {what} is below a filesystem that process {pid} is trimming"),
    )
    .hint(
        "filesystems that share a drive are trimmed one after another: name them in one command, \
         or wait",
    )
}

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}
