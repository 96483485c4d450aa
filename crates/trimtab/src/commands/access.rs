//! Access to servers: credentials, trusted certificates and timeouts.

use crate::arguments::AccessArgs;
use crate::config::{CheckConfig, ExplainConfig, TrimConfig};
use crate::error::{CommandError, Kind};
use crate::values;
use bounded_http::{Client, Credentials, Endpoint};
use std::path::{Path, PathBuf};

/// Access settings from the configuration.
#[derive(Debug, Clone, Copy)]
pub struct Configured<'a> {
    /// Name of the configuration table, which is the command's name.
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

impl<'a> From<&'a TrimConfig> for Configured<'a> {
    fn from(config: &'a TrimConfig) -> Self {
        Self {
            table: "trim",
            timeout: None,
            credentials_file: config.credentials_file.as_deref(),
            ca_file: config.ca_file.as_deref(),
        }
    }
}

/// Resolves access options from flags, then the environment, then the configuration. `limits` sets the
/// server's limits; a timeout from a flag or the configuration overrides its deadline.
///
/// # Errors
/// When options conflict, others can read the credentials file, or the configured timeout is invalid.
pub fn options(
    flags: &AccessArgs,
    configured: Configured<'_>,
    limits: impl FnOnce(bounded_http::Options) -> bounded_http::Options,
) -> Result<bounded_http::Options, CommandError> {
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
    let timeout = configured
        .timeout
        .map(|text| values::configured(configured.table, "timeout", text, values::duration));
    // An invalid configuration value is an error even if a flag overrides it.
    let timeout = timeout.transpose()?;
    if let Some(deadline) = flags.timeout.or(timeout) {
        options.deadline = deadline;
    }
    Ok(options)
}

/// Credentials and trusted certificates: from the given files (or those named by `TRIMTAB_CREDENTIALS_FILE`
/// and `TRIMTAB_CA_FILE`), otherwise from `TRIMTAB_USER` and related variables.
///
/// # Errors
/// When credentials conflict, or others can read the file.
pub fn http_options(
    credentials_file: Option<&Path>,
    ca_file: Option<&Path>,
) -> Result<bounded_http::Options, CommandError> {
    let named = |flag: Option<&Path>, variable| {
        let set = || std::env::var_os(variable).filter(|name| !name.is_empty());
        flag.map(Path::to_owned)
            .or_else(|| set().map(PathBuf::from))
    };
    let credentials = match named(credentials_file, "TRIMTAB_CREDENTIALS_FILE") {
        Some(path) => Credentials::from_file(&path),
        None => Credentials::from_environment(|name| std::env::var_os(name)),
    };
    Ok(bounded_http::Options {
        credentials: credentials?,
        ca_file: named(ca_file, "TRIMTAB_CA_FILE"),
        ..bounded_http::Options::default()
    })
}

/// Creates a client for a server; warns if credentials would be sent unencrypted.
///
/// # Errors
/// When certificates cannot be read.
pub fn client(options: bounded_http::Options, endpoint: &Endpoint) -> Result<Client, CommandError> {
    let client = Client::new(options)?;
    if client.sends_secrets_in_clear(endpoint) {
        tracing::warn!(
            "{endpoint}: the credentials travel unencrypted (use https:// to hide them)"
        );
    }
    Ok(client)
}

/// Parses the URL given to an option.
///
/// # Errors
/// A usage error that never shows a password from the URL.
pub fn parse_endpoint(text: &str, option: &str) -> Result<Endpoint, CommandError> {
    Endpoint::parse(text).map_err(|error| {
        CommandError::because(Kind::Usage, error)
            .at(option)
            .hint("for example http://localhost:9200/")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_is_none_is_a_usage_error() {
        for url in ["es1:9200", "http://u:hunter2@es1", "http://es1/?q=1#x"] {
            let error = parse_endpoint(url, "--require-green").unwrap_err();
            assert_eq!(error.kind, Kind::Usage);
            assert!(!error.to_string().contains("hunter2"));
        }
    }
}
