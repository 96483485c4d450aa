//! The result of an analysis. It defines the JSON output of `trimtab explain` and the data of its charts.

pub use crate::model::samples::SampleTaken;
use facts::series::{Better, Dating};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// The result for all series.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Analysis {
    /// One per series, most interesting first.
    pub series: Vec<SeriesVerdict>,
    /// What recurs at the same times in series of several hosts: with known jobs first, then that of the most hosts.
    pub common: Vec<Common>,
    /// Name of the time zone of calendars and phases.
    pub zone: String,
}

/// A pattern that recurs at the same times in series of several hosts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Common {
    /// The series that show it: indices into [`Analysis::series`], ascending.
    pub series: Vec<usize>,
    /// Their hosts, by the labels of the series; the sources of series without such labels.
    pub hosts: Vec<String>,
    /// The number of hosts of all series.
    pub hosts_of: usize,
    /// Whether labels tell the host of every series; else sources stand for hosts, and several may be of one.
    pub are_hosts: bool,
    /// Jobs that fit all of these hosts, and explain it in at least half of the series; empty if there are none.
    pub jobs: Vec<String>,
    /// Jobs that fit all of these hosts without being proven; empty if there are none, or `jobs` are known.
    pub possible: Vec<String>,
    /// The conclusion in one sentence.
    pub sentence: String,
}

/// A series and its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SeriesVerdict {
    /// The series' name.
    pub name: String,
    /// The source of the series.
    pub source: String,
    /// The host that it is of, by its labels; null if they do not tell.
    pub host: Option<String>,
    /// Unit of its values.
    pub unit: Option<String>,
    /// Whether higher or lower is better; null if unknown.
    pub better: Option<Better>,
    /// How its times were dated.
    pub dating: Dating,
    /// Number of samples.
    pub samples: usize,
    /// Time of the first sample; null without samples.
    pub from: Option<Timestamp>,
    /// Time of the last sample.
    pub until: Option<Timestamp>,
    /// Median interval between samples.
    pub gap_s: Option<f64>,
    /// What was corrected or skipped while it was read.
    pub notes: Vec<String>,
    /// The verdict.
    pub verdict: Verdict,
}

/// What a series shows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// The classification.
    pub kind: Kind,
    /// How sure the cause is; null if nothing recurs.
    pub level: Option<Level>,
    /// Why it cannot be told; null unless `kind` is `undecided`.
    pub undecided: Option<Undecided>,
    /// The verdict in one or two sentences.
    pub sentence: String,
    /// Period in seconds, if something recurs.
    pub period_s: Option<f64>,
    /// The calendar that it follows.
    pub cycle: Option<Cycle>,
    /// The days of the week on which it occurs, `Monday` first; null for all days.
    pub weekdays: Option<Vec<String>>,
    /// Position in each period of the reset, spike, dip or step.
    pub phase: Option<Phase>,
    /// Whose clocks it follows; null unless it recurs daily or weekly and clocks changed meanwhile.
    pub clock: Option<ClockChoice>,
    /// Its shape.
    pub shape: Option<Shape>,
    /// Whether ordinary load of people, as by working hours or weekends, looks the same.
    pub looks_like_load: bool,
    /// Probability of a pattern this clear by chance, from a bootstrap of the search's maximum: (1+b)/(1+B)
    /// (Phipson and Smyth 2010). Above 0.01 it is a rough one, of few simulations.
    pub p: Option<f64>,
    /// The same, adjusted over all series (Benjamini and Hochberg 1995).
    pub q: Option<f64>,
    /// Start of the first period that shows it.
    pub since: Option<Timestamp>,
    /// End of the last period that shows it; null if it lasts until the last sample.
    pub until: Option<Timestamp>,
    /// Number of periods between `since` and `until` that have samples.
    pub cycles: Option<usize>,
    /// Number of those that show the pattern on their own.
    pub cycles_seen: Option<usize>,
    /// Its size.
    pub effect: Option<Effect>,
    /// Whose time recurs, in a series of the time of discards and flushes; null in any other.
    pub requests: Option<Requests>,
    /// What a sample was taken for; null where that is unknown or does not matter.
    pub sample: Option<SampleTaken>,
    /// The interval of each reset, spike, dip or step, as exactly as the samples tell.
    pub events: Vec<Interval>,
    /// Jobs that may be the cause, most likely first; jobs that the samples cannot distinguish form a
    /// class.
    pub classes: Vec<JobClass>,
    /// Every explanation that was compared, including "nothing" and "an unknown cause", best first.
    pub candidates: Vec<Candidate>,
    /// Weaker patterns.
    pub also: Vec<OtherPattern>,
    /// Lasting changes of level or slope, oldest first.
    pub changes: Vec<Change>,
    /// Slope of the whole series, in units per day, if it never changes and a line explains it better than a
    /// level; else null.
    pub trend_per_day: Option<f64>,
    /// What would change this verdict, one sentence each.
    pub would_change: Vec<String>,
    /// The series folded by its period, for drawing.
    pub folded: Option<Folded>,
}

