//! What a shell script or command line runs, and what it runs only under conditions that can be
//! checked: guards such as `test -x /usr/sbin/anacron ||` or `if [ -d /run/systemd/system ]`, which
//! hold or not on a host, and `[ $(date +%d) -le 7 ] &&`, which holds at times.

use super::clock;
use super::command::breakdown;
use super::lexer;
use super::programs;
use super::scope::Scope;
use super::truth::{Flow, Truth, any};
use super::words::{DELIMITER, Keep, Kind, Token, Word, is_name};
use facts::host::{ClockCondition, JobCommand};
use std::collections::HashSet;
use std::ops::Range;

pub use super::condition::FileTest;

mod conditions;

/// A program that a script runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The program.
    pub command: JobCommand,
    /// Its path, if that is absolute.
    pub path: Option<String>,
    /// The condition that keeps it from running on this host, in plain language.
    pub held_back_by: Option<String>,
    /// The condition on the clock under which it runs, if any.
    pub when: Option<ClockCondition>,
}

/// Source of a script's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin<'a> {
    /// A file: lines are counted.
    File(&'a str),
    /// One line in a file: `etc/crontab:18`.
    Line(&'a str),
}

/// How much of a script is scanned.
pub(crate) const SCRIPT_BYTES_MAX: usize = 64 << 10;
/// Maximum nesting depth of scripts within scripts (`sh -c`, `$(...)`, `trap`).
const DEPTH_MAX: usize = 6;
/// Maximum nesting depth of groups, conditions and loops.
const NESTING_MAX: usize = 40;
/// More programs than any real script runs.
const FOUND_MAX: usize = 1000;

/// Returns the programs that a script runs, in order, each once. Shell builtins and helpers such as
/// `date` are omitted. Never fails: from a malformed script it extracts what it can.
///
/// If the first line names an interpreter that is not a shell, the script is searched for the names
/// of I/O-intensive programs.
pub fn scan(origin: Origin<'_>, text: &str, probe: &FileTest<'_>) -> Vec<Found> {
    if !is_shell_script(text) {
        return mentions(origin, text);
    }
    let mut walk = Walk::new(origin, probe);
    let mut tokens = lexer::shell(text, 1);
    walk.script(&mut tokens, Scope::default(), Flow::default());
    walk.found
}

/// Returns what a command line runs that is executed without a shell (`ExecStart=`).
pub fn scan_exec(origin: Origin<'_>, line: &str, probe: &FileTest<'_>) -> Vec<Found> {
    let mut walk = Walk::new(origin, probe);
    let mut tokens = lexer::plain(line);
    walk.exec(&mut tokens);
    walk.found
}

/// Tokenizes a script and marks what may be kept of each token; `None` if it is nested too deeply
/// to be parsed.
pub(crate) fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut walk = Walk::new(Origin::Line(""), &|_, _| None);
    let mut tokens = lexer::shell(text, 1);
    walk.script(&mut tokens, Scope::default(), Flow::default());
    (!walk.is_too_deep).then_some(tokens)
}

/// Like [`tokens`], for a command line that runs without a shell.
pub(crate) fn tokens_of_exec(line: &str) -> Option<Vec<Token>> {
    let mut walk = Walk::new(Origin::Line(""), &|_, _| None);
    let mut tokens = lexer::plain(line);
    walk.exec(&mut tokens);
    (!walk.is_too_deep).then_some(tokens)
}

/// Returns what a command line runs, without access to its host: for commands in a log, as in
/// crontabs.
pub fn commands(line: &str) -> Vec<JobCommand> {
    let found = scan(Origin::Line(""), line, &|_, _| None);
    found.into_iter().map(|found| found.command).collect()
}

/// Whether this is a shell script: its first line names a shell or no interpreter.
pub(crate) fn is_shell_script(text: &str) -> bool {
    let Some(line) = text.strip_prefix("#!") else {
        return true;
    };
    let line = line.lines().next().unwrap_or_default();
    let mut words = line.split_whitespace().map(|word| {
        let name = word.rsplit('/').next().unwrap_or_default();
        name.to_owned()
    });
    let mut interpreter = words.next().unwrap_or_default();
    if matches!(interpreter.as_str(), "env" | "busybox") {
        interpreter = words
            .find(|word| !word.starts_with('-') && !word.contains('='))
            .unwrap_or_default();
    }
    programs::is_shell(&interpreter)
}

