//! The configuration file trimtab.toml: one table per command, overridden by flags and environment
//! variables.

use crate::answer;
use crate::commands::check::args::{Format, SeverityArg};
use crate::commands::explain::args::BetterArg;
use crate::error::CommandError;
use crate::input;
use serde::Deserialize;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Path used without `--config`.
const DEFAULT_PATH: &str = "/etc/trimtab/trimtab.toml";

/// A configuration has some lines, and some more of suppressions.
const BYTES_MAX: u64 = 1 << 20;

/// The whole file.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// `[check]`.
    pub check: CheckConfig,
    /// `[explain]`.
    pub explain: ExplainConfig,
    /// `[trim]`.
    pub trim: TrimConfig,
    /// `[ssd]`.
    pub ssd: SsdConfig,
}

/// `[check]`.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CheckConfig {
    /// As `--select`.
    pub select: Vec<String>,
    /// As `--ignore`.
    pub ignore: Vec<String>,
    /// As `--data-path`; added to the paths on the command line.
    pub data_paths: Vec<String>,
    /// As `--format`.
    pub format: Option<Format>,
    /// As `--fail-on`.
    pub fail_on: Option<SeverityArg>,
    /// URL of the cluster this host belongs to. `check` and `collect` query it in addition to this host,
    /// but not if `--root` or `--bundle` selects other hosts. `--cluster` overrides it.
    pub cluster: Option<String>,
    /// As `--timeout`, written as on the command line.
    pub timeout: Option<String>,
    /// As `--credentials-file`; credentials in the environment override it.
    pub credentials_file: Option<PathBuf>,
    /// As `--ca-file`.
    pub ca_file: Option<PathBuf>,
    /// `[[check.suppress]]`.
    pub suppress: Vec<Suppress>,
}

/// `[explain]`: values are written as on the command line.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExplainConfig {
    /// As `--jobs`.
    pub jobs: Option<String>,
    /// As `--tz`.
    pub tz: Option<String>,
    /// As `--better`.
    pub better: Option<BetterArg>,
    /// As `--format`.
    pub format: Option<answer::Format>,
    /// As `--timeout`.
    pub timeout: Option<String>,
    /// As `--credentials-file`; credentials in the environment override it.
    pub credentials_file: Option<PathBuf>,
    /// As `--ca-file`.
    pub ca_file: Option<PathBuf>,
}

/// `[trim]`: values are written as on the command line.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrimConfig {
    /// As `--window`; `--now` overrides it.
    pub window: Vec<String>,
    /// As `--tz`.
    pub tz: Option<String>,
    /// As `--max-latency`.
    pub max_latency: Option<String>,
    /// As `--deadline`.
    pub deadline: Option<String>,
    /// As `--rate`.
    pub rate: Option<String>,
    /// As `--accept-stall`.
    pub accept_stall: Option<String>,
    /// As `--probe`.
    pub probe: Vec<String>,
    /// As `--require-green`.
    pub require_green: Option<String>,
    /// As `--credentials-file`.
    pub credentials_file: Option<PathBuf>,
    /// As `--ca-file`.
    pub ca_file: Option<PathBuf>,
    /// As `--state`.
    pub state: Option<PathBuf>,
    /// As `--format`.
    pub format: Option<answer::Format>,
}

/// `[ssd]`: values are written as on the command line.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SsdConfig {
    /// As `--format` of `run`.
    pub format: Option<answer::Format>,
    /// As `--drive`.
    pub drive: Option<PathBuf>,
    /// As `--preset`.
    pub preset: Option<String>,
    /// As `--op`.
    pub over_provisioning: Option<String>,
    /// As `--policy`.
    pub policy: Option<String>,
}

/// A suppression of a known, accepted finding.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suppress {
    /// Rule id.
    pub rule: String,
    /// The finding's subject or mount point; without it the rule is suppressed everywhere.
    pub subject: Option<String>,
    /// Why it is accepted; shown in every report.
    pub reason: String,
}

impl Suppress {
    /// Whether it suppresses this finding.
    pub fn covers(&self, finding: &facts::Finding) -> bool {
        self.rule.eq_ignore_ascii_case(&finding.rule)
            && self.subject.as_ref().is_none_or(|subject| {
                *subject == finding.subject || Some(subject) == finding.mount_point.as_ref()
            })
    }
}

