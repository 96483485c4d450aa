use super::*;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::test_host::{TestHost, nvme};
use crate::test_jobs::{LISTED_IN, command, cron_job, fstab, fstrim_timer, jobs, timer};

/// Returns a host with `/` and `/data` on separate drives, both in fstab unless changed.
fn two_mounts() -> TestHost {
    TestHost::new()
        .devices([nvme("nvme0n1"), nvme("nvme1n1")])
        .mount("/", "nvme0n1", "ext4", "rw,relatime")
        .mount("/data", "nvme1n1", "xfs", "rw,noatime")
        .with(fstab(&[("/", "defaults"), ("/data", "defaults")]))
}

fn reach(host: TestHost, line: &str, mount_point: &str) -> Reach {
    let host = host
        .with(jobs(vec![cron_job("/etc/cron.d/t:1", "0 0 * * *", line)]))
        .build();
    let cx = Context::new(&host);
    let trims = cx.trim_jobs().expect("jobs are known");
    let volume = cx
        .volumes
        .iter()
        .find(|volume| volume.mount.mount_point == mount_point)
        .expect("mounted");
    assert_eq!(trims.jobs.len(), 1, "{line} is a trim");
    trims.reach(&trims.jobs[0], volume)
}

#[test]
fn unknown_jobs_are_not_no_jobs() {
    let host = two_mounts().with(|host| host.jobs = None).build();
    assert!(Context::new(&host).trim_jobs().is_none());
    let host = two_mounts().build();
    assert_eq!(Context::new(&host).trim_jobs().unwrap().jobs.len(), 0);
}

#[test]
fn unknown_timers_may_trim() {
    let undecided = |timers_unknown| {
        let host = two_mounts().with(|host| host.timers_unknown = timers_unknown);
        let host = host.build();
        let cx = Context::new(&host);
        let trims = cx.trim_jobs().unwrap();
        let volume = &cx.volumes[1];
        let skipped = trims.undecided("TRIM002", volume);
        (trims.may_be_trimmed(volume), skipped.map(|skip| skip.what))
    };
    assert_eq!(undecided(true), (true, Some("TRIM002 on /data".to_owned())));
    assert_eq!(undecided(false), (false, None));
}

#[test]
fn a_bind_mount_of_type_none_is_no_line_for_fstrim() {
    let host = || {
        two_mounts().with(|host| {
            let entry = host.fstab.as_mut().and_then(|fstab| fstab.last_mut());
            entry.expect("/data").fs_type = "none".to_owned();
        })
    };
    let missed = Reach::Missed(Miss::FstabTypeNone { line: 2 });
    assert_eq!(reach(host(), LISTED_IN, "/data"), missed);
    assert_eq!(reach(host(), "fstrim --all", "/data"), Reach::Reached);
}

#[test]
fn all_uses_mountinfo() {
    for line in [
        "fstrim -a",
        "fstrim -av",
        "fstrim --all --verbose",
        "fstrim --al",
    ] {
        let host = two_mounts().with(fstab(&[("/", "defaults")]));
        assert_eq!(reach(host, line, "/data"), Reach::Reached, "{line}");
    }
}

#[test]
fn listed_in_stops_at_fstab() {
    let without = || two_mounts().with(fstab(&[("/", "defaults")]));
    for line in [
        LISTED_IN,
        "fstrim -A",
        "fstrim -Av",
        "fstrim -I/etc/fstab:/proc/self/mountinfo",
    ] {
        assert_eq!(
            reach(without(), line, "/data"),
            Reach::Missed(Miss::NotInFstab),
            "{line}"
        );
        assert_eq!(reach(without(), line, "/"), Reach::Reached, "{line}");
    }
    // An empty fstab is skipped.
    assert_eq!(
        reach(two_mounts().with(fstab(&[])), LISTED_IN, "/data"),
        Reach::Reached
    );
    assert_eq!(
        reach(
            two_mounts().with(|host| host.fstab = None),
            LISTED_IN,
            "/data"
        ),
        Reach::Reached
    );
}

