//! A tokenizer for shell text: words with their quoting undone, operators, line ends.
//!
//! Follows POSIX.1-2017, Shell Command Language, sections 2.2 (quoting), 2.3 (tokens), 2.6
//! (expansions) and 2.7 (redirections), with bash's arrays and `$'...'`. It is total: a quote that
//! is never closed ends with the text. Work and memory are linear in the text.

use super::words::{Kind, Segment, Token, Word, is_here_document, is_name};

/// Longest first, so that the first match is the right one.
const OPERATORS: &[&str] = &[
    "<<<", "<<-", "&>>", ";;&", "&&", "||", ";;", ";&", "|&", "<<", ">>", "<&", ">&", "<>", ">|",
    "&>", "&", ";", "|", "(", ")", "<", ">",
];
/// Deeper nesting of quotes and parentheses inside one substitution is no longer followed.
const NESTING_MAX: usize = 200;

/// What separates words. Other white space does not, to shells and systemd alike; a carriage return
/// is what an editor on another system left at the end of a line.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r')
}

/// The tokens of shell text whose first line has this number.
pub(crate) fn shell(text: &str, first_line: usize) -> Vec<Token> {
    let mut lexer = Lexer {
        text,
        position: 0,
        line: first_line,
        shell: true,
    };
    let mut tokens: Vec<Token> = Vec::new();
    // Here-documents whose bodies follow the next line end: delimiter, tabs stripped.
    let mut awaited: Vec<(String, bool)> = Vec::new();
    let mut from = 0;
    while let Some(mut token) = lexer.token() {
        let ended = token.kind == Kind::Newline;
        if let (Kind::Word(word), Some(before)) = (&mut token.kind, tokens.last())
            && let Kind::Operator(operator) = &before.kind
            && is_here_document(operator)
        {
            let delimiter = unquoted(text[from..lexer.position].trim_start());
            // Nothing in it is expanded: `<<$END` ends at a line `$END`.
            word.segments = vec![Segment::Literal {
                text: delimiter.clone(),
                quoted: true,
            }];
            awaited.push((delimiter, operator.ends_with('-')));
        }
        from = lexer.position;
        tokens.push(token);
        if ended {
            for (delimiter, strip_tabs) in awaited.drain(..) {
                tokens.push(lexer.here_document(&delimiter, strip_tabs));
            }
        }
    }
    tokens
}

/// A word as it is written, without the signs that quote.
fn unquoted(raw: &str) -> String {
    raw.replace("\\\n", "").replace(['\'', '"', '\\'], "")
}

/// The command lines of an `ExecStart=`: lone semicolons separate them (systemd.service(5)).
pub(crate) fn plain_commands(text: &str) -> Vec<&str> {
    let mut lexer = Lexer {
        text,
        position: 0,
        line: 1,
        shell: false,
    };
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

/// The words of a command line that no shell reads (`ExecStart=`, `argv[]=`): blanks separate,
/// quotes and backslashes quote, `$NAME` is expanded, nothing else is special (systemd.service(5)).
pub(crate) fn plain(text: &str) -> Vec<Word> {
    let mut lexer = Lexer {
        text,
        position: 0,
        line: 1,
        shell: false,
    };
    std::iter::from_fn(|| lexer.token())
        .filter_map(|token| match token.kind {
            Kind::Word(word) => Some(word),
            _ => None,
        })
        .collect()
}

struct Lexer<'t> {
    text: &'t str,
    position: usize,
    line: usize,
    shell: bool,
}

impl<'t> Lexer<'t> {
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

