//! What is known of a condition, and how execution reaches a point in a script.

use facts::host::ClockCondition;

/// A condition on the clock with more parts is not followed any further.
const PARTS_MAX: usize = 64;

/// Result of a condition, with the sentence that describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Truth {
    True(String),
    False(String),
    /// It depends on when it is asked.
    Timed(ClockCondition),
    Unknown,
}

impl Truth {
    /// A condition on the clock that cannot be evaluated.
    pub fn unclear() -> Self {
        Self::Timed(ClockCondition::Unknown)
    }

    /// A condition that is not understood.
    pub fn not_understood(asks_clock: bool) -> Self {
        if asks_clock {
            Self::unclear()
        } else {
            Self::Unknown
        }
    }

    pub fn not(self) -> Self {
        match self {
            Self::True(why) => Self::False(why),
            Self::False(why) => Self::True(why),
            Self::Timed(condition) => Self::Timed(not(condition)),
            Self::Unknown => Self::Unknown,
        }
    }

    /// Both hold. What is not known, such as whether a program succeeds, is taken to hold beside a
    /// condition on the clock.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::False(why), _) | (Self::Timed(_) | Self::True(_), Self::False(why)) => {
                Self::False(why)
            }
            (Self::True(_), other) => other,
            (Self::Timed(one), Self::Timed(other)) => Self::Timed(all(vec![one, other])),
            (Self::Timed(one), Self::True(_) | Self::Unknown)
            | (Self::Unknown, Self::Timed(one)) => Self::Timed(one),
            (Self::Unknown, _) => Self::Unknown,
        }
    }

    /// One of them holds. What is not known makes a condition on the clock unclear unless it holds.
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::True(why), _) | (Self::Timed(_) | Self::False(_), Self::True(why)) => {
                Self::True(why)
            }
            (Self::False(_), other) => other,
            (Self::Timed(one), Self::Timed(other)) => Self::Timed(any(vec![one, other])),
            (Self::Timed(one), Self::False(_)) => Self::Timed(one),
            (Self::Timed(one), Self::Unknown) | (Self::Unknown, Self::Timed(one)) => {
                Self::Timed(any(vec![one, ClockCondition::Unknown]))
            }
            (Self::Unknown, _) => Self::Unknown,
        }
    }
}

/// How execution reaches a point in the script.
#[derive(Debug, Clone, Default)]
pub(super) struct Flow {
    /// Why it is unreachable.
    pub dead: Option<String>,
    /// It is reached under an unknown condition.
    pub uncertain: bool,
    /// The condition known to hold, which lets it run.
    pub because: Option<String>,
    /// The conditions on the clock under which it is reached, if the script has not ended by then.
    pub when: Vec<ClockCondition>,
    /// The conditions on the clock under which the script has ended.
    pub ended: Vec<ClockCondition>,
}

impl Flow {
    /// The flow within a script that is started here.
    pub fn of_inner_script(&self) -> Self {
        Self {
            dead: self.dead.clone(),
            when: self.when(),
            ..Self::default()
        }
    }

    /// Returns the flow under a condition.
    pub fn under(&self, condition: &Truth) -> Self {
        let mut inner = self.clone();
        match condition {
            // Nothing was asked before it.
            Truth::True(why) if why.is_empty() => {}
            Truth::True(why) => inner.because = Some(why.clone()),
            Truth::False(why) => {
                inner.dead.get_or_insert_with(|| why.clone());
            }
            Truth::Timed(condition) => inner.when = at_once(inner.when, condition.clone()),
            Truth::Unknown => inner.uncertain = true,
        }
        inner
    }

    /// Continues after the commands that ran under a condition: an `exit` that was certain to be
    /// reached ends this flow.
    pub fn after(&mut self, inner: Self, condition: &Truth) {
        let ends = inner.dead.is_some() && self.dead.is_none();
        if ends && matches!(condition, Truth::True(_)) {
            self.dead = inner.dead;
        }
        self.ended = inner.ended;
    }

    /// The script ends here.
    pub fn end(&mut self) {
        if self.dead.is_some() {
            return;
        }
        if self.when.is_empty() {
            if !self.uncertain {
                let because = self.because.clone();
                self.dead = Some(because.unwrap_or_else(|| "it ends before that".to_owned()));
            }
            return;
        }
        let mut when = self.when.clone();
        if self.uncertain {
            when.push(ClockCondition::Unknown);
        } else {
            self.dead = Some("it ends before that".to_owned());
        }
        self.ended = match any(vec![any(std::mem::take(&mut self.ended)), all(when)]) {
            ClockCondition::Any(each) => each,
            one => vec![one],
        };
    }

    /// Returns the conditions on the clock under which this is reached.
    fn when(&self) -> Vec<ClockCondition> {
        if self.ended.is_empty() {
            return self.when.clone();
        }
        at_once(self.when.clone(), not(any(self.ended.clone())))
    }

    /// As one condition; `None` if the clock does not matter.
    pub fn condition(&self) -> Option<ClockCondition> {
        let when = self.when();
        (!when.is_empty()).then(|| all(when))
    }
}

fn at_once(when: Vec<ClockCondition>, more: ClockCondition) -> Vec<ClockCondition> {
    match all([when, vec![more]].concat()) {
        ClockCondition::All(each) => each,
        one => vec![one],
    }
}

fn not(condition: ClockCondition) -> ClockCondition {
    match condition {
        ClockCondition::Not(inner) => *inner,
        ClockCondition::Unknown => ClockCondition::Unknown,
        other => ClockCondition::Not(Box::new(other)),
    }
}

/// All of several conditions, as flat as can be.
pub(crate) fn all(each: Vec<ClockCondition>) -> ClockCondition {
    let flat = each.into_iter().flat_map(|one| match one {
        ClockCondition::All(inner) => inner,
        one => vec![one],
    });
    bounded(flat, ClockCondition::All)
}

/// One of several conditions, as flat as can be.
pub(crate) fn any(each: Vec<ClockCondition>) -> ClockCondition {
    let flat = each.into_iter().flat_map(|one| match one {
        ClockCondition::Any(inner) => inner,
        one => vec![one],
    });
    bounded(flat, ClockCondition::Any)
}

fn bounded(
    each: impl Iterator<Item = ClockCondition>,
    join: fn(Vec<ClockCondition>) -> ClockCondition,
) -> ClockCondition {
    let mut different: Vec<ClockCondition> = Vec::new();
    let mut parts = 0;
    for one in each {
        if different.contains(&one) {
            continue;
        }
        parts += one.parts();
        if parts > PARTS_MAX {
            return ClockCondition::Unknown;
        }
        different.push(one);
    }
    if different.len() == 1 {
        return different.swap_remove(0);
    }
    join(different)
}
