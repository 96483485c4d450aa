//! Tests with whole hosts: the files on them and the jobs found.

use super::*;
use crate::command::Command;
use crate::parse::systemctl;
use crate::source::{Kind, MemorySource, Source, Stat};
use crate::unread::Unread;
use facts::host::{Calendars, EnabledState, Guard, Job, Trigger};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A host in memory with executable files and modification times.
#[derive(Default)]
struct Tree {
    memory: MemorySource,
    executable: BTreeSet<String>,
    changed_at_s: BTreeMap<String, i64>,
    /// File status as recorded in a bundle.
    stats: BTreeMap<String, Result<Stat, Unread>>,
    systemctl: Option<String>,
}

impl Tree {
    fn file(mut self, path: &str, content: &str) -> Self {
        self.memory = self.memory.file(path, content);
        self
    }

    fn program(mut self, path: &str, content: &str) -> Self {
        self.executable.insert(path.to_owned());
        self.file(path, content)
    }

    fn mode(mut self, path: &str, kind: Kind, mode: u32) -> Self {
        let stat = Stat {
            kind,
            mode,
            mtime_s: 0,
            size_bytes: 100,
        };
        self.stats.insert(path.to_owned(), Ok(stat));
        self
    }

    fn link(mut self, path: &str, target: &str) -> Self {
        self.memory = self.memory.symlink(path, target);
        self
    }

    fn systemctl(mut self, answer: &str) -> Self {
        self.systemctl = Some(answer.to_owned());
        self
    }

    /// Adds the programs that make the tree look like a complete host.
    fn whole(self) -> Self {
        self.program("usr/bin/env", "").program("usr/sbin/cron", "")
    }

    fn read_on(&self, distribution: &str) -> Host {
        let mut host = Host::default();
        host.platform.distribution = Some(distribution.to_owned());
        let reader = Reader::new(self);
        read(&reader, &mut host);

        // Read again from what a bundle would contain.
        let recording = reader.into_recording();
        let mut bundle = Self {
            memory: self.memory.clone(),
            stats: recording.stats.clone(),
            ..Self::default()
        };
        for (path, content) in &recording.files {
            if let Ok(content) = content {
                bundle.memory = bundle.memory.file(path, content);
            }
        }
        bundle.systemctl = recording
            .commands
            .get("systemctl_show")
            .and_then(|answer| Some(String::from_utf8_lossy(answer.as_ref().ok()?).into_owned()));
        let mut again = Host::default();
        again.platform.distribution = Some(distribution.to_owned());
        read(&Reader::new(&bundle), &mut again);
        assert_eq!(host.jobs, again.jobs);
        assert_eq!(host.skipped, again.skipped);
        host
    }
}

impl Source for Tree {
    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, Unread> {
        self.memory.read(path, max_bytes)
    }
    fn list(&self, path: &str) -> Result<Vec<String>, Unread> {
        self.memory.list(path)
    }
    fn link(&self, path: &str) -> Result<String, Unread> {
        self.memory.link(path)
    }
    fn stat(&self, path: &str) -> Result<Stat, Unread> {
        if let Some(recorded) = self.stats.get(path) {
            return recorded.clone();
        }
        let mut stat = self.memory.stat(path)?;
        if self.executable.contains(path) {
            stat.mode = 0o755;
        }
        if let Some(&at) = self.changed_at_s.get(path) {
            stat.mtime_s = at;
        }
        Ok(stat)
    }
    fn command(&self, _: &Command) -> Result<Vec<u8>, Unread> {
        self.systemctl
            .as_ref()
            .map(|answer| answer.clone().into_bytes())
            .ok_or(Unread::NotFound)
    }
}

fn names(host: &Host) -> Vec<&str> {
    let jobs = host.jobs.as_deref().expect("jobs");
    jobs.iter().map(|job| job.name.as_str()).collect()
}

fn job<'h>(host: &'h Host, name: &str) -> &'h Job {
    let jobs = host.jobs.as_deref().expect("jobs");
    jobs.iter()
        .find(|job| job.name == name)
        .unwrap_or_else(|| panic!("no {name} among {:?}", names(host)))
}

fn commands(job: &Job) -> Vec<String> {
    job.commands
        .iter()
        .map(|command| {
            let mut line = command.program.clone();
            for argument in &command.arguments {
                line.push(' ');
                line.push_str(argument);
            }
            format!("{line} @ {}", command.source)
        })
        .collect()
}

fn cron(spec: &str, source: &str) -> Trigger {
    Trigger::Cron {
        spec: spec.to_owned(),
        time_zone: None,
        source: source.to_owned(),
    }
}

const DEBIAN_CRONTAB: &str = "# /etc/crontab: system-wide crontab\nSHELL=/bin/sh\nPATH=/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin\n\n17 *\t* * *\troot\tcd / && run-parts --report /etc/cron.hourly\n25 6\t* * *\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }\n47 6\t* * 7\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.weekly; }\n52 6\t1 * *\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.monthly; }\n#\n";
const DEBIAN_ANACRONTAB: &str = "# /etc/anacrontab: configuration file for anacron\n\nSHELL=/bin/sh\nHOME=/root\nLOGNAME=root\n\n# These replace cron's entries\n1\t5\tcron.daily\trun-parts --report /etc/cron.daily\n7\t10\tcron.weekly\trun-parts --report /etc/cron.weekly\n@monthly\t15\tcron.monthly\trun-parts --report /etc/cron.monthly\n";
const DEBIAN_CRON_D_ANACRON: &str = "SHELL=/bin/sh\n\n30 7-23 * * *   root\t[ -x /etc/init.d/anacron ] && if [ ! -d /run/systemd/system ]; then /usr/sbin/invoke-rc.d anacron start >/dev/null; fi\n";
const DEBIAN_E2SCRUB: &str = "30 3 * * 0 root test -e /run/systemd/system || SERVICE_MODE=1 /usr/lib/x86_64-linux-gnu/e2fsprogs/e2scrub_all_cron\n10 3 * * * root test -e /run/systemd/system || SERVICE_MODE=1 /sbin/e2scrub_all -A -r\n";
const DEBIAN_MDADM: &str = "57 0 * * 0 root if [ -x /usr/share/mdadm/checkarray ] && [ $(date +\\%d) -le 7 ]; then /usr/share/mdadm/checkarray --cron --all --idle --quiet; fi\n";
const DEBIAN_0ANACRON: &str =
    "#!/bin/sh\n#\n\ntest -x /usr/sbin/anacron || exit 0\nanacron -u cron.weekly\n";
