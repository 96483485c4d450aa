//! What a shell script or command line runs, and what it runs only under conditions that can be
//! looked up: guards such as `test -x /usr/sbin/anacron ||` or `if [ -d /run/systemd/system ]`.

use super::command::{Scope, breakdown};
use super::keep::Keep;
use super::lexer;
use super::programs;
use super::syntax::{Node, Syntax};
use super::words::{Kind, Word};
use facts::host::JobCommand;
use std::collections::HashSet;

/// Answers `test -x PATH`, `test -d PATH`, ... for an absolute path; `None` where that is not
/// known. The letter is the option.
pub type FileTest<'a> = dyn Fn(char, &str) -> Option<bool> + 'a;

/// A program that a script runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The program.
    pub command: JobCommand,
    /// Its path, where that is absolute.
    pub path: Option<String>,
    /// The condition that keeps it from running on this host, in words.
    pub held_back_by: Option<String>,
}

/// Where the text of a script comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin<'a> {
    /// A file of its own: lines are counted.
    File(&'a str),
    /// One line of a file: `etc/crontab:18`.
    Line(&'a str),
}

/// A script is scanned up to here.
pub(crate) const SCRIPT_BYTES_MAX: usize = 64 << 10;
/// Scripts within scripts (`sh -c`, `$(...)`, `trap`) are followed to this depth.
const DEPTH_MAX: usize = 6;
/// More programs than any sound script runs.
const FOUND_MAX: usize = 1000;

/// The programs that a script runs, in order, each once. Builtins of the shell and helpers such as
/// `date` are left out. Never fails: a script that is wrong gives what can be made out.
///
/// A script whose first line names another interpreter than a shell is searched for the names of
/// programs that are hard on disks.
pub fn scan(origin: Origin<'_>, text: &str, probe: &FileTest<'_>) -> Vec<Found> {
    if !is_shell_script(text) {
        return mentions(origin, text);
    }
    let mut walk = Walk {
        origin,
        probe,
        found: Vec::new(),
        functions: HashSet::new(),
        depth: 0,
    };
    walk.script(text, 1, &mut Scope::default(), None);
    walk.found
}

/// The words of a command line that no shell reads (`ExecStart=`) and what it runs.
pub fn scan_exec(origin: Origin<'_>, line: &str, probe: &FileTest<'_>) -> Vec<Found> {
    let mut walk = Walk {
        origin,
        probe,
        found: Vec::new(),
        functions: HashSet::new(),
        depth: 0,
    };
    let words = lexer::plain(line);
    let words: Vec<&Word> = words.iter().collect();
    let lines = vec![1; words.len()];
    let mut flow = Flow::default();
    walk.simple(&words, &lines, &mut Scope::default(), &mut flow);
    walk.found
}

/// What a command line runs, read without its host: the command of a log's line, as those of crontabs.
pub fn commands(line: &str) -> Vec<JobCommand> {
    let found = scan(Origin::Line(""), line, &|_, _| None);
    found.into_iter().map(|found| found.command).collect()
}

/// Whether a shell reads this script: one is named in the first line, or no interpreter is.
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

/// The names of disk programs in one line of a script that is no shell script.
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

/// What a condition comes to, and the sentence that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Truth {
    True(String),
    False(String),
    Unknown,
}

impl Truth {
    fn not(self) -> Self {
        match self {
            Self::True(why) => Self::False(why),
            Self::False(why) => Self::True(why),
            Self::Unknown => Self::Unknown,
        }
    }
}

/// How the commands at one place are reached.
#[derive(Debug, Clone, Default)]
struct Flow {
    /// Why they are not reached.
    dead: Option<String>,
    /// They are reached under a condition that is not known.
    uncertain: bool,
    /// The condition that is known to let them run.
    because: Option<String>,
}

struct Walk<'a> {
    origin: Origin<'a>,
    probe: &'a FileTest<'a>,
    found: Vec<Found>,
    /// Functions that the script defines: calling one is no program.
    functions: HashSet<String>,
    depth: usize,
}

