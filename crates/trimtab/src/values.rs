//! Values of the command line and the configuration. All commands use these parsers, so that sizes and
//! durations have one syntax; the parsing itself is in `units`.

use crate::error::CommandError;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use jiff::civil::Date;
use std::ffi::OsStr;
use units::ValueError;

pub use units::count::parse as count;
pub use units::duration::parse as duration;
pub use units::share::parse as share;
pub use units::size::parse as size;
pub use units::size::parse_per_s as rate;
pub use units::zone::parse as zone;

/// Parses a day, such as 2026-11-26.
///
/// # Errors
/// When it is none.
pub fn day(text: &str) -> Result<Date, ValueError> {
    text.parse()
        .map_err(|_| ValueError::new("a day such as 2026-11-26", text))
}

/// Parses any text, with rule IDs as shell completions. The command checks it, since the beginning of an ID
/// may select several rules.
#[derive(Debug, Clone, Copy)]
pub struct RuleId;

impl TypedValueParser for RuleId {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let rules = rules::all().iter();
        Some(Box::new(
            rules.map(|rule| PossibleValue::new(rule.id).help(rule.title)),
        ))
    }
}

/// Parses the configuration value `table.key`, written as on the command line.
///
/// # Errors
/// When `parse` rejects it; the error names the key.
pub fn configured<T>(
    table: &str,
    key: &str,
    text: &str,
    parse: impl Fn(&str) -> Result<T, ValueError>,
) -> Result<T, CommandError> {
    parse(text).map_err(|error| {
        CommandError::input(format!("configuration: [{table}] {key}: {error}")).hint(format!(
            "values are written as on the command line, see `trimtab {table} --help`"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_configuration_names_the_key() {
        let error = configured("trim", "rate", "500", rate).unwrap_err();
        assert!(
            error
                .message
                .starts_with("configuration: [trim] rate: expected a rate"),
            "{error}"
        );
        assert_eq!(
            configured("trim", "rate", "500MiB/s", rate).unwrap(),
            500 << 20
        );
    }
}
