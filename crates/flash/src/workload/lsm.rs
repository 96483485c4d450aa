//! A log-structured merge tree with leveled compaction, such as `RocksDB`.
//!
//! Flushes of the memory table accumulate at level 0; several of them are merged with all of level
//! 1; a level that exceeds its target passes a table to the next level, where it is merged with the
//! tables whose keys it overlaps. Level targets are derived from the size of the data upwards, each
//! smaller than the next by the fan-out (`RocksDB`'s `level_compaction_dynamic_level_bytes`). A
//! compaction reads its inputs, writes new files, and then deletes the inputs: the drive sees whole
//! files come and go.
//!
//! Keys are updated at random, and the tables of a level hold equal shares of the keys: of the data
//! merged into a level that holds a share s of all keys, a share s replaces existing data. So the
//! last level, which holds all keys, does not grow.

use std::ops::Range;

use super::plan::{Namespace, Plan};
use super::{Operation, Workload};

/// Settings of an LSM tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lsm {
    /// Approximate size of all tables in the steady state, in pages; [`Workload::peak_pages`] is
    /// the maximum.
    pub space_pages: u32,
    /// Pages of a table and of the memory table; at least 1.
    pub table_pages: u32,
    /// Size ratio of a level to the previous one; at least 2. `RocksDB`: 10.
    pub fan_out: u32,
    /// Number of level 0 tables that triggers a compaction; at least 1. `RocksDB`: 4.
    pub level0_tables: u32,
}

#[derive(Debug, Clone, Copy)]
struct Table {
    file: u32,
    pages: u32,
}

#[derive(Debug, Clone)]
struct Level {
    /// Tables in key order; each covers an equal share of the keys.
    tables: Vec<Table>,
    pages: u64,
    target: u64,
    /// Position in the key space, 0 to 1, of the next table to pass on.
    cursor: f64,
}

/// The workload of an [`Lsm`].
#[derive(Debug, Clone)]
pub struct LsmTree {
    settings: Lsm,
    plan: Plan,
    data_pages: u64,
    level0: Vec<Table>,
    /// Level 1 and below; the last level holds all keys.
    levels: Vec<Level>,
    flushed_pages: u64,
    loaded: bool,
}

