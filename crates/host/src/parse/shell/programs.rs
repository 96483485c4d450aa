//! Classifies programs: I/O-intensive, a wrapper around another program, or a helper.

/// Programs whose arguments matter and never hold secrets.
const ARGUMENTS_MATTER: &[&str] = &[
    "aide",
    "anacron",
    "apt",
    "apt-get",
    "blkdiscard",
    "btrfs",
    "btrfs-balance",
    "btrfs-scrub",
    "checkarray",
    "clamscan",
    "e2scrub",
    "e2scrub_all",
    "e2scrub_all_cron",
    "e4defrag",
    "fstrim",
    "invoke-rc.d",
    "logrotate",
    "man-db",
    "mandb",
    "mdadm",
    "mdcheck",
    "raid-check",
    "rkhunter",
    "run-crons",
    "run-parts",
    "service",
    "smartctl",
    "systemctl",
    "tmpreaper",
    "tmpwatch",
    "trimtab",
    "updatedb",
    "updatedb.mlocate",
    "updatedb.plocate",
    "xfs_fsr",
    "xfs_scrub",
    "xfs_scrub_all",
    "zpool",
];

/// Other I/O-intensive programs, kept by name only: their arguments may hold secrets.
const NAME_MATTERS: &[&str] = &[
    "amdump",
    "backupninja",
    "borg",
    "borgmatic",
    "btrfs-balance.sh",
    "btrfs-scrub.sh",
    "duplicity",
    "duply",
    "elasticdump",
    "fstrim-all",
    "kopia",
    "mariabackup",
    "mariadb-dump",
    "mongodump",
    "mysqldump",
    "pg_basebackup",
    "pg_dump",
    "pg_dumpall",
    "rdiff-backup",
    "restic",
    "rsnapshot",
    "rsync",
    "scylla_fstrim",
    "xfsdump",
    "xtrabackup",
];

/// Shell builtins and tests, which do not count as programs of a job.
const BUILTINS: &[&str] = &[
    ":", ".", "[", "[[", "alias", "bg", "break", "builtin", "cd", "continue", "declare", "echo",
    "eval", "exec", "exit", "export", "false", "fg", "getopts", "hash", "jobs", "let", "local",
    "popd", "printf", "pushd", "pwd", "read", "readonly", "return", "set", "shift", "shopt",
    "source", "test", "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias",
    "unset", "wait",
];

/// Programs that prepare or report something and are not the purpose of a job.
const HELPERS: &[&str] = &[
    "awk",
    "basename",
    "cat",
    "chmod",
    "chown",
    "cut",
    "date",
    "dirname",
    "egrep",
    "env",
    "expr",
    "grep",
    "head",
    "hostname",
    "id",
    "kill",
    "logger",
    "ls",
    "mail",
    "mkdir",
    "mktemp",
    "on_ac_power",
    "ps",
    "readlink",
    "sed",
    "sendmail",
    "seq",
    "sleep",
    "sort",
    "stat",
    "tail",
    "tee",
    "touch",
    "tr",
    "uname",
    "uniq",
    "wc",
    "which",
    "whoami",
];

/// Programs that interpret a shell script.
const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "mksh", "sh", "zsh"];

/// A program that starts another one.
pub(super) struct Wrapper {
    /// Base name.
    pub name: &'static str,
    /// Short options that take a value.
    pub short: &'static str,
    /// Long options that take a value, which may be the next word.
    pub long: &'static [&'static str],
    /// Number of words between the options and the program.
    pub positional: usize,
    /// Whether the word after `-c` or `--command` is a script.
    pub script: bool,
    /// Short options that are not followed by a program.
    pub ends_at: &'static str,
}

impl Wrapper {
    /// Whether its options only control the priority of the program.
    pub fn only_sets_priority(&self) -> bool {
        matches!(self.name, "chrt" | "ionice" | "nice")
    }

    /// Whether it interprets a shell script.
    pub fn is_shell(&self) -> bool {
        self.name == SHELL.name
    }
}

const fn wrapper(
    name: &'static str,
    short: &'static str,
    long: &'static [&'static str],
    positional: usize,
) -> Wrapper {
    Wrapper {
        name,
        short,
        long,
        positional,
        script: false,
        ends_at: "",
    }
}

