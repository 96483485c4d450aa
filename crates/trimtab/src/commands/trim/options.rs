//! What was asked for: flags, then environment, then `[trim]` of the configuration.

use super::store_probe::{is_url, parse_endpoint};
use super::values::{self, BytesPerSecond};
use super::window::{Window, Windows};
use crate::cli::{Trim, TrimFormat};
use crate::config::TrimConfig;
use crate::error::{CommandError, Kind};
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trim::pace::Settings;

/// Where checkpoints and the audit log are kept unless told otherwise.
const STATE_DIR: &str = "/var/lib/trimtab";
/// Where locks are, whatever `--state` says.
pub const RUN_DIR: &str = "/run/trimtab";
/// How long the quiet level is measured.
pub const QUIET: Duration = Duration::from_secs(8);
/// How long the drives may take after a step before the pass goes on, slower.
pub const SETTLE_TIMEOUT: Duration = Duration::from_mins(1);

/// Everything that a pass is made with.
#[derive(Debug)]
pub struct Options {
    pub windows: Windows,
    pub now: bool,
    pub settings: Settings,
    pub accept_stall: Option<Duration>,
    pub deadline: Option<Duration>,
    pub max_request: Option<u64>,
    pub probes: Vec<String>,
    pub require_green: Option<String>,
    pub credentials_file: Option<PathBuf>,
    pub ca_file: Option<PathBuf>,
    pub state_dir: PathBuf,
    pub restart: bool,
    pub force: bool,
}

impl Options {
    /// Puts flags and configuration together.
    ///
    /// # Errors
    /// Where the configuration's values, the zone or a URL cannot be understood.
    pub fn new(arguments: &Trim, config: &TrimConfig) -> Result<Self, CommandError> {
        let windows = windows(arguments, config)?;
        let defaults = Settings::default();
        let rate = or(arguments.rate, "rate", config.rate.as_deref(), values::rate)?;
        let duration =
            |flag, name, text: &Option<String>| or(flag, name, text.as_deref(), values::duration);
        let settings = Settings {
            max_latency: duration(arguments.max_latency, "max_latency", &config.max_latency)?,
            rate_bytes_per_s: rate.map(|BytesPerSecond(rate)| rate),
            ..defaults
        };
        let max_request = config.max_request.as_deref();
        let probes = if arguments.probe.is_empty() {
            config.probe.clone()
        } else {
            arguments.probe.clone()
        };
        let require_green = arguments
            .require_green
            .clone()
            .or_else(|| config.require_green.clone());
        // Now, not when a window opens in the night.
        for url in probes.iter().filter(|probe| is_url(probe)) {
            parse_endpoint(url, "--probe")?;
        }
        if let Some(url) = &require_green {
            parse_endpoint(url, "--require-green")?;
        }
        Ok(Self {
            windows,
            now: arguments.now,
            settings,
            accept_stall: duration(arguments.accept_stall, "accept_stall", &config.accept_stall)?,
            deadline: duration(arguments.deadline, "deadline", &config.deadline)?,
            max_request: or(
                arguments.max_request,
                "max_request",
                max_request,
                values::size,
            )?,
            probes,
            require_green,
            credentials_file: arguments
                .credentials_file
                .clone()
                .or_else(|| config.credentials_file.clone()),
            ca_file: arguments.ca_file.clone().or_else(|| config.ca_file.clone()),
            state_dir: state_dir(arguments, config),
            restart: arguments.restart,
            force: arguments.force,
        })
    }

    /// What is asked beside the drives how it feels, without the secrets that arguments and queries
    /// may hold.
    pub fn probe_names(&self) -> Vec<String> {
        self.probes.iter().map(|probe| name_of(probe)).collect()
    }

    /// The cluster that has to be green.
    pub fn green_name(&self) -> Option<String> {
        self.require_green.as_deref().map(name_of)
    }

    /// For the audit log: what was asked for, as it was in force.
    pub fn for_audit(&self) -> Value {
        let seconds = |duration: Option<Duration>| duration.map(|duration| duration.as_secs_f64());
        json!({
            "now": self.now,
            "window": (!self.windows.is_empty()).then(|| self.windows.words()),
            "max_latency_s": seconds(self.settings.max_latency),
            "deadline_s": seconds(self.deadline),
            "rate_bytes_per_s": self.settings.rate_bytes_per_s,
            "max_request_bytes": self.max_request,
            "accept_stall_s": seconds(self.accept_stall),
            // Commands and URLs may hold secrets.
            "probes": self.probes.len(),
            "require_green": self.require_green.is_some(),
            "restart": self.restart,
            "force": self.force,
        })
    }
}

