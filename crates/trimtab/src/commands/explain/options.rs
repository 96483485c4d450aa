//! Settings of a call of `trimtab explain`.

use super::args::{BetterArg, Explain};
use super::times::zone_named;
use crate::config::ExplainConfig;
use crate::error::CommandError;
use facts::series::Better;
use jiff::tz::TimeZone;

/// What the flags, then the configuration, then the defaults say.
pub(super) struct Options<'a> {
    /// Whose jobs may be the cause: as `--jobs`.
    pub jobs: &'a str,
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
        Ok(Self {
            jobs: arguments
                .jobs
                .as_deref()
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
