//! How support archives are laid out.

/// Where the outputs of mdiag are put, under the names of commands as sosreports have them.
pub(super) const OF_MDIAG: &str = "mdiag";

/// How one tool lays out its archives.
pub(super) struct Dialect {
    /// What people call such an archive.
    pub(super) name: &'static str,
    /// What only its archives have at the top.
    pub(super) marker: &'static str,
    /// Whether the tree is that of a host, as far as it goes.
    pub(super) is_host: bool,
    /// Directories of outputs, and what is made of those, if that is one path or command. A file's name is the
    /// command, with `_` for spaces and `.` for slashes.
    pub(super) outputs: &'static [(&'static str, &'static str)],
    /// JSON files with the time at which it was made.
    pub(super) manifests: &'static [&'static str],
    /// Recorded curves: files, and directories of sar's text.
    pub(super) curves: &'static [&'static str],
}

pub(super) const DIALECTS: &[Dialect] = &[
    // github.com/sosreport/sos, sos/report/plugins.
    Dialect {
        name: "sosreport",
        marker: "sos_commands",
        is_host: true,
        outputs: &[
            ("sos_commands/block", "sys/block"),
            ("sos_commands/cron", "var/spool/cron/crontabs"),
            ("sos_commands/date", ""),
            ("sos_commands/devicemapper", "dmsetup_table"),
            ("sos_commands/filesys", "proc/self/mountinfo"),
            ("sos_commands/host", ""),
            ("sos_commands/kernel", ""),
            ("sos_commands/process", "proc"),
            ("sos_commands/systemd", "systemctl_show"),
        ],
        manifests: &[],
        curves: &["var/log/sa", "var/log/sysstat", "sos_commands/sar"],
    },
    // github.com/elastic/support-diagnostics, src/main/resources/diags.yml.
    Dialect {
        name: "support-diagnostics",
        marker: "version.json",
        is_host: false,
        outputs: &[],
        manifests: &["diagnostic_manifest.json", "manifest.json"],
        curves: &["syscalls/iostat.txt", "syscalls/sar.txt"],
    },
    // As mdiag's sections are put into a tree.
    Dialect {
        name: "mdiag",
        marker: OF_MDIAG,
        is_host: true,
        outputs: &[(OF_MDIAG, "")],
        manifests: &[],
        curves: &["mdiag/iostat_-xtm_1_120"],
    },
];

/// What helps where another tool's archive is not read.
const SOS_INSTEAD: &str = "run `sos report` or `trimtab collect` on the host instead";
/// What helps with MongoDB's own histories.
const EXPLAIN_INSTEAD: &str = "unpack it and run `trimtab explain DIRECTORY`";

/// Archives that are known and not read: what they have at the top or below one directory, what they are,
/// and what to do instead.
pub(super) const UNREAD: &[(&str, &str, &str)] = &[
    ("basic-environment.txt", "SUSE's supportconfig", SOS_INSTEAD),
    (
        "insights_commands",
        "an archive of Red Hat Insights",
        SOS_INSTEAD,
    ),
    (
        "cluster-scoped-resources",
        "a must-gather of OpenShift",
        SOS_INSTEAD,
    ),
    (
        "metrics.interim",
        "MongoDB's diagnostic data",
        EXPLAIN_INSTEAD,
    ),
    (
        "diagnostic.data",
        "MongoDB's diagnostic data",
        EXPLAIN_INSTEAD,
    ),
];

/// Beginnings of paths, below the top of an archive, that facts are read from.
const WANTED: &[&str] = &[
    "etc/",
    "lib/systemd/",
    "proc/",
    "run/systemd/",
    "sys/block/",
    "sys/class/",
    "sys/devices/",
    "sys/fs/btrfs/",
    "sys/module/",
    "usr/lib/os-release",
    "usr/lib/systemd/",
    "usr/share/",
    "var/log/cron",
    "var/log/messages",
    "var/log/syslog",
    "var/spool/cron",
];

/// The names of the archives that are known.
pub(in crate::source) fn known() -> String {
    let names: Vec<&str> = DIALECTS.iter().map(|dialect| dialect.name).collect();
    names.join(", ")
}

/// Whether facts may be read from a path of an archive, with or without the directory at its top.
pub(in crate::source) fn is_wanted(path: &str) -> bool {
    let is = |path: &str| {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let outputs = DIALECTS.iter().any(|dialect| {
            let of_commands = dialect.outputs.iter().any(|(known, _)| *known == directory);
            of_commands
                || dialect.curves.contains(&path)
                || (dialect.curves.contains(&directory) && is_sar_text(path))
        });
        // Links and files at the top: `hostname`, `lib`, `nodes.json`.
        outputs || !path.contains('/') || WANTED.iter().any(|start| path.starts_with(start))
    };
    let below = |path: &str| path.split_once('/').is_some_and(|(_, below)| is(below));
    is(path) || below(path) || in_eck(path).is_some_and(is)
}

/// Whether a file is the text of a day of sar: `sar07`, or `sar20260207` (sysstat's sa2).
pub(super) fn is_sar_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let digits = name.strip_prefix("sar");
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns the path within an archive of support-diagnostics of a file that eck-diagnostics keeps:
/// `NAMESPACE/elasticsearch/NAME/...` (`internal/diag.go` in github.com/elastic/eck-diagnostics).
fn in_eck(path: &str) -> Option<&str> {
    let (namespace, rest) = path.split_once("/elasticsearch/")?;
    let (_, below) = rest.split_once('/')?;
    (!namespace.contains('/')).then_some(below)
}
