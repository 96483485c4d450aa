//! Completion scripts and man pages.

use crate::cli;
use crate::error::CommandError;
use crate::help::Sections;
use crate::output;
use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Prints the completion script for a shell.
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
        CommandError::environment(format!("man pages in {}: {error}", directory.display()))
            .hint("name a directory that you may write to")
    };
    std::fs::create_dir_all(directory).map_err(failed)?;
    let mut command = cli::command();
    command.build();
    write_pages(&command, "trimtab", directory).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of a command and those of its subcommands.
fn write_pages(command: &Command, name: &str, directory: &Path) -> std::io::Result<()> {
    let mut page = Vec::new();
    render(command, name, &mut page)?;
    output::write_file(&directory.join(format!("{name}.1")), &page)?;
    for below in command.get_subcommands() {
        let name = format!("{name}-{}", below.get_name());
        write_pages(below, &name, directory)?;
    }
    Ok(())
}

/// Renders a page with the sections of man-pages(7).
fn render(command: &Command, name: &str, out: &mut dyn Write) -> std::io::Result<()> {
    let man = Man::new(command.clone()).title(name.to_uppercase());
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    // `help::laid_out` has put examples before the options and notes after them.
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

/// Entries of the FILES section.
const FILES: &[(&str, &str)] = &[
    (
        "/etc/trimtab/trimtab.toml",
        "Configuration file, with a table for each command. Override with --config.",
    ),
    (
        "/var/lib/trimtab",
        "Checkpoints and audit log of trimtab trim. Override with --state.",
    ),
    (
        "/run/trimtab",
        "Locks on the filesystems and drives being trimmed.",
    ),
];

/// Entries of the ENVIRONMENT section.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("TRIMTAB_CONFIG", "Configuration file, as for --config."),
    (
        "TRIMTAB_SELECT, TRIMTAB_IGNORE, TRIMTAB_FORMAT, TRIMTAB_FAIL_ON",
        "As for the trimtab check options of the same names.",
    ),
    (
        "TRIMTAB_STATE",
        "State directory, as for the --state option of trimtab trim.",
    ),
    (
        "TRIMTAB_USER, TRIMTAB_PASSWORD, TRIMTAB_API_KEY, TRIMTAB_BEARER_TOKEN, TRIMTAB_CREDENTIALS_FILE",
        "Credentials for the servers that trimtab queries, or a file that holds them.",
    ),
    (
        "TRIMTAB_CA_FILE",
        "File with additional CA certificates to trust (PEM).",
    ),
    (
        "TRIMTAB_LOG",
        "Log levels on stderr: debug, or per crate, such as host=debug.",
    ),
    ("NO_COLOR", "If set, text output is not colored."),
    (
        "SOURCE_DATE_EPOCH",
        "Seconds since 1970 to report as the time of generation instead of the current time.",
    ),
];

/// Pages listed in the SEE ALSO section.
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
