//! What this program does for another one of itself, in a process of its own.

use std::path::Path;
use std::process::ExitCode;

/// The hidden first argument that makes this process answer for filesystem sizes, see
/// [`host::source::answer_mount_points`].
pub const STATFS_HELPER: &str = "__statfs";

/// The one that makes it hand ranges to the kernel, see [`trim::child`].
pub const FITRIM_HELPER: &str = "__fitrim";

/// The one that makes it wait for a pass to end and put its limits back, see [`trim::limits`]; the
/// state directory follows.
pub const GUARDIAN_HELPER: &str = "__guardian";

/// Runs as a helper of another trimtab: before clap, which may print, and before any signal handler.
pub fn run() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let name = arguments.next()?;
    let done = match name.to_str()? {
        STATFS_HELPER => {
            host::source::answer_mount_points(std::io::stdin(), std::io::stdout()).is_ok()
        }
        FITRIM_HELPER => trim::child::serve().is_ok(),
        GUARDIAN_HELPER => arguments.next().is_some_and(|state_dir| {
            trim::limits::guard(Path::new(&state_dir), Path::new("/sys")).is_ok()
        }),
        _ => return None,
    };
    Some(if done {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(2)
    })
}
