//! Sizes and geometry of filesystems, queried in a child process so that a hung mount cannot hang
//! this one.

use crate::command::Command;
use crate::parse::mountinfo::is_remote;
use crate::parse::statfs::{Answer, parse};
use crate::source::Reader;
use crate::unread::Unread;
use facts::host::{DeviceNumber, Mount};
use facts::{Host, Skipped};
use std::collections::HashMap;

/// Chooses the mount points to query: one for each filesystem (the shortest that no later mount
/// covers), local ones first, so that a dead server cannot keep the others from answering.
fn mount_points_to_ask(mounts: &[Mount]) -> Vec<String> {
    let mut covering: HashMap<&str, u64> = HashMap::new();
    for mount in mounts {
        covering.insert(&mount.mount_point, mount.id);
    }
    let mut chosen: HashMap<DeviceNumber, &Mount> = HashMap::new();
    for mount in mounts {
        let is_covered = covering.get(mount.mount_point.as_str()) != Some(&mount.id);
        // A container's layers report the size of the filesystem below them.
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

/// Queries the size and geometry of the filesystems, with a deadline.
pub(crate) fn read(reader: &Reader<'_>, host: &mut Host) {
    let mount_points = mount_points_to_ask(&host.mounts);
    let is_stand_in = host.mounts.iter().any(|mount| mount.fstab_line.is_some());
    if mount_points.is_empty() || is_stand_in {
        return;
    }
    let skip_all = |why: String| Skipped::new("sizes of filesystems", why, None);
    let bytes = match reader.command(&Command::Statfs {
        mount_points: mount_points.clone(),
    }) {
        Ok(bytes) => bytes,
        Err(Unread::NotFound) => {
            host.skipped
                .push(skip_all("statfs answers were not recorded".to_owned()));
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
        // Of several mounts at the same point, statfs sees the last.
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

/// Returns what an answer leaves unknown.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::mountinfo;
    use crate::source::MemorySource;
    use facts::host::FsGeometry;

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
    fn each_filesystem_is_queried_once_and_remote_ones_last() {
        let (mounts, _) = mountinfo::parse(MOUNTS);
        // `/old` refers to sdc, which covers sdb; `/` also stands for `/a`.
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
    fn a_complete_failure_is_reported_once() {
        for unread in [Unread::NotFound, Unread::NotRecorded] {
            let host = read_with(Err(unread));
            assert_eq!(host.skipped.len(), 1);
            assert!(host.mounts.iter().all(|mount| mount.usage.is_none()));
        }
    }
}
