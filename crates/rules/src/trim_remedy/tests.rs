//! Tests of the fixes.

use super::*;
use crate::quiet_slot::QuietTimes;
use crate::test_host::{TestHost, nvme};
use crate::test_jobs::{cron_job, cron_weekly, fstrim_timer, jobs};
use std::process::Command;

/// Asserts that bash can parse every command and undo.
fn assert_parses(remedy: &Remedy) {
    for script in [&remedy.command, &remedy.undo].into_iter().flatten() {
        let Ok(status) = Command::new("bash").args(["-n", "-c", script]).status() else {
            return; // no bash on this machine
        };
        assert!(status.success(), "{script}");
    }
}

fn host(systemd: bool, list: Vec<Job>) -> Host {
    TestHost::new()
        .device(nvme("nvme0n1"))
        .mount("/data", "nvme0n1", "xfs", "rw")
        .with(jobs(list))
        .with(|host| host.platform.systemd = Some(systemd))
        .build()
}

#[test]
fn commands_are_shell() {
    for systemd in [true, false] {
        let host = host(
            systemd,
            vec![
                fstrim_timer(),
                cron_weekly("f'; reboot; '", "fstrim --all"),
                cron_job("/etc/crontab:9", "0 0 * * *", "fstrim /data"),
                cron_job("var/spool/cron/root:9", "0 0 * * *", "fstrim /data"),
            ],
        );
        let cx = Context::new(&host);
        let slot = QuietTimes::of(&cx).weekly();
        assert_parses(&trim_mounts(&cx, &["/data"]));
        assert_parses(&fstrim_at_quiet_time(&cx, &host.mounts[0], slot));
        assert_parses(&enable_timer("fstrim.timer", slot));
        assert_parses(&enable_timer("a b'.timer", slot));
        let trims = cx.trim_jobs().expect("jobs");
        for trim in &trims.jobs {
            assert_parses(&move_to_quiet_time(trim.job, slot));
            assert_parses(&move_apart(trim.job, slot));
            assert_parses(&stop(trim.job, "Stop it."));
            assert_parses(&replace_by_paced(&cx, &[trim], &cx.volumes[0]));
            let miss = Miss::NoTrim { line: 3 };
            assert_parses(&add_to_trim(&host, &host.mounts[0], trim, &miss, slot));
        }
    }
}

#[test]
fn the_jobs_of_two_mounts_do_not_overwrite_each_other() {
    assert_eq!(job_name("/data"), "trim-data");
    assert_eq!(job_name("/data/es.1/"), "trim-data-es-1");
    assert_eq!(job_name("/"), "trim-root");
}

#[test]
fn mounts_are_quoted() {
    let host = host(true, Vec::new());
    let cx = Context::new(&host);
    let command = |points: &[&str]| trim_mounts(&cx, points).command.expect("a command");
    assert_eq!(command(&["/a", "/b"]), "trimtab plan --apply /a /b");
    assert_parses(&trim_mounts(&cx, &["/data", "/x'; reboot"]));
    assert_ne!(
        command(&["/x'; reboot"]),
        "trimtab plan --apply /x'; reboot"
    );
}

#[test]
fn the_override_resets_the_calendar_first() {
    let host = host(true, Vec::new());
    let slot = QuietTimes::of(&Context::new(&host)).weekly();
    let command = enable_timer("fstrim.timer", slot).command.expect("one");
    let reset = command.find("'OnCalendar='").expect("the reset");
    let own = command
        .find("'OnCalendar=Sun *-*-* 03:00:00'")
        .expect("ours");
    assert!(reset < own);
    assert!(command.ends_with("&& systemctl enable --now fstrim.timer"));
}

#[test]
fn a_crontab_line_moves_to_a_file_of_its_own_and_a_users_one_is_advice() {
    let host = host(false, Vec::new());
    let slot = QuietTimes::of(&Context::new(&host)).weekly();
    let job = cron_job("/etc/crontab:9", "0 0 * * *", "fstrim -a");
    let command = move_to_quiet_time(&job, slot).command.expect("a command");
    assert!(
        command.ends_with("&& sed -i '9s/^/#/' /etc/crontab"),
        "{command}"
    );
    let job = cron_job("var/spool/cron/root:9", "0 0 * * *", "fstrim -a");
    let remedy = move_to_quiet_time(&job, slot);
    assert_eq!(remedy.command, None);
    assert!(
        remedy.text.contains("var/spool/cron/root:9"),
        "{}",
        remedy.text
    );
}
