//! Files and on-disk structures that trims read: checkpoints, filesystems, the kernel's release.

use crate::text;
use trim::geometry::{KernelRelease, btrfs, ext4, xfs};

/// What was parsed reads back the same after writing, except for the last digits of floating-point
/// numbers.
pub fn checkpoint(bytes: &[u8]) {
    if let Ok(checkpoint) = trim::state::Checkpoint::parse(bytes) {
        let written = serde_json::to_vec(&checkpoint).expect("a checkpoint is JSON");
        let mut again = trim::state::Checkpoint::parse(&written).expect("its own text is read");
        again.active_s = checkpoint.active_s;
        again.left_s = checkpoint.left_s;
        assert_eq!(again, checkpoint);
    }
}

/// The groups of any valid superblock tile the filesystem, and no descriptor can make a group's
/// free space exceed its size.
pub fn ext4_superblock(bytes: &[u8]) {
    let _ = ext4::format::Superblock::parse(bytes);
    // Real superblocks are longer than the input, which is copied over zeros with the magic number
    // in place.
    let mut whole = vec![0; ext4::format::SUPERBLOCK_BYTES];
    let len = bytes.len().min(whole.len());
    whole[..len].copy_from_slice(&bytes[..len]);
    whole[56..58].copy_from_slice(&[0x53, 0xef]);
    let Ok(superblock) = ext4::format::Superblock::parse(&whole) else {
        return;
    };
    let last = superblock.groups - 1;
    for group in [0, superblock.groups / 2, last] {
        let start = superblock.group_start_bytes(group);
        let end = superblock.group_start_bytes(group + 1);
        assert!(start < end && end <= superblock.size_bytes());
        assert_eq!(superblock.group_at(start), group);
        assert_eq!(superblock.group_at(end - 1), group);
        let _ = superblock.descriptor_block_bytes(group);
        if let Ok(free) = superblock.free_bytes(group, &bytes.repeat(16)) {
            assert!(free <= superblock.blocks_per_group * superblock.block_bytes);
        }
    }
    assert_eq!(
        superblock.group_at(superblock.size_bytes()),
        superblock.groups
    );
}

pub fn xfs_agf(bytes: &[u8]) {
    if let Some(agf) = xfs::agf::Agf::parse(bytes) {
        assert!(agf.longest_blocks <= agf.free_blocks && agf.free_blocks <= agf.blocks);
    }
}

pub fn btrfs_items(bytes: &[u8]) {
    let Some((&count, rest)) = bytes.split_first() else {
        return;
    };
    let Some(items) = btrfs::items::split(count.into(), rest) else {
        return;
    };
    assert_eq!(items.len(), usize::from(count));
    for item in items {
        if let Some(chunk) = btrfs::items::Chunk::parse(&item) {
            assert!(chunk.end_bytes() > chunk.start_bytes && chunk.copies() > 0);
        }
        let _ = btrfs::items::used_bytes(item.data);
        let _ = btrfs::items::free_extents(item.data);
    }
}

/// Whatever parses is displayed so that it parses to the same value.
pub fn kernel_release(bytes: &[u8]) {
    if let Some(release) = KernelRelease::parse(&text(bytes)) {
        assert_eq!(KernelRelease::parse(&release.to_string()), Some(release));
    }
}
