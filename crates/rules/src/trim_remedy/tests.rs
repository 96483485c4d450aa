//! Tests of the fixes.

use super::*;
use crate::test_host::{TestHost, nvme};
use crate::test_jobs::{cron_job, cron_weekly, fstrim_timer, jobs};
use facts::Host;
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

fn host(list: Vec<Job>) -> Host {
    TestHost::new()
        .device(nvme("nvme0n1"))
        .mount("/data", "nvme0n1", "xfs", "rw")
        .with(jobs(list))
        .build()
}

#[test]
fn commands_are_shell() {
    let host = host(vec![
        fstrim_timer(),
        cron_weekly("f'; reboot; '", "fstrim --all"),
        cron_job("/etc/crontab:9", "0 0 * * *", "fstrim /data"),
        cron_job("var/spool/cron/root:9", "0 0 * * *", "fstrim /data"),
    ]);
    let cx = Context::new(&host);
    let trims = cx.trim_jobs().expect("jobs");
    for trim in &trims.jobs {
        assert_parses(&stop(trim.job, "Stop it."));
        assert_parses(&replace_by_paced(&cx, &[trim], &cx.volumes[0]));
    }
}

#[test]
fn mounts_are_quoted() {
    let host = host(Vec::new());
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
fn a_job_moves_to_a_place_whose_name_says_that_its_time_is_quiet() {
    let line = cron_job("var/spool/cron/root:9", "0 0 * * *", "fstrim -a");
    for (job, place) in [
        (fstrim_timer(), "a drop-in quiet-time.conf"),
        (line, "from var/spool/cron/root:9 to"),
    ] {
        let text = move_to_quiet_time(&job).text;
        assert!(text.contains(place), "{text}");
        assert!(text.contains("quiet-time"), "{text}");
    }
}
