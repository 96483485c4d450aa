//! The structure of a shell script: lists, pipelines, compound commands (POSIX.1-2017, Shell
//! Command Language, section 2.9). A script that does not fit the grammar still gives a tree: what
//! stands at a wrong place is passed over, and nesting is bounded.

use super::words::{Kind, Token, Word, is_here_document, is_name, is_redirection};

/// Part of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    /// Words up to an operator: indices of tokens.
    Simple(Vec<usize>),
    /// `a && b || c`: each with whether it is run on success (`&&`).
    AndOr(Box<Node>, Vec<(bool, Node)>),
    /// `! a | b`.
    Pipeline {
        /// Behind an exclamation mark.
        negated: bool,
        /// The commands.
        parts: Vec<Node>,
    },
    /// `{ list; }` or `( list )`.
    Group {
        /// The commands.
        list: Vec<Node>,
        /// In parentheses: `exit` leaves the group only.
        subshell: bool,
    },
    /// `if`, each condition with what it guards.
    If {
        /// Condition and body.
        arms: Vec<(Vec<Node>, Vec<Node>)>,
        /// After `else`.
        otherwise: Vec<Node>,
    },
    /// Commands that run under conditions that are not followed: condition and body of a loop, the
    /// arms of a `case`, the body of a function.
    Maybe {
        /// The name of the function.
        function: Option<String>,
        /// The commands.
        lists: Vec<Vec<Node>>,
    },
}

/// What a word is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A word of a simple command.
    Command,
    /// A keyword, an operator, a line end.
    Structure,
    /// The name of a function or of a loop's variable.
    Name,
    /// A pattern, a loop's list, the subject of a `case`.
    Data,
    /// The file of a redirection.
    File,
    /// The delimiter of a here-document.
    Delimiter,
}

/// A script taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Syntax {
    /// Its tokens.
    pub tokens: Vec<Token>,
    /// What each token is there for.
    pub roles: Vec<Role>,
    /// Its commands in order.
    pub nodes: Vec<Node>,
}

/// Deeper nesting is passed over.
const DEPTH_MAX: usize = 40;
/// Keywords that end a list.
const CLOSERS: &[&str] = &["then", "else", "elif", "fi", "do", "done", "esac", "}"];

impl Syntax {
    /// Takes tokens apart.
    pub fn new(tokens: Vec<Token>) -> Self {
        let roles = vec![Role::Structure; tokens.len()];
        let mut parser = Parser {
            tokens: &tokens,
            roles,
            position: 0,
            depth: 0,
        };
        let mut nodes = Vec::new();
        while parser.position < tokens.len() {
            nodes.extend(parser.list());
            // A closer that nothing opened.
            parser.position += 1;
        }
        let roles = parser.roles;
        Self {
            tokens,
            roles,
            nodes,
        }
    }

    /// The word at this index; an empty one where there is none.
    pub fn words<'s>(&'s self, indices: &[usize]) -> Vec<&'s Word> {
        indices
            .iter()
            .filter_map(|&index| match &self.tokens.get(index)?.kind {
                Kind::Word(word) => Some(word),
                _ => None,
            })
            .collect()
    }
}

struct Parser<'t> {
    tokens: &'t [Token],
    roles: Vec<Role>,
    position: usize,
    depth: usize,
}

