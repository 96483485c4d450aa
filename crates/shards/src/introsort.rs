//! Introsort as Lucene sorts (`org.apache.lucene.util.IntroSorter`, `Sorter`), before 8.11 and since.
//!
//! The balancer uses it to sort nodes and indices. From 20 slots on (17 since 8.11) it is not stable, and
//! the final order of equal weights decides where copies go, so every swap must match Lucene's, in the
//! same order.

use std::cmp::Ordering;

/// Ranges shorter than this are sorted by binary insertion, which is stable.
const BINARY_SORT_THRESHOLD: usize = 20;
/// Since 8.11: ranges up to this length are sorted by insertion, which is stable.
const INSERTION_SORT_THRESHOLD: usize = 16;
/// Since 8.11: in longer ranges, the pivot is a median of medians.
const SINGLE_MEDIAN_THRESHOLD: usize = 40;

/// The two algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partition {
    /// Up to Lucene 8.10: around the median of the first slot, the middle and the last.
    Halves,
    /// Since Lucene 8.11: into less, equal and more.
    Thirds,
}

/// Data to sort: numbered slots that can be compared and swapped, and one remembered pivot.
pub trait Slots {
    /// Swaps the values of two slots.
    fn swap(&mut self, i: usize, j: usize);
    /// Remembers the value of a slot for [`Slots::compare_pivot`].
    fn set_pivot(&mut self, i: usize);
    /// Compares the remembered value with that of slot `j`. Must be a total order.
    fn compare_pivot(&self, j: usize) -> Ordering;
    /// Compares slot `i` with slot `j`; like Lucene's, remembers slot `i` as the pivot.
    fn compare(&mut self, i: usize, j: usize) -> Ordering {
        self.set_pivot(i);
        self.compare_pivot(j)
    }
}

/// Java's `Float.compare`: -0.0 is below 0.0, and every NaN is equal to itself and above all else.
#[must_use]
pub fn compare_f32(left: f32, right: f32) -> Ordering {
    let canonical = |x: f32| if x.is_nan() { f32::NAN.abs() } else { x };
    canonical(left).total_cmp(&canonical(right))
}

/// Sorts the slots `from..to` in ascending order.
pub fn sort<S: Slots>(partition: Partition, slots: &mut S, from: usize, to: usize) {
    if to > from {
        let depth = 2 * (to - from).ilog2();
        match partition {
            Partition::Halves => quicksort(slots, from, to, depth),
            Partition::Thirds => quicksort_in_thirds(slots, from, to, depth),
        }
    }
}

fn quicksort_in_thirds<S: Slots>(s: &mut S, mut from: usize, mut to: usize, mut depth: u32) {
    while to - from > INSERTION_SORT_THRESHOLD {
        let Some(rest) = depth.checked_sub(1) else {
            heap_sort(s, from, to);
            return;
        };
        depth = rest;
        let (less, more) = thirds(s, from, to);
        // The smaller part is a recursion, the larger one a loop.
        if less - from < to - more {
            quicksort_in_thirds(s, from, less, depth);
            from = more;
        } else {
            quicksort_in_thirds(s, more, to, depth);
            to = less;
        }
    }
    for i in from + 1..to {
        for current in (from + 1..=i).rev() {
            if s.compare(current - 1, current).is_le() {
                break;
            }
            s.swap(current - 1, current);
        }
    }
}

/// Partitions a range (Bentley and `McIlroy`, 1993): equal slots gather at both ends and are swapped to the
/// middle last. Returns where the lesser ones end and where the greater ones start.
fn thirds<S: Slots>(s: &mut S, from: usize, to: usize) -> (usize, usize) {
    let pivot = pivot(s, from, to);
    s.set_pivot(pivot);
    s.swap(from, pivot);
    let (mut i, mut j) = (from, to);
    let (mut equal_left, mut equal_right) = (from + 1, to - 1);
    loop {
        // A median ends both searches: some slot is not below it, and `from` is not above it.
        let left = loop {
            i += 1;
            let order = s.compare_pivot(i);
            if order.is_le() {
                break order;
            }
        };
        let right = loop {
            j -= 1;
            let order = s.compare_pivot(j);
            if order.is_ge() {
                break order;
            }
        };
        if i >= j {
            if i == j && right.is_eq() {
                s.swap(i, equal_left);
            }
            break;
        }
        s.swap(i, j);
        if right.is_eq() {
            s.swap(i, equal_left);
            equal_left += 1;
        }
        if left.is_eq() {
            s.swap(j, equal_right);
            equal_right -= 1;
        }
    }
    let (mut less, mut more) = (j + 1, j + 1);
    for k in from..equal_left {
        less -= 1;
        s.swap(k, less);
    }
    for k in (equal_right + 1..to).rev() {
        s.swap(k, more);
        more += 1;
    }
    (less, more)
}

fn pivot<S: Slots>(s: &mut S, from: usize, to: usize) -> usize {
    let (size, last) = (to - from, to - 1);
    let mid = usize::midpoint(from, last);
    if size <= SINGLE_MEDIAN_THRESHOLD {
        return median(s, mid - size / 4, mid, mid + size / 4);
    }
    let range = size / 8;
    let first = median(s, from, from + range, from + 2 * range);
    let middle = median(s, mid - range, mid, mid + range);
    let last = median(s, last - 2 * range, last - range, last);
    median(s, first, middle, last)
}

