//! Hand-made analyses to render, filled in as an analysis would be.

use explain::JobRuns;
use explain::disk_log::{Burst, DeviceJump, DiskLog, Harm, HarmTo, Moved};
use explain::verdict::{
    Analysis, Candidate, Change, ChangeKind, Cycle, Effect, Folded, Interval, JobClass, Kind,
    Level, OtherPattern, Phase, Role, SeriesVerdict, Shape, Verdict,
};
use facts::Skipped;
use facts::series::{Better, Dating, Series};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use report::ExplainReport;
use schedule::{Delays, Run, Seen};
use std::collections::BTreeMap;

pub const DAY_S: i64 = 86_400;
const US: i64 = 1_000_000;

/// A report that owns its data.
pub struct Case {
    pub analysis: Analysis,
    pub series: Vec<Series>,
    pub disk_logs: Vec<DiskLog>,
    pub jobs: Vec<JobRuns>,
    pub zone: TimeZone,
    pub skipped: Vec<Skipped>,
    pub warnings: Vec<String>,
}

impl Case {
    pub fn new(parts: Vec<(Series, Verdict)>) -> Self {
        let (series, verdicts): (Vec<Series>, Vec<Verdict>) = parts.into_iter().unzip();
        let pairs = series.iter().zip(verdicts);
        Self {
            analysis: Analysis {
                series: pairs
                    .map(|(series, verdict)| about(series, verdict))
                    .collect(),
                common: Vec::new(),
                zone: "Europe/Berlin".to_owned(),
            },
            series,
            disk_logs: Vec::new(),
            jobs: Vec::new(),
            zone: schedule::parse_zone("Europe/Berlin").unwrap(),
            skipped: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub fn report(&self) -> ExplainReport<'_> {
        ExplainReport {
            analysis: &self.analysis,
            series: &self.series,
            disk_logs: &self.disk_logs,
            jobs: &self.jobs,
            jobs_from: Some("bundle host.tar.zst".to_owned()),
            zone: &self.zone,
            zone_from: "the host's".to_owned(),
            source: "races.csv".to_owned(),
            tool_version: "0.0.0".to_owned(),
            generated_at: at("2026-11-22T00:00:00Z"),
            skipped: &self.skipped,
            warnings: &self.warnings,
        }
    }
}

pub fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn about(series: &Series, verdict: Verdict) -> SeriesVerdict {
    let moment = |us: &i64| Timestamp::from_microsecond(*us).unwrap();
    let mut gaps: Vec<i64> = series
        .times_us
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .collect();
    gaps.sort_unstable();
    SeriesVerdict {
        name: series.name.clone(),
        source: series.source.clone(),
        host: series.host().map(str::to_owned),
        unit: series.unit.clone(),
        better: series.better,
        dating: series.dating,
        samples: series.times_us.len(),
        from: series.times_us.first().map(moment),
        until: series.times_us.last().map(moment),
        #[allow(clippy::cast_precision_loss)] // days
        gap_s: gaps.get(gaps.len() / 2).map(|gap| *gap as f64 / 1e6),
        notes: series.notes.clone(),
        verdict,
    }
}

pub fn series(name: &str, start: &str, step_s: i64, values: Vec<f64>) -> Series {
    let start_us = at(start).as_microsecond();
    Series {
        name: name.to_owned(),
        source: "races.csv".to_owned(),
        labels: BTreeMap::new(),
        unit: Some("ops/s".to_owned()),
        better: Some(Better::Higher),
        dating: Dating::Absolute,
        sample_of: None,
        times_us: (0_i64..)
            .take(values.len())
            .map(|index| start_us + index * step_s * US)
            .collect(),
        values,
        notes: Vec::new(),
        discard_time: None,
    }
}

/// A verdict of a kind with nothing else filled in.
pub fn bare(kind: Kind, sentence: &str) -> Verdict {
    Verdict {
        sentence: sentence.to_owned(),
        candidates: vec![Candidate {
            name: "nothing".to_owned(),
            score: 1.0,
            gain_nats: 0.0,
        }],
        kind,
        undecided: None,
        level: None,
        period_s: None,
        cycle: None,
        weekdays: None,
        phase: None,
        clock: None,
        shape: None,
        looks_like_load: false,
        p: None,
        q: None,
        since: None,
        until: None,
        cycles: None,
        cycles_seen: None,
        effect: None,
        requests: None,
        sample: None,
        events: Vec::new(),
        classes: Vec::new(),
        also: Vec::new(),
        changes: Vec::new(),
        trend_per_day: None,
        would_change: Vec::new(),
        folded: None,
    }
}

fn run(job: &str, start: Timestamp, evidence: &str) -> Run {
    Run {
        job: job.to_owned(),
        earliest: start,
        latest: start,
        delays: Delays::Either,
        len_s: None,
        seen: Seen::Computed,
        evidence: evidence.into(),
    }
}

/// Twelve weeks of nightly values at 05:40 that decline and recover on Sundays; two jobs of
/// cron.weekly in one class, a daily one in another.
#[expect(clippy::too_many_lines, reason = "one case in full")]
pub fn weekly() -> Case {
    // Monday 2016-01-04, 05:40 in Berlin.
    let values: Vec<f64> = (0..84_i32)
        .map(|day| 51_000.0 * (1.0 - 0.018 * f64::from(day % 7)) + f64::from(day * 37 % 11) * 40.0)
        .collect();
    let mut curve = series("throughput", "2016-01-04T04:40:00Z", DAY_S, values);
    curve.notes = vec!["2 values that are no numbers were left out".to_owned()];
    let sundays: Vec<Timestamp> = (0..11)
        .map(|week| at("2016-01-10T05:47:00Z") + jiff::SignedDuration::from_hours(week * 7 * 24))
        .collect();
    let days: Vec<Timestamp> = (0..84)
        .map(|day| at("2016-01-04T05:25:00Z") + jiff::SignedDuration::from_hours(day * 24))
        .collect();
    let events: Vec<Interval> = (0..11)
        .map(|week| {
            let from = at("2016-01-10T04:40:00Z") + jiff::SignedDuration::from_hours(week * 168);
            Interval {
                from,
                to: from + jiff::SignedDuration::from_hours(24),
            }
        })
        .collect();
    let weekly = "computed from etc/crontab:18: 47 6 * * 7".to_owned();
    let verdict = Verdict {
        level: Some(Level::Fits),
        period_s: Some(604_800.0),
        cycle: Some(Cycle::Week),
        phase: Some(Phase {
            from: events[10].from,
            to: events[10].to,
            from_text: "Sunday 05:40".to_owned(),
            to_text: "Monday 05:40".to_owned(),
        }),
        shape: Some(Shape::Sawtooth),
        p: Some(0.001),
        q: Some(0.002),
        since: Some(at("2016-01-04T04:40:00Z")),
        cycles: Some(11),
        cycles_seen: Some(11),
        effect: Some(Effect {
            size: -5_508.0,
            relative: Some(-0.114),
            relative_per_day: Some(-0.018),
            len_s: None,
        }),
        events,
        classes: vec![
            JobClass {
                jobs: vec![
                    "cron.weekly/fstrim".to_owned(),
                    "cron.weekly/man-db".to_owned(),
                ],
                role: Role::Heals,
                matched: 11,
                missed: 0,
                idle_runs: 0,
                lag_s: None,
                dated_by_start: false,
                score: 0.94,
                evidence: vec![weekly.clone(), "stamp of anacron: 2016-03-27".to_owned()],
                separate_by: Some(
                    "trim on a Wednesday, or sample hourly around Sunday 06:47".to_owned(),
                ),
            },
            JobClass {
                jobs: vec!["cron.daily/logrotate".to_owned()],
                role: Role::Unknown,
                matched: 11,
                missed: 0,
                idle_runs: 73,
                lag_s: None,
                dated_by_start: false,
                score: 0.001,
                evidence: vec!["computed from etc/crontab:17: 25 6 * * *".to_owned()],
                separate_by: None,
            },
        ],
        candidates: vec![
            candidate("cron.weekly (fstrim, man-db)", 0.94, 212.5),
            candidate("an unknown cause, every 7 days", 0.059, 209.7),
            candidate("cron.daily/logrotate", 0.001, 205.6),
            candidate("nothing", 1e-40, 0.0),
        ],
        also: vec![OtherPattern {
            period_s: 86_400.0,
            shape: Shape::Wave,
            p: 0.008,
            jobs: Vec::new(),
            sentence: "A weak wave by the day.".to_owned(),
        }],
        changes: vec![Change {
            from: at("2016-02-01T04:40:00Z"),
            to: at("2016-02-02T04:40:00Z"),
            what: ChangeKind::Level,
            level_before: Some(51_000.0),
            level_after: Some(49_500.0),
            slope_before_per_day: Some(0.0),
            slope_after_per_day: Some(0.0),
            provisional: true,
            beside: Some("deploy of 2016-02-01".to_owned()),
        }],
        would_change: vec![
            "a week in which none of these jobs ran, and a reset all the same".to_owned(),
            "a reset on another day of the week after the jobs were moved to it".to_owned(),
        ],
        folded: Some(Folded {
            period_s: 604_800.0,
            anchor: at("2016-01-03T23:00:00Z"),
            median: (0..7)
                .map(|day| Some(51_000.0 - 918.0 * f64::from(day)))
                .collect(),
            low: (0..7)
                .map(|day| Some(50_800.0 - 918.0 * f64::from(day)))
                .collect(),
            high: (0..7)
                .map(|day| Some(51_200.0 - 918.0 * f64::from(day)))
                .collect(),
        }),
        ..bare(
            Kind::Periodic,
            "Throughput decays 1.8 % a day and recovers between Sunday 05:40 and Monday 05:40 every \
             week (11 of 11 weeks). Jobs that run in every one of those gaps: cron.weekly/fstrim and \
             cron.weekly/man-db, which these samples cannot tell apart; a slow decay and a sudden \
             recovery right after is what a trim looks like.",
        )
    };
    let mut case = Case::new(vec![(curve, verdict)]);
    let runs_of = |name: &str, starts: &[Timestamp], evidence: &str| JobRuns {
        name: name.to_owned(),
        runs: starts
            .iter()
            .map(|start| run(name, *start, evidence))
            .collect(),
        unknown: Vec::new(),
        by_hand: None,
    };
    case.jobs = vec![
        runs_of("cron.weekly/fstrim", &sundays, &weekly),
        runs_of("cron.weekly/man-db", &sundays, &weekly),
        runs_of("cron.daily/logrotate", &days, "etc/crontab:17: 25 6 * * *"),
    ];
    case.jobs[2].unknown = vec!["etc/crontab:20: @reboot, when cron starts".to_owned()];
    case
}

fn candidate(name: &str, score: f64, gain_nats: f64) -> Candidate {
    Candidate {
        name: name.to_owned(),
        score,
        gain_nats,
    }
}

/// The weekly series next to others of each kind.
pub fn several() -> Case {
    let first = weekly();
    let wave: Vec<f64> = (0..600_u32).map(|hour| f64::from(hour % 24)).collect();
    let mut waiting = series("await of nvme1n1", "2026-03-01T00:00:00Z", 3_600, wave);
    waiting.unit = Some("ms".to_owned());
    waiting.better = Some(Better::Lower);
    let unattributed = Verdict {
        period_s: Some(86_400.0),
        cycle: Some(Cycle::Day),
        shape: Some(Shape::Wave),
        p: Some(0.000_02),
        q: Some(0.000_1),
        effect: Some(Effect {
            size: 23.0,
            relative: Some(2.0),
            relative_per_day: None,
            len_s: Some(3_600.0),
        }),
        candidates: vec![
            candidate("an unknown cause, every day", 0.98, 80.0),
            candidate("nothing", 0.0, 0.0),
        ],
        ..bare(
            Kind::Unattributed,
            "It recurs daily, highest at 23:00, and no job on this host runs then.",
        )
    };
    let flat = series("load", "2026-03-01T00:00:00Z", 60, vec![1.0; 50]);
    let few = series("merges", "2026-03-01T00:00:00Z", 3_600, vec![1.0, 4.0, 2.0]);
    let mut case = Case::new(vec![
        (waiting, unattributed),
        (
            first.series[0].clone(),
            first.analysis.series[0].verdict.clone(),
        ),
        (
            flat,
            bare(
                Kind::None,
                "No recurring pattern: \"nothing\" explains it best.",
            ),
        ),
        (
            few,
            bare(Kind::Undecided, "Cannot tell: 0 cycles seen, 3 needed."),
        ),
    ]);
    case.jobs = first.jobs;
    case.warnings = vec!["races.csv is older than the host's crontabs".to_owned()];
    case.skipped = vec![Skipped::new("races.csv:17", "the line has no time", None)];
    case
}

/// A name with everything that could break a rendering.
pub const HOSTILE: &str = "</script><img src=x onerror=\"alert(1)\">'&`rm -rf`\u{1b}[31m\u{202e}\n日本日本日本日本日本日本日本日本日本日本日本";

/// Hostile names in every place that holds a name.
pub fn hostile() -> Case {
    let mut case = weekly();
    let words = || HOSTILE.to_owned();
    case.series[0].name = words();
    case.series[0].source = words();
    case.series[0].unit = Some(words());
    case.jobs[0].name = words();
    case.jobs[0].unknown = vec![words()];
    let hostile = &mut case.analysis.series[0];
    hostile.name = words();
    hostile.source = words();
    hostile.unit = Some(words());
    hostile.notes = vec![words()];
    let verdict = &mut hostile.verdict;
    verdict.sentence = words();
    verdict.classes[0].jobs[0] = words();
    verdict.classes[0].evidence[0] = words();
    verdict.classes[0].separate_by = Some(words());
    verdict.candidates[0].name = words();
    verdict.also[0].sentence = words();
    verdict.changes[0].beside = Some(words());
    verdict.would_change = vec![words()];
    if let Some(phase) = &mut verdict.phase {
        phase.from_text = words();
        phase.to_text = words();
    }
    case.analysis.zone = words();
    case.warnings = vec![words()];
    case.skipped = vec![Skipped::new(words(), words(), Some(HOSTILE))];
    case
}

/// A single sample, and values at the limits of the number range.
pub fn extreme() -> Case {
    let one = series("one", "2026-03-01T00:00:00Z", 60, vec![5.0]);
    let huge = series(
        "huge",
        "2026-03-01T00:00:00Z",
        60,
        vec![f64::MIN, 0.0, f64::MAX, 1e-300, f64::MAX],
    );
    let empty = series("empty", "2026-03-01T00:00:00Z", 60, Vec::new());
    let mut undated = series(
        "undated",
        "1970-01-01T00:00:00Z",
        1,
        vec![1.0, 7.0, 1.0, 7.0],
    );
    undated.dating = Dating::Undated;
    undated.better = None;
    undated.unit = None;
    let mut day = series("day", "2020-04-13T00:00:00Z", 5, vec![1.0, 7.0, 1.0, 7.0]);
    day.dating = Dating::Day(jiff::civil::date(2020, 4, 13));
    let cannot = || bare(Kind::Undecided, "Cannot tell.");
    Case::new(vec![
        (one, cannot()),
        (huge, cannot()),
        (empty, cannot()),
        (undated, cannot()),
        (day, cannot()),
    ])
}

/// A disk log whose own series show nothing, with hostile names in it.
pub fn disks() -> Case {
    let day = Dating::Day(jiff::civil::date(2020, 4, 13));
    disk_log(day, Kind::Undecided)
}

/// The same, with another dating and another verdict of each series.
pub fn disk_log(dating: Dating, kind: Kind) -> Case {
    let parts = (0..3).map(|number| {
        let mut one = series(
            &format!("sd{number} kB_wrtn/s"),
            "2020-04-13T00:00:00Z",
            3,
            vec![512.0, 8e6],
        );
        one.dating = dating;
        one.labels
            .insert("metric".to_owned(), "kB_wrtn/s".to_owned());
        one.labels.insert("host".to_owned(), HOSTILE.to_owned());
        (one, bare(kind, "Cannot tell."))
    });
    let mut case = Case::new(parts.collect());
    let device = |name: &str, members: &[&str]| DeviceJump {
        device: name.to_owned(),
        members: members.iter().map(|name| (*name).to_owned()).collect(),
        before_kb_s: 512.0,
        after_kb_s: vec![Some(8e6), None],
        times: Some(15_625.0),
        read_before_kb_s: Some(2_048.0),
        read_after_kb_s: vec![Some(0.0), None],
        read_down_times: vec![None, None],
        request_kb: None,
    };
    case.disk_logs = vec![DiskLog {
        source: "races.csv".to_owned(),
        host: Some(HOSTILE.to_owned()),
        kernel: Some("4.4.0-1105-aws".to_owned()),
        dating,
        samples: 2,
        bursts: vec![Burst {
            first_sample: 2,
            samples: 1,
            is_clearest: true,
            at: None,
        }],
        devices: vec![
            DeviceJump {
                before_kb_s: 0.0,
                times: None,
                read_before_kb_s: None,
                read_after_kb_s: vec![None, None],
                ..device("sda", &[])
            },
            device(HOSTILE, &[]),
            device("md0", &["sda", HOSTILE]),
        ],
        drives_kb_s: 16e6,
        harm: vec![Harm {
            what: HarmTo::Iowait,
            device: None,
            from: 0.2,
            to: 9.8,
        }],
        moved: Moved::ProbablyDiscards,
        because: vec!["Linux 4.4.0-1105-aws counts discards as writes.".to_owned()],
        sentences: vec![
            "Writes jump between sample 1 and sample 2 of 2: md0 15,625x.".to_owned(),
            HOSTILE.to_owned(),
        ],
        cannot_tell: vec!["Whether it recurs.".to_owned()],
        mounts: vec![HOSTILE.to_owned()],
    }];
    case
}

pub fn all() -> Vec<(&'static str, Case)> {
    vec![
        ("weekly", weekly()),
        ("several", several()),
        ("hostile", hostile()),
        ("extreme", extreme()),
        ("empty", Case::new(Vec::new())),
    ]
}
