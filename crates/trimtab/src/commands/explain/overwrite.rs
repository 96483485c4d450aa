//! What `-o` must not name: a file that the answer is made from.

use super::args::Explain;
use crate::config::ExplainConfig;
use crate::error::{CommandError, Kind};
use std::ffi::OsString;
use std::fs::metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file and what it is for.
pub type Input = (PathBuf, &'static str);

/// All that the command line and the configuration name, and what is in a history's directory.
pub fn inputs(arguments: &Explain, config: &ExplainConfig) -> Vec<Input> {
    let mut inputs = Vec::new();
    for source in arguments.sources.iter().map(PathBuf::from) {
        if source.is_dir() {
            let files = sources::files_of(&source);
            inputs.extend(
                files
                    .into_iter()
                    .map(|file| (file, "a file of the history")),
            );
        }
        inputs.push((source, "the history to be explained"));
    }
    let jobs = arguments.jobs.as_ref().or(config.jobs.as_ref());
    let jobs = jobs.filter(|jobs| *jobs != "none");
    let logs = arguments
        .log
        .iter()
        .filter(|path| *path != Path::new("none"));
    let access = &arguments.servers.access;
    let credentials = access.credentials_file.as_ref();
    let credentials = credentials.or(config.credentials_file.as_ref());
    let certificates = access.ca_file.as_ref().or(config.ca_file.as_ref());
    let labelled = |what| move |path: &PathBuf| (path.clone(), what);
    inputs.extend(jobs.map(|jobs| (jobs.into(), "the jobs of --jobs")));
    inputs.extend(
        arguments
            .events
            .iter()
            .map(labelled("the moments of --events")),
    );
    inputs.extend(logs.map(labelled("the log of --log")));
    inputs.extend(credentials.map(labelled("the credentials of --credentials-file")));
    inputs.extend(certificates.map(labelled("the certificates of --ca-file")));
    // What is not there is not read either, but the store may be about to be made.
    inputs.retain(|(path, _)| path.exists());
    inputs.extend(arguments.save.iter().map(labelled("the store of --save")));
    inputs
}

/// Refuses an output that is one of the inputs, under whatever name.
///
/// # Errors
/// When it is.
pub fn refuse(output: &Path, inputs: &[Input]) -> Result<(), CommandError> {
    let Some(target) = place(output) else {
        return Ok(());
    };
    let Some((input, what)) = inputs
        .iter()
        .find(|(input, _)| place(input).as_ref() == Some(&target))
    else {
        return Ok(());
    };
    let (output, input) = (shown(output), shown(input));
    let is = if output == input {
        (*what).to_owned()
    } else {
        format!("{what} under another name ({input})")
    };
    Err(CommandError::new(
        Kind::Refused,
        format!("--output {output} is {is}: the answer would destroy it"),
    )
    .hint("name another file with -o, or leave it out: the answer then goes to standard output"))
}

/// What a file is known by: device and inode; those of its directory, and its name, where it is not
/// there yet. `None` for what no answer destroys: a terminal, a pipe, a directory.
fn place(path: &Path) -> Option<(u64, u64, Option<OsString>)> {
    if let Ok(found) = metadata(path) {
        return found.is_file().then(|| (found.dev(), found.ino(), None));
    }
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let directory = metadata(parent.unwrap_or(Path::new("."))).ok()?;
    let name = path.file_name()?.to_owned();
    Some((directory.dev(), directory.ino(), Some(name)))
}

fn shown(path: &Path) -> String {
    report::escape(&path.display().to_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;
    use std::fs;

    fn refused(words: &[&str]) -> Option<String> {
        let all = ["trimtab", "explain"].iter().chain(words);
        let Command::Explain(arguments) = Cli::try_parse_from(all).unwrap().command else {
            panic!("{words:?}");
        };
        let inputs = inputs(&arguments, &ExplainConfig::default());
        let error = refuse(arguments.output.file()?, &inputs).err()?;
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
            assert!(told.contains("the history"), "{told}");
            assert!(
                told.contains(&path(target)) && told.contains(&history),
                "{told}"
            );
        }
        for (option, what) in [
            ("--jobs", "the jobs"),
            ("--log", "the log"),
            ("--events", "the moments"),
            ("--save", "the store"),
            ("--credentials-file", "the credentials"),
            ("--ca-file", "the certificates"),
        ] {
            let told = refused(&[&history, option, &other, "-o", &other]).unwrap();
            assert!(told.contains(what) && told.contains(option), "{told}");
        }
        let told = refused(&[&path("races"), "-o", &path("races/a/race.json")]).unwrap();
        assert!(told.contains("a file of the history"), "{told}");
        // A store that is about to be made.
        assert!(
            refused(&[
                &history,
                "--save",
                &path("new"),
                "-o",
                &path("races/../new")
            ])
            .is_some()
        );
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
        let host = |path: &Path| [(path.to_owned(), "a file of the host of --jobs")];
        assert!(refuse(&path, &host(&path)).is_err());
        assert!(refuse(&path, &host(&directory.path().join("x"))).is_ok());
    }
}
