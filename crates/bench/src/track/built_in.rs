//! Tracks that come with trimtab.

/// A track that comes with trimtab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// Its TOML.
    pub text: &'static str,
}

/// All of them.
pub const BUILT_IN: [BuiltIn; 3] = [
    BuiltIn {
        name: "ingest",
        text: include_str!("../../tracks/ingest.toml"),
    },
    BuiltIn {
        name: "logs",
        text: include_str!("../../tracks/logs.toml"),
    },
    BuiltIn {
        name: "updates",
        text: include_str!("../../tracks/updates.toml"),
    },
];

impl BuiltIn {
    /// The track of this name.
    pub fn named(name: &str) -> Option<Self> {
        BUILT_IN.into_iter().find(|track| track.name == name)
    }

    /// What it does: its first comment.
    pub fn about(self) -> &'static str {
        self.text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("# "))
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::Track;

    #[test]
    fn each_is_valid_and_says_what_it_does() {
        for built_in in BUILT_IN {
            let track: Track = built_in.text.parse().unwrap();
            track.check().unwrap();
            assert_eq!(track.name, built_in.name);
            assert!(built_in.about().ends_with('.'), "{}", built_in.name);
            assert_eq!(BuiltIn::named(built_in.name), Some(built_in));
        }
        assert_eq!(BuiltIn::named("geonames"), None);
    }
}
