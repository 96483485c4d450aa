//! What `-o` must not name: a file that the answer is made from.

use super::args::Explain;
use crate::config::ExplainConfig;
use crate::error::{CommandError, Kind};
use std::ffi::OsString;
use std::fs::{Metadata, metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file of `-o`, known by what it is: the same one may have several names.
pub struct Output<'a> {
    path: &'a Path,
    identity: Identity,
}

#[derive(Debug, PartialEq, Eq)]
enum Identity {
    /// It is there.
    File { device: u64, inode: u64 },
    /// It is not there yet: its directory, without links, and its name.
    Missing(PathBuf, OsString),
}

impl Identity {
    /// `None` for what no answer destroys: a terminal, a pipe, a directory, a place that is not there.
    fn of(path: &Path) -> Option<Self> {
        if let Ok(file) = metadata(path) {
            return Self::of_file(&file);
        }
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let name = path.file_name()?.to_owned();
        Some(Self::Missing(directory.canonicalize().ok()?, name))
    }

    fn of_file(file: &Metadata) -> Option<Self> {
        file.is_file().then(|| Self::File {
            device: file.dev(),
            inode: file.ino(),
        })
    }
}

impl<'a> Output<'a> {
    /// `None` where nothing can be overwritten.
    pub fn of(arguments: &'a Explain) -> Option<Self> {
        let path = arguments.output.as_deref()?;
        if path.as_os_str() == "-" {
            return None;
        }
        let identity = Identity::of(path)?;
        Some(Self { path, identity })
    }

    /// Compares it with all that the command line and the configuration name.
    ///
    /// # Errors
    /// When it is one of them, or a file of a history's directory.
    pub fn refuse_inputs(
        &self,
        arguments: &Explain,
        config: &ExplainConfig,
    ) -> Result<(), CommandError> {
        for source in &arguments.sources {
            let path = Path::new(source);
            self.refuse(path, "the history to be explained")?;
            if path.is_dir() {
                for path in sources::files_of(path) {
                    self.refuse(&path, "a file of the history")?;
                }
            }
        }
        let jobs = arguments.jobs.as_deref().or(config.jobs.as_deref());
        if let Some(jobs) = jobs.filter(|jobs| *jobs != "none") {
            self.refuse(Path::new(jobs), "the jobs of --jobs")?;
        }
        for path in &arguments.events {
            self.refuse(path, "the moments of --events")?;
        }
        for path in arguments
            .log
            .iter()
            .filter(|path| path.as_os_str() != "none")
        {
            self.refuse(path, "the log of --log")?;
        }
        if let Some(path) = &arguments.save {
            // It may be about to be made.
            self.refuse_same(path, "the store of --save")?;
        }
        let access = &arguments.servers.access;
        let credentials = access.credentials_file.as_ref();
        if let Some(path) = credentials.or(config.credentials_file.as_ref()) {
            self.refuse(path, "the credentials of --credentials-file")?;
        }
        if let Some(path) = access.ca_file.as_ref().or(config.ca_file.as_ref()) {
            self.refuse(path, "the certificates of --ca-file")?;
        }
        Ok(())
    }

    /// Compares it with the files of the host whose jobs were read.
    ///
    /// # Errors
    /// When it is one of them.
    pub fn refuse_host_files(&self, paths: &[PathBuf]) -> Result<(), CommandError> {
        let mut paths = paths.iter();
        paths.try_for_each(|path| self.refuse(path, "a file of the host of --jobs"))
    }

    fn refuse(&self, input: &Path, what: &str) -> Result<(), CommandError> {
        match &self.identity {
            Identity::File { .. } => self.refuse_same(input, what),
            // What is not there is not read either.
            Identity::Missing(..) => Ok(()),
        }
    }

    fn refuse_same(&self, input: &Path, what: &str) -> Result<(), CommandError> {
        if Identity::of(input).as_ref() != Some(&self.identity) {
            return Ok(());
        }
        let (output, input) = (shown(self.path), shown(input));
        let is = if output == input {
            what.to_owned()
        } else {
            format!("{what} under another name ({input})")
        };
        Err(CommandError::new(
            Kind::Refused,
            format!("--output {output} is {is}: the answer would destroy it"),
        )
        .hint(
            "name another file with -o, or leave it out: the answer then goes to standard output",
        ))
    }
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
        let output = Output::of(&arguments)?;
        let error = output
            .refuse_inputs(&arguments, &ExplainConfig::default())
            .err()?;
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
        let output = Output {
            path: &path,
            identity: Identity::of(&path).unwrap(),
        };
        assert!(
            output
                .refuse_host_files(std::slice::from_ref(&path))
                .is_err()
        );
        assert!(
            output
                .refuse_host_files(&[directory.path().join("x")])
                .is_ok()
        );
    }
}
