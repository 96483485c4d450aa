//! `trimtab ssd run`: a drive below a filesystem, over days.

use super::args::Run;
use super::days::{Axes, Plan, refused};
use super::document::Answer;
use super::from_host::{self, Found};
use super::memory;
use crate::answer::{Delivery, Medium, envelope};
use crate::config::Config;
use crate::error::{CommandError, Kind};
use crate::progress::Meter;
use flash::setup::Setup;
use rayon::prelude::*;
use report::ssd::ScenarioResult;

/// Runs `trimtab ssd run`.
///
/// # Errors
/// When the command cannot run.
pub fn run(arguments: &Run, config: &Config, quiet: bool) -> Result<(), CommandError> {
    let delivery = Delivery::of(&arguments.answer, config.ssd.format)?;
    let days = &arguments.scene.days;
    let found = days
        .from_host
        .as_deref()
        .map(|mount| from_host::read(days, mount, config, true))
        .transpose()?;
    let axes = Axes {
        op: arguments.op,
        policy: arguments.policy,
        fill: arguments.fill,
        trim: arguments.trim,
    };
    let plan = Plan::resolve(&arguments.scene, axes, found.as_ref(), &config.ssd)?;
    let result = simulate(arguments, plan, found.as_ref(), quiet)?;
    let source = found
        .as_ref()
        .map_or("arguments", |found| found.source.as_str());
    let answer = result.answer();
    let mut document = envelope(source, Answer::Scenario(&answer))?;
    document.warnings = result.warnings();
    document.skipped.clone_from(&result.skipped);
    delivery.give(
        |medium| result.page(medium == Medium::Terminal),
        || document.json(),
    )
}

/// Simulates the setup and variants of it that change one thing.
fn simulate(
    arguments: &Run,
    plan: Plan,
    found: Option<&Found>,
    quiet: bool,
) -> Result<ScenarioResult, CommandError> {
    let setup = plan.setup;
    let variants = if arguments.alone {
        Vec::new()
    } else {
        setup.variants()
    };
    let threads = rayon::current_num_threads().min(variants.len() + 1);
    memory::require(setup.table_bytes() * threads as u64)?;
    let meter = Meter::new("simulating", variants.len() + 1, quiet);
    let setups: Vec<&Setup> = std::iter::once(&setup)
        .chain(variants.iter().map(|variant| &variant.setup))
        .collect();
    let outcomes: Vec<_> = setups
        .par_iter()
        .enumerate()
        .map(|(index, setup)| {
            let simulated = setup.simulate(&|done, total| meter.tell(index, done, total));
            meter.tell(index, 1, 1);
            simulated
        })
        .collect();
    drop(meter);
    let mut outcomes = outcomes.into_iter();
    let simulated = outcomes
        .next()
        .ok_or_else(|| CommandError::new(Kind::Environment, "nothing was simulated"))?
        .map_err(refused)?;
    let days = &arguments.scene.days;
    Ok(ScenarioResult {
        variants: variants
            .into_iter()
            .zip(outcomes)
            // Variants that cannot be simulated are dropped.
            .filter_map(|(variant, outcome)| Some((variant, outcome.ok()?)))
            .collect(),
        evidence: found.map_or_else(Vec::new, |found| found.evidence(&plan.outranked)),
        skipped: found.map_or_else(Vec::new, |found| found.skipped(&plan.outranked)),
        setup,
        simulated,
        from_host: found.is_some(),
        measured: days
            .host_written
            .zip(days.media_written)
            .or(found.and_then(|found| found.load.media)),
    })
}
