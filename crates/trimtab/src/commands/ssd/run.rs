//! `trimtab ssd run`: a bare drive, or one below a filesystem.

use super::args::{Run, SsdFormat};
use super::bare::{self, Setting};
use super::days::{Axes, Plan};
use super::document;
use super::from_host::{self, Found};
use super::memory;
use super::story::Story;
use crate::answer::envelope;
use crate::config::Config;
use crate::error::{CommandError, Kind};
use crate::output;
use crate::progress::Meter;
use facts::Skipped;
use rayon::prelude::*;

/// Runs it.
///
/// # Errors
/// When it could not run.
pub fn run(arguments: &Run, config: &Config, quiet: bool) -> Result<(), CommandError> {
    let format = arguments.format.or(config.ssd.format).unwrap_or_default();
    if arguments.scene.bare.logical_pages.is_some() {
        let given = [
            ("--fill", arguments.fill.is_some()),
            ("--trim", arguments.trim.is_some()),
            ("--alone", arguments.alone),
        ];
        bare::refuse(
            &given,
            "--logical-pages is a bare drive, without a filesystem",
        )?;
        let setting = Setting::new(
            &arguments.scene,
            arguments.op,
            arguments.policy,
            arguments.trim_share.unwrap_or(0.0),
            &config.ssd,
        )?;
        return bare::run(&setting, format, quiet);
    }
    let given = [("--trim-share", arguments.trim_share.is_some())];
    bare::refuse(
        &given,
        "it is of a bare drive; below a filesystem there is --trim",
    )?;
    let found = found(arguments.scene.days.from_host.as_deref(), arguments, config)?;
    let axes = Axes {
        op: arguments.op,
        policy: arguments.policy,
        fill: arguments.fill,
        trim: arguments.trim,
    };
    let plan = Plan::new(&arguments.scene, axes, found.as_ref(), &config.ssd)?;
    let story = tell(arguments, plan, found.as_ref(), quiet)?;
    print(&story, format, found.as_ref())
}

fn found(
    mount: Option<&str>,
    arguments: &Run,
    config: &Config,
) -> Result<Option<Found>, CommandError> {
    mount
        .map(|mount| from_host::read(&arguments.scene.days, mount, config, true))
        .transpose()
}

/// Simulates what was asked beside what a change would bring.
fn tell(
    arguments: &Run,
    plan: Plan,
    found: Option<&Found>,
    quiet: bool,
) -> Result<Story, CommandError> {
    let variants = if arguments.alone {
        Vec::new()
    } else {
        plan.variants()
    };
    let threads = rayon::current_num_threads().min(variants.len() + 1);
    memory::require(plan.table_bytes() * threads as u64)?;
    let meter = Meter::new("simulating", variants.len() + 1, quiet);
    let plans: Vec<&Plan> = std::iter::once(&plan)
        .chain(variants.iter().map(|(_, plan)| plan))
        .collect();
    let outcomes: Vec<_> = plans
        .par_iter()
        .enumerate()
        .map(|(index, plan)| {
            let simulated = plan.simulate(&|done, total| meter.tell(index, done, total));
            meter.tell(index, 1, 1);
            simulated
        })
        .collect();
    drop(meter);
    let mut outcomes = outcomes.into_iter();
    let simulated = outcomes
        .next()
        .ok_or_else(|| CommandError::new(Kind::Environment, "nothing was simulated"))??;
    let variants = variants
        .into_iter()
        .zip(outcomes)
        // What cannot be simulated is no alternative.
        .filter_map(|((name, plan), outcome)| Some((name, plan, outcome.ok()?)))
        .collect();
    let days = &arguments.scene.days;
    Ok(Story {
        evidence: found.map_or_else(Vec::new, |found| found.evidence(&plan.outranked)),
        plan,
        simulated,
        variants,
        from_host: found.is_some(),
        measured: days
            .host_written
            .zip(days.media_written)
            .or(found.and_then(|found| found.load.media)),
    })
}

fn print(story: &Story, format: SsdFormat, found: Option<&Found>) -> Result<(), CommandError> {
    match format {
        SsdFormat::Text => {
            let columns = usize::from(output::terminal_columns());
            let mut text = story.text(columns, output::use_unicode());
            if let Some(found) = found {
                text += &skipped(&found.skipped(&story.plan.outranked), columns);
            }
            output::print(&text)
        }
        SsdFormat::Csv => output::print(&story.csv()),
        SsdFormat::Html => output::print(&story.html()),
        SsdFormat::Json => {
            let source = found.map_or("arguments", |found| found.source.as_str());
            let answer = document::Answer::Scenario(Box::new(story.answer()));
            let mut document = envelope(source, answer)?;
            document.warnings = story.warnings();
            document.skipped =
                found.map_or_else(Vec::new, |found| found.skipped(&story.plan.outranked));
            output::print(&document.json())
        }
    }
}

/// What the host did not tell.
fn skipped(all: &[Skipped], columns: usize) -> String {
    let mut page = crate::commands::trim::words::Page::new(columns);
    for skipped in all {
        let needs = skipped
            .needs
            .as_deref()
            .map_or(String::new(), |needs| format!("; needs {needs}"));
        page.row(
            "unknown",
            &format!("{}: {}{needs}", skipped.what, skipped.why),
        );
    }
    page.finish()
}