/// Iterates over the names of disk programs in one line of a script in another language.
pub(crate) fn mentions_in_line(line: &str) -> impl Iterator<Item = &str> {
    let code = !line.trim_start().starts_with(['#', ';']);
    line.split(|c: char| !(c.is_ascii_alphanumeric() || "_.-".contains(c)))
        .filter(move |word| code && programs::is_disk_program(word))
}

fn mentions(origin: Origin<'_>, text: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for (line, number) in text.lines().zip(1..).skip(1) {
        for program in mentions_in_line(line) {
            if found.iter().all(|known| known.command.program != program) {
                found.push(Found {
                    command: JobCommand {
                        program: program.to_owned(),
                        arguments: Vec::new(),
                        idle_io: false,
                        source: origin.at(number),
                    },
                    path: None,
                    held_back_by: None,
                    when: None,
                });
            }
        }
    }
    found
}

impl Origin<'_> {
    fn at(&self, line: usize) -> String {
        match self {
            Self::File(path) => format!("{path}:{line}"),
            Self::Line(place) => (*place).to_owned(),
        }
    }
}

/// Keywords that end a list.
const CLOSERS: &[&str] = &["then", "else", "elif", "fi", "do", "done", "esac", "}"];
/// Operators that end an arm of a `case`.
const ARM_ENDS: &[&str] = &[";;", ";&", ";;&"];

struct Walk<'a> {
    origin: Origin<'a>,
    probe: &'a FileTest<'a>,
    found: Vec<Found>,
    /// Functions defined in the script: calling one does not run a program.
    functions: HashSet<String>,
    depth: usize,
    is_too_deep: bool,
}

impl<'a> Walk<'a> {
    fn new(origin: Origin<'a>, probe: &'a FileTest<'a>) -> Self {
        Self {
            origin,
            probe,
            found: Vec::new(),
            functions: HashSet::new(),
            depth: 0,
            is_too_deep: false,
        }
    }

    /// Walks a script that is reached by this flow.
    fn script(&mut self, tokens: &mut [Token], scope: Scope, mut flow: Flow) {
        if self.depth >= DEPTH_MAX {
            self.is_too_deep = true;
            return;
        }
        self.depth += 1;
        let mut reader = Reader::new(self, tokens, scope);
        while reader.at < reader.tokens.len() {
            reader.list(&mut flow);
            if reader.at_closer() {
                // A closing keyword without an opening one.
                reader.take(Keep::Whole);
            }
        }
        self.depth -= 1;
    }

    /// Walks words that form one command, whatever they are.
    fn exec(&mut self, tokens: &mut [Token]) {
        let words: Vec<usize> = (0..tokens.len()).collect();
        let all = 0..tokens.len();
        Reader::new(self, tokens, Scope::default()).run(&words, all, &mut Flow::default());
    }

    fn add(&mut self, found: Found) {
        let same = |known: &Found| {
            known.command.program == found.command.program
                && known.command.arguments == found.command.arguments
                && known.command.idle_io == found.command.idle_io
                && known.held_back_by.is_some() == found.held_back_by.is_some()
        };
        if !programs::is_substantial(&found.command.program)
            || self.functions.contains(&found.command.program)
        {
            return;
        }
        if let Some(known) = self.found.iter_mut().find(|known| same(known)) {
            let either = known.when.take().zip(found.when);
            known.when = either.map(|(one, other)| any(vec![one, other]));
        } else if self.found.len() < FOUND_MAX {
            self.found.push(found);
        }
    }
}

/// Parses the commands of one script in order, following the grammar of POSIX.1-2017, Shell Command
/// Language, section 2.9. Misplaced tokens are skipped.
struct Reader<'w, 'a, 't> {
    walk: &'w mut Walk<'a>,
    tokens: &'t mut [Token],
    scope: Scope,
    at: usize,
    nesting: usize,
}

impl<'w, 'a, 't> Reader<'w, 'a, 't> {
    fn new(walk: &'w mut Walk<'a>, tokens: &'t mut [Token], scope: Scope) -> Self {
        Self {
            walk,
            tokens,
            scope,
            at: 0,
            nesting: 0,
        }
    }

