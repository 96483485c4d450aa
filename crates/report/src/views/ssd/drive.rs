//! Result and page of a bare drive under a pattern of page writes, compared with theory.

use super::counters::DriveCounters;
use super::words::spare;
use flash::bare::{BareDrive, BareOutcome};
use page::chart::{Axis, Curve, LineChart, Scale};
use page::{Facts, Page};
use schemars::JsonSchema;
use serde::Serialize;
use units::{count, grouped, number, percent};

/// Result of a bare-drive simulation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DriveAnswer {
    /// `drive`.
    #[schemars(extend("const" = "drive"))]
    kind: &'static str,
    /// Pages programmed per page written, after the warm-up; null if nothing was written.
    pub write_amplification: Option<f64>,
    /// Closed-form prediction; null if there is none, or if it does not apply.
    theory: Option<Theory>,
    /// Why there is no theory; null if there is one.
    no_theory: Option<&'static str>,
    /// The drive as built.
    drive: DriveShape,
    /// The requested parameters.
    asked: Asked,
    /// What was counted after the warm-up.
    counters: DriveCounters,
    /// Erase counts of blocks since power-on.
    wear: Wear,
    /// Write amplification over the run, including the warm-up.
    series: Vec<Point>,
}

/// Closed-form prediction.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DriveTheory")]
struct Theory {
    /// Predicted write amplification.
    write_amplification: f64,
    /// Simulated over theory, less 1; null if nothing was written.
    difference: Option<f64>,
    /// The formula and its source.
    formula: &'static str,
}

/// Geometry of a drive.
#[derive(Debug, Serialize, JsonSchema)]
struct DriveShape {
    /// Pages that the host can address.
    logical_pages: u64,
    /// Bytes of a page.
    page_bytes: u32,
    /// Pages of a block.
    pages_per_block: u32,
    /// Data blocks, excluding write frontiers and the free reserve.
    data_blocks: u32,
    /// Spare pages per logical page, as built.
    over_provisioning: f64,
    /// Size of the mapping tables in bytes.
    table_bytes: u64,
    /// Digest of the drive's final state: the same call gives the same digest.
    digest: String,
}

/// Requested parameters.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DriveAsked")]
struct Asked {
    /// Requested spare area.
    over_provisioning: f64,
    /// `greedy`, `fifo`, `d-choices:D`.
    policy: String,
    /// `uniform` ...
    workload: String,
    /// Share of requests that trim.
    trim_share: f64,
    /// Whether hot and cold writes had separate blocks.
    streams: bool,
    /// Whether moved pages had separate blocks.
    moved_apart: bool,
    /// `empty`, `filled`, `aged:P`.
    power_on: String,
    /// Random seed.
    seed: u64,
    /// Minimum number of pages written before counting.
    warm_up_pages: u64,
    /// Minimum number of pages counted.
    counted_pages: u64,
}

/// Erase counts of blocks.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DriveWear")]
struct Wear {
    /// The least worn block.
    min: u32,
    /// On average.
    mean: f64,
    /// The most worn block.
    max: u32,
}

/// Write amplification over an interval of the run.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "DrivePoint")]
struct Point {
    /// Drive writes since power-on at its end.
    drive_writes: f64,
    /// Whether it belongs to the warm-up.
    warm_up: bool,
    /// Write amplification in the interval; null if nothing was written.
    write_amplification: Option<f64>,
    /// Counters of the interval.
    counters: DriveCounters,
}

impl DriveAnswer {
    /// Builds the result of a simulation.
    pub fn of(drive: &BareDrive, outcome: &BareOutcome) -> Self {
        let geometry = &drive.geometry;
        let write_amplification = outcome.counters.write_amplification();
        let theory = outcome.theory;
        Self {
            kind: "drive",
            write_amplification,
            theory: theory.ok().map(|(expected, formula)| Theory {
                write_amplification: expected,
                difference: write_amplification.map(|found| found / expected - 1.0),
                formula,
            }),
            no_theory: theory.err(),
            drive: DriveShape {
                logical_pages: geometry.logical_pages,
                page_bytes: geometry.page_bytes,
                pages_per_block: geometry.pages_per_block,
                data_blocks: geometry.data_blocks,
                over_provisioning: geometry.over_provisioning(),
                table_bytes: outcome.table_bytes,
                digest: format!("{:016x}", outcome.digest),
            },
            asked: Asked {
                over_provisioning: drive.over_provisioning,
                policy: drive.collection.to_string(),
                workload: drive.pattern.to_string(),
                trim_share: drive.trim_share,
                streams: drive.streams,
                moved_apart: drive.moved_apart,
                power_on: drive.power_on.to_string(),
                seed: drive.seed,
                warm_up_pages: drive.warm_up_pages,
                counted_pages: drive.counted_pages,
            },
            counters: outcome.counters.into(),
            wear: Wear {
                min: outcome.wear.min,
                mean: outcome.wear.mean,
                max: outcome.wear.max,
            },
            series: outcome
                .series
                .iter()
                .map(|stretch| Point {
                    drive_writes: stretch.drive_writes,
                    warm_up: stretch.warm_up,
                    write_amplification: stretch.write_amplification(),
                    counters: stretch.counters.into(),
                })
                .collect(),
        }
    }

