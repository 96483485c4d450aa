//! Runs the binary, and builds host trees for it.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Returns the root of the repository.
pub fn repository() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Returns the path of a recorded host's bundle.
pub fn recorded(name: &str) -> String {
    repository()
        .join(format!("lab/hosts/{name}.tar.zst"))
        .display()
        .to_string()
}

/// Returns the binary with an environment that is the same on every machine. Signals are reset too:
/// nohup and background jobs of a shell ignore some.
pub fn trimtab() -> Command {
    let mut command = Command::new("/usr/bin/env");
    command.args([
        "--default-signal=HUP,INT,QUIT",
        env!("CARGO_BIN_EXE_trimtab"),
    ]);
    for name in [
        "TRIMTAB_SELECT",
        "TRIMTAB_IGNORE",
        "TRIMTAB_FORMAT",
        "TRIMTAB_FAIL_ON",
        "TRIMTAB_LOG",
    ] {
        command.env_remove(name);
    }
    // 2026-11-21T03:00:00Z
    command
        .env("SOURCE_DATE_EPOCH", "1795230000")
        .env("NO_COLOR", "1")
        .env("LC_ALL", "C.UTF-8")
        .env(
            "TRIMTAB_CONFIG",
            repository().join("crates/trimtab/tests/data/empty.toml"),
        );
    command
}

/// Runs the binary with these arguments.
pub fn run(arguments: &[&str]) -> Output {
    trimtab()
        .args(arguments)
        .output()
        .expect("the binary starts")
}

/// Returns standard output as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("output is UTF-8")
}

/// Returns standard error as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a check that must succeed, or could not tell, and returns its JSON report.
pub fn report(arguments: &[&str]) -> Value {
    let output = trimtab()
        .args(["check", "--format", "json", "--exit-zero"])
        .args(arguments)
        .output()
        .expect("the binary starts");
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    let counted = |key: &str| {
        let coverage = &report["result"]["coverage"];
        coverage[key].as_u64().expect("a number")
    };
    let is_partial =
        2 * counted("undecided") > counted("rules") || counted("filesystems_unread") > 0;
    let code = output.status.code();
    assert!(
        code == Some(0) || is_partial && code == Some(2),
        "{}",
        stderr(&output)
    );
    report
}

/// Returns the findings of a report as `RULE severity mount device`, sorted.
pub fn findings(report: &Value) -> Vec<String> {
    let mut lines: Vec<String> = report["result"]["findings"]
        .as_array()
        .expect("a list of findings")
        .iter()
        .map(|finding| {
            let text = |key: &str| finding[key].as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} {} {}",
                text("rule"),
                text("severity"),
                text("mount_point"),
                text("device")
            )
        })
        .collect();
    lines.sort();
    lines
}

/// Files of a host in a temporary directory, for `--root`.
pub struct Tree(tempfile::TempDir);

impl Tree {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    pub fn path(&self) -> String {
        self.0.path().display().to_string()
    }

