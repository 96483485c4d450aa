//! Builds the command lines that resume a pass, cancel it, or show its status.

use std::path::Path;

/// The options of this run that another run for the same passes needs to repeat. Settings from the
/// configuration file, and environment variables that do not correspond to an option, apply to that
/// run as well and are left out.
#[derive(Debug, Clone, Default)]
pub struct ResumeCommand {
    /// Options that locate passes: `--config`, `--state`.
    place: Vec<String>,
    /// Options that determine how passes are made.
    options: Vec<String>,
    /// Options whose values are not repeated, because commands and queries may contain secrets.
    omitted: Vec<&'static str>,
}

/// A command line of this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Unquoted words: `trimtab`, `trim`, `--now`, `/data`.
    pub words: Vec<String>,
    /// Further required options whose values are not repeated.
    pub omitted: Vec<&'static str>,
    /// Whether the original options of the pass are unknown and have to be added.
    pub lacks_options: bool,
}

impl ResumeCommand {
    /// Adds an option that locates passes. Its path is made absolute, because the next run may
    /// start in another directory.
    pub fn push_place(&mut self, option: &str, path: Option<&Path>) {
        push_path(&mut self.place, option, path);
    }

    /// Adds an option without a value.
    pub fn push_flag(&mut self, option: &str) {
        self.options.push(option.to_owned());
    }

    /// Adds an option with its value.
    pub fn push(&mut self, option: &str, value: String) {
        self.options.push(option.to_owned());
        self.options.push(value);
    }

    /// Adds an option whose value is a path, made absolute.
    pub fn push_path(&mut self, option: &str, path: Option<&Path>) {
        push_path(&mut self.options, option, path);
    }

    /// Adds an option with a URL without a query, or a program without arguments. Any other value
    /// is left out and only the option is named.
    pub fn push_unless_secret(&mut self, option: &'static str, text: &str) {
        if text.contains(|c: char| c.is_whitespace() || c == '?' || c == '@') {
            if !self.omitted.contains(&option) {
                self.omitted.push(option);
            }
        } else {
            self.push(option, text.to_owned());
        }
    }

    /// Returns the command that resumes the pass of a mount.
    pub fn resume(&self, mount_point: &str) -> CommandLine {
        CommandLine {
            omitted: self.omitted.clone(),
            ..self.line(&self.options, Some(mount_point))
        }
    }

    /// Like [`Self::resume`], but without knowing how the pass was made.
    pub fn resume_unknown(&self, mount_point: &str) -> CommandLine {
        CommandLine {
            lacks_options: true,
            ..self.line(&[], Some(mount_point))
        }
    }

    /// Returns the command that cancels the pass of a mount.
    pub fn cancel(&self, mount_point: &str) -> CommandLine {
        self.line(&["--cancel".to_owned()], Some(mount_point))
    }

    /// Returns the command that shows the status of passes.
    pub fn status(&self) -> CommandLine {
        self.line(&["--status".to_owned()], None)
    }

    fn line(&self, options: &[String], mount_point: Option<&str>) -> CommandLine {
        let program = ["trimtab".to_owned(), "trim".to_owned()];
        let mount_point: Vec<String> = mount_point.map(str::to_owned).into_iter().collect();
        CommandLine {
            words: [&program[..], &self.place, options, &mount_point].concat(),
            omitted: Vec::new(),
            lacks_options: false,
        }
    }
}

fn push_path(words: &mut Vec<String>, option: &str, path: Option<&Path>) {
    let Some(path) = path else {
        return;
    };
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    words.push(option.to_owned());
    words.push(absolute.display().to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_left_out_and_their_options_named() {
        let mut command = ResumeCommand::default();
        command.push_unless_secret("--probe", "ask hunter2");
        command.push_unless_secret("--probe", "http://es1/?key=hunter2");
        command.push_unless_secret("--require-green", "http://u:hunter2@es1/");
        command.push_unless_secret("--probe", "http://es1:9200/");
        let line = command.resume("/data");
        assert_eq!(
            line.words,
            ["trimtab", "trim", "--probe", "http://es1:9200/", "/data"]
        );
        assert_eq!(line.omitted, ["--probe", "--require-green"]);
    }

    #[test]
    fn location_options_come_first_with_absolute_paths() {
        let mut command = ResumeCommand::default();
        command.push_flag("--now");
        command.push_place("--state", Some(Path::new("here")));
        command.push_place("--config", None);
        let here = std::env::current_dir().unwrap();
        let state = format!("{}/here", here.display());
        assert_eq!(
            command.status().words,
            ["trimtab", "trim", "--state", &state, "--status"]
        );
        assert_eq!(
            command.resume("/data").words,
            ["trimtab", "trim", "--state", &state, "--now", "/data"]
        );
        assert!(command.resume_unknown("/data").lacks_options);
        assert_eq!(
            command.cancel("/data").words[4..],
            ["--cancel".to_owned(), "/data".to_owned()]
        );
    }
}
