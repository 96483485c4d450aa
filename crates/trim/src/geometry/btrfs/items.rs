//! Btrfs tree items as returned by `BTRFS_IOC_TREE_SEARCH_V2` (`linux/btrfs.h`,
//! `linux/btrfs_tree.h`): headers in native byte order, contents little-endian.

/// Size of `struct btrfs_ioctl_search_header`.
const HEADER_BYTES: usize = 32;

/// One tree item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'b> {
    /// Object ID, the first part of its key.
    pub object_id: u64,
    /// Item type, the second part.
    pub kind: u32,
    /// Offset, the third part.
    pub offset: u64,
    /// Content.
    pub data: &'b [u8],
}

/// Splits the result of a search into items; `None` if it is truncated.
pub fn split(count: u32, bytes: &[u8]) -> Option<Vec<Item<'_>>> {
    let mut rest = bytes;
    let mut items = Vec::new();
    for _ in 0..count {
        let header = rest.get(..HEADER_BYTES)?;
        let word = |at: usize| Some(u64::from_ne_bytes(header[at..at + 8].try_into().ok()?));
        let half = |at: usize| Some(u32::from_ne_bytes(header[at..at + 4].try_into().ok()?));
        let end = HEADER_BYTES.checked_add(usize::try_from(half(28)?).ok()?)?;
        items.push(Item {
            object_id: word(8)?,
            offset: word(16)?,
            kind: half(24)?,
            data: rest.get(HEADER_BYTES..end)?,
        });
        rest = &rest[end..];
    }
    Some(items)
}

fn le64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(
        bytes.get(at..at.checked_add(8)?)?.try_into().ok()?,
    ))
}

/// A chunk: the logical address range of a block group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// First logical byte.
    pub start_bytes: u64,
    /// Length.
    pub len_bytes: u64,
    /// `BTRFS_BLOCK_GROUP_*`: type of content and profile.
    pub flags: u64,
    /// Number of stripes, including copies.
    pub stripes: u16,
}

const RAID1: u64 = 1 << 4;
const DUP: u64 = 1 << 5;
const RAID10: u64 = 1 << 6;
const RAID56: u64 = 1 << 7 | 1 << 8;
const RAID1C3: u64 = 1 << 9;
const RAID1C4: u64 = 1 << 10;

impl Chunk {
    /// Parses a `CHUNK_ITEM`; `None` if it is too short or its range overflows.
    pub fn parse(item: &Item<'_>) -> Option<Self> {
        let chunk = Self {
            start_bytes: item.offset,
            len_bytes: le64(item.data, 0)?,
            flags: le64(item.data, 24)?,
            stripes: u16::from_le_bytes(item.data.get(44..46)?.try_into().ok()?),
        };
        chunk.start_bytes.checked_add(chunk.len_bytes)?;
        (chunk.len_bytes > 0 && chunk.stripes > 0).then_some(chunk)
    }

    /// Returns the address after the last byte.
    pub fn end_bytes(&self) -> u64 {
        self.start_bytes + self.len_bytes
    }

    /// Returns whether its space is discarded: Btrfs discards nothing in RAID5 and RAID6
    /// (`btrfs_map_discard`, fs/btrfs/volumes.c).
    pub fn is_discarded(&self) -> bool {
        self.flags & RAID56 == 0
    }

    /// Returns the number of bytes on the devices for each logical byte.
    pub fn copies(&self) -> u64 {
        match self.flags {
            flags if flags & RAID1C4 != 0 => 4,
            flags if flags & RAID1C3 != 0 => 3,
            flags if flags & (RAID1 | DUP | RAID10) != 0 => 2,
            _ => 1,
        }
    }
}

/// A device of the filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// Its size.
    pub size_bytes: u64,
    /// Bytes allocated to block groups.
    pub allocated_bytes: u64,
}

impl Device {
    /// Parses the content of a `DEV_ITEM`; `None` if it is too short.
    pub fn parse(data: &[u8]) -> Option<Self> {
        Some(Self {
            size_bytes: le64(data, 8)?,
            allocated_bytes: le64(data, 16)?,
        })
    }
}

/// Parses the used bytes of a `BLOCK_GROUP_ITEM`.
pub fn used_bytes(data: &[u8]) -> Option<u64> {
    le64(data, 0)
}

/// Parses the number of free extents of a `FREE_SPACE_INFO` item.
pub fn free_extents(data: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(data.get(..4)?.try_into().ok()?))
}

#[cfg(test)]
pub(in super::super) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(in super::super::super) fn item(key: (u64, u32, u64), data: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 8];
        bytes.extend(key.0.to_ne_bytes());
        bytes.extend(key.2.to_ne_bytes());
        bytes.extend(key.1.to_ne_bytes());
        bytes.extend(u32::try_from(data.len()).unwrap().to_ne_bytes());
        bytes.extend(data);
        bytes
    }

    pub(in super::super::super) fn chunk_data(len: u64, flags: u64, stripes: u16) -> Vec<u8> {
        let mut data = vec![0; 80];
        data[..8].copy_from_slice(&len.to_le_bytes());
        data[24..32].copy_from_slice(&flags.to_le_bytes());
        data[44..46].copy_from_slice(&stripes.to_le_bytes());
        data
    }

    #[test]
    fn consecutive_items_are_split() {
        let mut bytes = item((256, 228, 1 << 20), &chunk_data(8 << 20, 1, 1));
        bytes.extend(item((256, 228, 9 << 20), &chunk_data(1 << 30, 4 | DUP, 2)));
        bytes.extend([0; 100]);
        let items = split(2, &bytes).unwrap();
        let chunks: Vec<_> = items
            .iter()
            .map(|item| Chunk::parse(item).unwrap())
            .collect();
        assert_eq!(chunks[0].end_bytes(), 9 << 20);
        assert_eq!((chunks[0].copies(), chunks[1].copies()), (1, 2));
        assert_eq!(split(2, &bytes[..150]), None, "cut off");
        assert_eq!(split(0, &[]), Some(Vec::new()));
    }

    #[test]
    fn profiles() {
        let copies = |flags| {
            let data = chunk_data(1, flags, 4);
            let bytes = item((256, 228, 0), &data);
            let chunk = Chunk::parse(&split(1, &bytes).unwrap()[0]).unwrap();
            (chunk.copies(), chunk.is_discarded())
        };
        assert_eq!(copies(1), (1, true));
        assert_eq!(copies(1 | 8), (1, true));
        assert_eq!(copies(4 | 16), (2, true));
        assert_eq!(copies(5 | 64), (2, true));
        assert_eq!(copies(1 | 512), (3, true));
        assert_eq!(copies(1 | 1024), (4, true));
        assert!(!copies(1 | 128).1 && !copies(1 | 256).1);
    }

    /// Items lie within the result, and chunks have an end.
    pub(in super::super::super) fn check(count: u32, bytes: &[u8]) {
        let Some(items) = split(count, bytes) else {
            return;
        };
        for item in items {
            if let Some(chunk) = Chunk::parse(&item) {
                assert!(chunk.end_bytes() > chunk.start_bytes && chunk.copies() > 0);
            }
            let _ = (used_bytes(item.data), free_extents(item.data));
            let _ = Device::parse(item.data);
        }
    }

    proptest! {
        #[test]
        fn hostile_answers(count in 0u32..5, mut bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            check(count, &bytes);
            if let Some(length) = bytes.get_mut(28..32) {
                length.copy_from_slice(&80u32.to_ne_bytes());
            }
            check(count, &bytes);
        }
    }
}
