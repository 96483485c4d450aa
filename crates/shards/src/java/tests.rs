//! Expected values were printed by Java 17 for the same keys, in the same loops as below.

use super::{DEFAULT_BINS, Filled, bins_after, by_hash, string_compare, string_hash};

fn digest(order: impl Iterator<Item = usize>) -> i32 {
    order.fold(7i32, |digest, at| {
        digest
            .wrapping_mul(31)
            .wrapping_add(i32::try_from(at).unwrap())
    })
}

fn hash_order(keys: &[String]) -> Vec<usize> {
    let bins = bins_after(DEFAULT_BINS, keys.len());
    let order = (0..keys.len()).collect();
    by_hash(order, Filled::Put, bins, |&at: &usize| {
        string_hash(&keys[at])
    })
}

#[test]
fn hashes_of_strings() {
    for (text, hash) in [
        ("", 0),
        ("a", 97),
        ("node-1", -1_040_172_250),
        ("Zk3pQ7a_SxuvN0e5rT2wYg", 637_060_575),
        ("h\u{e9}llo", 103_094_734),
        ("\u{1f600}", 1_772_899),
    ] {
        assert_eq!(string_hash(text), hash, "{text}");
    }
}

#[test]
fn strings_compare_by_utf16_unit() {
    // U+1F600 is encoded as the surrogates D83D DE00, which sort before U+FFFD.
    assert!(string_compare("\u{1f600}", "\u{fffd}").is_lt());
    assert!("\u{1f600}" > "\u{fffd}");
    assert!(string_compare("a", "ab").is_lt());
}

#[test]
fn forty_nodes() {
    let ids: Vec<String> = (0..40)
        .map(|i| format!("node_{}", i * 7919 % 1000))
        .collect();
    assert_eq!(
        hash_order(&ids),
        [
            18, 15, 34, 19, 35, 38, 11, 16, 13, 32, 31, 39, 17, 14, 33, 1, 2, 20, 36, 5, 21, 29,
            26, 7, 12, 30, 8, 3, 22, 27, 4, 23, 28, 25, 6, 0, 37, 24, 9, 10
        ]
    );
}

#[test]
fn growing_sets() {
    for (count, expected) in [
        (1, 217),
        (12, 1_067_061_589),
        (13, 1_577_449_729),
        (24, 2_003_241_967),
        (25, 622_629_631),
        (100, -1_682_205_035),
        (3000, 643_741_819),
    ] {
        let keys: Vec<String> = (0..count)
            .map(|i: u64| format!("idx-{}-{i}", i * 2_654_435_761 % (1 << 32)))
            .collect();
        assert_eq!(digest(hash_order(&keys).into_iter()), expected, "{count}");
    }
}

/// `put` doubles a table of 16 bins after its 13th key, `computeIfAbsent` before its 14th, or when it is asked for one of
/// the 13 again, and puts keys before those that are in their bins.
#[test]
fn maps_that_are_filled_in_either_way_return_another_order() {
    let keys: Vec<i32> = (1..=12).chain([17]).collect();
    let order = |filled, keys_counted| {
        let bins = bins_after(DEFAULT_BINS, keys_counted);
        by_hash(keys.clone(), filled, bins, |&key| key)
    };
    assert_eq!(order(Filled::Put, 13), keys);
    let mut first_17 = keys.clone();
    first_17.rotate_right(1);
    assert_eq!(order(Filled::ComputeIfAbsent, 12), first_17);
    assert_eq!(order(Filled::ComputeIfAbsent, 13), keys);
}