impl Walk<'_> {
    fn script(&mut self, text: &str, first_line: usize, scope: &mut Scope, dead: Option<String>) {
        if self.depth >= DEPTH_MAX {
            return;
        }
        self.depth += 1;
        let syntax = Syntax::new(lexer::shell(text, first_line));
        let mut flow = Flow {
            dead,
            ..Flow::default()
        };
        self.list(&syntax, &syntax.nodes, scope, &mut flow);
        self.depth -= 1;
    }

    /// The commands of a list; what the last one comes to.
    fn list(
        &mut self,
        syntax: &Syntax,
        nodes: &[Node],
        scope: &mut Scope,
        flow: &mut Flow,
    ) -> Truth {
        let mut truth = Truth::Unknown;
        for node in nodes {
            truth = self.node(syntax, node, scope, flow);
        }
        truth
    }

    /// The commands of a branch that is taken under `condition`. An `exit` in it that is sure to be
    /// reached ends the flow it belongs to.
    fn branch(
        &mut self,
        syntax: &Syntax,
        nodes: &[Node],
        scope: &mut Scope,
        flow: &mut Flow,
        condition: Truth,
    ) -> Truth {
        let mut inner = flow.clone();
        match condition {
            Truth::True(why) => inner.because = Some(why),
            Truth::False(why) => {
                inner.dead.get_or_insert(why);
            }
            Truth::Unknown => inner.uncertain = true,
        }
        let was_dead = inner.dead.is_some();
        let truth = self.list(syntax, nodes, scope, &mut inner);
        if !was_dead && inner.dead.is_some() {
            flow.dead = inner.dead;
        }
        truth
    }

    fn node(&mut self, syntax: &Syntax, node: &Node, scope: &mut Scope, flow: &mut Flow) -> Truth {
        match node {
            Node::Simple(indices) => {
                let lines: Vec<usize> = indices
                    .iter()
                    .filter_map(|&index| syntax.tokens.get(index))
                    .filter(|token| matches!(token.kind, Kind::Word(_)))
                    .map(|token| token.line)
                    .collect();
                self.simple(&syntax.words(indices), &lines, scope, flow)
            }
            Node::AndOr(first, rest) => {
                let mut truth = self.node(syntax, first, scope, flow);
                for (on_success, node) in rest {
                    let taken = if *on_success {
                        truth.clone()
                    } else {
                        truth.clone().not()
                    };
                    let skipped = matches!(taken, Truth::False(_));
                    let next = self.branch(syntax, std::slice::from_ref(node), scope, flow, taken);
                    if !skipped {
                        truth = if truth == Truth::Unknown {
                            Truth::Unknown
                        } else {
                            next
                        };
                    }
                }
                truth
            }
            Node::Pipeline { negated, parts } => {
                let alone = parts.len() == 1;
                let mut truth = Truth::Unknown;
                for part in parts {
                    // Each part of a pipe is a process of its own, which `exit` leaves.
                    let mut inner = flow.clone();
                    truth = self.node(syntax, part, scope, &mut inner);
                    if alone {
                        *flow = inner;
                    }
                }
                match (alone, negated) {
                    (true, true) => truth.not(),
                    (true, false) => truth,
                    (false, _) => Truth::Unknown,
                }
            }
            Node::Group { list, subshell } => {
                if *subshell {
                    self.list(syntax, list, scope, &mut flow.clone())
                } else {
                    self.list(syntax, list, scope, flow)
                }
            }
            Node::If { arms, otherwise } => {
                self.conditional(syntax, arms, otherwise, scope, flow);
                Truth::Unknown
            }
            Node::Maybe { function, lists } => {
                self.functions.extend(function.iter().cloned());
                // `exit` and `return` in them end nothing here.
                for list in lists {
                    self.branch(syntax, list, scope, &mut flow.clone(), Truth::Unknown);
                }
                Truth::Unknown
            }
        }
    }

    fn conditional(
        &mut self,
        syntax: &Syntax,
        arms: &[(Vec<Node>, Vec<Node>)],
        otherwise: &[Node],
        scope: &mut Scope,
        flow: &mut Flow,
    ) {
        // Whether an arm before this one is known to be taken, or may be.
        let mut before = Truth::False(String::new());
        for (condition, body) in arms {
            let mut reached = flow.clone();
            Self::enter_else(&mut reached, &before);
            let truth = self.list(syntax, condition, scope, &mut reached);
            let mut inner = reached.clone();
            inner.dead = reached.dead.or_else(|| flow.dead.clone());
            let dead_before = inner.dead.is_some();
            self.branch(syntax, body, scope, &mut inner, truth.clone());
            if !dead_before && inner.dead.is_some() {
                flow.dead = inner.dead;
            }
            before = match (before, truth) {
                (Truth::True(why), _) | (Truth::False(_), Truth::True(why)) => Truth::True(why),
                (Truth::False(_), Truth::False(why)) => Truth::False(why),
                _ => Truth::Unknown,
            };
        }
        if !otherwise.is_empty() {
            self.branch(syntax, otherwise, scope, flow, before.not());
        }
    }

    fn enter_else(flow: &mut Flow, before: &Truth) {
        match before {
            Truth::True(why) => {
                flow.dead.get_or_insert_with(|| why.clone());
            }
            Truth::Unknown => flow.uncertain = true,
            Truth::False(_) => {}
        }
    }

    fn simple(
        &mut self,
        words: &[&Word],
        lines: &[usize],
        scope: &mut Scope,
        flow: &mut Flow,
    ) -> Truth {
        let broken = breakdown(words, scope);
        for ((word, keep), &line) in words.iter().zip(&broken.keep).zip(lines) {
            if *keep == Keep::Script {
                let text = word.script_text();
                self.script(&text, line, &mut scope.clone(), flow.dead.clone());
            } else {
                for (text, line) in word.scripts() {
                    self.script(text, line, &mut scope.clone(), flow.dead.clone());
                }
            }
        }
        let Some(run) = broken.run else {
            return Truth::Unknown;
        };
        match run.program.as_str() {
            "true" | ":" => return Truth::True("`true` switches it off".to_owned()),
            "false" => return Truth::False("`false` switches it off".to_owned()),
            "test" | "[" | "[[" => return self.guard(&words[run.word + 1..], scope),
            "exit" | "return" => {
                if flow.dead.is_none() && !flow.uncertain {
                    let because = flow.because.clone();
                    flow.dead = Some(because.unwrap_or_else(|| "it ends before that".to_owned()));
                }
                return Truth::Unknown;
            }
            _ => {}
        }
        if programs::is_substantial(&run.program)
            && !self.functions.contains(&run.program)
            && self.found.len() < FOUND_MAX
        {
            let found = Found {
                command: JobCommand {
                    source: self.origin.at(lines.get(run.word).copied().unwrap_or(1)),
                    program: run.program,
                    arguments: run.arguments,
                    idle_io: run.idle_io,
                },
                path: run.path,
                held_back_by: flow.dead.clone(),
            };
            let same = |known: &Found| {
                known.command.program == found.command.program
                    && known.command.arguments == found.command.arguments
                    && known.command.idle_io == found.command.idle_io
                    && known.held_back_by.is_some() == found.held_back_by.is_some()
            };
            if !self.found.iter().any(same) {
                self.found.push(found);
            }
        }
        Truth::Unknown
    }

    /// `test -x PATH` with any number of `!` before it.
    fn guard(&self, arguments: &[&Word], scope: &Scope) -> Truth {
        let mut texts: Vec<String> = Vec::new();
        for word in arguments {
            let Some(text) = scope.resolve(word) else {
                return Truth::Unknown;
            };
            texts.push(text);
        }
        let mut texts: &[String] = &texts;
        if let [rest @ .., last] = texts
            && matches!(last.as_str(), "]" | "]]")
        {
            texts = rest;
        }
        let mut negated = false;
        while let [first, rest @ ..] = texts
            && first == "!"
        {
            negated = !negated;
            texts = rest;
        }
        let [option, path] = texts else {
            return Truth::Unknown;
        };
        let letter = match option.as_str() {
            "-x" => 'x',
            "-d" => 'd',
            "-f" => 'f',
            "-e" | "-a" => 'e',
            _ => return Truth::Unknown,
        };
        if !path.starts_with('/') {
            return Truth::Unknown;
        }
        let truth = match (self.probe)(letter, path) {
            Some(true) => Truth::True(format!("it does nothing where {path} exists")),
            Some(false) => Truth::False(format!("it does nothing without {path}")),
            None => Truth::Unknown,
        };
        if negated { truth.not() } else { truth }
    }
}

#[cfg(test)]
mod tests;