const FSTRIM_TIMER: &str = "[Unit]\nDescription=Discard unused blocks once a week\nConditionVirtualization=!container\nConditionPathExists=!/etc/initrd-release\n\n[Timer]\nOnCalendar=weekly\nAccuracySec=1h\nPersistent=true\nRandomizedDelaySec=6000\n\n[Install]\nWantedBy=timers.target\n";
const FSTRIM_SERVICE: &str = "[Unit]\nDescription=Discard unused blocks on filesystems from /etc/fstab\nConditionVirtualization=!container\n\n[Service]\nType=oneshot\nExecStart=/sbin/fstrim --listed-in /etc/fstab:/proc/self/mountinfo --verbose --quiet-unsupported\nPrivateDevices=no\n";
const FSTRIM_COMMAND: &str = "fstrim --listed-in /etc/fstab:/proc/self/mountinfo --verbose --quiet-unsupported @ lib/systemd/system/fstrim.service:7";

fn debian_12() -> Tree {
    Tree::default()
        .whole()
        .program("usr/sbin/anacron", "")
        .file("run/systemd/system/x", "")
        .file("etc/crontab", DEBIAN_CRONTAB)
        .file("etc/anacrontab", DEBIAN_ANACRONTAB)
        .file("etc/cron.d/.placeholder", "# nothing\n")
        .file("etc/cron.d/anacron", DEBIAN_CRON_D_ANACRON)
        .file("etc/cron.d/e2scrub_all", DEBIAN_E2SCRUB)
        .file("etc/cron.d/mdadm", DEBIAN_MDADM)
        .program("etc/init.d/anacron", "#!/bin/sh\n")
        .program("etc/cron.weekly/0anacron", DEBIAN_0ANACRON)
        .file("etc/cron.weekly/.placeholder", "")
        .program(
            "etc/cron.daily/man-db",
            "#!/bin/sh\nexec ionice -c3 mandb\n",
        )
        .file("lib/systemd/system/fstrim.timer", FSTRIM_TIMER)
        .file("lib/systemd/system/fstrim.service", FSTRIM_SERVICE)
        .link(
            "etc/systemd/system/timers.target.wants/fstrim.timer",
            "/lib/systemd/system/fstrim.timer",
        )
        .link(
            "etc/systemd/system/timers.target.wants/anacron.timer",
            "/lib/systemd/system/anacron.timer",
        )
}

const DEBIAN_SYSTEMCTL: &str = "Unit=fstrim.service\nTimersCalendar={ OnCalendar=Mon *-*-* 00:00:00 ; next_elapse=Mon 2026-11-23 00:00:00 UTC }\nNextElapseUSecRealtime=Mon 2026-11-23 00:04:50 UTC\nLastTriggerUSec=n/a\nAccuracyUSec=1h\nRandomizedDelayUSec=1h 40min\nPersistent=yes\nId=fstrim.timer\nNames=fstrim.timer\nLoadState=loaded\nActiveState=active\nSubState=waiting\nFragmentPath=/lib/systemd/system/fstrim.timer\nUnitFileState=enabled\n\nId=cron.service\nNames=cron.service\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\n\nId=crond.service\nNames=crond.service\nLoadState=not-found\nActiveState=inactive\n";

#[test]
fn debian_12_with_systemd_and_anacron() {
    let host = debian_12().systemctl(DEBIAN_SYSTEMCTL).read_on("debian");
    assert_eq!(host.skipped, []);
    assert_eq!(
        names(&host),
        [
            "fstrim.timer",
            "/etc/cron.d/anacron:3",
            "/etc/cron.d/e2scrub_all:1",
            "/etc/cron.d/e2scrub_all:2",
            "/etc/cron.d/mdadm:1",
            "cron.daily/man-db",
            "cron.weekly/0anacron",
        ]
    );
    let fstrim = job(&host, "fstrim.timer");
    assert_eq!(
        fstrim.triggers,
        [Trigger::Calendar(Calendars {
            expressions: vec!["Mon *-*-* 00:00:00".to_owned()],
            accuracy_s: Some(3600.0),
            randomized_delay_s: Some(6000.0),
            fixed_random_delay: false,
            randomized_offset_s: None,
            persistent: true,
            source: "lib/systemd/system/fstrim.timer".to_owned(),
        })]
    );
    assert_eq!(commands(fstrim), [FSTRIM_COMMAND]);
    assert_eq!(fstrim.held_back_by, [""; 0]);
    assert_eq!(fstrim.last_run, None);
    assert_eq!(
        fstrim.next_run.map(|at| at.to_string()).as_deref(),
        Some("2026-11-23T00:04:50Z")
    );
    let timer = fstrim.timer.as_ref().expect("a timer");
    assert_eq!(timer.activates, "fstrim.service");
    assert_eq!(timer.enabled, Some(EnabledState::Enabled));
    assert_eq!(timer.active, Some(true));
    assert!(fstrim.is_active());

    let systemd_runs = "it does nothing where /run/systemd/system exists";
    for name in [
        "/etc/cron.d/anacron:3",
        "/etc/cron.d/e2scrub_all:1",
        "/etc/cron.d/e2scrub_all:2",
    ] {
        assert_eq!(job(&host, name).held_back_by, [systemd_runs], "{name}");
    }
    assert_eq!(
        job(&host, "/etc/cron.d/mdadm:1").held_back_by,
        ["it does nothing without /usr/share/mdadm/checkarray"]
    );
    // Debian's crontab leaves cron.daily to anacron.
    let man_db = job(&host, "cron.daily/man-db");
    assert_eq!(
        man_db.triggers,
        [Trigger::Anacron {
            period: "1".to_owned(),
            delay_min: 5,
            random_delay_min: None,
            start_hours: None,
            started_by: Vec::new(),
            identifier: "cron.daily".to_owned(),
            source: "etc/anacrontab:8".to_owned(),
        }]
    );
    assert_eq!(man_db.user.as_deref(), Some("root"));
    assert_eq!(commands(man_db), ["mandb @ etc/cron.daily/man-db:2"]);
    assert!(man_db.commands[0].idle_io);
    assert!(man_db.is_active());
}

