//! Answers about the sizes of filesystems: one JSON object per line.

use facts::host::{FsGeometry, FsUsage};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The answer for one filesystem.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Answer {
    /// The mount point that was queried.
    pub mount_point: String,
    /// Sizes; `None` if statfs failed or did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<FsUsage>,
    /// Geometry, if it is supported for this filesystem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geometry: Option<FsGeometry>,
    /// The time after which it was given up, if it did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Why there is no usage, or why there is usage but no geometry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Parses answers by mount point (of several the last), and counts malformed lines.
pub(crate) fn parse(bytes: &[u8]) -> (HashMap<String, Answer>, usize) {
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
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn answers_round_trip(mount_point in any::<String>(), sizes in any::<[u64; 4]>(), timeout_ms in any::<Option<u64>>(), error in any::<Option<String>>()) {
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
