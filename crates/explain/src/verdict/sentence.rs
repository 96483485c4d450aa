//! The sentence of a verdict. All of it is made by [`sentence`].

use super::decision::{CauseFound, Decision, Outcome};
use super::lasting::{Lasting, Trend};
use super::result::{Change, ChangeKind, Kind, Requests};
use super::significance::Significance;
use crate::model::samples::{SAMPLES_MIN, Unusable};
use facts::series::{Better, Dating};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use units::count;
use units::number::probability;

mod cause;
mod pattern;

/// A pattern that noise alone seldom shows is not proven, rather than not found.
const SELDOM: f64 = 0.1;

/// What sentences need to know besides the decision.
pub(crate) struct SentenceContext<'a> {
    /// Name of the series.
    pub name: &'a str,
    /// Its unit.
    pub unit: Option<&'a str>,
    /// Whether higher or lower is better.
    pub better: Option<Better>,
    /// Name of the time zone.
    pub zone: &'a str,
    /// Usual sampling interval.
    pub gap_us: i64,
    /// Time of the first sample.
    pub first: Option<Timestamp>,
    /// Number of jobs that were given.
    pub jobs: usize,
    /// Whose time recurs, if it is that of discards and flushes.
    pub requests: Option<Requests>,
}

/// Returns the sentence, or the few sentences, of a verdict.
pub(crate) fn sentence(
    decision: &Decision,
    significance: &Significance,
    experiment: Option<&str>,
    context: &SentenceContext,
) -> String {
    let text = match (&decision.outcome, &decision.lasting) {
        (Outcome::Unusable(why), _) => return context.unusable(*why),
        (
            Outcome::TooFewCycles {
                pattern,
                cycles_seen,
            },
            _,
        ) => format!(
            "Cannot tell: only {cycles_seen} cycles of {} seen; 3 are needed.",
            context.secondary(pattern)
        ),
        (Outcome::Nothing { .. }, Some(lasting)) if decision.kind == Kind::Change => {
            context.changed(&lasting.changes)
        }
        (Outcome::Nothing { p }, lasting) => {
            let trend = lasting.as_ref().and_then(|lasting| lasting.trend);
            context.nothing(*p) + &trend.map_or(String::new(), |trend| context.trend(trend))
        }
        (Outcome::Recurs(recurs), Some(lasting)) if decision.kind == Kind::Change => format!(
            "{} In addition, {}",
            context.changed(&lasting.changes),
            context.recurring(recurs, experiment)
        ),
        (Outcome::Recurs(recurs), lasting) => {
            let is_explained = recurs.cause == CauseFound::Jobs;
            let bounds = lasting
                .as_ref()
                .map(|lasting| bounds(lasting, is_explained));
            context.recurring(recurs, experiment) + &bounds.unwrap_or_default()
        }
    };
    match significance.likely_chance {
        Some(q) => format!(
            "Cannot tell: not significant among this many series (q = {}). {text}",
            probability(q)
        ),
        None => text,
    }
}

/// Describes what happened when a pattern began or ended. It is evidence for the jobs that explain the
/// pattern.
fn bounds(lasting: &Lasting, is_explained: bool) -> String {
    let told = lasting.bounds.iter().filter_map(|change| {
        let beside = change.beside.as_ref()?;
        let what = match change.what {
            ChangeKind::PatternBegins => "begins",
            _ => "ends",
        };
        let evidence = if is_explained {
            ", which is strong evidence"
        } else {
            ""
        };
        Some(format!(" It {what} when {beside}{evidence}."))
    });
    told.collect()
}

impl SentenceContext<'_> {
    fn amount(&self, value: f64) -> String {
        units::number::with_unit(&units::number(value), self.unit)
    }

    fn unusable(&self, why: Unusable) -> String {
        match why {
            Unusable::NotDated(dating) => {
                let dates = match dating {
                    Dating::Day(date) => format!("a date ({date}) but no times of day"),
                    _ => "neither dates nor times of day".to_owned(),
                };
                format!(
                    "Cannot tell: the samples have {dates}, so no schedule can be confirmed or excluded."
                )
            }
            Unusable::TooFew(samples) => {
                format!(
                    "Cannot tell: {}; at least {SAMPLES_MIN} are needed.",
                    count(samples, "sample")
                )
            }
            Unusable::Counter => format!(
                "Cannot tell: {} only rises, like a counter. Analyze its rate with --counter {}.",
                self.name, self.name
            ),
        }
    }

    /// The sentence if nothing recurs.
    fn nothing(&self, p: Option<f64>) -> String {
        let percent = |p: f64| units::number((p * 100.0).round().max(1.0));
        let outcome = match p {
            Some(p) if p < SELDOM => format!(
                "proven; noise alone looks as regular in {} % of cases, too often to rule it out",
                percent(p)
            ),
            Some(p) if p < 1.0 => format!(
                "found; noise alone would look as regular in {} % of cases",
                percent(p)
            ),
            _ => "found".to_owned(),
        };
        format!("{}: no recurring pattern {outcome}.", self.name)
    }

    /// The sentence for a series that follows one line.
    fn trend(&self, trend: Trend) -> String {
        let way = if trend.slope_per_day > 0.0 {
            "rises"
        } else {
            "falls"
        };
        format!(
            " It {way} steadily, from {} to {}.",
            self.amount(trend.first),
            self.amount(trend.last)
        )
    }

    /// The sentence for lasting changes.
    fn changed(&self, changes: &[Change]) -> String {
        let Some(last) = changes.last() else {
            return String::new();
        };
        let count = match changes.len() {
            1 => "changed once".to_owned(),
            2 => "changed twice".to_owned(),
            count => format!("changed {count} times"),
        };
        let which = if changes.len() == 1 {
            ""
        } else {
            "most recently "
        };
        let what = match (last.what, last.levels(), last.slopes_per_day()) {
            (ChangeKind::Slope, _, Some((before, after))) => format!(
                ": slope from {} to {} a day",
                self.amount(before),
                self.amount(after)
            ),
            (_, Some((before, after)), _) => format!(
                ": {} from {} to {}",
                if after > before { "up" } else { "down" },
                self.amount(before),
                self.amount(after)
            ),
            _ => String::new(),
        };
        let when =
            (last.beside.as_ref()).map_or(String::new(), |beside| format!(", when {beside}"));
        let provisional = if last.provisional {
            " (provisional: more samples may move it)"
        } else {
            ""
        };
        format!(
            "{} {count}, {which}between {} and {}{what}{when}{provisional}.",
            self.name,
            units::date::minute_in_zone(last.from, &TimeZone::UTC),
            units::date::minute_in_zone(last.to, &TimeZone::UTC)
        )
    }
}

#[cfg(test)]
mod tests;