#[test]
fn without_systemctl_the_unit_files_are_used() {
    let host = debian_12().read_on("debian");
    let fstrim = job(&host, "fstrim.timer");
    let timer = fstrim.timer.as_ref().expect("a timer");
    assert_eq!(timer.enabled, Some(EnabledState::Enabled));
    assert_eq!(timer.active, None);
    let Trigger::Calendar(calendars) = &fstrim.triggers[0] else {
        panic!("{:?}", fstrim.triggers);
    };
    assert_eq!(calendars.expressions, ["weekly"]);
    assert_eq!(calendars.accuracy_s, Some(3600.0));
    assert_eq!(calendars.randomized_delay_s, Some(6000.0));
    assert!(calendars.persistent);
}

#[test]
fn ubuntu_16_04_trims_by_cron_weekly() {
    let crontab = "SHELL=/bin/sh\n47 6\t* * 7\troot\ttest -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.weekly )\n";
    let script =
        "#!/bin/sh\n# trim all mounted file systems which support it\n/sbin/fstrim --all || true\n";
    let host = Tree::default()
        .whole()
        .file("etc/crontab", crontab)
        .program("etc/cron.weekly/fstrim", script)
        .read_on("ubuntu");
    assert_eq!(names(&host), ["cron.weekly/fstrim"]);
    let fstrim = job(&host, "cron.weekly/fstrim");
    assert_eq!(fstrim.triggers, [cron("47 6 * * 7", "etc/crontab:2")]);
    assert_eq!(fstrim.user.as_deref(), Some("root"));
    assert_eq!(fstrim.defined_in, "etc/cron.weekly/fstrim");
    assert_eq!(
        commands(fstrim),
        ["fstrim --all @ etc/cron.weekly/fstrim:3"]
    );
    assert!(fstrim.is_active());
}

#[test]
fn a_crontab_without_the_guard_and_anacron_both_start_the_scripts() {
    let host = debian_12()
        .file(
            "etc/crontab",
            "47 6 * * 7 root run-parts /etc/cron.weekly\n",
        )
        .program("etc/cron.weekly/trim", "#!/bin/sh\nfstrim -a\n")
        .read_on("debian");
    let trim = job(&host, "cron.weekly/trim");
    assert_eq!(trim.triggers.len(), 2);
    assert_eq!(trim.triggers[0], cron("47 6 * * 7", "etc/crontab:1"));
    assert!(
        matches!(&trim.triggers[1], Trigger::Anacron { identifier, .. } if identifier == "cron.weekly")
    );
}

#[test]
fn scripts_that_nothing_starts_have_no_trigger() {
    // Anacron is installed, so the crontab leaves the work to it; but nothing starts anacron.
    let host = Tree::default()
        .whole()
        .program("usr/sbin/anacron", "")
        .file("etc/crontab", DEBIAN_CRONTAB)
        .file("etc/anacrontab", DEBIAN_ANACRONTAB)
        .program("etc/cron.weekly/trim", "#!/bin/sh\nfstrim -a\n")
        .read_on("debian");
    assert_eq!(job(&host, "cron.weekly/trim").triggers, []);
}

#[test]
fn guards_with_dates_are_facts() {
    let shown = |host: &Host, name: &str| -> Vec<String> {
        let guard = |guard: &Guard| {
            let of = guard.trigger.as_ref().map(|of| format!("{of}: "));
            let zone = guard.zone.as_ref().map(|zone| format!(" in {zone}"));
            format!(
                "{}{}{}",
                of.unwrap_or_default(),
                guard.condition,
                zone.unwrap_or_default()
            )
        };
        job(host, name).guards.iter().map(guard).collect()
    };
    let host = debian_12()
        .program("usr/share/mdadm/checkarray", "#!/bin/bash\nmdadm --x\n")
        .file(
            "etc/cron.d/own",
            "TZ=America/New_York\n0 * * * * root [ $(date +\\%H) -eq 9 ] && /opt/report\n5 5 * * * root /usr/local/sbin/nightly\n9 9 * * * root [ $(date +\\%u) -eq 7 ] && run-parts /etc/cron.sundays\n",
        )
        .program(
            "usr/local/sbin/nightly",
            "#!/bin/bash\nif [ $(date +%u) -ne 6 ]; then\n  exit 0\nfi\nfstrim -av\n",
        )
        .program("etc/cron.sundays/a", "#!/bin/sh\n[ $(date +%d) -le 7 ] && fstrim -v /a\n")
        .program("etc/cron.daily/b", "#!/bin/sh\n[ $(date +%u) -eq 1 ] || exit 0\n/opt/b\n")
        .read_on("debian");
    assert_eq!(shown(&host, "/etc/cron.d/mdadm:1"), ["date +%d <= 7"]);
    assert!(job(&host, "/etc/cron.d/mdadm:1").is_active());
    assert_eq!(
        shown(&host, "/etc/cron.d/own:2"),
        ["date +%H == 9 in America/New_York"]
    );
    assert_eq!(
        shown(&host, "/etc/cron.d/own:3"),
        ["not (date +%u != 6) in America/New_York"]
    );
    assert_eq!(
        shown(&host, "cron.sundays/a"),
        [
            "etc/cron.d/own:4: date +%u == 7 in America/New_York",
            "date +%d <= 7"
        ]
    );
    assert_eq!(shown(&host, "cron.daily/b"), ["date +%u == 1"]);
    assert_eq!(shown(&host, "cron.daily/man-db"), [""; 0]);
}

