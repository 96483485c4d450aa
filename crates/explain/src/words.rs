//! Sentences.

use crate::JobRuns;
use crate::compose::{self, is_event};
use crate::found::Found;
use crate::numbers::seconds;
use crate::phrases::{
    day, every, every_of, minute, names, number, on_days, percent, periods, place, sampling, span,
};
use crate::verdict::{Change, ChangeKind, Cycle, JobClass, Role, Shape, Verdict};
use facts::series::Better;
use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use std::fmt::Write as _;

/// Whether one of these jobs may be a trim, for all that its name tells: a directory of scripts may
/// hold one.
fn may_trim(jobs: &[String]) -> bool {
    jobs.iter().any(|name| {
        let is_directory = ["cron.daily", "cron.weekly", "cron.monthly"].contains(&name.as_str());
        is_directory || name.contains("trim")
    })
}

/// A step of so many hours a day may be load.
const STEP_HOURS: f64 = 5.0;
/// Beside a wave of load, one of so many.
const BESIDE_HOURS: f64 = 2.0;
/// Rest on one day of the week is shorter than so many.
const REST_HOURS: f64 = 16.0;
/// Samples that are so far apart show no edge.
const COARSE_US: i64 = 1_800_000_000;

/// What is said of the cause of a pattern.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    /// Whether jobs explain it.
    pub explained: bool,
    /// Whether they would, but a rest of load is likelier.
    pub is_rest: bool,
    /// Whether any job runs in half of its gaps.
    pub runs_then: bool,
    /// A word of load, where that may do it.
    pub like_load: Option<&'static str>,
}

/// The waves beside a pattern.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Whether there is one of the day.
    pub is_daily: bool,
    /// Whether one of the pattern's period is larger than that.
    pub is_larger: bool,
}

/// What is looked at while sentences are made.
pub(crate) struct Scene<'a> {
    /// Name of the series.
    pub name: &'a str,
    /// Its unit.
    pub unit: Option<&'a str>,
    /// Which way it is better.
    pub better: Option<Better>,
    /// Name of the zone.
    pub zone: &'a str,
    /// Usual distance of samples.
    pub gap_us: i64,
    /// Time of the first one.
    pub first: Timestamp,
    /// Whether any job was handed in.
    pub jobs: &'a [JobRuns],
    /// How many of them could not be weighed.
    pub useless: usize,
    /// The zone itself.
    pub clock: &'a TimeZone,
}

