//! Errors shown to the user: a kind, a message and hints.

use bounded_http::{CredentialsError, HttpError};
use cluster::AskError;
use sources::SourceError;
use std::error::Error;
use std::fmt;
use units::escape::escape;

/// Kind of an error; every kind exits with code 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The arguments are invalid or conflict.
    Usage,
    /// A file, bundle or configuration could not be parsed.
    Input,
    /// A problem of the system: permissions, space, a missing file.
    Environment,
    /// trimtab refuses to do it.
    Refused,
}

/// An error with hints. Its texts may quote foreign names as they are: they are escaped when it is shown.
#[derive(Debug)]
pub struct CommandError {
    /// Kind of the error.
    pub kind: Kind,
    /// What was expected and what was found.
    pub message: String,
    /// Lines of another program's output, below the message.
    pub output: Vec<String>,
    /// Hints how to fix it, one sentence each.
    pub hints: Vec<String>,
    /// The underlying error.
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl CommandError {
    /// Creates an error without hints.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            output: Vec::new(),
            hints: Vec::new(),
            source: None,
        }
    }

    /// Creates an error of [`Kind::Usage`].
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// Creates an error of [`Kind::Input`].
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(Kind::Input, message)
    }

    /// Creates an error of [`Kind::Environment`].
    pub fn environment(message: impl Into<String>) -> Self {
        Self::new(Kind::Environment, message)
    }

    /// Creates an error of [`Kind::Refused`].
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(Kind::Refused, message)
    }

    /// Creates an error with its source's message.
    pub fn because(kind: Kind, source: impl Error + Send + Sync + 'static) -> Self {
        Self {
            message: source.to_string(),
            source: Some(Box::new(source)),
            ..Self::new(kind, "")
        }
    }

    /// The error for a file named by the user that cannot be read; `what` is the option and the file.
    pub fn unreadable(what: &str, source: std::io::Error) -> Self {
        Self::because(Kind::Environment, source)
            .at(what)
            .hint("name a file that exists and that you may read")
    }

    /// Prefixes the message with its context: an option, a file.
    #[must_use]
    pub fn at(mut self, what: &str) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// Converts a clap error about the arguments of a command: `trimtab ssd run`.
    pub fn of_call(error: &clap::Error, command: &str) -> Self {
        let text = error.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        // The message is followed by tips, the usage and a pointer to the help.
        let (message, below) = text.split_once("\n\n").unwrap_or((text, ""));
        let lines = message.lines().map(str::trim);
        let message = lines.collect::<Vec<_>>().join(" ").replace(": --", " --");
        let tips = below
            .lines()
            .filter_map(|line| line.trim().strip_prefix("tip: "));
        let help = format!("see `{command} --help`");
        Self {
            hints: tips.map(str::to_owned).chain([help]).collect(),
            ..Self::usage(message.trim_end())
        }
    }

    /// Adds lines of another program's output.
    #[must_use]
    pub fn output(mut self, lines: &[String]) -> Self {
        self.output.extend_from_slice(lines);
        self
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.hints([hint])
    }

    /// Adds hints.
    #[must_use]
    pub fn hints(mut self, hints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hints.extend(hints.into_iter().map(Into::into));
        self
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Usage => "usage",
            Kind::Input => "input",
            Kind::Environment => "environment",
            Kind::Refused => "refused",
        };
        // The one place that escapes: messages and hints quote names from files, hosts and servers.
        write!(f, "error ({kind}): {}", escape(&self.message))?;
        for line in &self.output {
            write!(f, "\n  | {}", escape(line))?;
        }
        for hint in &self.hints {
            write!(f, "\n  hint: {}", escape(hint))?;
        }
        Ok(())
    }
}

impl Error for CommandError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<HttpError> for CommandError {
    fn from(error: HttpError) -> Self {
        let hint = error.hint();
        Self::because(Kind::Environment, error).hint(hint)
    }
}

impl From<CredentialsError> for CommandError {
    fn from(error: CredentialsError) -> Self {
        let hint = error.hint();
        Self::because(Kind::Environment, error).hint(hint)
    }
}

impl From<AskError> for CommandError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Http(error) => error.into(),
            AskError::OtherServer { .. } => {
                let hint = error.hint();
                Self::because(Kind::Input, error).hint(hint)
            }
        }
    }
}

impl From<SourceError> for CommandError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Http(error) => error.into(),
            SourceError::Input(_) => Self::because(Kind::Input, error).hint(
                "--column, --label-column, --time-column, --time-format and --data-tz say how to read \
                 a file",
            ),
            SourceError::File { .. } => Self::because(Kind::Environment, error)
                .hint("name a file or directory that exists and that you may read"),
            _ => Self::because(Kind::Input, error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(call: &str) -> String {
        let call: Vec<_> = call.split_whitespace().map(Into::into).collect();
        let command = crate::cli::command();
        let (_, name) = crate::help::called(&command, &call);
        let error = command.try_get_matches_from(call).unwrap_err();
        CommandError::of_call(&error, &name).to_string()
    }

    #[test]
    fn foreign_names_are_escaped() {
        let error = CommandError::new(Kind::Input, "a\nb\u{1b}]0;t\u{7}")
            .at("x\u{202e}")
            .hint("c\n  hint: d");
        assert_eq!(
            error.to_string(),
            "error (input): x\\u{202e}: a\\nb\\u{1b}]0;t\\u{7}\n  hint: c\\n  hint: d"
        );
    }

    #[test]
    fn what_is_wrong_with_a_call_is_told_as_any_other_error() {
        assert_eq!(
            of("trimtab check --bundel x"),
            "error (usage): unexpected argument '--bundel' found\n  \
             hint: a similar argument exists: '--bundle'\n  hint: see `trimtab check --help`"
        );
        let text = of("trimtab check --format xml");
        assert!(text.starts_with("error (usage): invalid value 'xml' for '--format <FORMAT>'"));
        assert!(text.contains("markdown"), "{text}");
        let text = of("trimtab ssd run --capacity 1XB");
        assert!(
            text.ends_with("hint: see `trimtab ssd run --help`"),
            "{text}"
        );
        let text = of("trimtab trim");
        assert!(
            text.contains("<MOUNT>") && text.contains("`trimtab trim --help`"),
            "{text}"
        );
        assert!(!text.contains("error: "), "{text}");
    }
}
