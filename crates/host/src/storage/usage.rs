//! statfs and geometry, asked in a child process so that a hung mount cannot hang the audit.

use super::mountinfo::is_remote;
use crate::Reader;
use crate::source::{Command, Unread};
use facts::host::{DeviceNumber, FsGeometry, FsUsage, Mount};
use facts::{Host, Skipped};
use rustix::fd::AsFd;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{self, Read, Write};

/// `XFS_SUPER_MAGIC` (`linux/magic.h`).
const XFS_MAGIC: u64 = 0x5846_5342;
/// `EXT4_SUPER_MAGIC`, which ext2 and ext3 share.
const EXT4_MAGIC: u64 = 0xef53;

/// More mount points than any host has; bounds what the child reads.
const INPUT_BYTES_MAX: u64 = 16 << 20;

/// What one filesystem answered: one JSON object a line.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Answer {
    /// The mount point that was asked.
    pub mount_point: String,
    /// Sizes; `None` where statfs failed or did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<FsUsage>,
    /// Geometry, where the filesystem has one that is known here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geometry: Option<FsGeometry>,
    /// It did not answer within this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Why there is no usage, or, where there is, no geometry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The body of the helper process: reads mount points, each ended by a NUL, asks each, and writes one
/// line for each as soon as it answered. The parent kills the process when a mount takes too long.
///
/// # Errors
/// Where the input cannot be read or the output cannot be written.
pub fn answer_mount_points(input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut bytes = Vec::new();
    input.take(INPUT_BYTES_MAX).read_to_end(&mut bytes)?;
    for mount_point in bytes.split(|&b| b == 0).filter(|name| !name.is_empty()) {
        let answer = ask(&String::from_utf8_lossy(mount_point));
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

fn ask(mount_point: &str) -> Answer {
    let mut answer = Answer {
        mount_point: mount_point.to_owned(),
        ..Answer::default()
    };
    let stat = match rustix::fs::statfs(mount_point) {
        Ok(stat) => stat,
        Err(error) => {
            answer.error = Some(io::Error::from(error).to_string());
            return answer;
        }
    };
    // The fields have other types on other architectures; an i128 holds each of them.
    let number = |value: i128| u64::try_from(value).unwrap_or(0);
    let fs_type = number(i128::from(stat.f_type) & 0xffff_ffff);
    let block = number(i128::from(stat.f_bsize));
    let fragment = number(i128::from(stat.f_frsize));
    // Counted in fragments where the filesystem says how long one is: statvfs(3).
    let block_bytes = if fragment > 0 { fragment } else { block };
    answer.usage = Some(FsUsage {
        block_bytes,
        size_bytes: stat.f_blocks.saturating_mul(block_bytes),
        free_bytes: stat.f_bfree.saturating_mul(block_bytes),
        available_bytes: stat.f_bavail.saturating_mul(block_bytes),
    });
    match fs_type {
        XFS_MAGIC => match ask_xfs(mount_point) {
            Ok(geometry) => answer.geometry = Some(geometry),
            Err(error) => answer.error = Some(error.to_string()),
        },
        EXT4_MAGIC => {
            answer.geometry = Some(FsGeometry::Ext4 {
                block_bytes,
                // One block of bitmap: 8 blocks a byte.
                group_bytes: block_bytes.saturating_mul(block_bytes).saturating_mul(8),
            });
        }
        _ => {}
    }
    answer
}

fn ask_xfs(mount_point: &str) -> io::Result<FsGeometry> {
    let directory = std::fs::File::open(mount_point)?;
    let geometry = linux::xfs::geometry(directory.as_fd())?;
    let block_bytes = u64::from(geometry.block_bytes);
    Ok(FsGeometry::Xfs {
        block_bytes,
        group_blocks: u64::from(geometry.ag_blocks),
        groups: u64::from(geometry.ag_count),
        stripe_unit_bytes: u64::from(geometry.stripe_unit).saturating_mul(block_bytes),
        stripe_width_bytes: u64::from(geometry.stripe_width).saturating_mul(block_bytes),
    })
}

/// Which mount points to ask: one for each filesystem (its shortest that no later mount covers),
/// local ones first, since what a dead server keeps waiting must not keep the rest from answering.
fn mount_points_to_ask(mounts: &[Mount]) -> Vec<String> {
    let mut covering: HashMap<&str, u64> = HashMap::new();
    for mount in mounts {
        covering.insert(&mount.mount_point, mount.id);
    }
    let mut chosen: HashMap<DeviceNumber, &Mount> = HashMap::new();
    for mount in mounts {
        let is_covered = covering.get(mount.mount_point.as_str()) != Some(&mount.id);
        // A container's layers have the size of the filesystem below them.
        let is_layer = mount.fs_type == "overlay" && mount.mount_point != "/";
        if is_covered || is_layer {
            continue;
        }
        let best = chosen.entry(mount.device_number).or_insert(mount);
        if mount.mount_point.len() < best.mount_point.len() {
            *best = mount;
        }
    }
    let mut chosen: Vec<&Mount> = chosen.into_values().collect();
    chosen.sort_by_key(|mount| (is_remote(mount), &mount.mount_point));
    chosen
        .into_iter()
        .map(|mount| mount.mount_point.clone())
        .collect()
}

/// Asks the filesystems for their size and geometry, with a deadline.
pub(super) fn read(reader: &Reader<'_>, host: &mut Host) {
    let mount_points = mount_points_to_ask(&host.mounts);
    if mount_points.is_empty() {
        return;
    }
    let skip_all = |why: String| Skipped::new("sizes of filesystems", why, None);
    let bytes = match reader.command(&Command::Statfs {
        mount_points: mount_points.clone(),
    }) {
        Ok(bytes) => bytes,
        Err(Unread::NotFound) => {
            host.skipped
                .push(skip_all("nothing here can answer statfs".to_owned()));
            return;
        }
        Err(unread) => {
            host.skipped.push(skip_all(unread.to_string()));
            return;
        }
    };
    let (answers, malformed) = parse(&bytes);
    if malformed > 0 {
        host.skipped
            .push(skip_all(format!("{malformed} answers that are no JSON")));
    }
    let mut by_device: HashMap<DeviceNumber, Answer> = HashMap::new();
    for mount_point in &mount_points {
        let Some(answer) = answers.get(mount_point) else {
            host.skipped.push(Skipped::new(
                format!("size of {mount_point}"),
                "statfs was not answered",
                None,
            ));
            continue;
        };
        host.skipped.extend(skipped(answer));
        // The last mount over a point is the one that statfs sees.
        let asked = host
            .mounts
            .iter()
            .rfind(|mount| mount.mount_point == *mount_point);
        if let Some(mount) = asked {
            by_device.insert(mount.device_number, answer.clone());
        }
    }
    for mount in &mut host.mounts {
        if let Some(answer) = by_device.get(&mount.device_number) {
            mount.usage = answer.usage;
            mount.geometry = answer.geometry;
        }
    }
}

/// What an answer leaves unknown.
fn skipped(answer: &Answer) -> Option<Skipped> {
    let mount_point = &answer.mount_point;
    let what = match answer.usage {
        None => format!("size of {mount_point}"),
        Some(_) => format!("geometry of {mount_point}"),
    };
    if let Some(timeout_ms) = answer.timeout_ms {
        let why = format!("statfs did not answer within {timeout_ms} ms");
        return Some(Skipped::new(what, why, None));
    }
    let error = answer.error.as_ref()?;
    let is_denied = error.to_ascii_lowercase().contains("permission denied");
    Some(Skipped::new(what, error, is_denied.then_some("root")))
}

/// Answers by mount point (of several the last), and how many lines are none.
fn parse(bytes: &[u8]) -> (HashMap<String, Answer>, usize) {
    let mut malformed = 0;
    let mut answers = HashMap::new();
    for line in bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice::<Answer>(line) {
            Ok(answer) => {
                answers.insert(answer.mount_point.clone(), answer);
            }
            Err(_) => malformed += 1,
        }
    }
    (answers, malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::MemorySource;
    use crate::storage::mountinfo;
    use proptest::prelude::*;

    const MOUNTS: &str = "\
10 1 8:1 / / rw - ext4 /dev/sda1 rw
11 10 0:40 / /mnt/nfs rw - nfs4 server:/export rw
12 10 8:2 / /old rw - xfs /dev/sdb rw
13 10 8:3 / /old rw - xfs /dev/sdc rw
14 10 8:1 /srv /a rw - ext4 /dev/sda1 rw
15 10 0:41 / /mnt/data rw - btrfs /dev/sdd rw
16 10 0:42 / /var/lib/docker/overlay2/x/merged rw - overlay overlay rw
";

    #[test]
    fn each_filesystem_is_asked_once_and_servers_last() {
        let (mounts, _) = mountinfo::parse(MOUNTS);
        // `/old` means sdc, which covers sdb; `/` stands for `/a` too.
        assert_eq!(
            mount_points_to_ask(&mounts),
            ["/", "/mnt/data", "/old", "/mnt/nfs"]
        );
    }

    fn read_with(answers: Result<&str, Unread>) -> Host {
        let source = MemorySource::default().answer("statfs", answers);
        let reader = Reader::new(&source);
        let mut host = Host {
            mounts: mountinfo::parse(MOUNTS).0,
            ..Host::default()
        };
        read(&reader, &mut host);
        host
    }

    #[test]
    fn answers_reach_every_mount_of_their_filesystem() {
        let host = read_with(Ok(concat!(
            r#"{"mount_point":"/","usage":{"block_bytes":4096,"size_bytes":100,"free_bytes":50,"available_bytes":40},"geometry":{"type":"ext4","block_bytes":4096,"group_bytes":134217728}}"#,
            "\n",
            r#"{"mount_point":"/mnt/nfs","timeout_ms":250}"#,
            "\n",
            r#"{"mount_point":"/old","usage":{"block_bytes":4096,"size_bytes":7,"free_bytes":5,"available_bytes":5},"error":"Permission denied (os error 13)"}"#,
            "\nnonsense\n",
        )));
        let usage = |index: usize| host.mounts[index].usage.map(|usage| usage.size_bytes);
        assert_eq!(usage(0), Some(100));
        assert_eq!(usage(4), Some(100));
        assert_eq!((usage(2), usage(3)), (None, Some(7)));
        assert!(matches!(
            host.mounts[4].geometry,
            Some(FsGeometry::Ext4 {
                group_bytes: 134_217_728,
                ..
            })
        ));
        let said: Vec<_> = host
            .skipped
            .iter()
            .map(|s| (s.what.as_str(), s.why.as_str(), s.needs.as_deref()))
            .collect();
        assert_eq!(
            said,
            [
                ("sizes of filesystems", "1 answers that are no JSON", None),
                ("size of /mnt/data", "statfs was not answered", None),
                (
                    "geometry of /old",
                    "Permission denied (os error 13)",
                    Some("root")
                ),
                (
                    "size of /mnt/nfs",
                    "statfs did not answer within 250 ms",
                    None
                ),
            ]
        );
    }

    #[test]
    fn no_answer_at_all_is_said_once() {
        for unread in [Unread::NotFound, Unread::NotRecorded] {
            let host = read_with(Err(unread));
            assert_eq!(host.skipped.len(), 1);
            assert!(host.mounts.iter().all(|mount| mount.usage.is_none()));
        }
    }

    #[test]
    fn the_helper_answers_one_line_each() {
        let mut output = Vec::new();
        answer_mount_points(&b"/\0/proc/no-such-mount\0"[..], &mut output).unwrap();
        let (answers, malformed) = parse(&output);
        assert_eq!((answers.len(), malformed), (2, 0));
        let usage = answers["/"].usage.unwrap();
        assert!(usage.size_bytes > 0 && usage.free_bytes <= usage.size_bytes);
        assert!(usage.available_bytes <= usage.free_bytes && usage.block_bytes >= 512);
        let missing = &answers["/proc/no-such-mount"];
        assert!(missing.usage.is_none() && missing.error.is_some());
        // The same figures as statvfs(3).
        let statvfs = rustix::fs::statvfs("/").unwrap();
        assert_eq!(usage.size_bytes, statvfs.f_blocks * statvfs.f_frsize);
        if let Some(FsGeometry::Ext4 {
            group_bytes,
            block_bytes: 4096,
        }) = answers["/"].geometry
        {
            assert_eq!(group_bytes, 128 << 20);
        }
    }

    proptest! {
        #[test]
        fn answers_come_back(mount_point in any::<String>(), sizes in any::<[u64; 4]>(), timeout_ms in any::<Option<u64>>(), error in any::<Option<String>>()) {
            let answer = Answer {
                mount_point: mount_point.clone(),
                usage: Some(FsUsage { block_bytes: sizes[0], size_bytes: sizes[1], free_bytes: sizes[2], available_bytes: sizes[3] }),
                geometry: Some(FsGeometry::Ext4 { block_bytes: sizes[0], group_bytes: sizes[3] }),
                timeout_ms,
                error,
            };
            let mut line = serde_json::to_vec(&answer).unwrap();
            line.push(b'\n');
            let (answers, malformed) = parse(&line);
            prop_assert_eq!(malformed, 0);
            prop_assert_eq!(answers.get(&mount_point), Some(&answer));
        }

        #[test]
        fn parsing_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
