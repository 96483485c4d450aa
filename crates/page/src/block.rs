//! The content model of a page.

use crate::chart::{BarChart, HeatGrid, LineChart};

/// A command's output, ready to be rendered; the most important thing comes first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// The heading of a standalone page and the title of its window. Not shown on a terminal.
    pub title: String,
    /// The answer, in one or two sentences.
    pub lead: String,
    /// The style of the lead.
    pub tone: Tone,
    /// Provenance: source, time, version. Shown dimmed.
    pub about: Vec<String>,
    /// Caveats to read before relying on the answer.
    pub cautions: Vec<String>,
    /// The rest of the page.
    pub blocks: Vec<Block>,
}

/// A block of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(Text),
    /// A list of sentences or names, one below the other.
    List(List),
    /// Labelled facts.
    Facts(Facts),
    /// Rows and columns.
    Table(Table),
    /// A line chart over time or another axis, with marks and job runs.
    Lines(LineChart),
    /// A bar chart in panels.
    Bars(BarChart),
    /// A heat map of values by two settings.
    Heat(HeatGrid),
    /// A tree, such as a stack of devices.
    Tree(Tree),
    /// A finding: what is wrong, why it matters and how to fix it.
    Finding(Finding),
    /// Commands to copy.
    Commands(Commands),
    /// Blocks under a heading.
    Section(Section),
}

/// How text is styled; without colours the words alone must carry the meaning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// Normal text.
    #[default]
    Plain,
    /// Emphasised.
    Strong,
    /// Dimmed.
    Dim,
    /// In the style of a finding of this level.
    Level(Level),
}

/// A paragraph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    /// The text of the paragraph.
    pub text: String,
    /// Its style.
    pub tone: Tone,
}

/// A list under a title.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct List {
    /// The title; may be empty.
    pub title: String,
    /// One sentence or name per item.
    pub items: Vec<String>,
}

/// Labelled facts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The label and the value of each.
    pub rows: Vec<(String, String)>,
}

/// A table. On a narrow screen its rows are stacked, each cell after the name of its column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// The title; may be empty.
    pub title: String,
    /// Column names and alignment. The first column names the row.
    pub columns: Vec<Column>,
    /// One cell per column.
    pub rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The heading; it may be broken at a blank.
    pub name: String,
    /// The alignment of its cells.
    pub align: Align,
}

/// How cells are aligned within their column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Left, for words.
    Left,
    /// Right, for numbers.
    Right,
}

/// A cell of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// The text of the cell.
    pub text: String,
    /// The id of the section that the cell links to.
    pub section: Option<String>,
    /// The file that the cell links to, below the folder of the page.
    pub file: Option<String>,
}

/// A tree, such as a stack of devices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// The title; may be empty.
    pub title: String,
    /// The root nodes.
    pub nodes: Vec<Node>,
}

/// A node of a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// What it is: name and description.
    pub text: String,
    /// Its properties, shown in a second column.
    pub note: String,
    /// A label that flags the node: `TRIM001`.
    pub mark: String,
    /// The severity of that label.
    pub level: Option<Level>,
    /// Its child nodes.
    pub below: Vec<Node>,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Good to know.
    Note,
    /// Will cause harm.
    Warning,
    /// Is causing harm.
    Error,
}

impl Level {
    /// Returns the level's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its severity.
    pub level: Level,
    /// The id of the rule that found it.
    pub rule: String,
    /// What is wrong, in one sentence.
    pub title: String,
    /// What the finding is about, unless its place on the page makes that clear; may be empty.
    pub subject: String,
    /// Why it matters.
    pub why: String,
    /// Ways to fix it, best first.
    pub fixes: Vec<Fix>,
    /// The evidence for it.
    pub evidence: Vec<Evidence>,
}

/// A way to fix a finding.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fix {
    /// What to do.
    pub text: String,
    /// The commands to run.
    pub command: Option<String>,
    /// What could go wrong.
    pub risk: Option<String>,
    /// How to undo it, as a sentence.
    pub undo: Option<String>,
    /// The commands that undo it.
    pub undo_command: Option<String>,
}

/// A value that was read, and its source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The source: a path or a command.
    pub source: String,
    /// The value found there.
    pub value: String,
}

/// Commands to copy verbatim; never wrapped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commands {
    /// The title; may be empty.
    pub title: String,
    /// One or more lines.
    pub lines: String,
}

