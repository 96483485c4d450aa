//! Layout of the help: description, examples, the command's options, global options, exit codes. Rarely
//! needed options appear only in `--help-all` and the man page.

use clap::builder::{Resettable, StyledStr};
use clap::{Arg, ArgAction, Command};
use std::ffi::{OsStr, OsString};

/// Heading of the options that every command has.
pub const GLOBAL: &str = "Global options";

/// Rarely needed options, by command.
const RARE: &[(&str, &[&str])] = &[
    (
        "check",
        &["hot_threads", "timeout", "credentials_file", "ca_file"],
    ),
    ("collect", &["timeout", "credentials_file", "ca_file"]),
    (
        "explain",
        &[
            "seed",
            "counter",
            "time_column",
            "time_format",
            "date",
            "data_tz",
            "label_column",
            "split_by",
            "agg",
            "filter",
            "log",
            "timeout",
            "credentials_file",
            "ca_file",
        ],
    ),
    (
        "plan",
        &[
            "node",
            "root",
            "stagger",
            "image",
            "timeout",
            "credentials_file",
            "ca_file",
        ],
    ),
    (
        "trim",
        &[
            "accept_stall",
            "require_green",
            "credentials_file",
            "ca_file",
            "state",
            "restart",
        ],
    ),
    ("ssd run", SSD_RARE),
    ("ssd sweep", SSD_RARE),
    ("shards reroute", &["credentials_file", "ca_file"]),
    ("shards what-if", &["credentials_file", "ca_file", "rounds"]),
];

/// Rarely needed options of simulations.
const SSD_RARE: &[&str] = &[
    "seed",
    "chunk",
    "warm_up_days",
    "interval",
    "reads",
    "history",
    "simulated_pages",
    "media_written",
    "root",
    "pages_per_block",
    "page_bytes",
];

/// Sections of a command's `after_help`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sections {
    /// Example calls, each with a remark.
    pub examples: String,
    /// Everything else, such as the syntax of values.
    pub notes: String,
    /// What the exit codes mean.
    pub exit_codes: String,
}

impl Sections {
    /// Splits a command's `after_help`: examples come first, exit codes last.
    pub fn of(command: &Command) -> Self {
        let text = command.get_after_help().map(ToString::to_string);
        let text = text.unwrap_or_default();
        let (text, exit_codes) = text.split_once("Exit codes:").unwrap_or((&text, ""));
        let (examples, notes) = match text.strip_prefix("Examples:\n") {
            Some(rest) => rest.split_once("\n\n").unwrap_or((rest, "")),
            None => ("", text),
        };
        Self {
            examples: examples.trim_end().to_owned(),
            notes: joined(notes),
            exit_codes: joined(exit_codes),
        }
    }

    /// Splits the help of a command after layout: the text above and below its options.
    pub fn laid_out(above: &str, below: &str) -> Self {
        let (notes, exit_codes) = below.split_once("Exit codes:").unwrap_or((below, ""));
        Self {
            examples: above.strip_prefix("Examples:\n").unwrap_or("").to_owned(),
            notes: notes.trim().to_owned(),
            exit_codes: exit_codes.trim().to_owned(),
        }
    }

    /// Notes and exit codes, printed below the options.
    fn below(&self) -> String {
        let mut parts = Vec::new();
        if !self.notes.is_empty() {
            parts.push(self.notes.clone());
        }
        if !self.exit_codes.is_empty() {
            parts.push(format!("Exit codes: {}", self.exit_codes));
        }
        parts.join("\n\n")
    }
}

/// Joins the lines of each paragraph, so that only the terminal's width breaks lines.
fn joined(text: &str) -> String {
    let paragraphs = text.trim().split("\n\n");
    let paragraphs: Vec<String> = paragraphs.map(|text| text.replace('\n', " ")).collect();
    paragraphs.join("\n\n")
}

/// Applies the help layout to a command and its subcommands.
pub fn laid_out(command: Command) -> Command {
    let help = Arg::new("help")
        .short('h')
        .long("help")
        .help("Print help")
        .action(ArgAction::HelpShort)
        .help_heading(GLOBAL)
        .global(true);
    // Handled before the arguments are parsed, see [`in_full`].
    let help_all = Arg::new("help_all")
        .long("help-all")
        .help("Print help with every option, in full")
        .action(ArgAction::SetTrue)
        .help_heading(GLOBAL)
        .global(true);
    let version = Arg::new("version")
        .short('V')
        .long("version")
        .help("Print the version")
        .action(ArgAction::Version)
        .help_heading(GLOBAL)
        .global(true);
    let command = command
        .disable_help_flag(true)
        .disable_version_flag(true)
        .disable_help_subcommand(true)
        .arg(help)
        .arg(help_all)
        .arg(version);
    each(command, "", &|command, path| {
        let rare = RARE.iter().find(|(name, _)| *name == path);
        let rare = rare.map_or(&[][..], |(_, rare)| rare);
        let command = rare.iter().fold(command, |command, id| {
            command.mut_arg(id, |arg| arg.hide_short_help(true))
        });
        arranged(command)
    })
}

fn arranged(command: Command) -> Command {
    let sections = Sections::of(&command);
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    // An empty text would leave its blank lines.
    let examples =
        (!sections.examples.is_empty()).then(|| format!("Examples:\n{}", sections.examples));
    let below = Some(sections.below()).filter(|below| !below.is_empty());
    command
        .help_template(format!(
            "{about}\n\n{{usage-heading}} {{usage}}{{after-help}}\n\n{{all-args}}\n\n{{before-help}}"
        ))
        .after_help(Resettable::from(examples.map(StyledStr::from)))
        .before_help(Resettable::from(below.map(StyledStr::from)))
}

