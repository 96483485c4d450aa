//! Files on the drive, and the article's example.

use std::collections::BTreeMap;
use std::fmt;

use thiserror::Error;

use super::{Action, BlockMapped, BlockMappedError, Counters, Page, Shape, Step};

/// A file operation of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Writes a new file into the lowest free pages, in one request.
    Write {
        /// The file name.
        file: String,
        /// Number of pages.
        pages: u32,
    },
    /// Overwrites all pages of a file, in one request.
    Overwrite {
        /// The file name.
        file: String,
    },
    /// Deletes a file: its pages become free for the host, but the drive knows only if the host
    /// trims.
    Delete {
        /// The file name.
        file: String,
    },
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write { file, pages } => write!(f, "write {file} ({})", page_count(*pages)),
            Self::Overwrite { file } => write!(f, "overwrite {file}"),
            Self::Delete { file } => write!(f, "delete {file}"),
        }
    }
}

/// Why an operation cannot be done; nothing is changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HostError {
    /// A file of that name exists.
    #[error("there is a file {0:?} already: delete or overwrite it")]
    Exists(String),
    /// There is no file of that name.
    #[error("no file {0:?}")]
    NotFound(String),
    /// A file without pages.
    #[error("file {0:?} of 0 pages, expected 1 or more")]
    Empty(String),
    /// Not enough free pages.
    #[error("file {file:?} of {pages} pages, but {free} are free")]
    Full {
        /// The file name.
        file: String,
        /// Pages needed.
        pages: u32,
        /// Free pages.
        free: u32,
    },
    /// The drive rejected the request.
    #[error(transparent)]
    Drive(#[from] BlockMappedError),
}

/// A page in a picture, as seen by host and drive together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// Can be programmed.
    Erased,
    /// Data of the named file.
    Data(String),
    /// Data of a file that the host deleted or rewrote elsewhere, which the drive still considers
    /// valid.
    Deleted(String),
    /// Data the drive knows to be unused.
    Discarded(String),
}

/// A row of pages, displayed as `[ A |(B)|-C-| . ]`: data, deleted but valid to the drive,
/// discarded, erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture(pub Vec<Cell>);

impl fmt::Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cell = |cell: &Cell| match cell {
            Cell::Erased => " . ".to_string(),
            Cell::Data(name) => format!(" {name} "),
            Cell::Deleted(name) => format!("({name})"),
            Cell::Discarded(name) => format!("-{name}-"),
        };
        let cells: Vec<String> = self.0.iter().map(cell).collect();
        write!(f, "[{}]", cells.join("|"))
    }
}

/// One step of an operation, described in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepReport {
    /// What was done.
    pub action: Action,
    /// Number of affected pages.
    pub pages: u32,
    /// A description, such as `read 3 pages (12 KB) into the buffer`.
    pub text: String,
    /// The block.
    pub block: u32,
    /// The block's pages after the step.
    pub flash: Picture,
    /// The buffer, if in use.
    pub buffer: Option<Picture>,
}

/// What the drive did for one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The operation.
    pub operation: Operation,
    /// The steps in order; empty if the drive was not involved.
    pub steps: Vec<StepReport>,
    /// Work done for this operation.
    pub cost: Counters,
    /// The whole drive afterwards, by block.
    pub after: Vec<Picture>,
}

#[derive(Debug, Clone)]
struct File {
    mark: u32,
    pages: Vec<u32>,
}

/// A host with files on a [`BlockMapped`] drive.
#[derive(Debug, Clone)]
pub struct Host {
    drive: BlockMapped,
    trims: bool,
    files: BTreeMap<String, File>,
    /// Whether each page is in use.
    used: Vec<bool>,
    /// File names by mark, including deleted files.
    names: Vec<String>,
}

impl Host {
    /// Creates a host on an erased drive; `trims` says whether it trims deleted files.
    ///
    /// # Errors
    /// [`HostError::Drive`] if the drive's shape is invalid.
    pub fn new(shape: Shape, trims: bool) -> Result<Self, HostError> {
        let drive = BlockMapped::new(shape)?;
        Ok(Self {
            used: vec![false; drive.pages() as usize],
            drive,
            trims,
            files: BTreeMap::new(),
            names: Vec::new(),
        })
    }

    /// The drive.
    pub fn drive(&self) -> &BlockMapped {
        &self.drive
    }

    /// The pages of a file, ascending.
    pub fn file(&self, name: &str) -> Option<&[u32]> {
        self.files.get(name).map(|file| file.pages.as_slice())
    }