#[test]
fn an_unreadable_fstab_is_undecided() {
    let host = two_mounts().with(|host| {
        host.fstab = None;
        host.skipped.push(facts::Skipped::new(
            "etc/fstab",
            "permission denied",
            Some("root"),
        ));
    });
    assert!(matches!(reach(host, LISTED_IN, "/data"), Reach::Unknown(_)));
}

#[test]
fn root_is_trimmed_without_an_entry() {
    let host = two_mounts().with(fstab(&[("/data", "defaults")]));
    assert_eq!(reach(host, LISTED_IN, "/"), Reach::Reached);
}

#[test]
fn notrim_counts_if_fstrim_supports_it() {
    let with_notrim = || {
        two_mounts().with(fstab(&[
            ("/", "defaults"),
            ("/data/", "noatime,X-fstrim.notrim"),
        ]))
    };
    assert_eq!(
        reach(with_notrim(), LISTED_IN, "/data"),
        Reach::Missed(Miss::NoTrim { line: 2 })
    );
    // The option only exists in fstab: mountinfo does not have it.
    assert_eq!(reach(with_notrim(), "fstrim -a", "/data"), Reach::Reached);
    // Debian 11's fstrim is 2.36.1.
    let old = with_notrim().with(|host| host.platform.distribution_version = Some("11".to_owned()));
    assert_eq!(reach(old, LISTED_IN, "/data"), Reach::Reached);
}

#[test]
fn notrim_by_release() {
    let honours = |id: &str, version: &str| {
        supports_notrim(&Platform {
            distribution: Some(id.to_owned()),
            distribution_version: Some(version.to_owned()),
            ..Platform::default()
        })
    };
    assert!(!honours("ubuntu", "22.04"));
    assert!(honours("ubuntu", "24.04"));
    assert!(!honours("centos", "7"));
    assert!(!honours("rocky", "9.4"));
    assert!(honours("rocky", "10.0"));
    assert!(honours("arch", ""));
}

#[test]
fn read_only_mounts_are_skipped() {
    let by_fstab = two_mounts().with(fstab(&[("/", "defaults"), ("/data", "ro")]));
    assert_eq!(
        reach(by_fstab, LISTED_IN, "/data"),
        Reach::Missed(Miss::FstabReadOnly { line: 2 })
    );
    let remounted = || {
        two_mounts().with(|host| {
            let data = host.mounts.iter_mut().find(|m| m.mount_point == "/data");
            data.unwrap().options = vec!["ro".to_owned()];
        })
    };
    assert_eq!(
        reach(remounted(), LISTED_IN, "/data"),
        Reach::Missed(Miss::ReadOnly)
    );
    assert_eq!(
        reach(remounted(), "fstrim -a", "/data"),
        Reach::Missed(Miss::ReadOnly)
    );
    // The kernel trims a read-only mount if it is named explicitly.
    assert_eq!(reach(remounted(), "fstrim /data", "/data"), Reach::Reached);
}

#[test]
fn a_named_directory_stands_for_its_filesystem() {
    assert_eq!(
        reach(two_mounts(), "fstrim -v /data", "/data"),
        Reach::Reached
    );
    assert_eq!(
        reach(two_mounts(), "fstrim /data/mongodb", "/data"),
        Reach::Reached
    );
    assert_eq!(
        reach(two_mounts(), "fstrim /data", "/"),
        Reach::Missed(Miss::NotNamed)
    );
}

#[test]
fn paths_computed_by_the_shell_are_unknown() {
    assert!(matches!(
        reach(two_mounts(), "fstrim $mount", "/data"),
        Reach::Unknown(_)
    ));
    assert!(matches!(
        reach(two_mounts(), "fstrim", "/"),
        Reach::Unknown(_)
    ));
    assert!(matches!(
        reach(two_mounts(), "fstrim --listed-in /etc/trim.tab", "/"),
        Reach::Unknown(_)
    ));
}

