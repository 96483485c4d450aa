//! Rejects flags that do not apply to the chosen kind of run.

use crate::error::CommandError;

/// Rejects the first flag of the list that was given; `why` is the reason.
///
/// # Errors
/// If one was given.
pub fn refuse(given: &[(&str, bool)], why: &str) -> Result<(), CommandError> {
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((word, _)) => Err(CommandError::usage(format!(
            "{word} does not go together with the rest: {why}"
        ))
        .hint(format!(
            "leave {word} out, or choose the other kind of run: --capacity SIZE for a drive below \
             a filesystem, --logical-pages N for a bare one"
        ))),
    }
}
