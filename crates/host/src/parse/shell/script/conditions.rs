//! Conditions and branches that may depend on the clock: `(( ))`, `case`, `test`.

use super::{ARM_ENDS, Reader};
use crate::parse::shell::clock;
use crate::parse::shell::condition::{Condition, Item};
use crate::parse::shell::truth::{Flow, Truth};
use crate::parse::shell::words::{Keep, Kind, Segment, Token};
use std::ops::Range;

impl Reader<'_, '_, '_> {
    /// Parses a subshell. Bash's `(( ... ))` looks like one in another, and is not followed.
    pub(super) fn subshell(&mut self, flow: &Flow) -> Truth {
        let from = self.at;
        self.at += 1;
        let may_be_arithmetic = self.is_operator(&["("]);
        let truth = self.list(&mut flow.clone());
        if self.is_operator(&[")"]) {
            self.at += 1;
        }
        let to = self.at.min(self.tokens.len());
        let asks = |token: &Token| match &token.kind {
            Kind::Word(word) => clock::asks(word, &self.scope),
            _ => false,
        };
        if truth == Truth::Unknown && may_be_arithmetic && self.tokens[from..to].iter().any(asks) {
            return Truth::unclear();
        }
        truth
    }

    /// Parses a `case`. Which arm is taken when is not followed.
    pub(super) fn case(&mut self, flow: &mut Flow) {
        let asks_clock = self.case_subject(flow);
        self.skip_line_ends();
        self.pass("in");
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
            if self.is_operator(&[")"]) {
                self.at += 1;
            }
            if asks_clock {
                self.branch(flow, &Truth::unclear(), Self::list);
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

    /// Passes the word after `case`; returns whether it asks the clock.
    fn case_subject(&mut self, flow: &Flow) -> bool {
        let Some(Kind::Word(word)) = self.kind() else {
            return false;
        };
        let asks_clock = clock::asks(word, &self.scope);
        let is_variable = matches!(word.segments.as_slice(), [Segment::Variable(_)]);
        if asks_clock {
            if is_variable {
                self.tokens[self.at].keep = Keep::Whole;
            }
            self.inner_scripts(self.at, flow);
        }
        self.at += 1;
        asks_clock
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
