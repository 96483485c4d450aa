//! # SCHED002: the same work done twice
//!
//! ## What it finds
//! The scripts of a cron directory that both a crontab line and anacron start; the same work (a
//! trim, a RAID check, a scrub) that both a cron job and a systemd timer do, or two of either; and a
//! filesystem that one run of a job trims several times, because fstab mounts it in several places or the
//! job names several of its mount points.
//!
//! ## Why it hurts
//! The work is done twice, at two times of which usually only one was chosen. Debian's crontab asks
//! `test -x /usr/sbin/anacron` before it starts cron.daily, cron.weekly and cron.monthly, so that
//! anacron alone does; a crontab that was edited or came with another image may lack that guard. A
//! script in cron.weekly that somebody added in the days before fstrim.timer goes on running beside
//! it. Moving one of the two to a quiet time does not help while nobody knows of the other.
//!
//! `fstrim --all` trims a filesystem once however often it is mounted. By fstab (`fstrim --fstab`, and
//! fstrim.service with its `--listed-in /etc/fstab:...`) the sources are compared as written: the source of a
//! bind mount is a directory and never equal to the filesystem's device, so each bind mount whose type is not
//! `none` causes one more trim of the same free space. ext4 skips the groups in which nothing was freed
//! since, as long as it stays mounted; XFS and Btrfs keep no such record.
//!
//! ## Evidence
//! Where each of the two is defined, with its schedule and its command; the lines of fstab.
//!
//! ## Remedy
//! Keep one: `chmod -x /etc/cron.weekly/fstrim`, or `systemctl disable --now fstrim.timer`; in a
//! crontab, put `test -x /usr/sbin/anacron ||` before `run-parts`. In fstab give every line of the
//! filesystem but one `X-fstrim.notrim` (util-linux 2.38), or its bind mounts the type `none`.
//!
//! ## Risk
//! Make sure that the one you keep reaches everything that the other did (TRIM006).
//!
//! ## When it is silent
//! Where a guard or a condition holds one of the two back; for two trims of which one is for every
//! mount and the other for a mount that it names, since trimming one mount more often is a choice;
//! for work that finds nothing to do here (a RAID check without a RAID). A warning only for a trim,
//! check, scrub or backup on a host with a store; a note where Debian's `0anacron` script
//! tells anacron of cron's run, and for an ext4 that one run trims several times. fstrim of util-linux 2.43
//! and later, on Linux 6.13 and later, knows a bind mount's device: trimtab cannot recognise such a host.
//!
//! ## References
//! cron(8), anacron(8), anacrontab(5), run-parts(8), systemd.timer(5), fstrim(8); util-linux#857,
//! impermanence#141.

use crate::context::Context;
use crate::disk_jobs::{self, DiskJob, DiskWork};
use crate::outcome::Outcome;
use crate::rule::{Check, Needs, Rule};
use crate::trim_jobs::passes::kernel_tells_device;
use crate::trim_jobs::turns::Pass;
use crate::trim_jobs::{JOBS_NEED, JOBS_UNKNOWN, TrimJob, TrimJobs};
use crate::volume::Volume;
use crate::{finding, shell, times, trim_remedy, trim_state, wording};
use facts::host::{Job, Trigger};
use facts::{Evidence, Remedy, Severity};
use std::fmt::Write as _;
use units::count::grouped_usize;

pub(crate) const RULE: Rule = Rule {
    id: "SCHED002",
    title: "the same work done twice",
    source: include_str!("sched002.rs"),
    check: Check::Host(Needs::Nothing, check),
};

fn check(cx: &Context<'_>, out: &mut Outcome) {
    let (Some(disk_jobs), Some(trims)) = (disk_jobs::active(cx), cx.trim_jobs()) else {
        out.skip(RULE.id, JOBS_UNKNOWN, Some(JOBS_NEED));
        return;
    };
    by_cron_and_anacron(cx, &disk_jobs, out);
    trims_twice(cx, trims, out);
    trims_again(cx, trims, out);
    for work in [DiskWork::RaidCheck, DiskWork::Scrub] {
        work_twice(cx, &disk_jobs, work, out);
    }
}

