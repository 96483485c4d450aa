//! Commands: each turns arguments into library calls and results into output.

pub mod access;
pub mod bench;
pub mod check;
pub mod cluster;
pub mod collect;
pub mod explain;
pub mod livefix;
pub mod manual;
pub mod plan;
pub mod rule;
pub mod shards;
pub mod source;
pub mod ssd;
pub mod trim;

use crate::error::CommandError;

/// Default directory for the checkpoints and the audit log of `trimtab trim`.
const STATE_DIR: &str = "/var/lib/trimtab";

/// The subcommand of `trimtab NAME`, or `None` if its schema is wanted instead. `commands` lists all
/// subcommands for the error message.
///
/// # Errors
/// If neither or both are given.
fn named<'a, C>(
    name: &str,
    command: Option<&'a C>,
    schema: bool,
    commands: &str,
) -> Result<Option<&'a C>, CommandError> {
    match (command, schema) {
        (Some(_), true) => Err(CommandError::usage(format!(
            "--schema covers all commands of trimtab {name}, and takes no command: trimtab {name} --schema"
        ))),
        (None, false) => Err(
            CommandError::usage(format!("trimtab {name} needs a command"))
                .hint(format!("{commands}: see trimtab {name} --help")),
        ),
        (command, _) => Ok(command),
    }
}
