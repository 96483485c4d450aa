//! `trimtab plan`: what it says, what it writes on hosts of several kinds, and that it takes all of it back.

use crate::support::{Tree, report, run, stderr, stdout, trimtab};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

pub(crate) const FSTRIM_SERVICE: &str = "[Unit]\nDescription=Discard unused blocks\n[Service]\nType=oneshot\n\
    ExecStart=/sbin/fstrim --listed-in /etc/fstab:/proc/self/mountinfo --verbose --quiet-unsupported\n";
pub(crate) const FSTRIM_TIMER: &str = "[Timer]\nOnCalendar=weekly\nAccuracySec=1h\nPersistent=true\n\
    RandomizedDelaySec=100min\n[Install]\nWantedBy=timers.target\n";

/// Runs it on Sunday 2026-11-29, 05:00 UTC.
fn command(arguments: &[&str]) -> Command {
    let mut command = trimtab();
    command
        .env("SOURCE_DATE_EPOCH", "1795928400")
        .arg("plan")
        .args(arguments);
    command
}

pub(crate) fn output(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the binary starts")
}

pub(crate) fn plan(arguments: &[&str]) -> String {
    let output = output(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn nodes_get_days_of_their_own() {
    let text = plan(&["--peers", "es1,es2,es3", "--tz", "Europe/Berlin"]);
    let expected = "\
With these slots, no two of the 3 nodes ever trim at the same time: es1 Tue
01:00, es2 Wed 01:00, es3 Thu 01:00 (Europe/Berlin). With a timer's random delay
of 1 h 40 min, at least two do in 78 % of all weeks, if a pass takes 20 min.
Nothing was changed; trimtab 0.2.0

node  slot       next        OnCalendar=
es1   Tue 01:00  2026-12-01  Tue *-*-* 01:00:00 Europe/Berlin
es2   Wed 01:00  2026-12-02  Wed *-*-* 01:00:00 Europe/Berlin
es3   Thu 01:00  2026-12-03  Thu *-*-* 01:00:00 Europe/Berlin
";
    assert!(text.starts_with(expected), "{text}");
    let document: Value =
        serde_json::from_str(&plan(&["--peers", "a,b", "--format", "json"])).unwrap();
    assert_eq!(document["schema"], "trimtab.plan/2");
    let nodes = &document["result"];
    assert_eq!(nodes["kind"], "nodes");
    assert_eq!(nodes["nodes"][1]["next"], "2026-12-02");
    let overlap = nodes["overlap_with_delay"].as_f64().unwrap();
    assert!((overlap - 0.36).abs() < 1e-9, "{overlap}");
}

/// A host with a root filesystem and one for data, each on flash that takes discards.
pub(crate) fn host(os_release: &str) -> Tree {
    let tree = Tree::new();
    for (name, number) in [("sda", "8:0"), ("sdb", "8:16")] {
        tree.disk(name, number, 0, None);
    }
    for queue in queues(Path::new(&tree.path())) {
        for name in ["discard_max_bytes", "discard_max_hw_bytes"] {
            fs::write(queue.join(name), "2147483648\n").unwrap();
        }
    }
    tree.file(
        "proc/self/mountinfo",
        "22 1 8:0 / / rw,relatime - ext4 /dev/sda rw\n\
         23 22 8:16 / /data rw,noatime - xfs /dev/sdb rw\n",
    );
    tree.file("proc/sys/kernel/hostname", "es1\n");
    tree.file(
        "etc/fstab",
        "# disks\nUUID=1 / ext4 errors=remount-ro 0 1\nUUID=2\t/data\txfs  noatime 0 0\n",
    );
    tree.file("etc/os-release", os_release);
    for program in [
        "usr/bin/trimtab",
        "usr/sbin/cron",
        "usr/sbin/crond",
        "sbin/fstrim",
    ] {
        tree.script(program, "");
    }
    tree
}

fn queues(root: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.join("sys/devices")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_name() == "queue" {
                found.push(entry.path());
            } else if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
        }
    }
    found
}

pub(crate) fn with_systemd(tree: &Tree, timers: &[(&str, &str, &str)]) {
    fs::create_dir_all(Path::new(&tree.path()).join("run/systemd/system")).unwrap();
    for (name, timer, service) in timers {
        tree.file(&format!("usr/lib/systemd/system/{name}.timer"), timer);
        tree.file(&format!("usr/lib/systemd/system/{name}.service"), service);
        tree.link(
            &format!("etc/systemd/system/timers.target.wants/{name}.timer"),
            &format!("/usr/lib/systemd/system/{name}.timer"),
        );
    }
}

