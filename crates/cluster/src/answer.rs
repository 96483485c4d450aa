//! The individual responses: which parts are kept, and how they are parsed.

pub mod desired_balance;
pub mod health;
pub mod indices;
pub mod nodes;
pub mod root;
pub mod routing;
pub mod settings;
pub mod tasks;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::Answers;
    use crate::threads;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// Every page as served by Elasticsearch 7.17.28.
    const PAGES: [&[u8]; 10] = [
        include_bytes!("../tests/data/elasticsearch-7.17.28/root"),
        include_bytes!("../tests/data/elasticsearch-7.17.28/nodes"),
        include_bytes!("../tests/data/elasticsearch-7.17.28/node_stats"),
        include_bytes!("../tests/data/elasticsearch-7.17.28/closed"),
        include_bytes!("../tests/data/elasticsearch-7.17.28/open"),
        include_bytes!("../tests/data/elasticsearch-7.17.28/state"),
        include_bytes!("../tests/data/elasticsearch-7.17.28/health"),
        include_bytes!("../tests/data/elasticsearch-7.17.28/pending_tasks"),
        include_bytes!("../tests/data/elasticsearch-7.17.28/settings"),
        include_bytes!("../tests/data/elasticsearch-7.17.28/hot_threads"),
    ];

    /// Runs every parser on the input, whatever page it is.
    fn parse_as_anything(bytes: &[u8]) {
        let _ = root::Root::parse(bytes);
        let _ = nodes::Nodes::parse(bytes);
        let _ = nodes::NodesStats::parse(bytes);
        let _ = health::parse(bytes);
        let _ = tasks::parse(bytes);
        let _ = desired_balance::parse(bytes);
        let _ = settings::Settings::parse(bytes);
        let _ = routing::Routing::parse(bytes, Some(&HashSet::from(["old-1".to_owned()])));
        let mut counter = indices::Counter::default();
        let _ = counter.count(bytes, indices::IndexState::Closed);
        let _ = counter.count(bytes, indices::IndexState::Open);
        let _ = counter.finish();
        let _ = threads::from_file(bytes, "f");
        let _ = Answers::from_json(bytes, "f");
    }

    #[test]
    fn deep_nesting_is_rejected() {
        for open in [
            "[",
            "{\"a\":",
            "{\"routing_table\":{\"indices\":{\"a\":{\"b\":",
        ] {
            parse_as_anything(open.repeat(100_000).as_bytes());
        }
        let nested = format!(
            "{{\"routing_table\":{{\"indices\":{{\"a\":{}",
            "{\"b\":".repeat(100_000)
        );
        assert!(routing::Routing::parse(nested.as_bytes(), None).is_err());
    }

    proptest! {
        #[test]
        fn damaged_responses_are_parsed_or_rejected(
            page in 0..PAGES.len(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
            end in any::<prop::sample::Index>(),
            cut in any::<bool>(),
        ) {
            let mut bytes = PAGES[page].to_vec();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if cut {
                bytes.truncate(end.index(bytes.len() + 1));
            }
            parse_as_anything(&bytes);
        }
    }
}