    fn kind(&self) -> Option<&Kind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    fn is_operator(&self, operators: &[&str]) -> bool {
        matches!(self.kind(), Some(Kind::Operator(here)) if operators.contains(&here.as_str()))
    }

    fn is_word(&self) -> bool {
        matches!(self.kind(), Some(Kind::Word(_)))
    }

    fn is_line_end(&self) -> bool {
        matches!(self.kind(), Some(Kind::Newline | Kind::HereDocument { .. }))
    }

    fn is_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    fn bare(&self) -> Option<&str> {
        match self.kind()? {
            Kind::Word(word) => word.bare(),
            _ => None,
        }
    }

    fn take(&mut self, keep: Keep) {
        if let Some(token) = self.tokens.get_mut(self.at) {
            token.keep = keep;
        }
        self.at += 1;
    }

    /// Skips a keyword if it is next.
    fn pass(&mut self, keyword: &str) -> bool {
        let here = self.bare() == Some(keyword);
        if here {
            self.take(Keep::Whole);
        }
        here
    }

    fn pass_operators(&mut self, operators: &[&str]) -> bool {
        let from = self.at;
        while self.is_operator(operators) {
            self.at += 1;
        }
        self.at > from
    }

    fn skip_line_ends(&mut self) {
        while self.is_line_end() {
            self.at += 1;
        }
    }

    fn at_closer(&self) -> bool {
        self.bare().is_some_and(|word| CLOSERS.contains(&word))
            || self.is_operator(&[")"])
            || self.is_operator(ARM_ENDS)
    }

    /// Parses commands up to a closing keyword or the end; returns the result of the last one.
    fn list(&mut self, flow: &mut Flow) -> Truth {
        let mut truth = Truth::Unknown;
        loop {
            while self.is_line_end() || self.is_operator(&[";", "&"]) {
                self.at += 1;
            }
            if self.is_end() || self.at_closer() {
                return truth;
            }
            let before = self.at;
            truth = self.and_or(flow);
            if self.at == before {
                self.at += 1;
            }
        }
    }

    /// Parses commands that run under `condition`. An `exit` in them that is certain to be reached
    /// ends the enclosing flow.
    fn branch(
        &mut self,
        flow: &mut Flow,
        condition: &Truth,
        commands: impl FnOnce(&mut Self, &mut Flow) -> Truth,
    ) -> Truth {
        let mut inner = flow.under(condition);
        let truth = commands(self, &mut inner);
        flow.after(inner, condition);
        truth
    }

    /// Parses commands under a condition that is not evaluated: `exit` and `return` in them end
    /// nothing here.
    fn maybe(&mut self, flow: &Flow, commands: impl FnOnce(&mut Self, &mut Flow) -> Truth) {
        self.branch(&mut flow.clone(), &Truth::Unknown, commands);
    }

    fn and_or(&mut self, flow: &mut Flow) -> Truth {
        let mut truth = self.pipeline(flow);
        // Whether what comes next depends on something unknown as well.
        let mut is_doubtful = truth == Truth::Unknown;
        while self.is_operator(&["&&", "||"]) {
            let is_and = self.is_operator(&["&&"]);
            let taken = if is_and {
                truth.clone()
            } else {
                truth.clone().not()
            };
            self.at += 1;
            self.skip_line_ends();
            let mut reached = flow.clone();
            reached.uncertain |= is_doubtful;
            let next = self.branch(&mut reached, &taken, Self::pipeline);
            reached.uncertain = flow.uncertain;
            *flow = reached;
            is_doubtful |= next == Truth::Unknown;
            truth = if is_and {
                truth.and(next)
            } else {
                truth.or(next)
            };
        }
        truth
    }

    fn pipeline(&mut self, flow: &mut Flow) -> Truth {
        let mut is_negated = false;
        while self.pass("!") {
            is_negated = !is_negated;
        }
        let is_date = matches!(self.kind(), Some(Kind::Word(word)) if clock::is_date(word));
        let mut inner = flow.clone();
        let truth = self.command(&mut inner);
        if !self.is_operator(&["|", "|&"]) {
            *flow = inner;
            return if is_negated { truth.not() } else { truth };
        }
        // Each part of a pipeline is its own process, so `exit` leaves only that.
        while self.is_operator(&["|", "|&"]) {
            self.at += 1;
            self.skip_line_ends();
            self.command(&mut flow.clone());
        }
        // `date +%d | grep -q ^0`.
        Truth::not_understood(is_date)
    }

