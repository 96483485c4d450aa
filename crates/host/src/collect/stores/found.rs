//! Stores as found, before their paths are resolved.

use crate::collect::view::View;
use facts::host::{StoreEngine, StoreState};

/// A store whose paths are not resolved yet.
pub(super) struct Found {
    pub(super) engine: StoreEngine,
    pub(super) version: Option<String>,
    pub(super) state: StoreState,
    pub(super) pid: Option<u32>,
    /// The tree that its paths refer to.
    pub(super) view: View,
    pub(super) paths: Paths,
    pub(super) settings: Vec<(String, String)>,
    /// Path of the configuration file that was read, for evidence.
    pub(super) config_file: Option<String>,
}

/// The data paths of a store.
pub(super) enum Paths {
    /// Absolute paths; symbolic links are not followed yet.
    Known {
        paths: Vec<String>,
        /// Where they come from.
        from: String,
    },
    Unknown {
        why: String,
        needs: &'static str,
    },
}

impl Found {
    /// Returns whether it is this store, on the host itself, and has told where its data is.
    pub(super) fn is_known(&self, engine: &StoreEngine) -> bool {
        let has_paths = matches!(self.paths, Paths::Known { .. });
        self.engine == *engine && self.view.is_host() && has_paths
    }
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
