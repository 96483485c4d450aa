//! The call that goes on with a pass, in words that can be pasted into a shell.

use super::values;
use crate::cli::Trim;
use rules::shell::quote;
use std::path::Path;

/// What another call for the same passes has to be given of this one's words. What the configuration
/// says, or a variable of the environment that is no option of its own, holds for that call as well.
#[derive(Debug, Clone, Default)]
pub struct Again {
    /// Where passes are found: `--config`, `--state`.
    place: Vec<String>,
    /// How they are made.
    ways: Vec<String>,
    /// Options whose values are not repeated: commands and queries may hold secrets.
    unsaid: Vec<&'static str>,
}

impl Again {
    /// Of a call, and the configuration that it named.
    pub fn new(arguments: &Trim, config: Option<&Path>) -> Self {
        let mut again = Self::default();
        for (option, path) in [
            ("--config", config),
            ("--state", arguments.state.as_deref()),
        ] {
            push_path(&mut again.place, option, path);
        }
        if arguments.now {
            again.ways.push("--now".to_owned());
        }
        for window in &arguments.window {
            again.push("--window", window.to_string());
        }
        if let Some(zone) = &arguments.tz {
            again.push("--tz", quote(zone));
        }
        for (option, duration) in [
            ("--deadline", arguments.deadline),
            ("--max-latency", arguments.max_latency),
            ("--accept-stall", arguments.accept_stall),
        ] {
            if let Some(duration) = duration {
                again.push(option, values::written_duration(duration));
            }
        }
        if let Some(rate) = arguments.rate {
            again.push("--rate", format!("{}/s", values::written_size(rate.0)));
        }
        if let Some(bytes) = arguments.max_request {
            again.push("--max-request", values::written_size(bytes));
        }
        if arguments.force {
            again.ways.push("--force".to_owned());
        }
        for (option, path) in [
            ("--credentials-file", &arguments.credentials_file),
            ("--ca-file", &arguments.ca_file),
        ] {
            push_path(&mut again.ways, option, path.as_deref());
        }
        for probe in &arguments.probe {
            again.push_unless_secret("--probe", probe);
        }
        if let Some(url) = &arguments.require_green {
            again.push_unless_secret("--require-green", url);
        }
        again
    }

    fn push(&mut self, option: &str, value: String) {
        self.ways.push(option.to_owned());
        self.ways.push(value);
    }

    /// A URL without a query, or a program without arguments.
    fn push_unless_secret(&mut self, option: &'static str, text: &str) {
        if text.contains(|c: char| c.is_whitespace() || c == '?' || c == '@') {
            if !self.unsaid.contains(&option) {
                self.unsaid.push(option);
            }
        } else {
            self.push(option, quote(text));
        }
    }

    /// The command that goes on with the pass of a mount, with a word on what it lacks:
    /// `` `trimtab trim --now /data`, with its --probe ``.
    pub fn resume(&self, mount_point: &str) -> String {
        let lacks = match self.unsaid.as_slice() {
            [] => String::new(),
            options => format!(", with its {}", options.join(" and ")),
        };
        format!("`{}`{lacks}", self.command(&self.ways, mount_point))
    }

    /// As [`Self::resume`], by somebody who does not know how the pass was made.
    pub fn resume_somehow(&self, mount_point: &str) -> String {
        let command = self.command(&[], mount_point);
        format!("`{command}`, with the options that it was given")
    }

    /// The command that ends and forgets it.
    pub fn cancel(&self, mount_point: &str) -> String {
        let cancel = ["--cancel".to_owned()];
        format!("`{}`", self.command(&cancel, mount_point))
    }

    /// The command that tells how far passes are.
    pub fn status(&self) -> String {
        self.of_no_mount("--status")
    }

    /// The command that puts back what passes have left lowered.
    pub fn restore_limits(&self) -> String {
        self.of_no_mount("--restore-limits")
    }

    fn of_no_mount(&self, what: &str) -> String {
        let words = [&self.place[..], &[what.to_owned()]].concat();
        format!("`trimtab trim {}`", words.join(" "))
    }

    fn command(&self, options: &[String], mount_point: &str) -> String {
        let mount_point = [quote(mount_point)];
        let words = [&self.place[..], options, &mount_point].concat();
        format!("trimtab trim {}", words.join(" "))
    }
}

/// An absolute one: the next call may come from another directory.
fn push_path(words: &mut Vec<String>, option: &str, path: Option<&Path>) {
    let Some(path) = path else {
        return;
    };
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    words.push(option.to_owned());
    words.push(quote(&absolute.display().to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn arguments(words: &[String]) -> Trim {
        let cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
        let Command::Trim(arguments) = cli.command else {
            panic!("{words:?}");
        };
        *arguments
    }

    fn again(line: &str) -> Again {
        Again::new(&arguments(&shlex::split(line).unwrap()), None)
    }

    #[test]
    fn every_option_that_makes_the_pass_is_given_again() {
        let line = "trimtab trim --state '/var/x y' --window 01:00-05:00 --window 13:00-14:00 \
                    --tz Europe/Berlin --deadline 1h30m --max-latency 5ms --accept-stall 2s \
                    --rate 500MiB/s --max-request 16MiB --force --credentials-file /c --ca-file /a \
                    --probe http://localhost:9200/ --probe /bin/ask \
                    --require-green https://es1:9200 --restart --format json /data /other";
        let said = again(line).resume("/my data");
        let words = shlex::split(said.trim_matches('`')).unwrap();
        let (first, second) = (arguments(&shlex::split(line).unwrap()), arguments(&words));
        assert_eq!(second.mounts, [Path::new("/my data")]);
        assert!(!second.restart && second.format.is_none(), "{said}");
        // All else is the same.
        let told = |arguments: Trim| {
            let rest = Trim {
                mounts: Vec::new(),
                restart: false,
                format: None,
                ..arguments
            };
            format!("{rest:?}")
        };
        assert_eq!(told(second), told(first), "{said}");
        let now = again("trimtab trim --now --all --yes").resume("/data");
        assert_eq!(now, "`trimtab trim --now /data`");
    }

    #[test]
    fn secrets_are_not_repeated_and_what_is_missing_is_said() {
        let line = "trimtab trim /data --probe 'ask hunter2' --probe 'http://es1/?key=hunter2' \
                    --require-green 'http://u:hunter2@es1/'";
        let said = again(line).resume("/data");
        assert_eq!(
            said,
            "`trimtab trim /data`, with its --probe and --require-green"
        );
    }

    #[test]
    fn a_configuration_and_a_state_directory_are_named_by_their_whole_path() {
        let words = ["trimtab", "trim", "--state", "here", "--status"].map(str::to_owned);
        let again = Again::new(&arguments(&words), Some(Path::new("t.toml")));
        let here = std::env::current_dir().unwrap();
        let place = format!("--config {0}/t.toml --state {0}/here", here.display());
        assert_eq!(again.status(), format!("`trimtab trim {place} --status`"));
        assert_eq!(
            again.cancel("/data\n"),
            format!("`trimtab trim {place} --cancel $'/data\\x0a'`")
        );
    }
}