impl Parser<'_> {
    fn operator(&self) -> Option<&str> {
        match &self.tokens.get(self.position)?.kind {
            Kind::Operator(operator) => Some(operator),
            _ => None,
        }
    }

    fn is_operator(&self, text: &str) -> bool {
        self.operator() == Some(text)
    }

    fn bare(&self) -> Option<&str> {
        match &self.tokens.get(self.position)?.kind {
            Kind::Word(word) => word.bare(),
            _ => None,
        }
    }

    fn is_word(&self) -> bool {
        matches!(
            self.tokens.get(self.position).map(|token| &token.kind),
            Some(Kind::Word(_))
        )
    }

    fn is_line_end(&self) -> bool {
        matches!(
            self.tokens.get(self.position).map(|token| &token.kind),
            Some(Kind::Newline | Kind::HereDocument { .. })
        )
    }

    fn take(&mut self, role: Role) {
        if let Some(known) = self.roles.get_mut(self.position) {
            *known = role;
        }
        self.position += 1;
    }

    /// Passes a keyword if it stands here.
    fn pass(&mut self, keyword: &str) -> bool {
        let here = self.bare() == Some(keyword);
        if here {
            self.take(Role::Structure);
        }
        here
    }

    fn skip_line_ends(&mut self) {
        while self.is_line_end() {
            self.position += 1;
        }
    }

    fn at_closer(&self) -> bool {
        self.bare().is_some_and(|word| CLOSERS.contains(&word))
            || self
                .operator()
                .is_some_and(|o| matches!(o, ")" | ";;" | ";&" | ";;&"))
    }

    /// Commands up to a closer or the end.
    fn list(&mut self) -> Vec<Node> {
        let mut nodes = Vec::new();
        loop {
            while self.is_line_end() || self.is_operator(";") || self.is_operator("&") {
                self.position += 1;
            }
            if self.position >= self.tokens.len() || self.at_closer() {
                return nodes;
            }
            let before = self.position;
            nodes.extend(self.and_or());
            if self.position == before {
                self.position += 1;
            }
        }
    }

    fn and_or(&mut self) -> Option<Node> {
        let first = self.pipeline();
        let mut rest = Vec::new();
        while self.is_operator("&&") || self.is_operator("||") {
            let on_success = self.is_operator("&&");
            self.position += 1;
            self.skip_line_ends();
            if let Some(node) = self.pipeline() {
                rest.push((on_success, node));
            }
        }
        match (first, rest.is_empty()) {
            (Some(first), false) => Some(Node::AndOr(Box::new(first), rest)),
            (None, false) => Some(Node::AndOr(Box::new(Node::Simple(Vec::new())), rest)),
            (first, true) => first,
        }
    }

    fn pipeline(&mut self) -> Option<Node> {
        let mut negated = false;
        while self.pass("!") {
            negated = !negated;
        }
        let mut parts: Vec<Node> = self.command().into_iter().collect();
        while self.is_operator("|") || self.is_operator("|&") {
            self.position += 1;
            self.skip_line_ends();
            parts.extend(self.command());
        }
        if parts.len() == 1 && !negated {
            return parts.pop();
        }
        (!parts.is_empty()).then_some(Node::Pipeline { negated, parts })
    }

    fn command(&mut self) -> Option<Node> {
        if self.at_closer() {
            return None;
        }
        if self.depth >= DEPTH_MAX {
            // Flat from here on: openers are passed over, and what they enclose is in sequence.
            let opens = self.is_operator("(")
                || self.bare().is_some_and(|word| {
                    matches!(
                        word,
                        "{" | "if" | "while" | "until" | "for" | "case" | "select" | "function"
                    )
                });
            if opens {
                self.take(Role::Structure);
                return None;
            }
            return self.simple();
        }
        self.depth += 1;
        let node = self.compound();
        self.depth -= 1;
        node
    }

    fn compound(&mut self) -> Option<Node> {
        if self.is_operator("(") {
            self.position += 1;
            let list = self.list();
            if self.is_operator(")") {
                self.position += 1;
            }
            self.redirections();
            return Some(Node::Group {
                list,
                subshell: true,
            });
        }
        let node = match self.bare() {
            Some("{") => {
                self.take(Role::Structure);
                let list = self.list();
                self.pass("}");
                Node::Group {
                    list,
                    subshell: false,
                }
            }
            Some("if") => self.conditional(),
            Some("while" | "until") => {
                self.take(Role::Structure);
                let condition = self.list();
                let lists = vec![condition, self.loop_body()];
                Node::Maybe {
                    function: None,
                    lists,
                }
            }
            Some("for" | "select") => {
                self.take(Role::Structure);
                self.loop_header();
                let lists = vec![self.loop_body()];
                Node::Maybe {
                    function: None,
                    lists,
                }
            }
            Some("case") => self.case(),
            Some("function") => {
                self.take(Role::Structure);
                let name = self.bare().unwrap_or_default().to_owned();
                self.take(Role::Name);
                return self.function_body(name);
            }
            Some("[[") => return Some(self.double_bracket()),
            Some(name) if is_function_name(name) && self.parentheses_follow() => {
                let name = name.to_owned();
                self.take(Role::Name);
                return self.function_body(name);
            }
            _ => return self.simple(),
        };
        self.redirections();
        Some(node)
    }

    fn parentheses_follow(&self) -> bool {
        let operator_at = |offset: usize, text: &str| {
            matches!(self.tokens.get(self.position + offset).map(|t| &t.kind),
                Some(Kind::Operator(operator)) if operator == text)
        };
        operator_at(1, "(") && operator_at(2, ")")
    }

    fn function_body(&mut self, name: String) -> Option<Node> {
        if self.is_operator("(") {
            self.position += 1;
            if self.is_operator(")") {
                self.position += 1;
            }
        }
        self.skip_line_ends();
        Some(Node::Maybe {
            lists: vec![vec![self.command()?]],
            function: Some(name),
        })
    }

    fn conditional(&mut self) -> Node {
        let mut arms = Vec::new();
        let mut otherwise = Vec::new();
        self.take(Role::Structure);
        loop {
            let condition = self.list();
            self.pass("then");
            arms.push((condition, self.list()));
            if self.pass("elif") {
                continue;
            }
            if self.pass("else") {
                otherwise = self.list();
            }
            self.pass("fi");
            return Node::If { arms, otherwise };
        }
    }

    /// What stands between `for` and `do`.
    fn loop_header(&mut self) {
        if self.is_word() {
            self.take(Role::Name);
        }
        self.skip_line_ends();
        self.pass("in");
        // Parentheses and semicolons: bash's arithmetic `for ((;;))`.
        while self.position < self.tokens.len() && !self.is_line_end() && self.bare() != Some("do")
        {
            self.take(Role::Data);
        }
        while self.is_line_end() || self.is_operator(";") {
            self.position += 1;
        }
    }

    fn loop_body(&mut self) -> Vec<Node> {
        // Bash also takes braces.
        if !self.pass("do") && self.bare() != Some("{") {
            return Vec::new();
        }
        if self.bare() == Some("{") {
            return self.command().into_iter().collect();
        }
        let body = self.list();
        self.pass("done");
        body
    }

    fn case(&mut self) -> Node {
        self.take(Role::Structure);
        if self.is_word() {
            self.take(Role::Data);
        }
        self.skip_line_ends();
        self.pass("in");
        let mut arms = Vec::new();
        loop {
            self.skip_line_ends();
            if self.position >= self.tokens.len() || self.pass("esac") {
                break;
            }
            // The pattern, its opening parenthesis included.
            let before = self.position;
            while self.position < self.tokens.len() && !self.is_line_end() && !self.is_operator(")")
            {
                self.take(Role::Data);
            }
            if self.is_operator(")") {
                self.position += 1;
            }
            arms.push(self.list());
            while self
                .operator()
                .is_some_and(|o| matches!(o, ";;" | ";&" | ";;&"))
            {
                self.position += 1;
            }
            if self.position == before {
                // A closer of something else, in a script that is wrong.
                break;
            }
        }
        Node::Maybe {
            function: None,
            lists: arms,
        }
    }

    /// `[[ ... ]]`, operators included.
    fn double_bracket(&mut self) -> Node {
        let mut words = Vec::new();
        while self.position < self.tokens.len() && !self.is_line_end() {
            let ends = self.bare() == Some("]]");
            if self.is_word() {
                words.push(self.position);
                self.take(Role::Command);
            } else {
                self.take(Role::Structure);
            }
            if ends {
                break;
            }
        }
        Node::Simple(words)
    }

    fn simple(&mut self) -> Option<Node> {
        let mut words = Vec::new();
        let before = self.position;
        loop {
            if self.is_word() {
                words.push(self.position);
                self.take(Role::Command);
            } else if !self.redirection() {
                break;
            }
        }
        (self.position > before).then_some(Node::Simple(words))
    }

    fn redirections(&mut self) {
        while self.redirection() {}
    }

    fn redirection(&mut self) -> bool {
        let Some(operator) = self.operator() else {
            return false;
        };
        if !is_redirection(operator) {
            return false;
        }
        let role = if is_here_document(operator) {
            Role::Delimiter
        } else {
            Role::File
        };
        self.position += 1;
        if self.is_word() {
            self.take(role);
        }
        true
    }
}

/// Bash takes hyphens and dots too.
fn is_function_name(text: &str) -> bool {
    is_name(&text.replace(['-', '.', ':'], "_"))
}

#[cfg(test)]
mod tests;
