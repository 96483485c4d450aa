//! `--max-request`: limits of the drives that are lowered for a pass, and put back.

use super::sitting::{Run, own_binary};
use super::tell::Teller;
use crate::GUARDIAN_HELPER;
use crate::error::{CommandError, Kind};
use report::{escape, human_bytes};
use std::ffi::OsString;
use std::path::Path;
use trim::limits::{self, Guard, Lowered, Restored};

/// Lowers the limits of drives, where that was asked for.
///
/// # Errors
/// Where it cannot be done; nothing is left lowered then.
pub fn lower(
    run: &Run<'_>,
    leaves: &[String],
    teller: &mut Teller,
) -> Result<Option<Guard>, CommandError> {
    let Some(max_request) = run.options.max_request else {
        return Ok(None);
    };
    let state_dir = run.state.state_dir.as_path();
    let guardian = vec![
        own_binary(),
        OsString::from(GUARDIAN_HELPER),
        state_dir.as_os_str().to_owned(),
    ];
    let guard = Guard::lower(state_dir, Path::new("/sys"), leaves, max_request, guardian).map_err(
        |error| {
            let text = format!("--max-request: {error}");
            CommandError::new(Kind::Environment, escape(&text))
                .hint("nothing is left lowered; the pass works without --max-request, too")
        },
    )?;
    for Lowered {
        device,
        old_bytes,
        new_bytes,
        ..
    } in guard.lowered()
    {
        teller.remark(&format!(
            "{device}: discard_max_bytes {} -> {}",
            human_bytes(*old_bytes),
            human_bytes(*new_bytes)
        ));
    }
    Ok(Some(guard))
}

/// Puts the limits back, and says how it went.
pub fn put_back(
    run: &Run<'_>,
    guard: Guard,
    point: &str,
    teller: &mut Teller,
    warnings: &mut Vec<String>,
) {
    let restored = match guard.restore() {
        Ok(restored) => restored,
        Err(error) => {
            let text = format!(
                "the limits could not be put back: {error}; try {}",
                run.again.restore_limits()
            );
            teller.say(point, &text);
            warnings.push(text);
            return;
        }
    };
    for (lowered, outcome) in &restored {
        let text = restored_words(lowered, outcome);
        if !matches!(outcome, Restored::Restored | Restored::Nearest { .. }) {
            warnings.push(text.clone());
        }
        teller.say(point, &text);
    }
}

/// What became of a limit.
fn restored_words(lowered: &Lowered, restored: &Restored) -> String {
    let device = escape(&lowered.device);
    match restored {
        Restored::Restored => format!(
            "{device}: discard_max_bytes is back at {}",
            human_bytes(lowered.old_bytes)
        ),
        Restored::ChangedByOthers { found_bytes } => format!(
            "{device}: discard_max_bytes is {} now, which is not what trimtab wrote: left alone",
            human_bytes(*found_bytes)
        ),
        Restored::Nearest { found_bytes } => format!(
            "{device}: discard_max_bytes is back at {}, the nearest that the kernel allows to {}",
            human_bytes(*found_bytes),
            human_bytes(lowered.old_bytes)
        ),
        Restored::Obsolete => {
            format!("{device}: the lowered discard_max_bytes is gone with an earlier boot or drive")
        }
    }
}

/// Puts back what a pass that died has left.
///
/// # Errors
/// Where the journal cannot be read, or a value not be written.
pub fn restore_leftovers(state_dir: &Path, teller: &mut Teller) -> Result<usize, CommandError> {
    let restored = limits::restore_leftovers(state_dir, Path::new("/sys")).map_err(|error| {
        let text = format!("limits that an earlier pass had lowered: {error}");
        let shown = CommandError::new(Kind::Environment, escape(&text));
        if super::signals::may_trim() {
            shown.hint("the journal says what to write into queue/discard_max_bytes of which drive")
        } else {
            shown.hint("run it as root, with sudo")
        }
    })?;
    for (lowered, outcome) in &restored {
        teller.remark(&format!(
            "left by a pass that died: {}",
            restored_words(lowered, outcome)
        ));
    }
    Ok(restored.len())
}
