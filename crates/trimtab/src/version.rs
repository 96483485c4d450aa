//! The version of this program.

/// What `--version` says: what `lab/release.sh` makes of git's tags, in other builds the workspace's version.
pub const VERSION: &str = match option_env!("TRIMTAB_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};
