use crate::cli::Cli;
use crate::error::{CommandError, Kind};
use crate::output;
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::Path;
use std::process::ExitCode;

/// Prints the completion script of a shell.
///
/// # Errors
/// When standard output cannot be written.
pub fn completions(shell: Shell) -> Result<ExitCode, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "trimtab", &mut script);
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
    clap_mangen::generate_to(Cli::command(), directory).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}
