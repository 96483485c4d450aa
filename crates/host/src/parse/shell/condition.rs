//! `test`, `[` and `[[`.

use super::clock;
use super::scope::Scope;
use super::truth::Truth;
use super::words::Word;
use facts::host::{ClockCondition, ClockSum, SumOperator};

/// Evaluates `test -x PATH`, `test -d PATH`, ... for an absolute path; `None` if unknown. The
/// character is the option.
pub type FileTest<'a> = dyn Fn(char, &str) -> Option<bool> + 'a;

/// Parentheses that nest deeper are not followed.
const DEPTH_MAX: usize = 20;

/// A part of a condition.
#[derive(Clone, Copy)]
pub(super) enum Item<'w> {
    Word(&'w Word),
    /// An operator of `[[`, which the shell does not take for its own there.
    Operator(&'w str),
}

/// A condition that is read from left to right.
pub(super) struct Condition<'w> {
    items: &'w [Item<'w>],
    at: usize,
    depth: usize,
    /// `[[`: its numbers are those of the shell's arithmetic.
    is_double: bool,
    scope: &'w Scope,
    probe: &'w FileTest<'w>,
}

impl<'w> Condition<'w> {
    pub fn new(
        items: &'w [Item<'w>],
        is_double: bool,
        scope: &'w Scope,
        probe: &'w FileTest<'w>,
    ) -> Self {
        Self {
            items,
            at: 0,
            depth: 0,
            is_double,
            scope,
            probe,
        }
    }

    /// Evaluates it as far as possible.
    pub fn truth(mut self) -> Truth {
        let truth = self.or();
        if self.at == self.items.len() {
            return truth;
        }
        // Something that is not understood.
        let asks = self.items.iter().any(|item| match item {
            Item::Word(word) => clock::asks(word, self.scope),
            Item::Operator(_) => false,
        });
        Truth::not_understood(asks)
    }

    fn text_at(&self, offset: usize) -> Option<String> {
        match self.items.get(self.at + offset)? {
            Item::Word(word) => self.scope.resolve(word),
            Item::Operator(operator) => Some((*operator).to_owned()),
        }
    }

    fn pass(&mut self, texts: &[&str]) -> bool {
        let here = self
            .text_at(0)
            .is_some_and(|text| texts.contains(&text.as_str()));
        self.at += usize::from(here);
        here
    }

    fn or(&mut self) -> Truth {
        let mut truth = self.and();
        while self.pass(&["-o", "||"]) {
            truth = truth.or(self.and());
        }
        truth
    }

    fn and(&mut self) -> Truth {
        let mut truth = self.not();
        while self.pass(&["-a", "&&"]) {
            truth = truth.and(self.not());
        }
        truth
    }

    fn not(&mut self) -> Truth {
        let mut is_negated = false;
        while self.pass(&["!"]) {
            is_negated = !is_negated;
        }
        let truth = self.primary();
        if is_negated { truth.not() } else { truth }
    }

    fn primary(&mut self) -> Truth {
        if self.depth < DEPTH_MAX && self.pass(&["("]) {
            self.depth += 1;
            let truth = self.or();
            self.depth -= 1;
            self.pass(&[")"]);
            return truth;
        }
        let word = |offset| match self.items.get(self.at + offset) {
            Some(Item::Word(word)) => Some(*word),
            _ => None,
        };
        if let (Some(left), Some(right), Some(operator)) = (word(0), word(2), self.text_at(1))
            && let Some(truth) = self.comparison(left, &operator, right)
        {
            self.at += 3;
            return truth;
        }
        if let (Some(option), Some(path)) = (self.text_at(0), word(1))
            && option.len() == 2
            && option.starts_with('-')
        {
            self.at += 2;
            return self.file(&option, path);
        }
        let asks = word(0).is_some_and(|word| clock::asks(word, self.scope));
        self.at += usize::from(self.at < self.items.len());
        Truth::not_understood(asks)
    }

    /// Compares two words; `None` if that is no comparison.
    fn comparison(&self, left: &Word, operator: &str, right: &Word) -> Option<Truth> {
        let numeric = match operator {
            "-eq" => Some(SumOperator::Equal),
            "-ne" => Some(SumOperator::Unequal),
            "-lt" => Some(SumOperator::Less),
            "-le" => Some(SumOperator::LessOrEqual),
            "-gt" => Some(SumOperator::Greater),
            "-ge" => Some(SumOperator::GreaterOrEqual),
            "=" | "==" | "!=" => None,
            _ => return None,
        };
        if !clock::asks(left, self.scope) && !clock::asks(right, self.scope) {
            return Some(Truth::Unknown);
        }
        let texts = clock::text(left, self.scope).zip(clock::text(right, self.scope));
        let Some((left, right)) = texts else {
            return Some(Truth::unclear());
        };
        let number = if self.is_double {
            ClockSum::Number
        } else {
            ClockSum::Decimal
        };
        let condition = match numeric {
            Some(operator) => ClockCondition::Nonzero(ClockSum::Of(
                Box::new(number(left)),
                operator,
                Box::new(number(right)),
            )),
            None => ClockCondition::Same(left, right),
        };
        let truth = Truth::Timed(condition);
        Some(if operator == "!=" { truth.not() } else { truth })
    }

    /// Evaluates `-x PATH`.
    fn file(&self, option: &str, path: &Word) -> Truth {
        let letter = match option {
            "-x" => 'x',
            "-d" => 'd',
            "-f" => 'f',
            "-e" | "-a" => 'e',
            _ => return Truth::Unknown,
        };
        let path = self.scope.resolve(path);
        let Some(path) = path.filter(|path| path.starts_with('/')) else {
            return Truth::Unknown;
        };
        match (self.probe)(letter, &path) {
            Some(true) => Truth::True(format!("it does nothing where {path} exists")),
            Some(false) => Truth::False(format!("it does nothing without {path}")),
            None => Truth::Unknown,
        }
    }
}
