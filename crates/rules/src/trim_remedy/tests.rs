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

/// Trims these mounts by cron.
fn trim(mount_points: &[&str]) -> Remedy {
    let host = host(false, Vec::new());
    let cx = Context::new(&host);
    trim_mounts(&cx, mount_points, QuietTimes::of(&cx).weekly())
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
        assert_parses(&trim_mounts(&cx, &["/data"], slot));
        assert_parses(&fstrim_at_quiet_time(&cx, &host.mounts[0], slot));
        assert_parses(&enable_timer("fstrim.timer", slot));
        assert_parses(&enable_timer("a b'.timer", slot));
        let trims = cx.trim_jobs().expect("jobs");
        for trim in &trims.jobs {
            assert_parses(&move_to_quiet_time(trim.job, slot));
            assert_parses(&move_apart(trim.job, slot));
            assert_parses(&stop(trim.job, "Stop it."));
            assert_parses(&replace_by_paced(&cx, trims, &[trim], &cx.volumes[0], slot));
            let miss = Miss::NoTrim { line: 3 };
            assert_parses(&add_to_trim(&host, &host.mounts[0], trim, &miss, slot));
        }
    }
}

#[test]
fn the_jobs_of_two_mounts_do_not_overwrite_each_other() {
    let file = |mount_point| {
        let command = trim(&[mount_point]).command.expect("a command");
        command.rsplit('/').next().map(str::to_owned)
    };
    assert_eq!(file("/data").as_deref(), Some("trim-data"));
    assert_eq!(file("/data/es.1/").as_deref(), Some("trim-data-es-1"));
    assert_eq!(file("/").as_deref(), Some("trim-root"));
}

#[test]
fn several_mounts_are_named_and_many_are_all() {
    let command = trim(&["/a", "/b"]).command.expect("a command");
    assert_eq!(
        command,
        "printf '%s\\n' '0 3 * * 0 root /usr/bin/trimtab trim --window 03:00-05:00 /a /b' > \
         /etc/cron.d/trim-mounts"
    );
    let command = trim(&["/a"; 9]).command.expect("a command");
    assert!(
        command.contains("--window 03:00-05:00 --all --yes"),
        "{command}"
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
fn odd_mount_points_are_left_to_the_operator() {
    assert!(trim(&["/da%ta"]).command.is_none());
    assert!(trim(&["/data", "/x'; reboot"]).command.is_none());
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
