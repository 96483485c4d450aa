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

/// Refuses to end what may do more than trim, by the text of the script or of the line of a crontab: [`of`] goes by the
/// programs that a job runs, and some work is none.
///
/// # Errors
/// What else it may do, to follow the name of the file or the line.
pub fn may_end(edit: &Edit, text: &str) -> Result<(), String> {
    match edit {
        Edit::MakeNotExecutable { .. } => only_trims(text, true),
        Edit::CommentOut { .. } => only_trims(text, false),
        _ => Ok(()),
    }
}

fn only_trims(text: &str, is_script: bool) -> Result<(), String> {
    let is_shell = |line: &str| line.starts_with("#!") && line.trim_end().ends_with("sh");
    let first = text.lines().next().unwrap_or_default();
    if is_script && first.starts_with("#!") && !is_shell(first.split(" -").next().unwrap_or(first))
    {
        return Err(format!(
            "is not a shell script ({first}), and may do other work besides"
        ));
    }
    let code = || {
        text.lines()
            .filter(|line| !line.trim_start().starts_with('#') || !is_script)
    };
    if !code().any(|line| line.contains("trim")) {
        return Err("is not what it was: nothing in it trims".to_owned());
    }
    for line in code() {
        let services = line.matches("systemctl").count();
        let to_file = line.split('>').skip(1).map(str::trim_start).any(|target| {
            let is_log = ["/dev/null", "&", "/var/log/", "(", ">"].iter();
            !target.is_empty() && !is_log.into_iter().any(|kind| target.starts_with(kind))
        });
        if line.contains("run-parts") || to_file || services > 0 && !line.contains("fstrim") {
            return Err(format!("does other work besides its trim: {}", line.trim()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_do_more_than_trim_is_left_alone() {
        for fine in [
            "#!/bin/sh\nfstrim /data || true\n",
            "#!/bin/bash -e\n# call fstrim-all\nexec fstrim-all\n",
            "fstrim -a\n",
            "#!/usr/bin/env bash\nfstrim -v / >> /var/log/trim.log 2>&1\n",
        ] {
            assert_eq!(only_trims(fine, true), Ok(()), "{fine}");
        }
        for more in [
            "#!/usr/bin/python3\nfstrim()\n",
            "#!/bin/sh\necho 3 > /proc/sys/vm/drop_caches\nfstrim /data\n",
            "#!/bin/sh\nfstrim /data\nsystemctl restart postgresql\n",
            "#!/bin/sh\nfstrim /; run-parts /etc/cron.weekly\n",
            "#!/bin/sh\n# fstrim\ntrue\n",
        ] {
            assert!(only_trims(more, true).is_err(), "{more}");
        }
        assert!(only_trims("0 1 * * 0 root : > /data/x.log; /sbin/fstrim /data", false).is_err());
        assert!(only_trims("0 1 * * 0 root /sbin/fstrim /data >/dev/null 2>&1", false).is_ok());
    }
}