/// Returns the severity of duplicated work: heavy work on a host with a store is a warning.
fn severity(cx: &Context<'_>, is_heavy: bool) -> Severity {
    finding::warning_if(is_heavy && !cx.host.stores.is_empty())
}

/// Reports scripts in a directory that both cron and anacron start, one finding per directory.
fn by_cron_and_anacron(cx: &Context<'_>, disk_jobs: &[DiskJob<'_>], out: &mut Outcome) {
    let active = || {
        let jobs = cx.host.jobs.iter().flatten();
        jobs.filter(|job| job.is_active())
    };
    let mut done: Vec<&str> = Vec::new();
    for job in active().take_while(|_| !cx.budget.is_used_up()) {
        let Some((identifier, anacron)) = job.triggers.iter().find_map(anacron_line) else {
            continue;
        };
        let Some(cron) = job.triggers.iter().find_map(cron_line) else {
            continue;
        };
        if done.contains(&identifier) {
            continue;
        }
        done.push(identifier);
        let same: Vec<&Job> = active()
            .filter(|other| {
                other.triggers.iter().any(|t| cron_line(t).is_some())
                    && other
                        .triggers
                        .iter()
                        .filter_map(anacron_line)
                        .any(|(other, _)| other == identifier)
            })
            .collect();
        let has_stamp_script = active().any(|other| other.name == format!("{identifier}/0anacron"));
        let is_heavy = disk_jobs.iter().any(|disk| {
            disk.work.is_heavy() && same.iter().any(|job| std::ptr::eq(*job, disk.job))
        });
        let name = shell::printable(identifier);
        let mut finding = finding::about_host(
            &RULE,
            severity(cx, is_heavy && !has_stamp_script),
            identifier,
            format!("{name} is started by cron and by anacron"),
        );
        let names: Vec<String> = same.iter().map(|job| wording::job_name(job)).collect();
        finding.why = format!(
            "Both the crontab line in {} and the one in {} start {}: the work is done twice, at \
             two times.",
            shell::printable(cron),
            shell::printable(anacron),
            wording::list(&names),
        );
        if has_stamp_script {
            finding.why.push_str(
                " Its script 0anacron tells anacron of cron's run, so the second run is usually \
                 skipped, unless anacron runs first.",
            );
        }
        finding.evidence = times::trigger_evidence(job);
        finding.add_remedy(
            Remedy::advice(format!(
                "Put `test -x /usr/sbin/anacron ||` before `run-parts` in {}, as Debian's crontab \
                 does, so that cron starts it only if anacron is not installed.",
                shell::printable(cron)
            ))
            .risk(
                "anacron starts it some minutes after boot or in the morning, not at cron's time.",
            ),
        );
        out.findings.push(finding);
    }
}

fn anacron_line(trigger: &Trigger) -> Option<(&str, &str)> {
    match trigger {
        Trigger::Anacron {
            identifier, source, ..
        } => Some((identifier, source)),
        _ => None,
    }
}

fn cron_line(trigger: &Trigger) -> Option<&str> {
    match trigger {
        Trigger::Cron { source, .. } => Some(source),
        _ => None,
    }
}

