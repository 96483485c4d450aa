//! FITRIM behaviour by kernel release.

/// Major and minor number of a Linux release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelRelease {
    /// 6 in 6.18.
    pub major: u32,
    /// 18 in 6.18.
    pub minor: u32,
}

impl KernelRelease {
    /// Creates a release.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Parses `6.18.44-fc-v657`, the format of /proc/sys/kernel/osrelease; `None` if it does not
    /// begin with two numbers.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?;
        let digits = minor.len() - minor.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let minor = minor[..digits].parse().ok()?;
        Some(Self { major, minor })
    }

    /// Returns the release of the running kernel.
    pub(super) fn running() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?)
    }

    /// Whether XFS walks the free space of a range by address and clips it to the range: since 6.10
    /// ("xfs: fix performance problems when fstrimming a subset of a fragmented AG",
    /// `fs/xfs/xfs_discard.c`). A prior only, because distributions backport this to older kernels.
    pub(super) fn xfs_clips(self) -> bool {
        self >= Self::new(6, 10)
    }

    /// Whether XFS maps the real-time device behind the data device: since 6.11. Before, addresses
    /// there are refused.
    pub(super) fn xfs_trims_real_time(self) -> bool {
        self >= Self::new(6, 11)
    }

    /// Whether Btrfs remembers which unallocated space it has trimmed since the mount: since 5.2
    /// (`CHUNK_TRIMMED`, `fs/btrfs/extent-tree.c`). Before, each call trims all of it again.
    pub(super) fn btrfs_remembers_unallocated(self) -> bool {
        self >= Self::new(5, 2)
    }
}

impl std::fmt::Display for KernelRelease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distribution_releases_are_parsed() {
        for (text, expected) in [
            ("6.18.44-fc-v657\n", Some(KernelRelease::new(6, 18))),
            ("6.1.0-56-amd64", Some(KernelRelease::new(6, 1))),
            ("3.10.0-1160.el7.x86_64", Some(KernelRelease::new(3, 10))),
            ("6.10-rc1", Some(KernelRelease::new(6, 10))),
            ("", None),
            ("6", None),
            ("6.x", None),
            ("-1.2", None),
            ("99999999999.1", None),
        ] {
            assert_eq!(KernelRelease::parse(text), expected, "{text:?}");
        }
    }
}
