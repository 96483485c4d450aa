//! `trimtab ssd run`: a drive below a filesystem, over days.

use super::args::Run;
use super::days::{Axes, Plan, refused};
use super::from_host::{self, Found};
use super::memory;
use crate::answer::{Delivery, envelope};
use crate::config::Config;
use crate::error::CommandError;
use crate::progress::Meter;
use flash::setup::Setup;
use report::ssd::{ScenarioResult, SsdAnswer};

/// Runs `trimtab ssd run`.
///
/// # Errors
/// When the command cannot run.
pub fn run(arguments: &Run, config: &Config, quiet: bool) -> Result<(), CommandError> {
    let delivery = Delivery::of(&arguments.answer, config.ssd.format)?;
    let found = from_host::read(&arguments.scene.days, config, true)?;
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
    let mut document = envelope(source, SsdAnswer::Scenario(&answer))?;
    document.warnings = result.warnings();
    document.skipped.clone_from(&result.skipped);
    delivery.give_envelope(&document, |_, is_brief| result.page(is_brief))
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
    let setups: Vec<&Setup> = std::iter::once(&setup)
        .chain(variants.iter().map(|variant| &variant.setup))
        .collect();
    let outcomes = Meter::run("simulating", &setups, quiet, |setup, tell| {
        setup.simulate(tell)
    });
    let mut outcomes = outcomes.into_iter();
    let simulated = outcomes
        .next()
        .ok_or_else(|| CommandError::environment("nothing was simulated"))?
        .map_err(refused)?;
    let days = &arguments.scene.days;
    Ok(ScenarioResult {
        variants: variants
            .into_iter()
            .zip(outcomes)
            // Variants that cannot be simulated are dropped.
            .filter_map(|(variant, outcome)| Some((variant, outcome.ok()?)))
            .collect(),
        evidence: found.map_or_else(Vec::new, |found| found.load.evidence(&plan.outranked)),
        skipped: found.map_or_else(Vec::new, |found| found.load.skipped(&plan.outranked)),
        setup,
        simulated,
        from_host: found.is_some(),
        measured: days
            .host_written
            .zip(days.media_written)
            .or(found.and_then(|found| found.load.media)),
    })
}
