//! The machine that runs the tests: check, collect, and check of the collected bundle.

use crate::support::{findings, report, run, stderr, stdout, trimtab};
use std::os::unix::process::CommandExt;

/// A live check and a bundle made right after it have the same findings and skips.
#[test]
fn a_bundle_reproduces_the_live_check() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = directory.path().join("host.tar.zst").display().to_string();
    let output = run(&["collect", "-o", &bundle, "--data-path", "/"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let live = report(&["--data-path", "/"]);
    // The bundle remembers the data path it was made with.
    let again = report(&["--bundle", &bundle]);
    // Other tests mount and unmount in temporary directories meanwhile.
    let stays = |text: &str| !text.contains("/tmp");
    let findings = |report| -> Vec<String> {
        let lines = findings(report).into_iter();
        lines.filter(|line| stays(line)).collect()
    };
    assert_eq!(findings(&live), findings(&again));
    // Other processes write between the two checks.
    let mounts = |report: &serde_json::Value| {
        let mut mounts = report["result"]["mounts"].as_array().unwrap().clone();
        mounts.retain(|mount| stays(mount["mount_point"].as_str().unwrap()));
        for mount in &mut mounts {
            mount["free_bytes"].take();
            mount["available_bytes"].take();
        }
        mounts
    };
    assert!(!mounts(&live).is_empty());
    assert_eq!(mounts(&live), mounts(&again));
    assert_eq!(live["result"]["stores"], again["result"]["stores"]);
    let skipped = |report: &serde_json::Value| {
        let mut skipped = report["skipped"].as_array().unwrap().clone();
        skipped.retain(|skipped| stays(&skipped.to_string()));
        skipped
    };
    assert_eq!(skipped(&live), skipped(&again));
}

#[test]
fn an_anonymised_bundle_has_the_same_findings_without_the_host_name() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = directory.path().join("host.tar.zst");
    let path = bundle.display().to_string();
    let rules = |report| -> Vec<String> {
        findings(&report)
            .iter()
            .map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "))
            .collect()
    };
    // Other tests add and remove devices, so that it may take several attempts.
    let is_same = (0..20).any(|_| {
        let live = rules(report(&[]));
        let collected = run(&["collect", "--anonymise", "-o", &path, "--force"]);
        assert!(collected.status.success(), "{}", stderr(&collected));
        live == rules(report(&["--bundle", &path]))
    });
    assert!(is_same, "other findings in each of 20 attempts");
    let packed = std::fs::read(&bundle).unwrap();
    let plain = zstd::decode_all(packed.as_slice()).unwrap();
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let name = name.trim();
    // A short name may occur inside other words.
    if name.len() > 5 {
        assert!(
            !plain
                .windows(name.len())
                .any(|window| window == name.as_bytes()),
            "{name} is still in the bundle"
        );
    }
}

#[test]
fn collect_overwrites_only_with_force() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("host.tar.zst");
    std::fs::write(&path, "precious").unwrap();
    let name = path.display().to_string();
    let output = run(&["collect", "-o", &name]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--force"), "{}", stderr(&output));
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    assert!(run(&["collect", "-o", &name, "--force"]).status.success());
    assert!(std::fs::read(&path).unwrap().len() > 100);
    assert_eq!(
        std::fs::read_dir(directory.path()).unwrap().count(),
        1,
        "no temporary file is left"
    );
}

#[test]
fn check_works_without_root() {
    if !rustix::process::geteuid().is_root() {
        // Without root, every other test in this file already covers it.
        return;
    }
    // The user nobody cannot enter a home directory, where the test binary may be.
    let directory = tempfile::Builder::new()
        .prefix("trimtab")
        .tempdir_in("/var/tmp")
        .unwrap();
    let binary = directory.path().join("trimtab");
    std::fs::copy(env!("CARGO_BIN_EXE_trimtab"), &binary).unwrap();
    let open = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    std::fs::set_permissions(directory.path(), open).unwrap();
    let mut command = std::process::Command::new(&binary);
    command
        .args(["check", "--exit-zero", "--format", "json"])
        .env_clear()
        .uid(65534)
        .gid(65534);
    // Tests beside this one mount devices of their own meanwhile.
    let before = findings(&self::report(&[]));
    let output = command.current_dir("/").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!report["result"]["mounts"].as_array().unwrap().is_empty());
    let found = findings(&report);
    if found != before {
        assert_eq!(found, findings(&self::report(&[])));
    }
}

#[test]
fn a_live_check_succeeds() {
    let output = trimtab().args(["check", "--exit-zero"]).output().unwrap();
    assert!(output.status.success());
    assert!(stdout(&output).contains("live"), "{}", stdout(&output));
}

/// A mount; unmounted when dropped, even after a panic.
struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, rustix::mount::UnmountFlags::DETACH);
    }
}

/// A FUSE filesystem whose server never answers: any access to it blocks forever.
struct Hung {
    _mounted: Mounted,
    directory: tempfile::TempDir,
    // Closed last: accesses fail once the server is gone.
    _server: std::fs::File,
}

impl Hung {
    /// Mounts it; `None` without `/dev/fuse` or root.
    fn mount() -> Option<Self> {
        let Ok(server) = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/fuse")
        else {
            eprintln!("SKIPPED: there is no /dev/fuse");
            return None;
        };
        let directory = tempfile::tempdir().unwrap();
        let point = directory.path().to_path_buf();
        let options = format!(
            "fd={},rootmode=40000,user_id=0,group_id=0",
            std::os::fd::AsRawFd::as_raw_fd(&server)
        );
        let options = std::ffi::CString::new(options).unwrap();
        let flags = rustix::mount::MountFlags::empty();
        if rustix::mount::mount("hangs", &point, "fuse", flags, options.as_c_str()).is_err() {
            eprintln!("SKIPPED: mounting needs root");
            return None;
        }
        Some(Self {
            _mounted: Mounted(point),
            directory,
            _server: server,
        })
    }

