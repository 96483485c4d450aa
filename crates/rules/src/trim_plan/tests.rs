use super::*;
use crate::test_host::{TestHost, nvme};
use crate::test_jobs::{cron_job, cron_weekly, fstab, fstrim_timer, jobs, timer};
use facts::host::Job;

const FSTAB: &[(&str, &str)] = &[("/", "rw"), ("/data", "noatime")];

/// A root filesystem and one for data, each on a drive of its own, on Debian 12.
fn host(list: Vec<Job>) -> Host {
    TestHost::new()
        .device(nvme("nvme0n1"))
        .device(nvme("nvme1n1"))
        .mount("/", "nvme0n1", "ext4", "rw")
        .mount("/data", "nvme1n1", "xfs", "rw,noatime")
        .with(fstab(FSTAB))
        .with(jobs(list))
        .with(|host| {
            host.platform.distribution = Some("debian".to_owned());
            host.platform.distribution_version = Some("12".to_owned());
        })
        .build()
}

fn taken_over(host: &Host, mount_points: &[&str], may_edit_fstab: bool) -> Takeover {
    try_take_over(host, mount_points, may_edit_fstab).expect("a plan")
}

fn try_take_over(
    host: &Host,
    mount_points: &[&str],
    may_edit_fstab: bool,
) -> Result<Takeover, Box<PlanRefusal>> {
    let mount_points: Vec<String> = mount_points.iter().map(ToString::to_string).collect();
    let request = TakeoverRequest {
        mount_points: &mount_points,
        may_edit_fstab,
        is_directory: &|_| Ok(true),
    };
    takeover(host, &request)
}

fn edits(takeover: &Takeover) -> Vec<&Edit> {
    takeover.edits.iter().map(|(edit, _)| edit).collect()
}

fn mounts(takeover: &Takeover) -> Vec<&str> {
    let mounts = takeover.mounts.iter();
    mounts.map(|mount| mount.mount_point.as_str()).collect()
}

fn masked(unit: &str) -> Edit {
    Edit::Link {
        path: format!("etc/systemd/system/{unit}"),
        target: "/dev/null".to_owned(),
    }
}

#[test]
fn fstab_takes_a_mount_out_of_the_timer_if_it_may_be_edited() {
    let host = host(vec![fstrim_timer()]);
    let asks = taken_over(&host, &["/data"], false);
    assert_eq!(asks.blocked.len(), 1);
    assert_eq!(asks.blocked[0].why, "fstrim.timer trims /data as well");
    let may = taken_over(&host, &["/data/"], true);
    let option = Edit::AddMountOption {
        line: 2,
        mount_point: "/data".to_owned(),
        option: NOTRIM.to_owned(),
    };
    assert_eq!((edits(&may), mounts(&may)), (vec![&option], vec!["/data"]));
    assert_eq!((may.stops.len(), may.blocked.len()), (0, 0));
    // Nothing is left for the timer.
    let both = taken_over(&host, &["/data", "/"], true);
    assert_eq!(edits(&both), [&masked("fstrim.timer")]);
    assert_eq!(mounts(&both), ["/data", "/"]);
    assert_eq!(both.stops, ["fstrim.timer"]);
}

#[test]
fn where_fstrim_does_not_know_the_option_the_rest_is_planned_as_well() {
    let mut host = host(vec![fstrim_timer()]);
    host.platform.distribution_version = Some("11".to_owned());
    let all = taken_over(&host, &["/data"], true);
    assert_eq!(edits(&all), [&masked("fstrim.timer")]);
    assert_eq!(mounts(&all), ["/data", "/"]);
    assert_eq!(all.mounts[1].loses.as_deref(), Some("fstrim.timer"));
}

#[test]
fn each_kind_of_job_ends_in_its_own_way() {
    let ended = |job: Job| {
        let takeover = taken_over(&host(vec![job]), &["/data"], false);
        assert_eq!(takeover.blocked, [], "{takeover:?}");
        let edits = edits(&takeover).into_iter().cloned().collect::<Vec<_>>();
        (edits, mounts(&takeover).len())
    };
    let line = cron_job("/etc/crontab:9", "0 3 * * 0", "fstrim /data");
    let commented = Edit::CommentOut {
        path: "etc/crontab".to_owned(),
        line: 9,
    };
    assert_eq!(ended(line), (vec![commented], 1));
    let users = cron_job(
        "var/spool/cron/crontabs/root:3",
        "0 3 * * 0",
        "fstrim --all",
    );
    let commented = Edit::CommentOut {
        path: "var/spool/cron/crontabs/root".to_owned(),
        line: 3,
    };
    assert_eq!(ended(users), (vec![commented], 2), "what --all has trimmed");
    let script = Edit::MakeNotExecutable {
        path: "etc/cron.weekly/fstrim".to_owned(),
    };
    assert_eq!(ended(cron_weekly("fstrim", "fstrim --all")).0, [script]);
    let btrfs = timer("btrfs-trim.timer", "monthly", "fstrim --verbose /data");
    assert_eq!(ended(btrfs), (vec![masked("btrfs-trim.timer")], 1));
    // What it trims, its text does not tell: it may be this.
    let scylla = timer("scylla-fstrim.timer", "daily", "scylla_fstrim");
    assert_eq!(ended(scylla).0, [masked("scylla-fstrim.timer")]);
    let mut own = timer("mine.timer", "daily", "fstrim /data");
    own.defined_in = "etc/systemd/system/mine.timer".to_owned();
    let unit = "mine.timer".to_owned();
    assert_eq!(ended(own).0, [Edit::Disable { unit }]);
    let elsewhere = timer("fstrim.timer", "weekly", "fstrim /");
    assert_eq!(ended(elsewhere), (Vec::new(), 1));
}