/// The classification of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It recurs, and a class of jobs explains it.
    Periodic,
    /// It does not recur, but its level or slope changed.
    Change,
    /// No pattern and no change was found.
    None,
    /// It cannot be told, for the reason in [`Verdict::undecided`]; not the same as no pattern.
    Undecided,
    /// It recurs, but its cause is unknown.
    Unattributed,
}

/// How sure the cause of a pattern is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// One job explains it, with a probability of at least 95 %.
    Named,
    /// Some jobs fit: those in [`Verdict::classes`], with their probabilities, or several that the samples cannot tell apart.
    Fits,
    /// No known job explains it.
    Unknown,
}

/// Why it cannot be told whether something recurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Undecided {
    /// The samples have no dates, or no times of day.
    NoTimes,
    /// There are too few samples.
    TooFewSamples,
    /// Too few periods were seen.
    TooFewCycles,
    /// It only rises, like a counter whose rate has to be analysed.
    Counter,
    /// Among this many series, something as clear is likely due to chance.
    NotSignificant,
}

/// The calendar of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cycle {
    /// Every hour.
    Hour,
    /// Every day, in local time.
    Day,
    /// Every week, in local time.
    Week,
    /// At a job's runs, whatever their calendar.
    Runs,
    /// A fixed period that is not a calendar's.
    Fixed,
}

/// The shape of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A slow drift and a sudden reset.
    Sawtooth,
    /// A short increase.
    Spike,
    /// A short decrease.
    Dip,
    /// Two alternating levels.
    Step,
    /// Smooth, like day and night load.
    Wave,
}

/// Requests whose time a series shows that cannot tell discards from flushes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Requests {
    /// Probably discards: it rises while writes do not.
    Discards,
    /// Perhaps flushes: writes rise as well.
    WithWrites,
    /// Either: the device's writes do not tell.
    DiscardsOrFlushes,
}

/// A time interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Interval {
    /// Earliest time.
    pub from: Timestamp,
    /// Latest time.
    pub to: Timestamp,
}

/// The position of a pattern within its period.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Phase {
    /// Start of the interval, at its last occurrence within the samples.
    pub from: Timestamp,
    /// End of that interval.
    pub to: Timestamp,
    /// The start as text, in the zone of [`Verdict::clock`], else the analysis': `Sunday 06:00`.
    pub from_text: String,
    /// The end as text: `Monday 05:40`.
    pub to_text: String,
}

/// Whose clocks a pattern follows. Zones differ only where clocks change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClockChoice {
    /// The zone whose clocks fit best; the texts of the phase are in its local time.
    pub zone: String,
    /// The zones that it was compared with.
    pub others: Vec<OtherClock>,
    /// Whether the samples tell the clocks apart; if not, it is the analysis' zone.
    pub is_decided: bool,
    /// When it occurs by the clocks of the analysis' zone, if it follows those of another one: oldest
    /// first.
    pub local: Vec<LocalTime>,
}

/// A zone whose clocks fit less well.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OtherClock {
    /// The zone.
    pub zone: String,
    /// By how much the best pattern by its clocks is less likely, in nats.
    pub gain_nats: f64,
}

/// A local time for some stretch between changes of clocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LocalTime {
    /// The start as text: `Sunday 08:45`.
    pub from_text: String,
    /// The end as text.
    pub to_text: String,
    /// The change of clocks before it; null at the first sample.
    pub since: Option<Timestamp>,
    /// The change of clocks after it; null at the last sample.
    pub until: Option<Timestamp>,
}

