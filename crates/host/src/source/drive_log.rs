//! Runs the tools that read a drive's own counters.

use super::process;
use crate::command::DriveTool;
use crate::parse::drive_log::{ANSWER_BYTES_MAX, is_plain_name};
use crate::unread::Unread;
use linux::run::Ended;
use std::time::Duration;

/// Timeout for a tool. A drive answers in milliseconds, one that has to wake up in a second or two;
/// the kernel's timeout for a command is 30 seconds and more.
const DEADLINE: Duration = Duration::from_secs(5);
/// Where the tools are. `PATH` is not used, since root may have inherited it from somebody else.
const DIRECTORIES: [&str; 6] = [
    "/usr/sbin",
    "/usr/bin",
    "/usr/local/sbin",
    "/sbin",
    "/bin",
    "/run/current-system/sw/bin",
];

/// Returns a tool's answer for a drive. Nothing is run unless we are root, since others get no
/// answer.
pub(super) fn ask(tool: DriveTool, drive: &str) -> Result<Vec<u8>, Unread> {
    if !rustix::process::geteuid().is_root() {
        return Err(Unread::Denied);
    }
    run(tool, drive, &DIRECTORIES, DEADLINE)
}

fn run(
    tool: DriveTool,
    drive: &str,
    directories: &[&str],
    deadline: Duration,
) -> Result<Vec<u8>, Unread> {
    if !is_plain_name(drive) {
        return Err(Unread::Failed("not the name of a drive".to_owned()));
    }
    let name = match tool {
        DriveTool::Smartctl => "smartctl",
        DriveTool::NvmeSmartLog | DriveTool::NvmeOcp => "nvme",
    };
    let program = process::find(name, directories)?;
    let device = format!("/dev/{drive}");
    let mut command = process::in_c_locale(&program);
    match tool {
        // Without the error log, which takes time to read.
        DriveTool::Smartctl if drive.starts_with("nvme") => {
            command.args(["--json=c", "-A", &device])
        }
        // Without -i the sector size is missing, and the device statistics count sectors.
        DriveTool::Smartctl => command.args(["--json=c", "-i", "-A", "-l", "devstat,1", &device]),
        DriveTool::NvmeSmartLog => command.args(["smart-log", &device, "-o", "json"]),
        DriveTool::NvmeOcp => command.args(["ocp", "smart-add-log", &device, "-o", "json"]),
    };
    let Ended { status, stdout, .. } =
        process::run_to_end(&mut command, deadline, ANSWER_BYTES_MAX)?;
    // smartctl's status reflects the drive's health; whether smartctl itself failed is in its
    // answer.
    let says_more = tool == DriveTool::Smartctl && status.code().is_some() && !stdout.is_empty();
    if status.success() || says_more {
        return Ok(stdout);
    }
    // Not its error message, which may contain the drive's serial number.
    Err(Unread::Failed(status.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn tool(name: &str, script: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        directory
    }

    fn run_in(
        directory: &tempfile::TempDir,
        tool: DriveTool,
        drive: &str,
        deadline: Duration,
    ) -> Result<Vec<u8>, Unread> {
        let path = directory.path().to_str().unwrap();
        run(tool, drive, &["/nonexistent", path], deadline)
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn each_tool_is_called_as_its_manual_says() {
        for (of, drive, name, expected) in [
            (
                DriveTool::Smartctl,
                "sda",
                "smartctl",
                "--json=c -i -A -l devstat,1 /dev/sda C\n",
            ),
            (
                DriveTool::Smartctl,
                "nvme0n1",
                "smartctl",
                "--json=c -A /dev/nvme0n1 C\n",
            ),
            (
                DriveTool::NvmeSmartLog,
                "nvme0n1",
                "nvme",
                "smart-log /dev/nvme0n1 -o json C\n",
            ),
            (
                DriveTool::NvmeOcp,
                "nvme0n1",
                "nvme",
                "ocp smart-add-log /dev/nvme0n1 -o json C\n",
            ),
        ] {
            let directory = tool(name, "echo \"$@\" \"$LC_ALL\"");
            let answer = run_in(&directory, of, drive, LONG).unwrap();
            assert_eq!(String::from_utf8(answer).unwrap(), expected);
        }
    }

    #[test]
    fn errors_contain_the_status_but_not_the_message() {
        let directory = tool(
            "nvme",
            "echo S3RI4L; echo 'S3RI4L: no such log' >&2; exit 2",
        );
        let Err(Unread::Failed(why)) = run_in(&directory, DriveTool::NvmeOcp, "nvme0n1", LONG)
        else {
            panic!("status 2 passed for success");
        };
        assert!(why.contains('2') && !why.contains("S3RI4L"), "{why}");
    }

    #[test]
    fn an_unhealthy_drive_has_an_answer() {
        let directory = tool("smartctl", "echo '{}'; exit 8");
        let answer = run_in(&directory, DriveTool::Smartctl, "sda", LONG);
        assert_eq!(answer, Ok(b"{}\n".to_vec()));
        let directory = tool("smartctl", "exit 1");
        let answer = run_in(&directory, DriveTool::Smartctl, "sda", LONG);
        assert!(matches!(answer, Err(Unread::Failed(_))), "{answer:?}");
    }

    #[test]
    fn a_hanging_drive_times_out() {
        let directory = tool("nvme", "exec sleep 30");
        let short = Duration::from_millis(80);
        let answer = run_in(&directory, DriveTool::NvmeSmartLog, "nvme0n1", short);
        assert_eq!(answer, Err(Unread::Timeout(80)));
    }

    #[test]
    fn a_missing_tool_is_not_found_and_odd_names_are_rejected() {
        let directory = tool("nvme", "echo '{}'");
        let answer = run_in(&directory, DriveTool::Smartctl, "sda", LONG);
        assert_eq!(answer, Err(Unread::NotFound));
        for odd in ["", "../sda", "cciss!c0d0", "-x", "a b", &"a".repeat(33)] {
            let answer = run_in(&directory, DriveTool::NvmeOcp, odd, LONG);
            assert!(
                matches!(answer, Err(Unread::Failed(_))),
                "{odd}: {answer:?}"
            );
        }
    }
}
