//! Helper processes that trimtab starts from its own executable.

use std::process::ExitCode;

/// Hidden first argument: read files and ask filesystems for another process, see [`host::source::serve`].
pub const READ_HELPER: &str = "__read";

/// Hidden first argument: pass ranges to the kernel with FITRIM, see [`trim::child`].
pub const FITRIM_HELPER: &str = "__fitrim";

/// Runs as a helper if the first argument says so. Called before clap, which may print, and before any
/// signal handler is installed.
pub fn run() -> Option<ExitCode> {
    let name = std::env::args_os().nth(1)?;
    let done = match name.to_str()? {
        READ_HELPER => host::source::serve(std::io::stdin(), std::io::stdout()).is_ok(),
        FITRIM_HELPER => trim::child::serve().is_ok(),
        _ => return None,
    };
    Some(ExitCode::from(if done { 0 } else { 2 }))
}
