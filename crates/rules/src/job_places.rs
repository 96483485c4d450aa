//! Where a job is written, as far as it can be changed there.

use crate::shell;
use facts::host::Job;

/// Returns the quoted path and the line number of a job in a crontab of the system.
pub(crate) fn crontab_line(job: &Job) -> Option<(String, u64)> {
    let (file, line) = crontab_file(job)?;
    let is_system = file == "etc/crontab" || file.starts_with("etc/cron.d/");
    is_system.then(|| (shell::quote(&format!("/{file}")), line))
}

/// Returns the path and the line number of a job in a crontab of the system, or of a user.
pub(crate) fn crontab_file(job: &Job) -> Option<(&str, u64)> {
    let (file, line) = job.defined_in.rsplit_once(':')?;
    let is_crontab = file == "etc/crontab"
        || ["etc/cron.d/", "etc/crontabs/", "var/spool/cron/"]
            .iter()
            .any(|folder| file.starts_with(folder));
    Some((file, line.parse().ok()?)).filter(|_| is_crontab)
}

/// Returns `etc/cron.weekly/fstrim` if that defines the job.
pub(crate) fn cron_directory_script(job: &Job) -> Option<&str> {
    let (directory, script) = job.defined_in.rsplit_once('/')?;
    let is_cron_directory = matches!(
        directory,
        "etc/cron.hourly" | "etc/cron.daily" | "etc/cron.weekly" | "etc/cron.monthly"
    );
    (is_cron_directory && !script.is_empty()).then_some(job.defined_in.as_str())
}

/// Whether a mount point needs no quoting in unit files and crontabs.
pub(crate) fn is_plain(mount_point: &str) -> bool {
    mount_point
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "/_.-".contains(c))
}