    fn point(&self) -> String {
        self.directory.path().display().to_string()
    }
}

#[test]
fn a_hung_mount_is_skipped() {
    let Some(hung) = Hung::mount() else { return };
    let point = hung.point();
    let report = report(&["--data-path", &point]);
    let skipped: Vec<&str> = report["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|skip| skip["what"].as_str())
        .collect();
    assert!(
        skipped.contains(&format!("size of {point}").as_str()),
        "{skipped:?}"
    );
}

/// Plants jobs that name the hung mount, in a mount namespace of their own: in a guard, as a script, through
/// links, and in a user's crontab.
const HUNG_JOBS: &str = r#"
set -e
mount -t tmpfs tmpfs /etc
mount -t tmpfs tmpfs /opt
mount -t tmpfs tmpfs /var/spool
mkdir -p /etc/cron.d /etc/cron.weekly /etc/systemd/system /var/spool/cron/crontabs
printf '5 5 * * 0 root test -f %s/x && fstrim -a\n' "$1" >/etc/cron.d/guard
printf '5 5 * * 0 root test -f /proc/self/root%s/x && fstrim -a\n' "$1" >/etc/cron.d/kernel-link
printf '6 5 * * 0 root /opt/job.sh; /opt/mounted/job.sh\n' >/etc/cron.d/script
printf '5 5 * * 0 [ -x %s/x ] && fstrim -a\n' "$1" >/var/spool/cron/crontabs/nobody
ln -s "$1/job.sh" /opt/job.sh
ln -s "$1" /opt/mounted
ln -s "$1/crontab" /etc/cron.d/link
ln -s "$1/weekly" /etc/cron.weekly/link
ln -s "$1/x.timer" /etc/systemd/system/x.timer
printf '[Timer]\nOnCalendar=weekly\n' >/etc/systemd/system/y.timer
printf '[Unit]\nConditionPathExists=%s/x\n[Service]\nExecStart=%s/x\n' "$1" "$1" >/etc/systemd/system/y.service
shift
exec timeout --kill-after=1 120 "$@"
"#;

#[test]
fn jobs_on_a_hung_mount_are_not_looked_at() {
    let Some(hung) = Hung::mount() else { return };
    let directory = tempfile::tempdir().unwrap();
    let bundle = directory.path().join("b.tar.zst").display().to_string();
    let series = directory.path().join("series.csv");
    let samples = (1..=90).map(|day| format!("{},{}\n", day * 86_400, day % 7));
    std::fs::write(&series, samples.collect::<String>()).unwrap();
    for command in [
        &["check", "--format", "json", "--exit-zero"][..],
        &["collect", "-o", &bundle],
        &["explain", series.to_str().unwrap(), "--jobs", "/"],
        &["ssd", "run", "--from-host", "/"],
        &["trim", "--all", "--dry-run"],
    ] {
        let output = std::process::Command::new("unshare")
            .args([
                "--mount",
                "--propagation",
                "private",
                "sh",
                "-c",
                HUNG_JOBS,
                "sh",
            ])
            .arg(hung.point())
            .arg(env!("CARGO_BIN_EXE_trimtab"))
            .args(command)
            .output()
            .expect("unshare");
        let errors = String::from_utf8_lossy(&output.stderr);
        // timeout(1) ends with 124, or with 137 if it had to kill.
        let code = output.status.code().expect("an exit code");
        assert!(code < 124, "{command:?}: {code}: {errors}");
        if command[0] == "check" {
            let text = String::from_utf8_lossy(&output.stdout);
            for skipped in [
                "etc/cron.d/link",
                "opt/job.sh",
                "etc/systemd/system/x.timer",
            ] {
                assert!(text.contains(skipped), "{skipped} in {text}");
            }
        }
    }
}

#[test]
fn a_hung_mount_and_what_lies_below_it_are_refused_without_a_look() {
    let Some(hung) = Hung::mount() else { return };
    let point = hung.point();
    let link = tempfile::tempdir().unwrap();
    let link = link.path().join("link");
    std::os::unix::fs::symlink(&point, &link).unwrap();
    let below = format!("{point}/below");
    let through = format!("{}/below", link.display());
    let link = link.display().to_string();
    for path in [&point, &below, &link, &through] {
        for arguments in [
            &["--dry-run"][..],
            &["--now"],
            &["--status"],
            &["--cancel"],
            &["--dry-run", "--force"],
        ] {
            let output = std::process::Command::new("timeout")
                .args([
                    "--kill-after=1",
                    "30",
                    env!("CARGO_BIN_EXE_trimtab"),
                    "trim",
                ])
                .args(arguments)
                .arg(path)
                .output()
                .expect("timeout");
            let code = output.status.code().expect("an exit code");
            assert!(code < 124, "{arguments:?} {path}: {code}");
            if arguments[0] == "--dry-run" {
                let shown = format!("{}{}", stdout(&output), stderr(&output));
                assert_eq!(code, 2, "{path}: {shown}");
                assert!(shown.contains("fuse"), "{path}: {shown}");
            }
        }
    }
}
