//! Options from flags, then the environment, then `[trim]` of the configuration.

use super::args::Trim;
use super::store_probe::is_url;
use crate::commands::STATE_DIR;
use crate::commands::access::parse_endpoint;
use crate::config::TrimConfig;
use crate::error::CommandError;
use crate::values;
use jiff::tz::TimeZone;
use std::path::{Path, PathBuf};
use trim::pace::Settings;
use trim::request::Request;
use trim::resume::ResumeCommand;
use trim::window::{Window, Windows};
use units::ValueError;

/// Resolved options.
#[derive(Debug)]
pub struct Options {
    /// How passes run.
    pub request: Request,
    /// `--probe`, as given.
    pub probes: Vec<String>,
    /// `--require-green`, as given.
    pub require_green: Option<String>,
}

impl Options {
    /// Resolves flags and configuration, in this order of precedence, without any I/O. (clap has already merged
    /// environment variables into the flags.) `zone` is the host's time zone, or why it is unknown.
    ///
    /// # Errors
    /// When a configured value, the zone or a URL is invalid.
    pub fn resolve(
        arguments: &Trim,
        zone: Result<TimeZone, String>,
        config: &TrimConfig,
    ) -> Result<Self, CommandError> {
        let duration =
            |flag, name, text: &Option<String>| or(flag, name, text.as_deref(), values::duration);
        let settings = Settings {
            max_latency: duration(arguments.max_latency, "max_latency", &config.max_latency)?,
            rate_bytes_per_s: or(arguments.rate, "rate", config.rate.as_deref(), values::rate)?,
            ..Settings::default()
        };
        let probes = if arguments.probe.is_empty() {
            config.probe.clone()
        } else {
            arguments.probe.clone()
        };
        let require_green = arguments
            .require_green
            .clone()
            .or_else(|| config.require_green.clone());
        // Report bad URLs now, not when a window opens at night.
        for url in probes.iter().filter(|probe| is_url(probe)) {
            parse_endpoint(url, "--probe")?;
        }
        if let Some(url) = &require_green {
            parse_endpoint(url, "--require-green")?;
        }
        let request = Request {
            windows: windows(arguments, zone, config)?,
            now: arguments.now,
            settings,
            accept_stall: duration(arguments.accept_stall, "accept_stall", &config.accept_stall)?,
            deadline: duration(arguments.deadline, "deadline", &config.deadline)?,
            probes: probes.iter().map(|probe| name_of(probe)).collect(),
            green_cluster: require_green.as_deref().map(name_of),
            state_dir: state_dir(arguments, config),
            restart: arguments.restart,
            force: arguments.force,
        };
        Ok(Self {
            request,
            probes,
            require_green,
        })
    }
}

/// The arguments that a command to resume the same passes needs.
pub fn resume_command(arguments: &Trim, config: Option<&Path>) -> ResumeCommand {
    let mut resume = ResumeCommand::default();
    resume.push_place("--config", config);
    resume.push_place("--state", arguments.state.as_deref());
    if arguments.now {
        resume.push_flag("--now");
    }
    for window in &arguments.window {
        resume.push("--window", window.to_string());
    }
    if let Some(zone) = &arguments.tz {
        resume.push("--tz", zone.clone());
    }
    for (option, duration) in [
        ("--deadline", arguments.deadline),
        ("--max-latency", arguments.max_latency),
        ("--accept-stall", arguments.accept_stall),
    ] {
        if let Some(duration) = duration {
            resume.push(option, units::duration::argument(duration));
        }
    }
    if let Some(rate) = arguments.rate {
        resume.push("--rate", format!("{}/s", units::size::argument(rate)));
    }
    if arguments.force {
        resume.push_flag("--force");
    }
    resume.push_path("--credentials-file", arguments.credentials_file.as_deref());
    resume.push_path("--ca-file", arguments.ca_file.as_deref());
    for probe in &arguments.probe {
        resume.push_unless_secret("--probe", probe);
    }
    if let Some(url) = &arguments.require_green {
        resume.push_unless_secret("--require-green", url);
    }
    resume
}

/// A probe's name without secrets: a URL without its query, a command without its arguments.
fn name_of(asked: &str) -> String {
    if is_url(asked) {
        return parse_endpoint(asked, "").map_or_else(|error| error.message, |url| url.to_string());
    }
    let words = shlex::split(asked).unwrap_or_default();
    let program = words.first().map_or("", String::as_str);
    let name = Path::new(program).file_name().unwrap_or_default();
    let dots = if words.len() > 1 { " ..." } else { "" };
    format!("{}{dots}", units::escape(&name.to_string_lossy()))
}

/// The state directory.
pub fn state_dir(arguments: &Trim, config: &TrimConfig) -> PathBuf {
    arguments
        .state
        .clone()
        .or_else(|| config.state.clone())
        .unwrap_or_else(|| PathBuf::from(STATE_DIR))
}

fn windows(
    arguments: &Trim,
    host_zone: Result<TimeZone, String>,
    config: &TrimConfig,
) -> Result<Windows, CommandError> {
    let list = if !arguments.window.is_empty() {
        arguments.window.clone()
    } else if arguments.now {
        Vec::new()
    } else {
        let read = |text: &String| values::configured("trim", "window", text, Window::parse);
        config.window.iter().map(read).collect::<Result<_, _>>()?
    };
    if list.is_empty() {
        return Ok(Windows::new(list, TimeZone::UTC));
    }
    let zone = match arguments.tz.as_ref().or(config.tz.as_ref()) {
        Some(name) => {
            values::zone(name).map_err(|error| CommandError::usage(format!("--tz: {error}")))?
        }
        None => host_zone.map_err(|error| {
            CommandError::environment(format!("the host's time zone is unknown: {error}"))
                .hint("name it with --tz ZONE, as Europe/Berlin or UTC")
        })?,
    };
    Ok(Windows::new(list, zone))
}

