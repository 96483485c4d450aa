//! Settings of a call of `trimtab explain`.

use super::args::{BetterArg, Explain};
use super::times::zone_named;
use crate::config::ExplainConfig;
use crate::error::CommandError;
use facts::series::Better;
use host::source::is_archive;
use jiff::tz::TimeZone;
use std::path::Path;

/// What the flags, then the configuration, then the defaults say.
pub(super) struct Options<'a> {
    /// Whose jobs may be the cause: as `--jobs`; by default those of a support archive that is explained.
    pub jobs: &'a str,
    /// Whether that is the support archive.
    pub is_archive: bool,
    /// The zone that calendars are shown in, and where it is from; `None` for that of the jobs' host.
    pub zone: Option<(TimeZone, &'static str)>,
    /// Which way is better, for series that do not say so themselves.
    pub better: Option<Better>,
    /// Seed of the bootstrap.
    pub seed: u64,
}

impl<'a> Options<'a> {
    /// # Errors
    /// When there is no time zone of the given name.
    pub fn resolve(
        arguments: &'a Explain,
        config: &'a ExplainConfig,
    ) -> Result<Self, CommandError> {
        let zone = match (&arguments.tz, &config.tz) {
            (Some(name), _) => Some((zone_named(name, "--tz")?, "--tz")),
            (None, Some(name)) => {
                let from = "configuration: [explain] tz";
                Some((zone_named(name, from)?, from))
            }
            (None, None) => None,
        };
        // The curves of an archive are those of its host.
        let of_archive = match &arguments.sources[..] {
            [one] if is_archive(Path::new(one)) => Some(one.as_str()),
            _ => None,
        };
        let is_archive = of_archive.is_some() && arguments.jobs.is_none();
        Ok(Self {
            is_archive,
            jobs: arguments
                .jobs
                .as_deref()
                .or(of_archive)
                .or(config.jobs.as_deref())
                .unwrap_or("/"),
            zone,
            better: arguments.better.or(config.better).map(BetterArg::into),
            seed: arguments
                .seed
                .unwrap_or_else(|| explain::Options::default().seed),
        })
    }
}
