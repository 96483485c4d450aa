//! Output of a command: its format, its destination, and how much detail it shows.

use crate::error::CommandError;
use crate::output;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use page::{Page, Terminal};
use report::{Answer, Envelope};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Plain text
    #[default]
    Text,
    /// JSON (see --schema)
    Json,
    /// Markdown for tickets
    Markdown,
    /// Self-contained HTML page
    Html,
}

/// Options for the format and destination of the output.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct AnswerArgs {
    /// Output format [default: from the extension of -o FILE, else text]
    #[arg(long, value_enum)]
    pub format: Option<Format>,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Options for the destination of the output.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Write the output to FILE instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Color text output (honors NO_COLOR) [default: auto]
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        hide_short_help = true,
        value_name = "auto|always|never"
    )]
    pub color: Option<Color>,

    /// Wrap text output at N columns [default: terminal width, else 80]
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = clap::value_parser!(u16).range(40..=400))]
    pub width: Option<u16>,

    /// Print the JSON schema of --format json and exit
    #[arg(long)]
    pub schema: bool,
}

/// When to use color.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// Only on a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl OutputArgs {
    /// The output file, or `None` for standard output.
    pub fn file(&self) -> Option<&Path> {
        self.output
            .as_deref()
            .filter(|path| path.as_os_str() != "-")
    }

    /// Width, color and character set of the text output.
    pub fn terminal(&self) -> Terminal {
        let is_file = self.file().is_some();
        let columns = || {
            if is_file {
                80
            } else {
                output::terminal_columns()
            }
        };
        Terminal {
            width: usize::from(self.width.unwrap_or_else(columns)),
            color: match self.color {
                Some(Color::Always) => true,
                Some(Color::Never) => false,
                Some(Color::Auto) | None => !is_file && output::use_color(),
            },
            unicode: output::use_unicode(),
        }
    }

    /// Writes to `-o FILE`, or to standard output without it.
    ///
    /// # Errors
    /// When writing fails.
    pub fn write(&self, text: &str) -> Result<(), CommandError> {
        let Some(path) = self.file() else {
            return output::print(text);
        };
        output::write_file(path, text.as_bytes())
            .map_err(|error| unwritable(path, &error.to_string()))
    }
}

fn unwritable(path: &Path, problem: &str) -> CommandError {
    let message = format!("--output {}: {problem}", path.display());
    CommandError::environment(message)
        .hint("name a file in a directory that exists and that you may write to")
}

/// Chooses the format from the flag, the file name or the configuration, in this order. `of_name` maps a
/// lower-case file extension to a format.
///
/// # Errors
/// When the flag and the file name disagree.
pub fn resolve_format<F: ValueEnum + PartialEq>(
    flag: Option<F>,
    file: Option<&Path>,
    configured: Option<F>,
    of_name: fn(&str) -> Option<F>,
) -> Result<Option<F>, CommandError> {
    let extension = file.and_then(|path| path.extension()?.to_str());
    let named = extension.and_then(|extension| of_name(&extension.to_ascii_lowercase()));
    match (flag, named, file) {
        (Some(flag), Some(named), Some(file)) if flag != named => {
            let word = |form: &F| {
                form.to_possible_value()
                    .map_or_else(String::new, |value| value.get_name().to_owned())
            };
            Err(CommandError::usage(format!(
                "--format {} and --output {} disagree: a file of that name holds {}",
                word(&flag),
                file.display(),
                word(&named),
            ))
            .hint("leave out --format, or give the file another name"))
        }
        (flag, named, _) => Ok(flag.or(named).or(configured)),
    }
}

/// The format for a lower-case file extension.
pub fn format_of(extension: &str) -> Option<Format> {
    Some(match extension {
        "txt" => Format::Text,
        "json" => Format::Json,
        "md" | "markdown" => Format::Markdown,
        "html" | "htm" => Format::Html,
        _ => return None,
    })
}

/// Renders a result in the chosen format and writes it to its destination.
#[derive(Debug)]
pub struct Delivery<'a> {
    output: &'a OutputArgs,
    /// Output format.
    pub format: Format,
}

impl<'a> Delivery<'a> {
    /// Uses the flags, falling back to the configuration.
    ///
    /// # Errors
    /// When the format and the file name disagree, or the file's folder does not exist.
    pub fn of(arguments: &'a AnswerArgs, configured: Option<Format>) -> Result<Self, CommandError> {
        let file = arguments.output.file();
        let format = resolve_format(arguments.format, file, configured, format_of)?;
        Self::in_format(&arguments.output, format.unwrap_or_default())
    }