pub(crate) fn debian_12() -> Tree {
    let tree = host("ID=debian\nVERSION_ID=\"12\"\n");
    with_systemd(&tree, &[("fstrim", FSTRIM_TIMER, FSTRIM_SERVICE)]);
    tree
}

/// util-linux of RHEL 7: no random delay, no X-fstrim.notrim.
fn centos_7() -> Tree {
    let tree = host("ID=centos\nVERSION_ID=\"7\"\n");
    let timer = FSTRIM_TIMER.replace("RandomizedDelaySec=100min\n", "");
    let service = "[Service]\nType=oneshot\nExecStart=/usr/sbin/fstrim -a\n";
    with_systemd(&tree, &[("fstrim", &timer, service)]);
    tree
}

fn ubuntu_1404() -> Tree {
    let tree = host("ID=ubuntu\nVERSION_ID=\"14.04\"\n");
    fs::create_dir_all(Path::new(&tree.path()).join("run")).unwrap();
    tree.file(
        "etc/crontab",
        "SHELL=/bin/sh\n47 6\t* * 7\troot\ttest -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.weekly )\n",
    );
    tree.script(
        "etc/cron.weekly/fstrim",
        "#!/bin/sh\nfstrim /data\nfstrim /\n",
    );
    tree.file("etc/cron.d/trim", "30 2 * * 3 root /sbin/fstrim /data\n");
    tree
}

/// Its spool of crontabs is a link, there is no /etc/crontab, and the last line of root's has no line end.
fn alpine() -> Tree {
    let tree = host("ID=alpine\nVERSION_ID=3.20\n");
    fs::create_dir_all(Path::new(&tree.path()).join("run")).unwrap();
    tree.link("var/spool/cron/crontabs", "/etc/crontabs");
    tree.file(
        "etc/crontabs/root",
        "# min hour\n0\t3\t*\t*\t6\trun-parts /etc/periodic/weekly\n30 4 * * 0 fstrim /data",
    );
    tree
}

/// SUSE's own trim of Btrfs, and the distribution's of everything.
fn sles() -> Tree {
    let tree = host("ID=sles\nVERSION_ID=\"15.5\"\n");
    tree.file(
        "proc/self/mountinfo",
        "22 1 0:30 /@ / rw,relatime - btrfs /dev/sda rw,space_cache\n\
         23 22 8:16 / /data rw,noatime - xfs /dev/sdb rw\n",
    );
    let trim = "[Service]\nExecStart=/usr/share/btrfsmaintenance/btrfs-trim.sh\n";
    tree.script(
        "usr/share/btrfsmaintenance/btrfs-trim.sh",
        "#!/bin/bash\nfor MNT in /; do\n\tfstrim --verbose \"$MNT\"\ndone\n",
    );
    with_systemd(
        &tree,
        &[
            ("fstrim", FSTRIM_TIMER, FSTRIM_SERVICE),
            (
                "btrfs-trim",
                "[Timer]\nOnCalendar=monthly\nPersistent=true\n",
                trim,
            ),
        ],
    );
    tree
}

fn scylla() -> Tree {
    let tree = host("ID=ubuntu\nVERSION_ID=\"22.04\"\n");
    let timer = "[Timer]\nOnCalendar=Sat *-*-* 00:00:00\n[Install]\nWantedBy=timers.target\n";
    let service = "[Service]\nType=oneshot\nExecStart=/opt/scylladb/scripts/scylla_fstrim\n";
    with_systemd(&tree, &[("scylla-fstrim", timer, service)]);
    tree
}

/// All that is in `/etc`: names, kinds, modes, contents and targets.
fn etc(tree: &Tree) -> Vec<String> {
    etc_of(Path::new(&tree.path()))
}

/// The same, of a root.
pub(crate) fn etc_of(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![root.join("etc")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let stat = fs::symlink_metadata(&path).unwrap();
            let holds = if stat.is_dir() {
                open.push(path.clone());
                String::new()
            } else if stat.is_symlink() {
                fs::read_link(&path).unwrap().display().to_string()
            } else {
                String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
            };
            let (mode, owner) = (stat.permissions().mode(), stat.uid());
            found.push(format!("{} {mode:o} {owner} {holds:?}", path.display()));
        }
    }
    found.sort();
    found
}

