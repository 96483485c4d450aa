use super::manifest::{Content, Manifest, SCHEMA, UnreadPaths};
use crate::source::archive::{Limits, plain_path_fault};
use crate::source::{Answers, Recording};
use crate::unread::Unread;
use jiff::Timestamp;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

/// zstd's default: a bundle is a few hundred kilobytes of text, and more effort gains little.
const ZSTD_LEVEL: i32 = 3;

/// The description of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// Version of this tool.
    pub tool_version: String,
    /// When the host was read.
    pub collected_at: Timestamp,
    /// Name of the host: [`host_name`] of the recording being written.
    pub host_name: Option<String>,
    /// Whether the recording went through [`super::anonymise`].
    pub anonymised: bool,
    /// Effective user id of this process.
    pub euid: Option<u32>,
}

/// Returns the host name in a recording, if it was read.
pub fn host_name(recording: &Recording) -> Option<String> {
    ["proc/sys/kernel/hostname", "etc/hostname"]
        .iter()
        .filter_map(|&path| recording.files.get(path)?.as_ref().ok())
        .filter_map(|bytes| std::str::from_utf8(bytes).ok())
        .map(|text| text.trim().to_owned())
        .find(|name| !name.is_empty())
}

/// Writes a recording as a bundle (.tar.zst). The same recording and info give the same bytes.
///
/// # Errors
/// If writing to `out` fails; [`io::ErrorKind::InvalidInput`] if the recording exceeds the
/// [`Limits`] of a bundle.
pub fn write(recording: &Recording, info: &Info, out: impl Write) -> io::Result<()> {
    let limits = Limits::default();
    let mut manifest = Manifest {
        schema: SCHEMA.to_owned(),
        tool_version: info.tool_version.clone(),
        collected_at: Some(info.collected_at),
        host_name: info.host_name.clone(),
        anonymised: info.anonymised,
        euid: info.euid,
        data_paths: recording.data_paths.clone(),
        complete: true,
        unread: UnreadPaths::default(),
        ..Manifest::default()
    };
    (manifest.lists, manifest.unread.list) = split(&recording.lists);
    (manifest.links, manifest.unread.link) = split(&recording.links);
    (manifest.stats, manifest.unread.stat) = split(&recording.stats);

    // Sorted by path: a file comes before anything that claims to be below it.
    let mut entries: Vec<(String, &[u8])> = Vec::new();
    let mut written: HashSet<&str> = HashSet::new();
    for (path, outcome) in &recording.files {
        let bytes = match outcome {
            Ok(bytes) => bytes,
            Err(unread) => {
                manifest.unread.file.insert(path.clone(), unread.clone());
                continue;
            }
        };
        let entry = format!("root/{path}");
        let below_a_file = path
            .match_indices('/')
            .any(|(index, _)| written.contains(&path[..index]));
        if below_a_file || plain_path_fault(&entry, &limits).is_some() {
            manifest
                .files
                .insert(path.clone(), Content::from(bytes.clone()));
        } else {
            written.insert(path);
            entries.push((entry, bytes));
        }
    }
    for (name, outcome) in &recording.commands {
        match outcome {
            Ok(bytes) => {
                let entry = format!("cmd/{name}");
                if name.contains('/') || plain_path_fault(&entry, &limits).is_some() {
                    return Err(invalid(format!("{name:?} cannot name a command's answer")));
                }
                entries.push((entry, bytes));
            }
            Err(unread) => {
                manifest.unread.command.insert(name.clone(), unread.clone());
            }
        }
    }
    entries.sort();
    let mut manifest = serde_json::to_vec_pretty(&manifest)?;
    manifest.push(b'\n');
    check_size(&manifest, &entries, &limits)?;

    let mut encoder = zstd::stream::write::Encoder::new(out, ZSTD_LEVEL)?;
    encoder.include_checksum(true)?;
    let mut archive = tar::Builder::new(encoder);
    let mtime_s = u64::try_from(info.collected_at.as_second()).unwrap_or(0);
    append(&mut archive, "manifest.json", &manifest, mtime_s)?;
    for (path, bytes) in entries {
        append(&mut archive, &path, bytes, mtime_s)?;
    }
    archive.into_inner()?.finish()?.flush()
}

