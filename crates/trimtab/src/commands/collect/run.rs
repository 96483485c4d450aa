use super::args::Collect;
use crate::commands::cluster::Asked;
use crate::commands::{cluster, source};
use crate::config::CheckConfig;
use crate::error::CommandError;
use crate::output;
use ::cluster::Answers;
use host::Recording;
use host::bundle::{self, Anonymiser, Info};
use linux::atomic_file::{self, Access, IfExists};
use std::path::Path;
use std::process::ExitCode;

/// Runs `trimtab collect`.
///
/// # Errors
/// When the bundle cannot be written or already exists.
pub fn run(
    arguments: &Collect,
    config: &CheckConfig,
    quiet: bool,
) -> Result<ExitCode, CommandError> {
    let from = &arguments.source;
    let opened = source::live_or(from.root.as_deref())?;
    let asked = Asked::new(&arguments.cluster, config, from.root.is_none())?;
    let mut answers = cluster::ask(asked, &arguments.cluster, config)?;
    let (host, mut recording) = source::read(&opened, &from.data_path, &config.data_paths, true)?;
    if arguments.anonymise {
        let mut salt = [0; 16];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut random| std::io::Read::read_exact(&mut random, &mut salt))
            .map_err(|error| CommandError::environment(format!("/dev/urandom: {error}")))?;
        (recording, answers) = anonymise(recording, answers, &salt)?;
    }
    if let Some(answers) = &answers {
        recording
            .files
            .insert(cluster::BUNDLE_PATH.to_owned(), Ok(json(answers)?));
    }
    let info = Info {
        tool_version: crate::version::VERSION.to_owned(),
        collected_at: host.read_at,
        host_name: bundle::host_name(&recording),
        anonymised: arguments.anonymise,
        euid: Some(rustix::process::geteuid().as_raw()),
    };
    let files = recording
        .files
        .values()
        .filter(|outcome| outcome.is_ok())
        .count();
    if arguments.output == Path::new("-") {
        let mut bytes = Vec::new();
        bundle::write(&recording, &info, &mut bytes)
            .map_err(|error| CommandError::environment(format!("bundle: {error}")))?;
        output::print_bytes(&bytes)?;
    } else {
        let existing = if arguments.force {
            IfExists::Replace
        } else {
            IfExists::Keep
        };
        atomic_file::write(&arguments.output, existing, Access::Owner, |out| {
            bundle::write(&recording, &info, out)
        })
        .map_err(|error| {
            if error.kind() == std::io::ErrorKind::AlreadyExists {
                CommandError::refused(error.to_string())
                    .hint("name another file, or overwrite it with --force")
            } else {
                let message = format!("bundle {}: {error}", arguments.output.display());
                CommandError::environment(message)
                    .hint("name a file in a directory that you may write to, or - for stdout")
            }
        })?;
    }
    if !quiet {
        let path = arguments.output.display();
        eprintln!(
            "wrote {path}: {files} files, secrets left out. Look into it: tar --zstd -tf {path}"
        );
        if !rustix::process::geteuid().is_root() && arguments.source.root.is_none() {
            eprintln!(
                "not run as root: device-mapper tables, other users' crontabs and what drives wrote to \
                 their flash may be missing"
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Anonymises the recording and the answers; a name gets the same replacement in both.
fn anonymise(
    mut recording: Recording,
    answers: Option<Answers>,
    salt: &[u8; 16],
) -> Result<(Recording, Option<Answers>), CommandError> {
    let Some(answers) = answers else {
        return Ok((bundle::anonymise(recording, salt), None));
    };
    // Addresses are gathered from the answers too, but these are anonymised value by value: their keys must
    // stay, whatever the host is called.
    let path = cluster::BUNDLE_PATH;
    recording.files.insert(path.to_owned(), Ok(json(&answers)?));
    let anonymiser = Anonymiser::new(&recording, salt);
    recording.files.remove(path);
    let answers = answers.anonymise(&|text| anonymiser.text(text), salt);
    Ok((anonymiser.recording(recording), Some(answers)))
}

fn json(answers: &Answers) -> Result<Vec<u8>, CommandError> {
    answers
        .to_json()
        .map_err(|error| CommandError::environment(format!("{}: {error}", cluster::BUNDLE_PATH)))
}
