//! # TRIM003: a trim timer that is installed but does not run
//!
//! ## What it finds
//! A systemd timer for fstrim, usually `fstrim.timer` of util-linux, that is not enabled; or enabled
//! but not started; or started by hand and not enabled, so that it is gone after the next boot; or
//! masked. Reported if it would trim something worth trimming that no other job trims.
//!
//! ## Why it hurts
//! The package is there, so everybody believes that trimming is taken care of. CentOS 7 and RHEL 7
//! ship the timer disabled; images and configuration management often enable it and never start it.
//! The drives are never told what is free, and writes get slower from day to day.
//!
//! ## Evidence
//! `systemctl show fstrim.timer` with `UnitFileState` and `ActiveState`, or the missing link in
//! `timers.target.wants`; the mounts that it would trim.
//!
//! ## Remedy
//! `trimtab plan --apply /data` gives it a timer for `trimtab trim`, which discards in small steps and waits
//! while the drives are busy. Or enable fstrim's timer *and* choose its time by
//! an override, since the default (Monday 00:00) is a time that nobody chose:
//! `/etc/systemd/system/fstrim.timer.d/quiet-time.conf`, which resets `OnCalendar=` and sets a quiet
//! time, then `systemctl daemon-reload && systemctl enable --now fstrim.timer`.
//!
//! ## Risk
//! The overdue first trim takes long. With fstrim it stalls reads and writes: start it in a quiet
//! period, one node after the other.
//!
//! ## When it is silent
//! Where another job trims the same mounts; where nothing here is worth a trim (no flash and no
//! device that takes discards, discards lost on the way, online discard); where a condition of the
//! unit keeps it from running (a container); without systemd; on Elastic Cloud Enterprise hosts.
//! A masked timer was switched off on purpose: a note. If nothing else trims the drives,
//! they slow down all the same, and TRIM002 warns if they hold a store's data.
//!
//! ## References
//! fstrim(8), systemd.timer(5), systemd.unit(5); scylladb#14249 (enabled but not started).

use crate::context::Context;
use crate::outcome::Outcome;
use crate::quiet_slot::QuietTimes;
use crate::rule::{Check, Needs, Rule};
use crate::trim_jobs::{Reach, TrimJob, TrimJobs};
use crate::volume::Volume;
use crate::{finding, shell, trim_remedy, trim_state, wording};
use facts::host::{EnabledState, Platform, TimerState};
use facts::{Evidence, Remedy, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "TRIM003",
    title: "a trim timer that is installed but does not run",
    source: include_str!("trim003.rs"),
    check: Check::Host(Needs::Devices, check),
};

/// What is wrong with a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Masked,
    NotEnabled,
    NotStarted,
    /// Active now, but not after the next boot.
    NotEnabledButStarted,
}

fn check(cx: &Context<'_>, out: &mut Outcome) {
    let Some(trims) = cx.trim_jobs_or_skip(RULE.id, out) else {
        return;
    };
    if cx.host.platform.systemd == Some(false) {
        return;
    }
    let quiet = QuietTimes::of(cx);
    for job in cx.host.jobs.iter().flatten() {
        let Some(timer) = &job.timer else {
            continue;
        };
        let trim = trims.find(job);
        // A masked unit is a link to /dev/null, so it is not known what it would run.
        if trim.is_none() && timer.unit != "fstrim.timer" || !job.held_back_by.is_empty() {
            continue;
        }
        if let Some(fault) = fault_of(timer) {
            check_timer(cx, trims, &quiet, (timer, trim), fault, out);
        }
    }
}

fn fault_of(timer: &TimerState) -> Option<Fault> {
    match (timer.enabled, timer.active) {
        (Some(EnabledState::Masked), _) => Some(Fault::Masked),
        (Some(EnabledState::Disabled | EnabledState::EnabledRuntime), Some(true)) => {
            Some(Fault::NotEnabledButStarted)
        }
        (Some(EnabledState::Disabled), _) => Some(Fault::NotEnabled),
        // Static or generated units are started by something else, if at all.
        (_, Some(false)) => Some(Fault::NotStarted),
        _ => None,
    }
}