/// The size of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    /// From the best to the worst value of a period, in the series' unit, signed: negative means below the
    /// level outside of it (spike, dip, step), or falling over the period (sawtooth).
    pub size: f64,
    /// The same as a fraction of the series' median; null if that is 0.
    pub relative: Option<f64>,
    /// Change of a sawtooth per day, as a fraction of the median; null if it begins anew several times a day.
    pub relative_per_day: Option<f64>,
    /// Duration of a spike, dip or step.
    pub len_s: Option<f64>,
}

/// The effect of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Values improve at a run.
    Heals,
    /// Values degrade at a run.
    Hurts,
    /// Unknown, because it is not known which way is better.
    Unknown,
}

/// A class of jobs that the samples cannot distinguish.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JobClass {
    /// Their names.
    pub jobs: Vec<String>,
    /// Their effect.
    pub role: Role,
    /// Events with a run of these jobs, between the samples around it or up to two minutes before.
    pub matched: usize,
    /// Events without such a run.
    pub missed: usize,
    /// Runs without a visible effect, although there are samples.
    pub idle_runs: usize,
    /// The longest time from a run to the samples around the event after it; null if all runs are between
    /// those samples.
    pub lag_s: Option<f64>,
    /// Whether its runs match only if timestamps mark the start of each interval: they are within the
    /// interval of the sample that first shows the event, not before it.
    pub dated_by_start: bool,
    /// Probability relative to all other candidates, all equally likely a priori.
    pub score: f64,
    /// How the runs are known: `seen in the journal`, `computed from etc/crontab:18: 47 6 * * 7`.
    pub evidence: Vec<String>,
    /// An experiment that would distinguish them.
    pub separate_by: Option<String>,
}

/// An explanation that was compared.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Candidate {
    /// Jobs, `an unknown cause, every 7 days`, or `nothing`.
    pub name: String,
    /// Probability relative to all others.
    pub score: f64,
    /// Log-likelihood minus the penalty for the fitted parameters, relative to `nothing`.
    pub gain_nats: f64,
}

/// A weaker pattern.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OtherPattern {
    /// Period in seconds.
    pub period_s: f64,
    /// Its shape.
    pub shape: Shape,
    /// Same as [`Verdict::p`].
    pub p: f64,
    /// Jobs that explain it best; empty if none do.
    pub jobs: Vec<String>,
    /// A description.
    pub sentence: String,
}

/// A lasting change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The last sample before it.
    pub from: Timestamp,
    /// The first sample after it.
    pub to: Timestamp,
    /// What changed.
    pub what: ChangeKind,
    /// Level just before it, in the series' unit; null if a pattern begins or ends.
    pub level_before: Option<f64>,
    /// Level just after.
    pub level_after: Option<f64>,
    /// Slope before, in units per day; null if a pattern begins or ends.
    pub slope_before_per_day: Option<f64>,
    /// Slope after.
    pub slope_after_per_day: Option<f64>,
    /// Whether it is so recent that more samples may move or remove it.
    pub provisional: bool,
    /// A description of a schedule change or another event at the same time.
    pub beside: Option<String>,
}

impl Change {
    /// Returns the levels before and after, if the level changed.
    pub fn levels(&self) -> Option<(f64, f64)> {
        self.level_before.zip(self.level_after)
    }

    /// Returns the slopes before and after, in units per day.
    pub fn slopes_per_day(&self) -> Option<(f64, f64)> {
        self.slope_before_per_day.zip(self.slope_after_per_day)
    }
}

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The level.
    Level,
    /// The slope.
    Slope,
    /// A pattern began.
    PatternBegins,
    /// A pattern ended.
    PatternEnds,
}

/// A series folded by its period.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Folded {
    /// Length of the fold: the period, or a week if the period divides one.
    pub period_s: f64,
    /// Start of one fold.
    pub anchor: Timestamp,
    /// Median of the samples of each bin; null if there are none.
    pub median: Vec<Option<f64>>,
    /// Lower quartile.
    pub low: Vec<Option<f64>>,
    /// Upper quartile.
    pub high: Vec<Option<f64>>,
}
