//! The sentence of a verdict. All of it is made by [`sentence`].

use super::clocks::LocalPlace;
use super::decision::{CauseFound, Decision, JobMatch, Outcome, Recurs, SCORE_NAMED};
use super::lasting::{Coincidence, Lasting, LastingChange, Trend};
use super::like_load::LikeLoad;
use super::phrases::{every, how_often, names, percent, periods, place, sampling};
use super::recurrence::{Place, Recurrence, Secondary, is_event};
use super::result::{ChangeKind, Cycle, Kind, Role, Shape};
use super::separation::Experiment;
use super::significance::Significance;
use crate::model::samples::{SAMPLES_MIN, Unusable};
use crate::numbers::seconds;
use facts::series::{Better, Dating};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt::Write as _;
use units::number::probability;

/// What is larger, relative to the usual level, is told in its unit: that level is near zero.
const RELATIVE_MAX: f64 = 1_000.0;
const TYPICAL_OF_TRIM: &str =
    " A slow decay with a sudden recovery right after a run is typical of a trim.";

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
}

/// Returns the sentence, or the few sentences, of a verdict.
pub(crate) fn sentence(
    decision: &Decision,
    significance: &Significance,
    experiment: Option<&Experiment>,
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
        let coincidence = coincidence(change.coincidence.as_ref()?);
        let what = match change.what {
            ChangeKind::PatternBegins => "begins",
            _ => "ends",
        };
        let evidence = if is_explained {
            ", which is strong evidence"
        } else {
            ""
        };
        Some(format!(" It {what} when {coincidence}{evidence}."))
    });
    told.collect()
}

/// Describes what happened at the same time as a change:
/// `fstrim starts running every day instead of every 7 days`.
pub(crate) fn coincidence(coincidence: &Coincidence) -> String {
    match coincidence {
        Coincidence::Rescheduled {
            job,
            before_s,
            after_s,
        } => format!(
            "{job} starts running {} instead of {}",
            every(None, *after_s),
            every(None, *before_s)
        ),
        Coincidence::Ran { job } => format!("{job} ran"),
        Coincidence::Noted { event } => format!("\"{event}\" is noted"),
    }
}

/// Describes another pattern in a sentence.
pub(crate) fn secondary(pattern: &Secondary, context: &SentenceContext) -> String {
    let what = context.secondary(pattern);
    if pattern.jobs.is_empty() {
        format!("There is also {what}.")
    } else {
        format!(
            "There is also {what}; jobs at that time: {}.",
            names(&pattern.jobs)
        )
    }
}