    fn command(&mut self, flow: &mut Flow) -> Truth {
        if self.nesting >= NESTING_MAX {
            self.walk.is_too_deep = true;
            self.at = self.tokens.len();
        }
        if self.is_end() || self.at_closer() {
            return Truth::Unknown;
        }
        self.nesting += 1;
        let truth = self.compound(flow);
        self.nesting -= 1;
        truth
    }

    fn compound(&mut self, flow: &mut Flow) -> Truth {
        if self.pass("function") || self.at_function() {
            return self.function(flow);
        }
        let mut truth = Truth::Unknown;
        if let Some(arithmetic) = self.arithmetic() {
            truth = arithmetic;
        } else if self.is_operator(&["("]) {
            self.at += 1;
            truth = self.list(&mut flow.clone());
            if self.is_operator(&[")"]) {
                self.at += 1;
            }
        } else if self.pass("{") {
            truth = self.list(flow);
            self.pass("}");
        } else if self.pass("if") {
            self.conditional(flow);
        } else if self.pass("while") || self.pass("until") {
            self.maybe(flow, Self::list);
            self.loop_body(flow);
        } else if self.pass("for") || self.pass("select") {
            self.loop_header();
            self.loop_body(flow);
        } else if self.pass("case") {
            self.case(flow);
        } else {
            return self.simple(flow);
        }
        while self.redirection() {}
        truth
    }

    /// Whether `NAME ( )` is next.
    fn at_function(&self) -> bool {
        let is_operator_at = |offset: usize, text: &str| {
            matches!(self.tokens.get(self.at + offset).map(|token| &token.kind),
                Some(Kind::Operator(operator)) if operator == text)
        };
        // Bash also accepts hyphens and dots.
        self.bare()
            .is_some_and(|name| is_name(&name.replace(['-', '.', ':'], "_")))
            && is_operator_at(1, "(")
            && is_operator_at(2, ")")
    }

    fn function(&mut self, flow: &Flow) -> Truth {
        let name = self.bare().unwrap_or_default().to_owned();
        self.take_name();
        self.walk.functions.insert(name);
        if self.pass_operators(&["("]) {
            self.pass_operators(&[")"]);
        }
        self.skip_line_ends();
        // What ends it ends nothing here.
        let mut body = Flow {
            uncertain: false,
            ..flow.clone()
        };
        self.command(&mut body);
        Truth::Unknown
    }

