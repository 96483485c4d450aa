//! Arithmetic of the shell and of `expr`.

use facts::host::{ClockSum, ClockText, SumOperator};

/// More operands and operators than anybody writes.
pub(super) const PARTS_MAX: usize = 64;

/// Longest first, so that the first match is the right one.
pub(super) const SIGNS: &[&str] = &[
    "||", "&&", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "(", ")",
];

/// Binary operators by precedence, loosest first.
const LEVELS: [&[(&str, SumOperator)]; 6] = [
    &[("||", SumOperator::Or)],
    &[("&&", SumOperator::And)],
    &[("==", SumOperator::Equal), ("!=", SumOperator::Unequal)],
    &[
        ("<", SumOperator::Less),
        ("<=", SumOperator::LessOrEqual),
        (">", SumOperator::Greater),
        (">=", SumOperator::GreaterOrEqual),
    ],
    &[("+", SumOperator::Add), ("-", SumOperator::Subtract)],
    &[
        ("*", SumOperator::Multiply),
        ("/", SumOperator::Divide),
        ("%", SumOperator::Remainder),
    ],
];

/// An operand or an operator.
pub(super) enum Part {
    Operand(ClockText),
    Sign(&'static str),
}

/// Parses a sum. `number` is how its operands are read. `None` if it is malformed.
pub(super) fn parse(parts: Vec<Part>, number: fn(ClockText) -> ClockSum) -> Option<ClockSum> {
    let mut parser = Parser {
        parts: (parts.len() <= PARTS_MAX)
            .then_some(parts)?
            .into_iter()
            .peekable(),
        number,
    };
    let sum = parser.level(0)?;
    parser.parts.peek().is_none().then_some(sum)
}

/// A parser by recursive descent. Its depth is bounded by the number of parts.
struct Parser {
    parts: std::iter::Peekable<std::vec::IntoIter<Part>>,
    number: fn(ClockText) -> ClockSum,
}

impl Parser {
    fn level(&mut self, level: usize) -> Option<ClockSum> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut sum = self.level(level + 1)?;
        while let Some(Part::Sign(sign)) = self.parts.peek()
            && let Some((_, operator)) = operators.iter().find(|(known, _)| known == sign)
        {
            let operator = *operator;
            self.parts.next();
            let right = self.level(level + 1)?;
            sum = ClockSum::Of(Box::new(sum), operator, Box::new(right));
        }
        Some(sum)
    }

    fn unary(&mut self) -> Option<ClockSum> {
        match self.parts.next()? {
            Part::Operand(text) => Some((self.number)(text)),
            Part::Sign("-") => Some(ClockSum::Minus(Box::new(self.unary()?))),
            Part::Sign("+") => self.unary(),
            Part::Sign("!") => Some(ClockSum::Not(Box::new(self.unary()?))),
            Part::Sign("(") => {
                let sum = self.level(0)?;
                matches!(self.parts.next(), Some(Part::Sign(")"))).then_some(sum)
            }
            Part::Sign(_) => None,
        }
    }
}
