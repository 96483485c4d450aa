//! What a host is read for.

/// What to read beside what is found.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Data paths given by hand, absolute.
    pub data_paths: Vec<String>,
    /// Ask drives what they wrote to their flash. That runs other people's tools, one or two for
    /// each drive: only for those who use it.
    pub drive_writes: bool,
}
