//! `trimtab ssd example`: the examples of the articles.

use super::args::{Example, ExampleName};
use super::days::refused;
use crate::answer::{Delivery, envelope};
use crate::config::SsdConfig;
use crate::error::CommandError;
use crate::progress::Meter;
use flash::block_mapped::five_pages;
use flash::examples;
use flash::scenario::{Progress, ScenarioError, Watch};
use page::Page;
use report::ssd::{FivePages, Schedules, SsdAnswer, TenRuns};
use std::ops::ControlFlow;

/// Source name in the JSON documents.
const SOURCE: &str = "example";

/// Runs `trimtab ssd example`.
///
/// # Errors
/// When the command cannot run.
pub fn run(arguments: &Example, config: &SsdConfig, quiet: bool) -> Result<(), CommandError> {
    let delivery = Delivery::of(&arguments.answer, config.format)?;
    match arguments.name {
        ExampleName::FivePages => {
            let drive = |trims| {
                five_pages(trims).map_err(|error| CommandError::environment(error.to_string()))
            };
            let answer = FivePages::of(&drive(false)?, &drive(true)?);
            give(&delivery, SsdAnswer::FivePages(&answer), |brief| {
                answer.page(brief)
            })
        }
        ExampleName::TenRuns => {
            let cases = examples::ten_runs();
            let outcomes = simulate("ten runs", &cases, quiet, |(_, runs), watch| {
                runs.run(watch)
            })?;
            let answer = TenRuns::of(&cases, &outcomes);
            give(&delivery, SsdAnswer::TenRuns(&answer), |brief| {
                answer.page(brief)
            })
        }
        ExampleName::Schedules => {
            let cases = examples::schedules();
            let outcomes = simulate("schedules", &cases, quiet, |(_, host), watch| {
                host.run(watch)
            })?;
            let answer = Schedules::of(&cases, &outcomes);
            give(&delivery, SsdAnswer::Schedules(&answer), |brief| {
                answer.page(brief)
            })
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
    let outcomes = Meter::run(what, cases, quiet, |case, tell| {
        let mut watch = |progress: Progress| {
            if !progress.loading {
                tell(progress.done, progress.total);
            }
            ControlFlow::Continue(())
        };
        one(case, &mut watch).map_err(refused)
    });
    outcomes.into_iter().collect()
}

/// Renders an example: `page` takes whether to be brief.
fn give(
    delivery: &Delivery<'_>,
    answer: SsdAnswer<'_>,
    page: impl FnOnce(bool) -> Page,
) -> Result<(), CommandError> {
    let document = envelope(SOURCE, answer)?;
    delivery.give_envelope(&document, |_, is_brief| page(is_brief))
}