    /// Writes a file, creating its directories.
    pub fn file(&self, path: &str, content: &str) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::fs::write(path, content).expect("a file");
    }

    /// Writes an executable file.
    pub fn script(&self, path: &str, content: &str) {
        use std::os::unix::fs::PermissionsExt;
        self.file(path, content);
        std::fs::set_permissions(self.0.path().join(path), PermissionsExt::from_mode(0o755))
            .expect("a mode");
    }

    /// Makes a symbolic link.
    pub fn link(&self, path: &str, target: &str) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::os::unix::fs::symlink(target, path).expect("a link");
    }

    fn queue(
        &self,
        device: &str,
        rotational: u8,
        discard_max_bytes: u64,
        minimum: u64,
        optimal: u64,
    ) {
        for (name, value) in [
            ("discard_granularity", 512),
            ("discard_max_bytes", discard_max_bytes),
            ("discard_max_hw_bytes", discard_max_bytes),
            ("logical_block_size", 512),
            ("minimum_io_size", minimum),
            ("optimal_io_size", optimal),
            ("rotational", rotational.into()),
        ] {
            self.file(&format!("{device}/queue/{name}"), &format!("{value}\n"));
        }
        self.file(&format!("{device}/size"), "3750748848\n");
        self.file(&format!("{device}/ro"), "0\n");
    }

    /// Adds a disk without discard support, at `device` in sysfs if given.
    pub fn disk(&self, name: &str, number: &str, rotational: u8, device: Option<&str>) {
        let path = device.map_or_else(
            || format!("sys/devices/vbd-768/block/{name}"),
            str::to_owned,
        );
        self.link(
            &format!("sys/block/{name}"),
            &format!("../{}", &path["sys/".len()..]),
        );
        self.link(
            &format!("sys/class/block/{name}"),
            &format!("../../{}", &path["sys/".len()..]),
        );
        self.file(&format!("{path}/dev"), &format!("{number}\n"));
        self.queue(&path, rotational, 0, 512, 0);
    }

    /// Adds a partition of a disk for which [`Self::disk`] chose the sysfs directory.
    pub fn partition(&self, disk: &str, name: &str, number: &str) {
        let path = format!("sys/devices/vbd-768/block/{disk}/{name}");
        self.link(
            &format!("sys/class/block/{name}"),
            &format!("../../devices/vbd-768/block/{disk}/{name}"),
        );
        for (attribute, value) in [
            ("dev", number),
            ("partition", "1"),
            ("start", "2048"),
            ("size", "3750746800"),
        ] {
            self.file(&format!("{path}/{attribute}"), &format!("{value}\n"));
        }
    }

    /// Adds an NVMe drive with discard support.
    pub fn nvme(&self, name: &str, number: &str, model: &str) {
        let controller = name.trim_end_matches("n1");
        let path = format!("sys/devices/pci0000:00/0000:00:1e.0/nvme/{controller}");
        self.link(
            &format!("sys/block/{name}"),
            &format!("../{}/{name}", &path["sys/".len()..]),
        );
        self.link(
            &format!("{path}/{name}/device"),
            &format!("../../{controller}"),
        );
        self.file(&format!("{path}/model"), &format!("{model}\n"));
        self.file(&format!("{path}/{name}/dev"), &format!("{number}\n"));
        self.queue(&format!("{path}/{name}"), 0, 2_147_483_136, 512, 0);
    }

    /// Adds a SATA SSD; `trim` is the content of libata's `trim` attribute.
    pub fn sata(&self, name: &str, number: &str, model: &str, trim: &str) {
        let port = u32::from(name.as_bytes()[2] - b'a') + 1;
        let target = format!(
            "sys/devices/pci0000:00/0000:00:1f.2/ata{port}/host{port}/target{port}:0:0/{port}:0:0:0"
        );
        let path = format!("{target}/block/{name}");
        self.link(
            &format!("sys/block/{name}"),
            &format!("../{}", &path["sys/".len()..]),
        );
        self.link(&format!("{path}/device"), &format!("../../../{port}:0:0:0"));
        self.file(&format!("{target}/model"), &format!("{model}\n"));
        self.file(&format!("{target}/vendor"), "ATA     \n");
        self.file(
            &format!("{target}/scsi_disk/{port}:0:0:0/provisioning_mode"),
            "writesame_16\n",
        );
        self.file(
            &format!("sys/class/ata_device/dev{port}.0/trim"),
            &format!("{trim}\n"),
        );
        self.file(&format!("{path}/dev"), &format!("{number}\n"));
        self.queue(&path, 0, 2_147_450_880, 512, 0);
    }

    /// Adds an md RAID 0 over the named drives.
    pub fn raid0(&self, name: &str, number: &str, drives: &[String], chunk_bytes: u64) {
        let path = format!("sys/devices/virtual/block/{name}");
        self.link(
            &format!("sys/block/{name}"),
            &format!("../devices/virtual/block/{name}"),
        );
        let disks = drives.len();
        for (attribute, value) in [
            ("dev", number.to_owned()),
            ("md/level", "raid0".to_owned()),
            ("md/chunk_size", chunk_bytes.to_string()),
            ("md/raid_disks", disks.to_string()),
            ("md/array_state", "clean".to_owned()),
        ] {
            self.file(&format!("{path}/{attribute}"), &format!("{value}\n"));
        }
        self.queue(
            &path,
            0,
            2_147_450_880,
            chunk_bytes,
            chunk_bytes * disks as u64,
        );
        for drive in drives {
            self.link(
                &format!("{path}/slaves/{drive}"),
                &format!("../../../../../block/{drive}"),
            );
        }
    }

    /// Adds a device-mapper device with discard support.
    pub fn device_mapper(
        &self,
        name: &str,
        number: &str,
        dm_name: &str,
        uuid: &str,
        below: &[&str],
    ) {
        let path = format!("sys/devices/virtual/block/{name}");
        self.link(
            &format!("sys/block/{name}"),
            &format!("../devices/virtual/block/{name}"),
        );
        self.file(&format!("{path}/dev"), &format!("{number}\n"));
        self.file(&format!("{path}/dm/name"), &format!("{dm_name}\n"));
        self.file(&format!("{path}/dm/uuid"), &format!("{uuid}\n"));
        self.queue(&path, 0, 2_147_450_880, 512, 0);
        for drive in below {
            self.link(
                &format!("{path}/slaves/{drive}"),
                &format!("../../../../../block/{drive}"),
            );
        }
    }

    /// Adds a running process.
    pub fn process(&self, pid: u32, name: &str, arguments: &[&str]) {
        self.file(&format!("proc/{pid}/comm"), &format!("{name}\n"));
        self.file(
            &format!("proc/{pid}/cmdline"),
            &(arguments.join("\0") + "\0"),
        );
    }
}
