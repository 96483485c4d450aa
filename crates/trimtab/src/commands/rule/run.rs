//! Runs `trimtab rule`.

use super::args::Rule;
use crate::answer::OutputArgs;
use crate::error::CommandError;
use crate::output;
use report::views::rule;
use std::process::ExitCode;

/// Lists the rules, or prints the documentation of one or of all.
///
/// # Errors
/// When there is no rule with that ID.
pub fn run(arguments: &Rule) -> Result<ExitCode, CommandError> {
    let text = if let Some(id) = &arguments.id {
        let found = rules::find(id).ok_or_else(|| {
            CommandError::usage(format!("there is no rule {id:?}"))
                .hint("`trimtab rule` lists them all")
        })?;
        page::terminal(&rule::explained(found), &OutputArgs::default().terminal())
    } else if arguments.all {
        rule::reference(rules::all())
    } else {
        let terminal = OutputArgs::default().terminal();
        page::terminal(&rule::list(rules::all()), &terminal)
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
