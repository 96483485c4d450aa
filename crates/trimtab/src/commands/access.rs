//! How servers are asked: credentials, trust and patience.

use crate::arguments::AccessArgs;
use crate::config::{CheckConfig, ExplainConfig, TrimConfig};
use crate::error::{CommandError, Kind};
use crate::values;
use http::{Client, Credentials, Endpoint};
use std::path::{Path, PathBuf};

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
    let timeout = configured
        .timeout
        .map(|text| values::configured(configured.table, "timeout", text, values::duration));
    // What is wrong in the file is said also where a flag outranks it.
    let timeout = timeout.transpose()?;
    if let Some(deadline) = flags.timeout.or(timeout) {
        options.deadline = deadline;
    }
    Ok(options)
}

/// Credentials and trust: those of the files, where given (or named by `TRIMTAB_CREDENTIALS_FILE`
/// and `TRIMTAB_CA_FILE`), and otherwise `TRIMTAB_USER` and its like.
///
/// # Errors
/// Where they do not fit together, or others can read the file.
pub fn http_options(
    credentials_file: Option<&Path>,
    ca_file: Option<&Path>,
) -> Result<http::Options, CommandError> {
    let named = |flag: Option<&Path>, variable| {
        let set = || std::env::var_os(variable).filter(|name| !name.is_empty());
        flag.map(Path::to_owned)
            .or_else(|| set().map(PathBuf::from))
    };
    let credentials = match named(credentials_file, "TRIMTAB_CREDENTIALS_FILE") {
        Some(path) => Credentials::from_file(&path),
        None => Credentials::from_environment(|name| std::env::var_os(name)),
    };
    Ok(http::Options {
        credentials: credentials?,
        ca_file: named(ca_file, "TRIMTAB_CA_FILE"),
        ..http::Options::default()
    })
}

/// A client for a server; says so where credentials would travel unencrypted.
///
/// # Errors
/// When certificates cannot be read.
pub fn client(options: http::Options, endpoint: &Endpoint) -> Result<Client, CommandError> {
    let client = Client::new(options)?;
    if client.sends_secrets_in_clear(endpoint) {
        tracing::warn!(
            "{endpoint}: the credentials travel unencrypted (use https:// to hide them)"
        );
    }
    Ok(client)
}

/// A URL that is given to an option.
///
/// # Errors
/// A usage error that shows nothing of a password in it.
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
