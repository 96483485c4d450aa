//! How servers are asked: credentials, trust and patience.

use crate::arguments::AccessArgs;
use crate::commands::trim::store_probe::http_options;
use crate::commands::trim::values;
use crate::config::{CheckConfig, ExplainConfig};
use crate::error::{CommandError, Kind};
use std::path::Path;

/// What the configuration says of it.
#[derive(Debug, Clone, Copy)]
pub struct Configured<'a> {
    /// The table of the configuration, which is the command's name.
    table: &'static str,
    timeout: Option<&'a str>,
    credentials_file: Option<&'a Path>,
    ca_file: Option<&'a Path>,
}

impl<'a> From<&'a CheckConfig> for Configured<'a> {
    fn from(config: &'a CheckConfig) -> Self {
        Self {
            table: "check",
            timeout: config.timeout.as_deref(),
            credentials_file: config.credentials_file.as_deref(),
            ca_file: config.ca_file.as_deref(),
        }
    }
}

impl<'a> From<&'a ExplainConfig> for Configured<'a> {
    fn from(config: &'a ExplainConfig) -> Self {
        Self {
            table: "explain",
            timeout: config.timeout.as_deref(),
            credentials_file: config.credentials_file.as_deref(),
            ca_file: config.ca_file.as_deref(),
        }
    }
}

/// Flags, then the environment, then the configuration; `limits` are those of the server, of which the
/// deadline is outranked.
///
/// # Errors
/// Where they do not fit together, others can read a file of credentials, or the configuration's timeout
/// is none.
pub fn options(
    flags: &AccessArgs,
    configured: Configured<'_>,
    limits: impl FnOnce(http::Options) -> http::Options,
) -> Result<http::Options, CommandError> {
    let credentials_file = flags.credentials_file.as_deref();
    let mut options = http_options(credentials_file, flags.ca_file.as_deref())?;
    if options.credentials.is_none()
        && let Some(path) = configured.credentials_file
    {
        options.credentials = http_options(Some(path), None)?.credentials;
    }
    options.ca_file = options
        .ca_file
        .or_else(|| configured.ca_file.map(Path::to_owned));
    let mut options = limits(options);
    let table = configured.table;
    let timeout = configured.timeout.map(|text| {
        values::duration(text).map_err(|error| {
            CommandError::new(
                Kind::Input,
                format!("configuration: [{table}] timeout: {error}"),
            )
            .hint(format!(
                "values are written as on the command line, see `trimtab {table} --help`"
            ))
        })
    });
    // What is wrong in the file is said also where a flag outranks it.
    let timeout = timeout.transpose()?;
    if let Some(deadline) = flags.timeout.or(timeout) {
        options.deadline = deadline;
    }
    Ok(options)
}