#[test]
fn fstrim_takes_one_mount_point() {
    assert!(matches!(
        reach(two_mounts(), "fstrim / /data", "/data"),
        Reach::Missed(Miss::Refused(_))
    ));
    assert!(matches!(
        reach(two_mounts(), "fstrim -a /data", "/data"),
        Reach::Missed(Miss::Refused(_))
    ));
    assert!(matches!(
        reach(two_mounts(), "fstrim -a -A", "/data"),
        Reach::Missed(Miss::Refused(_))
    ));
}

#[test]
fn types_restrict_the_filesystems() {
    assert_eq!(
        reach(two_mounts(), "fstrim -a -t ext4,btrfs", "/data"),
        Reach::Missed(Miss::TypeLeftOut)
    );
    assert_eq!(
        reach(two_mounts(), "fstrim -a -t noext4,vfat", "/data"),
        Reach::Reached
    );
    assert_eq!(
        reach(two_mounts(), "fstrim --all --types=noxfs", "/data"),
        Reach::Missed(Miss::TypeLeftOut)
    );
}

#[test]
fn a_hidden_mount_is_not_trimmed() {
    let host = two_mounts()
        .device(nvme("nvme2n1"))
        .mount("/data", "nvme2n1", "xfs", "rw")
        .with(jobs(vec![fstrim_timer()]))
        .build();
    let cx = Context::new(&host);
    let trims = cx.trim_jobs().unwrap();
    let reached: Vec<bool> = cx
        .volumes
        .iter()
        .map(|volume| trims.may_be_trimmed(volume))
        .collect();
    assert_eq!(reached, [true, false, true]);
}

#[test]
fn dry_runs_and_other_programs_are_no_trims() {
    for line in [
        "fstrim -an",
        "fstrim --all --dry-run",
        "fstrim --help",
        "blkdiscard /dev/sdb",
    ] {
        let host = two_mounts()
            .with(jobs(vec![cron_job("/etc/cron.d/t:1", "0 0 * * *", line)]))
            .build();
        assert!(
            Context::new(&host).trim_jobs().unwrap().jobs.is_empty(),
            "{line}"
        );
    }
}

#[test]
fn trims_by_other_names_are_trims_of_something() {
    for line in ["fstrim-all", "scylla_fstrim"] {
        let found = reach(two_mounts(), line, "/data");
        assert!(matches!(found, Reach::Unknown(_)), "{line}: {found:?}");
    }
}

#[test]
fn paced_trims_are_distinguished_from_whole_ones() {
    let unpaced = |line: &str| {
        let command = command(line, "etc/cron.d/t:1");
        !TrimCommand::parse(&command).expect("a trim").in_pieces
    };
    assert!(unpaced("fstrim -a"));
    assert!(unpaced("fstrim -m 1M /data"));
    assert!(!unpaced("fstrim -o 0 -l 128M /data"));
    assert!(!unpaced("trimtab trim /data --window 01:00-05:00"));
    for line in [
        "trimtab trim --window 01:00-05:00 /data",
        "trimtab trim --rate 500MiB/s --probe http://127.0.0.1:9200 --yes /data",
        "trimtab trim $TRIMTAB_TRIM_OPTIONS /data",
        // As 0.2.0 takes it.
        "trimtab trim --max-request / /data",
    ] {
        assert_eq!(reach(two_mounts(), line, "/data"), Reach::Reached, "{line}");
        let other = Reach::Missed(Miss::NotNamed);
        assert_eq!(reach(two_mounts(), line, "/"), other, "{line}");
    }
    for option in ["--status", "--cancel", "--restore-limits"] {
        let other = command(&format!("trimtab trim {option}"), "etc/cron.d/t:1");
        assert!(TrimCommand::parse(&other).is_none(), "{option}");
    }
}

