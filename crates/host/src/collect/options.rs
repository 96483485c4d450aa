//! Options for collecting facts.

/// What to collect in addition to the defaults.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Data paths supplied by the user, absolute.
    pub data_paths: Vec<String>,
    /// Whether to read the drives' flash write counters. That runs one or two third-party tools for
    /// each drive, so enable it only where the result is used.
    pub drive_writes: bool,
}