/// The flag, or else the configured value.
fn or<T>(
    flag: Option<T>,
    name: &str,
    text: Option<&str>,
    parse: fn(&str) -> Result<T, ValueError>,
) -> Result<Option<T>, CommandError> {
    match (flag, text) {
        (Some(value), _) => Ok(Some(value)),
        (None, Some(text)) => values::configured("trim", name, text, parse).map(Some),
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::AnswerArgs;
    use crate::cli::{Cli, Command};
    use crate::error::Kind;
    use clap::Parser;
    use report::trim::command_text;
    use std::time::Duration;

    #[test]
    fn what_is_asked_is_named_without_secrets() {
        let names = [
            "http://es1:9200/_cat?key=hunter2",
            "/usr/bin/ask --password hunter2 'two words'",
            "ask",
            "u:hunter2@es1",
            "'",
        ]
        .map(name_of);
        assert_eq!(names[..3], ["http://es1:9200/_cat?...", "ask ...", "ask"]);
        assert!(!names.concat().contains("hunter2"), "{names:?}");
        assert_eq!(name_of("https://es1"), "https://es1:443");
    }

    fn arguments(words: &[String]) -> Trim {
        let cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
        let Command::Trim(arguments) = cli.command else {
            panic!("{words:?}");
        };
        *arguments
    }

    fn resume(line: &str, mount_point: &str) -> String {
        let arguments = arguments(&shlex::split(line).unwrap());
        command_text(&resume_command(&arguments, None).resume(mount_point))
    }

    #[test]
    fn every_option_that_makes_the_pass_is_given_again() {
        let line = "trimtab trim --state '/var/x y' --window 01:00-05:00 --window 13:00-14:00 \
                    --tz Europe/Berlin --deadline 1h30m --max-latency 5ms --accept-stall 2s \
                    --rate 500MiB/s --force --credentials-file /c --ca-file /a \
                    --probe http://localhost:9200/ --probe /bin/ask \
                    --require-green https://es1:9200 --restart --format json -o /x.json /data /other";
        let said = resume(line, "/my data");
        let words = shlex::split(said.trim_matches('`')).unwrap();
        let (first, second) = (arguments(&shlex::split(line).unwrap()), arguments(&words));
        assert_eq!(second.mounts, [Path::new("/my data")]);
        assert!(!second.restart && second.answer.format.is_none(), "{said}");
        // All else is the same.
        let told = |arguments: Trim| {
            let rest = Trim {
                mounts: Vec::new(),
                restart: false,
                answer: AnswerArgs::default(),
                ..arguments
            };
            format!("{rest:?}")
        };
        assert_eq!(told(second), told(first), "{said}");
        let now = resume("trimtab trim --now --all --yes", "/data");
        assert_eq!(now, "`trimtab trim --now /data`");
    }

    fn resolved(line: &str, config: &TrimConfig) -> Result<Options, CommandError> {
        let arguments = arguments(&shlex::split(line).unwrap());
        Options::resolve(&arguments, Err("no /etc/localtime".to_owned()), config)
    }

    #[test]
    fn a_flag_outranks_the_configuration() {
        let config = TrimConfig {
            max_latency: Some("5ms".to_owned()),
            deadline: Some("2h".to_owned()),
            window: vec!["01:00-05:00".to_owned()],
            tz: Some("europe/berlin".to_owned()),
            probe: vec!["ask it".to_owned()],
            state: Some("/configured".into()),
            ..TrimConfig::default()
        };
        let configured = resolved("trimtab trim /data", &config).unwrap();
        let request = &configured.request;
        assert_eq!(request.settings.max_latency, Some(Duration::from_millis(5)));
        assert!(!request.windows.is_empty());
        assert_eq!(request.state_dir, Path::new("/configured"));
        assert_eq!(configured.probes, ["ask it"]);
        assert_eq!(request.probes, ["ask ..."]);
        let flags = "trimtab trim --max-latency 7ms --probe other --state /s --now /data";
        let asked = resolved(flags, &config).unwrap();
        let request = &asked.request;
        assert_eq!(request.settings.max_latency, Some(Duration::from_millis(7)));
        assert_eq!(request.deadline, Some(Duration::from_hours(2)));
        // --now outranks the configured windows.
        assert!(request.windows.is_empty() && request.now);
        assert_eq!(request.state_dir, Path::new("/s"));
        assert_eq!(asked.probes, ["other"]);
    }

    #[test]
    fn the_zone_of_the_host_is_asked_for_windows_without_one_alone() {
        let none = TrimConfig::default();
        assert!(resolved("trimtab trim --now /data", &none).is_ok());
        let window = "trimtab trim --window 01:00-05:00 /data";
        let error = resolved(window, &none).unwrap_err();
        assert_eq!(error.kind, Kind::Environment);
        assert!(error.message.contains("no /etc/localtime"), "{error}");
        let named = "trimtab trim --window 01:00-05:00 --tz UTC /data";
        assert!(resolved(named, &none).is_ok());
    }
}
