use super::platform::{keep_if, keep_lines};
use crate::parse::cgroup::marker;
use crate::parse::store_process;

/// Returns the part after `proc/PID/`.
fn of_process(path: &str) -> Option<&str> {
    let (pid, rest) = path.strip_prefix("proc/")?.split_once('/')?;
    let is_pid = pid == "self" || (!pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit()));
    is_pid.then_some(rest)
}

/// Returns the part after `proc/PID/root/`.
pub(super) fn in_root_of_process(path: &str) -> Option<&str> {
    of_process(path)?.strip_prefix("root/")
}

/// Filters the files of `proc/PID`.
pub(super) fn keep(path: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(bytes);
    match of_process(path)? {
        // Other processes are private.
        "comm" => Some(keep_if(bytes, store_process::is_wanted_comm)),
        "cmdline" => {
            let arguments = store_process::split_command_line(&text);
            let mut kept = store_process::keep_arguments(&arguments).join("\0");
            if !kept.is_empty() {
                kept.push('\0');
            }
            Some(kept.into_bytes())
        }
        "status" => Some(keep_lines(bytes, &["PPid:"])),
        "cgroup" => {
            Some(marker(&text).map_or_else(Vec::new, |mark| format!("0::/{mark}\n").into_bytes()))
        }
        "mountinfo" => Some(keep_mountinfo(&text).into_bytes()),
        _ => None,
    }
}

/// Filters the mounts of a container: keeps device, root, mount point and type. Sources and options
/// may contain names of servers and users.
fn keep_mountinfo(text: &str) -> String {
    text.lines()
        .filter_map(|line| {
            let (mount, filesystem) = line.split_once(" - ")?;
            let mut fields = mount.split(' ');
            let (id, parent) = (fields.next()?, fields.next()?);
            let (number, root, point) = (fields.next()?, fields.next()?, fields.next()?);
            let fs_type = filesystem.split(' ').next()?;
            Some(format!(
                "{id} {parent} {number} {root} {point} rw - {fs_type} none rw\n"
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::kept;
    use super::*;

    #[test]
    fn nothing_is_kept_of_other_processes() {
        assert_eq!(kept("proc/7/comm", "java\n"), "java\n");
        assert_eq!(kept("proc/7/comm", "s3cret-agent\n"), "");
        assert_eq!(kept("proc/7/cmdline", "curl\0-u\0me:s3cret\0"), "");
        assert_eq!(
            kept(
                "proc/7/cmdline",
                "mongod\0--dbpath\0/srv\0--keyFile\0/s3cret\0"
            ),
            "mongod\0--dbpath\0/srv\0"
        );
        assert_eq!(
            kept("proc/7/status", "Name:\tx\nUid:\t0\nPPid:\t12\n"),
            "PPid:\t12\n"
        );
        let cgroup = "12:cpu:/\n0::/system.slice/docker-5ec4e7.scope\n";
        assert_eq!(kept("proc/1/cgroup", cgroup), "0::/docker\n");
        assert_eq!(keep("proc/7/environ", b"A=s3cret"), None);
        assert_eq!(keep("proc/x7/comm", b"java"), None);
    }

    #[test]
    fn mounts_of_a_container_keep_no_sources() {
        let line =
            "53 50 259:1 /a /data/db rw,relatime master:1 - nfs4 s3cret:/x rw,addr=10.0.0.1\n";
        assert_eq!(
            kept("proc/7/mountinfo", line),
            "53 50 259:1 /a /data/db rw - nfs4 none rw\n"
        );
    }
}
