//! Helper processes that trimtab starts from its own executable.

use std::path::Path;
use std::process::ExitCode;

/// Hidden first argument: report filesystem sizes, see [`host::source::answer_mount_points`].
pub const STATFS_HELPER: &str = "__statfs";

/// Hidden first argument: read files for another process, see [`host::source::serve`].
pub const READ_HELPER: &str = "__read";

/// Hidden first argument: pass ranges to the kernel with FITRIM, see [`trim::child`].
pub const FITRIM_HELPER: &str = "__fitrim";

/// Hidden first argument: wait for a pass to end and restore its limits, see [`trim::limits`]; followed by
/// the state directory.
pub const GUARDIAN_HELPER: &str = "__guardian";

/// Runs as a helper if the first argument says so. Called before clap, which may print, and before any
/// signal handler is installed.
pub fn run() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let name = arguments.next()?;
    let done = match name.to_str()? {
        STATFS_HELPER => {
            host::source::answer_mount_points(std::io::stdin(), std::io::stdout()).is_ok()
        }
        READ_HELPER => host::source::serve(std::io::stdin(), std::io::stdout()).is_ok(),
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