#[test]
fn a_cron_line_that_starts_the_service_trims_what_it_trims() {
    let mut disabled = timer("fstrim.timer", "weekly", "fstrim -a");
    disabled.timer.as_mut().unwrap().active = Some(false);
    let host = two_mounts()
        .with(jobs(vec![
            disabled,
            cron_job("/etc/cron.d/t:1", "0 3 * * 6", "systemctl start fstrim"),
        ]))
        .build();
    let cx = Context::new(&host);
    let trims = cx.trim_jobs().unwrap();
    let active: Vec<&str> = trims.active().map(|trim| trim.job.name.as_str()).collect();
    assert_eq!(active, ["/etc/cron.d/t:1"]);
    assert!(cx.volumes.iter().all(|volume| trims.may_be_trimmed(volume)));
}

proptest::proptest! {
    /// No argument list makes the parser panic.
    #[test]
    fn any_arguments_parse(words in proptest::collection::vec("[-a-zA-Z=/:$ ]{0,12}", 0..8)) {
        let mut line = command("fstrim", "etc/cron.d/t:1");
        line.arguments = words;
        let _ = TrimCommand::parse(&line);
    }

    /// Options unrelated to the targets do not change them, wherever they occur.
    #[test]
    fn other_options_do_not_change_the_targets(
        words in proptest::sample::select(vec!["--all", "-A", "/data", "-I/etc/fstab"]),
        before in other_options(),
        after in other_options(),
    ) {
        let targets = |arguments: Vec<&str>| {
            let mut line = command("fstrim", "etc/cron.d/t:1");
            line.arguments = arguments.into_iter().map(str::to_owned).collect();
            TrimCommand::parse(&line).expect("a trim").targets
        };
        let alone = targets(vec![words]);
        let among = targets([before, vec![words], after].concat());
        proptest::prop_assert_eq!(alone, among);
    }
}

fn other_options() -> impl proptest::strategy::Strategy<Value = Vec<&'static str>> {
    use proptest::strategy::Strategy;
    let option = proptest::sample::select(vec![
        vec!["-v"],
        vec!["--verbose"],
        vec!["--quiet-unsupported"],
        vec!["-m", "1M"],
        vec!["--minimum=64K"],
        vec!["-vo", "0"],
        vec!["-t", "noext4"],
    ]);
    proptest::collection::vec(option, 0..4).prop_map(|options| options.concat())
}

/// A bundle of 300 KB can hold tens of thousands of jobs and mounts.
#[test]
fn comparisons_are_bounded_and_the_rest_is_reported() {
    let many =
        || (0..30_000).map(|n| cron_job(&format!("/etc/cron.d/t:{n}"), "0 0 * * *", "fstrim -a"));
    let mounts = |host: &mut Host| {
        let mount = host.mounts[0].clone();
        for id in 1..20_000 {
            let mut device = host.devices[0].clone();
            device.name = format!("sd{id:05}");
            device.number = facts::host::DeviceNumber {
                major: 8,
                minor: id,
            };
            host.mounts.push(facts::host::Mount {
                id: u64::from(id) + 100,
                device_number: device.number,
                mount_point: format!("/m{id}"),
                ..mount.clone()
            });
            host.devices.push(device);
        }
    };
    let host = two_mounts()
        .with(mounts)
        .with(jobs(many().collect()))
        .build();
    let cx = Context::new(&host);
    let mut out = Outcome::default();
    let trims = cx
        .trim_jobs_or_skip("TRIM002", &mut out)
        .expect("jobs are known");
    assert_eq!(cx.volumes.len(), 20_001);
    assert_eq!(trims.jobs.len(), COMPARISONS_MAX / 20_001);
    assert_eq!(trims.more, 30_000 - trims.jobs.len());
    let said: Vec<&str> = out
        .skipped
        .iter()
        .map(|skipped| skipped.why.as_str())
        .collect();
    assert_eq!(said, ["only 99 of 30,000 trim jobs were examined"]);
    assert!(trims.find(&host.jobs.as_ref().unwrap()[98]).is_some());
    assert!(trims.find(&host.jobs.as_ref().unwrap()[99]).is_none());
}
