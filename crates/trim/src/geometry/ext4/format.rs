//! Superblock and group descriptors of ext2, ext3 and ext4 (`fs/ext4/ext4.h`, little-endian).

use std::fmt;

/// Offset of the superblock on the device.
pub const SUPERBLOCK_OFFSET_BYTES: u64 = 1024;
/// Length of the superblock.
pub const SUPERBLOCK_BYTES: usize = 1024;

const MAGIC: u16 = 0xEF53;
const INCOMPAT_META_BG: u32 = 0x10;
const INCOMPAT_64BIT: u32 = 0x80;
const RO_COMPAT_SPARSE_SUPER: u32 = 0x1;
const RO_COMPAT_BIGALLOC: u32 = 0x200;
const COMPAT_SPARSE_SUPER2: u32 = 0x200;
/// `EXT4_MAX_BLOCK_LOG_SIZE` - `EXT4_MIN_BLOCK_LOG_SIZE`: 64 KiB blocks.
const LOG_BLOCK_SIZE_MAX: u32 = 6;
/// `EXT4_MAX_CLUSTER_LOG_SIZE` - 10: 1 GiB clusters.
const LOG_CLUSTER_SIZE_MAX: u32 = 20;
/// Size of a descriptor without the `64bit` feature.
const DESCRIPTOR_BYTES_MIN: u64 = 32;

/// An invalid value in a superblock or descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidFormat(pub(super) String);

impl fmt::Display for InvalidFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The superblock fields that a trim needs. Every field has been checked against the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    /// Block size.
    pub block_bytes: u64,
    /// Cluster size, the unit of allocation: a block, or more with `bigalloc`.
    pub cluster_bytes: u64,
    /// Number of blocks of the filesystem, including those before the first data block.
    pub blocks: u64,
    /// Block at which group 0 begins: 1 for 1 KiB blocks, else 0.
    pub first_data_block: u64,
    /// Blocks per group; the last group may have fewer.
    pub blocks_per_group: u64,
    /// Number of groups.
    pub groups: u64,
    /// Free blocks (not clusters) of all groups, as last written.
    pub free_blocks: u64,
    /// UUID.
    pub uuid: [u8; 16],
    descriptor_bytes: u64,
    meta_bg_first: Option<u64>,
    backups: Backups,
}

/// Which groups begin with a copy of the superblock.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Backups {
    All,
    Sparse,
    Two([u64; 2]),
}