fn median<S: Slots>(s: &mut S, i: usize, j: usize, k: usize) -> usize {
    if s.compare(i, j).is_lt() {
        if s.compare(j, k).is_le() {
            j
        } else if s.compare(i, k).is_lt() {
            k
        } else {
            i
        }
    } else if s.compare(j, k).is_ge() {
        j
    } else if s.compare(i, k).is_lt() {
        i
    } else {
        k
    }
}

fn quicksort<S: Slots>(s: &mut S, mut from: usize, to: usize, mut depth: u32) {
    // Lucene recurses into both halves with the same depth; here the second recursion is a loop.
    loop {
        if to - from < BINARY_SORT_THRESHOLD {
            binary_sort(s, from, to);
            return;
        }
        let Some(rest) = depth.checked_sub(1) else {
            heap_sort(s, from, to);
            return;
        };
        depth = rest;

        let mid = usize::midpoint(from, to);
        if s.compare(from, mid).is_gt() {
            s.swap(from, mid);
        }
        if s.compare(mid, to - 1).is_gt() {
            s.swap(mid, to - 1);
            if s.compare(from, mid).is_gt() {
                s.swap(from, mid);
            }
        }

        let (mut left, mut right) = (from + 1, to - 2);
        s.set_pivot(mid);
        loop {
            // Terminates at `from` at the latest, which is not above the pivot.
            while s.compare_pivot(right).is_lt() {
                right -= 1;
            }
            while left < right && s.compare_pivot(left).is_ge() {
                left += 1;
            }
            if left < right {
                s.swap(left, right);
                right -= 1;
            } else {
                break;
            }
        }
        quicksort(s, from, left + 1, depth);
        from = left + 1;
    }
}

fn binary_sort<S: Slots>(s: &mut S, from: usize, to: usize) {
    for i in from + 1..to {
        s.set_pivot(i);
        let (mut low, mut high) = (from, i);
        while low < high {
            // Lucene's upper bound is inclusive, so its middle is that of `low..high - 1`.
            let mid = usize::midpoint(low, high - 1);
            if s.compare_pivot(mid).is_lt() {
                high = mid;
            } else {
                low = mid + 1;
            }
        }
        for j in (low + 1..=i).rev() {
            s.swap(j - 1, j);
        }
    }
}

fn heap_sort<S: Slots>(s: &mut S, from: usize, to: usize) {
    if to - from <= 1 {
        return;
    }
    let last_parent = (to - 2 - from) / 2 + from;
    for i in (from..=last_parent).rev() {
        sift_down(s, i, from, to);
    }
    for end in (from + 1..to).rev() {
        s.swap(from, end);
        sift_down(s, from, from, end);
    }
}

