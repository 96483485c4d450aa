//! Keeps `-o` from overwriting an input file.

use super::args::Explain;
use crate::config::ExplainConfig;
use crate::error::CommandError;
use std::fs::metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Input files named by the command line and the configuration, and the files in a source directory.
pub fn named(arguments: &Explain, config: &ExplainConfig) -> Vec<PathBuf> {
    let access = &arguments.servers.access;
    let jobs = arguments.jobs.as_ref().or(config.jobs.as_ref());
    let credentials = access.credentials_file.as_ref();
    let sources = arguments.sources.iter().map(PathBuf::from);
    let directories = sources.clone().filter(|source| source.is_dir());
    let options = [
        credentials.or(config.credentials_file.as_ref()),
        access.ca_file.as_ref().or(config.ca_file.as_ref()),
    ];
    sources
        .chain(directories.flat_map(|directory| sources::files_of(&directory)))
        .chain(jobs.map(PathBuf::from))
        .chain(options.into_iter().flatten().cloned())
        .chain(arguments.events.iter().chain(&arguments.log).cloned())
        .collect()
}

/// Refuses an output file that is one of the inputs, even under another name.
///
/// # Errors
/// If the output is an input.
pub fn refuse(
    output: Option<&Path>,
    inputs: impl IntoIterator<Item = PathBuf>,
) -> Result<(), CommandError> {
    let Some((output, place)) = output.and_then(|path| Some((path, place(path)?))) else {
        return Ok(());
    };
    let is_output = |input: &PathBuf| self::place(input) == Some(place);
    let Some(input) = inputs.into_iter().find(is_output) else {
        return Ok(());
    };
    let shown = |path: &Path| units::escape(&path.display().to_string()).into_owned();
    let (output, input) = (shown(output), shown(&input));
    let message = format!("--output {output} is read ({input}): the answer would replace it");
    Err(CommandError::refused(message).hint(
        "name another file with -o, or leave it out: the answer then goes to standard output",
    ))
}

/// Device and inode of a regular file; `None` for what output does not destroy: a missing file, a terminal,
/// a pipe, a directory.
fn place(path: &Path) -> Option<(u64, u64)> {
    let found = metadata(path).ok()?;
    found.is_file().then(|| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use crate::error::Kind;
    use clap::Parser;
    use std::fs;

    fn refused(words: &[&str]) -> Option<String> {
        let all = ["trimtab", "explain"].iter().chain(words);
        let Command::Explain(arguments) = Cli::try_parse_from(all).unwrap().command else {
            panic!("{words:?}");
        };
        let inputs = named(&arguments, &ExplainConfig::default());
        let error = refuse(arguments.answer.output.file(), inputs).err()?;
        assert_eq!(error.kind, Kind::Refused);
        assert!(error.hints[0].contains("-o"), "{error}");
        Some(error.message)
    }

    #[test]
    fn what_is_read_is_known_by_what_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).display().to_string();
        for name in ["x.csv", "other", "races.json"] {
            fs::write(path(name), "x").unwrap();
        }
        fs::create_dir_all(path("races/a/b")).unwrap();
        for name in ["races/a/race.json", "races/a/page.html", "races/a/b/x.json"] {
            fs::write(path(name), "x").unwrap();
        }
        fs::hard_link(path("x.csv"), path("hard")).unwrap();
        std::os::unix::fs::symlink("x.csv", path("soft")).unwrap();
        let (history, other) = (path("x.csv"), path("other"));
        for target in ["x.csv", "hard", "soft", "races/../x.csv"] {
            let told = refused(&[&history, "-o", &path(target)]).unwrap();
            assert!(
                told.contains(&path(target)) && told.contains(&history),
                "{told}"
            );
        }
        for option in [
            "--jobs",
            "--log",
            "--events",
            "--credentials-file",
            "--ca-file",
        ] {
            let told = refused(&[&history, option, &other, "-o", &other]).unwrap();
            assert!(told.contains(&other), "{told}");
        }
        let told = refused(&[&path("races"), "-o", &path("races/a/race.json")]).unwrap();
        assert!(told.contains(&path("races/a/race.json")), "{told}");
        let sources = [history.clone(), path("races"), path("missing")];
        for target in [
            "new",
            "other",
            "races/a/page.html",
            "races/a/b/x.json",
            "no/where",
        ] {
            let words = sources.each_ref().map(String::as_str);
            let told = refused(&[&words[..], &["-o", &path(target)]].concat());
            assert_eq!(told, None, "{target}");
        }
        assert_eq!(refused(&[&path("missing"), "-o", &path("missing")]), None);
        assert_eq!(refused(&["/dev/null", "-o", "/dev/null"]), None);
        assert_eq!(refused(&[&history, "-o", "-"]), None);
    }

    #[test]
    fn files_of_a_host_are_known_too() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("crontab");
        fs::write(&path, "x").unwrap();
        assert!(refuse(Some(&path), [path.clone()]).is_err());
        assert!(refuse(Some(&path), [directory.path().join("x")]).is_ok());
        assert!(refuse(None, [path]).is_ok());
    }
}
