//! Nothing is changed without a word that says so.

use super::options::Options;
use super::plan::Plan;
use crate::error::{CommandError, Kind};

/// What a pass still needs before it may begin; `None` where nothing is missing.
pub fn missing(plan: &Plan<'_>, options: &Options) -> Option<String> {
    if plan.stores.is_empty() || options.now || !options.windows.is_empty() {
        return None;
    }
    Some(format!(
        "{} runs on {}: add --window 01:00-05:00 (its quiet hours) or --now",
        plan.store_names(),
        plan.name()
    ))
}

/// Refuses to begin where consent is missing.
///
/// # Errors
/// With one hint for each mount that needs a word.
pub fn require(
    plans: &[&Plan<'_>],
    options: &Options,
    all: bool,
    yes: bool,
) -> Result<(), CommandError> {
    let wanting: Vec<String> = plans
        .iter()
        .filter_map(|plan| missing(plan, options))
        .collect();
    if !wanting.is_empty() {
        let mut error = CommandError::new(
            Kind::Refused,
            "a trim below a running store needs --window or --now",
        );
        error.hints = wanting;
        return Err(error);
    }
    if all && !yes {
        let mounts = match plans.len() {
            1 => "this filesystem".to_owned(),
            number => format!("these {number} filesystems, one after another"),
        };
        return Err(CommandError::new(
            Kind::Refused,
            format!("--all needs --yes to trim {mounts}"),
        )
        .hint("the plan is above; nothing was changed"));
    }
    Ok(())
}