impl LsmTree {
    /// Creates the workload.
    ///
    /// # Panics
    /// Unless the bounds in [`Lsm`] are met and the space is at least twice level 0.
    pub fn new(settings: Lsm, namespace: Namespace) -> Self {
        let Lsm {
            space_pages,
            table_pages,
            fan_out,
            level0_tables,
        } = settings;
        assert!(table_pages >= 1 && fan_out >= 2 && level0_tables >= 1);
        let base = u64::from(table_pages) * u64::from(level0_tables);
        assert!(u64::from(space_pages) >= 2 * base);
        // Level 0 is half full on average; d + d/f + d/f^2 ... is about d f / (f - 1).
        let fan = u64::from(fan_out);
        let upper = u64::from(space_pages) - base / 2;
        let targets_of = |data: u64| {
            let mut targets = vec![data];
            while targets[targets.len() - 1] / fan >= base {
                targets.push(targets[targets.len() - 1] / fan);
            }
            targets
        };
        let mut data_pages = upper;
        if targets_of(upper).len() > 1 {
            let depth = targets_of(upper).len();
            // The exact sum over this many levels, as a multiple of the largest.
            let scale: f64 = (0..depth)
                .map(|level| f64::from(fan_out).powi(-i32::try_from(level).unwrap_or(0)))
                .sum();
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss
            )] // a share of a u32
            {
                data_pages = (upper as f64 / scale) as u64;
            }
        }
        let mut levels: Vec<Level> = targets_of(data_pages)
            .into_iter()
            .map(|target| Level {
                tables: Vec::new(),
                pages: 0,
                target,
                cursor: 0.0,
            })
            .collect();
        levels.reverse();
        let mut tree = Self {
            settings,
            plan: Plan::new(namespace),
            data_pages,
            level0: Vec::new(),
            levels,
            flushed_pages: 0,
            loaded: false,
        };
        let tables = tree.create(data_pages);
        let last = tree.levels.len() - 1;
        tree.levels[last].tables = tables;
        tree.levels[last].pages = data_pages;
        tree
    }

    /// Size of the data without pending updates, in pages.
    pub fn data_pages(&self) -> u64 {
        self.data_pages
    }

    /// Pages flushed so far, which is what users wrote; all other writes are compaction.
    pub fn flushed_pages(&self) -> u64 {
        self.flushed_pages
    }

    /// Number of levels below level 0.
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// Creates new tables of equal sizes with `pages` pages in total.
    fn create(&mut self, pages: u64) -> Vec<Table> {
        let count = pages.div_ceil(u64::from(self.settings.table_pages));
        (0..count)
            .map(|table| {
                #[allow(clippy::cast_possible_truncation)] // at most table_pages
                let pages = ((table + 1) * pages / count - table * pages / count) as u32;
                Table {
                    file: self.plan.create(pages),
                    pages,
                }
            })
            .collect()
    }

    fn flush(&mut self) {
        let pages = self.settings.table_pages;
        let file = self.plan.create(pages);
        self.flushed_pages += u64::from(pages);
        self.level0.push(Table { file, pages });
        if self.level0.len() as u64 >= u64::from(self.settings.level0_tables) {
            let inputs = std::mem::take(&mut self.level0);
            let all = 0..self.levels[0].tables.len();
            self.merge(&inputs, 0, all);
        }
        while let Some(level) = self.most_overfull_level() {
            self.move_table_down(level);
        }
    }

    /// The level, except the last, that exceeds its target by the largest factor.
    #[allow(clippy::cast_precision_loss)] // a ratio
    fn most_overfull_level(&self) -> Option<usize> {
        let score = |level: &Level| level.pages as f64 / level.target as f64;
        (0..self.levels.len() - 1)
            .filter(|&level| self.levels[level].pages > self.levels[level].target)
            .max_by(|&a, &b| score(&self.levels[a]).total_cmp(&score(&self.levels[b])))
    }

    /// Moves one table to the next level.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // indices below 2^32
    fn move_table_down(&mut self, level: usize) {
        let source = &mut self.levels[level];
        let count = source.tables.len();
        let index = ((source.cursor * count as f64) as usize).min(count - 1);
        source.cursor = (index + 1) as f64 / count as f64 % 1.0;
        let table = source.tables.remove(index);
        source.pages -= u64::from(table.pages);
        let below = self.levels[level + 1].tables.len();
        let overlap = index * below / count..((index + 1) * below).div_ceil(count);
        if overlap.is_empty() {
            // There is nothing to merge with, so the table moves without being rewritten.
            let next = &mut self.levels[level + 1];
            next.tables.insert(overlap.start, table);
            next.pages += u64::from(table.pages);
        } else {
            self.merge(&[table], level + 1, overlap);
        }
    }

    /// Merges tables with a range of a level's tables.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // pages below 2^32
    fn merge(&mut self, inputs: &[Table], level: usize, overlap: Range<usize>) {
        let target = &self.levels[level];
        let added: u64 = inputs.iter().map(|table| u64::from(table.pages)).sum();
        let share = (target.pages as f64 / self.data_pages as f64).min(1.0);
        let kept = (added as f64 * (1.0 - share)) as u64;
        let replaced: Vec<Table> = target.tables[overlap.clone()].to_vec();
        let old: u64 = replaced.iter().map(|table| u64::from(table.pages)).sum();
        for table in inputs.iter().chain(&replaced) {
            self.plan.read(table.file, table.pages);
        }
        // If the level was empty, the result may round to zero pages.
        let output = self.create((old + kept).max(1));
        for table in inputs.iter().chain(&replaced) {
            self.plan.delete(table.file);
        }
        let target = &mut self.levels[level];
        target.pages = target.pages - old + (old + kept).max(1);
        target.tables.splice(overlap, output);
    }
}

impl Workload for LsmTree {
    fn next(&mut self) -> Operation {
        if self.plan.is_empty() {
            self.loaded = true;
            self.flush();
        }
        self.plan.pop().expect("planned above")
    }

    fn is_loaded(&self) -> bool {
        self.loaded || self.plan.is_empty()
    }

    fn peak_pages(&self) -> u64 {
        let table = u64::from(self.settings.table_pages);
        let level0 = table * u64::from(self.settings.level0_tables);
        let targets: u64 = self.levels.iter().map(|level| level.target + table).sum();
        // A merge needs space for its output in addition to its inputs: level 0 with all of level
        // 1, or a table with those it overlaps, which are the fan-out plus one at either end,
        // counting half-full ones.
        let first = self.levels[0].target + 2 * level0;
        let others = table * (2 * u64::from(self.settings.fan_out) + 3);
        targets + 2 * level0 + first.max(others)
    }
}
