//! The page of `trimtab bench nightly`: golden text, and what the page shows of a history with known causes in it.

use crate::schemas::{assert_valid, validator};
use bench::nightly::{Annotation, AnnotationKind, History};
use bench::trial::{JobRun, OperationResult, SCHEMA, State, TrialDocument};
use bench::validity::{Check, Judgement, Reason};
use explain::JobRuns;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use page::{Terminal, html, terminal};
use report::views::bench::{BenchAnswer, Nightly, page};
use report::{Answer as _, Envelope};
use schedule::{Delays, Run, Seen};
use std::collections::BTreeMap;

const NIGHTS: i64 = 84;
/// The night with another kernel, from which on searches take a tenth longer.
const KERNEL_NIGHT: i64 = 50;

fn start(night: i64) -> Timestamp {
    // A Monday.
    let first: Timestamp = "2026-01-05T02:00:00Z".parse().unwrap();
    first + SignedDuration::from_hours(24 * night)
}

/// Noise of about one per cent, the same every time: the finaliser of `SplitMix64`.
fn noise(night: i64, salt: i64) -> f64 {
    let mut mixed = (night * 2 + salt)
        .unsigned_abs()
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    #[allow(clippy::cast_precision_loss)] // some bits are enough
    let share = (mixed >> 11) as f64 / (1_u64 << 53) as f64;
    1.0 + 0.03 * (share - 0.5)
}

fn operation(name: &str, requests_per_s: f64) -> OperationResult {
    OperationResult {
        phase: "measured".to_owned(),
        operation: name.to_owned(),
        open: false,
        duration_s: 1_200.0,
        succeeded: 10_000,
        errors: BTreeMap::new(),
        unfinished: 0,
        requests_per_s,
        documents_per_s: None,
        latency: None,
        service: None,
        lateness: None,
    }
}

/// What writes slows down by 1.5 % a day from Tuesday to Monday night: trimmed on Mondays at 06:47.
#[allow(clippy::cast_precision_loss)] // nights
fn trial(night: i64) -> TrialDocument {
    let since_trim = (night + 6) % 7;
    let kernel = night >= KERNEL_NIGHT;
    let bulk = 50_000.0 * (1.0 - 0.015 * since_trim as f64) * noise(night, 1);
    let search = 900.0 * if kernel { 0.9 } else { 1.0 } * noise(night, 2);
    TrialDocument {
        schema: SCHEMA.to_owned(),
        tool_version: "0.1.0".to_owned(),
        id: format!("n{night:03}"),
        track: "logs".to_owned(),
        track_crc32: "cafe".to_owned(),
        target: "http://es:9200".to_owned(),
        started_at: start(night),
        ended_at: Some(start(night) + SignedDuration::from_mins(25)),
        time_zone: Some("UTC".to_owned()),
        state: State::Complete,
        state_detail: None,
        environment: [(
            "kernel".to_owned(),
            if kernel { "6.2" } else { "6.1" }.to_owned(),
        )]
        .into(),
        operations: vec![operation("bulk", bulk), operation("search", search)],
        server: BTreeMap::new(),
        host: BTreeMap::new(),
        jobs: Vec::new(),
        judgement: Some(Judgement::default()),
        notes: Vec::new(),
    }
}

fn fstrim() -> JobRuns {
    let run = |week: i64| {
        let at = start(7 * week) + SignedDuration::from_mins(4 * 60 + 47);
        Run {
            job: "fstrim".to_owned(),
            earliest: at,
            latest: at,
            delays: Delays::Either,
            len_s: None,
            seen: Seen::Computed,
            evidence: "crontab:1: 47 6 * * 1".into(),
        }
    };
    JobRuns {
        name: "fstrim".to_owned(),
        runs: (-1..=NIGHTS / 7).map(run).collect(),
        unknown: Vec::new(),
        by_hand: None,
    }
}

