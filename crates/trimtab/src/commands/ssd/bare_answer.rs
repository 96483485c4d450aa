//! A bare drive's answer: JSON, text, comma-separated values, a page.

use super::bare::Setting;
use super::chart::{Chart, Curve};
use super::html::{self, Part};
use super::numbers::{amplification, digits, percent};
use super::spec::spare_words;
use super::{blockmap, table};
use crate::commands::trim::words::Page;
use flash::ftl::{Counters, Ftl, Timeless};
use report::{count, grouped};
use schemars::JsonSchema;
use serde::Serialize;

/// What a bare drive did.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DriveAnswer")]
pub struct Answer {
    /// `drive`.
    #[schemars(extend("const" = "drive"))]
    pub kind: &'static str,
    /// Pages programmed by page written, after the warm-up; null where nothing was written.
    pub write_amplification: Option<f64>,
    /// What a closed form says; null where there is none, or where it does not hold.
    pub theory: Option<Theory>,
    /// Why there is no theory; null where there is one.
    pub no_theory: Option<&'static str>,
    /// The drive as built.
    pub drive: DriveRow,
    /// What was asked of it.
    pub asked: Asked,
    /// What was counted after the warm-up.
    pub counters: CountersRow,
    /// How often blocks were erased since power-on.
    pub wear: Wear,
    /// Write amplification over the run, warm-up included.
    pub series: Vec<Point>,
}

/// A closed form's answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DriveTheory")]
pub struct Theory {
    /// Its write amplification.
    pub write_amplification: f64,
    /// Simulated over theory, less 1; null where nothing was written.
    pub difference: Option<f64>,
    /// Which formula, and whose.
    pub formula: &'static str,
}

/// A drive's shape.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DriveShape")]
pub struct DriveRow {
    /// Pages that the host can address.
    pub logical_pages: u64,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Blocks that hold data; frontiers and the free reserve come on top.
    pub data_blocks: u32,
    /// Spare pages by logical page, as built.
    pub over_provisioning: f64,
    /// Bytes of its tables.
    pub table_bytes: u64,
    /// Stands for all that the drive is in the end: the same call gives the same.
    pub digest: String,
}

/// What was asked.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DriveAsked")]
pub struct Asked {
    /// Spare area as asked.
    pub over_provisioning: f64,
    /// `greedy`, `fifo`, `d-choices:D`.
    pub policy: String,
    /// `uniform` ...
    pub workload: String,
    /// Share of requests that trim.
    pub trim_share: f64,
    /// Hot and cold writes had blocks of their own.
    pub streams: bool,
    /// Moved pages had blocks of their own.
    pub moved_apart: bool,
    /// `empty`, `filled`, `aged:P`.
    pub power_on: String,
    /// Seed.
    pub seed: u64,
    /// Pages written before anything was counted, at least.
    pub warm_up_pages: u64,
    /// Pages counted, at least.
    pub counted_pages: u64,
}

/// Counters of a drive.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "Counters")]
pub struct CountersRow {
    /// Written by the host.
    pub host_pages: u64,
    /// Moved by collection.
    pub moved_pages: u64,
    /// Mapped pages that a discard unmapped.
    pub trimmed_pages: u64,
    /// Erased.
    pub erased_blocks: u64,
}

impl From<Counters> for CountersRow {
    fn from(counters: Counters) -> Self {
        Self {
            host_pages: counters.host_pages,
            moved_pages: counters.moved_pages,
            trimmed_pages: counters.trimmed_pages,
            erased_blocks: counters.erased_blocks,
        }
    }
}

/// How often blocks were erased.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DriveWear")]
pub struct Wear {
    /// The least worn block.
    pub min: u32,
    /// On average.
    pub mean: f64,
    /// The most worn block.
    pub max: u32,
}

impl Wear {
    /// Of a drive.
    pub fn of(ftl: &Ftl<Timeless>) -> Self {
        let (mut min, mut max, mut sum, mut count) = (u32::MAX, 0, 0_u64, 0_u64);
        for block in ftl.blocks() {
            min = min.min(block.erased);
            max = max.max(block.erased);
            sum += u64::from(block.erased);
            count += 1;
        }
        #[allow(clippy::cast_precision_loss)] // a mean
        let mean = sum as f64 / count.max(1) as f64;
        Self { min, mean, max }
    }
}

/// Write amplification over a stretch of the run.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "DrivePoint")]
pub struct Point {
    /// Drive writes since power-on at its end.
    pub drive_writes: f64,
    /// Whether it belongs to the warm-up.
    pub warm_up: bool,
    /// Over the stretch; null where nothing was written.
    pub write_amplification: Option<f64>,
    /// What was done in the stretch.
    pub counters: CountersRow,
}