    /// Moves on to the end of the line, the line end excluded, and gives what was passed.
    fn skip_to_line_end(&mut self) -> &'t str {
        let rest = self.rest();
        let passed = &rest[..rest.find('\n').unwrap_or(rest.len())];
        self.position += passed.len();
        passed
    }

    fn token(&mut self) -> Option<Token> {
        loop {
            let line = self.line;
            let token = |kind| Some(Token { kind, line });
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
                // A word of nothing but a line continuation is none.
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
        Some((*operator).to_owned())
    }

    fn word(&mut self) -> Word {
        let mut word = Word::default();
        while let Some(c) = self.peek() {
            match c {
                '\n' => break,
                c if is_blank(c) => break,
                '\'' => {
                    self.bump();
                    self.single_quoted(&mut word);
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
                '<' | '>' if self.shell && self.operator_starts_substitution() => {
                    self.bump();
                    self.substitution(&mut word);
                }
                '(' if self.shell && ends_with_sign(&word) => {
                    self.bump();
                    self.skip_nested(Nest::Expression);
                    word.segments.push(Segment::Opaque);
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

    fn operator_starts_substitution(&self) -> bool {
        self.rest()[1..].starts_with('(')
    }

    /// `http://host/?a=b&c=d` without quotes: the shell would take it apart and run `c=d`, but who
    /// wrote it did not mean that, and what follows may be a secret, not a program.
    fn is_inside_url(&self, word: &Word) -> bool {
        !word.segments.is_empty()
            && self.rest()[1..]
                .chars()
                .next()
                .is_some_and(|next| !is_blank(next) && !"\n;&|()<>".contains(next))
    }

    fn single_quoted(&mut self, word: &mut Word) {
        while let Some(c) = self.bump() {
            if c == '\'' {
                return;
            }
            word.push(c, true);
        }
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

    /// An expansion, or a dollar sign that is none.
    fn dollar(&mut self, word: &mut Word, quoted: bool) {
        self.bump();
        let rest = self.rest();
        let name_len = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        match self.peek() {
            Some('(') if self.shell && rest.starts_with("((") => {
                self.bump();
                self.skip_nested(Nest::Expression);
                word.segments.push(Segment::Opaque);
            }
            Some('(') if self.shell => self.substitution(word),
            Some('{') => {
                self.bump();
                let inner = self.skip_nested(Nest::Brace);
                word.segments.push(if is_name(inner) {
                    Segment::Variable(inner.to_owned())
                } else {
                    Segment::Opaque
                });
            }
            Some('\'') if self.shell && !quoted => {
                self.bump();
                word.push_empty();
                while let Some(c) = self.bump() {
                    match c {
                        '\'' => break,
                        '\\' => word.push(self.bump().unwrap_or('\\'), true),
                        c => word.push(c, true),
                    }
                }
            }
            // Bash's translated string: the quote itself does the rest.
            Some('"') if self.shell && !quoted => {}
            Some(_) if is_name(&rest[..name_len]) => {
                self.position += name_len;
                word.segments
                    .push(Segment::Variable(rest[..name_len].to_owned()));
            }
            Some(c) if self.shell && (c.is_ascii_digit() || "@*#?$!-".contains(c)) => {
                self.bump();
                word.segments.push(Segment::Opaque);
            }
            _ => word.push('$', quoted),
        }
    }

    /// From the opening parenthesis of `$(`.
    fn substitution(&mut self, word: &mut Word) {
        self.bump();
        let line = self.line;
        let text = self.skip_balanced().to_owned();
        word.segments.push(Segment::Script { text, line });
    }

    fn backquoted(&mut self, word: &mut Word) {
        self.bump();
        let line = self.line;
        let mut text = String::new();
        while let Some(c) = self.bump() {
            match c {
                '`' => break,
                '\\' => match self.bump() {
                    Some(next) if "$`\\".contains(next) => text.push(next),
                    Some(next) => {
                        text.push('\\');
                        text.push(next);
                    }
                    None => text.push('\\'),
                },
                c => text.push(c),
            }
        }
        word.segments.push(Segment::Script { text, line });
    }

    /// What stands before the closing parenthesis, which is passed.
    fn skip_balanced(&mut self) -> &'t str {
        self.skip_nested(Nest::Parenthesis)
    }

    fn skip_nested(&mut self, outer: Nest) -> &'t str {
        let start = self.position;
        let mut open = vec![outer];
        let mut awaited: Vec<(String, bool)> = Vec::new();
        let mut at_word_start = true;
        while let Some(&inside) = open.last() {
            let end = self.position;
            let Some(c) = self.bump() else {
                return &self.text[start..];
            };
            let mut enter = |nest| {
                if open.len() < NESTING_MAX {
                    open.push(nest);
                }
            };
            match (inside, c) {
                (_, '\\') => {
                    self.bump();
                }
                (Nest::Parenthesis | Nest::Expression, ')')
                | (Nest::Brace, '}')
                | (Nest::Quote, '"') => {
                    open.pop();
                    if open.is_empty() {
                        return &self.text[start..end];
                    }
                }
                (Nest::Parenthesis | Nest::Expression | Nest::Brace, '"') => enter(Nest::Quote),
                (Nest::Parenthesis | Nest::Expression | Nest::Brace, '\'') => {
                    while self.bump().is_some_and(|c| c != '\'') {}
                }
                (Nest::Parenthesis | Nest::Expression, '(') => enter(inside),
                (_, '$') if self.looking_at("(") => {
                    self.bump();
                    enter(Nest::Parenthesis);
                }
                (_, '$') if self.looking_at("{") => {
                    self.bump();
                    enter(Nest::Brace);
                }
                (Nest::Parenthesis, '#') if at_word_start => {
                    self.skip_to_line_end();
                }
                (Nest::Parenthesis, '<') if outer == Nest::Parenthesis && self.looking_at("<<") => {
                    self.position += 2;
                }
                (Nest::Parenthesis, '<') if outer == Nest::Parenthesis && self.looking_at("<") => {
                    self.bump();
                    let strip_tabs = self.looking_at("-");
                    if strip_tabs {
                        self.bump();
                    }
                    awaited.push((self.delimiter(), strip_tabs));
                }
                (Nest::Parenthesis, '\n') => {
                    for (delimiter, strip_tabs) in awaited.drain(..) {
                        self.here_document(&delimiter, strip_tabs);
                    }
                }
                _ => {}
            }
            at_word_start = is_blank(c) || "\n;&|(".contains(c);
        }
        &self.text[start..self.position]
    }

    /// The delimiter after `<<`, quoting undone.
    fn delimiter(&mut self) -> String {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.bump();
        }
        let from = self.position;
        while let Some(c) = self.peek()
            && !is_blank(c)
            && !"\n;&|()<>".contains(c)
        {
            self.bump();
            match c {
                '\'' | '"' => while self.bump().is_some_and(|next| next != c) {},
                '\\' => {
                    self.bump();
                }
                _ => {}
            }
        }
        unquoted(&self.text[from..self.position])
    }

    fn here_document(&mut self, delimiter: &str, strip_tabs: bool) -> Token {
        let line = self.line;
        let mut lines = 0;
        while self.peek().is_some() {
            let text = self.skip_to_line_end();
            let text = text.strip_suffix('\r').unwrap_or(text);
            let text = if strip_tabs {
                text.trim_start_matches('\t')
            } else {
                text
            };
            self.bump();
            if text == delimiter {
                let delimiter = Some(delimiter.to_owned());
                let kind = Kind::HereDocument { lines, delimiter };
                return Token { kind, line };
            }
            lines += 1;
        }
        let kind = Kind::HereDocument {
            lines,
            delimiter: None,
        };
        Token { kind, line }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nest {
    /// Commands.
    Parenthesis,
    /// An array or arithmetic, where `<<` is no here-document and `#` no comment.
    Expression,
    Brace,
    Quote,
}

/// `NAME=` or `NAME+=` so far: a parenthesis that follows begins an array.
fn ends_with_sign(word: &Word) -> bool {
    word.bare().is_some_and(|text| text.ends_with('='))
}

#[cfg(test)]
mod tests;
