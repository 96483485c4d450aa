//! Formats shards, nodes and sizes for use in reasons.

use std::fmt;

use crate::allocation::Allocation;
use crate::model::ShardId;

/// A shard as the server writes it: `[logs-1][0]`.
pub(crate) struct Shard<'a>(&'a str, u32);

impl fmt::Display for Shard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}][{}]", self.0, self.1)
    }
}

impl<'a> Allocation<'a> {
    pub(crate) fn shown(&self, shard: ShardId) -> Shard<'a> {
        Shard(&self.index(shard.index).name, shard.shard)
    }
}

/// A byte count in the largest unit in which it is at least one, such as `1.5gb`.
pub(super) struct Bytes(pub i64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u32); 5] =
            [("pb", 50), ("tb", 40), ("gb", 30), ("mb", 20), ("kb", 10)];
        let unit = UNITS
            .iter()
            .find(|(_, bits)| self.0.unsigned_abs() >> bits > 0);
        let Some((unit, bits)) = unit else {
            return write!(f, "{}b", self.0);
        };
        #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
        let count = self.0 as f64 / (1_u64 << bits) as f64;
        write!(f, "{count:.1}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_use_the_largest_fitting_unit() {
        assert_eq!(Bytes(0).to_string(), "0b");
        assert_eq!(Bytes(1023).to_string(), "1023b");
        assert_eq!(Bytes(1536).to_string(), "1.5kb");
        assert_eq!(Bytes(-(5 << 30)).to_string(), "-5.0gb");
        assert_eq!(Bytes(i64::MIN).to_string(), "-8192.0pb");
    }
}
