//! Commands that edit one line of /etc/fstab, each with the one that undoes the edit.

use crate::trim_jobs::bare;
use facts::Host;
use facts::host::{FstabEntry, Mount};

/// Returns the last fstab line for a mount, which is the effective one.
pub(crate) fn entry_of<'h>(host: &'h Host, mount: &Mount) -> Option<&'h FstabEntry> {
    let wanted = bare(&mount.mount_point);
    host.fstab
        .as_deref()?
        .iter()
        .rev()
        .find(|entry| bare(&entry.mount_point) == wanted)
}

/// Returns the command that removes an option from a line; `option` is an extended regular
/// expression without slashes and groups. The options may be the last field of the line; an empty
/// list becomes `defaults`.
pub(crate) fn remove_option(host: &Host, line: u64, option: &str) -> (String, String) {
    edit(
        host,
        line,
        &format!(
            "{line}s/,{option}([,[:blank:]]|$)/\\1/; {line}s/([[:blank:]]){option},/\\1/; \
             {line}s/([[:blank:]]){option}([[:blank:]]|$)/\\1defaults\\2/"
        ),
    )
}

/// Returns the command that replaces an option by another; see [`remove_option`] for `old`.
pub(crate) fn replace_option(host: &Host, line: u64, old: &str, new: &str) -> (String, String) {
    edit(
        host,
        line,
        &format!("{line}s/([,[:blank:]]){old}([,[:blank:]]|$)/\\1{new}\\2/"),
    )
}

/// Returns the command that appends an option to those of a line.
pub(crate) fn append_option(host: &Host, line: u64, option: &str) -> (String, String) {
    append_to_lines(host, &[(line, option)])
}

/// Returns the command that appends an option each to those of several lines.
pub(crate) fn append_to_lines(host: &Host, lines: &[(u64, &str)]) -> (String, String) {
    let at_line = |(line, option): &(u64, &str)| {
        format!(
            "{line}s/^([[:blank:]]*([^[:blank:]]+[[:blank:]]+){{3}}[^[:blank:]]+)/\\1,{option}/"
        )
    };
    let expressions: Vec<String> = lines.iter().map(at_line).collect();
    let first = lines.first().map_or(0, |(line, _)| *line);
    edit(host, first, &expressions.join("; "))
}

/// Returns a command that edits fstab, and the one that restores it. The backup is named after the line, so that two
/// edits do not overwrite each other's backup.
fn edit(host: &Host, line: u64, expressions: &str) -> (String, String) {
    let backup = format!("before-line-{line}");
    let reload = reload(host);
    (
        format!("sed -i.{backup} -E '{expressions}' /etc/fstab{reload}"),
        format!("mv /etc/fstab.{backup} /etc/fstab{reload}"),
    )
}

/// systemd generates mount units from fstab and has to be told to reload it.
fn reload(host: &Host) -> &'static str {
    if host.platform.systemd == Some(false) {
        ""
    } else {
        " && systemctl daemon-reload"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Applies a command's `sed` to fstab; `None` if this machine has no GNU sed.
    fn edited(command: &str, fstab: &str) -> Option<String> {
        let expressions = command.split('\'').nth(1).expect("expressions");
        let output = Command::new("sh")
            .args(["-c", "printf %s \"$1\" | sed -E \"$2\"", "sh"])
            .args([fstab, expressions])
            .output()
            .ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8(output.stdout).expect("text"))
    }

    #[test]
    fn an_option_is_removed_at_any_position() {
        let (command, _) = remove_option(&Host::default(), 2, "discard[=a-z]*");
        let cases = [
            (
                "/dev/a /a xfs noatime,discard 0 0",
                "/dev/a /a xfs noatime 0 0",
            ),
            (
                "/dev/a /a xfs discard,noatime 0 0",
                "/dev/a /a xfs noatime 0 0",
            ),
            (
                "/dev/a /a xfs ro,discard=async,noatime",
                "/dev/a /a xfs ro,noatime",
            ),
            ("/dev/a\t/a\txfs\tdiscard", "/dev/a\t/a\txfs\tdefaults"),
            ("/dev/a /a xfs noatime,discard", "/dev/a /a xfs noatime"),
            ("/dev/a /a xfs nodiscard 0 0", "/dev/a /a xfs nodiscard 0 0"),
            ("LABEL=discard /a xfs ro 0 0", "LABEL=discard /a xfs ro 0 0"),
        ];
        for (line, expected) in cases {
            let other = "/dev/z /z ext4 discard 0 0";
            let Some(result) = edited(&command, &format!("{other}\n{line}\n")) else {
                return;
            };
            assert_eq!(result, format!("{other}\n{expected}\n"));
        }
    }

    #[test]
    fn an_option_is_added_to_the_fourth_field() {
        let (command, _) = append_option(&Host::default(), 1, "noatime");
        if let Some(result) = edited(&command, "UUID=1  /a\text4 defaults 0 2\n") {
            assert_eq!(result, "UUID=1  /a\text4 defaults,noatime 0 2\n");
        }
        let (command, _) = append_to_lines(&Host::default(), &[(1, "noatime"), (3, "noatime")]);
        assert!(command.starts_with("sed -i.before-line-1 "), "{command}");
        if let Some(result) = edited(
            &command,
            "/a /b auto bind\n/c /d auto bind\n/e /f auto bind 0 0\n",
        ) {
            let expected =
                "/a /b auto bind,noatime\n/c /d auto bind\n/e /f auto bind,noatime 0 0\n";
            assert_eq!(result, expected);
        }
    }

    #[test]
    fn an_option_is_replaced_in_place() {
        let (command, _) = replace_option(&Host::default(), 1, "strictatime", "noatime");
        if let Some(result) = edited(&command, "UUID=1 /a ext4 ro,strictatime\n") {
            assert_eq!(result, "UUID=1 /a ext4 ro,noatime\n");
        }
    }

    #[test]
    fn without_systemd_nothing_is_reloaded() {
        let mut host = Host::default();
        let (_, undo) = append_option(&host, 3, "noatime");
        assert!(undo.ends_with("&& systemctl daemon-reload"));
        host.platform.systemd = Some(false);
        let (command, undo) = append_option(&host, 3, "noatime");
        assert_eq!(undo, "mv /etc/fstab.before-line-3 /etc/fstab");
        assert!(command.ends_with("/etc/fstab"));
    }
}
