//! `trimtab ssd example`: the examples of the articles.

use super::args::{Example, ExampleName};
use super::days::refused;
use super::delivery::Delivery;
use super::document::Answer;
use crate::answer::{Medium, envelope};
use crate::config::SsdConfig;
use crate::error::{CommandError, Kind};
use crate::progress::Meter;
use flash::block_mapped::five_pages;
use flash::examples;
use flash::scenario::{Progress, ScenarioError, Watch};
use page::Page;
use rayon::prelude::*;
use report::ssd::{FivePages, Schedules, TenRuns};
use std::ops::ControlFlow;

/// Source name in the JSON documents.
const SOURCE: &str = "example";

/// Runs `trimtab ssd example`.
///
/// # Errors
/// When the command cannot run.
pub fn run(arguments: &Example, config: &SsdConfig, quiet: bool) -> Result<(), CommandError> {
    let delivery = Delivery::of(arguments.format, &arguments.output, config.format)?;
    match arguments.name {
        ExampleName::FivePages => {
            let drive = |trims| {
                five_pages(trims)
                    .map_err(|error| CommandError::new(Kind::Environment, error.to_string()))
            };
            let answer = FivePages::of(&drive(false)?, &drive(true)?);
            give(
                &delivery,
                answer,
                FivePages::page,
                FivePages::csv,
                Answer::FivePages,
            )
        }
        ExampleName::TenRuns => {
            let cases = examples::ten_runs();
            let outcomes = simulate("ten runs", &cases, quiet, |(_, runs), watch| {
                runs.run(watch)
            })?;
            let answer = TenRuns::of(&cases, &outcomes);
            give(
                &delivery,
                answer,
                TenRuns::page,
                TenRuns::csv,
                Answer::TenRuns,
            )
        }
        ExampleName::Schedules => {
            let cases = examples::schedules();
            let outcomes = simulate("schedules", &cases, quiet, |(_, host), watch| {
                host.run(watch)
            })?;
            let answer = Schedules::of(&cases, &outcomes);
            give(
                &delivery,
                answer,
                Schedules::page,
                Schedules::csv,
                Answer::Schedules,
            )
        }
    }
}

/// Simulates all cases in parallel.
fn simulate<C: Sync, O: Send>(
    what: &'static str,
    cases: &[C],
    quiet: bool,
    one: impl Fn(&C, &mut Watch<'_>) -> Result<O, ScenarioError> + Sync,
) -> Result<Vec<O>, CommandError> {
    let meter = Meter::new(what, cases.len(), quiet);
    cases
        .par_iter()
        .enumerate()
        .map(|(index, case)| {
            let mut watch = |progress: Progress| {
                if !progress.loading {
                    meter.tell(index, progress.done, progress.total);
                }
                ControlFlow::Continue(())
            };
            let outcome = one(case, &mut watch).map_err(refused);
            meter.tell(index, 1, 1);
            outcome
        })
        .collect()
}

/// Renders an example: `page` takes whether to be brief, `kind` wraps the result for JSON.
fn give<T>(
    delivery: &Delivery<'_>,
    answer: T,
    page: fn(&T, bool) -> Page,
    csv: fn(&T) -> String,
    kind: fn(Box<T>) -> Answer,
) -> Result<(), CommandError> {
    delivery.give(
        answer,
        |answer, medium| page(answer, medium == Medium::Terminal),
        csv,
        |answer| Ok(envelope(SOURCE, kind(Box::new(answer)))?.json()),
    )
}
