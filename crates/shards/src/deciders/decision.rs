//! What a decider answers, and how its reason is told (`Decision` of 7.4.0).
//!
//! Deciders are generic over a [`Why`]. With [`Silent`] no text is made, nothing is allocated, and the
//! first NO ends the round; with [`Told`] every decider is asked and gives its reason in words.

/// What one decider, or all of them together, say (`Decision.Type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Forbidden.
    No,
    /// Allowed, but not now.
    Throttle,
    /// Allowed.
    Yes,
}

impl Verdict {
    /// The verdict of both: any NO is a NO, else any THROTTLE a THROTTLE (`Decision.Multi.type`).
    #[must_use]
    pub fn and(self, other: Verdict) -> Verdict {
        self.min(other)
    }

    /// Whether this allows more than the other (`Decision.Type.higherThan`).
    #[must_use]
    pub(crate) fn higher_than(self, other: Verdict) -> bool {
        self > other
    }

    /// As the server's answers spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::No => "NO",
            Verdict::Throttle => "THROTTLE",
            Verdict::Yes => "YES",
        }
    }
}

/// One decider's verdict with its reason (`Decision.Single`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The verdict.
    pub verdict: Verdict,
    /// The decider's name as in the server's answers, such as `disk_threshold`; `None` where no decider
    /// was asked, because the node is on the copy's ignore list.
    pub decider: Option<&'static str>,
    /// The reason in words, naming the setting and the numbers.
    pub explanation: Option<String>,
}

/// A verdict with the reasons it is made of (`Decision.Multi`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The verdict of all reasons together.
    pub verdict: Verdict,
    /// One for each decider that has an opinion on the question, in the order in which they were asked.
    pub reasons: Vec<Reason>,
}

/// Hears what deciders answer.
pub trait Why {
    /// Whether reasons are heard at all: if not, the first NO ends the questions.
    const ON: bool;
    /// Hears a decider's answer.
    fn hear(&mut self, reason: Reason);
    /// A mark to which [`Why::take_back`] returns.
    fn mark(&self) -> usize;
    /// Forgets what was heard since the mark, and gives the name of the last decider heard.
    fn take_back(&mut self, mark: usize) -> Option<&'static str>;
}

/// Hears nothing: for decisions in bulk.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Why for Silent {
    const ON: bool = false;
    fn hear(&mut self, _: Reason) {}
    fn mark(&self) -> usize {
        0
    }
    fn take_back(&mut self, _: usize) -> Option<&'static str> {
        None
    }
}

/// Collects every reason (the debug modes `ON` and `EXCLUDE_YES_DECISIONS`).
#[derive(Clone, Debug, Default)]
pub struct Told {
    reasons: Vec<Reason>,
    /// Leaves reasons for a YES out, as the explain API does unless asked for them.
    pub without_yes: bool,
}

impl Told {
    /// Collects all reasons, or all but those for a YES.
    #[must_use]
    pub fn new(without_yes: bool) -> Told {
        Told {
            reasons: Vec::new(),
            without_yes,
        }
    }

    /// The decision with what was heard for it; forgets it.
    pub fn decision(&mut self, verdict: Verdict) -> Decision {
        let mut reasons = std::mem::take(&mut self.reasons);
        if self.without_yes {
            reasons.retain(|reason| reason.verdict != Verdict::Yes);
        }
        Decision { verdict, reasons }
    }
}

impl Why for Told {
    const ON: bool = true;
    fn hear(&mut self, reason: Reason) {
        self.reasons.push(reason);
    }
    fn mark(&self) -> usize {
        self.reasons.len()
    }
    fn take_back(&mut self, mark: usize) -> Option<&'static str> {
        let last = self.reasons[mark..]
            .last()
            .and_then(|reason| reason.decider);
        self.reasons.truncate(mark);
        last
    }
}

/// Answers with a verdict, and with its reason where one is heard: `answer!(why, No, NAME, "...", ...)`.
macro_rules! answer {
    ($why:expr, $verdict:ident, $name:expr, $($text:tt)+) => {{
        if crate::deciders::decision::on($why) {
            $why.hear(crate::deciders::decision::Reason {
                verdict: crate::deciders::decision::Verdict::$verdict,
                decider: Some($name),
                explanation: Some(format!($($text)+)),
            });
        }
        crate::deciders::decision::Verdict::$verdict
    }};
}
pub(crate) use answer;

/// Whether this [`Why`] hears reasons; known when compiled.
pub(crate) fn on<W: Why>(_: &W) -> bool {
    W::ON
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_no_wins_then_any_throttle() {
        use Verdict::{No, Throttle, Yes};
        assert_eq!(Yes.and(Throttle).and(Yes), Throttle);
        assert_eq!(Yes.and(Throttle).and(No).and(Yes), No);
        assert!(Throttle.higher_than(No) && Yes.higher_than(Throttle));
        assert!(!No.higher_than(No) && !Throttle.higher_than(Throttle));
    }

    #[test]
    fn silence_makes_no_text() {
        struct Loud;
        impl std::fmt::Display for Loud {
            fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                panic!("text was made")
            }
        }
        fn ask<W: Why>(why: &mut W) -> Verdict {
            answer!(why, No, "loud", "{}", Loud)
        }
        assert_eq!(ask(&mut Silent), Verdict::No);
        assert!(std::panic::catch_unwind(|| ask(&mut Told::default())).is_err());
    }

    #[test]
    fn reasons_for_yes_are_left_out_on_request() {
        let mut told = Told::new(true);
        let why = &mut told;
        let both = answer!(why, Yes, "a", "fine").and(answer!(why, Throttle, "b", "limit [{}]", 2));
        let decision = told.decision(both);
        assert_eq!(decision.verdict, Verdict::Throttle);
        assert_eq!(decision.reasons.len(), 1);
        assert_eq!(
            decision.reasons[0].explanation.as_deref(),
            Some("limit [2]")
        );
    }
}