/// Reports two trim jobs of the same kind that reach the same mounts.
fn trims_twice(cx: &Context<'_>, trims: &TrimJobs<'_>, out: &mut Outcome) {
    let active: Vec<&TrimJob<'_>> = trims.active().take(PAIRED_JOBS_MAX).collect();
    for (index, first) in active.iter().enumerate() {
        for second in &active[index + 1..] {
            if cx.budget.is_used_up() {
                return;
            }
            if first.is_for_all() != second.is_for_all() {
                continue;
            }
            let both: Vec<_> = cx
                .volumes
                .iter()
                .filter(|volume| {
                    trim_state::fstrim_works_here(volume)
                        && trims.reaches(first, volume)
                        && trims.reaches(second, volume)
                })
                .collect();
            if both.is_empty() {
                continue;
            }
            let has_store = both.iter().any(|volume| !volume.stores.is_empty());
            let mounts: Vec<String> = both.iter().map(|v| wording::mount_point(v)).collect();
            report_pair(
                severity(cx, has_store),
                (first.job, second.job),
                &format!("trim {}", wording::list(&mounts)),
                out,
            );
            let named: Vec<String> = [first, second]
                .iter()
                .filter_map(|trim| trim.named())
                .collect();
            if let ([one, other], Some(finding)) = (named.as_slice(), out.findings.last_mut())
                && one != other
            {
                // Writing to a String cannot fail.
                let _ = write!(
                    finding.why,
                    " {one} and {other} are mounts of one filesystem."
                );
            }
            // One mount, or the first with a store.
            let tied = match both.as_slice() {
                [only] => Some(only),
                all => all.iter().find(|volume| !volume.stores.is_empty()),
            };
            if let (Some(volume), Some(finding)) = (tied, out.findings.last_mut()) {
                finding.mount_point = Some(volume.mount.mount_point.clone());
            }
        }
    }
}

/// Reports filesystems that one run of a job trims several times.
fn trims_again(cx: &Context<'_>, trims: &TrimJobs<'_>, out: &mut Outcome) {
    for trim in trims.active().take(PAIRED_JOBS_MAX) {
        for volume in cx.volumes_in_time() {
            let passes = trims.repeated_passes(trim, volume);
            if !passes.is_empty() && trim_state::fstrim_works_here(volume) {
                report_passes(cx, trim, volume, &passes, out);
            }
        }
    }
}

fn report_passes(
    cx: &Context<'_>,
    trim: &TrimJob<'_>,
    volume: &Volume<'_>,
    passes: &[Pass<'_>],
    out: &mut Outcome,
) {
    let fs_type = volume.mount.fs_type.as_str();
    let remembers = matches!(fs_type, "ext3" | "ext4");
    let job = wording::job_name(trim.job);
    let mut finding = finding::about_volume(
        &RULE,
        severity(cx, !volume.stores.is_empty() && !remembers),
        volume,
        format!(
            "{job} trims {} {} times in each run",
            wording::mount_point(volume),
            grouped_usize(passes.len())
        ),
    );
    let points: Vec<String> = passes
        .iter()
        .map(|pass| shell::printable(pass.mount_point))
        .collect();
    let mut why = format!("{} are mounts of one filesystem", wording::list(&points));
    let by_fstab = passes.iter().any(|pass| pass.entry.is_some());
    // Writing to a String cannot fail.
    let _ = if by_fstab {
        write!(
            why,
            ". fstrim goes by fstab here, and takes each source that is written differently there for a \
             filesystem of its own."
        )
    } else {
        write!(why, ", and the job trims it at each of them.")
    };
    why.push_str(if remembers {
        " ext4 remembers what it has trimmed as long as it is mounted, so all passes but the first find \
         little to do."
    } else {
        " Each pass discards its free space again, and takes as long as the first."
    });
    if passes.iter().any(Pass::is_bind) && kernel_tells_device(&cx.host.platform) {
        why.push_str(
            " fstrim 2.43 and later finds out a bind mount's device and trims it once: `fstrim --version` \
             tells whether this host has it.",
        );
    }
    finding.why = why;
    finding
        .evidence
        .extend(trim.evidence().take(wording::EVIDENCE_MAX));
    let lines = passes.iter().filter_map(|pass| pass.entry);
    finding
        .evidence
        .extend(lines.take(wording::EVIDENCE_MAX).map(|entry| {
            let (spec, point) = (&entry.spec, &entry.mount_point);
            Evidence::new(
                format!("etc/fstab:{}", entry.line),
                format!(
                    "{spec} {point} {} {}",
                    entry.fs_type,
                    entry.options.join(",")
                ),
            )
        }));
    finding.add_remedy(trim_remedy::trim_once(cx.host, trim.job, passes));
    out.findings.push(finding);
}

/// Maximum number of jobs for the same work compared with each other, or with the filesystems.
const PAIRED_JOBS_MAX: usize = 16;

/// Reports the same check or scrub by both a cron job and a timer.
fn work_twice(cx: &Context<'_>, disk_jobs: &[DiskJob<'_>], work: DiskWork, out: &mut Outcome) {
    let of_work = || disk_jobs.iter().filter(|disk| disk.work == work);
    let by_cron = of_work().filter(|disk| disk_jobs::is_started_by_cron(disk.job));
    for cron in by_cron.take_while(|_| !cx.budget.is_used_up()) {
        // One timer represents a family: mdcheck_continue resumes where mdcheck_start ended.
        let timer = of_work().find(|disk| disk.job.timer.is_some() && is_same(cron, disk));
        if let Some(timer) = timer {
            report_pair(
                severity(cx, true),
                (cron.job, timer.job),
                &format!("do the same work: {}", work.label()),
                out,
            );
            return;
        }
    }
}

