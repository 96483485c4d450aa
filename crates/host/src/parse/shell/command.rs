//! One simple command: which program it runs in the end, behind `nice`, `sudo`, `sh -c` and the
//! like, and what of its words may be kept.
//!
//! The reader of scripts and the filter for secrets share this, so that both see the same.

use super::keep::{
    Keep, is_kept_in_test, is_pace, is_safe_path, is_safe_program, is_variable, kept_argument,
    kept_value, names_a_secret,
};
use super::programs::{Wrapper, arguments_matter, is_pacing, is_shell, wrapper_named};
use super::words::{Segment, Word};
use std::collections::HashMap;

/// A program that is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// Base name.
    pub program: String,
    /// Its path, where that is absolute.
    pub path: Option<String>,
    /// Its arguments, where they matter.
    pub arguments: Vec<String>,
    /// Behind `ionice -c3` or `nice`.
    pub idle_io: bool,
    /// Index of its word.
    pub word: usize,
}

/// A simple command taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Breakdown {
    /// What may be kept, for each word.
    pub keep: Vec<Keep>,
    /// The program at the end of all wrappers; `None` for assignments, and where a variable that is
    /// not known names it.
    pub run: Option<Run>,
}

/// Variables that hold the path of something.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    paths: HashMap<String, String>,
}

/// More variables than a sound script assigns.
const VARIABLES_MAX: usize = 1000;

impl Scope {
    /// A word as text, known variables put in; `None` where something in it is not known.
    pub fn resolve(&self, word: &Word) -> Option<String> {
        let mut text = String::new();
        for segment in &word.segments {
            match segment {
                // What the filter took out is as unknown as an expansion.
                Segment::Literal { text: literal, .. } if !literal.contains('…') => {
                    text.push_str(literal);
                }
                Segment::Variable(name) => text.push_str(self.paths.get(name)?),
                _ => return None,
            }
        }
        Some(text)
    }

    /// Takes note of an assignment.
    fn assign(&mut self, word: &Word) {
        let Some((name, _)) = word.assigned_name() else {
            return;
        };
        match kept_value(word) {
            Some(value) if self.paths.len() < VARIABLES_MAX => {
                self.paths.insert(name.to_owned(), value);
            }
            _ => {
                self.paths.remove(name);
            }
        }
    }
}

/// Takes a simple command apart. Assignments are noted in `scope`.
pub(crate) fn breakdown(words: &[&Word], scope: &mut Scope) -> Breakdown {
    let mut walk = Walk {
        words,
        keep: vec![Keep::Nothing; words.len()],
        at: 0,
        idle_io: false,
        scope,
    };
    let run = walk.run();
    Breakdown {
        keep: walk.keep,
        run,
    }
}

struct Walk<'w> {
    words: &'w [&'w Word],
    keep: Vec<Keep>,
    at: usize,
    idle_io: bool,
    scope: &'w mut Scope,
}

