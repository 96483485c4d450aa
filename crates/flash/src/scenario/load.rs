//! Converts the parts of a scenario to workloads, with sizes in pages.

use super::error::{ScenarioError, out_of_bounds};
use super::part::Kind;
use super::{Scale, Scenario};
use crate::workload::churn::{Churn, ChurnWorkload};
use crate::workload::database::{Database, DatabaseWorkload, Pattern};
use crate::workload::log::{Log, LogWorkload};
use crate::workload::lsm::{Lsm, LsmTree};
use crate::workload::mix::Mix;
use crate::workload::segments::{Segments, SegmentsWorkload};
use crate::workload::{Namespace, Workload};

/// Bytes a part writes before others get their turn: what a kernel writes back in one go.
const CHUNK_BYTES: u64 = 1 << 20;

/// The mix of a scenario, for a filesystem with `pages` pages.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)] // shares of a u32
pub(super) fn mix(scenario: &Scenario, scale: &Scale, pages: u32) -> Result<Mix, ScenarioError> {
    let all: f64 = scenario.parts.iter().map(|part| part.space).sum();
    let live = f64::from(pages) * scenario.fill;
    let stride = scenario.parts.len() as u32;
    let parts = (0u32..)
        .zip(&scenario.parts)
        .map(|(index, part)| {
            let space = (live * part.space / all) as u32;
            let namespace = Namespace {
                offset: index,
                stride,
                chunk_pages: scale.chunk_pages(
                    CHUNK_BYTES,
                    scenario.request_bytes,
                    scenario.drive.page_bytes,
                ),
            };
            // Each part has its own seed, in golden-section steps.
            let seed = scenario
                .seed
                .wrapping_add(u64::from(index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let context = PartContext {
                space_pages: space,
                page_bytes: scenario.drive.page_bytes,
                scale,
                namespace,
                seed,
            };
            Ok((part.weight, build(part.kind, &context)?))
        })
        .collect::<Result<Vec<_>, ScenarioError>>()?;
    let mix = Mix::new(parts);
    let peak = mix.peak_pages();
    if peak > u64::from(pages) {
        return Err(ScenarioError::DoesNotFit {
            peak_percent: 100.0 * peak as f64 / f64::from(pages),
        });
    }
    Ok(mix)
}

/// Space, seed and file numbers of a part.
struct PartContext<'a> {
    space_pages: u32,
    page_bytes: u32,
    scale: &'a Scale,
    namespace: Namespace,
    seed: u64,
}

/// Builds the workload of one part.
fn build(kind: Kind, context: &PartContext<'_>) -> Result<Box<dyn Workload + Send>, ScenarioError> {
    let PartContext {
        space_pages,
        namespace,
        seed,
        ..
    } = *context;
    if space_pages < 256 {
        return Err(out_of_bounds(
            "a workload's space, in simulated pages,",
            space_pages,
            "at least 256: a higher fill or share, or more simulated pages",
        ));
    }
    Ok(match kind {
        Kind::Database {
            pattern,
            write_bytes,
        } => Box::new(DatabaseWorkload::new(
            context.database(pattern, write_bytes)?,
            namespace,
            seed,
        )),
        Kind::Lsm {
            table_bytes,
            fan_out,
            level0_tables,
        } => Box::new(LsmTree::new(
            context.lsm(table_bytes, fan_out, level0_tables)?,
            namespace,
        )),
        Kind::Segments {
            flush_bytes,
            segment_bytes_max,
            indices,
        } => Box::new(SegmentsWorkload::new(
            context.segments(flush_bytes, segment_bytes_max, indices)?,
            namespace,
        )),
        Kind::Log {
            file_bytes,
            recycled,
        } => Box::new(LogWorkload::new(
            Log {
                space_pages,
                file_pages: context.file(file_bytes),
                recycled,
            },
            namespace,
        )),
        Kind::Churn {
            file_bytes_min,
            file_bytes_max,
            oldest_first,
        } => {
            if file_bytes_min > file_bytes_max {
                return Err(out_of_bounds(
                    "the smallest file",
                    file_bytes_min,
                    "at most the largest, in bytes",
                ));
            }
            let churn = Churn {
                space_pages,
                file_pages_min: context.file(file_bytes_min),
                file_pages_max: context.file(file_bytes_max),
                oldest_first,
            };
            Box::new(ChurnWorkload::new(churn, namespace, seed))
        }
    })
}

impl PartContext<'_> {
    fn file(&self, bytes: u64) -> u32 {
        (self.scale).file_pages(bytes, self.page_bytes, self.space_pages)
    }

    fn database(&self, pattern: Pattern, write_bytes: u64) -> Result<Database, ScenarioError> {
        match pattern {
            Pattern::Zipf { exponent } if !(0.0..=10.0).contains(&exponent) => {
                return Err(out_of_bounds(
                    "the exponent of Zipf's law",
                    exponent,
                    "0 to 10",
                ));
            }
            Pattern::HotCold {
                hot_share,
                hot_traffic,
            } if !((0.0..=1.0).contains(&hot_share) && (0.0..=1.0).contains(&hot_traffic)) => {
                return Err(out_of_bounds(
                    "hot data and its writes",
                    format!("{hot_share} and {hot_traffic}"),
                    "shares of 0 to 1",
                ));
            }
            _ => {}
        }
        // A write has the size of a request, which does not scale with the drive.
        #[allow(clippy::cast_possible_truncation)] // clamped
        let write_pages = write_bytes
            .div_ceil(u64::from(self.page_bytes))
            .clamp(1, u64::from(self.space_pages)) as u32;
        Ok(Database {
            pages: self.space_pages,
            pattern,
            write_pages,
        })
    }

    fn lsm(&self, bytes: u64, fan_out: u32, level0_tables: u32) -> Result<Lsm, ScenarioError> {
        if !(2..=1000).contains(&fan_out) || !(1..=64).contains(&level0_tables) {
            return Err(out_of_bounds(
                "the tree's fan-out and tables at level 0",
                format!("{fan_out} and {level0_tables}"),
                "a fan-out of 2 to 1000, and 1 to 64 tables",
            ));
        }
        let space_pages = self.space_pages;
        let level0_tables = level0_tables.min(space_pages / 8);
        // Leaves room for the other levels besides level 0 and the space its compaction needs.
        let most = (space_pages / (8 * level0_tables)).max(1);
        Ok(Lsm {
            space_pages,
            table_pages: self.file(bytes).min(most),
            fan_out,
            level0_tables,
        })
    }

    fn segments(&self, flush: u64, largest: u64, indices: u32) -> Result<Segments, ScenarioError> {
        if !(2..=10_000).contains(&indices) || largest / 2 < flush {
            return Err(out_of_bounds(
                "indices, and the largest segment by flush,",
                format!("{indices}, and {largest} by {flush} bytes"),
                "2 to 10,000 indices, and a segment of at least two flushes",
            ));
        }
        let space_pages = self.space_pages;
        let index_pages = (space_pages / indices).max(1);
        // Tiers keep their proportions as far as whole pages allow.
        let segment_pages_max = self.file(largest).max(2);
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss
        )] // a share of it
        let flush_pages =
            (f64::from(segment_pages_max) * (flush as f64 / largest as f64)).round() as u32;
        Ok(Segments {
            space_pages,
            flush_pages: flush_pages
                .max(1)
                .min(segment_pages_max / 2)
                .min(index_pages),
            segment_pages_max,
            index_pages,
        })
    }
}
