//! A program that is run repeatedly as a probe. Its exit code is the answer.

use super::Ask;
use linux::child::KillSwitch;
use linux::run::{IfStuck, KeepStderr, Limits};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// Maximum number of characters shown of a program's error output.
const LINE_CHARS_MAX: usize = 200;

/// A program, run directly in its own process group.
pub struct CommandProbe {
    words: Vec<String>,
    /// Environment variables that are removed.
    secrets: &'static [&'static str],
    time_limit: Duration,
    switch: KillSwitch,
}

/// Why a program cannot be used as a probe.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The command line cannot be split into words.
    #[error("{reason}")]
    Unreadable {
        /// Why.
        reason: &'static str,
    },
    /// The program failed when it was tried.
    #[error("{label}: {reason}")]
    Failed {
        /// The program.
        label: String,
        /// Exit status and last output.
        reason: String,
    },
}

impl CommandProbe {
    /// Splits the command line as a shell would, and runs the program once. The variables named by
    /// `secrets` are removed from its environment.
    ///
    /// # Errors
    /// If the command line is invalid, or the program fails.
    pub fn open(
        text: &str,
        time_limit: Duration,
        secrets: &'static [&'static str],
    ) -> Result<Self, CommandError> {
        let words = shlex::split(text).ok_or(CommandError::Unreadable {
            reason: "the command's quotes have no end, or it ends with \\",
        })?;
        if words.first().is_none_or(String::is_empty) {
            return Err(CommandError::Unreadable {
                reason: "the command is empty",
            });
        }
        let probe = Self {
            words,
            secrets,
            time_limit,
            switch: KillSwitch::default(),
        };
        match probe.run(KeepStderr::Last) {
            Ok(()) => Ok(probe),
            Err(reason) => Err(CommandError::Failed {
                label: probe.label(),
                reason,
            }),
        }
    }

    /// Returns the program's name only, because its arguments may contain secrets.
    pub fn label(&self) -> String {
        let program = &self.words[0];
        let name = Path::new(program).file_name().map_or_else(
            || program.clone(),
            |name| name.to_string_lossy().into_owned(),
        );
        let dots = if self.words.len() > 1 { " ..." } else { "" };
        format!("{}{dots}", one_line(name.as_bytes()))
    }

    /// Builds the command, which runs with the operator's environment.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        // These belong to this process; a program that needs credentials is given its own.
        for name in self.secrets {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, keep_stderr: KeepStderr) -> Result<(), String> {
        let limits = Limits {
            deadline: self.time_limit,
            stdout_bytes_max: None,
            keep_stderr,
            // Otherwise stuck processes would pile up, one per time limit.
            if_stuck: IfStuck::Wait,
        };
        let ended = linux::run::run_under(&mut self.command(), &limits, &self.switch)
            .map_err(|error| error.to_string())?;
        if ended.status.success() {
            return Ok(());
        }
        let status = how_it_ended(ended.status);
        let last_line = ended
            .stderr
            .split(|byte| *byte == b'\n')
            .rfind(|line| !line.trim_ascii().is_empty())
            .map(one_line);
        Err(match last_line {
            Some(line) => format!("{status}: {line}"),
            None => status,
        })
    }
}

impl Ask for CommandProbe {
    fn ask(&self) -> Result<(), String> {
        self.run(KeepStderr::Nothing)
    }

    fn abort(&self) {
        self.switch.pull();
    }
}

impl Drop for CommandProbe {
    fn drop(&mut self) {
        self.abort();
    }
}

fn how_it_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// Formats untrusted output for display: one truncated line, with control characters escaped.
fn one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line: String = text.trim().chars().take(LINE_CHARS_MAX).collect();
    units::escape(&line).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_removed_from_the_environment() {
        let secrets = &["TRIMTAB_PASSWORD", "TRIMTAB_API_KEY"];
        let probe = CommandProbe::open("true", Duration::from_secs(30), secrets).unwrap();
        let command = probe.command();
        for name in secrets {
            let removed = command
                .get_envs()
                .any(|(key, value)| key == *name && value.is_none());
            assert!(removed, "{name}");
        }
    }
}
