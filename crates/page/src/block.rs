//! What a page consists of.

use crate::chart::{BarChart, HeatGrid, LineChart};

/// An answer, ready to be shown: the most important thing first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// The heading of a page of its own, and the name of its window. A terminal does not show it.
    pub title: String,
    /// The answer in one or two sentences.
    pub lead: String,
    /// How the lead looks.
    pub tone: Tone,
    /// What the answer is about: source, time, version. Subdued.
    pub about: Vec<String>,
    /// What a reader has to know before the answer is relied on.
    pub cautions: Vec<String>,
    /// Everything else.
    pub blocks: Vec<Block>,
}

/// A piece of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(Text),
    /// Sentences or names below each other.
    List(List),
    /// Labelled facts: what is known, and its value.
    Facts(Vec<(String, String)>),
    /// Rows and columns.
    Table(Table),
    /// Curves over time or another axis, with marks and runs of jobs.
    Lines(LineChart),
    /// Bars in panels.
    Bars(BarChart),
    /// Values by two settings, shaded.
    Heat(HeatGrid),
    /// What lies below what.
    Tree(Tree),
    /// What was found, why it matters and how it is fixed.
    Finding(Finding),
    /// Commands to be copied.
    Commands(Commands),
    /// Blocks below a heading.
    Section(Section),
}

/// How a text looks; without colours the words alone have to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// As any other.
    #[default]
    Plain,
    /// Stands out.
    Strong,
    /// Stands back.
    Dim,
    /// As a finding of this level.
    Level(Level),
}

/// A paragraph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    /// Its words.
    pub text: String,
    /// How it looks.
    pub tone: Tone,
}

/// A list below a title.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct List {
    /// What the items are; may be empty.
    pub title: String,
    /// One sentence or name each.
    pub items: Vec<String>,
}

/// A table. On a narrow screen its rows become stacked, each cell behind the name of its column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// What it shows; may be empty.
    pub title: String,
    /// Names and alignment. The first column names the row.
    pub columns: Vec<Column>,
    /// A cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its heading; a line break may be taken at a blank.
    pub name: String,
    /// Where its cells stand.
    pub align: Align,
}

/// Where cells stand in their column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A cell of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// What stands in it.
    pub text: String,
    /// The id of the section that it leads to.
    pub section: Option<String>,
}

/// What lies below what: a stack of devices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// What it shows; may be empty.
    pub title: String,
    /// The nodes at the top.
    pub nodes: Vec<Node>,
}

/// A node of a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// Its name, and what it is.
    pub text: String,
    /// What is true of it, in a column of its own.
    pub note: String,
    /// What stands out about it: `TRIM001`.
    pub mark: String,
    /// How severe that is.
    pub level: Option<Level>,
    /// What lies below it.
    pub below: Vec<Node>,
}

/// How severe a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Worth knowing.
    Note,
    /// Will do harm.
    Warning,
    /// Does harm.
    Error,
}

impl Level {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How severe it is.
    pub level: Level,
    /// The id of the rule that found it.
    pub rule: String,
    /// What it is, in one sentence.
    pub title: String,
    /// What it is about, where the place of the finding does not say so; may be empty.
    pub subject: String,
    /// Why it matters.
    pub why: String,
    /// How it is fixed, the best way first.
    pub fixes: Vec<Fix>,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
}

/// A way to fix what was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fix {
    /// What to do.
    pub text: String,
    /// The commands that do it.
    pub command: Option<String>,
    /// What may go wrong.
    pub risk: Option<String>,
    /// How to take it back: a sentence.
    pub undo: Option<String>,
    /// The commands that take it back.
    pub undo_command: Option<String>,
}

/// Something that was read, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Where it stands: a path, a command.
    pub source: String,
    /// What stands there.
    pub value: String,
}

/// Commands to be copied, as they are; never wrapped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commands {
    /// What they do; may be empty.
    pub title: String,
    /// One or more lines.
    pub lines: String,
}

/// Blocks below a heading.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Section {
    /// By which links find it; empty where none leads here.
    pub id: String,
    /// The heading.
    pub title: String,
    /// A word on it, at the right end of the heading on a terminal.
    pub aside: String,
    /// What stands below.
    pub blocks: Vec<Block>,
}

impl Page {
    /// Adds a block.
    pub fn push(&mut self, block: impl Into<Block>) {
        self.blocks.push(block.into());
    }
}

impl Section {
    /// An empty section.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }

    /// Adds a block.
    pub fn push(&mut self, block: impl Into<Block>) {
        self.blocks.push(block.into());
    }
}

impl Text {
    /// A paragraph in a tone.
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self {
            text: text.into(),
            tone,
        }
    }
}

impl Block {
    /// A paragraph.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text::new(text, Tone::Plain))
    }

    /// A paragraph that stands back.
    pub fn aside(text: impl Into<String>) -> Self {
        Self::Text(Text::new(text, Tone::Dim))
    }
}

impl Table {
    /// A table without rows. A column whose name begins with `<` holds words, any other numbers.
    pub fn new(columns: &[&str]) -> Self {
        let column = |name: &&str| match name.strip_prefix('<') {
            Some(name) => Column {
                name: name.to_owned(),
                align: Align::Left,
            },
            None => Column {
                name: (*name).to_owned(),
                align: Align::Right,
            },
        };
        Self {
            columns: columns.iter().map(column).collect(),
            ..Self::default()
        }
    }

    /// Adds a row of plain cells.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(
            cells
                .into_iter()
                .map(|cell| Cell::from(cell.into()))
                .collect(),
        );
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            text,
            section: None,
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

macro_rules! block_from {
    ($($kind:ident($content:ty),)*) => {
        $(impl From<$content> for Block {
            fn from(content: $content) -> Self {
                Self::$kind(content)
            }
        })*
    };
}

block_from! {
    Text(Text),
    List(List),
    Table(Table),
    Lines(LineChart),
    Bars(BarChart),
    Heat(HeatGrid),
    Tree(Tree),
    Finding(Finding),
    Commands(Commands),
    Section(Section),
}
