//! The workloads of a scenario, with sizes in bytes.

use crate::workload::database::Pattern;

/// The kind of a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A file that is overwritten in place.
    Database {
        /// Which pages are written.
        pattern: Pattern,
        /// Bytes per write.
        write_bytes: u64,
    },
    /// A log-structured merge tree.
    Lsm {
        /// Bytes per table.
        table_bytes: u64,
        /// Size ratio of a level to the previous one.
        fan_out: u32,
        /// Number of level 0 tables that triggers a compaction.
        level0_tables: u32,
    },
    /// Lucene's segments.
    Segments {
        /// Bytes per flushed segment.
        flush_bytes: u64,
        /// Maximum size of a merged segment in bytes.
        segment_bytes_max: u64,
        /// Number of indices kept, at least 2; the oldest is deleted for a new one.
        indices: u32,
    },
    /// A circular log.
    Log {
        /// Bytes per file.
        file_bytes: u64,
        /// Whether files are overwritten instead of deleted.
        recycled: bool,
    },
    /// Files are created and deleted.
    Churn {
        /// Minimum file size in bytes.
        file_bytes_min: u64,
        /// Maximum file size in bytes.
        file_bytes_max: u64,
        /// Whether the oldest file is deleted first; otherwise a random one.
        oldest_first: bool,
    },
}

impl Kind {
    /// `RocksDB` with default settings: tables of 64 MB, a fan-out of 10.
    pub const ROCKSDB: Self = Self::Lsm {
        table_bytes: 64 << 20,
        fan_out: 10,
        level0_tables: 4,
    };
    /// Elasticsearch: flushes of 16 MB, merged up to 5 GB, ten indices.
    pub const LUCENE: Self = Self::Segments {
        flush_bytes: 16 << 20,
        segment_bytes_max: 5 << 30,
        indices: 10,
    };
    /// WiredTiger's journal: files of 100 MB.
    pub const JOURNAL: Self = Self::Log {
        file_bytes: 100 << 20,
        recycled: false,
    };
    /// A database: pages of 16 KiB in a file, written with Zipf-distributed frequency.
    pub const PAGES: Self = Self::Database {
        pattern: Pattern::Zipf { exponent: 0.9 },
        write_bytes: 16 * 1024,
    };
    /// Files of 1 to 256 MB, deleted at random.
    pub const FILES: Self = Self::Churn {
        file_bytes_min: 1 << 20,
        file_bytes_max: 256 << 20,
        oldest_first: false,
    };
}

/// One of the workloads of a mix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// The kind.
    pub kind: Kind,
    /// Share of the bytes written, as a weight.
    pub weight: f64,
    /// Share of the live data, as a weight.
    pub space: f64,
}

impl Part {
    /// Elasticsearch: segments and a translog.
    pub const ELASTICSEARCH: [Self; 2] = [
        Self::new(Kind::LUCENE).shares(3.0, 9.0),
        Self::new(Kind::JOURNAL).shares(1.0, 0.5),
    ];
    /// `MongoDB`: pages of 16 KiB written at random (Zipf, 0.9), and a journal.
    pub const MONGODB: [Self; 2] = [
        Self::new(Kind::PAGES).shares(3.0, 9.0),
        Self::new(Kind::JOURNAL).shares(1.0, 0.5),
    ];
    /// A part with weights of 1.
    pub const fn new(kind: Kind) -> Self {
        Self {
            kind,
            weight: 1.0,
            space: 1.0,
        }
    }

    /// Sets the shares of the bytes written and of the live data, as weights.
    #[must_use]
    pub const fn shares(self, weight: f64, space: f64) -> Self {
        Self {
            weight,
            space,
            ..self
        }
    }
}

impl Default for Part {
    /// [`Kind::FILES`].
    fn default() -> Self {
        Self::new(Kind::FILES)
    }
}
