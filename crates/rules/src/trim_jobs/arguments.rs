//! Parses the arguments of trim commands.

use facts::host::JobCommand;

/// A command that trims.
pub(super) struct TrimCommand<'a> {
    /// The command as found.
    pub command: &'a JobCommand,
    /// What it trims.
    pub targets: Targets,
    /// Whether it trims range by range (`--offset`, `--length`) or paces itself (`trimtab trim`).
    pub in_pieces: bool,
    /// `--types`, as written.
    types: Option<String>,
}

/// What a trim command trims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Targets {
    /// All mounts.
    Mountinfo,
    /// All mounts that are listed in fstab.
    Fstab,
    /// The entries of the first of these files that has any.
    Listed(Vec<String>),
    /// These directories.
    Paths(Vec<String>),
    /// Nothing, because the command fails, with the reason.
    Refused(&'static str),
    /// Cannot be determined from the text, with the reason.
    Unknown(String),
}

impl<'a> TrimCommand<'a> {
    /// Parses the command if it trims; `None` for dry runs, help and anything else.
    pub fn parse(command: &'a JobCommand) -> Option<Self> {
        match command.program.as_str() {
            "fstrim" => Self::parse_fstrim(command),
            // Ubuntu 14.04's script in cron.weekly.
            "fstrim-all" => Some(Self::by_another_name(
                command,
                "fstrim-all trims the drives of some makers only",
            )),
            // ScyllaDB's packages, started daily by scylla-fstrim.timer (scylladb, dist/common/scripts).
            "scylla_fstrim" => Some(Self::by_another_name(
                command,
                "scylla_fstrim trims the directories that scylla.yaml names",
            )),
            "trimtab" => Self::parse_trimtab(command),
            _ => None,
        }
    }

    /// A program that runs fstrim itself, on what its arguments do not tell.
    fn by_another_name(command: &'a JobCommand, why: &str) -> Self {
        Self {
            command,
            targets: Targets::Unknown(why.to_owned()),
            in_pieces: false,
            types: None,
        }
    }

    fn parse_fstrim(command: &'a JobCommand) -> Option<Self> {
        let mut modes = Vec::new();
        let mut paths = Vec::new();
        let mut types = None;
        let mut in_pieces = false;
        for word in getopt(&command.arguments) {
            match word {
                Word::Option("all", _) => modes.push(Targets::Mountinfo),
                Word::Option("fstab", _) => modes.push(Targets::Fstab),
                Word::Option("listed-in", files) => {
                    let files = files.unwrap_or_default().split(':');
                    modes.push(Targets::Listed(
                        files
                            .filter(|file| !file.is_empty())
                            .map(str::to_owned)
                            .collect(),
                    ));
                }
                Word::Option("types", list) => types = list.map(str::to_owned),
                Word::Option("offset" | "length", _) => in_pieces = true,
                Word::Option("dry-run" | "help" | "version", _) => return None,
                Word::Option(..) => {}
                Word::Path(path) => paths.push(path.to_owned()),
            }
        }
        let computed = paths.iter().find(|path| is_computed(path)).cloned();
        let targets = match (modes.len(), paths.len()) {
            (0, 0) => Targets::Unknown("its mount points were not found".to_owned()),
            _ if computed.is_some() => Targets::Unknown(format!(
                "it computes what it trims ({})",
                computed.unwrap_or_default()
            )),
            (0, 1) => Targets::Paths(paths),
            (0, _) => Targets::Refused("fstrim takes one mount point, and this names several"),
            (1, 0) => modes.remove(0),
            (1, _) => {
                Targets::Refused("fstrim takes either --all, --fstab, --listed-in or a mount point")
            }
            // Repeating the same mode is allowed.
            _ if paths.is_empty() && modes.iter().all(|mode| *mode == modes[0]) => modes.remove(0),
            _ => Targets::Refused("--all, --fstab and --listed-in exclude each other"),
        };
        Some(Self {
            command,
            targets,
            in_pieces,
            types,
        })
    }

