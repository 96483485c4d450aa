//! Completion scripts and man pages.

use crate::cli;
use crate::error::{CommandError, Kind};
use crate::help::Sections;
use crate::output;
use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Prints the completion script of a shell.
///
/// # Errors
/// When standard output cannot be written.
pub fn completions(shell: Shell) -> Result<ExitCode, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli::command(), "trimtab", &mut script);
    output::print_bytes(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes `trimtab.1` and a page per command into a directory.
///
/// # Errors
/// When the directory or a page cannot be written.
pub fn pages(directory: &Path) -> Result<ExitCode, CommandError> {
    let failed = |error: std::io::Error| {
        CommandError::new(
            Kind::Environment,
            format!("man pages in {}: {error}", directory.display()),
        )
        .hint("name a directory that you may write to")
    };
    std::fs::create_dir_all(directory).map_err(failed)?;
    let mut command = cli::command();
    command.build();
    write_pages(&command, "trimtab", directory).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

/// The page of a command, and those of the commands below it.
fn write_pages(command: &Command, name: &str, directory: &Path) -> std::io::Result<()> {
    let mut page = Vec::new();
    render(command, name, &mut page)?;
    std::fs::write(directory.join(format!("{name}.1")), page)?;
    for below in command.get_subcommands() {
        let name = format!("{name}-{}", below.get_name());
        write_pages(below, &name, directory)?;
    }
    Ok(())
}

/// A page with the sections of man-pages(7).
fn render(command: &Command, name: &str, out: &mut dyn Write) -> std::io::Result<()> {
    // The first line of the long description is the name's line already.
    let man = Man::new(command.clone()).title(name.to_uppercase());
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    // The definition was laid out for a screen: its parts are where that put them.
    let below = command.get_before_help().map(ToString::to_string);
    let above = command.get_after_help().map(ToString::to_string);
    let sections = Sections::laid_out(&above.unwrap_or_default(), &below.unwrap_or_default());
    let mut roff = Roff::new();
    if !sections.notes.is_empty() {
        roff.control("SH", ["NOTES"]);
        roff.text([roman(sections.notes.replace('\n', " "))]);
    }
    roff.control("SH", ["EXIT STATUS"]);
    let exit_codes = if sections.exit_codes.is_empty() {
        "0 done; 2 could not run.".to_owned()
    } else {
        sections.exit_codes.replace('\n', " ")
    };
    roff.text([roman(exit_codes)]);
    definitions(&mut roff, "FILES", FILES);
    definitions(&mut roff, "ENVIRONMENT", ENVIRONMENT);
    if !sections.examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]);
        roff.control("nf", []);
        roff.text([roman(sections.examples)]);
        roff.control("fi", []);
    }
    roff.control("SH", ["SEE ALSO"]);
    let mut others: Vec<Inline> = Vec::new();
    for other in SEE_ALSO.iter().filter(|other| **other != name) {
        if !others.is_empty() {
            others.push(roman(", "));
        }
        others.push(bold(*other));
        let section = match *other {
            "fstrim" => "(8)",
            "systemd.timer" => "(5)",
            _ => "(1)",
        };
        others.push(roman(section));
    }
    roff.text(others);
    roff.to_writer(out)
}

fn definitions(roff: &mut Roff, title: &str, list: &[(&str, &str)]) {
    roff.control("SH", [title]);
    for (name, meaning) in list {
        roff.control("TP", []);
        roff.text([bold(*name)]);
        roff.text([roman(*meaning)]);
    }
}

/// Files of trimtab's own.
const FILES: &[(&str, &str)] = &[
    (
        "/etc/trimtab/trimtab.toml",
        "The configuration, a table for each command; --config names another file.",
    ),
    (
        "/var/lib/trimtab",
        "Checkpoints of passes and the audit log of trimtab trim; --state names another directory.",
    ),
    (
        "/run/trimtab",
        "Locks of filesystems and drives that are being trimmed.",
    ),
];

/// The environment.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("TRIMTAB_CONFIG", "The configuration file, as --config."),
    (
        "TRIMTAB_SELECT, TRIMTAB_IGNORE, TRIMTAB_FORMAT, TRIMTAB_FAIL_ON",
        "As the options of trimtab check.",
    ),
    ("TRIMTAB_STATE", "As --state of trimtab trim."),
    (
        "TRIMTAB_USER, TRIMTAB_PASSWORD, TRIMTAB_API_KEY, TRIMTAB_BEARER_TOKEN, TRIMTAB_CREDENTIALS_FILE",
        "Credentials for servers that are asked.",
    ),
    (
        "TRIMTAB_CA_FILE",
        "Certificates to trust beside the system's, in PEM.",
    ),
    (
        "TRIMTAB_LOG",
        "Levels of messages on standard error: debug, or by part as host=debug.",
    ),
    ("NO_COLOR", "Text is not colored where this is set."),
    (
        "SOURCE_DATE_EPOCH",
        "Seconds since 1970 that stand in for the time at which an answer was made.",
    ),
];

/// Pages to read on.
const SEE_ALSO: &[&str] = &[
    "trimtab",
    "trimtab-check",
    "trimtab-explain",
    "trimtab-trim",
    "trimtab-ssd",
    "trimtab-shards",
    "fstrim",
    "systemd.timer",
];
