//! Flags that do not belong to the kind of run that was asked for.

use crate::error::{CommandError, Kind};

/// The first word of a list that was given and does not belong here.
///
/// # Errors
/// If there is one.
pub fn refuse(given: &[(&str, bool)], why: &str) -> Result<(), CommandError> {
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((word, _)) => Err(CommandError::new(
            Kind::Usage,
            format!("{word} does not go together with the rest: {why}"),
        )
        .hint(format!(
            "leave {word} out, or choose the other kind of run: --capacity SIZE for a drive below \
             a filesystem, --logical-pages N for a bare one"
        ))),
    }
}