#[test]
fn a_job_that_does_more_than_trim_is_left_to_the_user() {
    let mut job = cron_weekly("maintenance", "fstrim /data");
    job.commands.push(crate::test_jobs::command(
        "restic backup /",
        "etc/cron.weekly/maintenance:4",
    ));
    let takeover = taken_over(&host(vec![job]), &["/data"], true);
    assert_eq!(edits(&takeover), Vec::<&Edit>::new());
    assert!(
        takeover.blocked[0].why.contains("does other work besides"),
        "{takeover:?}"
    );
}

#[test]
fn its_own_job_stays_with_its_options() {
    let line = "trimtab trim --window 01:00-05:00 --deadline 4h --max-latency 5ms --rate=1GiB/s --require-green http://h:9200 /data";
    let own = timer("trimtab-trim@data.timer", "Tue 01:00", line);
    let takeover = taken_over(&host(vec![own]), &["/data"], true);
    assert_eq!((takeover.edits.len(), takeover.others.len()), (0, 0));
    let kept = [
        "--max-latency 5ms",
        "--rate 1GiB/s",
        "--require-green http://h:9200",
    ];
    assert_eq!(takeover.mounts[0].options, kept);
}

#[test]
fn what_must_not_be_trimmed_gets_no_plan() {
    let reason = |host: &Host, mount_point: &str| {
        try_take_over(host, &[mount_point], true)
            .expect_err("a refusal")
            .reason
    };
    let plain = host(Vec::new());
    assert_eq!(
        reason(&plain, "/data/es"),
        "it is no mount point, but a directory on /data"
    );
    let mut online = plain.clone();
    for mount in &mut online.mounts {
        mount.options.push("discard".to_owned());
    }
    assert!(reason(&online, "/").starts_with("it discards what it frees by itself"));
    // An XFS goes on until it is mounted again, without what fstab no longer says.
    assert!(try_take_over(&online, &["/data"], true).is_ok());
    online.fstab.as_mut().expect("lines")[1]
        .options
        .push("discard".to_owned());
    assert!(reason(&online, "/data").starts_with("it discards what it frees by itself"));
    let mut read_only = plain.clone();
    read_only.mounts[1].options = vec!["ro".to_owned()];
    assert_eq!(
        reason(&read_only, "/data"),
        "it is mounted read-only: nothing is freed there"
    );
    let mut unknown = plain.clone();
    unknown.jobs = None;
    assert!(reason(&unknown, "/data").contains("is not known"));
    let mut container = plain;
    container.platform.container = Some("lxc".to_owned());
    assert_eq!(
        reason(&container, "/data"),
        "its trim is not this system's to plan"
    );
}

fn weekly() -> Schedule {
    Schedule {
        calendar: "Tue *-*-* 01:00:00".to_owned(),
        cron: "0 1 * * 2".to_owned(),
        window: "01:00-05:00".to_owned(),
        zone: None,
        window_zone: None,
        deadline: "4h".to_owned(),
    }
}

fn written(
    scheduler: Scheduler,
    mount_point: &str,
    options: &[&str],
    zone: Option<&str>,
) -> Result<Vec<Edit>, Blocked> {
    let options: Vec<String> = options.iter().map(ToString::to_string).collect();
    let units = UnitOptions {
        program: None,
        timer_template: "/usr/lib/systemd/system/trimtab-trim@.timer",
        options: &options,
    };
    let when = Schedule {
        zone: zone.map(str::to_owned),
        ..weekly()
    };
    let edits = trim_edits(scheduler, mount_point, &when, units)?;
    Ok(edits.into_iter().map(|(edit, _)| edit).collect())
}

