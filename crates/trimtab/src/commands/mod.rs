//! One file per command: arguments to libraries, results to renderers.

pub mod access;
pub mod check;
pub mod cluster;
pub mod collect;
pub mod explain;
pub mod manual;
pub mod rule;
pub mod shards;
pub mod source;
pub mod ssd;
pub mod trim;

use crate::error::{CommandError, Kind};

/// The command below `trimtab NAME`; `None` where its schema is asked for instead. `commands` are all that
/// there are, in words.
///
/// # Errors
/// If neither is asked for, or both.
fn named<'a, C>(
    name: &str,
    command: Option<&'a C>,
    schema: bool,
    commands: &str,
) -> Result<Option<&'a C>, CommandError> {
    match (command, schema) {
        (Some(_), true) => Err(CommandError::new(
            Kind::Usage,
            format!("--schema is of all commands, and stands alone: trimtab {name} --schema"),
        )),
        (None, false) => Err(CommandError::new(
            Kind::Usage,
            format!("trimtab {name} needs a command"),
        )
        .hint(format!("{commands}: see trimtab {name} --help"))),
        (command, _) => Ok(command),
    }
}
