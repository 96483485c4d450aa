//! `trimtab ssd`: simulates drives as the arguments describe and renders the results with `report`.

pub mod args;
mod days;
mod document;
mod drive_file;
mod example;
mod from_host;
mod memory;
mod run;
mod spec;
mod sweep;
pub mod values;

use crate::config::Config;
use crate::error::CommandError;
use crate::output;
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
        output::print(&report::schema_of::<document::Answer<'_>>())?;
        return Ok(ExitCode::SUCCESS);
    };
    match command {
        SsdCommand::Run(arguments) => run::run(arguments, config, quiet)?,
        SsdCommand::Sweep(arguments) => {
            let days = &arguments.scene.days;
            let found = days
                .from_host
                .as_deref()
                .map(|mount| from_host::read(days, mount, config, false))
                .transpose()?;
            return sweep::run(arguments, found.as_ref(), &config.ssd, quiet);
        }
        SsdCommand::Example(arguments) => example::run(arguments, &config.ssd, quiet)?,
    }
    Ok(ExitCode::SUCCESS)
}