    fn parse_trimtab(command: &'a JobCommand) -> Option<Self> {
        let (verb, rest) = command.arguments.split_first()?;
        if verb != "trim" {
            return None;
        }
        let mut all = false;
        let mut paths = Vec::new();
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--dry-run" | "-n" | "--status" | "--cancel" | "--restore-limits" | "--schema" => {
                    return None;
                }
                "--all" => all = true,
                // As `--restore-limits`, an option of 0.2.0, which the host may still have.
                "--max-request" => {
                    words.next();
                }
                option if TRIM_OPTIONS_WITH_VALUE.contains(&option) => {
                    words.next();
                }
                option if option.starts_with('-') => {}
                // Options of the packaged unit: `$TRIMTAB_TRIM_OPTIONS %f`.
                variable if variable.starts_with('$') && variable.contains("OPTIONS") => {}
                path => paths.push(path.to_owned()),
            }
        }
        let computed = paths.iter().find(|path| is_computed(path));
        let targets = if all {
            Targets::Mountinfo
        } else if let Some(path) = computed {
            Targets::Unknown(format!("it computes what it trims ({path})"))
        } else {
            Targets::Paths(paths)
        };
        Some(Self {
            command,
            targets,
            in_pieces: true,
            types: None,
        })
    }

    /// Whether `--types` accepts a filesystem type: it lists types, or types to exclude if it
    /// starts with `no` (libmount's `mnt_match_fstype`).
    pub fn takes_type(&self, fs_type: &str) -> bool {
        let Some(pattern) = &self.types else {
            return true;
        };
        let (list, listed_means) = match pattern.strip_prefix("no") {
            Some(rest) => (rest, false),
            None => (pattern.as_str(), true),
        };
        for word in list.split(',') {
            match word.strip_prefix("no") {
                Some(excluded) if excluded == fs_type => return false,
                _ if word == fs_type => return listed_means,
                _ => {}
            }
        }
        !listed_means
    }
}

/// The options of `trimtab trim` that take a value as the next word; a test of the binary compares them
/// with its arguments.
pub const TRIM_OPTIONS_WITH_VALUE: &[&str] = &[
    "--window",
    "--tz",
    "--width",
    "--max-latency",
    "--deadline",
    "--rate",
    "--accept-stall",
    "--probe",
    "--require-green",
    "--credentials-file",
    "--ca-file",
    "--state",
    "--format",
    "--output",
    "-o",
    "--color",
    "--config",
];

/// Whether a path depends on the shell, or does not start at the root.
fn is_computed(path: &str) -> bool {
    !path.starts_with('/') || path.contains(['$', '`', '*', '?', '[', '{'])
}

enum Word<'w> {
    Option(&'static str, Option<&'w str>),
    Path(&'w str),
}

/// fstrim's options: long name, letter, whether it takes a value.
const OPTIONS: &[(&str, char, bool)] = &[
    ("all", 'a', false),
    ("fstab", 'A', false),
    ("help", 'h', false),
    ("listed-in", 'I', true),
    ("version", 'V', false),
    ("offset", 'o', true),
    ("length", 'l', true),
    ("minimum", 'm', true),
    ("types", 't', true),
    ("verbose", 'v', false),
    ("quiet-unsupported", '\0', false),
    // Only in 2.34 and 2.35; later versions treat it as an abbreviation.
    ("quiet", '\0', false),
    ("dry-run", 'n', false),
];

/// Splits arguments like GNU getopt: options may be anywhere, long names may be abbreviated as long
/// as they stay unique, and letters may be combined.
fn getopt(arguments: &[String]) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut rest = arguments.iter().map(String::as_str);
    let mut only_paths = false;
    while let Some(argument) = rest.next() {
        if only_paths {
            words.push(Word::Path(argument));
        } else if argument == "--" {
            only_paths = true;
        } else if let Some(long) = argument.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            if let Some(&(name, _, takes_value)) = long_option(name) {
                let value = value.or_else(|| takes_value.then(|| rest.next()).flatten());
                words.push(Word::Option(name, value));
            }
        } else if let Some(letters) = argument.strip_prefix('-').filter(|l| !l.is_empty()) {
            for (at, letter) in letters.char_indices() {
                let Some(&(name, _, takes_value)) =
                    OPTIONS.iter().find(|(_, known, _)| *known == letter)
                else {
                    continue;
                };
                if !takes_value {
                    words.push(Word::Option(name, None));
                    continue;
                }
                let joined = &letters[at + letter.len_utf8()..];
                let value = if joined.is_empty() {
                    rest.next()
                } else {
                    Some(joined)
                };
                words.push(Word::Option(name, value));
                break;
            }
        } else {
            words.push(Word::Path(argument));
        }
    }
    words
}

fn long_option(name: &str) -> Option<&'static (&'static str, char, bool)> {
    if let Some(exact) = OPTIONS.iter().find(|(known, ..)| *known == name) {
        return Some(exact);
    }
    let mut cut = OPTIONS.iter().filter(|(known, ..)| known.starts_with(name));
    cut.next().filter(|_| cut.next().is_none())
}
