//! `trimtab shards`: a cluster's state to what its master decides, and what that costs.

pub mod args;
mod cost;
mod document;
mod load;
mod reroute;
mod values;
mod what_if;
mod words;

use crate::answer;
use crate::error::CommandError;
use crate::output;
use args::{Shards, ShardsCommand, ShardsFormat};
use document::Answer;
use std::process::ExitCode;

/// Runs `trimtab shards`.
///
/// # Errors
/// When it could not run.
pub fn run(arguments: &Shards) -> Result<ExitCode, CommandError> {
    let named = super::named(
        "shards",
        arguments.command.as_ref(),
        arguments.schema,
        "cost, reroute, what-if",
    )?;
    let Some(command) = named else {
        output::print(&report::schema_of::<Answer>())?;
        return Ok(ExitCode::SUCCESS);
    };
    match command {
        ShardsCommand::Cost(arguments) => cost::run(arguments),
        ShardsCommand::Reroute(arguments) => reroute::run(arguments),
        ShardsCommand::WhatIf(arguments) => what_if::run(arguments),
    }
}

/// Prints an answer in the form asked for.
fn print(
    source: &str,
    format: Option<ShardsFormat>,
    answer: Answer,
    warnings: Vec<String>,
) -> Result<(), CommandError> {
    match format.unwrap_or_default() {
        ShardsFormat::Json => {
            let mut envelope = answer::envelope(source, answer)?;
            envelope.warnings = warnings;
            output::print(&envelope.json())
        }
        ShardsFormat::Text => {
            let mut text = match &answer {
                Answer::Cost(answer) => cost::text(answer),
                Answer::Reroute(answer) => reroute::text(answer),
                Answer::WhatIf(answer) => what_if::text(answer),
            };
            for warning in &warnings {
                text += "\n";
                text += &words::wrapped("note: ", warning);
            }
            output::print(&text)
        }
    }
}
