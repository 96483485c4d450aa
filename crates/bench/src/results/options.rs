//! How results are read.

/// What a run of a command in hyperfine's results is. The tool repeats a command at once, under the same
/// conditions of machine and caches, so that its runs agree better than a later repetition would.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HyperfineRuns {
    /// A sample of one trial, the file. Comparing takes several files.
    #[default]
    Samples,
    /// A trial of its own: for commands that set up and tear down everything themselves.
    Trials,
}

/// Options of the readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadOptions {
    /// What hyperfine's runs are.
    pub hyperfine_runs: HyperfineRuns,
}