impl Config {
    /// Reads the `--config` file, or the default file if it exists.
    ///
    /// # Errors
    /// When a named file cannot be read, or the file cannot be parsed.
    pub fn load(named: Option<&Path>) -> Result<Self, CommandError> {
        let path = named.map_or_else(|| PathBuf::from(DEFAULT_PATH), Path::to_path_buf);
        let name = path.display().to_string();
        if named.is_none()
            && std::fs::metadata(&path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
        {
            return Ok(Self::default());
        }
        let text = input::text(&path, &format!("configuration {name}"), BYTES_MAX);
        let text = text.map_err(|mut error| {
            error.hints = vec!["name another file with --config, or leave it out".to_owned()];
            error
        })?;
        Self::parse(&text, &name)
    }

    fn parse(text: &str, name: &str) -> Result<Self, CommandError> {
        let config: Self = toml::from_str(text).map_err(|error| {
            CommandError::input(format!("configuration {name}{}", describe_error(&error, text)))
                .hint("a table per command: [check] takes select, ignore, data_paths, format, fail_on, cluster, timeout, credentials_file, ca_file, [[check.suppress]]; [explain] jobs, tz, better, format, timeout, credentials_file, ca_file; [trim] the long options of `trimtab trim` as window, max_latency ...; [ssd] format, drive, preset, over_provisioning, policy")
        })?;
        for suppress in &config.check.suppress {
            if suppress.reason.trim().is_empty() {
                return Err(CommandError::input(format!(
                    "configuration {name}: the suppression of {} has no reason",
                    suppress.rule
                ))
                .hint("say why the finding is accepted: reason = \"...\""));
            }
        }
        Ok(config)
    }
}

/// Describes a parse error and its position. The line itself is not repeated, unlike in the parser's
/// message: it may contain a password, also within a URL.
fn describe_error(error: &toml::de::Error, text: &str) -> String {
    let place = error.span().map_or(String::new(), |span| {
        let before = text.get(..span.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default();
        format!(":{line}:{}", column.chars().count() + 1)
    });
    // The parser quotes a value of the wrong type, which may be a URL with a password.
    let what = match error.message() {
        message if message.contains('@') => "expected a value of another type",
        message => message,
    };
    format!("{place}: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_fail_and_name_themselves() {
        let error = Config::parse("[check]\nselekt = []\n", "x.toml").unwrap_err();
        assert!(error.message.contains("selekt"), "{error}");
    }

    #[test]
    fn an_error_names_its_place_and_no_secret() {
        for (text, found) in [
            ("[check]\n  password = \"hunter2\"\n", "x.toml:2:3: "),
            (
                "[check]\nselect = \"https://u:hunter2@es1\"\n",
                "x.toml:2:10: ",
            ),
            (
                "[check]\n\ncluster = \"https://u:hunter2@es1\n",
                "x.toml:3:",
            ),
        ] {
            let message = Config::parse(text, "x.toml").unwrap_err().message;
            assert!(message.contains(found), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }

    #[test]
    fn a_suppression_needs_its_reason() {
        let text = "[[check.suppress]]\nrule = \"TRIM012\"\nreason = \" \"\n";
        assert!(
            Config::parse(text, "x.toml")
                .unwrap_err()
                .message
                .contains("TRIM012")
        );
        assert!(Config::parse("[[check.suppress]]\nrule = \"TRIM012\"\n", "x.toml").is_err());
    }

    #[test]
    fn explain_has_its_table() {
        let text =
            "[explain]\njobs = \"none\"\ntz = \"UTC\"\nbetter = \"lower\"\nformat = \"html\"\n";
        let config = Config::parse(text, "x.toml").unwrap().explain;
        assert_eq!(config.better, Some(BetterArg::Lower));
        assert_eq!(config.format, Some(answer::Format::Html));
        assert_eq!(config.jobs.as_deref(), Some("none"));
        assert!(Config::parse("[explain]\nseed = 3\n", "x.toml").is_err());
    }

    #[test]
    fn a_full_file_is_read() {
        let text = "[check]\nselect = [\"TRIM\"]\nfail_on = \"error\"\nformat = \"json\"\n\
            [[check.suppress]]\nrule = \"TRIM012\"\nsubject = \"/\"\nreason = \"known\"\n";
        let config = Config::parse(text, "x.toml").unwrap();
        assert_eq!(config.check.fail_on, Some(SeverityArg::Error));
        assert_eq!(config.check.suppress[0].subject.as_deref(), Some("/"));
    }
}
