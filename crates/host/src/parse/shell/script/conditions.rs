//! Conditions and branches that may depend on the clock: `(( ))`, `case`, `test`.

use super::{ARM_ENDS, Reader};
use crate::parse::shell::clock;
use crate::parse::shell::condition::{Condition, Item};
use crate::parse::shell::truth::{Flow, Truth};
use crate::parse::shell::words::{Keep, Kind, Segment, Word};
use facts::host::{ClockCondition, ClockText};
use std::ops::Range;

/// More words and operators than anybody writes in `(( ))`.
const ARITHMETIC_TOKENS_MAX: usize = 64;

impl Reader<'_, '_, '_> {
    /// Parses bash's `(( ... ))` if that is next and depends on the clock. Otherwise it may be a
    /// subshell in a subshell.
    pub(super) fn arithmetic(&mut self) -> Option<Truth> {
        let operator_at = |at: usize| match &self.tokens.get(at)?.kind {
            Kind::Operator(operator) => Some(operator.as_str()),
            _ => None,
        };
        let from = self.at + 2;
        if operator_at(self.at) != Some("(") || operator_at(self.at + 1) != Some("(") {
            return None;
        }
        let mut open = 2_usize;
        let mut inside = Word::default();
        let mut at = from;
        while open > 0 {
            match &self.tokens.get(at)?.kind {
                Kind::Word(word) => {
                    inside.segments.extend(word.segments.iter().cloned());
                    inside.push(' ', false);
                }
                Kind::Operator(operator) => {
                    match operator.as_str() {
                        "(" => open += 1,
                        ")" => open -= 1,
                        _ => {}
                    }
                    // The last two close it, one right after the other.
                    if open == 1 && operator_at(at + 1) != Some(")") {
                        return None;
                    }
                    if open > 1 {
                        operator.chars().for_each(|c| inside.push(c, false));
                    }
                }
                Kind::Newline | Kind::HereDocument { .. } => return None,
            }
            at += 1;
            if at - from > ARITHMETIC_TOKENS_MAX {
                return None;
            }
        }
        let word = Word {
            segments: vec![Segment::Arithmetic(inside)],
        };
        let text = clock::text(&word, &self.scope).filter(ClockText::has_date)?;
        let ClockText::Arithmetic(sum) = text else {
            return None;
        };
        for index in from..at - 2 {
            self.tokens[index].keep = Keep::Whole;
            self.inner_scripts(index, &Flow::default());
        }
        self.at = at;
        Some(Truth::Timed(ClockCondition::Nonzero(*sum)))
    }

    /// Parses a `case`. If its word asks the clock, each arm runs under the condition that its patterns fit.
    pub(super) fn case(&mut self, flow: &mut Flow) {
        let subject = self.at;
        if self.is_word() {
            self.at += 1;
        }
        let (asks_clock, subject) = self.case_subject(subject, flow);
        self.skip_line_ends();
        self.pass("in");
        let mut before = Truth::False(String::new());
        loop {
            self.skip_line_ends();
            if self.is_end() || self.pass("esac") {
                return;
            }
            let from = self.at;
            // The pattern, including its opening parenthesis.
            while !self.is_end() && !self.is_line_end() && !self.is_operator(&[")"]) {
                self.at += 1;
            }
            let patterns = from..self.at;
            if self.is_operator(&[")"]) {
                self.at += 1;
            }
            if asks_clock {
                let condition = self.case_patterns(patterns, subject.as_ref(), &before);
                self.branch(flow, &condition, Self::list);
                before = before.or(condition);
            } else {
                self.maybe(flow, Self::list);
            }
            self.pass_operators(ARM_ENDS);
            if self.at == from {
                // A closing keyword of another construct, in a malformed script.
                return;
            }
        }
    }

    /// Returns whether the word after `case` asks the clock, and for what if that is understood.
    fn case_subject(&mut self, index: usize, flow: &Flow) -> (bool, Option<ClockText>) {
        let word = match self.tokens.get(index).map(|token| &token.kind) {
            Some(Kind::Word(word)) if clock::asks(word, &self.scope) => word,
            _ => return (false, None),
        };
        let text = clock::text(word, &self.scope);
        if text.is_some() {
            self.tokens[index].keep = Keep::Whole;
        }
        self.inner_scripts(index, flow);
        (true, text)
    }

    /// Returns when one of the patterns of an arm fits, which are plain words or `*`.
    fn case_patterns(
        &mut self,
        patterns: Range<usize>,
        subject: Option<&ClockText>,
        before: &Truth,
    ) -> Truth {
        let mut truth = Truth::False(String::new());
        for token in &mut self.tokens[patterns] {
            let Kind::Word(word) = &token.kind else {
                continue;
            };
            let fits = match (subject, clock::text(word, &self.scope)) {
                _ if word.bare() == Some("*") => before.clone().not(),
                (Some(subject), Some(pattern)) => {
                    Truth::Timed(ClockCondition::Same(subject.clone(), pattern))
                }
                _ => {
                    truth = truth.or(Truth::unclear());
                    continue;
                }
            };
            token.keep = Keep::Whole;
            truth = truth.or(fits);
        }
        truth
    }

    /// Evaluates the words of `test`, `[` or `[[`.
    pub(super) fn condition(&self, program: &str, tokens: Range<usize>) -> Truth {
        let is_double = program == "[[";
        let mut items: Vec<Item<'_>> = Vec::new();
        let mut tokens = self.tokens[tokens].iter();
        while let Some(token) = tokens.next() {
            match &token.kind {
                Kind::Word(word) if matches!(word.bare(), Some("]" | "]]")) => break,
                Kind::Word(word) => items.push(Item::Word(word)),
                Kind::Operator(operator) if is_double => items.push(Item::Operator(operator)),
                // A redirection and its file.
                _ => drop(tokens.next()),
            }
        }
        Condition::new(&items, is_double, &self.scope, self.walk.probe).truth()
    }
}