fn check_timer(
    cx: &Context<'_>,
    trims: &TrimJobs<'_>,
    quiet: &QuietTimes<'_, '_>,
    (timer, trim): (&TimerState, Option<&TrimJob<'_>>),
    fault: Fault,
    out: &mut Outcome,
) {
    let would_trim: Vec<&Volume<'_>> = cx
        .volumes_in_time()
        .filter(|volume| trim_state::is_worth_a_trim(cx, volume))
        .filter(|volume| trim.is_none_or(|trim| trims.reach(trim, volume) == Reach::Reached))
        .filter(|volume| {
            !trims
                .active()
                .filter(|other| trim.is_none_or(|trim| !std::ptr::eq(trim.job, other.job)))
                .any(|other| !matches!(trims.reach(other, volume), Reach::Missed(_)))
        })
        .collect();
    if would_trim.is_empty() {
        return;
    }
    let stores: Vec<&&Volume<'_>> = would_trim
        .iter()
        .filter(|volume| !volume.stores.is_empty())
        .collect();
    let severity = match fault {
        Fault::Masked => Severity::Info,
        _ if stores.is_empty() => Severity::Info,
        _ => Severity::Warning,
    };
    let unit = shell::printable(&timer.unit);
    let state = match fault {
        Fault::Masked => "masked",
        Fault::NotEnabled => "installed but not enabled",
        Fault::NotStarted => "not started",
        Fault::NotEnabledButStarted => "started but not enabled",
    };
    let mut finding =
        finding::about_host(&RULE, severity, &timer.unit, format!("{unit} is {state}"));
    // Every filesystem with a store names the timer; where there is none, a single filesystem does.
    let tied: Vec<Option<&Volume<'_>>> = match (stores.as_slice(), would_trim.as_slice()) {
        ([], [only]) => vec![Some(only)],
        ([], _) => vec![None],
        (stores, _) => stores.iter().map(|volume| Some(**volume)).collect(),
    };
    let mount_points: Vec<String> = would_trim
        .iter()
        .map(|volume| wording::mount_point(volume))
        .collect();
    let affected = match stores.as_slice() {
        [] => wording::list(&mount_points),
        [first, ..] => format!(
            "{} ({})",
            wording::list(&mount_points),
            wording::data_of(first)
        ),
    };
    finding.why = match fault {
        Fault::Masked => format!(
            "Somebody masked it, so nothing trims {affected}. Unless that is intended, the drives \
             there get slower from day to day."
        ),
        Fault::NotEnabledButStarted => format!(
            "It trims {affected} until the next boot and never after: nothing starts it then."
        ),
        Fault::NotEnabled | Fault::NotStarted => format!(
            "It would trim {affected}, and no other job does{}. For the drives, what is deleted \
             there is still valid data, and writes get slower from day to day.",
            shipped_disabled(&cx.host.platform, fault)
        ),
    };
    finding.evidence.push(state_evidence(timer, trim));
    finding.evidence.extend(
        would_trim
            .iter()
            .take(wording::EVIDENCE_MAX)
            .map(|volume| wording::mount_evidence(volume.mount)),
    );
    finding.remedy = remedies(cx, quiet, (timer, trim), fault, &would_trim);
    for volume in tied {
        let mut finding = finding.clone();
        finding.mount_point = volume.map(|volume| volume.mount.mount_point.clone());
        out.findings.push(finding);
    }
}