/// Blocks under a heading.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Section {
    /// The target of links to this section; empty if there are none.
    pub id: String,
    /// The heading.
    pub title: String,
    /// A short remark, right-aligned in the heading on a terminal.
    pub aside: String,
    /// Whether a browser shows only the heading until it is opened.
    pub is_folded: bool,
    /// The content of the section.
    pub blocks: Vec<Block>,
}

impl Page {
    /// Creates a page whose lead is emphasised.
    pub fn new(title: impl Into<String>, lead: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            lead: lead.into(),
            tone: Tone::Strong,
            ..Self::default()
        }
    }

    /// Appends a block.
    pub fn push(&mut self, block: impl Into<Block>) {
        self.blocks.push(block.into());
    }

    /// Appends blocks.
    pub fn extend(&mut self, blocks: impl IntoIterator<Item = impl Into<Block>>) {
        self.blocks.extend(blocks.into_iter().map(Into::into));
    }
}

impl Section {
    /// Creates an empty section.
    pub fn new(title: impl Into<String>) -> Self {
        Self::with_aside(title, "")
    }

    /// Creates an empty section with a remark beside its heading.
    pub fn with_aside(title: impl Into<String>, aside: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            aside: aside.into(),
            ..Self::default()
        }
    }

    /// Appends a block.
    pub fn push(&mut self, block: impl Into<Block>) {
        self.blocks.push(block.into());
    }

    /// Appends blocks.
    pub fn extend(&mut self, blocks: impl IntoIterator<Item = impl Into<Block>>) {
        self.blocks.extend(blocks.into_iter().map(Into::into));
    }
}

impl Text {
    /// Creates a paragraph with a given tone.
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self {
            text: text.into(),
            tone,
        }
    }
}

impl Block {
    /// Creates a paragraph.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text::new(text, Tone::Plain))
    }

    /// Creates a dimmed paragraph.
    pub fn aside(text: impl Into<String>) -> Self {
        Self::Text(Text::new(text, Tone::Dim))
    }
}

impl List {
    /// Creates a list under a title, which may be empty.
    pub fn new(
        title: impl Into<String>,
        items: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            title: title.into(),
            items: items.into_iter().map(Into::into).collect(),
        }
    }
}

impl Facts {
    /// Creates facts of labels and values.
    pub fn of<L: Into<String>, V: Into<String>>(rows: impl IntoIterator<Item = (L, V)>) -> Self {
        let mut facts = Self::default();
        for (label, value) in rows {
            facts.push(label, value);
        }
        facts
    }

    /// Appends a fact.
    pub fn push(&mut self, label: impl Into<String>, value: impl Into<String>) {
        self.rows.push((label.into(), value.into()));
    }

    /// Appends a fact for each value, of which there may be none.
    pub fn push_each(&mut self, label: &str, values: impl IntoIterator<Item = impl Into<String>>) {
        for value in values {
            self.push(label, value);
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl Commands {
    /// Creates commands under a title, which may be empty.
    pub fn new(title: impl Into<String>, lines: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            lines: lines.into(),
        }
    }
}

impl Column {
    pub(crate) fn new(name: impl Into<String>, align: Align) -> Self {
        Self {
            name: name.into(),
            align,
        }
    }
}

impl Table {
    /// Creates a table without rows. Columns whose name begins with `<` are left-aligned, for words; the
    /// others are right-aligned, for numbers.
    pub fn new(columns: &[&str]) -> Self {
        let column = |name: &&str| match name.strip_prefix('<') {
            Some(name) => Column::new(name, Align::Left),
            None => Column::new(*name, Align::Right),
        };
        Self {
            columns: columns.iter().map(column).collect(),
            ..Self::default()
        }
    }

    /// Creates a table without rows under a title; for `columns` see [`Self::new`].
    pub fn titled(title: impl Into<String>, columns: &[&str]) -> Self {
        Self {
            title: title.into(),
            ..Self::new(columns)
        }
    }

    /// Appends a row of plain cells.
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
            ..Self::default()
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
    Facts(Facts),
    Table(Table),
    Lines(LineChart),
    Bars(BarChart),
    Heat(HeatGrid),
    Tree(Tree),
    Finding(Finding),
    Commands(Commands),
    Section(Section),
}