    /// Takes the name of a function or of a loop variable.
    fn take_name(&mut self) {
        let is_kept = |name: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
            name.len() <= 64 && name.chars().all(is_plain)
        };
        if self.bare().is_some_and(is_kept) {
            self.take(Keep::Whole);
        } else if self.is_word() {
            self.at += 1;
        }
    }

    fn conditional(&mut self, flow: &mut Flow) {
        // Whether a previous branch is known to be taken, or may be.
        let mut before = Truth::False(String::new());
        loop {
            let condition = before.clone().not();
            let mut reached = flow.under(&condition);
            let truth = self.list(&mut reached);
            self.pass("then");
            self.branch(&mut reached, &truth, Self::list);
            flow.after(reached, &condition);
            before = before.or(truth);
            if self.pass("elif") {
                continue;
            }
            if self.pass("else") {
                self.branch(flow, &before.not(), Self::list);
            }
            self.pass("fi");
            return;
        }
    }

    /// Skips what is between `for` and `do`.
    fn loop_header(&mut self) {
        self.take_name();
        self.skip_line_ends();
        self.pass("in");
        // Parentheses and semicolons: bash's arithmetic `for ((;;))`.
        while !self.is_end() && !self.is_line_end() && self.bare() != Some("do") {
            self.at += 1;
        }
        while self.is_line_end() || self.is_operator(&[";"]) {
            self.at += 1;
        }
    }

    fn loop_body(&mut self, flow: &Flow) {
        if self.pass("do") {
            self.maybe(flow, Self::list);
            self.pass("done");
        }
    }

    fn simple(&mut self, flow: &mut Flow) -> Truth {
        let mut words = Vec::new();
        // Operators are plain words within `[[ ... ]]`.
        let mut in_brackets = self.bare() == Some("[[");
        let from = self.at;
        loop {
            if self.is_word() {
                in_brackets &= self.bare() != Some("]]");
                words.push(self.at);
                self.at += 1;
            } else if in_brackets && !self.is_end() && !self.is_line_end() {
                self.at += 1;
            } else if !self.redirection() {
                break;
            }
        }
        self.run(&words, from..self.at, flow)
    }

    fn redirection(&mut self) -> bool {
        let Some(Kind::Operator(operator)) = self.kind() else {
            return false;
        };
        if !operator.contains(['<', '>']) {
            return false;
        }
        let is_here_document = operator.ends_with(DELIMITER);
        self.at += 1;
        if self.is_word() && !is_here_document {
            let is_descriptor = |file: &str| file.len() == 1 && file.as_bytes()[0].is_ascii_digit();
            let is_kept = |file: &str| matches!(file, "/dev/null" | "-") || is_descriptor(file);
            let keep = if self.bare().is_some_and(is_kept) {
                Keep::Whole
            } else {
                Keep::Nothing
            };
            self.take(keep);
        }
        true
    }

    /// Runs a simple command consisting of the words at these indices, among these tokens.
    fn run(&mut self, indices: &[usize], tokens: Range<usize>, flow: &mut Flow) -> Truth {
        let words: Vec<&Word> = indices
            .iter()
            .filter_map(|&index| match &self.tokens.get(index)?.kind {
                Kind::Word(word) => Some(word),
                _ => None,
            })
            .collect();
        let broken = breakdown(&words, &mut self.scope);
        let run = broken.run;
        let truth = match &run {
            Some(run) => match run.program.as_str() {
                "true" | ":" => Truth::True("`true` switches it off".to_owned()),
                "false" => Truth::False("`false` switches it off".to_owned()),
                "test" | "[" | "[[" => {
                    let from = indices
                        .get(run.word)
                        .map_or(tokens.start, |index| index + 1);
                    self.condition(&run.program, from..tokens.end)
                }
                "expr" => {
                    let words = &words[run.word + 1..];
                    match clock::sum_of_expr(words, &self.scope) {
                        Some(sum) if sum.has_date() => Truth::Timed(ClockCondition::Nonzero(sum)),
                        _ => {
                            let mut words = words.iter();
                            Truth::not_understood(words.any(|word| clock::asks(word, &self.scope)))
                        }
                    }
                }
                _ => Truth::Unknown,
            },
            None => Truth::Unknown,
        };
        for (&index, keep) in indices.iter().zip(broken.keep) {
            self.tokens[index].keep = keep;
            self.inner_scripts(index, flow);
        }
        let Some(run) = run else {
            return truth;
        };
        if matches!(run.program.as_str(), "exit" | "return") {
            flow.end();
            return truth;
        }
        let line = indices
            .get(run.word)
            .map_or(1, |&index| self.tokens[index].line);
        let source = self.walk.origin.at(line);
        self.walk.add(Found {
            command: JobCommand {
                source,
                program: run.program,
                arguments: run.arguments,
                idle_io: run.idle_io,
            },
            path: run.path,
            held_back_by: flow.dead.clone(),
            when: flow.condition(),
        });
        truth
    }

    /// Walks the scripts in a word: the word itself if it is one, and its substitutions.
    fn inner_scripts(&mut self, index: usize, flow: &Flow) {
        let Token { kind, line, keep } = &mut self.tokens[index];
        let Kind::Word(word) = kind else {
            return;
        };
        if let Keep::Script(inner) = keep {
            *inner = lexer::shell(&word.script_text(), *line);
            self.walk
                .script(inner, self.scope.clone(), flow.of_inner_script());
        }
        word.for_scripts_mut(&mut |inner| {
            self.walk
                .script(inner, self.scope.clone(), flow.of_inner_script());
        });
    }
}

#[cfg(test)]
mod tests;