/// One sentence.
fn sentence(answer: &Answer) -> String {
    let (asked, drive) = (&answer.asked, &answer.drive);
    let found = match answer.write_amplification {
        Some(found) => format!("{found:.3}"),
        None => "unknown: nothing was written".to_owned(),
    };
    let trims = if asked.trim_share > 0.0 {
        format!(", {} of the requests trims", percent(asked.trim_share))
    } else {
        String::new()
    };
    format!(
        "Write amplification of a bare drive with {}, {} a block, {} collection, {} writes{trims}: \
         {found}.",
        spare_words(asked.over_provisioning, drive.over_provisioning),
        count(drive.pages_per_block, "page"),
        asked.policy,
        asked.workload
    )
}

fn theory_words(answer: &Answer) -> String {
    match &answer.theory {
        None => answer.no_theory.unwrap_or_default().to_owned(),
        Some(theory) => {
            let difference = theory.difference.map_or(String::new(), |difference| {
                format!("; simulated {:+.2} %", 100.0 * difference)
            });
            format!(
                "{:.3}, {}{difference}",
                theory.write_amplification, theory.formula
            )
        }
    }
}

fn chart(answer: &Answer) -> Chart {
    let points = answer
        .series
        .iter()
        .filter_map(|point| Some((point.drive_writes, point.write_amplification?)))
        .collect::<Vec<_>>();
    let mut curves = vec![Curve::line("simulated", points.clone())];
    if let (Some(theory), Some(last)) = (&answer.theory, points.last()) {
        let flat = points
            .iter()
            .map(|point| (point.0.min(last.0), theory.write_amplification));
        let name = format!(
            "theory, in the long run ({:.3})",
            theory.write_amplification
        );
        curves.push(Curve::line(name, flat.collect()));
    }
    Chart {
        title: "write amplification".to_owned(),
        x_label: "drive writes since power-on".to_owned(),
        curves,
        floor: 1.0,
        ..Chart::default()
    }
}

/// Text for a terminal.
pub fn text(answer: &Answer, columns: usize, unicode: bool) -> String {
    let mut page = Page::new(columns);
    page.head(&sentence(answer));
    page.row("theory", &theory_words(answer));
    page.row("drive", &drive_words(answer));
    let counters = &answer.counters;
    page.row(
        "counted",
        &format!(
            "{} pages written, {} moved, {} trimmed, {} blocks erased, after {} of warm-up",
            grouped(counters.host_pages),
            grouped(counters.moved_pages),
            grouped(counters.trimmed_pages),
            grouped(counters.erased_blocks),
            warm_up_passes(answer)
        ),
    );
    page.row(
        "wear",
        &format!(
            "blocks were erased {} to {} times, {} on average, since power-on",
            answer.wear.min,
            answer.wear.max,
            digits(answer.wear.mean)
        ),
    );
    page.blank();
    page.finish() + &chart(answer).text(columns, unicode)
}

#[allow(clippy::cast_precision_loss)] // a ratio
fn warm_up_passes(answer: &Answer) -> String {
    let passes = digits(answer.asked.warm_up_pages as f64 / answer.drive.logical_pages as f64);
    let plural = if passes == "1" { "" } else { "s" };
    format!("{passes} drive write{plural}")
}

fn drive_words(answer: &Answer) -> String {
    format!(
        "{} logical pages in {} data blocks of {}; frontiers and free blocks come on top; {} at \
         power-on, seed {}",
        grouped(answer.drive.logical_pages),
        grouped(answer.drive.data_blocks.into()),
        grouped(answer.drive.pages_per_block.into()),
        answer.asked.power_on,
        answer.asked.seed
    )
}

/// The series.
pub fn csv(answer: &Answer) -> String {
    let mut out = table::csv_line(&[
        "drive_writes",
        "warm_up",
        "write_amplification",
        "host_pages",
        "moved_pages",
        "trimmed_pages",
        "erased_blocks",
    ]);
    for point in &answer.series {
        out += &table::csv_line(&[
            point.drive_writes.to_string(),
            point.warm_up.to_string(),
            table::csv_number(point.write_amplification),
            point.counters.host_pages.to_string(),
            point.counters.moved_pages.to_string(),
            point.counters.trimmed_pages.to_string(),
            point.counters.erased_blocks.to_string(),
        ]);
    }
    out
}

/// A page that loads nothing.
pub fn page(setting: &Setting, answer: &Answer) -> String {
    let film = blockmap::of_pattern(setting);
    let summary = vec![
        (
            "Write amplification".to_owned(),
            answer
                .write_amplification
                .map_or_else(|| "unknown".to_owned(), amplification),
        ),
        ("Theory".to_owned(), theory_words(answer)),
        ("Drive".to_owned(), drive_words(answer)),
    ];
    html::page(&html::Content {
        title: "A bare drive".to_owned(),
        label: "simulated".to_owned(),
        sentence: sentence(answer),
        notes: Vec::new(),
        parts: vec![Part::Chart(chart(answer)), Part::Film(film)],
        rows: summary,
    })
}