impl Scene<'_> {
    fn amount(&self, value: f64) -> String {
        match self.unit {
            Some(unit) => format!("{} {unit}", number(value)),
            None => number(value),
        }
    }

    /// The sentence of something that recurs; with a word of load, where that may do it.
    pub fn recurring(&self, verdict: &Verdict, answer: &Answer) -> String {
        let explained = answer.explained;
        let mut text = self.what_recurs(verdict);
        if let (Some(seen), Some(cycles)) = (verdict.cycles_seen, verdict.cycles) {
            let of = periods(verdict.cycle);
            let _ = write!(text, " ({seen} of {cycles} {of})");
        }
        let late = verdict.since.filter(|since| {
            let before_s = since.duration_since(self.first).as_secs_f64();
            verdict.period_s.is_some_and(|period_s| before_s > period_s)
        });
        let _ = match (late, verdict.until) {
            (None, None) => Ok(()),
            (Some(since), None) => write!(text, ", since {}", day(since)),
            (None, Some(until)) => write!(text, ", until {}, and not after", day(until)),
            (Some(since), Some(until)) => {
                write!(
                    text,
                    ", from {} until {}, and not after",
                    day(since),
                    day(until)
                )
            }
        };
        text.push('.');
        let is_wave = verdict.shape.is_some_and(|shape| !is_event(shape));
        if explained {
            text.push_str(&self.blame(verdict));
        } else if is_wave {
            text.push_str(" So smooth a curve is what load looks like, not a job.");
        } else if self.jobs.is_empty() {
            text.push_str(" There are no jobs to compare it with.");
        } else if let Some(first) = verdict.classes.first().filter(|_| answer.is_rest) {
            let _ = write!(
                text,
                " In {} of {} of those gaps runs {}; what is better for so long is likelier a rest than its doing.",
                first.matched,
                first.matched + first.missed,
                names(&first.jobs)
            );
        } else if let Some(first) = verdict.classes.first() {
            let _ = write!(
                text,
                " No known job explains it well; {} comes closest ({} of {} match).",
                names(&first.jobs),
                first.matched,
                first.matched + first.missed
            );
        } else if answer.runs_then
            || verdict
                .candidates
                .iter()
                .any(|one| one.name != "nothing" && !one.name.starts_with("an unknown cause"))
        {
            text.push_str(" No known job explains it.");
        } else {
            text.push_str(" No known job on this host runs then.");
        }
        text.push_str(answer.like_load.unwrap_or_default());
        text
    }

    fn what_recurs(&self, verdict: &Verdict) -> String {
        let name = self.name;
        let Some((effect, shape)) = verdict.effect.as_ref().zip(verdict.shape) else {
            return format!("{name} recurs");
        };
        let when = self.when(verdict);
        let size = match effect.relative {
            Some(relative) if relative.is_finite() => percent(relative),
            _ => self.amount(effect.size.abs()),
        };
        let lasting = effect
            .len_s
            .map_or(String::new(), |len_s| format!(" for about {}", span(len_s)));
        match shape {
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
            Shape::Spike => format!("{name} jumps up by {size}{lasting} {when}"),
            Shape::Dip => format!("{name} drops by {size}{lasting} {when}"),
            Shape::Step => {
                let way = if effect.size > 0.0 { "higher" } else { "lower" };
                format!("{name} is {size} {way}{lasting}, beginning {when}")
            }
            Shape::Wave => {
                format!("{name} goes up and down smoothly by {size}, highest {when}")
            }
        }
    }

    /// Another pattern, in words: `a spike every week between Sunday 06:00 and Sunday 07:00, of 14.6 ms`.
    pub fn other(&self, found: &Found) -> String {
        let (cycle, size) = (compose::cycle(&found.pattern), found.pattern.size());
        let shape = found.pattern.form.shape(size);
        let place = match (cycle, found.beginnings[found.on.clone()].last()) {
            (Cycle::Hour | Cycle::Day | Cycle::Week, Some((at, _))) if is_event(shape) => {
                let (from, to) = found.pattern.interval_us;
                let (from, to) = (
                    place(cycle, at + from, self.gap_us),
                    place(cycle, at + to, self.gap_us),
                );
                format!(" between {from} and {to}")
            }
            _ => String::new(),
        };
        let what = match shape {
            Shape::Sawtooth => "a sawtooth",
            Shape::Spike => "a spike",
            Shape::Dip => "a dip",
            Shape::Step => "a step there and back",
            Shape::Wave => "a smooth wave",
        };
        let often = match compose::weekdays(&found.pattern) {
            Some(names) => on_days(&names),
            None => every(Some(cycle), found.pattern.clock.period_us() / 1e6),
        };
        format!("{what} {often}{place}, of {}", self.amount(size.abs()))
    }

    /// What people's load may do as well as a job: hours of every day, or the weekend. Beside a larger wave of the
    /// day some hours may be a part of that, where samples are too far apart to tell a bend from an edge.
    pub fn like_load(&self, verdict: &Verdict, beside: Load) -> Option<&'static str> {
        let effect = verdict.effect?;
        let hours = effect.len_s? / 3_600.0;
        let from = verdict.phase.as_ref()?.from.to_zoned(self.clock.clone());
        let is_down = effect.size < 0.0;
        let is_morning = (5..12).contains(&from.hour());
        let is_weekend = matches!(from.weekday(), Weekday::Saturday | Weekday::Sunday);
        match (verdict.shape?, verdict.cycle?) {
            (Shape::Step, Cycle::Day) if hours >= STEP_HOURS => Some(match &verdict.weekdays {
                Some(_) if is_morning && !is_down => " Load in working hours looks like that, too.",
                Some(_) => " Load of those days looks like that, too.",
                None => " Load by day and night looks like that, too.",
            }),
            (_, Cycle::Day) if beside.is_larger && hours >= BESIDE_HOURS && self.is_coarse() => {
                Some(" Beside so large a wave of load, it may be a part of that.")
            }
            (_, Cycle::Week)
                if beside.is_daily
                    && is_weekend
                    && is_down
                    && (STEP_HOURS..REST_HOURS).contains(&hours) =>
            {
                Some(" Where people rest on that day load looks like that, too.")
            }
            (Shape::Step, Cycle::Week)
                if (24.0..=72.0).contains(&hours)
                    && (from.weekday() == Weekday::Friday && from.hour() >= 12
                        || from.weekday() == Weekday::Saturday && from.hour() < 14) =>
            {
                Some(" That is the weekend: load looks like that, too.")
            }
            _ => None,
        }
    }

    /// Whether samples are too far apart to show an edge.
    pub fn is_coarse(&self) -> bool {
        self.gap_us >= COARSE_US
    }

    /// How often, and where in each period: `between Sunday 02:59 and Monday 01:07 UTC every week`.
    fn when(&self, verdict: &Verdict) -> String {
        let every = every_of(verdict);
        let Some(phase) = &verdict.phase else {
            return every;
        };
        let place = if phase.from_text == phase.to_text {
            format!("at {}", phase.from_text)
        } else {
            format!("between {} and {}", phase.from_text, phase.to_text)
        };
        let zone = self.zone;
        match verdict.cycle {
            Some(Cycle::Runs) if verdict.cycles_seen < verdict.cycles => {
                "right after a run".to_owned()
            }
            Some(Cycle::Runs) => format!("right {every}"),
            Some(Cycle::Hour) => format!("{place} {every}"),
            Some(Cycle::Day | Cycle::Week) => format!("{place} {zone} {every}"),
            // A date says little of all the others.
            _ => format!("{every}, the last time {place} {zone}"),
        }
    }

    fn blame(&self, verdict: &Verdict) -> String {
        let Some(first) = verdict.classes.first() else {
            return String::new();
        };
        let all = first.missed == 0;
        let several = first.jobs.len() > 1;
        let mut text = match (several, all) {
            _ if first.dated_by_start => format!(
                " If times mark the start of what each sample stands for, {} within the first one that shows it{}: ",
                if several { "these run" } else { "one job runs" },
                if all {
                    String::new()
                } else {
                    format!(" ({} of {})", first.matched, first.matched + first.missed)
                }
            ),
            _ if first.lag_s.is_some() => format!(
                " In {} of {} of those gaps, or up to {} before, run: ",
                first.matched,
                first.matched + first.missed,
                span(first.lag_s.unwrap_or_default())
            ),
            (true, true) => " Jobs that run in every one of those gaps: ".to_owned(),
            (false, true) => " One job runs in every one of those gaps: ".to_owned(),
            (_, false) => format!(
                " In {} of {} of those gaps run: ",
                first.matched,
                first.matched + first.missed
            ),
        };
        text.push_str(&names(&first.jobs));
        if several {
            let _ = write!(
                text,
                ", indistinguishable with {}",
                sampling(seconds(self.gap_us))
            );
        }
        let rivals: Vec<String> = verdict.classes[1..]
            .iter()
            .filter(|class| class.score > first.score / 20.0)
            .map(|class| names(&class.jobs))
            .collect();
        if !rivals.is_empty() {
            let _ = write!(text, "; nearly as likely: {}", rivals.join("; "));
        }
        text.push_str(match (verdict.shape, first.role) {
            (Some(Shape::Sawtooth), Role::Heals) if may_trim(&first.jobs) => {
                "; a slow decay and a sudden recovery right after is what a trim looks like."
            }
            (Some(Shape::Sawtooth), Role::Heals) => {
                "; what builds up slowly is gone right after a run."
            }
            (Some(Shape::Sawtooth), Role::Hurts) => {
                "; it is worst right after a run, and gets better slowly."
            }
            (_, Role::Hurts) => "; it is worse while they run, so they hurt.",
            (_, Role::Heals) => "; it is better while they run.",
            (_, Role::Unknown) => "; whether they heal or hurt depends on which way is better.",
        });
        if let Some(separate) = &first.separate_by {
            let _ = write!(text, " To tell them apart: {separate}.");
        }
        text
    }

    /// The sentence where nothing recurs.
    pub fn nothing(&self, p: Option<f64>) -> String {
        let chance = match p {
            Some(p) if p < 1.0 => format!(
                "; the best pattern is no clearer than chance makes {} of 100 times",
                number((p * 100.0).round().max(1.0))
            ),
            _ => String::new(),
        };
        format!(
            "{}: no recurring pattern: 'nothing' explains it best{chance}.",
            self.name
        )
    }

    /// What became of the schedule where a pattern begins or ends.
    pub fn bounds(changes: &[Change]) -> String {
        changes
            .iter()
            .filter(|change| {
                matches!(
                    change.what,
                    ChangeKind::PatternBegins | ChangeKind::PatternEnds
                )
            })
            .filter_map(|change| {
                let beside = change.beside.as_ref()?;
                let what = match change.what {
                    ChangeKind::PatternBegins => "begins",
                    _ => "ends",
                };
                Some(format!(
                    " It {what} when {beside}, which is strong evidence."
                ))
            })
            .collect()
    }

    /// The sentence of changes that stay, without any pattern.
    pub fn changed(&self, changes: &[Change]) -> String {
        let Some(last) = changes.last() else {
            return String::new();
        };
        let count = match changes.len() {
            1 => "changed once".to_owned(),
            count => format!("changed {count} times"),
        };
        let which = if changes.len() == 1 {
            ""
        } else {
            "the last time "
        };
        let what = match (last.what, last.levels(), last.slopes_per_day()) {
            (ChangeKind::Slope, _, Some((before, after))) => format!(
                ", its slope from {} to {} a day",
                self.amount(before),
                self.amount(after)
            ),
            (_, Some((before, after)), _) => format!(
                ", {} from {} to {}",
                if after > before { "up" } else { "down" },
                self.amount(before),
                self.amount(after)
            ),
            _ => String::new(),
        };
        let beside = last
            .beside
            .as_ref()
            .map_or(String::new(), |beside| format!(", when {beside}"));
        let provisional = if last.provisional {
            "; so young that more samples may move it"
        } else {
            ""
        };
        format!(
            "{} {count}, {which}between {} and {}{what}{beside}{provisional}.",
            self.name,
            minute(last.from),
            minute(last.to)
        )
    }

    /// What a series does that follows one line.
    pub fn trend(&self, slope_per_day: f64, first: f64, last: f64) -> String {
        let way = if slope_per_day > 0.0 {
            "rises"
        } else {
            "falls"
        };
        format!(
            " Over all of the time it {way} steadily, from {} to {}.",
            self.amount(first),
            self.amount(last)
        )
    }

    /// What would change a verdict.
    pub fn would_change(&self, verdict: &Verdict, explained: bool) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(first) = verdict.classes.first().filter(|_| explained) {
            lines.push(format!(
                "Run {} at another time once: if the pattern does not move along, it is something else.",
                names(&first.jobs)
            ));
            if first.idle_runs > 0 {
                lines.push(format!(
                    "{} runs of {} show nothing; if they did nothing at all, that is explained.",
                    first.idle_runs,
                    names(&first.jobs)
                ));
            }
        } else if verdict.period_s.is_some() {
            lines.push(
                "Schedules of other hosts and of the store itself (snapshots, merges, backups): --jobs and --events."
                    .to_owned(),
            );
            if matches!(verdict.cycle, Some(Cycle::Day | Cycle::Week)) {
                lines.push(format!(
                    "Another zone, if what does it goes by the clock of one: here it is {} (--tz).",
                    self.zone
                ));
            }
        }
        if verdict.period_s.is_some() && seconds(self.gap_us) >= 3_600.0 {
            lines.push(format!(
                "Samples more often than every {}: they narrow down when it happens.",
                span(seconds(self.gap_us))
            ));
        }
        if self.useless > 0 {
            lines.push(format!(
                "{} of {} jobs were not weighed: fewer than 3 runs among the samples, or one between nearly all of them.",
                self.useless,
                self.jobs.len()
            ));
        }
        if self.better.is_none() {
            lines.push("Say which way is better (--better higher|lower).".to_owned());
        }
        lines
    }
}