fn sift_down<S: Slots>(s: &mut S, mut i: usize, from: usize, to: usize) {
    let child = |i: usize| ((i - from) << 1) + 1 + from;
    let mut left = child(i);
    while left < to {
        let right = left + 1;
        if s.compare(i, left).is_lt() {
            if right < to && s.compare(left, right).is_lt() {
                s.swap(i, right);
                i = right;
            } else {
                s.swap(i, left);
                i = left;
            }
        } else if right < to && s.compare(i, right).is_lt() {
            s.swap(i, right);
            i = right;
        } else {
            break;
        }
        left = child(i);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    struct Weights {
        values: Vec<f32>,
        ids: Vec<u32>,
        pivot: f32,
    }

    impl Slots for Weights {
        fn swap(&mut self, i: usize, j: usize) {
            self.values.swap(i, j);
            self.ids.swap(i, j);
        }
        fn set_pivot(&mut self, i: usize) {
            self.pivot = self.values[i];
        }
        fn compare_pivot(&self, j: usize) -> Ordering {
            compare_f32(self.pivot, self.values[j])
        }
    }

    /// FNV-1a over the ids in their final order, 32 bits at a time.
    fn digest_of(partition: Partition, values: Vec<f32>) -> u64 {
        let count = values.len();
        let ids = (0..u32::try_from(count).unwrap()).collect();
        let mut weights = Weights {
            values,
            ids,
            pivot: 0.0,
        };
        sort(partition, &mut weights, 0, count);
        assert!(
            weights
                .values
                .is_sorted_by(|a, b| compare_f32(*a, *b).is_le())
        );
        let mut all = weights.ids.clone();
        all.sort_unstable();
        assert!(all.iter().zip(0..).all(|(id, place)| *id == place));
        let fold = |hash: u64, id: &u32| (hash ^ u64::from(*id)).wrapping_mul(0x100_0000_01b3);
        weights.ids.iter().fold(0xcbf2_9ce4_8422_2325, fold)
    }

    /// Integers below `distinct` divided by three, from a xorshift generator (13, 7, 17).
    fn values(count: usize, distinct: u64) -> Vec<f32> {
        let mut x: u64 = 88_172_645_463_325_252;
        let mut next = || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            #[allow(clippy::cast_precision_loss)]
            let number = ((x >> 33) % distinct) as f32;
            number / 3.0
        };
        (0..count).map(|_| next()).collect()
    }

    /// The digests come from Lucene's own class (lucene-core 8.2.0) on the same values.
    #[test]
    fn orders_equal_values_as_lucene_does() {
        for (count, distinct, digest) in [
            (1, 1, 0xaf63_bd4c_8601_b7df),
            (2, 2, 0x0832_8707_b4eb_6e3a),
            (2, 10, 0x082f_2207_b4e8_8cc4),
            (19, 2, 0x88a5_100f_0edb_eed2),
            (19, 3, 0x8917_4a06_5e6a_849a),
            (20, 1, 0xcc92_7f6e_e23a_0f61),
            (20, 2, 0x75c0_a298_8342_9241),
            (20, 3, 0x906a_2bf3_1cb9_e157),
            (20, 1_000_000, 0x66e0_35dc_82a5_563f),
            (21, 3, 0x1e49_f119_cfd9_c4d9),
            (40, 1, 0x721a_d479_7a03_88a7),
            (40, 2, 0x0547_afc0_1b52_0855),
            (40, 10, 0x561e_ad59_9a0e_dc85),
            (100, 1, 0xa36c_f92b_9b43_fed9),
            (100, 2, 0x97f8_2431_badc_c3fd),
            (100, 10, 0x25dd_e798_629c_748d),
            (257, 1, 0xefa6_d51c_6b20_e52f),
            (257, 3, 0x9c78_bf98_a346_4633),
            (1000, 2, 0xd8db_4d57_2188_222b),
            (1000, 10, 0x142d_64bb_6d79_b3b1),
            (1000, 1_000_000, 0x2da4_e2d8_0f58_2ee1),
            (5000, 1, 0xe686_a5f3_1158_688d),
            (5000, 3, 0xebcd_96d1_261a_2447),
            (5000, 1_000_000, 0x0127_c0dd_a707_d327),
        ] {
            let found = digest_of(Partition::Halves, values(count, distinct));
            assert_eq!(
                found, digest,
                "{count} values, {distinct} distinct: {found:x}"
            );
        }
    }

    /// An adversary that fixes values only when they are compared (`McIlroy`, 1999).
    struct Adversary {
        values: RefCell<Vec<u32>>,
        slots: Vec<usize>,
        pivot: usize,
        next: Cell<u32>,
        candidate: Cell<usize>,
    }

    impl Slots for Adversary {
        fn swap(&mut self, i: usize, j: usize) {
            self.slots.swap(i, j);
        }
        fn set_pivot(&mut self, i: usize) {
            self.pivot = self.slots[i];
        }
        fn compare_pivot(&self, j: usize) -> Ordering {
            let (x, y) = (self.pivot, self.slots[j]);
            let mut values = self.values.borrow_mut();
            let open = u32::try_from(values.len()).unwrap();
            if values[x] == open && values[y] == open {
                let fixed = if x == self.candidate.get() { x } else { y };
                values[fixed] = self.next.get();
                self.next.set(self.next.get() + 1);
            }
            if values[x] == open {
                self.candidate.set(x);
            } else if values[y] == open {
                self.candidate.set(y);
            }
            values[x].cmp(&values[y])
        }
    }

    /// Worst-case pivots end in heapsort. The adversary's values depend on every comparison made, so
    /// matching Lucene's digest also pins the order of comparisons.
    #[test]
    fn falls_back_to_heapsort_as_lucene_does() {
        let count = 4096;
        let mut adversary = Adversary {
            values: RefCell::new(vec![4096; count]),
            slots: (0..count).collect(),
            pivot: 0,
            next: Cell::new(0),
            candidate: Cell::new(0),
        };
        sort(Partition::Halves, &mut adversary, 0, count);
        #[allow(clippy::cast_precision_loss)]
        let worst = adversary
            .values
            .borrow()
            .iter()
            .map(|value| *value as f32)
            .collect();
        assert_eq!(digest_of(Partition::Halves, worst), 0x304c_3e1b_8010_7cc5);
    }

    #[test]
    fn compares_floats_as_java_does() {
        assert!(compare_f32(-0.0, 0.0).is_lt());
        assert!(compare_f32(f32::INFINITY, f32::NAN).is_lt());
        assert!(compare_f32(-f32::NAN, f32::NAN).is_eq());
        assert!(compare_f32(1.0, -1.0).is_gt());
    }

    #[test]
    fn leaves_slots_outside_the_range_alone() {
        let values: Vec<f32> = values(100, 50);
        let ids = (0..100).collect();
        let mut weights = Weights {
            values: values.clone(),
            ids,
            pivot: 0.0,
        };
        sort(Partition::Halves, &mut weights, 10, 60);
        sort(Partition::Thirds, &mut weights, 70, 70);
        assert_eq!(weights.values[..10], values[..10]);
        assert_eq!(weights.values[60..], values[60..]);
        assert!(weights.values[10..60].is_sorted());
    }
}