/// Whether two jobs do the same work: checkarray, raid-check and mdcheck all check every RAID;
/// scrubs differ by program.
fn is_same(a: &DiskJob<'_>, b: &DiskJob<'_>) -> bool {
    let bare = |program: &str| program.trim_end_matches("_cron").to_owned();
    a.work == DiskWork::RaidCheck || bare(a.program) == bare(b.program)
}

fn report_pair(severity: Severity, (first, second): (&Job, &Job), what: &str, out: &mut Outcome) {
    let names = (wording::job_name(first), wording::job_name(second));
    let mut finding = finding::about_host(
        &RULE,
        severity,
        &first.name,
        format!("{} and {} both {what}", names.0, names.1),
    );
    finding.why = format!(
        "{} and {} do the same work at different times, and whoever moves one of them to a quiet \
         time may not know of the other.",
        names.0, names.1
    );
    for job in [first, second] {
        finding.evidence.extend(times::trigger_evidence(job));
        finding.evidence.extend(
            job.commands
                .iter()
                .take(wording::EVIDENCE_MAX)
                .map(|command| {
                    Evidence::new(&command.source, crate::trim_jobs::command_line(command))
                }),
        );
    }
    // The timer can be moved by an override and lists its runs in `systemctl list-timers`.
    let drop = if first.timer.is_none() { first } else { second };
    finding.add_remedy(trim_remedy::stop_second(drop));
    out.findings.push(finding);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{TestHost, md, nvme, only};
    use crate::test_jobs::{
        anacron, command, cron_job, cron_weekly, fstab, fstrim_timer, jobs, timer,
    };

    fn host(list: Vec<Job>) -> TestHost {
        TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "xfs", "rw")
            .elasticsearch("/data")
            .with(jobs(list))
    }

    fn twice_started(script: &str, line: &str) -> Job {
        let mut job = cron_weekly(script, line);
        job.triggers.push(anacron("7", "cron.weekly"));
        job
    }

    #[test]
    fn cron_and_anacron_start_a_directory() {
        let outcome = host(vec![
            twice_started("fstrim", "fstrim --all"),
            twice_started("man-db", "mandb --quiet"),
        ])
        .check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.title,
            "cron.weekly is started by cron and by anacron"
        );
        assert!(
            finding
                .why
                .contains("cron.weekly/fstrim and cron.weekly/man-db")
        );
        let sources: Vec<&str> = finding.evidence.iter().map(|e| e.source.as_str()).collect();
        assert_eq!(sources, ["etc/crontab:14", "etc/anacrontab:12"]);
    }

    #[test]
    fn light_jobs_and_debians_stamp_script_make_it_an_information() {
        let outcome = host(vec![twice_started("man-db", "mandb --quiet")]).check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Info);
        let outcome = host(vec![
            twice_started("0anacron", "anacron -u cron.weekly"),
            twice_started("fstrim", "fstrim --all"),
        ])
        .check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Info);
        assert!(finding.why.contains("0anacron"));
    }

    #[test]
    fn a_script_and_the_timer() {
        let outcome =
            host(vec![cron_weekly("fstrim", "fstrim --all"), fstrim_timer()]).check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.title,
            "cron.weekly/fstrim and fstrim.timer both trim /data"
        );
        assert_eq!(
            finding.remedy[0].command.as_deref(),
            Some("chmod -x /etc/cron.weekly/fstrim")
        );
        let without = host(vec![cron_weekly("fstrim", "fstrim --all"), fstrim_timer()])
            .with(|host| host.stores.clear())
            .check(&RULE);
        assert_eq!(only(&without).severity, Severity::Info);
    }

    #[test]
    fn one_mount_more_often_is_a_choice() {
        let outcome = host(vec![
            cron_job("/etc/cron.d/trim:1", "0 3 * * *", "fstrim /data"),
            fstrim_timer(),
        ])
        .check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }

    /// A filesystem at /data, with bind mounts of fstab's sources and types.
    fn bound(fs_type: &str, binds: &[(&str, &str, &str)]) -> TestHost {
        let mut lines = vec![("/data", "noatime")];
        lines.extend(binds.iter().map(|&(_, point, _)| (point, "bind")));
        let mut host = TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", fs_type, "rw");
        for (_, point, _) in binds {
            host = host.mount(point, "nvme0n1", fs_type, "rw");
        }
        let binds: Vec<(String, String)> = binds
            .iter()
            .map(|&(spec, _, fs_type)| (spec.to_owned(), fs_type.to_owned()))
            .collect();
        host.elasticsearch("/data")
            .with(fstab(&lines))
            .with(move |host| {
                let entries = host.fstab.iter_mut().flatten().skip(1);
                for (entry, (spec, fs_type)) in entries.zip(binds) {
                    (entry.spec, entry.fs_type) = (spec, fs_type);
                }
            })
            .with(jobs(vec![fstrim_timer()]))
    }

    const BINDS: &[(&str, &str, &str)] = &[
        ("/data/es", "/var/lib/es", "auto"),
        ("/data/log", "/var/log", "xfs"),
    ];

    #[test]
    fn bind_mounts_of_fstab_are_trimmed_each() {
        let outcome = bound("xfs", BINDS).check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.title,
            "fstrim.timer trims /data 3 times in each run"
        );
        assert!(finding.evidence.iter().any(|e| e.source == "etc/fstab:3"));
        let command = finding.remedy[0].command.as_deref().expect("one");
        assert!(
            command.contains("2s/") && command.contains("3s/"),
            "{command}"
        );
        assert!(
            !command.contains("1s/"),
            "the device's line stays: {command}"
        );
        let ext4 = bound("ext4", BINDS).check(&RULE);
        assert_eq!(only(&ext4).severity, Severity::Info, "ext4 remembers");
    }

    #[test]
    fn what_fstrim_takes_for_one_is_trimmed_once() {
        // The same device by tag and by name; a bind mount of the type that fstrim skips.
        let once: &[(&str, &str, &str)] = &[
            ("/dev/nvme0n1", "/srv", "xfs"),
            ("/data/log", "/var/log", "none"),
        ];
        assert_eq!(bound("xfs", once).check(&RULE), Outcome::default());
        let left_out = bound("xfs", BINDS).with(fstab(&[
            ("/data", "noatime"),
            ("/var/lib/es", "bind,X-fstrim.notrim"),
        ]));
        assert_eq!(left_out.check(&RULE), Outcome::default());
        let all = cron_weekly("fstrim", "fstrim --all");
        let by_mountinfo = bound("xfs", BINDS).with(jobs(vec![all]));
        assert_eq!(by_mountinfo.check(&RULE), Outcome::default());
        let typed = cron_weekly("fstrim", "fstrim --fstab --types auto");
        let typed = bound("xfs", &BINDS[1..]).with(jobs(vec![typed]));
        assert_eq!(typed.check(&RULE), Outcome::default());
        // Two names of one device are two sources.
        let by_name = [("/dev/disk/by-id/nvme-1", "/srv", "xfs")];
        assert_eq!(bound("xfs", &by_name).check(&RULE).findings.len(), 1);
    }

    #[test]
    fn the_fix_is_one_that_the_host_knows() {
        let on = |id: &str, version: &str| {
            let (id, version) = (id.to_owned(), version.to_owned());
            let outcome = bound("xfs", BINDS)
                .with(move |host| {
                    host.platform.distribution = Some(id);
                    host.platform.distribution_version = Some(version);
                })
                .check(&RULE);
            only(&outcome).remedy[0].clone()
        };
        let old = on("ubuntu", "22.04");
        assert!(
            old.command.is_none() && old.text.contains("type `none`"),
            "{old:?}"
        );
        let nixos = on("nixos", "24.05");
        assert!(
            nixos.command.is_none() && nixos.text.contains("fileSystems"),
            "{nixos:?}"
        );
        assert!(on("debian", "12").command.is_some());
    }

    #[test]
    fn mount_points_of_one_filesystem_in_two_jobs_and_in_one() {
        let job = |name: &str, line: &str| cron_job(name, "0 3 * * 0", line);
        let two = vec![
            job("/etc/cron.d/a:1", "fstrim /data"),
            job("/etc/cron.d/b:1", "fstrim /var/log"),
        ];
        let outcome = bound("btrfs", BINDS).with(jobs(two)).check(&RULE);
        let finding = only(&outcome);
        assert!(finding.title.contains("both trim /data"), "{finding:?}");
        assert!(
            finding
                .why
                .ends_with("/data and /var/log are mounts of one filesystem."),
            "{finding:?}"
        );
        let mut both = job("/etc/cron.d/a:1", "fstrim /data");
        both.commands
            .push(command("fstrim /var/log", "etc/cron.d/a:1"));
        let outcome = bound("btrfs", BINDS).with(jobs(vec![both])).check(&RULE);
        let finding = only(&outcome);
        assert!(finding.title.ends_with("trims /data 2 times in each run"));
        assert!(finding.remedy[0].command.is_none());
    }

    #[test]
    fn inactive_jobs_are_not_duplicates() {
        let mut guarded = cron_weekly("fstrim", "fstrim --all");
        guarded.held_back_by = vec!["test -e /run/systemd/system".to_owned()];
        assert_eq!(
            host(vec![guarded, fstrim_timer()]).check(&RULE),
            Outcome::default()
        );
        let only_anacron = {
            let mut job = cron_weekly("fstrim", "fstrim --all");
            job.triggers = vec![anacron("7", "cron.weekly")];
            job
        };
        assert_eq!(host(vec![only_anacron]).check(&RULE), Outcome::default());
    }

    #[test]
    fn two_raid_checks() {
        let both = || {
            vec![
                cron_job(
                    "/etc/cron.d/mdadm:12",
                    "57 0 * * 0",
                    "checkarray --cron --all",
                ),
                timer(
                    "mdcheck_start.timer",
                    "Sun *-*-1..7 1:00:00",
                    "mdcheck --duration 6 hours",
                ),
                timer("mdcheck_continue.timer", "daily", "mdcheck --continue"),
            ]
        };
        let outcome = TestHost::new()
            .devices([nvme("nvme0n1"), nvme("nvme1n1")])
            .device(md("md0", "raid1", &["nvme0n1", "nvme1n1"]))
            .with(jobs(both()))
            .check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Info, "no store");
        assert!(finding.title.contains("mdcheck_start.timer"));
        assert_eq!(host(both()).check(&RULE), Outcome::default(), "no RAID");
    }

    #[test]
    fn unknown_jobs_skip_the_rule() {
        let outcome = host(Vec::new()).with(|host| host.jobs = None).check(&RULE);
        assert_eq!(outcome.skipped[0].what, "SCHED002");
    }
}
