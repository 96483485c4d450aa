//! `trimtab bench`: proves a gain.

pub mod args;
mod compare;
mod facts;
mod filesystems;
mod host;
mod load;
mod nightly;
mod run;
mod tracks;
mod trim;
mod workspace;

use crate::answer;
use crate::commands;
use crate::error::CommandError;
use args::{Bench, BenchCommand};
use report::views::bench::BenchAnswer;
use std::process::ExitCode;

/// Runs `trimtab bench`.
///
/// # Errors
/// When the command cannot run.
pub fn run(arguments: &Bench, quiet: bool) -> Result<ExitCode, CommandError> {
    let command = arguments.command.as_ref();
    match commands::named(
        "bench",
        command,
        arguments.schema,
        "run, compare, nightly, filesystems, trim, tracks, facts",
    )? {
        Some(BenchCommand::Tracks(arguments)) => tracks::run(arguments),
        Some(BenchCommand::Facts(arguments)) => facts::run(arguments),
        Some(BenchCommand::Run(arguments)) if !arguments.answer.output.schema => {
            run::run(arguments, quiet)
        }
        Some(BenchCommand::Compare(arguments)) if !arguments.answer.output.schema => {
            compare::run(arguments)
        }
        Some(BenchCommand::Nightly(arguments)) if !arguments.answer.output.schema => {
            nightly::run(arguments, quiet)
        }
        Some(BenchCommand::Filesystems(arguments)) if !arguments.answer.output.schema => {
            filesystems::run(arguments, quiet)
        }
        Some(BenchCommand::Trim(arguments)) if !arguments.answer.output.schema => {
            trim::run(arguments, quiet)
        }
        _ => answer::print_schema::<BenchAnswer>(),
    }
}