/// Returns whether one of these jobs may be a trim, judging by its name; a directory of scripts may contain
/// one.
fn may_trim(jobs: &[String]) -> bool {
    jobs.iter().any(|name| {
        let is_directory = ["cron.daily", "cron.weekly", "cron.monthly"].contains(&name.as_str());
        is_directory || name.contains("trim")
    })
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
                format!("Cannot tell: {samples} samples; at least {SAMPLES_MIN} are needed.")
            }
            Unusable::Counter => format!(
                "Cannot tell: {} only rises, like a counter. Analyze its rate with --counter {}.",
                self.name, self.name
            ),
        }
    }

    /// The sentence if nothing recurs.
    fn nothing(&self, p: Option<f64>) -> String {
        let chance = match p {
            Some(p) if p < 1.0 => format!(
                "; noise alone looks as regular {} % of the time",
                units::number((p * 100.0).round().max(1.0))
            ),
            _ => String::new(),
        };
        format!("{}: no recurring pattern found{chance}.", self.name)
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
    fn changed(&self, changes: &[LastingChange]) -> String {
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
        let what = match (last.what, last.levels, last.slopes_per_day) {
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
        let when = last.coincidence.as_ref().map_or(String::new(), |what| {
            format!(", when {}", coincidence(what))
        });
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

    /// The sentences for a pattern: what recurs, its cause, and what else recurs.
    fn recurring(&self, recurs: &Recurs, experiment: Option<&Experiment>) -> String {
        let recurrence = &recurs.recurrence;
        let mut text = format!(
            "{} ({} of {} {}){}.",
            self.what_recurs(recurrence),
            recurrence.cycles_seen,
            recurrence.cycles,
            periods(recurrence.rhythm.cycle),
            self.since_until(recurrence)
        );
        text.push_str(&self.clocks(recurrence));
        text.push_str(&self.cause(recurs, experiment));
        text.push_str(match recurs.like_load {
            None => "",
            Some(LikeLoad::WorkingHours) => " Load during working hours looks like this.",
            Some(LikeLoad::TheseDays) => " The usual load of these days looks like this.",
            Some(LikeLoad::DayAndNight) => " The usual load by day and night looks like this.",
            Some(LikeLoad::PartOfWave) => " It may be part of the larger wave of load.",
            Some(LikeLoad::TimesOfDay) => {
                " Other times of the day vary by a comparable amount, so this may be ordinary load."
            }
            Some(LikeLoad::Break) => {
                " A break in the work of these days looks like this, so it may be ordinary load."
            }
            Some(LikeLoad::DayOfRest) => " Lower load on a day of rest looks like this.",
            Some(LikeLoad::Weekend) => " Weekend load looks like this.",
        });
        for other in recurs.others.iter().filter(|other| is_event(other.shape)) {
            text.push(' ');
            text.push_str(&secondary(other, self));
        }
        text
    }

    /// Describes when the pattern began and ended, unless it covers the whole time.
    fn since_until(&self, recurrence: &Recurrence) -> String {
        let late = recurrence.since.zip(self.first).filter(|(since, first)| {
            since.duration_since(*first).as_secs_f64() > recurrence.rhythm.period_s
        });
        let day = |at: Timestamp| units::date::day(at, &TimeZone::UTC);
        match (late, recurrence.until) {
            (None, None) => String::new(),
            (Some((since, _)), None) => format!(", since {}", day(since)),
            (None, Some(until)) => format!(", until {}", day(until)),
            (Some((since, _)), Some(until)) => {
                format!(", from {} until {}", day(since), day(until))
            }
        }
    }

    fn what_recurs(&self, recurrence: &Recurrence) -> String {
        let (name, effect) = (self.name, recurrence.effect);
        let when = self.when(recurrence);
        let size = match effect.relative {
            // Nothing falls by more than all of its usual level, nor rises this often above it: that is near zero.
            Some(relative) if (-1.0..=RELATIVE_MAX).contains(&relative) => percent(relative),
            _ => self.amount(effect.size.abs()),
        };
        let lasting = effect.len_s.map_or(String::new(), |len_s| {
            format!(" for about {}", units::seconds(len_s))
        });
        // A place that is shorter than the event is where it starts.
        let place_s = recurrence
            .place
            .map_or(f64::INFINITY, |at| seconds(at.to_wall_us - at.from_wall_us));
        let is_longer = effect.len_s.is_some_and(|len_s| len_s > place_s);
        let starting = if is_longer { ", starting" } else { "" };
        match recurrence.shape {
            Shape::Sawtooth => {
                let rises = effect.size > 0.0;
                let worsens = match self.better {
                    Some(Better::Lower) => rises,
                    Some(Better::Higher) | None => !rises,
                };
                let known = self.better.is_some();
                let drift = match (rises, effect.relative_per_day) {
                    (true, Some(a_day)) => format!("rises {} a day", percent(a_day)),
                    (false, Some(a_day)) => format!("decays {} a day", percent(a_day)),
                    (true, None) => format!("rises by {size}"),
                    (false, None) => format!("decays by {size}"),
                };
                let back = match (known && worsens, rises) {
                    (true, _) => "recovers",
                    (false, true) => "falls back",
                    (false, false) => "jumps back up",
                };
                format!("{name} {drift} and {back} {when}")
            }
            Shape::Spike => format!("{name} jumps up by {size}{lasting}{starting} {when}"),
            Shape::Dip => format!("{name} drops by {size}{lasting}{starting} {when}"),
            Shape::Step => {
                let way = if effect.size > 0.0 { "higher" } else { "lower" };
                format!("{name} is {size} {way}{lasting}, starting {when}")
            }
            Shape::Wave => {
                format!("{name} rises and falls smoothly by {size}, highest {when}")
            }
        }
    }

    /// Describes how often, and where in each period:
    /// `between Sunday 02:59 and Monday 01:07 UTC every week`.
    fn when(&self, recurrence: &Recurrence) -> String {
        let every = how_often(&recurrence.rhythm);
        let Some(place) = recurrence.place else {
            return every;
        };
        let cycle = recurrence.rhythm.cycle;
        let (from, to) = self.place_texts(cycle, place);
        let place = if from == to {
            format!("at {from}")
        } else {
            format!("between {from} and {to}")
        };
        let zone = self.zone_of(recurrence);
        match cycle {
            Cycle::Runs if recurrence.cycles_seen < recurrence.cycles => {
                "right after a run".to_owned()
            }
            Cycle::Runs => format!("right {every}"),
            Cycle::Hour => format!("{place} {every}"),
            Cycle::Day | Cycle::Week => format!("{place} {zone} {every}"),
            // A single date does not describe all the others.
            Cycle::Fixed => format!("{every}, most recently {place} {zone}"),
        }
    }

    /// Returns the zone whose clocks a pattern follows.
    fn zone_of<'a>(&'a self, recurrence: &'a Recurrence) -> &'a str {
        let clocks = recurrence.clocks.as_ref();
        clocks
            .and_then(|clocks| clocks.other.as_deref())
            .unwrap_or(self.zone)
    }

    /// Describes where a pattern that follows the clocks of another zone is by those of the analysis.
    fn clocks(&self, recurrence: &Recurrence) -> String {
        let Some(clocks) = &recurrence.clocks else {
            return String::new();
        };
        let Some(other) = &clocks.other else {
            return String::new();
        };
        let of = |local: &LocalPlace| {
            let text = |wall_us| place(recurrence.rhythm.cycle, wall_us, self.gap_us);
            let (from, to) = (text(local.from_wall_us), text(local.to_wall_us));
            if from == to {
                from
            } else {
                format!("{from} to {to}")
            }
        };
        let follows = format!(" It follows {other}, not {}", self.zone);
        match &clocks.places[..] {
            [] | [_] => format!("{follows}."),
            [before, after] if !clocks.alternate() => {
                let change = before.until.or(after.since);
                let day = change.map_or(String::new(), |at| units::date::day(at, &TimeZone::UTC));
                format!(
                    "{follows}, where it is {} until {day} and {} after.",
                    of(before),
                    of(after)
                )
            }
            [before, after, ..] => {
                format!(
                    "{follows}, where it is {} or {}, by the season.",
                    of(before),
                    of(after)
                )
            }
        }
    }

    /// Formats the ends of an interval as positions within a cycle.
    pub fn place_texts(&self, cycle: Cycle, at: Place) -> (String, String) {
        (
            place(cycle, at.from_wall_us, self.gap_us),
            place(cycle, at.to_wall_us, self.gap_us),
        )
    }

    /// Describes the cause of a pattern.
    fn cause(&self, recurs: &Recurs, experiment: Option<&Experiment>) -> String {
        let first = recurs.classes.first();
        match (recurs.cause, first) {
            (CauseFound::Jobs, Some(first)) => self.jobs(recurs, first, experiment),
            (CauseFound::LessLoad, Some(first)) => format!(
                " {}, but an improvement this long is more likely reduced load than an effect of the job.",
                runs_then(first),
            ),
            (CauseFound::Fits, Some(first)) => fitting(recurs, first, experiment),
            (CauseFound::RunsThen, Some(first)) => format!(
                " {}, but the values do not follow its starts closely enough to name it.",
                runs_then(first)
            ),
            (CauseFound::SmoothLoad, _) => {
                " A curve this smooth looks like load, not like a job.".to_owned()
            }
            (CauseFound::NoJobsGiven, _) => " There are no jobs to compare it with.".to_owned(),
            (CauseFound::NotTheJobs, _) => " No known job explains it.".to_owned(),
            (CauseFound::NoJobRuns, _) => {
                " No known job on this host runs at that time.".to_owned()
            }
            (
                CauseFound::Jobs | CauseFound::LessLoad | CauseFound::Fits | CauseFound::RunsThen,
                None,
            ) => String::new(),
        }
    }

    /// Describes the jobs that explain a pattern.
    fn jobs(&self, recurs: &Recurs, first: &JobMatch, experiment: Option<&Experiment>) -> String {
        let (matched, cycles) = (first.matched, first.matched + first.missed);
        let is_always = first.missed == 0;
        let several = first.jobs.len() > 1;
        let mut text = match (several, is_always) {
            (true, true) => " These jobs always run".to_owned(),
            (false, true) => " One job always runs".to_owned(),
            (true, false) => format!(" In {matched} of {cycles} cases these jobs run"),
            (false, false) => format!(" In {matched} of {cycles} cases one job runs"),
        };
        text.push_str(" at that time");
        if first.dated_by_start {
            text.push_str(", if your timestamps mark the start of each interval");
        } else if let Some(lag_s) = first.lag_s {
            let _ = write!(text, " or up to {} before", units::seconds(lag_s));
        }
        let _ = write!(text, ": {}", names(&first.jobs));
        if several {
            let _ = write!(
                text,
                "; {} cannot tell them apart",
                sampling(seconds(self.gap_us))
            );
        }
        text.push('.');
        let while_running = if several { "they run" } else { "the job runs" };
        let name = self.name;
        let _ = match (recurs.recurrence.shape, first.role) {
            (Shape::Sawtooth, Role::Heals) if may_trim(&first.jobs) => {
                text.write_str(TYPICAL_OF_TRIM)
            }
            (Shape::Sawtooth, Role::Heals) => text.write_str(" It recovers right after a run."),
            (Shape::Sawtooth, Role::Hurts) => {
                text.write_str(" It is worst right after a run, then improves slowly.")
            }
            (_, Role::Hurts) => write!(text, " {name} is worse while {while_running}."),
            (_, Role::Heals) => write!(text, " {name} is better while {while_running}."),
            (_, Role::Unknown) => {
                text.write_str(" Pass --better to say whether higher or lower is better.")
            }
        };
        if let Some(experiment) = experiment {
            let _ = write!(text, " To tell them apart: {}.", experiment.words());
        }
        text
    }

    /// Describes another pattern: `a spike of 14.6 ms every week between Sunday 06:00 and Sunday 07:00`.
    fn secondary(&self, pattern: &Secondary) -> String {
        let place = pattern.place_wall_us.map_or(String::new(), |(from, to)| {
            let of = |wall_us| place(pattern.rhythm.cycle, wall_us, self.gap_us);
            let zone = pattern.zone.as_ref();
            let zone = zone.map_or(String::new(), |zone| format!(" {zone}"));
            format!(" between {} and {}{zone}", of(from), of(to))
        });
        let what = match pattern.shape {
            Shape::Sawtooth => "a sawtooth",
            Shape::Spike => "a spike",
            Shape::Dip => "a dip",
            Shape::Step => "a temporary step",
            Shape::Wave => "a smooth wave",
        };
        format!(
            "{what} of {} {}{place}",
            self.amount(pattern.size.abs()),
            how_often(&pattern.rhythm)
        )
    }
}

/// Begins a sentence on how often jobs run at the time of a pattern: `backup runs at that time in 69 of 70 cases`.
fn runs_then(jobs: &JobMatch) -> String {
    let dated = if jobs.dated_by_start {
        "If your timestamps mark the start of each interval, "
    } else {
        ""
    };
    format!(
        "{dated}{} {} at that time in {} of {} cases",
        names(&jobs.jobs),
        if jobs.jobs.len() > 1 { "run" } else { "runs" },
        jobs.matched,
        jobs.matched + jobs.missed,
    )
}

/// Describes the jobs that fit a pattern, with their shares.
fn fitting(recurs: &Recurs, first: &JobMatch, experiment: Option<&Experiment>) -> String {
    let mut text = if recurs.may_be_load {
        // The load that looks like this is told next: a job that runs then is no suspect.
        match recurs.like_load {
            Some(_) => String::new(),
            None => format!(
                " {}, but an event this long may be ordinary load.",
                runs_then(first)
            ),
        }
    } else {
        let shares: Vec<String> = recurs
            .classes
            .iter()
            .map(|class| {
                // Never rounded up to a share at which it would be named.
                let most = if class.score < SCORE_NAMED { 0.94 } else { 1.0 };
                let share = units::share::score(class.score.min(most));
                let each = if class.jobs.len() > 1 {
                    " together"
                } else {
                    ""
                };
                format!("{} ({share}{each})", names(&class.jobs))
            })
            .collect();
        let left = 1.0 - recurs.classes.iter().map(|class| class.score).sum::<f64>();
        format!(
            " Suspected, not proven: {}, or something else ({}).",
            shares.join(", "),
            units::share::score(left.max(0.0))
        )
    };
    if recurs.recurrence.shape == Shape::Sawtooth
        && first.role == Role::Heals
        && may_trim(&first.jobs)
    {
        text.push_str(TYPICAL_OF_TRIM);
    }
    if let Some(experiment) = experiment.filter(|_| !text.is_empty()) {
        let jobs = units::list(&first.jobs);
        let _ = write!(text, " To tell {jobs} apart: {}.", experiment.words());
    }
    text
}

#[cfg(test)]
mod tests;
