//! Values of the command line and of the configuration. Every command takes them from here, so that a
//! size or a duration has one spelling; how they are read is the business of `units`.

use crate::error::{CommandError, Kind};
use units::ValueError;

// Commands are on their way here.
#[allow(unused_imports)]
pub use units::{count::parse as count, share::parse as share};

pub use units::duration::parse as duration;
pub use units::size::parse as size;
pub use units::size::parse_per_s as rate;
pub use units::zone::parse as zone;

/// A value of the configuration: `table.key`, written as on the command line.
///
/// # Errors
/// Where `parse` refuses it; the error names the key.
pub fn configured<T>(
    table: &str,
    key: &str,
    text: &str,
    parse: impl Fn(&str) -> Result<T, ValueError>,
) -> Result<T, CommandError> {
    parse(text).map_err(|error| {
        CommandError::new(
            Kind::Input,
            format!("configuration: [{table}] {key}: {error}"),
        )
        .hint(format!(
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