    /// As [`Self::of`], where the format is known.
    ///
    /// # Errors
    /// When the file's folder does not exist.
    pub fn in_format(output: &'a OutputArgs, format: Format) -> Result<Self, CommandError> {
        let file = output.file();
        // Before anything that takes an hour.
        let folder = file
            .and_then(Path::parent)
            .filter(|folder| !folder.as_os_str().is_empty());
        if let (Some(file), Some(folder)) = (file, folder)
            && !folder.is_dir()
        {
            return Err(unwritable(file, "its folder does not exist"));
        }
        Ok(Self { output, format })
    }

    /// Renders the result and writes it to its destination. `page` is passed whether to be brief, as it is on a
    /// terminal, where long output scrolls away.
    ///
    /// # Errors
    /// When writing fails.
    pub fn give(
        &self,
        page: impl FnOnce(bool) -> Page,
        json: impl FnOnce() -> String,
    ) -> Result<(), CommandError> {
        let output = self.output;
        output.write(&match self.format {
            Format::Text => page::terminal(&page(true), &output.terminal()),
            Format::Json => json(),
            Format::Markdown => page::markdown(&page(false)),
            Format::Html => page::html(&page(false)),
        })
    }

    /// As [`Self::give`], for a result in its envelope.
    ///
    /// # Errors
    /// When writing fails.
    pub fn give_envelope<T: Answer>(
        &self,
        envelope: &Envelope<T>,
        page: impl FnOnce(&Envelope<T>, bool) -> Page,
    ) -> Result<(), CommandError> {
        self.give(|is_brief| page(envelope, is_brief), || envelope.json())
    }
}

/// Prints the JSON schema of a result.
///
/// # Errors
/// When writing fails.
pub fn print_schema<T: Answer>() -> Result<ExitCode, CommandError> {
    output::print(T::JSON_SCHEMA)?;
    Ok(ExitCode::SUCCESS)
}

/// Wraps a result in the JSON envelope, stamped with the current time and version.
///
/// # Errors
/// When `SOURCE_DATE_EPOCH` is not a valid time.
pub fn envelope<T: Answer>(
    source: impl Into<String>,
    result: T,
) -> Result<Envelope<T>, CommandError> {
    Ok(Envelope::new(
        crate::version::VERSION,
        generated_at()?,
        source,
        result,
    ))
}

/// The current time, or the time in `SOURCE_DATE_EPOCH` for reproducible reports
/// (<https://reproducible-builds.org/specs/source-date-epoch/>).
///
/// # Errors
/// When `SOURCE_DATE_EPOCH` is not a valid number of seconds.
pub fn generated_at() -> Result<Timestamp, CommandError> {
    let Ok(text) = std::env::var("SOURCE_DATE_EPOCH") else {
        return Ok(Timestamp::now());
    };
    text.parse()
        .ok()
        .and_then(|second| Timestamp::from_second(second).ok())
        .ok_or_else(|| {
            CommandError::usage(format!(
                "SOURCE_DATE_EPOCH: expected seconds since 1970, found {text:?}"
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    fn asked(format: Option<Format>, file: &str) -> AnswerArgs {
        AnswerArgs {
            format,
            output: OutputArgs {
                output: Some(file.into()),
                ..OutputArgs::default()
            },
        }
    }

    fn resolved(format: Option<Format>, file: &str, configured: Option<Format>) -> Option<Format> {
        let arguments = asked(format, file);
        let file = arguments.output.file();
        let found = resolve_format(arguments.format, file, configured, format_of);
        found.ok().map(Option::unwrap_or_default)
    }

    #[test]
    fn the_form_follows_from_the_name() {
        use Format::{Html, Json, Markdown, Text};
        for (format, file, configured, expected) in [
            (None, "why.html", None, Html),
            (None, "WHY.HTM", Some(Json), Html),
            (None, "a.b/why.md", None, Markdown),
            (None, "why.json", None, Json),
            (None, "why.txt", Some(Html), Text),
            (None, "why", None, Text),
            (None, "why.log", Some(Markdown), Markdown),
            (Some(Html), "why.log", Some(Markdown), Html),
            (Some(Html), "why.html", None, Html),
            (Some(Json), "-", Some(Html), Json),
            (None, "-", Some(Html), Html),
        ] {
            let found = resolved(format, file, configured);
            assert_eq!(found, Some(expected), "{format:?} {file} {configured:?}");
        }
    }

    #[test]
    fn a_file_in_no_folder_is_refused_before_the_work() {
        let arguments = asked(None, "a.b/why.md");
        let error = Delivery::of(&arguments, None).unwrap_err();
        assert_eq!(
            error.message,
            "--output a.b/why.md: its folder does not exist"
        );
    }

    #[test]
    fn a_name_that_says_otherwise_is_refused() {
        let arguments = asked(Some(Format::Json), "why.html");
        let error = Delivery::of(&arguments, None).unwrap_err();
        assert_eq!(error.kind, Kind::Usage);
        assert_eq!(
            error.message,
            "--format json and --output why.html disagree: a file of that name holds html"
        );
    }
}
