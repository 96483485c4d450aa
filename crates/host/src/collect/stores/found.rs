//! A store as it was found, its paths not resolved yet.

use crate::collect::view::View;
use facts::host::{StoreEngine, StoreState};

/// A store before its paths are resolved.
pub(super) struct Found {
    pub(super) engine: StoreEngine,
    pub(super) version: Option<String>,
    pub(super) state: StoreState,
    pub(super) pid: Option<u32>,
    /// The tree that its paths are in.
    pub(super) view: View,
    pub(super) paths: Paths,
    pub(super) settings: Vec<(String, String)>,
    /// Path for evidence of the configuration file that was read.
    pub(super) config_file: Option<String>,
}

/// The data paths of a store.
pub(super) enum Paths {
    /// Absolute, links not followed yet.
    Known {
        paths: Vec<String>,
        /// Where they were read.
        from: String,
    },
    Unknown {
        why: String,
        needs: &'static str,
    },
}

impl Paths {
    pub(super) fn unknown(why: String, denied: bool) -> Self {
        let needs = if denied {
            "root, or --data-path"
        } else {
            "--data-path"
        };
        Self::Unknown { why, needs }
    }
}
