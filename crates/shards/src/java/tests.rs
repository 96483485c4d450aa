//! Expected values were printed by Java 17 and hppc 0.8.1 (`-Dhppc.bitmixer=DETERMINISTIC`) for the same
//! keys, in the same loops as below.

use std::collections::HashSet;

use super::{
    DEFAULT_BINS, Filled, HashOrder, HppcOrder, bins_after, by_hash, string_compare, string_hash,
};

fn digest(order: impl Iterator<Item = usize>) -> i32 {
    order.fold(7i32, |digest, at| {
        digest
            .wrapping_mul(31)
            .wrapping_add(i32::try_from(at).unwrap())
    })
}

fn hash_order(keys: &[String]) -> Vec<usize> {
    let mut order = HashOrder::default();
    for key in keys {
        order.insert(key);
    }
    order.iter().collect()
}

/// "Aa" and "BB" have the same hash, so all strings of `pairs` such pairs do.
fn twin(bits: u32, pairs: u32) -> String {
    (0..pairs)
        .map(|bit| if bits >> bit & 1 == 0 { "Aa" } else { "BB" })
        .collect()
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
fn items_are_in_the_maps_order() {
    let ids = ["b", "a", "c"];
    assert_eq!(HashOrder::of(&ids, |id| id), ["a", "b", "c"]);
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

#[test]
fn keys_with_equal_hashes_become_a_tree() {
    let keys = |count: u32| -> Vec<String> { (0..count).map(|i| twin(i * 37 % 64, 6)).collect() };
    // The ninth and tenth keys only double the table; the eleventh creates a tree, whose root comes
    // first.
    assert_eq!(hash_order(&keys(9)), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(hash_order(&keys(10)), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(hash_order(&keys(11)), [2, 0, 1, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert_eq!(
        hash_order(&keys(12)),
        [2, 0, 1, 3, 11, 4, 5, 6, 7, 8, 9, 10]
    );
    assert_eq!(
        hash_order(&keys(64)),
        [
            13, 2, 0, 16, 40, 48, 32, 1, 3, 35, 43, 19, 51, 11, 15, 27, 31, 63, 59, 23, 47, 55, 39,
            4, 28, 44, 60, 36, 20, 24, 56, 52, 5, 37, 53, 33, 21, 29, 61, 6, 38, 45, 22, 30, 54,
            62, 46, 14, 18, 50, 34, 7, 8, 9, 25, 57, 41, 17, 49, 10, 26, 58, 42, 12
        ]
    );
}

#[test]
fn trees_are_split_when_the_table_doubles() {
    for (count, distinct, expected) in [
        (60u64, 59, 995_615_796),
        (200, 198, -1_322_140_920),
        (1000, 949, -1_502_472_923),
        (5000, 3966, 1_670_818_764),
    ] {
        let mut seed = count;
        let mut known = HashSet::new();
        let mut keys = Vec::new();
        for _ in 0..count {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let r = u32::try_from(seed >> 33).unwrap();
            let key = if r % 3 == 0 {
                format!("x{r}")
            } else {
                let last = char::from(b'@' + u8::try_from(r / 4096 % 4 * 8).unwrap());
                format!("{}{last}", twin(r / 3 % 1024, 10))
            };
            if known.insert(key.clone()) {
                keys.push(key);
            }
        }
        assert_eq!(keys.len(), distinct);
        assert_eq!(digest(hash_order(&keys).into_iter()), expected, "{count}");
    }
}

#[test]
fn hppc_maps_of_strings() {
    for (count, whole, without_every_third) in [
        (1u64, 217, 7),
        (6, 1_920_453_036, 6_588_649),
        (7, -508_805_222, 6_614_629),
        (13, 588_694_615, -1_018_937_017),
        (100, 781_760_897, -1_451_633_832),
        (2000, 946_481_753, 1_616_566_996),
    ] {
        let keys: Vec<String> = (0..count)
            .map(|i| format!("index-{}", i * 7919 % 100_003))
            .collect();
        let mut order = HppcOrder::of_strings(keys.iter().map(String::as_str));
        assert_eq!(digest(order.iter()), whole, "{count}");
        for item in (0..keys.len()).step_by(3) {
            order.remove(item);
        }
        assert_eq!(digest(order.iter()), without_every_third, "{count}");
    }
}

#[test]
fn hppc_maps_of_numbers_end_with_zero() {
    let order = |count| -> Vec<usize> { HppcOrder::of_numbers(0..count).iter().collect() };
    assert_eq!(order(1), [0]);
    assert_eq!(order(5), [3, 4, 1, 2, 0]);
    assert_eq!(order(7), [3, 4, 5, 6, 1, 2, 0]);
    assert_eq!(order(12), [11, 1, 10, 8, 6, 2, 4, 3, 7, 9, 5, 0]);
}

#[test]
fn zero_can_be_removed() {
    let mut order = HppcOrder::of_numbers([0, 5]);
    order.remove(0);
    assert_eq!(order.iter().collect::<Vec<_>>(), [1]);
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