    /// Performs an operation and describes what the drive did.
    ///
    /// # Errors
    /// [`HostError`] if the operation cannot be done; nothing is changed.
    pub fn apply(&mut self, operation: &Operation) -> Result<Entry, HostError> {
        let before = *self.drive.counters();
        let steps = match operation {
            Operation::Write { file, pages } => self.create(file, *pages)?,
            Operation::Overwrite { file } => {
                let found = self.files.get(file);
                let found = found.ok_or_else(|| HostError::NotFound(file.clone()))?;
                self.drive.write(&found.pages, found.mark)?
            }
            Operation::Delete { file } => {
                let found = self.files.remove(file);
                let found = found.ok_or_else(|| HostError::NotFound(file.clone()))?;
                for &page in &found.pages {
                    self.used[page as usize] = false;
                }
                if self.trims {
                    self.drive.discard(&found.pages)?
                } else {
                    Vec::new()
                }
            }
        };
        let blocks = 0..self.drive.shape().blocks;
        Ok(Entry {
            operation: operation.clone(),
            steps: steps.iter().map(|step| self.describe(step)).collect(),
            cost: self.drive.counters().since(&before),
            after: blocks
                .map(|b| self.picture(b, self.drive.block(b)))
                .collect(),
        })
    }

    fn create(&mut self, name: &str, pages: u32) -> Result<Vec<Step>, HostError> {
        if self.files.contains_key(name) {
            return Err(HostError::Exists(name.to_string()));
        }
        if pages == 0 {
            return Err(HostError::Empty(name.to_string()));
        }
        let free = (0..)
            .zip(&self.used)
            .filter(|(_, used)| !**used)
            .map(|(page, _)| page);
        let place: Vec<u32> = free.take(pages as usize).collect();
        let found = place.len() as u64;
        if found < u64::from(pages) {
            return Err(HostError::Full {
                file: name.to_string(),
                pages,
                #[allow(clippy::cast_possible_truncation)] // below `pages`
                free: found as u32,
            });
        }
        #[allow(clippy::cast_possible_truncation)] // one mark per file created
        let mark = self.names.len() as u32;
        let steps = self.drive.write(&place, mark)?;
        self.names.push(name.to_string());
        for &page in &place {
            self.used[page as usize] = true;
        }
        let file = File { mark, pages: place };
        self.files.insert(name.to_string(), file);
        Ok(steps)
    }

    fn describe(&self, step: &Step) -> StepReport {
        #[allow(clippy::cast_possible_truncation)] // at most the pages of a block
        let pages = step.pages.len() as u32;
        let amount = format!("{} ({})", page_count(pages), self.size(pages));
        let text = match step.action {
            Action::Read => format!("read {amount} into the buffer"),
            Action::Merge => format!("put {amount} of the request into the buffer"),
            Action::Erase => "erase the block".to_string(),
            Action::Program => format!("program {amount}"),
            Action::Discard => format!(
                "learn that {amount} {} unused",
                if pages == 1 { "is" } else { "are" }
            ),
        };
        StepReport {
            action: step.action,
            pages,
            text,
            block: step.block,
            flash: self.picture(step.block, &step.flash),
            buffer: step
                .buffer
                .as_ref()
                .map(|buffer| self.picture(step.block, buffer)),
        }
    }

    fn picture(&self, block: u32, pages: &[Page]) -> Picture {
        let first = block * self.drive.shape().pages_per_block;
        let name = |mark: u32| self.names[mark as usize].clone();
        let cell = |(page, content): (u32, &Page)| match *content {
            Page::Erased => Cell::Erased,
            Page::Discarded(mark) => Cell::Discarded(name(mark)),
            Page::Valid(mark) => {
                let file = self.files.get(&self.names[mark as usize]);
                let in_use =
                    file.is_some_and(|f| f.mark == mark && f.pages.binary_search(&page).is_ok());
                if in_use {
                    Cell::Data(name(mark))
                } else {
                    Cell::Deleted(name(mark))
                }
            }
        };
        Picture((first..).zip(pages).map(cell).collect())
    }

    /// Formats a size as `12 KB`, with 1,024 bytes per KB as in the articles.
    fn size(&self, pages: u32) -> String {
        let bytes = u64::from(pages) * u64::from(self.drive.shape().page_bytes);
        if bytes % 1024 == 0 {
            format!("{} KB", bytes / 1024)
        } else {
            format!("{bytes} B")
        }
    }
}

fn page_count(pages: u32) -> String {
    match pages {
        1 => "1 page".to_string(),
        _ => format!("{pages} pages"),
    }
}