/// Any of [`SHELLS`]. `-s` is followed by arguments of a script that is elsewhere.
static SHELL: Wrapper = Wrapper {
    script: true,
    ends_at: "s",
    ..wrapper("sh", "oO", &["rcfile", "init-file"], 0)
};

const WRAPPERS: &[Wrapper] = &[
    wrapper("builtin", "", &[], 0),
    wrapper("busybox", "", &[], 0),
    wrapper("chronic", "", &[], 0),
    wrapper(
        "chrt",
        "TPD",
        &["sched-runtime", "sched-period", "sched-deadline"],
        1,
    ),
    Wrapper {
        // Only prints where a program is.
        ends_at: "vV",
        ..wrapper("command", "", &[], 0)
    },
    wrapper("doas", "uC", &[], 0),
    wrapper("env", "uCS", &["unset", "chdir", "split-string"], 0),
    wrapper("exec", "a", &[], 0),
    Wrapper {
        script: true,
        ..wrapper("flock", "wE", &["timeout", "wait", "conflict-exit-code"], 1)
    },
    wrapper("ionice", "cnpPu", &["class", "classdata", "pid"], 0),
    wrapper("nice", "n", &["adjustment"], 0),
    wrapper("nohup", "", &[], 0),
    wrapper(
        "numactl",
        "NmCpiP",
        &["cpunodebind", "membind", "interleave", "physcpubind"],
        0,
    ),
    wrapper("run-one", "", &[], 0),
    // A function of btrfsmaintenance through which its scripts run everything.
    wrapper("run_task", "", &[], 0),
    Wrapper {
        script: true,
        ..wrapper("runuser", "ugGs", &["user", "group", "shell"], usize::MAX)
    },
    wrapper("setsid", "", &[], 0),
    wrapper("stdbuf", "ioe", &["input", "output", "error"], 0),
    // Without a script it starts a shell and no program.
    Wrapper {
        script: true,
        ..wrapper("su", "gGs", &["group", "shell"], usize::MAX)
    },
    wrapper(
        "sudo",
        "ughpCrtTUDR",
        &["user", "group", "host", "prompt", "chdir", "role", "type"],
        0,
    ),
    wrapper(
        "systemd-cat",
        "tp",
        &["identifier", "priority", "stderr-priority"],
        0,
    ),
    wrapper("systemd-inhibit", "", &["what", "who", "why", "mode"], 0),
    wrapper(
        "systemd-run",
        "pEuMH",
        &["unit", "property", "slice", "uid", "gid", "nice"],
        0,
    ),
    wrapper("taskset", "", &[], 1),
    wrapper("time", "fo", &["format", "output"], 0),
    wrapper("timeout", "ks", &["kill-after", "signal"], 1),
    wrapper(
        "xargs",
        "adEIiLlnPs",
        &["arg-file", "delimiter", "max-args", "max-procs", "replace"],
        0,
    ),
];

/// Whether a program's arguments are kept as facts.
pub(crate) fn arguments_matter(program: &str) -> bool {
    ARGUMENTS_MATTER.contains(&program)
}

/// Whether a program is searched for in scripts in other languages.
pub(crate) fn is_disk_program(program: &str) -> bool {
    program.len() > 3
        && (ARGUMENTS_MATTER.contains(&program) || NAME_MATTERS.contains(&program))
        && !matches!(
            program,
            "service" | "systemctl" | "anacron" | "run-parts" | "aide"
        )
}

/// Whether a program is the purpose of a job rather than a builtin or helper.
pub(crate) fn is_substantial(program: &str) -> bool {
    !BUILTINS.contains(&program) && !HELPERS.contains(&program)
}

/// Whether a program interprets a shell script.
pub(crate) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// Whether a path is below a directory where administrators keep scripts that jobs call.
pub(crate) fn is_called(path: &str) -> bool {
    const BELOW: [&str; 4] = ["etc/", "usr/local/", "opt/", "root/"];
    BELOW.iter().any(|below| path.starts_with(below))
}

/// Returns the wrapper of this name.
pub(super) fn wrapper_named(program: &str) -> Option<&'static Wrapper> {
    if is_shell(program) {
        return Some(&SHELL);
    }
    WRAPPERS.iter().find(|wrapper| wrapper.name == program)
}