fn answer(edit: impl Fn(i64, &mut TrialDocument)) -> Envelope<BenchAnswer> {
    let mut skipped = Vec::new();
    let read = (0..NIGHTS).map(|night| {
        let mut document = trial(night);
        edit(night, &mut document);
        let files = vec!["trial.json".to_owned(), "client.csv".to_owned()];
        (document.id.clone(), files, document)
    });
    let mut history = History::new(read.collect(), &mut skipped);
    let note = Annotation {
        kind: AnnotationKind::Note,
        text: "moved to <new> racks".to_owned(),
        from: start(70),
        to: start(70),
    };
    history.add_notes(vec![note], &mut skipped);
    let series: Vec<_> = history
        .metrics
        .iter()
        .map(|metric| metric.series(&history.trials, "nights"))
        .collect();
    let jobs = [fstrim()];
    let analysis = explain::explain(&series, &jobs, &explain::Options::default());
    let nightly = Nightly::new(
        "nights/index.html".to_owned(),
        history,
        analysis,
        &jobs,
        Some("crontab x".to_owned()),
        TimeZone::UTC,
    );
    let mut envelope = Envelope::new(
        "0.1.0",
        start(NIGHTS),
        "nights",
        BenchAnswer::Nightly(Box::new(nightly)),
    );
    envelope.skipped = skipped;
    envelope
}

fn with_faults(night: i64, document: &mut TrialDocument) {
    match night {
        20 => {
            document.operations[0].requests_per_s = 9_000.0;
            document.jobs = vec![JobRun {
                name: "backup".to_owned(),
                started_at: start(20) + SignedDuration::from_mins(9),
                is_logged: true,
                is_within: true,
            }];
            document.judgement = Some(Judgement {
                reasons: vec![Reason {
                    check: Check::ScheduledJob,
                    found: "backup <b>ran</b> within the trial".to_owned(),
                    remedy: "Start 40 min later.".to_owned(),
                }],
                unchecked: Vec::new(),
            });
        }
        60 => {
            document.state = State::Running;
            (document.ended_at, document.judgement) = (None, None);
            document.operations.clear();
        }
        _ => {}
    }
}

#[test]
fn a_terminal_shows_what_recurs_and_what_changed() {
    let answer = answer(with_faults);
    let text = terminal(&page(&answer, true), &Terminal::default());
    insta::assert_snapshot!("nightly_text", text);
}

#[test]
fn the_page_shows_each_metric_and_each_trial() {
    let text = html(&page(&answer(with_faults), false));
    for (part, count) in [
        ("<figure class=\"chart\"", 4),
        // One trial that is not valid, two drawings and the legend of each chart that has it.
        ("class=\"crosses\"", 4 * 3),
        // Kernel and note, in both drawings of each chart.
        ("<text class=\"flag\"", 4 * 2 * 2),
        ("moved to &lt;new&gt; racks", 1 + 4 * 2),
        ("<a href=\"./n000/trial.json\">", 1),
        ("href=\"./n020/trial.json\"", 2),
        ("/client.csv\">", usize::try_from(NIGHTS).unwrap()),
        (
            "backup &lt;b&gt;ran&lt;/b&gt; within the trial. Start 40 min later.",
            1,
        ),
        ("it still runs, or was killed", 1),
        ("b: backup within a trial", 4),
    ] {
        assert_eq!(text.matches(part).count(), count, "{part}");
    }
    assert!(!text.contains("<b>ran") && !text.contains("http://es:9200\""));
}

#[test]
fn a_last_trial_that_does_not_count_is_said_first() {
    let answer = answer(|night, document| {
        if night == NIGHTS - 1 {
            document.judgement = None;
        }
    });
    let page = page(&answer, true);
    assert!(
        page.cautions[0].starts_with("the last trial (2026-03-29 02:00) is unfinished."),
        "{:?}",
        page.cautions
    );
}

#[test]
fn the_document_matches_its_schema() {
    let text = answer(with_faults).json();
    assert_valid(&validator(BenchAnswer::JSON_SCHEMA), &text);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let result = &document["result"];
    assert_eq!(result["kind"], "nightly");
    assert_eq!(result["metrics"][0]["name"], "bulk throughput");
    assert_eq!(
        result["verdicts"][0]["verdict"]["classes"][0]["jobs"][0],
        "fstrim"
    );
}
