use crate::{Evidence, Skipped};
use serde::{Deserialize, Serialize};

/// A drive's lifetime write counters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DriveWrites {
    /// Kernel name: `nvme0n1`, `sda`.
    pub drive: String,
    /// Bytes written by hosts.
    pub host_bytes: Option<u64>,
    /// Amount written to flash.
    pub media: Option<MediaWrites>,
    /// Where each number was read.
    pub evidence: Vec<Evidence>,
    /// What could not be read, and why.
    pub skipped: Vec<Skipped>,
}

/// How a drive reports its flash writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaWrites {
    /// In bytes.
    Bytes(u64),
    /// In flash pages of unknown size.
    Pages {
        /// Pages programmed with host data.
        for_hosts: u64,
        /// Pages programmed internally, such as by garbage collection.
        on_its_own: u64,
    },
}

impl DriveWrites {
    /// Returns the bytes written by hosts and the bytes written to flash. `None` unless both are
    /// known and something was written.
    ///
    /// For drives that count pages only the ratio is known: flash bytes are host bytes * (for hosts
    /// + on its own) / for hosts, the ratio that Micron documents for attributes 247 and 248.
    pub fn bytes(&self) -> Option<(u64, u64)> {
        let host = self.host_bytes.filter(|&bytes| bytes > 0)?;
        let media = match self.media? {
            MediaWrites::Bytes(bytes) => bytes,
            MediaWrites::Pages {
                for_hosts,
                on_its_own,
            } => {
                let pages = u128::from(for_hosts) + u128::from(on_its_own);
                // A u64 times a sum of two can reach 2^129, so it is checked.
                let bytes = u128::from(host)
                    .checked_mul(pages)?
                    .checked_div(u128::from(for_hosts))?;
                u64::try_from(bytes).ok()?
            }
        };
        (media > 0).then_some((host, media))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(host_bytes: Option<u64>, media: Option<MediaWrites>) -> DriveWrites {
        DriveWrites {
            host_bytes,
            media,
            ..DriveWrites::default()
        }
    }

    #[test]
    fn bytes_are_known_if_both_counters_are() {
        let pages = |for_hosts, on_its_own| {
            Some(MediaWrites::Pages {
                for_hosts,
                on_its_own,
            })
        };
        for (host, media, expected) in [
            (
                Some(10),
                Some(MediaWrites::Bytes(15)),
                Some((10_u64, 15_u64)),
            ),
            (Some(10), None, None),
            (None, Some(MediaWrites::Bytes(15)), None),
            (Some(0), Some(MediaWrites::Bytes(15)), None),
            (Some(10), Some(MediaWrites::Bytes(0)), None),
            // 200 pages for hosts plus 100 internal ones: 1.5 times as much.
            (Some(1000), pages(200, 100), Some((1000, 1500))),
            (Some(1000), pages(200, 0), Some((1000, 1000))),
            (Some(1000), pages(0, 100), None),
            (Some(u64::MAX), pages(u64::MAX, u64::MAX), None),
            (
                Some(u64::MAX),
                pages(u64::MAX, 0),
                Some((u64::MAX, u64::MAX)),
            ),
        ] {
            assert_eq!(writes(host, media).bytes(), expected, "{host:?} {media:?}");
        }
    }
}
