//! The five-page drive step by step, with and without TRIM.

use super::figures::amplification_cell;
use flash::block_mapped::{Action, Counters, Entry, FIVE_PAGES};
use page::{Block, Page, Section, Table};
use schemars::JsonSchema;
use serde::Serialize;

/// The five-page drive with and without TRIM.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FivePages {
    /// `five-pages`.
    #[schemars(extend("const" = "five-pages"))]
    kind: &'static str,
    /// One drive without TRIM, one with it.
    drives: Vec<FivePagesDrive>,
}

/// One of the drives.
#[derive(Debug, Serialize, JsonSchema)]
struct FivePagesDrive {
    /// Whether the drive is told about deletes.
    trims: bool,
    /// Bytes that the last write stores.
    stored_bytes: u64,
    /// Bytes read for it.
    read_bytes: u64,
    /// Bytes programmed for it.
    written_bytes: u64,
    /// Bytes programmed for that write per byte stored.
    write_amplification: f64,
    /// Steps, starting from the empty drive.
    steps: Vec<FivePagesStep>,
}

/// One step of the drive.
#[derive(Debug, Serialize, JsonSchema)]
struct FivePagesStep {
    /// The host's operation.
    operation: String,
    /// What the drive did for it.
    step: String,
    /// Content of the block afterwards.
    flash: String,
    /// Content of the RAM buffer; null if it is not in use.
    buffer: Option<String>,
    /// Bytes read from flash so far.
    read_bytes: u64,
    /// Bytes programmed so far.
    written_bytes: u64,
    /// Blocks erased so far.
    erased_blocks: u64,
}

/// Pages have 4096 bytes, which the articles call 4 KB.
fn kilobytes(bytes: u64) -> String {
    format!("{} KB", bytes / 1024)
}

impl FivePages {
    /// Builds the result from the steps of both drives: without and with TRIM.
    pub fn of(without_trim: &[Entry], with_trim: &[Entry]) -> Self {
        Self {
            kind: "five-pages",
            drives: vec![
                FivePagesDrive::of(false, without_trim),
                FivePagesDrive::of(true, with_trim),
            ],
        }
    }

    /// Builds the page; a brief one leaves the running totals to the JSON document.
    pub fn page(&self, brief: bool) -> Page {
        let costs: Vec<String> = self.drives.iter().map(FivePagesDrive::cost).collect();
        let title = "Why a drive has to know what was deleted";
        let mut page = Page {
            about: vec!["counted by the model".to_owned()],
            ..Page::new(title, costs.join(" "))
        };
        page.push(Block::text(
            "A drive has one free block left, with five pages of 4 KB. A page is programmed once, and \
             only whole blocks are erased. Before an erase, the drive reads every page that it still \
             considers valid, including data that the host deleted without telling it.",
        ));
        page.push(Block::text(
            "In a block such as `[ A |(B)|-C-| . ]`, A is data, (B) data of a file that was deleted \
             without the drive's knowledge, -C- data known to be unused, and . an erased page.",
        ));
        page.extend(self.drives.iter().map(|drive| drive.section(brief)));
        page
    }
}

impl FivePagesDrive {
    fn of(trims: bool, entries: &[Entry]) -> Self {
        let size = u64::from(FIVE_PAGES.page_bytes);
        let mut steps = Vec::new();
        let (mut read_bytes, mut written_bytes, mut erased_blocks) = (0, 0, 0);
        for entry in entries {
            let mut add = |step: &str, flash: String, buffer: Option<String>, costs| {
                let (read_bytes, written_bytes, erased_blocks) = costs;
                steps.push(FivePagesStep {
                    operation: entry.operation.to_string(),
                    step: step.to_owned(),
                    flash,
                    buffer,
                    read_bytes,
                    written_bytes,
                    erased_blocks,
                });
            };
            if entry.steps.is_empty() {
                let flash: Vec<String> = entry.after.iter().map(ToString::to_string).collect();
                let costs = (read_bytes, written_bytes, erased_blocks);
                add("the drive is not told", flash.join(" "), None, costs);
            }
            for step in &entry.steps {
                match step.action {
                    Action::Read => read_bytes += u64::from(step.pages) * size,
                    Action::Program => written_bytes += u64::from(step.pages) * size,
                    Action::Erase => erased_blocks += 1,
                    Action::Merge | Action::Discard => {}
                }
                let buffer = step.buffer.as_ref().map(ToString::to_string);
                let costs = (read_bytes, written_bytes, erased_blocks);
                add(&step.text, step.flash.to_string(), buffer, costs);
            }
        }
        let cost = entries
            .last()
            .map_or(Counters::default(), |entry| entry.cost);
        #[allow(clippy::cast_precision_loss)] // a ratio
        let write_amplification = cost.programmed_pages as f64 / cost.host_pages.max(1) as f64;
        Self {
            trims,
            stored_bytes: cost.host_pages * size,
            read_bytes: cost.read_pages * size,
            written_bytes: cost.programmed_pages * size,
            write_amplification,
            steps,
        }
    }

    /// Describes what the last write cost.
    fn cost(&self) -> String {
        format!(
            "To store {}, a drive that is {} of deletes reads {} and writes {}: write amplification {}.",
            kilobytes(self.stored_bytes),
            if self.trims { "told" } else { "not told" },
            kilobytes(self.read_bytes),
            kilobytes(self.written_bytes),
            amplification_cell(Some(self.write_amplification))
        )
    }

    fn section(&self, brief: bool) -> Section {
        let mut section = Section::new(if self.trims {
            "The drive is told of deletes (TRIM)"
        } else {
            "The drive is not told of deletes"
        });
        let mut columns = vec!["<step", "<block", "<buffer"];
        if !brief {
            columns.extend(["read so far", "written so far", "erased so far"]);
        }
        let mut table = Table::new(&columns);
        let mut before = "";
        for step in &self.steps {
            if step.operation != before {
                let mut row = vec![format!("{}:", step.operation)];
                row.resize(columns.len(), String::new());
                table.row(row);
                before = &step.operation;
            }
            let picture = |block: &str| {
                if brief {
                    block.to_owned()
                } else {
                    format!("`{block}`")
                }
            };
            let buffer = step.buffer.as_deref();
            let mut row = vec![
                format!("- {}", step.step),
                picture(&step.flash),
                buffer.map_or(String::new(), picture),
            ];
            if !brief {
                row.extend([
                    kilobytes(step.read_bytes),
                    kilobytes(step.written_bytes),
                    step.erased_blocks.to_string(),
                ]);
            }
            table.row(row);
        }
        section.push(table);
        section
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flash::block_mapped::five_pages;

    /// The steps add up to the drive's own counters.
    #[test]
    fn steps_add_up_to_drive_counters() {
        for trims in [false, true] {
            let entries = five_pages(trims).unwrap();
            let drive = FivePagesDrive::of(trims, &entries);
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
