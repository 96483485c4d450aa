//! Parsing and display of policies, states and rhythms.

use flash::ftl::Collection;
use flash::scenario::History;
use flash::workload::rhythm::Rhythm;
use proptest::prelude::*;

#[test]
fn policies_round_trip() {
    for (text, expected) in [
        ("greedy", Collection::Greedy),
        ("fifo", Collection::Fifo),
        ("d-choices:10", Collection::DChoices(10)),
    ] {
        let found: Collection = text.parse().unwrap();
        assert_eq!(found, expected);
        assert_eq!(found.to_string(), text);
    }
    for text in [
        "",
        "Greedy!",
        "d-choices",
        "d-choices:0",
        "d-choices:x",
        "lru",
    ] {
        assert!(text.parse::<Collection>().is_err(), "{text}");
    }
}

#[test]
fn states_of_drives() {
    assert_eq!("used:2".parse(), Ok(History::Used { passes: 2 }));
    assert_eq!("new".parse(), Ok(History::Discarded));
    assert!("used".parse::<History>().is_err());
}

#[test]
fn rhythms() {
    assert_eq!("steady".parse(), Ok(Rhythm::STEADY));
    assert_eq!("daily:14/20%".parse(), Ok(Rhythm::daily(14, 0.2).unwrap()));
    for text in ["daily:24/20%", "daily:14/120%", "weekly"] {
        let error = text.parse::<Rhythm>().unwrap_err().to_string();
        assert!(error.starts_with("expected steady or daily"), "{error}");
    }
}

proptest! {
    #[test]
    fn nothing_panics(text in "\\PC*|[a-z]{0,8}[:@ /,0-9.%]{0,12}") {
        let _ = text.parse::<Collection>();
        let _ = (text.parse::<Rhythm>(), text.parse::<History>());
    }
}
