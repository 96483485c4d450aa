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
    /// `[ A -le B ]`, `[ A = B ]`.
    Compare(ClockValue, ClockOperator, ClockValue),
    /// `! ...`.
    Not(Box<Self>),
    /// `... && ...`.
    All(Vec<Self>),
    /// `... || ...`.
    Any(Vec<Self>),
    /// It depends on more than the clock, or is written in a way that is not understood.
    Unknown,
}

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockValue {
    /// Literal text.
    Literal(String),
    /// `$(date ...)`, and what is done with it.
    Date(ClockDate),
}

/// `$(date +FORMAT)`, or a whole number made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockDate {
    /// The format without its plus sign.
    pub format: String,
    /// `-d tomorrow`: days added.
    pub days: i64,
    /// What `expr` or `$(( ))` does with it, in this order.
    pub steps: Vec<(ClockStep, i64)>,
    /// Whether it is read as a number of the shell's arithmetic: 010 is 8, and 09 an error.
    pub is_octal: bool,
}

/// What is done with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum ClockStep {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum ClockOperator {
    /// As texts.
    Same,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    Unequal,
}

impl ClockCondition {
    /// Returns the number of parts, which bounds what it costs to copy and to evaluate.
    pub fn parts(&self) -> usize {
        match self {
            Self::Compare(..) => 2,
            Self::Not(inner) => inner.parts(),
            Self::All(each) | Self::Any(each) => each.iter().map(Self::parts).sum(),
            Self::Unknown => 1,
        }
    }
}

impl ClockStep {
    fn sign(self) -> char {
        match self {
            Self::Add => '+',
            Self::Subtract => '-',
            Self::Multiply => '*',
            Self::Divide => '/',
            Self::Remainder => '%',
        }
    }
}

impl ClockOperator {
    fn sign(self) -> &'static str {
        match self {
            Self::Same => "=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Equal => "==",
            Self::Unequal => "!=",
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
            Self::Compare(left, operator, right) => {
                write!(f, "{left} {} {right}", operator.sign())
            }
            Self::Not(inner) => write!(f, "not ({inner})"),
            Self::All(each) => joined(f, each, " and "),
            Self::Any(each) => joined(f, each, " or "),
            Self::Unknown => f.write_str("something that depends on more than the date"),
        }
    }
}

impl fmt::Display for ClockValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(text) => f.write_str(text),
            Self::Date(date) => date.fmt(f),
        }
    }
}

/// Formats `(date +%s / 604800 % 2)`.
impl fmt::Display for ClockDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = format!("date +{}", self.format);
        if self.days != 0 {
            shown = format!("{shown} {:+} days", self.days);
        }
        if self.steps.is_empty() {
            return f.write_str(&shown);
        }
        write!(f, "({shown}")?;
        for (step, number) in &self.steps {
            write!(f, " {} {number}", step.sign())?;
        }
        f.write_str(")")
    }
}
