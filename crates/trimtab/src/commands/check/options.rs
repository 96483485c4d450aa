//! Settings of a call of `trimtab check`.

use super::args::{Check, SeverityArg};
use crate::config::{CheckConfig, Suppress};
use crate::error::CommandError;
use facts::Severity;
use rules::Selection;

/// What the flags, then the configuration, then the defaults say.
pub(super) struct Options<'a> {
    /// The rules that run.
    pub selection: Selection,
    /// Findings that are accepted.
    pub suppress: &'a [Suppress],
    /// The lowest severity that makes the exit code 1.
    pub fail_on: Severity,
}

impl<'a> Options<'a> {
    /// # Errors
    /// When a rule that is selected, ignored or suppressed never existed, or every selected rule has been removed.
    pub fn resolve(arguments: &Check, config: &'a CheckConfig) -> Result<Self, CommandError> {
        for suppress in &config.suppress {
            if rules::find(&suppress.rule).is_none() && !rules::is_retired(&suppress.rule) {
                return Err(CommandError::input(format!(
                    "configuration: a suppression names the rule {:?}, which does not exist",
                    suppress.rule
                ))
                .hint("`trimtab rule` lists them all"));
            }
        }
        Ok(Self {
            selection: selection(arguments, config)?,
            suppress: &config.suppress,
            fail_on: arguments
                .fail_on
                .or(config.fail_on)
                .unwrap_or(SeverityArg::Warning)
                .into(),
        })
    }
}

fn selection(arguments: &Check, config: &CheckConfig) -> Result<Selection, CommandError> {
    let upper = |ids: &[String]| {
        ids.iter()
            .map(|id| id.trim().to_uppercase())
            .collect::<Vec<_>>()
    };
    let chosen =
        |flag: &[String], file: &[String]| upper(if flag.is_empty() { file } else { flag });
    let selection = Selection {
        select: chosen(&arguments.select, &config.select),
        ignore: chosen(&arguments.ignore, &config.ignore),
    };
    let exists = |pattern: &String| {
        let mut ids = rules::all().iter().map(|rule| rule.id);
        !pattern.is_empty() && ids.any(|id| id.starts_with(pattern.as_str()))
    };
    let selects_some = selection.select.iter().any(exists);
    let unknown = |&pattern: &&String| {
        let is_selected = selection.select.contains(pattern);
        !exists(pattern) && (!rules::is_retired(pattern) || is_selected && !selects_some)
    };
    let mut patterns = selection.select.iter().chain(&selection.ignore);
    match patterns.find(unknown) {
        Some(pattern) => Err(
            CommandError::usage(format!("no rule's id begins with {pattern:?}"))
                .hint("`trimtab rule` lists them all"),
        ),
        None => Ok(selection),
    }
}