fn append(
    archive: &mut tar::Builder<impl Write>,
    path: &str,
    bytes: &[u8],
    mtime_s: u64,
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(mtime_s);
    header.set_uid(0);
    header.set_gid(0);
    archive.append_data(&mut header, path, bytes)
}

/// Separates answers from failures.
fn split<T: Clone>(answers: &Answers<T>) -> (BTreeMap<String, T>, BTreeMap<String, Unread>) {
    let mut known = BTreeMap::new();
    let mut unread = BTreeMap::new();
    for (path, outcome) in answers {
        match outcome {
            Ok(answer) => {
                known.insert(path.clone(), answer.clone());
            }
            Err(why) => {
                unread.insert(path.clone(), why.clone());
            }
        }
    }
    (known, unread)
}

/// Rejects a bundle that could not be read back.
fn check_size(manifest: &[u8], entries: &[(String, &[u8])], limits: &Limits) -> io::Result<()> {
    let too_large =
        |what: &str| invalid(format!("the recording is too large for a bundle: {what}"));
    let len = |bytes: &[u8]| u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if manifest.len() > limits.manifest_bytes_max {
        return Err(too_large("its manifest"));
    }
    // At most three headers for each (its own, a long name, that name's padding), and directories
    // that exist only as parts of paths.
    let nodes: usize = entries
        .iter()
        .map(|(path, _)| path.split('/').count())
        .sum();
    let headers = 3 * u64::try_from(entries.len() + 1).unwrap_or(u64::MAX);
    if headers.max(u64::try_from(nodes).unwrap_or(u64::MAX)) > limits.kept_entries_max {
        return Err(too_large("too many files"));
    }
    let mut total = len(manifest) + 512 * (headers + 4);
    for (path, bytes) in entries {
        if len(bytes) > limits.entry_bytes_max {
            return Err(too_large(path));
        }
        // Padding and a long name.
        total += len(bytes) + 2048;
    }
    if total > limits.total_bytes_max {
        return Err(too_large("its files together"));
    }
    Ok(())
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Command, DriveTool};
    use crate::source::{Bundle, Kind, Source, Stat, read_bytes};
    use proptest::prelude::*;

    fn info() -> Info {
        Info {
            tool_version: "0.1.0".to_owned(),
            collected_at: "2026-11-21T05:00:00Z".parse().unwrap(),
            host_name: Some("db1".to_owned()),
            anonymised: false,
            euid: Some(1000),
        }
    }

    fn written(recording: &Recording) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(recording, &info(), &mut bytes).unwrap();
        bytes
    }

    /// Repeats every query of a recording on a bundle.
    fn ask_again(bundle: &Bundle, recording: &Recording) -> Recording {
        fn ask<T>(
            answers: &Answers<T>,
            question: impl Fn(&str) -> Result<T, Unread>,
        ) -> Answers<T> {
            answers
                .keys()
                .map(|path| (path.clone(), question(path)))
                .collect()
        }
        let commands = [
            Command::SystemctlShow { units: Vec::new() },
            Command::DmTable,
            Command::Statfs {
                mount_points: Vec::new(),
            },
            Command::DriveLog {
                tool: DriveTool::NvmeOcp,
                drive: "nvme0n1".to_owned(),
            },
        ];
        Recording {
            files: ask(&recording.files, |path| bundle.read(path, usize::MAX)),
            lists: ask(&recording.lists, |path| bundle.list(path)),
            links: ask(&recording.links, |path| bundle.link(path)),
            stats: ask(&recording.stats, |path| bundle.stat(path)),
            commands: commands
                .iter()
                .filter(|command| recording.commands.contains_key(command.name().as_ref()))
                .map(|command| (command.name().into_owned(), bundle.command(command)))
                .collect(),
            data_paths: bundle.data_paths(),
        }
    }

    fn unread() -> impl Strategy<Value = Unread> {
        prop_oneof![
            Just(Unread::NotFound),
            Just(Unread::Denied),
            any::<u64>().prop_map(Unread::Timeout),
            any::<usize>().prop_map(Unread::TooLarge),
            Just(Unread::NotRecorded),
            ".*".prop_map(Unread::Malformed),
            ".*".prop_map(Unread::Failed),
        ]
    }

    /// Real paths, and some that are not allowed in archives; few names, so that some files are
    /// below files.
    fn path() -> impl Strategy<Value = String> {
        prop_oneof![
            8 => proptest::collection::vec("[ab]", 1..4).prop_map(|names| names.join("/")),
            2 => proptest::collection::vec("[ab]|\\.|\\.\\.|", 0..4).prop_map(|names| names.join("/")),
            1 => "[a-z]{60,140}/[a-z]{60,140}",
            1 => "[a-z]{1000,1100}",
            1 => ".*",
        ]
    }

    fn answers<T: std::fmt::Debug>(
        answer: impl Strategy<Value = T>,
    ) -> impl Strategy<Value = Answers<T>> {
        let outcome = prop_oneof![3 => answer.prop_map(Ok), 1 => unread().prop_map(Err)];
        proptest::collection::btree_map(path(), outcome, 0..12)
    }

    fn stat() -> impl Strategy<Value = Stat> {
        let kind = prop_oneof![Just(Kind::File), Just(Kind::Directory), Just(Kind::Other)];
        (kind, any::<u32>(), any::<i64>(), any::<u64>()).prop_map(
            |(kind, mode, mtime_s, size_bytes)| Stat {
                kind,
                mode,
                mtime_s,
                size_bytes,
            },
        )
    }

    fn recording() -> impl Strategy<Value = Recording> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..1500);
        let names = proptest::collection::vec(".*", 0..5);
        let command = prop_oneof![bytes().prop_map(Ok), unread().prop_map(Err)];
        let command_name = prop::sample::select(vec![
            "systemctl_show",
            "dmsetup_table",
            "statfs",
            "nvme_ocp_smart_add_log_nvme0n1",
        ]);
        (
            answers(bytes()),
            answers(names),
            answers(".*"),
            answers(stat()),
            proptest::collection::btree_map(command_name.prop_map(str::to_owned), command, 0..3),
            proptest::collection::vec("/.*", 0..3),
        )
            .prop_map(
                |(files, lists, links, stats, commands, data_paths)| Recording {
                    files,
                    lists,
                    links,
                    stats,
                    commands,
                    data_paths,
                },
            )
    }

    proptest! {
        #[test]
        fn a_bundle_reproduces_every_answer(recording in recording()) {
            let bytes = written(&recording);
            prop_assert_eq!(&bytes, &written(&recording), "the same bytes twice");
            let bundle = read_bytes(&bytes, &Limits::default()).unwrap();
            prop_assert_eq!(ask_again(&bundle, &recording), recording);
        }
    }

    fn small() -> Recording {
        let mut recording = Recording::default();
        let files = &mut recording.files;
        files.insert("proc/sys/kernel/hostname".to_owned(), Ok(b"db1\n".to_vec()));
        files.insert("etc/fstab".to_owned(), Ok(b"# none\n".to_vec()));
        files.insert("etc/crypttab".to_owned(), Err(Unread::Denied));
        recording
    }

    #[test]
    fn the_manifest_comes_first_and_everything_is_plain() {
        let bytes = zstd::stream::decode_all(written(&small()).as_slice()).unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let mut names = Vec::new();
        for entry in archive.entries().unwrap() {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!(header.mode().unwrap(), 0o644);
            assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
            assert_eq!(header.mtime().unwrap(), 1_795_237_200);
            names.push(entry.path().unwrap().to_str().unwrap().to_owned());
        }
        assert_eq!(
            names,
            [
                "manifest.json",
                "root/etc/fstab",
                "root/proc/sys/kernel/hostname"
            ]
        );
        assert_eq!(host_name(&small()), Some("db1".to_owned()));
    }

    #[test]
    fn a_recording_that_could_not_be_read_back_is_not_written() {
        let mut recording = small();
        let large = vec![0; (16 << 20) + 1];
        recording.files.insert("large".to_owned(), Ok(large));
        let error = write(&recording, &info(), Vec::new()).unwrap_err();
        assert!(error.to_string().contains("root/large"), "{error}");
    }

    #[test]
    fn a_file_appears_complete_and_private() {
        use linux::atomic_file::{self, Access, IfExists};
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("host.tar.zst");
        atomic_file::write(&path, IfExists::Keep, Access::Owner, |out| {
            write(&small(), &info(), out)
        })
        .unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(std::fs::read(&path).unwrap(), written(&small()));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
