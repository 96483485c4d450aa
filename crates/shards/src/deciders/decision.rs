//! Decisions of deciders and how their reasons are recorded (`Decision` of 7.4.0).
//!
//! Deciders are generic over a [`ReasonSink`]. With [`NoReasons`] no text is produced, nothing is allocated,
//! and the first NO ends the evaluation; with [`ReasonRecorder`] every decider is consulted and records its
//! reason as text.

/// Verdict of one decider or of all of them combined (`Decision.Type`).
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
    /// Combines two verdicts: NO if either is NO, else THROTTLE if either is THROTTLE
    /// (`Decision.Multi.type`).
    #[must_use]
    pub fn and(self, other: Verdict) -> Verdict {
        self.min(other)
    }

    /// The name used in the server's responses.
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
    /// The decider's verdict.
    pub verdict: Verdict,
    /// The decider's name as in the server's responses, such as `disk_threshold`.
    pub decider: Option<&'static str>,
    /// The reason as text, naming the setting and the values.
    pub explanation: Option<String>,
}

/// A combined verdict with the individual reasons (`Decision.Multi`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The combined verdict.
    pub verdict: Verdict,
    /// One reason for each decider that applies, in the order in which they were consulted.
    pub reasons: Vec<Reason>,
}

/// Receives the deciders' reasons.
pub trait ReasonSink {
    /// Whether reasons are recorded. If not, evaluation stops at the first NO.
    const ON: bool;
    /// Records a decider's reason.
    fn record(&mut self, reason: Reason);
    /// Current position, for [`ReasonSink::discard_since`].
    fn mark(&self) -> usize;
    /// Discards the reasons recorded since `mark` and returns the name of the last decider among them.
    fn discard_since(&mut self, mark: usize) -> Option<&'static str>;
}

/// Records nothing; for bulk decisions.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoReasons;

impl ReasonSink for NoReasons {
    const ON: bool = false;
    fn record(&mut self, _: Reason) {}
    fn mark(&self) -> usize {
        0
    }
    fn discard_since(&mut self, _: usize) -> Option<&'static str> {
        None
    }
}

/// Records every reason (the debug modes `ON` and `EXCLUDE_YES_DECISIONS`).
#[derive(Clone, Debug, Default)]
pub struct ReasonRecorder {
    reasons: Vec<Reason>,
    /// Omits reasons for YES, as the explain API does by default.
    pub without_yes: bool,
}

impl ReasonRecorder {
    /// Creates a recorder of all reasons, or of all except those for YES.
    #[must_use]
    pub fn new(without_yes: bool) -> ReasonRecorder {
        ReasonRecorder {
            reasons: Vec::new(),
            without_yes,
        }
    }

    /// Takes the recorded reasons and combines them with the verdict into a decision.
    pub fn decision(&mut self, verdict: Verdict) -> Decision {
        let mut reasons = std::mem::take(&mut self.reasons);
        if self.without_yes {
            reasons.retain(|reason| reason.verdict != Verdict::Yes);
        }
        Decision { verdict, reasons }
    }
}

impl ReasonSink for ReasonRecorder {
    const ON: bool = true;
    fn record(&mut self, reason: Reason) {
        self.reasons.push(reason);
    }
    fn mark(&self) -> usize {
        self.reasons.len()
    }
    fn discard_since(&mut self, mark: usize) -> Option<&'static str> {
        let last = self.reasons[mark..]
            .last()
            .and_then(|reason| reason.decider);
        self.reasons.truncate(mark);
        last
    }
}

/// Evaluates to a verdict and records its reason if reasons are recorded: `answer!(why, No, "...", ...)`. The
/// decider is the `NAME` in scope.
macro_rules! answer {
    ($why:expr, $verdict:ident, $($text:tt)+) => {{
        if crate::deciders::decision::records_reasons($why) {
            $why.record(crate::deciders::decision::Reason {
                verdict: crate::deciders::decision::Verdict::$verdict,
                decider: Some(NAME),
                explanation: Some(format!($($text)+)),
            });
        }
        crate::deciders::decision::Verdict::$verdict
    }};
}
pub(crate) use answer;

/// Whether this [`ReasonSink`] records reasons; a compile-time constant.
pub(crate) fn records_reasons<W: ReasonSink>(_: &W) -> bool {
    W::ON
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "a";

    #[test]
    fn any_no_wins_then_any_throttle() {
        use Verdict::{No, Throttle, Yes};
        assert_eq!(Yes.and(Throttle).and(Yes), Throttle);
        assert_eq!(Yes.and(Throttle).and(No).and(Yes), No);
        assert!(Throttle > No && Yes > Throttle);
    }

    #[test]
    fn no_text_is_formatted_without_a_recorder() {
        struct PanicsWhenFormatted;
        impl std::fmt::Display for PanicsWhenFormatted {
            fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                panic!("text was made")
            }
        }
        fn ask<W: ReasonSink>(why: &mut W) -> Verdict {
            answer!(why, No, "{}", PanicsWhenFormatted)
        }
        assert_eq!(ask(&mut NoReasons), Verdict::No);
        assert!(std::panic::catch_unwind(|| ask(&mut ReasonRecorder::default())).is_err());
    }

    #[test]
    fn reasons_for_yes_are_omitted_on_request() {
        let mut recorder = ReasonRecorder::new(true);
        let why = &mut recorder;
        let both = answer!(why, Yes, "fine").and(answer!(why, Throttle, "limit [{}]", 2));
        let decision = recorder.decision(both);
        assert_eq!(decision.verdict, Verdict::Throttle);
        assert_eq!(decision.reasons.len(), 1);
        assert_eq!(
            decision.reasons[0].explanation.as_deref(),
            Some("limit [2]")
        );
    }
}
