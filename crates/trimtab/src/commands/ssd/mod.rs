//! `trimtab ssd`: simulates drives as the arguments describe and renders the results with `report`.

pub mod args;
mod days;
mod drive_file;
mod example;
mod from_host;
mod memory;
mod run;
mod spec;
mod sweep;
pub mod values;

use crate::answer;
use crate::config::Config;
use crate::error::CommandError;
use args::{Ssd, SsdCommand};
use std::process::ExitCode;

/// Runs `trimtab ssd`.
///
/// # Errors
/// When the command cannot run.
pub fn run(arguments: &Ssd, config: &Config, quiet: bool) -> Result<ExitCode, CommandError> {
    let named = super::named(
        "ssd",
        arguments.command.as_ref(),
        arguments.schema,
        "run, sweep, example",
    )?;
    let wants_schema = match named {
        None => true,
        Some(SsdCommand::Run(arguments)) => arguments.answer.output.schema,
        Some(SsdCommand::Example(arguments)) => arguments.answer.output.schema,
        Some(SsdCommand::Sweep(arguments)) => arguments.answer.output.schema,
    };
    let (Some(command), false) = (named, wants_schema) else {
        return answer::print_schema::<report::ssd::SsdAnswer<'_>>();
    };
    match command {
        SsdCommand::Run(arguments) => run::run(arguments, config, quiet)?,
        SsdCommand::Sweep(arguments) => {
            let found = from_host::read(&arguments.scene.days, config, false)?;
            return sweep::run(arguments, found.as_ref(), &config.ssd, quiet);
        }
        SsdCommand::Example(arguments) => example::run(arguments, &config.ssd, quiet)?,
    }
    Ok(ExitCode::SUCCESS)
}
