//! Runs `trimtab bench facts`, and reads what it wrote: a bundle of this host, so that a trial can run as a user who may
//! read only what everybody may.

use super::args::Facts;
use crate::commands::STATE_DIR;
use crate::commands::source::{self, Opened};
use crate::error::{CommandError, Kind};
use host::bundle::{self, Info};
use host::source::BundleError;
use jiff::{SignedDuration, Timestamp};
use linux::atomic_file::{self, Access, IfExists};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use trim::audit::Earlier;
use trim::debt::last_pass;
use trim::state::boot_id;

/// Where the bundle has what is no file of the host.
const BUNDLE_PATH: &str = "trimtab/bench.json";
/// Longest [`Beside`] that is read: hosts of containers have thousands of mounts.
const BESIDE_BYTES_MAX: usize = 16 << 20;
const SCHEMA: &str = "trimtab.bench-facts/1";
/// Processes that were there an hour ago may be others by now, and free space another.
const AGE_MAX: SignedDuration = SignedDuration::from_hours(1);

/// The last complete pass of `trimtab trim` on each filesystem, by mount point.
pub(super) type LastPasses = BTreeMap<String, Earlier>;

/// What the bundle holds beside the host's files.
#[derive(Serialize, Deserialize)]
struct Beside {
    schema: String,
    /// Proves that the bundle is of this host, and of the processes that run on it now.
    boot_id: String,
    last_passes: LastPasses,
}

/// Writes the bundle.
pub(super) fn run(arguments: &Facts) -> Result<ExitCode, CommandError> {
    let (host, mut recording) = source::read(&source::live(), &[], &[], false)?;
    let mut last_passes = LastPasses::new();
    for mount in &host.mounts {
        if host.stack_of(mount).is_some()
            && let Some(pass) = last_pass(&host, mount, Path::new(STATE_DIR))
        {
            last_passes.insert(mount.mount_point.clone(), pass);
        }
    }
    let beside = Beside {
        schema: SCHEMA.to_owned(),
        boot_id: this_boot()?,
        last_passes,
    };
    let json = serde_json::to_vec(&beside)
        .map_err(|error| CommandError::because(Kind::Environment, error).at(BUNDLE_PATH))?;
    recording.files.insert(BUNDLE_PATH.to_owned(), Ok(json));
    let info = Info {
        tool_version: crate::version::VERSION.to_owned(),
        collected_at: host.read_at,
        host_name: bundle::host_name(&recording),
        anonymised: false,
        euid: Some(rustix::process::geteuid().as_raw()),
    };
    atomic_file::write(&arguments.file, IfExists::Replace, Access::Default, |out| {
        bundle::write(&recording, &info, out)
    })
    .map_err(|error| {
        CommandError::because(Kind::Environment, error)
            .at(&arguments.file.display().to_string())
            .hint("name a file in a directory that you may write to")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Opens what [`run`] wrote of this host since it started.
///
/// # Errors
/// When it cannot be read, is another bundle, or of another host or boot.
pub(super) fn open(path: &Path) -> Result<(Opened, LastPasses), CommandError> {
    let refused = |kind, found: String| {
        CommandError::new(kind, format!("--facts {}: {found}", path.display()))
            .hint("write it on this host with `trimtab bench facts FILE`, as root")
    };
    let opened = source::bundle(path, "--facts").map_err(|error| match error {
        BundleError::Unreadable { reason, .. } => refused(Kind::Environment, reason),
        error => refused(Kind::Input, error.to_string()),
    })?;
    let bytes = opened
        .source
        .read(BUNDLE_PATH, BESIDE_BYTES_MAX)
        .map_err(|unread| refused(Kind::Input, format!("{BUNDLE_PATH}: {unread}")))?;
    let beside: Beside = serde_json::from_slice(&bytes)
        .map_err(|error| refused(Kind::Input, format!("{BUNDLE_PATH}: {error}")))?;
    if beside.schema != SCHEMA {
        let found = format!("expected {SCHEMA}, found {:?}", beside.schema);
        return Err(refused(Kind::Input, found));
    }
    if beside.boot_id != this_boot()? {
        let found = "it is of another host, or from before this one was restarted";
        return Err(refused(Kind::Refused, found.to_owned()));
    }
    Ok((opened, beside.last_passes))
}

/// Refuses facts that are older than a trial may use.
///
/// # Errors
/// When they are.
pub(super) fn refuse_old(path: &Path, read_at: Timestamp) -> Result<(), CommandError> {
    let age = Timestamp::now().duration_since(read_at);
    if age <= AGE_MAX {
        return Ok(());
    }
    let age = units::duration(age.unsigned_abs());
    Err(CommandError::refused(format!(
        "--facts {}: expected facts of the last hour, found some that are {age} old",
        path.display()
    ))
    .hint("write it again, right before the trial, with `trimtab bench facts FILE`"))
}

fn this_boot() -> Result<String, CommandError> {
    boot_id()
        .ok_or_else(|| CommandError::environment("/proc/sys/kernel/random/boot_id cannot be read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle_with(json: Option<&str>) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let mut recording = host::Recording::default();
        if let Some(json) = json {
            recording
                .files
                .insert(BUNDLE_PATH.to_owned(), Ok(json.as_bytes().to_vec()));
        }
        let info = Info {
            tool_version: "0".to_owned(),
            collected_at: Timestamp::now(),
            host_name: None,
            anonymised: false,
            euid: None,
        };
        let out = std::fs::File::create(folder.path().join("b")).unwrap();
        bundle::write(&recording, &info, out).unwrap();
        folder
    }

    fn told(json: Option<&str>) -> String {
        let folder = bundle_with(json);
        open(&folder.path().join("b"))
            .err()
            .map_or_else(String::new, |error| error.message)
    }

    #[test]
    fn only_this_host_since_it_started_will_do() {
        let of = |schema: &str, boot: &str| {
            format!(r#"{{"schema":"{schema}","boot_id":"{boot}","last_passes":{{}}}}"#)
        };
        let this = boot_id().unwrap();
        assert_eq!(told(Some(&of(SCHEMA, &this))), "");
        let other = told(Some(&of(SCHEMA, "0e1d")));
        assert!(other.contains("another host"), "{other}");
        let other = told(Some(&of("trimtab.bench-facts/2", &this)));
        assert!(other.contains("facts/2"), "{other}");
        assert!(told(Some("{")).contains(BUNDLE_PATH));
        // As `trimtab collect` writes it.
        assert!(told(None).contains(BUNDLE_PATH));
    }

    #[test]
    fn what_is_no_bundle_is_told_how_facts_are_made() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("notes");
        std::fs::write(&other, "no bundle").unwrap();
        for (path, found) in [
            (other, "it is not an archive"),
            (folder.path().join("missing"), "No such file"),
        ] {
            let error = open(&path).err().unwrap();
            assert!(error.message.starts_with("--facts "), "{error}");
            assert!(error.message.contains(found), "{error}");
            assert!(error.hints[0].contains("trimtab bench facts"), "{error}");
        }
    }

    #[test]
    fn facts_of_last_night_are_refused() {
        let path = Path::new("f");
        let ago = |minutes| Timestamp::now() - SignedDuration::from_mins(minutes);
        assert!(refuse_old(path, ago(59)).is_ok());
        let error = refuse_old(path, ago(61)).unwrap_err();
        assert!(error.message.contains("1 h"), "{error}");
    }
}
