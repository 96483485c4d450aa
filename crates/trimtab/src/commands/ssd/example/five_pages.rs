//! The drive of five pages, step by step.

use super::SOURCE;
use crate::answer::envelope;
use crate::commands::ssd::args::SsdFormat;
use crate::commands::ssd::document;
use crate::commands::ssd::html::{self, Part};
use crate::commands::ssd::numbers::fine;
use crate::commands::ssd::pages::{Step, Steps};
use crate::commands::ssd::table;
use crate::error::{CommandError, Kind};
use crate::output;
use flash::block_mapped::{Action, Cell, Counters, Entry, FIVE_PAGES, five_pages};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;

/// The drive of five pages, with and without the trim known.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FivePages {
    /// `five-pages`.
    #[schemars(extend("const" = "five-pages"))]
    kind: &'static str,
    /// One that does not hear of deletes, one that does.
    drives: Vec<FivePagesDrive>,
}

/// One of the drives.
#[derive(Debug, Serialize, JsonSchema)]
struct FivePagesDrive {
    /// The drive hears of deletes.
    trims: bool,
    /// What the last write stores.
    stored_bytes: u64,
    /// What was read for it.
    read_bytes: u64,
    /// What was programmed for it.
    written_bytes: u64,
    /// Programmed for that write by what it stores.
    write_amplification: f64,
    /// From the empty drive on.
    steps: Vec<FivePagesStep>,
}

/// What the drive did.
#[derive(Debug, Serialize, JsonSchema)]
struct FivePagesStep {
    /// What the host did.
    operation: String,
    /// What the drive did for it.
    step: String,
    /// The block after it.
    flash: String,
    /// The RAM buffer; null where it is not in use.
    buffer: Option<String>,
    /// Read from the flash until then.
    read_bytes: u64,
    /// Programmed until then.
    written_bytes: u64,
    /// Blocks erased until then.
    erased_blocks: u64,
    /// The block's pages.
    #[serde(skip)]
    flash_cells: Vec<Cell>,
    /// The buffer's.
    #[serde(skip)]
    buffer_cells: Option<Vec<Cell>>,
}

/// Runs it.
///
/// # Errors
/// When it could not run.
pub fn run(format: SsdFormat) -> Result<(), CommandError> {
    let drives = [false, true]
        .map(|trims| {
            let entries = five_pages(trims)
                .map_err(|error| CommandError::new(Kind::Environment, error.to_string()))?;
            Ok(five_pages_drive(trims, &entries))
        })
        .into_iter()
        .collect::<Result<Vec<_>, CommandError>>()?;
    let answer = FivePages {
        kind: "five-pages",
        drives,
    };
    match format {
        SsdFormat::Json => {
            let answer = document::Answer::FivePages(Box::new(answer));
            output::print(&envelope(SOURCE, answer)?.json())
        }
        SsdFormat::Html => output::print(&page(&answer)),
        SsdFormat::Csv => {
            let mut out = table::csv_line(&["trims", "operation", "step", "flash", "buffer"]);
            for drive in &answer.drives {
                for step in &drive.steps {
                    out += &table::csv_line(&[
                        drive.trims.to_string(),
                        step.operation.clone(),
                        step.step.clone(),
                        step.flash.clone(),
                        step.buffer.clone().unwrap_or_default(),
                    ]);
                }
            }
            output::print(&out)
        }
        SsdFormat::Text => output::print(&five_pages_text(&answer)),
    }
}

fn five_pages_drive(trims: bool, entries: &[Entry]) -> FivePagesDrive {
    let size = u64::from(FIVE_PAGES.page_bytes);
    let mut steps = Vec::new();
    let (mut read_bytes, mut written_bytes, mut erased_blocks) = (0, 0, 0);
    for entry in entries {
        let operation = entry.operation.to_string();
        if entry.steps.is_empty() {
            let flash: Vec<String> = entry.after.iter().map(ToString::to_string).collect();
            steps.push(FivePagesStep {
                operation,
                step: "the drive is not told".to_owned(),
                flash: flash.join(" "),
                buffer: None,
                read_bytes,
                written_bytes,
                erased_blocks,
                flash_cells: entry
                    .after
                    .iter()
                    .flat_map(|block| block.0.clone())
                    .collect(),
                buffer_cells: None,
            });
            continue;
        }
        for told in &entry.steps {
            match told.action {
                Action::Read => read_bytes += u64::from(told.pages) * size,
                Action::Program => written_bytes += u64::from(told.pages) * size,
                Action::Erase => erased_blocks += 1,
                Action::Merge | Action::Discard => {}
            }
            steps.push(FivePagesStep {
                operation: operation.clone(),
                step: told.text.clone(),
                flash: told.flash.to_string(),
                buffer: told.buffer.as_ref().map(ToString::to_string),
                read_bytes,
                written_bytes,
                erased_blocks,
                flash_cells: told.flash.0.clone(),
                buffer_cells: told.buffer.as_ref().map(|buffer| buffer.0.clone()),
            });
        }
    }
    let cost = entries
        .last()
        .map_or(Counters::default(), |entry| entry.cost);
    #[allow(clippy::cast_precision_loss)] // a ratio
    let write_amplification = cost.programmed_pages as f64 / cost.host_pages.max(1) as f64;
    FivePagesDrive {
        trims,
        stored_bytes: cost.host_pages * size,
        read_bytes: cost.read_pages * size,
        written_bytes: cost.programmed_pages * size,
        write_amplification,
        steps,
    }
}

