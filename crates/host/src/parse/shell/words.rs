//! The words and operators that shell text is made of.

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    /// Text; `quoted` keeps it from being a keyword, an operator or an assignment.
    Literal {
        /// The text, quoting undone.
        text: String,
        /// Whether it stood in quotes or behind a backslash.
        quoted: bool,
    },
    /// `$NAME` or `${NAME}`.
    Variable(String),
    /// The commands of a command or process substitution.
    Script(Vec<Token>),
    /// Any other expansion: `$((...))`, `${NAME:-...}`, `$1`, `$'...'`, an array.
    Opaque,
}

/// One word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Word {
    /// Its pieces; neighbouring literals of the same quoting are one.
    pub segments: Vec<Segment>,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A word.
    Word(Word),
    /// An operator, for redirections with the file descriptor before it; that of a here-document
    /// with [`DELIMITER`] for its own.
    Operator(String),
    /// The end of a line.
    Newline,
    /// The body of a here-document.
    HereDocument {
        /// Lines of the body.
        lines: usize,
        /// Whether the delimiter follows, and not the end of the text.
        is_closed: bool,
    },
}

/// A token and the line it begins on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// What it is.
    pub kind: Kind,
    /// 1-based line.
    pub line: usize,
    /// What of a word the filter may keep. Nothing, until the reader of scripts knows better.
    pub keep: Keep,
}

/// What of a word may be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Keep {
    /// All of it.
    Whole,
    /// That it is there.
    Nothing,
    /// That it is an option.
    Dash,
    /// The first bytes of its first literal: `--user=`, `NAME=`.
    Prefix(usize),
    /// It is a script of its own (`sh -c WORD`).
    Script(Vec<Token>),
}

/// What stands for the delimiter of any here-document.
pub(crate) const DELIMITER: &str = "EOF";

impl Word {
    /// The text of a word without expansions.
    pub fn text(&self) -> Option<String> {
        let mut whole = String::new();
        for segment in &self.segments {
            let Segment::Literal { text, .. } = segment else {
                return None;
            };
            whole.push_str(text);
        }
        Some(whole)
    }

    /// The text of a word that nothing in it is quoted or expanded: what keywords are made of.
    pub fn bare(&self) -> Option<&str> {
        match self.segments.as_slice() {
            [
                Segment::Literal {
                    text,
                    quoted: false,
                },
            ] => Some(text),
            _ => None,
        }
    }

    /// The name before `=` or `+=`, where the word is an assignment, and the length of name and sign.
    pub fn assigned_name(&self) -> Option<(&str, usize)> {
        let Some(Segment::Literal {
            text,
            quoted: false,
        }) = self.segments.first()
        else {
            return None;
        };
        let (before, _) = text.split_once('=')?;
        let name = before.strip_suffix('+').unwrap_or(before);
        is_name(name).then_some((name, before.len() + 1))
    }

    /// The word as the text of a script (`sh -c WORD`): quoting undone once, variables as they were.
    /// Commands in it are read as those of any word.
    pub fn script_text(&self) -> String {
        let mut script = String::new();
        for segment in &self.segments {
            match segment {
                Segment::Literal { text, .. } => script.push_str(text),
                Segment::Variable(name) => {
                    script.push_str("${");
                    script.push_str(name);
                    script.push('}');
                }
                Segment::Script(_) | Segment::Opaque => script.push('…'),
            }
        }
        script
    }

    pub(super) fn push(&mut self, c: char, quoted: bool) {
        if let Some(Segment::Literal {
            text,
            quoted: known,
        }) = self.segments.last_mut()
            && *known == quoted
        {
            text.push(c);
        } else {
            self.segments.push(Segment::Literal {
                text: c.to_string(),
                quoted,
            });
        }
    }

    /// Marks an empty quoted string, which is a word of its own.
    pub(super) fn push_empty(&mut self) {
        if self.segments.is_empty() {
            self.segments.push(Segment::Literal {
                text: String::new(),
                quoted: true,
            });
        }
    }
}

/// Whether this is the name of a shell variable or function.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
