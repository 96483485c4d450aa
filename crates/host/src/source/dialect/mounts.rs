//! `proc/self/mountinfo` from `findmnt` or `mount`, and sizes of filesystems from `df`.

use super::devices::Devices;
use super::made::Made;
use super::outputs::{OUTPUT_BYTES_MAX, Outputs};
use crate::parse::mountinfo;
use crate::parse::outputs::{mounts, sizes};
use crate::parse::statfs::Answer;
use crate::source::Source;
use facts::host::FsUsage;
use std::collections::HashMap;
use std::fmt::Write as _;

/// More mounts than any real host has.
const MOUNTS_MAX: usize = 50_000;
/// The block size of ext4, XFS and Btrfs on all but some very small or very large filesystems; `df`
/// does not tell it.
const BLOCK_BYTES: u64 = 4096;

pub(super) fn make(tree: &dyn Source, outputs: &Outputs<'_>, devices: &Devices, made: &mut Made) {
    if tree.read(mountinfo::PATH, OUTPUT_BYTES_MAX).is_err() {
        let listed = outputs
            .first(&["findmnt"])
            .map(|text| mounts::findmnt(&text))
            .filter(|lines| !lines.is_empty())
            .or_else(|| {
                outputs
                    .first(&["mount_-l", "mount"])
                    .map(|text| mounts::mount(&text))
            })
            .unwrap_or_else(|| {
                let own = outputs.file("proc/mounts", mountinfo::PATH);
                mounts::proc_mounts(&own)
            });
        if !listed.is_empty() {
            made.file(mountinfo::PATH, mountinfo(&listed, devices).as_bytes());
        }
    }
    if let Some(text) = outputs.first(&["df_-al", "df_-k", "df"]) {
        let answers: String = sizes::parse(&text).iter().filter_map(answer).collect();
        if !answers.is_empty() {
            made.commands.insert("statfs", answers.into_bytes());
        }
    }
}

fn answer(line: &sizes::Line) -> Option<String> {
    let answer = Answer {
        mount_point: line.mount_point.clone(),
        usage: Some(FsUsage {
            block_bytes: BLOCK_BYTES,
            size_bytes: line.size_bytes,
            free_bytes: line.free_bytes,
            available_bytes: line.available_bytes,
        }),
        ..Answer::default()
    };
    Some(serde_json::to_string(&answer).ok()? + "\n")
}

/// Writes the lines as the kernel does (proc(5)). Filesystems of unknown devices get a number of their
/// own below the major number 0, as Btrfs and network filesystems have.
fn mountinfo(lines: &[mounts::Line], devices: &Devices) -> String {
    let mut unnamed: HashMap<&str, usize> = HashMap::new();
    let mut text = String::new();
    for (id, line) in lines.iter().take(MOUNTS_MAX).enumerate() {
        let of_device = devices.number_of(&line.source);
        let of_mount = || devices.number_at(&line.mount_point);
        let known = of_device
            .or_else(of_mount)
            .filter(|_| line.fs_type != "btrfs");
        let number = known.map_or_else(
            || {
                let next = unnamed.len();
                format!("0:{}", 1000 + *unnamed.entry(&line.source).or_insert(next))
            },
            |number| number.to_string(),
        );
        // Options of the mount and of the filesystem are not told apart here.
        let _ = writeln!(
            text,
            "{id} 0 {number} {} {} {} - {} {} {}",
            escape(&line.root),
            escape(&line.mount_point),
            line.options,
            escape(&line.fs_type),
            escape(&line.source),
            line.options,
        );
    }
    text
}

/// Spaces and the like as the kernel writes them (`mangle_path` in `fs/seq_file.c`).
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' ' | '\t' | '\n' | '\\' => {
                let _ = write!(escaped, "\\{:03o}", u32::from(c));
            }
            _ => escaped.push(c),
        }
    }
    escaped
}