pub(crate) fn findings(tree: &Tree) -> Vec<String> {
    let report = report(&["--root", &tree.path(), "--data-path", "/data"]);
    let findings = report["result"]["findings"].as_array().unwrap().clone();
    findings
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_plan_ends_the_findings_of_each_kind_of_host_and_is_taken_back_byte_for_byte() {
    for (name, tree, before, changes) in [
        ("Debian 12", debian_12(), &["TRIM007"][..], 6),
        ("CentOS 7", centos_7(), &["TRIM007"], 9),
        ("Ubuntu 14.04", ubuntu_1404(), &["SCHED002", "TRIM007"], 4),
        ("Alpine", alpine(), &["TRIM007"], 1),
        ("SLES", sles(), &["TRIM007"], 6),
        ("ScyllaDB", scylla(), &[], 9),
    ] {
        let root = tree.path();
        let original = etc(&tree);
        assert_eq!(findings(&tree), before, "{name}");
        let shown: Value = serde_json::from_str(&plan(&[
            "--root", &root, "--fstab", "/data", "--format", "json",
        ]))
        .unwrap();
        assert_eq!(shown["result"]["is_applied"], false);
        let planned = shown["result"]["changes"].as_array().unwrap();
        assert_eq!(planned.len(), changes, "{name}: {planned:?}");
        assert_eq!(etc(&tree), original, "{name}: only shown");
        plan(&["--root", &root, "--fstab", "--apply", "/data"]);
        assert_eq!(findings(&tree), Vec::<String>::new(), "{name}");
        let applied = etc(&tree);
        let again = plan(&["--root", &root, "--fstab", "--apply", "/data"]);
        assert!(again.starts_with("Nothing to change: "), "{name}: {again}");
        assert_eq!(etc(&tree), applied, "{name}: a second time");
        let status = plan(&["--root", &root, "--status"]);
        assert!(
            status.starts_with("The plan is in effect."),
            "{name}: {status}"
        );
        assert!(status.contains("/data  Tue 01:00"), "{name}: {status}");
        plan(&["--root", &root, "--undo"]);
        assert_eq!(etc(&tree), original, "{name}: taken back");
        assert!(!Path::new(&root).join("var/lib").exists(), "{name}");
        let undone = plan(&["--root", &root, "--undo"]);
        assert!(undone.starts_with("There is no plan"), "{name}: {undone}");
    }
}

#[test]
fn fstab_is_only_edited_if_that_is_said() {
    let tree = debian_12();
    let root = tree.path();
    let original = etc(&tree);
    let text = plan(&["--root", &root, "/data"]);
    assert!(
        text.contains("--fstab takes it out of fstrim.timer"),
        "{text}"
    );
    let refused = output(&["--root", &root, "--apply", "/data"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("not applied: fstrim.timer trims /data as well"));
    assert_eq!(etc(&tree), original);
    // What else it trims may be planned as well.
    plan(&["--root", &root, "--apply", "/data", "/"]);
    assert!(
        !etc(&tree)
            .iter()
            .any(|entry| entry.contains("X-fstrim.notrim"))
    );
    assert_eq!(findings(&tree), Vec::<String>::new());
}

#[test]
fn other_slots_replace_those_of_an_earlier_plan() {
    for tree in [debian_12(), ubuntu_1404(), alpine()] {
        let root = tree.path();
        let original = etc(&tree);
        plan(&["--root", &root, "--apply", "--fstab", "/data"]);
        plan(&[
            "--root", &root, "--apply", "--fstab", "/data", "--days", "sat",
        ]);
        let text = etc(&tree).join("\n");
        assert!(
            !text.contains("Tue *-*-*") && !text.contains("0 1 * * 2 "),
            "{text}"
        );
        assert!(
            text.contains("Sat *-*-* 01:00:00") || text.contains("0 1 * * 6 "),
            "{text}"
        );
        plan(&["--root", &root, "--undo"]);
        assert_eq!(etc(&tree), original);
    }
}

#[test]
fn peers_share_the_week_and_each_host_finds_its_own_slot() {
    let tree = debian_12();
    let root = tree.path();
    for (node, day) in [("es1", "Tue"), ("es3.example.org", "Thu")] {
        tree.file("proc/sys/kernel/hostname", &format!("{node}\n"));
        let peers = "es1.example.com,es2,es3";
        plan(&[
            "--root", &root, "--apply", "--fstab", "/data", "--peers", peers,
        ]);
        let timer = "etc/systemd/system/trimtab-trim@data.timer.d/trimtab-plan.conf";
        let timer = fs::read_to_string(Path::new(&root).join(timer)).unwrap();
        assert!(
            timer.contains(&format!("OnCalendar={day} *-*-* 01:00:00 UTC\n")),
            "{timer}"
        );
    }
    // On one of them fstrim knows no X-fstrim.notrim, and its timer ends for the root filesystem as well: unless that is
    // named on each, they would count other slots.
    let old = centos_7();
    let peers = [
        "--root",
        &old.path(),
        "--fstab",
        "--peers",
        "es0,es1,es2",
        "--apply",
    ];
    let refused = output(&[&peers[..], &["/data"]].concat());
    assert_eq!(refused.status.code(), Some(2));
    let said = stderr(&refused);
    assert!(
        said.contains("fstrim.timer would end, which trims / as well"),
        "{said}"
    );
    assert!(said.contains("trimtab plan /data / --peers"), "{said}");
    let both = [&peers[..], &["/data", "/"]].concat();
    plan(&both);
    let written = etc(&old).join("\n");
    assert!(
        written.contains("OnCalendar=Thu *-*-* 01:00:00 UTC"),
        "{written}"
    );
    assert!(
        written.contains("OnCalendar=Sat *-*-* 01:00:00 UTC"),
        "{written}"
    );
    assert!(plan(&both).starts_with("Nothing to change"));
    tree.file("proc/sys/kernel/hostname", "other\n");
    let refused = output(&["--root", &root, "/data", "--peers", "es1,es2"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("other is not one of --peers es1,es2"));
}

#[test]
fn drift_is_told() {
    let tree = debian_12();
    let root = tree.path();
    plan(&["--root", &root, "--apply", "--fstab", "/data"]);
    let drift = |what: &str| {
        let output = output(&["--root", &root, "--status"]);
        assert_eq!(output.status.code(), Some(1), "{what}: {}", stdout(&output));
        let text = stdout(&output).replace('\n', " ");
        assert!(text.contains(what), "{text}");
    };
    let wants = "etc/systemd/system/timers.target.wants/trimtab-trim@data.timer";
    fs::remove_file(Path::new(&root).join(wants)).unwrap();
    drift("trimtab-trim@data.timer is as it was before the plan.");
    drift("sudo trimtab plan --apply --root");
    plan(&["--root", &root, "--apply", "--fstab", "/data"]);
    // An upgrade puts another trim there.
    tree.script("etc/cron.weekly/fstrim", "#!/bin/sh\nfstrim --all\n");
    tree.file(
        "etc/crontab",
        "47 6 * * 7 root run-parts /etc/cron.weekly\n",
    );
    drift("cron.weekly/fstrim trims it as well.");
    let fstab = Path::new(&root).join("etc/fstab");
    let text = fs::read_to_string(&fstab).unwrap();
    fs::write(&fstab, text.replace(",X-fstrim.notrim", "")).unwrap();
    drift("/etc/fstab is as it was before the plan.");
}

/// Other lines of a file may be edited in between; a file that is another one stays as it is, and nothing is undone.
#[test]
fn what_others_changed_since_is_kept() {
    let tree = debian_12();
    let root = tree.path();
    let fstab = Path::new(&root).join("etc/fstab");
    plan(&["--root", &root, "--apply", "--fstab", "/data"]);
    let text = fs::read_to_string(&fstab).unwrap();
    fs::write(&fstab, format!("{text}UUID=3 /mnt/new xfs defaults 0 0\n")).unwrap();
    let dropped = "etc/systemd/system/trimtab-trim@data.timer.d/trimtab-plan.conf";
    let dropped = Path::new(&root).join(dropped);
    let ours = fs::read(&dropped).unwrap();
    fs::write(&dropped, "[Timer]\nOnCalendar=daily\n").unwrap();
    let refused = output(&["--root", &root, "--undo"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("trimtab-plan.conf; nothing was changed"),
        "{}",
        stderr(&refused)
    );
    fs::write(&dropped, ours).unwrap();
    plan(&["--root", &root, "--undo"]);
    let text = fs::read_to_string(&fstab).unwrap();
    assert!(
        text.contains("/mnt/new") && !text.contains("notrim"),
        "{text}"
    );
}

fn refused(tree: &Tree, arguments: &[&str], words: &str) {
    let original = etc(tree);
    let root = tree.path();
    let output = output(&[&["--root", &root][..], arguments].concat());
    let said = stderr(&output);
    assert_eq!(
        output.status.code(),
        Some(2),
        "{arguments:?}: {}",
        stdout(&output)
    );
    assert!(said.contains(words), "{said}");
    assert_eq!(etc(tree), original);
}

/// What would keep the plan from doing what it says is found before anything ends.
#[test]
fn what_would_defeat_a_plan_is_in_its_way() {
    let apply = ["--apply", "--fstab", "/data"];
    let tree = debian_12();
    tree.link("etc/systemd/system/trimtab-trim@data.timer", "/dev/null");
    refused(&tree, &apply, "trimtab-trim@data.timer is masked");

    let tree = debian_12();
    let later = "etc/systemd/system/trimtab-trim@.timer.d/zz.conf";
    tree.file(later, "[Timer]\nRandomizedDelaySec=2h\n");
    refused(&tree, &apply, "zz.conf sorts after the plan's drop-in");

    // At the next boot it would discard online as well.
    let tree = debian_12();
    tree.file(
        "etc/fstab",
        "UUID=1 / ext4 rw 0 1\nUUID=2 /data xfs noatime,discard 0 0\n",
    );
    refused(&tree, &apply, "it discards what it frees by itself");

    let tree = debian_12();
    tree.file("etc/localtime", "TZif2");
    refused(&tree, &apply, "the host's time zone has no name");
    refused(
        &tree,
        &["--apply", "--peers", "es1,es2"],
        "expected the mount points",
    );
}

#[test]
fn options_of_the_unit_stay() {
    let tree = debian_12();
    let folder = "etc/systemd/system/trimtab-trim@data.service.d";
    tree.file(
        &format!("{folder}/override.conf"),
        "[Service]\nEnvironment=\"TRIMTAB_TRIM_OPTIONS=--window 02:00-05:00 --max-latency 5ms\"\n",
    );
    plan(&["--root", &tree.path(), "--apply", "--fstab", "/data"]);
    let path = Path::new(&tree.path())
        .join(folder)
        .join("trimtab-plan.conf");
    let written = fs::read_to_string(path).unwrap();
    assert!(written.contains("--window 01:00-05:00 "), "{written}");
    assert!(written.contains(" --max-latency 5ms\""), "{written}");
}

#[test]
fn a_timer_of_the_hosts_own_is_disabled_wherever_it_is_enabled() {
    let tree = centos_7();
    let root = tree.path();
    let system = Path::new(&root).join("etc/systemd/system");
    let vendor = Path::new(&root).join("usr/lib/systemd/system/fstrim.timer");
    fs::rename(vendor, system.join("fstrim.timer")).unwrap();
    for target in ["multi-user.target.wants", "basic.target.requires"] {
        let link = format!("etc/systemd/system/{target}/fstrim.timer");
        tree.link(&link, "/etc/systemd/system/fstrim.timer");
    }
    let original = etc(&tree);
    plan(&["--root", &root, "--apply", "/data"]);
    assert_eq!(findings(&tree), Vec::<String>::new());
    let again = plan(&["--root", &root, "--apply", "/data"]);
    assert!(again.starts_with("Nothing to change"), "{again}");
    plan(&["--root", &root, "--undo"]);
    assert_eq!(etc(&tree), original);
}

/// Debian's cron reads no file with another character in its name.
#[test]
fn cron_reads_what_is_written_for_any_mount() {
    for (mount, file) in [("/data-1", "data_2d1"), ("/srv/.x_y", "srv-_2ex_5fy")] {
        let tree = ubuntu_1404();
        let root = tree.path();
        for path in [
            "proc/self/mountinfo",
            "etc/fstab",
            "etc/cron.d/trim",
            "etc/cron.weekly/fstrim",
        ] {
            let path = Path::new(&root).join(path);
            let text = fs::read_to_string(&path).unwrap();
            fs::write(path, text.replace("/data", mount)).unwrap();
        }
        plan(&["--root", &root, "--apply", mount]);
        assert!(
            Path::new(&root)
                .join(format!("etc/cron.d/trimtab-plan-{file}"))
                .exists()
        );
        let report = report(&["--root", &root, "--data-path", mount]);
        assert_eq!(
            report["result"]["findings"],
            serde_json::json!([]),
            "{mount}"
        );
    }
}

#[test]
fn several_plans_keep_apart_and_stay_where_they_are() {
    let tree = debian_12();
    let root = tree.path();
    plan(&["--root", &root, "--apply", "--fstab", "/data"]);
    plan(&["--root", &root, "--apply", "--fstab", "/"]);
    let status = plan(&["--root", &root, "--status"]);
    assert!(
        status.contains("/data  Tue 01:00") && status.contains("/      Wed 01:00"),
        "{status}"
    );
    // A backup that comes near does not move what was planned.
    tree.file("etc/crontab", "30 1 * * 2 root restic backup /srv\n");
    let again = plan(&["--root", &root, "--apply", "--fstab", "/data"]);
    assert!(again.starts_with("Nothing to change"), "{again}");
    // Slots that nodes share are counted for all filesystems at once.
    refused(
        &tree,
        &["--apply", "--fstab", "/data", "--peers", "es1,es2"],
        "/ is planned already",
    );
}

#[test]
fn a_lost_journal_is_no_lost_plan() {
    let tree = debian_12();
    let root = tree.path();
    plan(&["--root", &root, "--apply", "--fstab", "/data"]);
    fs::remove_file(Path::new(&root).join("var/lib/trimtab/plan.json")).unwrap();
    for task in [
        &["--undo"][..],
        &["--status"],
        &["--apply", "--fstab", "/data"],
    ] {
        refused(&tree, task, "trimtab-trim@data.timer.d/trimtab-plan.conf");
    }
}

/// Killed at any moment, `--apply` and `--undo` leave what the next one finishes or takes back.
#[test]
fn a_killed_run_is_finished_or_taken_back() {
    for at_ms in (0..40).step_by(2) {
        let tree = centos_7();
        let root = tree.path();
        let original = etc(&tree);
        let kill = |arguments: &[&str]| {
            let mut child = command(arguments)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_millis(at_ms));
            child.kill().unwrap();
            child.wait().unwrap();
        };
        let apply = ["--root", &root, "--apply", "/data"];
        kill(&apply);
        if at_ms % 4 == 0 {
            plan(&apply);
            assert_eq!(findings(&tree), Vec::<String>::new(), "{at_ms} ms");
            kill(&["--root", &root, "--undo"]);
        }
        plan(&["--root", &root, "--undo"]);
        assert_eq!(etc(&tree), original, "{at_ms} ms");
    }
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    let names: Vec<String> = (1..=100).map(|number| format!("n{number}")).collect();
    let names = names.join(",");
    let output = run(&["plan", "--days", "tue,wed", "--peers", &names]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stdout(&output), "");
    let said = stderr(&output);
    assert!(
        said.contains("100 slots of 25 min do not fit a week's windows of 4 h, which have 18"),
        "{said}"
    );
    assert!(said.contains("windows of 20 h 50 min do"), "{said}");
    for (arguments, words) in [
        (&["plan", "--peers", "a,a"][..], "a is named twice"),
        (
            &["plan", "data"],
            "expected the absolute path of a mount point",
        ),
        (&["plan", "--peers", "a,,b"], "a name is empty"),
        (
            &["plan", "--peers", "a", "--pass", "0s"],
            "a duration above zero",
        ),
        (
            &["plan", "--peers", "a", "--pass", "59s"],
            "expected a minute or more",
        ),
        (
            &["plan", "--peers", "a", "--pass", "9h"],
            "a slot of 9 h 5 min is longer than the window of 4 h",
        ),
        (
            &["plan", "--peers", "a", "--tz", "CEST"],
            "expected a time zone",
        ),
        (&["plan", "--peers", "a", "--days", "noon"], "noon"),
        (&["plan", "--undo", "/data"], "cannot be used with"),
        (&["plan", "--apply", "--undo"], "cannot be used with"),
        (
            &["plan", "--root", "/nonexistent", "/data"],
            "--root /nonexistent",
        ),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}