fn le16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl Superblock {
    /// Parses the [`SUPERBLOCK_BYTES`] at [`SUPERBLOCK_OFFSET_BYTES`] of a device.
    ///
    /// # Errors
    /// If they are not a superblock of ext2, ext3 or ext4, or if its fields contradict each other.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidFormat> {
        let invalid = |text: String| Err(InvalidFormat(text));
        if bytes.len() < SUPERBLOCK_BYTES {
            return invalid(format!(
                "a superblock has {SUPERBLOCK_BYTES} bytes, here are {}",
                bytes.len()
            ));
        }
        let magic = le16(bytes, 56);
        if magic != MAGIC {
            return invalid(format!(
                "the magic number of ext4 is {MAGIC:#x}, here is {magic:#x}"
            ));
        }
        let (compat, incompat) = (le32(bytes, 92), le32(bytes, 96));
        let ro_compat = le32(bytes, 100);
        let (log_block, log_cluster) = (le32(bytes, 24), le32(bytes, 28));
        if log_block > LOG_BLOCK_SIZE_MAX {
            return invalid(format!("a block size of 1 KiB << {log_block}"));
        }
        let bigalloc = ro_compat & RO_COMPAT_BIGALLOC != 0;
        let log_cluster = if bigalloc { log_cluster } else { log_block };
        if log_cluster < log_block || log_cluster > LOG_CLUSTER_SIZE_MAX {
            return invalid(format!("a cluster size of 1 KiB << {log_cluster}"));
        }
        let block_bytes = 1024u64 << log_block;
        let cluster_bytes = 1024u64 << log_cluster;

        let wide = incompat & INCOMPAT_64BIT != 0;
        let pair = |low: usize, high: usize| {
            let high = if wide { le32(bytes, high) } else { 0 };
            u64::from(high) << 32 | u64::from(le32(bytes, low))
        };
        let blocks = pair(4, 336);
        let free_blocks = pair(12, 344);
        let first_data_block = u64::from(le32(bytes, 20));
        let blocks_per_group = u64::from(le32(bytes, 32));
        if blocks.checked_mul(block_bytes).is_none() {
            return invalid(format!("{blocks} blocks of {block_bytes} bytes"));
        }
        if first_data_block > 1 || first_data_block >= blocks {
            return invalid(format!(
                "data begins at block {first_data_block} of {blocks}"
            ));
        }
        // One block holds a group's bitmap, with one bit per cluster.
        let ratio = cluster_bytes / block_bytes;
        if blocks_per_group == 0
            || blocks_per_group % ratio != 0
            || blocks_per_group / ratio > block_bytes * 8
        {
            return invalid(format!(
                "groups of {blocks_per_group} blocks of {block_bytes} bytes"
            ));
        }
        let groups = (blocks - first_data_block).div_ceil(blocks_per_group);
        // ext4's own limit: group numbers have 32 bits.
        if groups > u64::from(u32::MAX) {
            return invalid(format!("{groups} groups"));
        }
        if free_blocks > blocks {
            return invalid(format!("{free_blocks} free blocks of {blocks}"));
        }
        let descriptor_bytes = if wide {
            u64::from(le16(bytes, 254))
        } else {
            DESCRIPTOR_BYTES_MIN
        };
        if wide && !(64..=1024).contains(&descriptor_bytes) || !descriptor_bytes.is_power_of_two() {
            return invalid(format!("group descriptors of {descriptor_bytes} bytes"));
        }
        let backups = if compat & COMPAT_SPARSE_SUPER2 != 0 {
            Backups::Two([le32(bytes, 588).into(), le32(bytes, 592).into()])
        } else if ro_compat & RO_COMPAT_SPARSE_SUPER != 0 {
            Backups::Sparse
        } else {
            Backups::All
        };
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&bytes[104..120]);
        Ok(Self {
            block_bytes,
            cluster_bytes,
            blocks,
            first_data_block,
            blocks_per_group,
            groups,
            free_blocks,
            uuid,
            descriptor_bytes,
            meta_bg_first: (incompat & INCOMPAT_META_BG != 0).then(|| u64::from(le32(bytes, 260))),
            backups,
        })
    }

    /// Returns the size of the filesystem.
    pub fn size_bytes(&self) -> u64 {
        self.blocks * self.block_bytes
    }

    /// Returns the byte at which a group begins, as FITRIM and the device count; for the group
    /// after the last, the end of the filesystem.
    pub fn group_start_bytes(&self, group: u64) -> u64 {
        let block = group
            .saturating_mul(self.blocks_per_group)
            .saturating_add(self.first_data_block);
        block.min(self.blocks) * self.block_bytes
    }

    /// Returns the group that contains an address; beyond the end, the number of groups.
    pub fn group_at(&self, address_bytes: u64) -> u64 {
        let block = address_bytes / self.block_bytes;
        // The last group may be short, so division alone does not give its end.
        if block >= self.blocks {
            return self.groups;
        }
        block.saturating_sub(self.first_data_block) / self.blocks_per_group
    }

    /// Returns how many group descriptors share one block.
    pub fn descriptors_per_block(&self) -> u64 {
        self.block_bytes / self.descriptor_bytes
    }

    /// Returns the offset on the device of the block that holds the descriptor of a group
    /// (`descriptor_loc`, fs/ext4/super.c).
    pub fn descriptor_block_bytes(&self, group: u64) -> u64 {
        let per_block = self.descriptors_per_block();
        let block_of_table = group / per_block;
        let superblock_block = SUPERBLOCK_OFFSET_BYTES / self.block_bytes;
        let block = match self.meta_bg_first {
            Some(first) if block_of_table >= first => {
                let group = block_of_table * per_block;
                let mut behind = u64::from(self.has_superblock(group));
                if self.block_bytes == 1024 && group == 0 && self.first_data_block == 0 {
                    behind += 1;
                }
                group
                    .saturating_mul(self.blocks_per_group)
                    .saturating_add(self.first_data_block + behind)
            }
            _ => superblock_block + 1 + block_of_table,
        };
        block.saturating_mul(self.block_bytes)
    }

    /// Returns whether a group begins with a copy of the superblock (`ext4_bg_has_super`).
    fn has_superblock(&self, group: u64) -> bool {
        let is_power_of = |base: u64| {
            let mut power = base;
            while power < group {
                power *= base;
            }
            power == group
        };
        match &self.backups {
            _ if group == 0 => true,
            Backups::Two(groups) => groups.contains(&group),
            Backups::All => true,
            Backups::Sparse => {
                group == 1 || group % 2 == 1 && (is_power_of(3) || is_power_of(5) || is_power_of(7))
            }
        }
    }

    /// Returns the free bytes of a group, given the block that holds its descriptor.
    ///
    /// # Errors
    /// If the block is too short for the descriptor, or the descriptor counts more than a group
    /// holds.
    pub fn free_bytes(&self, group: u64, descriptor_block: &[u8]) -> Result<u64, InvalidFormat> {
        let index = group % self.descriptors_per_block();
        let at = usize::try_from(index * self.descriptor_bytes).unwrap_or(usize::MAX);
        let size = usize::try_from(self.descriptor_bytes).unwrap_or(usize::MAX);
        let descriptor = at
            .checked_add(size)
            .and_then(|end| descriptor_block.get(at..end))
            .ok_or_else(|| InvalidFormat(format!("no descriptor of group {group} in its block")))?;
        let high = if self.descriptor_bytes >= 64 {
            le16(descriptor, 44)
        } else {
            0
        };
        let clusters = u64::from(high) << 16 | u64::from(le16(descriptor, 12));
        let clusters_max = self.blocks_per_group / (self.cluster_bytes / self.block_bytes);
        if clusters > clusters_max {
            return Err(InvalidFormat(format!(
                "group {group} has {clusters} free clusters, a group holds {clusters_max}"
            )));
        }
        Ok(clusters * self.cluster_bytes)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Fields of a superblock as mke2fs writes it.
    pub(in super::super) struct Made {
        pub(in super::super) log_block: u32,
        pub(in super::super) log_cluster: u32,
        pub(in super::super) blocks: u64,
        pub(in super::super) blocks_per_group: u32,
        pub(in super::super) wide: bool,
        pub(in super::super) meta_bg_first: Option<u32>,
    }

    impl Made {
        pub(in super::super) fn bytes(&self) -> Vec<u8> {
            let mut bytes = vec![0; SUPERBLOCK_BYTES];
            let mut put = |at: usize, value: &[u8]| {
                bytes[at..at + value.len()].copy_from_slice(value);
            };
            let bigalloc = self.log_cluster != self.log_block;
            let first = u32::from(self.log_block == 0 && !bigalloc);
            let blocks = self.blocks.to_le_bytes();
            put(4, &blocks[..4]);
            put(20, &first.to_le_bytes());
            put(24, &self.log_block.to_le_bytes());
            put(28, &self.log_cluster.to_le_bytes());
            put(32, &self.blocks_per_group.to_le_bytes());
            put(56, &MAGIC.to_le_bytes());
            let incompat = if self.wide { INCOMPAT_64BIT } else { 0 }
                | self.meta_bg_first.map_or(0, |_| INCOMPAT_META_BG);
            put(96, &incompat.to_le_bytes());
            let ro_compat = RO_COMPAT_SPARSE_SUPER | if bigalloc { RO_COMPAT_BIGALLOC } else { 0 };
            put(100, &ro_compat.to_le_bytes());
            put(104, &[7; 16]);
            put(254, &(if self.wide { 64u16 } else { 0 }).to_le_bytes());
            put(260, &self.meta_bg_first.unwrap_or(0).to_le_bytes());
            put(336, &blocks[4..]);
            bytes
        }
    }

    fn parse(made: &Made) -> Superblock {
        Superblock::parse(&made.bytes()).unwrap()
    }

    #[test]
    fn blocks_of_1_kib_begin_at_block_1() {
        let sb = parse(&Made {
            log_block: 0,
            log_cluster: 0,
            blocks: 20_000,
            blocks_per_group: 8192,
            wide: false,
            meta_bg_first: None,
        });
        assert_eq!(sb.groups, 3);
        assert_eq!(sb.group_start_bytes(0), 1024);
        assert_eq!(sb.group_start_bytes(1), 8193 * 1024);
        assert_eq!(sb.group_start_bytes(3), 20_000 * 1024);
        assert_eq!(sb.group_at(0), 0);
        assert_eq!(sb.group_at(8193 * 1024 - 1), 0);
        assert_eq!(sb.group_at(8193 * 1024), 1);
        assert_eq!(sb.group_at(20_000 * 1024 - 1), 2);
        assert_eq!(sb.group_at(20_000 * 1024), 3, "the last group is short");
        assert_eq!(sb.group_at(20_000 * 1024 - 1), 2);
        assert_eq!(sb.group_at(20_000 * 1024), 3);
        assert_eq!(sb.group_at(u64::MAX), 3);
        // Superblock in block 1, descriptors in block 2.
        assert_eq!(sb.descriptor_block_bytes(0), 2048);
        assert_eq!(sb.descriptors_per_block(), 32);
    }

    #[test]
    fn meta_bg_keeps_descriptors_in_their_own_groups() {
        let sb = parse(&Made {
            log_block: 2,
            log_cluster: 2,
            blocks: 32768 * 300,
            blocks_per_group: 32768,
            wide: true,
            meta_bg_first: Some(1),
        });
        assert_eq!(sb.descriptors_per_block(), 64);
        assert_eq!(sb.descriptor_block_bytes(63), 4096);
        // 64 is not a power of 3, 5 or 7, so group 64 has no copy of the superblock: its first
        // block.
        assert_eq!(sb.descriptor_block_bytes(64), 64 * 32768 * 4096);
        assert_eq!(sb.descriptor_block_bytes(127), 64 * 32768 * 4096);
        assert_eq!(sb.descriptor_block_bytes(299), 256 * 32768 * 4096);
        let all = parse(&Made {
            log_block: 2,
            log_cluster: 2,
            blocks: 32768 * 300,
            blocks_per_group: 32768,
            wide: true,
            meta_bg_first: Some(0),
        });
        // Group 0 begins with the superblock.
        assert_eq!(all.descriptor_block_bytes(0), 4096);
    }

    #[test]
    fn clusters_count_free_space_with_bigalloc() {
        let sb = parse(&Made {
            log_block: 2,
            log_cluster: 6,
            blocks: 1 << 20,
            blocks_per_group: 32768 * 16,
            wide: true,
            meta_bg_first: None,
        });
        assert_eq!((sb.cluster_bytes, sb.groups), (65536, 2));
        let mut block = vec![0; 4096];
        block[64 + 12..64 + 14].copy_from_slice(&5u16.to_le_bytes());
        assert_eq!(sb.free_bytes(1, &block), Ok(5 * 65536));
        block[64 + 44] = 1;
        assert!(sb.free_bytes(1, &block).is_err(), "more than a group");
        assert!(sb.free_bytes(1, &block[..100]).is_err(), "cut off");
    }

    #[test]
    fn other_superblocks_are_refused() {
        let good = Made {
            log_block: 2,
            log_cluster: 2,
            blocks: 1 << 20,
            blocks_per_group: 32768,
            wide: true,
            meta_bg_first: None,
        }
        .bytes();
        assert!(Superblock::parse(&good[..1000]).is_err());
        assert!(Superblock::parse(&[0; 1024]).is_err());
        for (at, value) in [
            (24, 7u32),      // blocks of 128 KiB
            (32, 0),         // groups without blocks
            (32, 32769),     // more than a bitmap counts
            (20, 2),         // data begins too far up
            (4, 0),          // no blocks
            (336, u32::MAX), // more bytes than there are numbers
            (344, u32::MAX), // more free than there is
        ] {
            let mut bytes = good.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            assert!(Superblock::parse(&bytes).is_err(), "{value} at {at}");
        }
        let mut bytes = good;
        bytes[254] = 48;
        assert!(
            Superblock::parse(&bytes).is_err(),
            "descriptors of 48 bytes"
        );
    }

    /// Any superblock that parses has groups that tile the filesystem.
    pub(in super::super) fn check(bytes: &[u8]) {
        let Ok(sb) = Superblock::parse(bytes) else {
            return;
        };
        let some = [0, 1, 2, sb.groups / 2, sb.groups - 1];
        for group in some.into_iter().filter(|&group| group < sb.groups) {
            let (start, end) = (sb.group_start_bytes(group), sb.group_start_bytes(group + 1));
            assert!(start < end && end <= sb.size_bytes(), "group {group}");
            assert_eq!(sb.group_at(start), group);
            assert_eq!(sb.group_at(end - 1), group);
            let _ = sb.descriptor_block_bytes(group);
            let block = vec![0xff; usize::try_from(sb.block_bytes).unwrap()];
            let _ = sb.free_bytes(group, &block);
        }
        assert_eq!(sb.group_start_bytes(sb.groups), sb.size_bytes());
        assert_eq!(
            sb.group_at(sb.size_bytes()),
            sb.groups,
            "the end is the end"
        );
    }

    proptest! {
        #[test]
        fn hostile_superblocks(mut bytes in proptest::collection::vec(any::<u8>(), SUPERBLOCK_BYTES),
                               log_block in 0u32..8, per_group in 0u32..70_000) {
            bytes[56..58].copy_from_slice(&MAGIC.to_le_bytes());
            bytes[24..28].copy_from_slice(&log_block.to_le_bytes());
            bytes[32..36].copy_from_slice(&per_group.to_le_bytes());
            // Enable only a few features, so that some superblocks parse.
            bytes[21..24].fill(0);
            bytes[20] &= 1;
            bytes[93..96].fill(0);
            bytes[339] = 0;
            bytes[344..348].fill(0);
            bytes[12..16].fill(0);
            bytes[254..256].copy_from_slice(&64u16.to_le_bytes());
            check(&bytes);
        }
    }
}