/// Ubuntu 24.04's package anacron.
const UBUNTU_ANACRON_TIMER: &str = "[Unit]\nDescription=Trigger anacron every hour\n\n[Timer]\nOnCalendar=hourly\nRandomizedDelaySec=5m\nRandomizedOffsetSec=10m\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n";
const ANACRON_SERVICE: &str = "[Unit]\nDescription=Run anacron jobs\nAfter=time-sync.target\nConditionACPower=true\n\n[Service]\nEnvironmentFile=-/etc/default/anacron\nExecStart=/usr/sbin/anacron -d -q $ANACRON_ARGS\n\n[Install]\nWantedBy=multi-user.target\n";

#[test]
fn what_starts_anacron_is_known_from_its_timer_or_line() {
    let started_by = |host: &Host| match &job(host, "cron.daily/man-db").triggers[..] {
        [Trigger::Anacron { started_by, .. }] => started_by.clone(),
        other => panic!("{other:?}"),
    };
    let ubuntu = debian_12()
        .file("lib/systemd/system/anacron.timer", UBUNTU_ANACRON_TIMER)
        .file("lib/systemd/system/anacron.service", ANACRON_SERVICE)
        .read_on("ubuntu");
    assert_eq!(
        started_by(&ubuntu),
        [Trigger::Calendar(Calendars {
            expressions: vec!["hourly".to_owned()],
            randomized_delay_s: Some(300.0),
            randomized_offset_s: Some(600.0),
            persistent: true,
            source: "lib/systemd/system/anacron.timer".to_owned(),
            ..Calendars::default()
        })]
    );
    // A drop-in of the administrator.
    let changed = debian_12()
        .file("lib/systemd/system/anacron.timer", UBUNTU_ANACRON_TIMER)
        .file("lib/systemd/system/anacron.service", ANACRON_SERVICE)
        .file(
            "etc/systemd/system/anacron.timer.d/late.conf",
            "[Timer]\nOnCalendar=\nOnCalendar=*-*-* 20:00\n",
        )
        .read_on("ubuntu");
    assert!(
        matches!(&started_by(&changed)[..], [Trigger::Calendar(by)] if by.expressions == ["*-*-* 20:00"])
    );
    // Enabled, but its file was not read.
    assert_eq!(started_by(&debian_12().read_on("debian")), []);
}

const CENTOS_0ANACRON: &str = "#!/bin/sh\n# Check whether 0anacron was run today already\nif test -r /var/spool/anacron/cron.daily; then\n    day=`cat /var/spool/anacron/cron.daily`\nfi\nif [ `date +%Y%m%d` = \"$day\" ]; then\n    exit 0;\nfi\n\n/usr/sbin/anacron -s\n";
const CENTOS_ANACRONTAB: &str = "SHELL=/bin/sh\nMAILTO=root\nRANDOM_DELAY=45\nSTART_HOURS_RANGE=3-22\n\n1\t5\tcron.daily\t\tnice run-parts /etc/cron.daily\n7\t25\tcron.weekly\t\tnice run-parts /etc/cron.weekly\n";

#[test]
fn centos_7_ships_the_timer_disabled_and_starts_anacron_hourly() {
    let mut tree = Tree::default()
        .program("usr/bin/env", "")
        .program("usr/sbin/crond", "")
        .program("usr/sbin/anacron", "")
        .file("etc/crontab", "SHELL=/bin/bash\nMAILTO=root\n\n# For details see man 4 crontabs\n")
        .file("etc/cron.d/0hourly", "# Run the hourly jobs\nSHELL=/bin/bash\nMAILTO=root\n01 * * * * root run-parts /etc/cron.hourly\n")
        .program("etc/cron.hourly/0anacron", CENTOS_0ANACRON)
        .file("etc/anacrontab", CENTOS_ANACRONTAB)
        .program("etc/cron.daily/logrotate", "#!/bin/sh\n\n/usr/sbin/logrotate -s /var/lib/logrotate/logrotate.status /etc/logrotate.conf\nEXITVALUE=$?\nexit 0\n")
        .file("var/spool/anacron/cron.daily", "20261115\n")
        .file("usr/lib/systemd/system/fstrim.timer", "[Unit]\nDescription=Discard unused blocks once a week\nDocumentation=man:fstrim\n\n[Timer]\nOnCalendar=weekly\nAccuracySec=1h\nPersistent=true\n\n[Install]\nWantedBy=multi-user.target\n")
        .file("usr/lib/systemd/system/fstrim.service", "[Unit]\nDescription=Discard unused blocks\n\n[Service]\nType=oneshot\nExecStart=/usr/sbin/fstrim -a\n")
        .link("lib", "usr/lib");
    // 2026-11-15 03:27:10 UTC.
    tree.changed_at_s
        .insert("var/spool/anacron/cron.daily".to_owned(), 1_794_713_230);
    let host = tree.read_on("centos");
    let fstrim = job(&host, "fstrim.timer");
    let timer = fstrim.timer.as_ref().expect("a timer");
    assert_eq!(timer.enabled, Some(EnabledState::Disabled));
    assert!(!fstrim.is_active());
    assert!(matches!(&fstrim.triggers[..], [Trigger::Calendar(c)] if c.expressions == ["weekly"]));
    assert_eq!(
        commands(fstrim),
        ["fstrim -a @ usr/lib/systemd/system/fstrim.service:6"]
    );

    assert_eq!(
        job(&host, "cron.hourly/0anacron").triggers,
        [cron("01 * * * *", "etc/cron.d/0hourly:4")]
    );
    let logrotate = job(&host, "cron.daily/logrotate");
    assert_eq!(
        logrotate.triggers,
        [Trigger::Anacron {
            period: "1".to_owned(),
            delay_min: 5,
            random_delay_min: Some(45),
            start_hours: Some((3, 22)),
            started_by: vec![cron("01 * * * *", "etc/cron.d/0hourly:4")],
            identifier: "cron.daily".to_owned(),
            source: "etc/anacrontab:6".to_owned(),
        }]
    );
    assert_eq!(
        logrotate.last_run.map(|at| at.to_string()).as_deref(),
        Some("2026-11-15T03:27:10Z")
    );
    assert_eq!(
        commands(logrotate),
        [
            "logrotate -s /var/lib/logrotate/logrotate.status /etc/logrotate.conf @ etc/cron.daily/logrotate:3"
        ]
    );
}

