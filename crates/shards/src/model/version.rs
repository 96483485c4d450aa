//! Products and versions, and which code balances in each.

/// Server product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// Elasticsearch.
    Elasticsearch,
    /// OpenSearch, a fork of Elasticsearch 7.10.
    OpenSearch,
}

impl std::fmt::Display for Product {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Elasticsearch => "Elasticsearch",
            Self::OpenSearch => "OpenSearch",
        })
    }
}

/// Server version in the server's own numbering: 7.4.0 is 7,040,099.
///
/// Only the order matters (class `Version`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version(pub u32);

impl Version {
    /// Creates a release version.
    pub const fn release(major: u32, minor: u32, revision: u32) -> Self {
        Self(major * 1_000_000 + minor * 10_000 + revision * 100 + 99)
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = self.0;
        write!(
            f,
            "{}.{}.{}",
            id / 1_000_000,
            id / 10_000 % 100,
            id / 100 % 100
        )
    }
}

/// The generations of `BalancedShardsAllocator`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Balancing {
    /// Elasticsearch up to 7.6: a relocation must lower the difference of two nodes' weights.
    WeightDelta,
    /// Elasticsearch 7.7 to 8.3: a throttled relocation moves the copy in the model, but the sorted weights
    /// stay as they were (elasticsearch#51632), so that later decisions rest on stale ones.
    StaleWeights,
    /// Elasticsearch from 8.4 on: weights follow throttled relocations again (elasticsearch#88385), and
    /// count write load and bytes. From 8.6 on it runs on a simulation, whose end is the desired balance.
    WriteLoad,
    /// OpenSearch: forked from 7.10, with constraints of its own.
    OpenSearch,
}

impl Balancing {
    /// The generation that a master runs.
    pub fn of(product: Product, version: Version) -> Self {
        match product {
            Product::OpenSearch => Self::OpenSearch,
            Product::Elasticsearch if version < Version::release(7, 7, 0) => Self::WeightDelta,
            Product::Elasticsearch if version < Version::release(8, 4, 0) => Self::StaleWeights,
            Product::Elasticsearch => Self::WriteLoad,
        }
    }

    /// Whether relocations that are throttled lead later decisions astray, so that a higher
    /// `cluster_concurrent_rebalance` than the default makes for more moves instead of faster ones.
    pub fn has_stale_weights(self) -> bool {
        matches!(self, Self::StaleWeights | Self::OpenSearch)
    }
}
