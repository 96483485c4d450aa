//! What a job asks the clock before it does its work.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A condition on the clock under which a job does its work; when it does not hold, a start of the
/// job ends at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// The condition.
    pub condition: ClockCondition,
    /// The trigger whose starts it applies to, by its source; all of them if `None`.
    pub trigger: Option<String>,
    /// `TZ` as the crontab sets it for its commands, which is the zone that `date` answers in; the
    /// host's if `None`.
    pub zone: Option<String>,
}

/// A condition in shell, as far as it depends on the clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockCondition {
    /// `(( ... ))`, `expr ...`, `[ A -le B ]`.
    Nonzero(ClockSum),
    /// `[ A = B ]`.
    Same(ClockText, ClockText),
    /// `! ...`.
    Not(Box<Self>),
    /// `... && ...`.
    All(Vec<Self>),
    /// `... || ...`.
    Any(Vec<Self>),
    /// It depends on more than the clock, or is written in a way that is not understood.
    Unknown,
}

/// A text that depends on the clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockText {
    /// Literal text.
    Literal(String),
    /// `$(date +FORMAT)`.
    Date {
        /// The format without its plus sign.
        format: String,
        /// `-d tomorrow`: days added.
        days: i64,
        /// `-d '2 hours ago'`: seconds added.
        seconds: i64,
        /// `TZ=` in front of it, or `UTC` for `-u`.
        zone: Option<String>,
    },
    /// `$(( ... ))`.
    Arithmetic(Box<ClockSum>),
    /// `$(expr ...)`.
    Expr(Box<ClockSum>),
    /// Parts that stand side by side: `10#$(date +%V)`.
    Joined(Vec<Self>),
}

/// A whole number that depends on the clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockSum {
    /// A number as the shell's arithmetic reads it: 010 is 8, and 09 an error.
    Number(ClockText),
    /// A number as `test` and `expr` read it: 010 is 10.
    Decimal(ClockText),
    /// `-A`.
    Minus(Box<Self>),
    /// `!A`.
    Not(Box<Self>),
    /// Two numbers and what is done with them.
    Of(Box<Self>, SumOperator, Box<Self>),
}

/// An operator between two numbers. Comparisons give 1 or 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum SumOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    Unequal,
    And,
    Or,
}

impl ClockCondition {
    /// Returns the number of parts, which bounds what it costs to copy and to evaluate.
    pub fn parts(&self) -> usize {
        match self {
            Self::Nonzero(sum) => sum.parts(),
            Self::Same(left, right) => left.parts() + right.parts(),
            Self::Not(inner) => inner.parts(),
            Self::All(each) | Self::Any(each) => each.iter().map(Self::parts).sum(),
            Self::Unknown => 1,
        }
    }
}

impl ClockText {
    /// As [`ClockCondition::parts`].
    pub fn parts(&self) -> usize {
        match self {
            Self::Literal(_) | Self::Date { .. } => 1,
            Self::Arithmetic(sum) | Self::Expr(sum) => sum.parts(),
            Self::Joined(each) => each.iter().map(Self::parts).sum(),
        }
    }

    /// Whether it depends on the clock at all.
    pub fn has_date(&self) -> bool {
        match self {
            Self::Literal(_) => false,
            Self::Date { .. } => true,
            Self::Arithmetic(sum) | Self::Expr(sum) => sum.has_date(),
            Self::Joined(each) => each.iter().any(Self::has_date),
        }
    }
}

impl ClockSum {
    /// As [`ClockCondition::parts`].
    pub fn parts(&self) -> usize {
        match self {
            Self::Number(text) | Self::Decimal(text) => text.parts(),
            Self::Minus(inner) | Self::Not(inner) => inner.parts(),
            Self::Of(left, _, right) => left.parts() + right.parts(),
        }
    }

    /// Whether it depends on the clock at all.
    pub fn has_date(&self) -> bool {
        match self {
            Self::Number(text) | Self::Decimal(text) => text.has_date(),
            Self::Minus(inner) | Self::Not(inner) => inner.has_date(),
            Self::Of(left, _, right) => left.has_date() || right.has_date(),
        }
    }
}

impl SumOperator {
    fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::And => "&&",
            Self::Or => "||",
        }
    }
}

impl Guard {
    /// Returns the guard of all starts of a job, by the host's clock.
    pub fn of_all(condition: ClockCondition) -> Self {
        Self {
            condition,
            trigger: None,
            zone: None,
        }
    }
}

/// Formats `date +%d <= 7`.
impl fmt::Display for ClockCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |f: &mut fmt::Formatter<'_>, each: &[Self], word: &str| {
            for (index, one) in each.iter().enumerate() {
                let separator = if index > 0 { word } else { "" };
                match one {
                    Self::All(_) | Self::Any(_) => write!(f, "{separator}({one})")?,
                    _ => write!(f, "{separator}{one}")?,
                }
            }
            Ok(())
        };
        match self {
            Self::Nonzero(sum) => sum.fmt(f),
            Self::Same(left, right) => write!(f, "{left} = {right}"),
            Self::Not(inner) => write!(f, "not ({inner})"),
            Self::All(each) => joined(f, each, " and "),
            Self::Any(each) => joined(f, each, " or "),
            Self::Unknown => f.write_str("something that depends on more than the date"),
        }
    }
}

impl fmt::Display for ClockText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(text) => f.write_str(text),
            Self::Date {
                format,
                days,
                seconds,
                zone,
            } => {
                if let Some(zone) = zone {
                    write!(f, "TZ={zone} ")?;
                }
                write!(f, "date +{format}")?;
                match (days, seconds) {
                    (0, 0) => Ok(()),
                    (days, 0) => write!(f, " {days:+} days"),
                    (0, seconds) => write!(f, " {seconds:+} s"),
                    (days, seconds) => write!(f, " {days:+} days {seconds:+} s"),
                }
            }
            Self::Arithmetic(sum) | Self::Expr(sum) => sum.fmt(f),
            Self::Joined(each) => each.iter().try_for_each(|one| one.fmt(f)),
        }
    }
}

impl fmt::Display for ClockSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = |f: &mut fmt::Formatter<'_>, sum: &Self| {
            let is_sum =
                |text: &ClockText| matches!(text, ClockText::Arithmetic(_) | ClockText::Expr(_));
            match sum {
                Self::Of(..) => write!(f, "({sum})"),
                Self::Number(text) | Self::Decimal(text) if is_sum(text) => write!(f, "({sum})"),
                _ => sum.fmt(f),
            }
        };
        match self {
            Self::Number(text) | Self::Decimal(text) => text.fmt(f),
            Self::Minus(of) => {
                f.write_str("-")?;
                inner(f, of)
            }
            Self::Not(of) => {
                f.write_str("not ")?;
                inner(f, of)
            }
            Self::Of(left, operator, right) => {
                inner(f, left)?;
                write!(f, " {} ", operator.sign())?;
                inner(f, right)
            }
        }
    }
}