#[test]
fn a_copied_timestamp_file_gives_its_date() {
    let host = debian_12()
        .file("var/spool/anacron/cron.daily", "20261115\n")
        .file("var/spool/anacron/cron.weekly", "")
        .read_on("debian");
    assert_eq!(
        job(&host, "cron.daily/man-db")
            .last_run
            .map(|at| at.to_string())
            .as_deref(),
        Some("2026-11-15T00:00:00Z")
    );
    assert_eq!(job(&host, "cron.weekly/0anacron").last_run, None);
}

#[test]
fn drop_ins_masks_and_instances() {
    let unit = |calendar: &str| {
        format!("[Timer]\nOnCalendar={calendar}\n[Install]\nWantedBy=timers.target\n")
    };
    let host = Tree::default()
        .file("usr/lib/systemd/system/fstrim.timer", FSTRIM_TIMER)
        .file("usr/lib/systemd/system/fstrim.service", FSTRIM_SERVICE)
        .file("etc/systemd/system/fstrim.timer.d/override.conf", "[Timer]\nOnCalendar=\nOnCalendar=Sun 03:00\n")
        .file("usr/lib/systemd/system/timer.d/10-all.conf", "[Timer]\nAccuracySec=5min\n")
        .file("etc/systemd/system/fstrim.service.d/gentle.conf", "[Service]\nIOSchedulingClass=idle\n")
        .file("usr/lib/systemd/system/man-db.timer", &unit("daily"))
        .link("etc/systemd/system/man-db.timer", "/dev/null")
        .file("usr/lib/systemd/system/backup@.timer", &unit("hourly"))
        .file("usr/lib/systemd/system/backup@.service", "[Service]\nUser=backup\nExecStart=-/usr/bin/restic -p hunter2 backup %i\n")
        .link("etc/systemd/system/timers.target.wants/backup@data.timer", "/usr/lib/systemd/system/backup@.timer")
        .file("usr/lib/systemd/system/clean.timer", "[Timer]\nOnBootSec=15min\nOnUnitActiveSec=1d\nOnUnitInactiveSec=infinity\nUnit=tidy.service\n")
        .link("usr/lib/systemd/system/timers.target.wants/clean.timer", "../clean.timer")
        .file("etc/systemd/system/own.timer", "[Timer]\nOnCalendar=daily\nOnBootSec=soon\n")
        .read_on("fedora");
    assert_eq!(
        names(&host),
        [
            "backup@data.timer",
            "clean.timer",
            "fstrim.timer",
            "man-db.timer",
            "own.timer"
        ]
    );
    let fstrim = job(&host, "fstrim.timer");
    let Trigger::Calendar(calendars) = &fstrim.triggers[0] else {
        panic!("{:?}", fstrim.triggers);
    };
    assert_eq!(calendars.expressions, ["Sun 03:00"]);
    // Drop-ins are applied in order of name: 10-all.conf, override.conf.
    assert_eq!(calendars.accuracy_s, Some(300.0));
    assert!(fstrim.commands[0].idle_io);
    assert_eq!(
        fstrim.timer.as_ref().expect("a timer").drop_ins,
        [
            "usr/lib/systemd/system/timer.d/10-all.conf",
            "etc/systemd/system/fstrim.timer.d/override.conf",
        ]
    );
    let masked = job(&host, "man-db.timer");
    assert_eq!(
        masked.timer.as_ref().expect("a timer").enabled,
        Some(EnabledState::Masked)
    );
    assert_eq!(masked.defined_in, "usr/lib/systemd/system/man-db.timer");
    assert!(matches!(&masked.triggers[..], [Trigger::Calendar(c)] if c.expressions == ["daily"]));

    let backup = job(&host, "backup@data.timer");
    let timer = backup.timer.as_ref().expect("a timer");
    assert_eq!(timer.activates, "backup@data.service");
    assert_eq!(timer.enabled, Some(EnabledState::Enabled));
    assert_eq!(backup.user.as_deref(), Some("backup"));
    assert_eq!(
        commands(backup),
        ["restic @ usr/lib/systemd/system/backup@.service:3"]
    );

    let clean = job(&host, "clean.timer");
    let timer = clean.timer.as_ref().expect("a timer");
    assert_eq!(timer.enabled, Some(EnabledState::Static));
    assert_eq!(timer.activates, "tidy.service");
    let spans: Vec<(&str, f64)> = clean
        .triggers
        .iter()
        .map(|trigger| match trigger {
            Trigger::Monotonic { base, span_s, .. } => (base.as_str(), *span_s),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(spans, [("OnBootSec", 900.0), ("OnUnitActiveSec", 86_400.0)]);
    // The invalid span is reported, not guessed.
    assert_eq!(host.skipped.len(), 1);
    assert_eq!(
        host.skipped[0].what,
        "line 3 of etc/systemd/system/own.timer"
    );
}

#[test]
fn failed_conditions_hold_a_job_back() {
    let tree = debian_12().file("etc/initrd-release", "");
    let host = tree.read_on("debian");
    assert_eq!(
        job(&host, "fstrim.timer").held_back_by,
        ["ConditionPathExists=!/etc/initrd-release does not hold"]
    );
    let mut host = Host::default();
    host.platform.container = Some("docker".to_owned());
    host.platform.systemd = Some(false);
    read(&Reader::new(&debian_12()), &mut host);
    let held = &job(&host, "fstrim.timer").held_back_by;
    assert_eq!(
        held,
        &[
            "systemd does not run here",
            "ConditionVirtualization=!container does not hold"
        ]
    );
}

#[test]
fn malformed_lines_are_reported_and_stop_debians_cron() {
    let crontab = "61 3 * * * root fstrim -a\n0 3 * * * root fstrim -a\n";
    let tree = || {
        Tree::default()
            .program("usr/bin/env", "")
            .program("usr/sbin/crond", "")
            .file("etc/cron.d/trim", crontab)
            .file("etc/cron.d/cut", "0 4 * * * root fstrim -a")
    };
    let debian = tree().read_on("debian");
    assert_eq!(debian.skipped.len(), 1);
    assert_eq!(debian.skipped[0].what, "line 1 of etc/cron.d/trim");
    assert_eq!(
        debian.skipped[0].why,
        "etc/cron.d/trim:1:1: expected a minute from 0 to 59, found \"61\""
    );
    assert_eq!(
        job(&debian, "/etc/cron.d/trim:2").held_back_by,
        ["cron ignores all of etc/cron.d/trim because line 1 is wrong"]
    );
    assert_eq!(
        job(&debian, "/etc/cron.d/cut:1").held_back_by,
        ["cron ignores etc/cron.d/cut because its last line has no line end"]
    );
    // cronie skips the line, and accepts a last line without a line ending.
    let fedora = tree().read_on("fedora");
    assert!(job(&fedora, "/etc/cron.d/trim:2").is_active());
    assert!(job(&fedora, "/etc/cron.d/cut:1").is_active());
    assert_eq!(fedora.skipped.len(), 1);
}

#[test]
fn names_and_modes_that_run_parts_ignores() {
    let script = "#!/bin/sh\nfstrim -a\n";
    let tree = || {
        Tree::default()
            .whole()
            .file("etc/crontab", "0 6 * * 7 root run-parts /etc/cron.weekly\n")
            .program("etc/cron.weekly/trim.sh", script)
            .file("etc/cron.weekly/trim", script)
            .file("etc/cron.d/trim.cron", "0 6 * * 7 root fstrim -a\n")
    };
    let debian = tree().read_on("debian");
    for name in ["cron.weekly/trim.sh", "/etc/cron.d/trim.cron:1"] {
        assert_eq!(job(&debian, name).held_back_by.len(), 1, "{name}");
    }
    assert_eq!(
        job(&debian, "cron.weekly/trim").held_back_by,
        ["it is not executable, so run-parts passes over it"]
    );
    let rocky = tree().read_on("rocky");
    assert!(job(&rocky, "cron.weekly/trim.sh").is_active());
    assert!(job(&rocky, "/etc/cron.d/trim.cron:1").is_active());
}

#[test]
fn users_crontabs_and_the_scripts_that_they_call() {
    let host = Tree::default()
        .whole()
        .file(
            "var/spool/cron/crontabs/root",
            "CRON_TZ=Europe/Vienna\n@weekly /usr/local/sbin/trim all\n@reboot trim\n5 0 * * * /opt/bin/off.sh\n",
        )
        .program("usr/local/sbin/trim", "#!/bin/bash\nTOKEN=hunter2\nfor m in / /data; do\n  fstrim -v \"$m\"\ndone\n")
        .program("opt/bin/off.sh", "#!/bin/sh\n[ -e /etc/trim-on ] || exit 0\nfstrim -a\n")
        .file("etc/passwd", "")
        .read_on("debian");
    let weekly = job(&host, "crontab of root:2");
    assert_eq!(weekly.user.as_deref(), Some("root"));
    assert_eq!(weekly.defined_in, "var/spool/cron/crontabs/root:2");
    assert_eq!(
        weekly.triggers,
        [Trigger::Cron {
            spec: "@weekly".to_owned(),
            time_zone: Some("Europe/Vienna".to_owned()),
            source: "var/spool/cron/crontabs/root:2".to_owned(),
        }]
    );
    let inside = "fstrim -v $m @ usr/local/sbin/trim:4";
    assert_eq!(
        commands(weekly),
        ["trim @ var/spool/cron/crontabs/root:2", inside]
    );
    let boot = job(&host, "crontab of root:3");
    assert!(matches!(&boot.triggers[..], [Trigger::Boot { .. }]));
    assert_eq!(commands(boot)[1], inside);
    assert_eq!(
        job(&host, "crontab of root:4").held_back_by,
        ["it does nothing without /etc/trim-on"]
    );
}

/// root reads users' crontabs, and a bundle holds the words of the scripts that they call.
#[test]
fn of_users_crontabs_only_scripts_that_anybody_may_read_are_read() {
    let script = |mount: &str| format!("#!/bin/sh\nfstrim -v {mount}\n");
    let crontab = "1 5 * * 0 /opt/app/leak.sh; fstrim -a\n2 5 * * 0 /opt/app/private.sh\n\
        3 5 * * 0 /opt/app/open.sh\n4 5 * * 0 /opt/app/closed/x.sh\n5 5 * * 0 /opt/app/outside.sh\n";
    let tree = || {
        Tree::default()
            .whole()
            .link("opt/app/leak.sh", "/root/secret.sh")
            .program("root/secret.sh", &script("/secret"))
            .mode("root", Kind::Directory, 0o700)
            .program("opt/app/private.sh", &script("/private"))
            .mode("opt/app/private.sh", Kind::File, 0o700)
            .program("opt/app/open.sh", &script("/open"))
            .program("opt/app/closed/x.sh", &script("/closed"))
            .mode("opt/app/closed", Kind::Directory, 0o700)
            .link("opt/app/outside.sh", "/var/lib/app/x.sh")
            .program("var/lib/app/x.sh", &script("/outside"))
    };
    let trimmed = |host: &Host| -> Vec<String> {
        let jobs = host.jobs.iter().flatten();
        let commands = jobs.flat_map(|job| &job.commands);
        let found = commands.filter_map(|command| command.arguments.get(1).cloned());
        found.collect()
    };
    let host = tree()
        .file("var/spool/cron/crontabs/nobody", crontab)
        .read_on("debian");
    assert_eq!(trimmed(&host), ["/open"]);
    let skipped: Vec<&str> = host
        .skipped
        .iter()
        .map(|skipped| skipped.what.as_str())
        .collect();
    assert_eq!(
        skipped,
        [
            "opt/app/closed/x.sh",
            "opt/app/leak.sh",
            "opt/app/outside.sh",
            "opt/app/private.sh"
        ]
    );
    // root's own scripts may be closed, but are looked for in the usual places only.
    let host = tree()
        .file("var/spool/cron/crontabs/root", crontab)
        .read_on("debian");
    assert_eq!(trimmed(&host), ["/secret", "/private", "/open", "/closed"]);
}

#[test]
fn cron_that_does_not_run_starts_nothing() {
    let stopped = DEBIAN_SYSTEMCTL.replace(
        "Id=cron.service\nNames=cron.service\nLoadState=loaded\nActiveState=active",
        "Id=cron.service\nNames=cron.service\nLoadState=loaded\nActiveState=inactive",
    );
    let host = debian_12()
        .file("etc/cron.d/trim", "0 3 * * * root fstrim -a\n")
        .systemctl(&stopped)
        .read_on("debian");
    assert_eq!(
        job(&host, "/etc/cron.d/trim:1").held_back_by,
        ["cron.service is inactive"]
    );
    // The scripts in a container image that has no cron.
    let host = Tree::default()
        .program("usr/bin/env", "")
        .file(
            "etc/crontab",
            "0 3 * * * root run-parts /etc/cron.daily\n0 4 * * * root fstrim -a\n",
        )
        .program("etc/cron.daily/apt", "#!/bin/sh\napt update\n")
        .read_on("debian");
    assert_eq!(job(&host, "cron.daily/apt").triggers, []);
    assert_eq!(
        job(&host, "/etc/crontab:2").held_back_by,
        ["no cron daemon is installed"]
    );
}

#[test]
fn a_tree_without_programs_reveals_nothing_about_them() {
    // Recorded trees often contain only configuration.
    let host = Tree::default()
        .file("etc/crontab", DEBIAN_CRONTAB)
        .file("etc/cron.d/mdadm", DEBIAN_MDADM)
        .file("etc/anacrontab", DEBIAN_ANACRONTAB)
        .program("etc/cron.weekly/trim", "#!/bin/sh\nfstrim -a\n")
        .link(
            "etc/systemd/system/timers.target.wants/anacron.timer",
            "/lib/systemd/system/anacron.timer",
        )
        .read_on("debian");
    // Its configuration indicates that anacron is installed, so the crontab's guard leaves the work
    // to it.
    assert!(matches!(
        &job(&host, "cron.weekly/trim").triggers[..],
        [Trigger::Anacron { .. }]
    ));
    assert!(job(&host, "/etc/cron.d/mdadm:1").is_active());
    assert_eq!(
        commands(job(&host, "/etc/cron.d/mdadm:1")),
        ["checkarray --cron --all --idle --quiet @ etc/cron.d/mdadm:1"]
    );
}

#[test]
fn without_scheduler_files_jobs_are_unknown() {
    let host = Tree::default().file("etc/fstab", "").read_on("debian");
    assert_eq!(host.jobs, None);
    assert_eq!(host.skipped.len(), 1);
    assert_eq!(host.skipped[0].what, "jobs");
}

/// A part of a host's files, such as a support archive of a few plugins, has no jobs in it; the host may.
#[test]
fn of_a_tree_without_crontabs_and_timers_jobs_are_unknown() {
    let part = || Tree::default().file("etc/systemd/journald.conf", "[Journal]\n");
    let unknown = [
        part(),
        part().file("usr/lib/systemd/system/cron.service", "[Service]\n"),
        part()
            .file("etc/cron.deny", "")
            .mode("etc/cron.d", Kind::Directory, 0o755),
    ];
    for tree in unknown {
        let host = tree.read_on("rhel");
        assert_eq!(host.jobs, None);
        assert!(host.timers_unknown);
        assert_eq!(host.skipped[0].what, "jobs");
    }
    // A crontab of comments is one.
    let host = part().file("etc/crontab", "# none\n").read_on("rhel");
    assert_eq!(host.jobs, Some(Vec::new()));
    assert!(host.timers_unknown);
    let running = MemorySource::new().file("etc/systemd/journald.conf", "");
    let mut host = Host::default();
    read(&Reader::new(&running.whole()), &mut host);
    assert_eq!(host.jobs, Some(Vec::new()));
    assert!(!host.timers_unknown);
}

#[test]
fn a_crontab_that_may_not_be_read_is_not_empty() {
    let tree = MemorySource::new()
        .file("etc/crontab", DEBIAN_CRONTAB)
        .deny("etc/crontab");
    let mut host = Host::default();
    read(&Reader::new(&tree), &mut host);
    assert_eq!(host.jobs, None);
}

#[test]
fn suse_starts_the_directories_by_period() {
    let host = Tree::default()
        .program("usr/bin/env", "")
        .program("usr/sbin/cron", "")
        .program("usr/lib/cron/run-crons", "")
        .file("etc/crontab", "-*/15 * * * *   root  test -x /usr/lib/cron/run-crons && /usr/lib/cron/run-crons >/dev/null 2>&1\n")
        .program("etc/cron.weekly/trim", "#!/bin/sh\nfstrim -a\n")
        .read_on("sles");
    let trim = job(&host, "cron.weekly/trim");
    assert!(matches!(&trim.triggers[..], [Trigger::Anacron { period, .. }] if period == "@weekly"));
}

#[test]
fn a_thousand_hostile_lines_are_fast() {
    let nested = "sh -c 'x $(".repeat(2000);
    let crontab = format!("0 0 * * * root {nested}\n").repeat(20);
    let host = Tree::default()
        .whole()
        .file("etc/crontab", &crontab)
        .program(
            "etc/cron.weekly/x",
            &format!("#!/bin/sh\n{}", "( { if ".repeat(20_000)),
        )
        .program(
            "etc/cron.weekly/y",
            &format!("#!/bin/sh\n{}", "A=b ".repeat(20_000)),
        )
        .read_on("debian");
    assert_eq!(host.jobs.expect("jobs").len(), 22);
}

#[test]
fn a_crontab_of_a_million_lines_stays_small() {
    let mut tree = Tree::default().whole();
    for index in 0..8 {
        let path = format!("etc/cron.d/f{index}");
        tree = tree.file(&path, &"@daily root a\n".repeat(290_000));
    }
    tree = tree.file("etc/crontab", &"x\n".repeat(1_000_000));
    let mut host = Host::default();
    read(&Reader::new(&tree), &mut host);
    assert_eq!(host.jobs.unwrap_or_default().len(), JOBS_MAX);
    let what: Vec<&str> = host.skipped.iter().map(|s| s.what.as_str()).collect();
    assert!(what.len() < 30, "{} skipped", what.len());
    assert!(what.contains(&"jobs beyond the first 20000"), "{what:?}");
}

#[test]
fn triggers_do_not_multiply_with_scripts() {
    let lines = "@daily root run-parts /etc/cron.weekly\n".repeat(5000);
    let mut tree = Tree::default().whole().file("etc/crontab", &lines);
    for index in 0..2000 {
        tree = tree.program(&format!("etc/cron.weekly/s{index}"), "fstrim -a\n");
    }
    let mut host = Host::default();
    read(&Reader::new(&tree), &mut host);
    let jobs = host.jobs.unwrap_or_default();
    assert_eq!(jobs.len(), 2000);
    assert!(jobs.iter().all(|job| job.triggers.len() == 100));
}

#[test]
fn a_drop_in_for_all_units_is_counted_for_each() {
    let mut tree = Tree::default().whole();
    for index in 0..1000 {
        let path = format!("etc/systemd/system/t{index}.timer");
        tree = tree.file(&path, "[Timer]\nOnCalendar=daily\n");
    }
    let calendars = "OnCalendar=daily\n".repeat(9000);
    let path = "etc/systemd/system/timer.d/x.conf";
    tree = tree.file(path, &format!("[Timer]\n{calendars}"));
    let mut host = Host::default();
    read(&Reader::new(&tree), &mut host);
    let what: Vec<&str> = host.skipped.iter().map(|s| s.what.as_str()).collect();
    assert_eq!(what, ["further files of jobs"]);
}

#[test]
fn many_units_are_found_by_name() {
    // A linear search for each unit would take about a minute.
    let mut answer = String::new();
    let mut tree = Tree::default().whole();
    let names = "x.timer ".repeat(100);
    for index in 0..5000 {
        let path = format!("etc/systemd/system/t{index}.timer");
        tree = tree.file(&path, "[Timer]\nOnCalendar=daily\n");
        let _ = write!(
            answer,
            "Id=t{index}.timer\nNames={names}\nUnitFileState=enabled\n\n"
        );
    }
    answer.push_str(&"Id=y.service\n\n".repeat(100_000));
    let tree = tree.systemctl(&answer);
    let mut host = Host::default();
    read(&Reader::new(&tree), &mut host);
    let jobs = host.jobs.unwrap_or_default();
    assert_eq!(jobs.len(), 5000);
    let is_enabled = |job: &Job| {
        job.timer
            .as_ref()
            .is_some_and(|timer| timer.enabled == Some(EnabledState::Enabled))
    };
    assert!(jobs.iter().all(is_enabled));
    let units = systemctl::parse(&answer);
    assert_eq!(units.len(), 20_000);
}

/// Alpine's spool is a link to `/etc/crontabs`, and there is no `/etc/crontab`.
#[test]
fn crontabs_of_busybox_are_read_once() {
    let text = "30 4 * * 0 fstrim /data\n";
    let host = Tree::default()
        .whole()
        .file("etc/crontabs/root", text)
        .link("var/spool/cron/crontabs", "/etc/crontabs")
        .read_on("alpine");
    let jobs = host.jobs.expect("jobs are known");
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    assert_eq!(jobs[0].defined_in, "etc/crontabs/root:1");
}