#[test]
fn units_are_named_as_systemd_escapes_them() {
    for (mount_point, unit) in [
        ("/", "trimtab-trim@-.timer"),
        ("/data", "trimtab-trim@data.timer"),
        (
            "/var/lib/elasticsearch/",
            "trimtab-trim@var-lib-elasticsearch.timer",
        ),
        ("/srv/es-data//x", "trimtab-trim@srv-es\\x2ddata-x.timer"),
        (
            "/.hidden/my data",
            "trimtab-trim@\\x2ehidden-my\\x20data.timer",
        ),
    ] {
        assert_eq!(timer_name(mount_point), unit);
    }
}

#[test]
fn systemd_gets_drop_ins_and_a_link() {
    let edits = written(
        Scheduler::Systemd,
        "/data",
        &["--max-latency 5ms"],
        Some("Europe/Berlin"),
    )
    .expect("units");
    let [
        Edit::Write { path, text },
        Edit::Write { text: service, .. },
        Edit::Link { target, .. },
    ] = edits.as_slice()
    else {
        panic!("{edits:?}");
    };
    assert_eq!(
        path,
        "etc/systemd/system/trimtab-trim@data.timer.d/trimtab-plan.conf"
    );
    assert!(
        text.contains(
            "\nOnCalendar=\nOnCalendar=Tue *-*-* 01:00:00 Europe/Berlin\nAccuracySec=1s\n"
        ),
        "{text}"
    );
    assert!(service.contains("\"TRIMTAB_TRIM_OPTIONS=--window 01:00-05:00 --tz Europe/Berlin --deadline 4h --max-latency 5ms\""), "{service}");
    assert_eq!(target, "/usr/lib/systemd/system/trimtab-trim@.timer");
}

#[test]
fn cron_gets_a_line() {
    let edits = written(Scheduler::Cron, "/data", &[], None).expect("a line");
    let [Edit::Write { path, text }] = edits.as_slice() else {
        panic!("{edits:?}");
    };
    assert_eq!(path, "etc/cron.d/trimtab-plan-data");
    assert!(
        text.ends_with(
            "\n0 1 * * 2 root /usr/bin/trimtab trim --window 01:00-05:00 --deadline 4h /data\n"
        ),
        "{text}"
    );
    let edits = written(Scheduler::Busybox, "/data", &[], None).expect("a line");
    assert!(
        matches!(&edits[0], Edit::SetLine { path, text, .. } if path == "etc/crontabs/root" && text.starts_with("0 1 * * 2 /usr/bin")),
        "{edits:?}"
    );
}

#[test]
fn no_two_filesystems_share_a_file_of_crons() {
    let paths = ["/", "/root", "/_root", "/a/b", "/a-b", "/a_b"].map(|mount_point| {
        let edits = written(Scheduler::Cron, mount_point, &[], None).expect("a line");
        let [Edit::Write { path, .. }] = edits.as_slice() else {
            panic!("{edits:?}");
        };
        let name = path.trim_start_matches("etc/cron.d/");
        let is_read = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        assert!(name.chars().all(is_read), "{name}");
        path.clone()
    });
    let distinct: std::collections::BTreeSet<_> = paths.iter().collect();
    assert_eq!(distinct.len(), paths.len(), "{paths:?}");
}

#[test]
fn what_a_line_cannot_say_is_in_the_way() {
    for (scheduler, mount_point, options, zone) in [
        (Scheduler::Cron, "/my data", &[][..], None),
        (Scheduler::Cron, "/data", &[], Some("Europe/Berlin")),
        (Scheduler::Systemd, "/data", &["--probe sh -c 'true'"], None),
        (Scheduler::Systemd, "/data", &["--probe a\"b"], None),
    ] {
        assert!(
            written(scheduler, mount_point, options, zone).is_err(),
            "{mount_point} {options:?}"
        );
    }
}

#[test]
fn other_drop_ins_override_or_have_options() {
    let options =
        "[Service]\nEnvironment=\"TRIMTAB_TRIM_OPTIONS=--window 02:00-05:00 --max-latency 5ms\"\n";
    let kept = OtherDropIn::Options(vec!["--max-latency 5ms".to_owned()]);
    assert_eq!(other_drop_in("override.conf", options), kept);
    assert_eq!(other_drop_in("zz.conf", options), OtherDropIn::Overrides);
    let removed = "Environment=\"TRIMTAB_TRIM_OPTIONS=--max-request 16MiB --max-latency 5ms\"\n";
    assert_eq!(other_drop_in("override.conf", removed), kept);
    let delay = "[Timer]\nRandomizedDelaySec=2h\n";
    assert_eq!(
        other_drop_in("override.conf", delay),
        OtherDropIn::Unrelated
    );
    assert_eq!(other_drop_in("user.conf", delay), OtherDropIn::Overrides);
    assert_eq!(
        other_drop_in("zz.conf", "[Service]\n# ExecStart=\nNice=5\n"),
        OtherDropIn::Unrelated
    );
}