impl Walk<'_> {
    fn text(&self, index: usize) -> Option<String> {
        self.words.get(index)?.text()
    }

    fn keep_assignment(&mut self, index: usize) {
        let word = self.words[index];
        if let Some((_, len)) = word.assigned_name() {
            self.keep[index] = if kept_value(word).is_some() {
                Keep::Whole
            } else {
                Keep::Prefix(len)
            };
        }
    }

    fn run(&mut self) -> Option<Run> {
        let mut wrapped = false;
        // Those stay in force; `NAME=value program` is for the program only.
        let only_assignments = self.words.iter().all(|word| word.assigned_name().is_some());
        loop {
            while let Some(word) = self.words.get(self.at)
                && word.assigned_name().is_some()
            {
                if only_assignments {
                    self.scope.assign(word);
                }
                self.keep_assignment(self.at);
                self.at += 1;
            }
            let word = *self.words.get(self.at)?;
            let Some(text) = self.scope.resolve(word) else {
                // `sudo $OPTIONS fstrim`: an unknown variable behind a wrapper is rather one of
                // its options than a program.
                self.keep[self.at] = if kept_argument(word).is_some_and(|kept| is_variable(&kept)) {
                    Keep::Whole
                } else {
                    Keep::Nothing
                };
                if !wrapped {
                    return None;
                }
                self.at += 1;
                continue;
            };
            // Who quotes a name means a path or a variable; in a script that is wrong, a quoted
            // text may end up here, and that may be a secret.
            let is_odd =
                !text.starts_with('/') && word.bare().is_none() && !arguments_matter(&text);
            if is_odd || !is_safe_program(&text) {
                return None;
            }
            self.keep[self.at] = Keep::Whole;
            let program = text.rsplit('/').next().unwrap_or_default().to_owned();
            let path = text.starts_with('/').then_some(text);
            if is_shell(&program) {
                return self.shell();
            }
            if matches!(program.as_str(), "su" | "runuser") {
                if !self.runuser() {
                    return None;
                }
                wrapped = true;
                continue;
            }
            if program == "start-stop-daemon" {
                return self.start_stop_daemon();
            }
            if matches!(program.as_str(), "trap" | "eval") {
                if self.at + 1 < self.words.len() {
                    self.keep[self.at + 1] = Keep::Script;
                }
                return None;
            }
            if let Some(wrapper) = wrapper_named(&program) {
                if !self.wrapper(wrapper) {
                    return None;
                }
                wrapped = true;
                continue;
            }
            return Some(self.leaf(program, path));
        }
    }

    fn leaf(&mut self, program: String, path: Option<String>) -> Run {
        let first = self.at + 1;
        let mut arguments = Vec::new();
        for index in first..self.words.len() {
            let word = self.words[index];
            match program.as_str() {
                "test" | "[" | "[[" if is_kept_in_test(word) => self.keep[index] = Keep::Whole,
                "cd" if word.text().is_some_and(|text| is_safe_path(&text)) => {
                    self.keep[index] = Keep::Whole;
                }
                "export" | "local" | "readonly" | "declare" | "typeset" => {
                    self.scope.assign(word);
                    self.keep_assignment(index);
                }
                _ if arguments_matter(&program) => match kept_argument(word) {
                    Some(_) if self.is_value_of_secret(index) => arguments.push("…".to_owned()),
                    Some(kept) => {
                        self.keep[index] = Keep::Whole;
                        arguments.push(self.scope.resolve(word).unwrap_or(kept));
                    }
                    None => arguments.push("…".to_owned()),
                },
                _ => {}
            }
        }
        Run {
            program,
            path,
            arguments,
            idle_io: self.idle_io,
            word: self.at,
        }
    }

    /// Whether the word before is an option that takes a secret: `--token WORD`.
    fn is_value_of_secret(&self, index: usize) -> bool {
        self.text(index - 1).is_some_and(|before| {
            before.starts_with("--") && !before.contains('=') && names_a_secret(&before)
        })
    }

    /// `sh -c SCRIPT` or `sh FILE`, from the word `sh`.
    fn shell(&mut self) -> Option<Run> {
        let mut command_follows = false;
        let mut reads_input = false;
        let mut index = self.at + 1;
        while let Some(text) = self.text(index) {
            if text == "--" || text == "-" {
                self.keep[index] = Keep::Whole;
                index += 1;
                break;
            }
            if text.starts_with("--") {
                self.keep_option(index, &text);
                if matches!(text.as_str(), "--rcfile" | "--init-file") {
                    index += 1;
                }
            } else if let Some(letters) = text.strip_prefix(['-', '+'])
                && letters.len() <= 8
                && letters.chars().all(|c| c.is_ascii_alphabetic())
            {
                self.keep[index] = Keep::Whole;
                command_follows |= letters.contains('c');
                reads_input |= letters.contains('s');
                if letters.contains(['o', 'O']) {
                    // Its value is the next word.
                    index += 1;
                }
            } else {
                break;
            }
            index += 1;
        }
        let word = *self.words.get(index)?;
        if command_follows {
            self.keep[index] = Keep::Script;
            return None;
        }
        if reads_input {
            // What follows are arguments of a script that is not here.
            return None;
        }
        let path = self.scope.resolve(word)?;
        if !is_safe_program(&path) {
            return None;
        }
        self.keep[index] = Keep::Whole;
        Some(Run {
            program: path.rsplit('/').next().unwrap_or_default().to_owned(),
            path: path.starts_with('/').then_some(path),
            arguments: Vec::new(),
            idle_io: self.idle_io,
            word: index,
        })
    }

    /// `su - USER -c SCRIPT`, or `runuser -u USER -- PROGRAM`. Whether a program follows at `at`.
    fn runuser(&mut self) -> bool {
        let mut index = self.at + 1;
        let mut with_user = false;
        while index < self.words.len() {
            match self.text(index).as_deref() {
                Some("-c" | "--command") => {
                    self.keep[index] = Keep::Whole;
                    if index + 1 < self.words.len() {
                        self.keep[index + 1] = Keep::Script;
                    }
                    return false;
                }
                Some(option @ ("-u" | "-g" | "-G" | "-s")) => {
                    self.keep[index] = Keep::Whole;
                    with_user |= option == "-u";
                    index += 1;
                }
                Some(option @ ("-" | "-l" | "--" | "-m" | "-p" | "--login")) => {
                    self.keep[index] = Keep::Whole;
                    if option == "--" && with_user {
                        self.at = index + 1;
                        return true;
                    }
                }
                Some(text) if text.starts_with('-') => self.keep_option(index, text),
                _ if with_user => {
                    self.at = index;
                    return true;
                }
                _ => {}
            }
            index += 1;
        }
        false
    }

    /// `start-stop-daemon --start --startas PROGRAM OPTIONS -- ARGUMENTS`.
    fn start_stop_daemon(&mut self) -> Option<Run> {
        let mut program = None;
        let mut index = self.at + 1;
        while index < self.words.len() {
            match self.text(index).as_deref() {
                Some("--") => {
                    self.keep[index] = Keep::Whole;
                    break;
                }
                Some("--startas" | "--exec" | "-a" | "-x") => {
                    self.keep[index] = Keep::Whole;
                    index += 1;
                    let path = self
                        .words
                        .get(index)
                        .and_then(|word| self.scope.resolve(word));
                    if let Some(path) = path.filter(|path| is_safe_path(path)) {
                        self.keep[index] = Keep::Whole;
                        program = Some((index, path));
                    }
                }
                Some("--iosched") => {
                    self.keep[index] = Keep::Whole;
                    index += 1;
                    let class = self.option_value(index, true);
                    self.idle_io |= class.as_deref() == Some("idle");
                }
                Some(option) if option.starts_with('-') => self.keep_option(index, option),
                _ => {}
            }
            index += 1;
        }
        let (word, path) = program?;
        self.at = index;
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        if is_shell(&name) {
            return self.shell();
        }
        Some(Run {
            word,
            ..self.leaf(name, Some(path))
        })
    }

    /// Keeps the name of a long option, or that there is an option.
    fn keep_option(&mut self, index: usize, text: &str) {
        let name = text.split('=').next().unwrap_or_default();
        let plain = name.len() <= 32
            && name.starts_with("--")
            && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let in_one_piece = self.words[index].bare().is_some();
        self.keep[index] = match (plain && in_one_piece, text.len() > name.len()) {
            (true, true) => Keep::Prefix(name.len() + 1),
            (true, false) => Keep::Whole,
            (false, _) => Keep::Dash,
        };
    }

    /// Passes a wrapper's options; whether a program follows at `at`.
    fn wrapper(&mut self, wrapper: &Wrapper) -> bool {
        let pacing = is_pacing(wrapper.name);
        let mut class = None;
        let mut adjustment = None;
        let mut left = wrapper.positional;
        let mut index = self.at + 1;
        while let Some(text) = self.text(index) {
            if text == "--" {
                self.keep[index] = Keep::Whole;
                index += 1;
                break;
            }
            if let Some(long) = text.strip_prefix("--") {
                self.keep_option(index, &text);
                let (name, mut value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (long, None),
                };
                if pacing
                    && value.as_deref().is_some_and(is_pace)
                    && self.words[index].bare().is_some()
                {
                    self.keep[index] = Keep::Whole;
                }
                if value.is_none() && wrapper.long.contains(&name) {
                    index += 1;
                    value = self.option_value(index, pacing);
                }
                match name {
                    "class" => class = value,
                    "adjustment" => adjustment = value,
                    "idle" => class = Some("idle".to_owned()),
                    _ => {}
                }
            } else if let Some(letters) = text.strip_prefix('-').filter(|l| !l.is_empty()) {
                if wrapper.name == "command" && letters.contains(['v', 'V']) {
                    // It asks where a program is, and runs none.
                    self.keep[index] = Keep::Whole;
                    return false;
                }
                let value_at = letters.find(|c| wrapper.short.contains(c));
                let cluster = &letters[..value_at.map_or(letters.len(), |at| at + 1)];
                let attached = &letters[cluster.len()..];
                let plain = cluster.len() <= 4
                    && cluster.chars().all(|c| c.is_ascii_alphabetic())
                    && self.words[index].bare().is_some();
                self.keep[index] = if !(plain || pacing && is_pace(letters)) {
                    Keep::Dash
                } else if attached.is_empty() || (pacing && is_pace(attached)) {
                    Keep::Whole
                } else {
                    Keep::Prefix(1 + cluster.len())
                };
                let mut value = (!attached.is_empty()).then(|| attached.to_owned());
                if value_at.is_some() && attached.is_empty() {
                    index += 1;
                    value = self.option_value(index, pacing);
                }
                match cluster.chars().last() {
                    Some('c') => class = value,
                    Some('n') => adjustment = value,
                    Some('i') => class = Some("idle".to_owned()),
                    _ => {}
                }
            } else if left > 0 {
                left -= 1;
                if pacing && is_pace(&text) {
                    self.keep[index] = Keep::Whole;
                }
                if left == 0 {
                    index += 1;
                    break;
                }
            } else {
                break;
            }
            index += 1;
        }
        while left > 0 && index < self.words.len() {
            // `flock $LOCK program`, `timeout -- 5 program`.
            left -= 1;
            index += 1;
        }
        let is_idle = |class: &Option<String>| matches!(class.as_deref(), Some("3" | "idle"));
        self.idle_io |= match wrapper.name {
            "ionice" | "chrt" => is_idle(&class),
            // Ten, where nothing is given.
            "nice" => adjustment.is_none_or(|by| by.parse::<i32>().is_ok_and(|by| by > 0)),
            _ => false,
        };
        if wrapper.name == "flock"
            && matches!(self.text(index).as_deref(), Some("-c" | "--command"))
        {
            self.keep[index] = Keep::Whole;
            if index + 1 < self.words.len() {
                self.keep[index + 1] = Keep::Script;
            }
            return false;
        }
        self.at = index;
        true
    }

    fn option_value(&mut self, index: usize, pacing: bool) -> Option<String> {
        self.words.get(index)?;
        let value = self.text(index).unwrap_or_default();
        if pacing && is_pace(&value) {
            self.keep[index] = Keep::Whole;
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests;
