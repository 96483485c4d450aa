//! Free space header of an allocation group (`struct xfs_agf`, `fs/xfs/libxfs/xfs_format.h`,
//! big-endian), for kernels that do not list extents.

/// Number of bytes read of it.
pub const AGF_BYTES: usize = 64;

const MAGIC: &[u8] = b"XAGF";

/// Free space of an allocation group, in filesystem blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agf {
    /// Group number.
    pub number: u32,
    /// Size of the group.
    pub blocks: u32,
    /// Free blocks.
    pub free_blocks: u32,
    /// Length of the longest free extent.
    pub longest_blocks: u32,
}

impl Agf {
    /// Parses the second sector of an allocation group; `None` if it is not an AGF or its fields
    /// contradict each other.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let be32 = |at: usize| {
            let bytes = bytes.get(at..at + 4)?;
            Some(u32::from_be_bytes(bytes.try_into().ok()?))
        };
        if bytes.get(..4)? != MAGIC {
            return None;
        }
        let agf = Self {
            number: be32(8)?,
            blocks: be32(12)?,
            free_blocks: be32(52)?,
            longest_blocks: be32(56)?,
        };
        (agf.free_blocks <= agf.blocks && agf.longest_blocks <= agf.free_blocks).then_some(agf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn made(blocks: u32, free: u32, longest: u32) -> Vec<u8> {
        let mut bytes = vec![0; AGF_BYTES];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&3u32.to_be_bytes());
        bytes[12..16].copy_from_slice(&blocks.to_be_bytes());
        bytes[52..56].copy_from_slice(&free.to_be_bytes());
        bytes[56..60].copy_from_slice(&longest.to_be_bytes());
        bytes
    }

    #[test]
    fn fields_are_at_their_header_offsets() {
        let agf = Agf::parse(&made(1000, 600, 40)).unwrap();
        assert_eq!(
            (agf.number, agf.blocks, agf.free_blocks, agf.longest_blocks),
            (3, 1000, 600, 40)
        );
        assert_eq!(Agf::parse(&made(1000, 1001, 40)), None);
        assert_eq!(Agf::parse(&made(1000, 30, 40)), None);
        assert_eq!(Agf::parse(&made(1000, 600, 40)[..50]), None);
        assert_eq!(Agf::parse(&[0; 64]), None);
    }

    proptest! {
        #[test]
        fn hostile_bytes(mut bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Some(head) = bytes.get_mut(..4) {
                head.copy_from_slice(MAGIC);
            }
            if let Some(agf) = Agf::parse(&bytes) {
                prop_assert!(agf.longest_blocks <= agf.blocks);
            }
        }
    }
}