fn remedies(
    cx: &Context<'_>,
    quiet: &QuietTimes<'_, '_>,
    (timer, trim): (&TimerState, Option<&TrimJob<'_>>),
    fault: Fault,
    would_trim: &[&Volume<'_>],
) -> Vec<Remedy> {
    let slot = quiet.weekly();
    let mounts: Vec<&str> = would_trim
        .iter()
        .map(|volume| volume.mount.mount_point.as_str())
        .collect();
    if let Some(remedy) = trim_remedy::elsewhere(&cx.host.platform, &mounts, slot) {
        return vec![remedy];
    }
    // What runs until the next boot has to be replaced; what does not run can stay as it is.
    let paced =
        if let (Fault::NotEnabledButStarted, Some(trim), [first, ..]) = (fault, trim, would_trim) {
            trim_remedy::replace_by_paced(cx, &[trim], first)
        } else {
            trim_remedy::trim_mounts(cx, &mounts)
        };
    let own = match fault {
        Fault::Masked => Remedy::advice(format!(
            "Unless it was masked on purpose, run `systemctl unmask {}`, set a quiet time in an \
             override, and enable it.",
            shell::quote(&timer.unit)
        ))
        .risk(trim_remedy::FIRST_PASS),
        Fault::NotEnabled | Fault::NotStarted | Fault::NotEnabledButStarted => {
            trim_remedy::enable_timer(&timer.unit, slot)
        }
    };
    vec![paced, own]
}

/// RHEL 7's presets leave it disabled.
fn shipped_disabled(platform: &Platform, fault: Fault) -> &'static str {
    let is_el7 = matches!(
        platform.distribution.as_deref(),
        Some("centos" | "rhel" | "ol" | "scientific")
    ) && platform
        .distribution_version
        .as_deref()
        .is_some_and(|version| version.split('.').next() == Some("7"));
    if is_el7 && fault == Fault::NotEnabled {
        " (CentOS 7 and RHEL 7 ship it disabled)"
    } else {
        ""
    }
}

fn state_evidence(timer: &TimerState, trim: Option<&TrimJob<'_>>) -> Evidence {
    let enabled = match timer.enabled {
        Some(EnabledState::Enabled) => "enabled",
        Some(EnabledState::EnabledRuntime) => "enabled-runtime",
        Some(EnabledState::Disabled) => "disabled",
        Some(EnabledState::Masked) => "masked",
        Some(EnabledState::Static) => "static",
        Some(EnabledState::Generated) => "generated",
        Some(EnabledState::Other) | None => "unknown",
    };
    match timer.active {
        Some(active) => Evidence::new(
            format!("systemctl show {}", timer.unit),
            format!(
                "UnitFileState={enabled}, ActiveState={}",
                if active { "active" } else { "inactive" }
            ),
        ),
        // systemd was not queried; the links below /etc/systemd/system show the state.
        None => Evidence::new(
            trim.map_or("etc/systemd/system", |trim| trim.job.defined_in.as_str()),
            format!("{}: {enabled}", timer.unit),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{TestHost, crypt, nvme, only, virtio};
    use crate::test_jobs::{cron_weekly, fstab, fstrim_timer, jobs, with_state};
    use facts::host::Job;

    fn off() -> Job {
        with_state(fstrim_timer(), EnabledState::Disabled, Some(false))
    }

    fn host(job: Job) -> TestHost {
        TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "xfs", "rw")
            .elasticsearch("/data")
            .with(jobs(vec![job]))
    }

    #[test]
    fn centos_7_ships_it_disabled() {
        let outcome = host(off())
            .with(|host| {
                host.platform.distribution = Some("centos".to_owned());
                host.platform.distribution_version = Some("7".to_owned());
            })
            .check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.title, "fstrim.timer is installed but not enabled");
        assert!(finding.why.contains("CentOS 7"), "{}", finding.why);
        assert_eq!(
            finding.evidence[0],
            Evidence::new(
                "systemctl show fstrim.timer",
                "UnitFileState=disabled, ActiveState=inactive"
            )
        );
        let paced = finding.remedy[0].command.as_deref();
        assert_eq!(paced, Some("trimtab plan --apply /data"));
        let remedy = &finding.remedy[1];
        let command = remedy.command.as_deref().expect("a command");
        assert!(command.contains("/etc/systemd/system/fstrim.timer.d"));
        assert!(command.contains("systemctl enable --now fstrim.timer"));
        assert!(remedy.undo.is_some() && remedy.risk.is_some());
    }

    #[test]
    fn enabled_but_not_started() {
        let job = with_state(fstrim_timer(), EnabledState::Enabled, Some(false));
        let outcome = host(job).check(&RULE);
        assert_eq!(only(&outcome).title, "fstrim.timer is not started");
    }

    #[test]
    fn started_but_gone_after_the_next_boot() {
        let job = with_state(fstrim_timer(), EnabledState::Disabled, Some(true));
        let outcome = host(job).check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.title, "fstrim.timer is started but not enabled");
        let commands = finding.remedy.iter().filter_map(|r| r.command.as_deref());
        let commands: Vec<&str> = commands.collect();
        // Which ends what runs until then.
        assert_eq!(commands[0], "trimtab plan --apply --fstab /data");
        assert!(commands[1].ends_with("&& systemctl enable --now fstrim.timer"));
    }

    #[test]
    fn it_is_tied_to_the_mounts_of_stores() {
        let two = |stores: &[&str]| {
            let host = TestHost::new()
                .devices([nvme("nvme0n1"), nvme("nvme1n1")])
                .mount("/a", "nvme0n1", "xfs", "rw")
                .mount("/b", "nvme1n1", "xfs", "rw")
                .with(jobs(vec![off()]));
            let host = stores
                .iter()
                .fold(host, |host, path| host.elasticsearch(path));
            let findings = host.check(&RULE).findings;
            let mounts = findings.into_iter().map(|finding| finding.mount_point);
            mounts.collect::<Vec<_>>()
        };
        assert_eq!(two(&["/a", "/b"]), [Some("/a".into()), Some("/b".into())]);
        assert_eq!(two(&["/b"]), [Some("/b".into())]);
        assert_eq!(two(&[]), [None]);
    }

    #[test]
    fn masked_is_a_decision() {
        let mut job = with_state(fstrim_timer(), EnabledState::Masked, Some(false));
        job.commands.clear();
        job.triggers.clear();
        let outcome = host(job).check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Info);
    }

    #[test]
    fn links_suffice_if_systemd_was_not_queried() {
        let outcome = host(with_state(fstrim_timer(), EnabledState::Disabled, None)).check(&RULE);
        assert_eq!(
            only(&outcome).evidence[0].source,
            "lib/systemd/system/fstrim.timer"
        );
        let running = with_state(fstrim_timer(), EnabledState::Enabled, None);
        assert_eq!(host(running).check(&RULE), Outcome::default());
    }

    #[test]
    fn without_a_store_it_is_an_information() {
        let outcome = host(off()).with(|host| host.stores.clear()).check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Info);
    }

    #[test]
    fn silent_without_a_benefit() {
        assert_eq!(host(fstrim_timer()).check(&RULE), Outcome::default());
        let also = host(off()).with(|host| {
            let jobs = host.jobs.as_mut().expect("jobs");
            jobs.push(cron_weekly("fstrim", "fstrim --all"));
        });
        assert_eq!(also.check(&RULE), Outcome::default(), "another job trims");
        let elsewhere = host(off()).with(fstab(&[("/", "defaults")]));
        assert_eq!(
            elsewhere.check(&RULE),
            Outcome::default(),
            "would not reach"
        );
        let lost = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(crypt("dm-0", "data", "nvme0n1", false))
            .mount("/data", "dm-0", "xfs", "rw")
            .with(jobs(vec![off()]));
        assert_eq!(lost.check(&RULE), Outcome::default(), "discards are lost");
        let no_systemd = host(off()).with(|host| host.platform.systemd = Some(false));
        assert_eq!(no_systemd.check(&RULE), Outcome::default());
        let mut held = off();
        held.held_back_by = vec!["ConditionVirtualization=!container".to_owned()];
        assert_eq!(host(held).check(&RULE), Outcome::default());
    }

    #[test]
    fn a_virtual_disk_that_takes_discards_is_worth_an_information() {
        let outcome = TestHost::new()
            .device(virtio("vda"))
            .mount("/", "vda", "ext4", "rw")
            .with(jobs(vec![off()]))
            .check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Info);
    }

    #[test]
    fn unknown_jobs_skip_the_rule() {
        let outcome = host(off()).with(|host| host.jobs = None).check(&RULE);
        assert_eq!(outcome.findings, []);
        assert_eq!(outcome.skipped[0].what, "TRIM003");
    }
}