/// The experiment that tells the jobs of a class apart, or from what runs at the same time.
pub(crate) fn separation(
    class: &JobClass,
    jobs: &[JobRuns],
    zone: &TimeZone,
    gap_s: f64,
) -> Option<String> {
    let runs = |name: &String| {
        jobs.iter()
            .find(|job| job.name == *name)
            .map(|job| &job.runs)
    };
    let first = runs(class.jobs.first()?)?.last()?;
    let local = first.earliest.to_zoned(zone.clone());
    let at = local.strftime("%A %H:%M");
    let is_trim = class.jobs.iter().any(|name| name.contains("trim"));
    let other_day = if local.strftime("%A").to_string() == "Wednesday" {
        "Saturday"
    } else {
        "Wednesday"
    };
    let one = class
        .jobs
        .iter()
        .find(|name| name.contains("trim"))
        .or(class.jobs.first())?;
    let mut text = if is_trim {
        format!("trim on a {other_day}")
    } else {
        format!("run {one} alone on a {other_day}")
    };
    let starts: Vec<Timestamp> = class
        .jobs
        .iter()
        .filter_map(|name| runs(name)?.last().map(|run| run.earliest))
        .collect();
    let apart = starts.iter().any(|start| *start != starts[0]);
    if gap_s >= 7_200.0 {
        let _ = write!(text, ", or sample hourly around {at}");
    } else if apart {
        let _ = write!(text, ", or sample more often around {at}");
    }
    (class.jobs.len() > 1).then_some(text)
}
