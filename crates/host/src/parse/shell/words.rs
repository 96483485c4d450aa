//! The words and operators of shell text.

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    /// Literal text. Quoted text cannot be a keyword, an operator or an assignment.
    Literal {
        /// The unquoted text.
        text: String,
        /// Whether it was in quotes or after a backslash.
        quoted: bool,
    },
    /// `$NAME` or `${NAME}`.
    Variable(String),
    /// The commands of a command or process substitution.
    Script(Vec<Token>),
    /// `$((...))`: what is inside, quotes removed, as one word.
    Arithmetic(Word),
    /// Any other expansion: `${NAME:-...}`, `$1`, `$'...'`, an array.
    Opaque,
}

/// One word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Word {
    /// Its parts; adjacent literals with the same quoting are merged.
    pub segments: Vec<Segment>,
}

/// Kind of token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A word.
    Word(Word),
    /// An operator; for redirections with the preceding file descriptor, for a here-document with
    /// [`DELIMITER`] instead of its own.
    Operator(String),
    /// A line break.
    Newline,
    /// The body of a here-document.
    HereDocument {
        /// Number of lines in the body.
        lines: usize,
        /// Whether it ends with the delimiter rather than at the end of the text.
        is_closed: bool,
    },
}

/// A token and the line it starts on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// Its kind.
    pub kind: Kind,
    /// 1-based line number.
    pub line: usize,
    /// What the filter may keep of a word: nothing, until the script parser decides.
    pub keep: Keep,
}

/// What may be kept of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The whole word.
    Whole,
    /// Only that there is a word.
    Nothing,
    /// Only that it is an option.
    Dash,
    /// This many bytes at the start of its first literal: `--user=`, `NAME=`.
    Prefix(usize),
    /// It is a nested script (`sh -c WORD`).
    Script(Vec<Token>),
}

/// Replaces the delimiter of every here-document.
pub(crate) const DELIMITER: &str = "EOF";

impl Word {
    /// Returns the text of a word without expansions.
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

    /// Returns the text of a word without quoting or expansions, as needed for keywords.
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

    /// Returns the name before `=` or `+=` if the word is an assignment, and the length of the name
    /// and the operator.
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

    /// Returns the word as the text of a script (`sh -c WORD`): one level of quoting removed,
    /// variables unchanged. Commands in it are parsed as in any word.
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
                Segment::Script(_) | Segment::Arithmetic(_) | Segment::Opaque => script.push('…'),
            }
        }
        script
    }

    /// Calls `f` with the commands of each substitution, those within arithmetic included.
    pub fn for_scripts(&self, f: &mut impl FnMut(&Segment)) {
        for segment in &self.segments {
            match segment {
                Segment::Script(_) => f(segment),
                Segment::Arithmetic(inner) => inner.for_scripts(f),
                _ => {}
            }
        }
    }

    /// As [`Self::for_scripts`], to change them.
    pub fn for_scripts_mut(&mut self, f: &mut impl FnMut(&mut Vec<Token>)) {
        for segment in &mut self.segments {
            match segment {
                Segment::Script(tokens) => f(tokens),
                Segment::Arithmetic(inner) => inner.for_scripts_mut(f),
                _ => {}
            }
        }
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

    /// Adds an empty quoted string, which makes a word of its own.
    pub(super) fn push_empty(&mut self) {
        if self.segments.is_empty() {
            self.segments.push(Segment::Literal {
                text: String::new(),
                quoted: true,
            });
        }
    }
}

/// Whether this is a valid name for a shell variable or function.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
