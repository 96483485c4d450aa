//! Runs `trimtab bench tracks`.

use super::args::Tracks;
use crate::error::CommandError;
use crate::output;
use bench::track::{BUILT_IN, BuiltIn, JSON_SCHEMA};
use std::process::ExitCode;

pub(super) fn run(arguments: &Tracks) -> Result<ExitCode, CommandError> {
    let text = match &arguments.name {
        _ if arguments.schema => JSON_SCHEMA.to_owned(),
        Some(name) => BuiltIn::named(name)
            .ok_or_else(|| unknown(name))?
            .text
            .to_owned(),
        None => list(),
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn list() -> String {
    let mut page = page::Page::default();
    let tracks = BUILT_IN
        .into_iter()
        .map(|track| (track.name, track.about()));
    page.push(page::Facts::of(tracks));
    page::terminal(&page, &crate::answer::OutputArgs::default().terminal())
}

/// The error for a name that no built-in track has.
pub(super) fn unknown(name: &str) -> CommandError {
    let names: Vec<&str> = BUILT_IN.iter().map(|track| track.name).collect();
    CommandError::usage(format!(
        "no track is named {name}: expected a file, or one of {}",
        units::list::list(&names)
    ))
    .hint("list them with `trimtab bench tracks`; name a file with its path, such as ./mine.toml")
}