/// Pages are of 4096 bytes, and the articles call them 4 KB.
fn kilobytes(bytes: u64) -> String {
    format!("{} KB", bytes / 1024)
}

impl FivePagesDrive {
    /// What the last write cost, in a sentence.
    fn cost(&self) -> String {
        format!(
            "To store {}, it read {} and wrote {}: write amplification {}.",
            kilobytes(self.stored_bytes),
            kilobytes(self.read_bytes),
            kilobytes(self.written_bytes),
            fine(Some(self.write_amplification))
        )
    }
}

fn five_pages_text(answer: &FivePages) -> String {
    let mut out = String::from(
        "A drive with one block of five pages of 4 KB left. Pages are programmed once and\n\
         erased by the block: [ A |(B)|-C-| . ] is data, data of a file that was deleted\n\
         without the drive's knowledge, data known to be unused, and an erased page.\n",
    );
    for drive in &answer.drives {
        out += if drive.trims {
            "\nThe drive is told of deletes (TRIM):\n"
        } else {
            "\nThe drive is not told of deletes:\n"
        };
        let mut before = "";
        for step in &drive.steps {
            if step.operation != before {
                let _ = writeln!(out, "  {}", step.operation);
                before = &step.operation;
            }
            let _ = writeln!(out, "    {:<50} {}", step.step, step.flash);
            if let Some(buffer) = &step.buffer {
                let _ = writeln!(out, "    {:>50} {buffer}", "buffer");
            }
        }
        let _ = writeln!(out, "  {}", drive.cost());
    }
    out
}

/// A page that loads nothing.
fn page(answer: &FivePages) -> String {
    let mut parts = Vec::new();
    for drive in &answer.drives {
        let told = if drive.trims {
            "The drive is told of deletes (TRIM)"
        } else {
            "The drive is not told of deletes"
        };
        parts.push(Part::Heading(told.to_owned()));
        parts.push(Part::Steps(Steps {
            caption: drive.cost(),
            counters: ["read so far", "written so far", "erased so far"]
                .map(str::to_owned)
                .to_vec(),
            rows: drive
                .steps
                .iter()
                .map(|step| Step {
                    operation: step.operation.clone(),
                    words: step.step.clone(),
                    flash: step.flash_cells.clone(),
                    buffer: step.buffer_cells.clone(),
                    counters: vec![
                        kilobytes(step.read_bytes),
                        kilobytes(step.written_bytes),
                        step.erased_blocks.to_string(),
                    ],
                })
                .collect(),
        }));
    }
    html::page(&html::Content {
        title: "Why a drive has to know what was deleted".to_owned(),
        label: "counted by the model".to_owned(),
        sentence: "A drive has one block of five pages of 4 KB left. Pages are programmed once and \
                   erased by the block: before that, all that the drive takes for data is read, also \
                   what the host has deleted without telling."
            .to_owned(),
        notes: Vec::new(),
        parts,
        rows: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps' sums are what the drive itself counted.
    #[test]
    fn steps_add_up_to_the_drives_counters() {
        for trims in [false, true] {
            let entries = five_pages(trims).unwrap();
            let drive = five_pages_drive(trims, &entries);
            let last = drive.steps.last().unwrap();
            let sum = |of: fn(&Counters) -> u64| entries.iter().map(|entry| of(&entry.cost)).sum();
            let size = u64::from(FIVE_PAGES.page_bytes);
            let (read, written, erased): (u64, u64, u64) = (
                sum(|cost| cost.read_pages),
                sum(|cost| cost.programmed_pages),
                sum(|cost| cost.erased_blocks),
            );
            assert_eq!(last.read_bytes, read * size);
            assert_eq!(last.written_bytes, written * size);
            assert_eq!(last.erased_blocks, erased);
            assert_eq!((read, written, erased), (if trims { 2 } else { 3 }, 8, 1));
        }
    }
}
