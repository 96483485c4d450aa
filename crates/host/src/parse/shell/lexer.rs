//! A tokenizer for shell text: unquoted words, operators, line breaks.
//!
//! Follows POSIX.1-2017, Shell Command Language, sections 2.2 (quoting), 2.3 (tokens), 2.6
//! (expansions) and 2.7 (redirections), plus bash's arrays. It is total: an unclosed quote ends
//! with the text. Time and memory are linear in the length of the text.

use super::words::{DELIMITER, Keep, Kind, Segment, Token, Word, is_name};
use std::borrow::Cow;

/// Longest first, so that the first match is the right one.
const OPERATORS: &[&str] = &[
    "<<<", "<<-", "&>>", ";;&", "&&", "||", ";;", ";&", "|&", "<<", ">>", "<&", ">&", "<>", ">|",
    "&>", "&", ";", "|", "(", ")", "<", ">",
];
/// If expansions nest deeper, the rest of the text is ignored.
const NESTING_MAX: usize = 40;

/// Whether a character separates words. Other white space does not, in both shells and systemd; a
/// carriage return at the end of a line is left by editors on other systems.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r')
}

/// Tokenizes shell text that starts at this line number.
pub(crate) fn shell(text: &str, first_line: usize) -> Vec<Token> {
    Lexer::new(text, first_line, true).tokens(false)
}

/// Tokenizes a command line that runs without a shell (`ExecStart=`, `argv[]=`): blanks separate
/// words, quotes and backslashes quote, `$NAME` is expanded, nothing else is special
/// (systemd.service(5)).
pub(crate) fn plain(text: &str) -> Vec<Token> {
    Lexer::new(text, 1, false).tokens(false)
}

/// Splits an `ExecStart=` into command lines: they are separated by semicolons that are separate
/// words (systemd.service(5)).
fn plain_commands(text: &str) -> Vec<&str> {
    let mut lexer = Lexer::new(text, 1, false);
    let mut commands = Vec::new();
    let mut from = 0;
    while let Some(token) = lexer.token() {
        if let Kind::Word(word) = token.kind
            && word.bare() == Some(";")
        {
            let command = &text[from..lexer.position];
            commands.push(command.strip_suffix(';').unwrap_or(command).trim());
            from = lexer.position;
        }
    }
    commands.push(text[from..].trim());
    commands
}

/// A command line of an `ExecStart=`.
pub(crate) struct ExecLine<'t> {
    /// The prefixes listed in systemd.service(5).
    pub prefix: &'t str,
    /// The program and its arguments, without what the program gets as argv[0] after an `@`.
    pub command: Cow<'t, str>,
}

/// Splits an `ExecStart=` like [`plain_commands`], and takes off the prefixes.
pub(crate) fn exec_lines(value: &str) -> impl Iterator<Item = ExecLine<'_>> {
    plain_commands(value).into_iter().map(|line| {
        let bare = line.trim_start_matches(['@', '-', ':', '+', '!', '|']);
        let prefix = &line[..line.len() - bare.len()];
        let command = if prefix.contains('@') {
            let mut words = bare.splitn(3, char::is_whitespace);
            let program = words.next().unwrap_or_default();
            format!("{program} {}", words.nth(1).unwrap_or_default()).into()
        } else {
            bare.into()
        };
        ExecLine { prefix, command }
    })
}

struct Lexer<'t> {
    text: &'t str,
    position: usize,
    line: usize,
    shell: bool,
    nesting: usize,
    /// Here-documents whose bodies follow the next line break: delimiter, and whether tabs are
    /// stripped.
    awaited: Vec<(String, bool)>,
}