/// Applies `change` to a command and its subcommands; `path` is the subcommand's path, such as `ssd run`.
fn each(command: Command, path: &str, change: &impl Fn(Command, &str) -> Command) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    let command = names.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}").trim().to_owned();
        command.mut_subcommand(name, |command| each(command, &path, change))
    });
    change(command, path)
}

/// Renders the full help if the call has `--help-all`. The command must be [laid out](laid_out).
pub fn in_full(command: &Command, call: &[OsString]) -> Option<String> {
    let mut options = call.iter().take_while(|word| *word != "--");
    if !options.any(|word| word == "--help-all") {
        return None;
    }
    let (mut found, name) = called(command, call);
    let ids: Vec<_> = found
        .get_arguments()
        .map(|arg| arg.get_id().clone())
        .collect();
    for id in ids {
        found = found.mut_arg(id, |arg| arg.hide_short_help(false));
    }
    Some(found.bin_name(name).render_long_help().to_string())
}

/// Returns the command that a call names, with its name: `trimtab ssd run`.
pub fn called(command: &Command, call: &[OsString]) -> (Command, String) {
    let mut found = command.clone();
    found.build();
    let mut name = found.get_name().to_owned();
    let words = call.iter().skip(1).take_while(|word| *word != "--");
    for word in words.filter_map(|word| word.to_str()) {
        if let Some(below) = found.find_subcommand(word).cloned() {
            name = format!("{name} {}", below.get_name());
            found = below;
        }
    }
    (found, name)
}

/// `trimtab help COMMAND` means `trimtab COMMAND --help`.
pub fn without_help_command(mut call: Vec<OsString>) -> Vec<OsString> {
    if call.get(1).map(OsString::as_os_str) == Some(OsStr::new("help")) {
        call.remove(1);
        call.push("--help".into());
    }
    call
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    fn all() -> Vec<(String, Command)> {
        fn gather(command: &Command, path: &str, all: &mut Vec<(String, Command)>) {
            all.push((path.to_owned(), command.clone()));
            for below in command.get_subcommands() {
                gather(below, format!("{path} {}", below.get_name()).trim(), all);
            }
        }
        let mut all_of_them = Vec::new();
        let mut command = laid_out(Cli::command()).term_width(80);
        command.build();
        gather(&command, "", &mut all_of_them);
        all_of_them
    }

    #[test]
    fn help_fits_the_screen() {
        for (path, mut command) in all() {
            let help = command.render_help().to_string();
            let lines = help.lines().count();
            assert!(lines <= 90, "{path}: {lines} lines\n{help}");
            for line in help.lines() {
                assert!(line.chars().count() <= 80, "{path}: {line}");
            }
        }
    }

    #[test]
    fn examples_stand_on_the_first_screen_and_global_options_last() {
        for (path, mut command) in all() {
            let has_examples = !Sections::of(&command).examples.is_empty();
            let help = command.render_help().to_string();
            let at = |words: &str| help.find(words);
            if has_examples {
                let examples = help.lines().position(|line| line == "Examples:");
                assert!(examples.is_some_and(|line| line < 24), "{path}: {help}");
            }
            let global = at(&format!("\n{GLOBAL}:\n")).unwrap_or_else(|| panic!("{path}: {help}"));
            let own = &help[..global];
            for option in [
                "--config <",
                "--verbose",
                "--quiet",
                "--help ",
                "--help-all",
            ] {
                assert!(help.contains(option), "{path}: {option}\n{help}");
                // The configuration that is meant there is the server's.
                let is_server = path.starts_with("livefix ") && option == "--config <";
                assert!(
                    is_server || !own.contains(option),
                    "{path}: {option}\n{help}"
                );
            }
        }
    }

    #[test]
    fn rare_options_exist_and_stand_in_the_full_help() {
        let all = all();
        for (path, rare) in RARE {
            let (_, command) = all.iter().find(|(name, _)| name == path).unwrap();
            let call: Vec<OsString> = format!("trimtab {path} --help-all")
                .split_whitespace()
                .map(OsString::from)
                .collect();
            let full = in_full(&laid_out(Cli::command()), &call).unwrap();
            let short = command.clone().render_help().to_string();
            for id in *rare {
                let arg = command.get_arguments().find(|arg| arg.get_id() == id);
                let long = format!("--{}", arg.unwrap().get_long().unwrap());
                // Examples are indented by less.
                let lists = |help: &str| {
                    let mut options = help.lines().filter_map(|line| line.strip_prefix("      "));
                    options.any(|line| line.split(' ').next() == Some(long.as_str()))
                };
                assert!(lists(&full), "{path}: {long}\n{full}");
                assert!(!lists(&short), "{path}: {long}");
            }
        }
    }

    #[test]
    fn parts_are_taken_apart() {
        let of = |text: &'static str| Sections::of(&Command::new("x").after_help(text));
        let sections = of("Examples:\n  a\n  b\n\nValues: 5ms. Exit codes: 0 done, 2 not.");
        assert_eq!(sections.examples, "  a\n  b");
        assert_eq!(sections.notes, "Values: 5ms.");
        assert_eq!(sections.exit_codes, "0 done, 2 not.");
        assert_eq!(of("Anything.").notes, "Anything.");
    }

    #[test]
    fn the_help_command_is_the_help_flag() {
        let call = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let changed = without_help_command(call(&["trimtab", "help", "ssd", "run"]));
        assert_eq!(changed, call(&["trimtab", "ssd", "run", "--help"]));
        let other = call(&["trimtab", "rule", "help"]);
        assert_eq!(without_help_command(other.clone()), other);
    }
}
