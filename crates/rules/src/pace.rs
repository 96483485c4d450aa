//! A whole-filesystem trim in pieces that follow the filesystem's geometry.

use crate::context::Volume;
use crate::shell::operand;
use facts::Remedy;
use facts::host::FsGeometry;

/// A piece of an ext4 filesystem; a multiple of its block group where that is 8 x 4096^2 bytes.
const EXT4_PIECE_BYTES: u64 = 1 << 30;
/// A shell loop of more pieces than this is no command to paste.
const PIECES_MAX: u64 = 100_000;

/// Trims piece by piece with a pause between, where pieces are known to be complete.
///
/// ext4: pieces of whole block groups trim exactly what one call trims, and unaligned ones trim the
/// same again and again. XFS: one allocation group a call; pieces across its border miss extents.
/// Btrfs processes a block group only if it starts inside the range, so no fixed piece is right.
pub(crate) fn in_pieces(volume: &Volume<'_>) -> Remedy {
    let text = "Trim in a quiet period, one node after the other, and leave other work room: piece \
                by piece, with a pause between.";
    let piece_bytes = match (volume.mount.fs_type.as_str(), volume.mount.geometry) {
        ("ext4", Some(FsGeometry::Ext4 { group_bytes, .. })) => (group_bytes > 0
            && EXT4_PIECE_BYTES.is_multiple_of(group_bytes))
        .then_some(EXT4_PIECE_BYTES),
        (
            "xfs",
            Some(FsGeometry::Xfs {
                block_bytes,
                group_blocks,
                ..
            }),
        ) => block_bytes
            .checked_mul(group_blocks)
            .filter(|&bytes| bytes > 0),
        _ => None,
    };
    let command = piece_bytes
        .zip(volume.stack.top().size_bytes)
        .filter(|&(piece, size)| size > 0 && size / piece < PIECES_MAX)
        .map(|(piece, size)| {
            let last = (size - 1) / piece * piece;
            let mount_point = operand(&volume.mount.mount_point);
            format!(
                "for offset in $(seq 0 {piece} {last}); do\n  fstrim --offset \"$offset\" \
                 --length {piece} {mount_point}\n  sleep 10\ndone"
            )
        });
    match command {
        Some(command) => Remedy::command(text, command),
        None => Remedy::advice(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Context;
    use crate::test_host::*;

    fn pieces(fs_type: &str, geometry: Option<FsGeometry>) -> Option<String> {
        let mut disk = nvme("nvme0n1");
        disk.size_bytes = Some(4 << 30);
        let host = TestHost::new()
            .device(disk)
            .mount("/data", "nvme0n1", fs_type, "rw")
            .with(|host| host.mounts[0].geometry = geometry)
            .build();
        in_pieces(&Context::new(&host).volumes[0]).command
    }

    #[test]
    fn pieces_follow_the_groups() {
        let ext4 = FsGeometry::Ext4 {
            block_bytes: 4096,
            group_bytes: 128 << 20,
        };
        let command = pieces("ext4", Some(ext4)).expect("a command");
        assert!(
            command.contains("$(seq 0 1073741824 3221225472)"),
            "{command}"
        );
        // Four groups of 1,000 MiB and a short fifth in 4 GiB.
        let xfs = FsGeometry::Xfs {
            block_bytes: 4096,
            group_blocks: 256_000,
            groups: 5,
            stripe_unit_bytes: 0,
            stripe_width_bytes: 0,
        };
        let command = pieces("xfs", Some(xfs)).expect("a command");
        assert!(
            command.contains("$(seq 0 1048576000 4194304000)"),
            "{command}"
        );
    }

    #[test]
    fn without_geometry_there_is_no_command() {
        assert_eq!(pieces("xfs", None), None);
        assert_eq!(pieces("btrfs", None), None);
        // Groups that do not divide the piece.
        let odd = FsGeometry::Ext4 {
            block_bytes: 4096,
            group_bytes: 100 << 20,
        };
        assert_eq!(pieces("ext4", Some(odd)), None);
    }
}