impl<'t> Lexer<'t> {
    fn new(text: &'t str, line: usize, shell: bool) -> Self {
        Self {
            text,
            position: 0,
            line,
            shell,
            nesting: 0,
            awaited: Vec::new(),
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.position..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn looking_at(&self, prefix: &str) -> bool {
        self.rest().starts_with(prefix)
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.position += c.len_utf8();
        if c == '\n' {
            self.line += 1;
        }
        Some(c)
    }

    /// Advances to the end of the line, excluding the line break, and returns the skipped text.
    fn skip_to_line_end(&mut self) -> &'t str {
        let rest = self.rest();
        let passed = &rest[..rest.find('\n').unwrap_or(rest.len())];
        self.position += passed.len();
        passed
    }

    /// Reads tokens to the end of the text, or in a substitution up to and including its closing
    /// parenthesis.
    fn tokens(&mut self, is_nested: bool) -> Vec<Token> {
        let mut tokens = Vec::new();
        let mut open = 0_usize;
        while let Some(token) = self.token() {
            let ends_line = token.kind == Kind::Newline;
            if let Kind::Operator(operator) = &token.kind {
                match operator.as_str() {
                    "(" => open += 1,
                    ")" if open == 0 && is_nested => return tokens,
                    ")" => open = open.saturating_sub(1),
                    _ => {}
                }
            }
            tokens.push(token);
            if ends_line {
                for (delimiter, strip_tabs) in std::mem::take(&mut self.awaited) {
                    tokens.push(self.here_document(&delimiter, strip_tabs));
                }
            }
        }
        tokens
    }

    fn token(&mut self) -> Option<Token> {
        loop {
            let line = self.line;
            let token = |kind| {
                let keep = Keep::Nothing;
                Some(Token { kind, line, keep })
            };
            let c = self.peek()?;
            if self.looking_at("\\\n") {
                self.bump();
                self.bump();
            } else if c == '\n' {
                self.bump();
                if self.shell {
                    return token(Kind::Newline);
                }
            } else if is_blank(c) {
                self.bump();
            } else if self.shell && c == '#' {
                self.skip_to_line_end();
            } else if let Some(operator) = self.operator() {
                return token(Kind::Operator(operator));
            } else {
                let word = self.word();
                if self.shell
                    && let Some(digits) = word.bare()
                    && digits.chars().all(|c| c.is_ascii_digit())
                    && matches!(self.peek(), Some('<' | '>'))
                    && let Some(operator) = self.operator()
                {
                    return token(Kind::Operator(format!("{digits}{operator}")));
                }
                // A lone line continuation is not a word.
                if !word.segments.is_empty() {
                    return token(Kind::Word(word));
                }
            }
        }
    }

    fn operator(&mut self) -> Option<String> {
        if !self.shell || self.looking_at("<(") || self.looking_at(">(") {
            return None;
        }
        let operator = OPERATORS.iter().find(|o| self.looking_at(o))?;
        self.position += operator.len();
        if matches!(*operator, "<<" | "<<-")
            && let Some(delimiter) = self.delimiter()
        {
            self.awaited.push((delimiter, *operator == "<<-"));
            return Some(format!("{operator} {DELIMITER}"));
        }
        Some((*operator).to_owned())
    }

    /// Reads the delimiter of a here-document, unquoted. Nothing in it is expanded: `<<$END` ends
    /// at a line `$END`.
    fn delimiter(&mut self) -> Option<String> {
        while self.peek().is_some_and(is_blank) {
            self.bump();
        }
        let from = self.position;
        self.word();
        let raw = &self.text[from..self.position];
        (!raw.is_empty()).then(|| raw.replace("\\\n", "").replace(['\'', '"', '\\'], ""))
    }

    fn here_document(&mut self, delimiter: &str, strip_tabs: bool) -> Token {
        let line = self.line;
        let mut lines = 0;
        let mut is_closed = false;
        while !is_closed && self.peek().is_some() {
            let mut text = self.skip_to_line_end();
            text = text.strip_suffix('\r').unwrap_or(text);
            if strip_tabs {
                text = text.trim_start_matches('\t');
            }
            self.bump();
            is_closed = text == delimiter;
            lines += usize::from(!is_closed);
        }
        let kind = Kind::HereDocument { lines, is_closed };
        let keep = Keep::Nothing;
        Token { kind, line, keep }
    }

    fn word(&mut self) -> Word {
        let mut word = Word::default();
        while let Some(c) = self.peek() {
            match c {
                '\n' => break,
                c if is_blank(c) => break,
                '\'' => {
                    self.bump();
                    while let Some(c) = self.bump().filter(|&c| c != '\'') {
                        word.push(c, true);
                    }
                    word.push_empty();
                }
                '"' => {
                    self.bump();
                    self.double_quoted(&mut word);
                    word.push_empty();
                }
                '\\' => {
                    self.bump();
                    match self.bump() {
                        Some('\n') => {}
                        Some(next) => word.push(next, true),
                        None => word.push('\\', true),
                    }
                }
                '$' => self.dollar(&mut word, false),
                '`' if self.shell => self.backquoted(&mut word),
                '<' | '>' if self.shell && self.rest()[1..].starts_with('(') => {
                    self.bump();
                    self.substitution(&mut word);
                }
                // An array.
                '(' if self.shell && word.bare().is_some_and(|text| text.ends_with('=')) => {
                    self.opaque(&mut word, '(', ')');
                }
                '&' if self.shell && self.is_inside_url(&word) => {
                    self.bump();
                    word.push('&', false);
                }
                c if self.shell && ";&|()<>".contains(c) => break,
                c => {
                    self.bump();
                    word.push(c, false);
                }
            }
        }
        word
    }

    /// Whether this is within an unquoted URL such as `http://host/?a=b&c=d`: the shell would split
    /// it and run `c=d`, but the author did not mean that, and what follows may be a secret rather
    /// than a program.
    fn is_inside_url(&self, word: &Word) -> bool {
        !word.segments.is_empty()
            && self.rest()[1..]
                .chars()
                .next()
                .is_some_and(|next| !is_blank(next) && !"\n;&|()<>".contains(next))
    }

    fn double_quoted(&mut self, word: &mut Word) {
        while let Some(c) = self.peek() {
            match c {
                '"' => {
                    self.bump();
                    return;
                }
                '\\' => {
                    self.bump();
                    match self.bump() {
                        Some('\n') => {}
                        Some(next) if "$`\"\\".contains(next) => word.push(next, true),
                        Some(next) => {
                            word.push('\\', true);
                            word.push(next, true);
                        }
                        None => word.push('\\', true),
                    }
                }
                '$' => self.dollar(word, true),
                '`' if self.shell => self.backquoted(word),
                c => {
                    self.bump();
                    word.push(c, true);
                }
            }
        }
    }

    /// Reads an expansion, or a literal dollar sign.
    fn dollar(&mut self, word: &mut Word, quoted: bool) {
        self.bump();
        let rest = self.rest();
        let name_len = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        match self.peek() {
            Some('(') if self.shell && rest.starts_with("((") => self.arithmetic(word),
            Some('(') if self.shell => self.substitution(word),
            Some('{') => {
                let inner = &rest[1..];
                let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                let (name, after) = inner.split_at(end.unwrap_or(inner.len()));
                if is_name(name) && after.starts_with('}') {
                    self.position += name.len() + 2;
                    word.segments.push(Segment::Variable(name.to_owned()));
                } else {
                    self.opaque(word, '{', '}');
                }
            }
            Some('\'') if self.shell && !quoted => {
                self.bump();
                while let Some(c) = self.bump().filter(|&c| c != '\'') {
                    if c == '\\' {
                        self.bump();
                    }
                }
                word.segments.push(Segment::Opaque);
            }
            // Bash's translated string: the quote is handled next.
            Some('"') if self.shell && !quoted => {}
            Some(_) if is_name(&rest[..name_len]) => {
                self.position += name_len;
                let name = rest[..name_len].to_owned();
                word.segments.push(Segment::Variable(name));
            }
            Some(c) if self.shell && (c.is_ascii_digit() || "@*#?$!-".contains(c)) => {
                self.bump();
                word.segments.push(Segment::Opaque);
            }
            _ => word.push('$', quoted),
        }
    }

    /// Goes one nesting level deeper; if that is too deep, skips to the end of the text.
    fn enter(&mut self) {
        self.nesting += 1;
        if self.nesting > NESTING_MAX {
            self.position = self.text.len();
        }
    }

    /// Reads from the opening parenthesis of `$(`.
    fn substitution(&mut self, word: &mut Word) {
        self.bump();
        self.enter();
        let tokens = self.tokens(true);
        self.nesting -= 1;
        word.segments.push(Segment::Script(tokens));
    }

    /// Reads from the first opening parenthesis of `$((`.
    fn arithmetic(&mut self, word: &mut Word) {
        self.bump();
        self.bump();
        self.enter();
        let mut inner = Word::default();
        let mut open = 2_usize;
        while let Some(c) = self.peek() {
            match c {
                '$' => self.dollar(&mut inner, false),
                '`' => self.backquoted(&mut inner),
                _ => {
                    self.bump();
                    match c {
                        '"' => self.double_quoted(&mut inner),
                        '\\' if self.bump().is_some_and(|c| c != '\n') => {
                            inner.segments.push(Segment::Opaque);
                        }
                        '\\' => {}
                        '(' => {
                            open += 1;
                            inner.push(c, false);
                        }
                        ')' => {
                            open -= 1;
                            // The two that close it are none of what is inside.
                            if open > 1 || (open == 1 && self.peek() != Some(')')) {
                                inner.push(c, false);
                            }
                        }
                        _ => inner.push(c, false),
                    }
                }
            }
            if open == 0 {
                break;
            }
        }
        self.nesting -= 1;
        word.segments.push(Segment::Arithmetic(inner));
    }

    fn backquoted(&mut self, word: &mut Word) {
        self.bump();
        self.enter();
        let line = self.line;
        let mut text = String::new();
        while let Some(c) = self.bump().filter(|&c| c != '`') {
            match self.peek() {
                Some(next) if c == '\\' && "$`\\".contains(next) => {
                    self.bump();
                    text.push(next);
                }
                _ => text.push(c),
            }
        }
        let mut inner = Lexer::new(&text, line, true);
        inner.nesting = self.nesting;
        self.nesting -= 1;
        word.segments.push(Segment::Script(inner.tokens(false)));
    }

    /// Skips an expansion that is not parsed, from its opening delimiter to the matching closing
    /// one.
    fn opaque(&mut self, word: &mut Word, opens: char, closes: char) {
        self.enter();
        let mut unread = Word::default();
        let mut open = 0_usize;
        while let Some(c) = self.peek() {
            if c == '$' {
                self.dollar(&mut unread, true);
                continue;
            }
            self.bump();
            match c {
                '\\' => {
                    self.bump();
                }
                '"' => self.double_quoted(&mut unread),
                '\'' => while self.bump().is_some_and(|c| c != '\'') {},
                c if c == opens => open += 1,
                c if c == closes => open = open.saturating_sub(1),
                _ => {}
            }
            if open == 0 {
                break;
            }
        }
        self.nesting -= 1;
        word.segments.push(Segment::Opaque);
    }
}

#[cfg(test)]
mod tests;
