//! Time zones by name.

use crate::ValueError;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use std::sync::LazyLock;

/// The time zone database compiled into this program, so that results do not depend on the machine.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Parses an IANA name such as `Europe/Berlin`, or `UTC`, in upper or lower case.
///
/// # Errors
/// When there is no zone of that name; abbreviations such as `CEST` are not accepted.
pub fn parse(name: &str) -> Result<TimeZone, ValueError> {
    let asked = name.trim();
    if asked.eq_ignore_ascii_case("UTC") || asked == "Z" {
        return Ok(TimeZone::UTC);
    }
    ZONES.get(asked).map_err(|_| {
        ValueError::new("a time zone such as Europe/Berlin or UTC", name)
            .hint("abbreviations and offsets are no time zones: they do not say when clocks change")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_case_insensitive() {
        for name in ["Europe/Berlin", "europe/berlin", " Europe/Berlin "] {
            assert_eq!(parse(name).unwrap().iana_name(), Some("Europe/Berlin"));
        }
        assert_eq!(parse("utc").unwrap(), TimeZone::UTC);
        for name in ["", "CEST", "+02:00", "Berlin", "../../etc/passwd"] {
            let error = parse(name).unwrap_err().to_string();
            assert!(error.starts_with("expected a time zone"), "{error}");
        }
    }
}
