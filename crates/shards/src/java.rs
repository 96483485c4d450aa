//! The iteration order of Java's `HashMap` and `HashSet`, which the server's decisions depend on.

mod string;

pub(crate) use string::string_compare;
pub use string::string_hash;

/// Bins of a `HashMap` whose size is not given.
pub(crate) const DEFAULT_BINS: usize = 16;

/// Bins of a map made for this number of keys (`Maps.newMapWithExpectedSize`).
pub(crate) fn bins_for(expected: usize) -> usize {
    let capacity = if expected < 2 {
        expected + 1
    } else {
        // (int) (expected / 0.75 + 1.0)
        expected * 4 / 3 + 1
    };
    capacity.next_power_of_two()
}

/// Bins of a `HashMap` that began with `bins`, after a number of keys was inserted with `put`.
///
/// `computeIfAbsent` looks at the size before it inserts: there, `keys` is their number before the last call, whether or
/// not that found its key.
pub(crate) fn bins_after(mut bins: usize, keys: usize) -> usize {
    while keys > bins * 3 / 4 {
        bins *= 2;
    }
    bins
}

/// How keys came into a `HashMap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filled {
    /// `put`: at the end of their bins.
    Put,
    /// `computeIfAbsent`: at their beginning.
    ComputeIfAbsent,
}

/// Sorts items into the iteration order of a `HashMap` with `bins` bins into which they were inserted one after the
/// other.
///
/// Bins of more than eight keys, which Java turns into trees, are not modelled: of well-spread hashes, one bin in ten
/// million has that many.
pub(crate) fn by_hash<T>(
    mut items: Vec<T>,
    filled: Filled,
    bins: usize,
    hash: impl Fn(&T) -> i32,
) -> Vec<T> {
    let bin = |item: &T| {
        let hash = hash(item).cast_unsigned();
        (hash ^ (hash >> 16)) as usize & (bins - 1)
    };
    if filled == Filled::ComputeIfAbsent {
        items.reverse();
    }
    items.sort_by_cached_key(bin);
    items
}

#[cfg(test)]
mod tests;
