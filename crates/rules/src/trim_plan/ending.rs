//! How the jobs end whose place a plan takes.

use crate::job_places::{cron_directory_script, crontab_file};
use crate::shell::printable;
use crate::trim_jobs::TrimJob;
use facts::Edit;

/// Why a plan cannot be applied yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// What stands in the way.
    pub why: String,
    /// What to do about it.
    pub hint: String,
}

/// How a job ends, and why that is all right; or why it is left to the user.
pub(crate) fn of(trim: &TrimJob<'_>, trimmed: &str) -> Result<(Edit, String), Blocked> {
    let job = trim.job;
    let name = printable(&job.name);
    let by_hand = |why: &str| Blocked {
        why: format!("{name} trims {trimmed} as well, and {why}"),
        hint: format!(
            "end its trim by hand: it is defined in {}",
            printable(&job.defined_in)
        ),
    };
    if !trim.does_nothing_else() {
        return Err(by_hand("does other work besides"));
    }
    if let Some(timer) = &job.timer {
        let unit = &timer.unit;
        // Nothing can be linked where the unit itself is.
        return Ok(if job.defined_in == format!("etc/systemd/system/{unit}") {
            let unit = unit.clone();
            (Edit::Disable { unit }, format!("{name} is disabled"))
        } else {
            let path = format!("etc/systemd/system/{unit}");
            let target = "/dev/null".to_owned();
            (Edit::Link { path, target }, format!("{name} is masked"))
        });
    }
    if let Some(script) = cron_directory_script(job) {
        let path = script.to_owned();
        return Ok((
            Edit::MakeNotExecutable { path },
            format!("{name} no longer runs"),
        ));
    }
    match crontab_file(job) {
        Some((path, line)) => {
            let path = path.to_owned();
            Ok((
                Edit::CommentOut { path, line },
                format!("{name} no longer runs"),
            ))
        }
        None => Err(by_hand(
            "is not in a file that is known to be safe to change",
        )),
    }
}