/// A URL without its query, a command without its arguments.
fn name_of(asked: &str) -> String {
    if is_url(asked) {
        return parse_endpoint(asked, "").map_or_else(|error| error.message, |url| url.to_string());
    }
    let words = shlex::split(asked).unwrap_or_default();
    let program = words.first().map_or("", String::as_str);
    let name = Path::new(program).file_name().unwrap_or_default();
    let dots = if words.len() > 1 { " ..." } else { "" };
    format!("{}{dots}", report::escape(&name.to_string_lossy()))
}

/// The form of the output.
pub fn format(arguments: &Trim, config: &TrimConfig) -> TrimFormat {
    arguments.format.or(config.format).unwrap_or_default()
}

/// The state directory.
pub fn state_dir(arguments: &Trim, config: &TrimConfig) -> PathBuf {
    arguments
        .state
        .clone()
        .or_else(|| config.state.clone())
        .unwrap_or_else(|| PathBuf::from(STATE_DIR))
}

fn windows(arguments: &Trim, config: &TrimConfig) -> Result<Windows, CommandError> {
    let list = if !arguments.window.is_empty() {
        arguments.window.clone()
    } else if arguments.now {
        Vec::new()
    } else {
        let read = |text: &String| Window::parse(text).map_err(|error| invalid("window", &error));
        config.window.iter().map(read).collect::<Result<_, _>>()?
    };
    if list.is_empty() {
        return Ok(Windows::new(list, TimeZone::UTC));
    }
    let zone = match arguments.tz.as_ref().or(config.tz.as_ref()) {
        Some(name) => TimeZone::get(name).map_err(|_| {
            CommandError::new(
                Kind::Usage,
                format!("--tz {name}: there is no time zone of that name"),
            )
            .hint("zones are named as Europe/Berlin or UTC")
        })?,
        None => TimeZone::try_system().map_err(|error| {
            CommandError::new(
                Kind::Environment,
                format!("the host's time zone is unknown: {error}"),
            )
            .hint("name it with --tz ZONE, as Europe/Berlin or UTC")
        })?,
    };
    Ok(Windows::new(list, zone))
}

/// The flag, or what the configuration says.
fn or<T>(
    flag: Option<T>,
    name: &str,
    text: Option<&str>,
    parse: fn(&str) -> Result<T, String>,
) -> Result<Option<T>, CommandError> {
    match (flag, text) {
        (Some(value), _) => Ok(Some(value)),
        (None, Some(text)) => parse(text).map(Some).map_err(|error| invalid(name, &error)),
        (None, None) => Ok(None),
    }
}

fn invalid(name: &str, error: &str) -> CommandError {
    CommandError::new(
        Kind::Input,
        format!("configuration: [trim] {name}: {error}"),
    )
    .hint("values are written as on the command line, see `trimtab trim --help`")
}

/// Options of tests.
#[cfg(test)]
pub fn of_a_test(accept_stall: Option<Duration>) -> Options {
    Options {
        windows: Windows::new(Vec::new(), TimeZone::UTC),
        now: true,
        settings: Settings::default(),
        accept_stall,
        deadline: None,
        max_request: None,
        probes: Vec::new(),
        require_green: None,
        credentials_file: None,
        ca_file: None,
        state_dir: PathBuf::new(),
        restart: false,
        force: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_named_without_secrets() {
        let options = Options {
            probes: [
                "http://es1:9200/_cat?key=hunter2",
                "/usr/bin/ask --password hunter2 'two words'",
                "ask",
                "u:hunter2@es1",
                "'",
            ]
            .map(str::to_owned)
            .to_vec(),
            require_green: Some("https://es1".to_owned()),
            ..of_a_test(None)
        };
        let names = options.probe_names();
        assert_eq!(names[..3], ["http://es1:9200/_cat?...", "ask ...", "ask"]);
        assert!(!names.concat().contains("hunter2"), "{names:?}");
        assert_eq!(options.green_name().as_deref(), Some("https://es1:443"));
    }
}