/// The article's drive, reduced to one block of five pages of 4 KB.
pub const FIVE_PAGES: Shape = Shape {
    page_bytes: 4096,
    pages_per_block: 5,
    blocks: 1,
};

/// Runs the article's example step by step: A (1 page), B (2 pages), A deleted, C (3 pages).
/// `trims` says whether the drive is told of the deletion.
///
/// # Errors
/// Never in practice; the steps' [`HostError`] is passed on.
pub fn five_pages(trims: bool) -> Result<Vec<Entry>, HostError> {
    let write = |file: &str, pages| Operation::Write {
        file: file.to_string(),
        pages,
    };
    let mut host = Host::new(FIVE_PAGES, trims)?;
    [
        write("A", 1),
        write("B", 2),
        Operation::Delete {
            file: "A".to_string(),
        },
        write("C", 3),
    ]
    .iter()
    .map(|operation| host.apply(operation))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(entries: &[Entry]) -> String {
        let mut text = String::new();
        for entry in entries {
            text += &entry.operation.to_string();
            text += "\n";
            for step in &entry.steps {
                text.extend(["  ", &step.text, ": ", &step.flash.to_string()]);
                if let Some(buffer) = &step.buffer {
                    text.extend([" buffer ", &buffer.to_string()]);
                }
                text += "\n";
            }
        }
        text
    }

    #[test]
    fn the_articles_example_step_by_step() -> Result<(), HostError> {
        assert_eq!(
            render(&five_pages(false)?),
            "\
write A (1 page)
  program 1 page (4 KB): [ A | . | . | . | . ]
write B (2 pages)
  program 2 pages (8 KB): [ A | B | B | . | . ]
delete A
write C (3 pages)
  read 3 pages (12 KB) into the buffer: [(A)| B | B | . | . ] buffer [(A)| B | B | . | . ]
  put 3 pages (12 KB) of the request into the buffer: [(A)| B | B | . | . ] buffer [ C | B | B | C | C ]
  erase the block: [ . | . | . | . | . ] buffer [ C | B | B | C | C ]
  program 5 pages (20 KB): [ C | B | B | C | C ]
"
        );
        assert_eq!(
            render(&five_pages(true)?[2..]),
            "\
delete A
  learn that 1 page (4 KB) is unused: [-A-| B | B | . | . ]
write C (3 pages)
  read 2 pages (8 KB) into the buffer: [-A-| B | B | . | . ] buffer [ . | B | B | . | . ]
  put 3 pages (12 KB) of the request into the buffer: [-A-| B | B | . | . ] buffer [ C | B | B | C | C ]
  erase the block: [ . | . | . | . | . ] buffer [ C | B | B | C | C ]
  program 5 pages (20 KB): [ C | B | B | C | C ]
"
        );
        Ok(())
    }

    #[test]
    fn impossible_operations_change_nothing() -> Result<(), HostError> {
        let mut host = Host::new(FIVE_PAGES, true)?;
        let file = |name: &str| name.to_string();
        host.apply(&Operation::Write {
            file: file("A"),
            pages: 3,
        })?;
        let before = host.drive.counters().since(&Counters::default());
        for (operation, error) in [
            (
                Operation::Write {
                    file: file("A"),
                    pages: 1,
                },
                "there is a file \"A\" already: delete or overwrite it",
            ),
            (
                Operation::Write {
                    file: file("B"),
                    pages: 3,
                },
                "file \"B\" of 3 pages, but 2 are free",
            ),
            (
                Operation::Write {
                    file: file("B"),
                    pages: 0,
                },
                "file \"B\" of 0 pages, expected 1 or more",
            ),
            (Operation::Delete { file: file("B") }, "no file \"B\""),
            (Operation::Overwrite { file: file("B") }, "no file \"B\""),
        ] {
            let found = host.apply(&operation).expect_err("refused");
            assert_eq!(found.to_string(), error);
        }
        assert_eq!(*host.drive.counters(), before);
        assert_eq!(host.file("A"), Some(&[0, 1, 2][..]));
        Ok(())
    }

    /// Reusing a name creates a new file; the pages of the first one are deleted.
    #[test]
    fn a_reused_file_name() -> Result<(), HostError> {
        let mut host = Host::new(FIVE_PAGES, false)?;
        let write = |pages| Operation::Write {
            file: "A".to_string(),
            pages,
        };
        host.apply(&write(4))?;
        host.apply(&Operation::Delete {
            file: "A".to_string(),
        })?;
        let entry = host.apply(&write(1))?;
        assert_eq!(entry.after[0].to_string(), "[ A |(A)|(A)|(A)| . ]");
        Ok(())
    }
}