    /// Builds the page of the result.
    pub fn page(&self) -> Page {
        let mut page = Page {
            about: vec!["simulated".to_owned()],
            ..Page::new("A bare drive", self.sentence())
        };
        page.push(self.chart());
        let wear = format!(
            "blocks were erased {} to {} times, {} on average, since power-on",
            self.wear.min,
            self.wear.max,
            number(self.wear.mean)
        );
        page.push(Facts::of([
            ("theory", self.describe_theory()),
            ("drive", self.describe_drive()),
            ("counted", self.describe_counters()),
            ("wear", wear),
        ]));
        page
    }

    fn sentence(&self) -> String {
        let (asked, drive) = (&self.asked, &self.drive);
        let found = match self.write_amplification {
            Some(found) => format!("Write amplification is {found:.3}"),
            None => "Nothing was written".to_owned(),
        };
        let trims = if asked.trim_share > 0.0 {
            format!(", {} of the requests trims", percent(asked.trim_share))
        } else {
            String::new()
        };
        format!(
            "{found} on a bare drive with {}, {} a block, {} collection, {} writes{trims}.",
            spare(asked.over_provisioning, drive.over_provisioning),
            count(drive.pages_per_block, "page"),
            asked.policy,
            asked.workload
        )
    }

    fn describe_theory(&self) -> String {
        let Some(theory) = &self.theory else {
            return self.no_theory.unwrap_or_default().to_owned();
        };
        let difference = theory.difference.map_or(String::new(), |difference| {
            format!("; simulated {:+.2} %", 100.0 * difference)
        });
        let expected = theory.write_amplification;
        format!("{expected:.3}, {}{difference}", theory.formula)
    }

    fn describe_drive(&self) -> String {
        format!(
            "{} logical pages in {} data blocks of {}; frontiers and free blocks come on top; {} at \
             power-on, seed {}",
            grouped(self.drive.logical_pages),
            grouped(self.drive.data_blocks.into()),
            grouped(self.drive.pages_per_block.into()),
            self.asked.power_on,
            self.asked.seed
        )
    }

    fn describe_counters(&self) -> String {
        let counters = &self.counters;
        #[allow(clippy::cast_precision_loss)] // a ratio
        let passes = number(self.asked.warm_up_pages as f64 / self.drive.logical_pages as f64);
        let plural = if passes == "1" { "" } else { "s" };
        format!(
            "{} pages written, {} moved, {} trimmed, {} blocks erased, after {passes} drive \
             write{plural} of warm-up",
            grouped(counters.host_pages),
            grouped(counters.moved_pages),
            grouped(counters.trimmed_pages),
            grouped(counters.erased_blocks),
        )
    }

    fn chart(&self) -> LineChart {
        let points = self.series.iter();
        let points: Vec<(f64, f64)> = points
            .filter_map(|point| Some((point.drive_writes, point.write_amplification?)))
            .collect();
        let mut curves = vec![Curve::line("simulated", points.clone())];
        if let Some(theory) = &self.theory {
            let expected = theory.write_amplification;
            curves.push(Curve::line(
                format!("theory, in the long run ({expected:.3})"),
                points.iter().map(|point| (point.0, expected)),
            ));
        }
        LineChart {
            title: "Write amplification".to_owned(),
            x: Axis::new("drive writes since power-on", Scale::Number),
            y_label: "write amplification".to_owned(),
            y_from: Some(1.0),
            curves,
            ..LineChart::default()
        }
    }
}
