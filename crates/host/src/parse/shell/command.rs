//! Parses one simple command: which program it ultimately runs, behind `nice`, `sudo`, `sh -c` and
//! the like, and what of its words may be kept.
//!
//! The script parser and the secrets filter share this, so that they always agree.

use super::clock;
use super::keep::{
    is_kept_in_test, is_priority_value, is_safe_path, is_safe_program, is_variable, kept_argument,
    kept_value, names_a_secret,
};
use super::programs::{Wrapper, arguments_matter, wrapper_named};
use super::scope::{Scope, Value};
use super::words::{Keep, Segment, Word};

/// A program that a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// Base name.
    pub program: String,
    /// Its path, if that is absolute.
    pub path: Option<String>,
    /// Its arguments, if they matter.
    pub arguments: Vec<String>,
    /// Whether it runs under `ionice -c3` or `nice`.
    pub idle_io: bool,
    /// Index of its word.
    pub word: usize,
}

/// A parsed simple command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Breakdown {
    /// What may be kept of each word; nested scripts are not parsed yet.
    pub keep: Vec<Keep>,
    /// The program behind all wrappers; `None` for assignments, or if the program is in an unknown
    /// variable.
    pub run: Option<Run>,
}

/// Parses a simple command. Assignments are recorded in `scope`.
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
            let is_kept = match assigned_value(word, self.scope) {
                Some(Value::Path(_) | Value::Clock(_)) => true,
                Some(Value::Unclear) | None => clock::zone(word).is_some(),
            };
            self.keep[index] = if is_kept {
                Keep::Whole
            } else {
                Keep::Prefix(len)
            };
        }
    }

    fn assign(&mut self, word: &Word) {
        if let Some((name, _)) = word.assigned_name() {
            let value = assigned_value(word, self.scope);
            self.scope.assign(name, value);
        }
    }

    /// Marks the word at `index` as a nested script.
    fn keep_script(&mut self, index: usize) {
        if let Some(keep) = self.keep.get_mut(index) {
            *keep = Keep::Script(Vec::new());
        }
    }

    fn run(&mut self) -> Option<Run> {
        let mut may_skip = false;
        // These persist; those in `NAME=value program` apply to the program only.
        let only_assignments = self.words.iter().all(|word| word.assigned_name().is_some());
        loop {
            while let Some(word) = self.words.get(self.at)
                && word.assigned_name().is_some()
            {
                self.keep_assignment(self.at);
                if only_assignments {
                    self.assign(word);
                }
                self.at += 1;
            }
            let word = *self.words.get(self.at)?;
            let Some(text) = self.scope.resolve(word) else {
                // `sudo $OPTIONS fstrim`: an unknown variable after a wrapper is more likely
                // options than a program.
                if kept_argument(word).is_some_and(|kept| is_variable(&kept)) {
                    self.keep[self.at] = Keep::Whole;
                }
                if !may_skip {
                    return None;
                }
                self.at += 1;
                continue;
            };
            // A quoted program name is normally a path or a variable. In a malformed script, quoted
            // text that may be secret can end up here.
            let is_odd =
                !text.starts_with('/') && word.bare().is_none() && !arguments_matter(&text);
            if is_odd || !is_safe_program(&text) {
                return None;
            }
            self.keep[self.at] = Keep::Whole;
            let program = text.rsplit('/').next().unwrap_or_default().to_owned();
            let path = text.starts_with('/').then_some(text);
            if program == "start-stop-daemon" {
                return self.start_stop_daemon();
            }
            if matches!(program.as_str(), "trap" | "eval") {
                self.keep_script(self.at + 1);
                return None;
            }
            let Some(wrapper) = wrapper_named(&program) else {
                return Some(self.leaf(program, path));
            };
            if !self.wrapper(wrapper) {
                return None;
            }
            // `sh $SCRIPT ARGUMENT`: what follows is not a program.
            may_skip = !wrapper.is_shell();
        }
    }

    fn leaf(&mut self, program: String, path: Option<String>) -> Run {
        let mut arguments = Vec::new();
        self.keep_of_clock(&program);
        for index in self.at + 1..self.words.len() {
            let word = self.words[index];
            match program.as_str() {
                "test" | "[" | "[[" if is_kept_in_test(word) => self.keep[index] = Keep::Whole,
                "cd" if word.text().is_some_and(|text| is_safe_path(&text)) => {
                    self.keep[index] = Keep::Whole;
                }
                "export" | "local" | "readonly" | "declare" | "typeset" => {
                    self.keep_assignment(index);
                    self.assign(word);
                }
                _ if arguments_matter(&program) => match kept_argument(word) {
                    Some(kept) if !self.is_value_of_secret(index) => {
                        self.keep[index] = Keep::Whole;
                        arguments.push(self.scope.resolve(word).unwrap_or(kept));
                    }
                    _ => arguments.push("…".to_owned()),
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

    /// Keeps what a command asks the clock, and what it compares that with.
    fn keep_of_clock(&mut self, program: &str) {
        let words = &self.words[self.at + 1..];
        let kept: Vec<bool> = match program {
            "date" => clock::date_arguments(words, None).0,
            "expr" | "test" | "[" | "[[" => {
                let asks = words.iter().any(|word| clock::asks(word, self.scope));
                let is_kept = |word: &&Word| {
                    let is_sign = program == "expr" && clock::expr_sign(word).is_some();
                    asks && (is_sign || clock::text(word, self.scope).is_some())
                };
                words.iter().map(is_kept).collect()
            }
            _ => return,
        };
        for (index, _) in kept.iter().enumerate().filter(|(_, kept)| **kept) {
            self.keep[self.at + 1 + index] = Keep::Whole;
        }
    }

    /// Whether the previous word is an option that takes a secret: `--token WORD`.
    fn is_value_of_secret(&self, index: usize) -> bool {
        self.text(index - 1).is_some_and(|before| {
            before.starts_with("--") && !before.contains('=') && names_a_secret(&before)
        })
    }

    /// `start-stop-daemon --start --startas PROGRAM OPTIONS -- ARGUMENTS`.
    fn start_stop_daemon(&mut self) -> Option<Run> {
        let mut program = None;
        let mut index = self.at + 1;
        while let Some(word) = self.words.get(index) {
            match word.text().as_deref() {
                Some("--") => {
                    self.keep[index] = Keep::Whole;
                    break;
                }
                Some("--startas" | "--exec" | "-a" | "-x") => {
                    self.keep[index] = Keep::Whole;
                    index += 1;
                    let path = self.words.get(index).and_then(|w| self.scope.resolve(w));
                    if let Some(path) = path.filter(|path| is_safe_path(path)) {
                        self.keep[index] = Keep::Whole;
                        program = Some((index, path));
                    }
                }
                _ => {}
            }
            index += 1;
        }
        let (word, path) = program?;
        self.at = index;
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        if let Some(wrapper) = wrapper_named(&name) {
            // `--startas /bin/sh -- -c SCRIPT`
            self.wrapper(wrapper);
            return None;
        }
        Some(Run {
            word,
            ..self.leaf(name, Some(path))
        })
    }

    /// Skips a wrapper's options; returns whether a program follows at `at`.
    fn wrapper(&mut self, wrapper: &Wrapper) -> bool {
        let mut priority = Priority::default();
        let mut left = wrapper.positional;
        let mut script_follows = false;
        let mut index = self.at + 1;
        while index < self.words.len() {
            // A word with expansions is not an option.
            let text = self.text(index).unwrap_or_default();
            if text == "--" {
                self.keep[index] = Keep::Whole;
                index += 1;
                break;
            }
            if !text.starts_with(['-', '+']) {
                if left == 0 || script_follows {
                    break;
                }
                left -= 1;
                self.keep_priority(index, wrapper, &text);
            } else if let Some(long) = text.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (long, None),
                };
                self.keep_long_option(index, name, value.is_some());
                self.keep_priority(index, wrapper, value.as_deref().unwrap_or_default());
                script_follows |= wrapper.script && name == "command";
                let value = match value {
                    None if wrapper.long.contains(&name) => self.option_value(&mut index, wrapper),
                    value => value,
                };
                priority.note(name, value);
            } else {
                let letters = &text[1..];
                let value_at = letters.find(|c| wrapper.short.contains(c));
                let cluster_len = value_at.map_or(letters.len(), |at| at + 1);
                let (cluster, attached) = letters.split_at(cluster_len);
                self.keep_cluster(index, wrapper, cluster, attached);
                if cluster.contains(|c| wrapper.ends_at.contains(c)) {
                    return false;
                }
                script_follows |= wrapper.script && cluster.contains('c');
                if wrapper.name == "runuser" && cluster.ends_with('u') {
                    // The user is given, so the program follows.
                    left = 0;
                }
                let value = match attached {
                    "" if value_at.is_some() => self.option_value(&mut index, wrapper),
                    attached => Some(attached.to_owned()).filter(|value| !value.is_empty()),
                };
                let last = cluster.char_indices().last().map_or(0, |(at, _)| at);
                priority.note(&cluster[last..], value);
            }
            index += 1;
        }
        if script_follows {
            self.keep_script(index);
            return false;
        }
        // `timeout -- 5 program`.
        self.at = index.saturating_add(left);
        self.idle_io |= priority.is_idle(wrapper.name);
        true
    }

    /// Keeps short options, or just the fact that there are some.
    fn keep_cluster(&mut self, index: usize, wrapper: &Wrapper, cluster: &str, attached: &str) {
        let is_plain = cluster.len() <= 4
            && cluster.chars().all(|c| c.is_ascii_alphabetic())
            && self.words[index].bare().is_some();
        self.keep[index] = match (is_plain, attached) {
            (false, _) => Keep::Dash,
            (true, "") => Keep::Whole,
            (true, _) => Keep::Prefix(1 + cluster.len()),
        };
        // `nice -19`, `ionice -c3`.
        let value = if attached.is_empty() {
            cluster
        } else {
            attached
        };
        self.keep_priority(index, wrapper, value);
    }

    /// Keeps the name of a long option, or just the fact that there is an option.
    fn keep_long_option(&mut self, index: usize, name: &str, has_value: bool) {
        let is_plain = name.len() <= 30
            && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
            && self.words[index].bare().is_some();
        self.keep[index] = match (is_plain, has_value) {
            (true, true) => Keep::Prefix("--=".len() + name.len()),
            (true, false) => Keep::Whole,
            (false, _) => Keep::Dash,
        };
    }

    /// Keeps the value of a wrapper's option if the wrapper only controls priority.
    fn keep_priority(&mut self, index: usize, wrapper: &Wrapper, value: &str) {
        let is_bare = self.words[index].bare().is_some();
        if wrapper.only_sets_priority() && !value.is_empty() && is_priority_value(value) && is_bare
        {
            self.keep[index] = Keep::Whole;
        }
    }

    /// Returns the word after an option, which is its value.
    fn option_value(&mut self, index: &mut usize, wrapper: &Wrapper) -> Option<String> {
        *index += 1;
        let value = self.words.get(*index)?.text().unwrap_or_default();
        self.keep_priority(*index, wrapper, &value);
        Some(value)
    }
}

/// Returns what is known of the value that a word assigns.
fn assigned_value(word: &Word, scope: &Scope) -> Option<Value> {
    if let Some(path) = kept_value(word) {
        return Some(Value::Path(path));
    }
    let (name, len) = word.assigned_name()?;
    let mut value = word.clone();
    if let Some(Segment::Literal { text, .. }) = value.segments.first_mut() {
        text.drain(..len);
        if text.is_empty() {
            value.segments.remove(0);
        }
    }
    match clock::text(&value, scope) {
        Some(text) if text.has_date() => Some(Value::Clock(text)),
        Some(text) if clock::is_small_number(&text) && !names_a_secret(name) => {
            Some(Value::Clock(text))
        }
        _ => clock::asks(&value, scope).then_some(Value::Unclear),
    }
}

/// The priority that a program runs at.
#[derive(Default)]
struct Priority {
    class: Option<String>,
    adjustment: Option<String>,
}

impl Priority {
    fn note(&mut self, option: &str, value: Option<String>) {
        match option {
            "c" | "class" => self.class = value,
            "n" | "adjustment" => self.adjustment = value,
            "i" | "idle" => self.class = Some("idle".to_owned()),
            _ => {}
        }
    }

    fn is_idle(&self, wrapper: &str) -> bool {
        match wrapper {
            "ionice" | "chrt" => matches!(self.class.as_deref(), Some("3" | "idle")),
            // The default is 10.
            "nice" => {
                let by = self.adjustment.as_ref();
                by.is_none_or(|by| by.parse::<i32>().is_ok_and(|by| by > 0))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
