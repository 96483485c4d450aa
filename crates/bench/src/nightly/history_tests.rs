use super::*;
use crate::nightly::{AnnotationKind, Outcome};
use crate::trial::{JobRun, Latency, OperationResult, SCHEMA, State};
use crate::validity::Judgement;
use jiff::{SignedDuration, Timestamp};

/// A night at 02:00 UTC, `day` days after 2026-01-01, that indexed `rate` documents a second and took as many ms.
pub fn document(day: i64, rates: &[(&str, f64)]) -> TrialDocument {
    let first: Timestamp = "2026-01-01T02:00:00Z".parse().unwrap();
    let started_at = first + SignedDuration::from_hours(24 * day);
    let operation = |(name, rate): &(&str, f64)| OperationResult {
        phase: "measured".to_owned(),
        operation: (*name).to_owned(),
        open: false,
        duration_s: 1_800.0,
        succeeded: 10_000,
        errors: BTreeMap::new(),
        unfinished: 0,
        requests_per_s: *rate,
        documents_per_s: None,
        latency: Some(Latency {
            mean_ms: *rate,
            p50_ms: *rate,
            p90_ms: *rate,
            p99_ms: *rate,
            p99_9_ms: None,
            max_ms: *rate,
        }),
        service: None,
        lateness: None,
    };
    TrialDocument {
        schema: SCHEMA.to_owned(),
        tool_version: "0.1.0".to_owned(),
        id: format!("t{day:05}"),
        track: "logs".to_owned(),
        track_crc32: "cafe".to_owned(),
        target: "http://es:9200".to_owned(),
        started_at,
        ended_at: Some(started_at + SignedDuration::from_mins(30)),
        time_zone: Some("Europe/Berlin".to_owned()),
        state: State::Complete,
        state_detail: None,
        environment: BTreeMap::new(),
        operations: rates.iter().map(operation).collect(),
        server: BTreeMap::new(),
        host: BTreeMap::from([("written_bytes".to_owned(), 5.0)]),
        jobs: Vec::new(),
        judgement: Some(Judgement::default()),
        notes: Vec::new(),
    }
}

fn history(documents: Vec<TrialDocument>) -> (History, Vec<Skipped>) {
    let mut skipped = Vec::new();
    let read = documents
        .into_iter()
        .enumerate()
        .map(|(index, document)| (format!("f{index}"), Vec::new(), document));
    let history = History::new(read.collect(), &mut skipped);
    (history, skipped)
}

#[test]
fn nights_are_sorted_and_copies_left_out() {
    let (history, skipped) = history(vec![
        document(2, &[("bulk", 3.0)]),
        document(0, &[("bulk", 1.0)]),
        document(2, &[("bulk", 9.0)]),
    ]);
    let folders: Vec<&str> = history
        .trials
        .iter()
        .map(|night| night.folder.as_str())
        .collect();
    assert_eq!(folders, ["f1", "f0"]);
    assert_eq!(skipped.len(), 1);
    assert!(
        skipped[0].what == "f2" && skipped[0].why.contains("f0"),
        "{skipped:?}"
    );
    assert_eq!(history.time_zone.as_deref(), Some("Europe/Berlin"));
}

#[test]
fn primary_metrics_come_first_and_the_others_by_operation() {
    let (history, _) = history(vec![
        document(0, &[("old", 1.0)]),
        document(1, &[("bulk", 1.0), ("search", 2.0)]),
    ]);
    let names: Vec<&str> = history
        .metrics
        .iter()
        .map(|metric| metric.name.as_str())
        .collect();
    assert_eq!(
        names[..9],
        [
            "bulk throughput",
            "bulk latency p50",
            "bulk latency p99",
            "search throughput",
            "search latency p50",
            "search latency p99",
            "old throughput",
            "old latency p50",
            "old latency p99",
        ]
    );
    assert_eq!(
        names[9..14],
        [
            "bulk latency mean",
            "bulk latency p90",
            "bulk latency max",
            "bulk error share",
            "search latency mean"
        ]
    );
    assert!(names.contains(&"host written"));
    let places: Vec<usize> = history.metrics[0]
        .samples
        .iter()
        .map(|sample| sample.trial)
        .collect();
    assert_eq!(places, [1], "only the second night measured it");
}

#[test]
fn only_valid_nights_are_in_the_series() {
    let mut killed = document(1, &[("bulk", 50.0)]);
    (killed.judgement, killed.ended_at) = (None, None);
    let mut same_time = document(2, &[("bulk", 7.0)]);
    same_time.id = "t00002b".to_owned();
    let (history, _) = history(vec![
        document(0, &[("bulk", 1.0)]),
        killed,
        document(2, &[("bulk", 3.0)]),
        same_time,
    ]);
    let outcomes: Vec<Outcome> = history.trials.iter().map(|night| night.outcome).collect();
    assert_eq!(
        outcomes,
        [
            Outcome::Valid,
            Outcome::Unfinished,
            Outcome::Valid,
            Outcome::Valid
        ]
    );
    let series = history.metrics[0].series(&history.trials, "nights");
    assert_eq!(series.values, [1.0, 3.0]);
    // The end of the first night: 02:30.
    assert_eq!(series.times_us[0], 1_767_234_600_000_000);
    assert_eq!(
        series.notes,
        ["1 trial that ended when another did: left out"]
    );
    assert_eq!(history.metrics[0].samples.len(), 4);
}

#[test]
fn changes_are_dated_between_the_nights_that_differ() {
    let night = |day: i64, kernel: Option<&str>| {
        let mut document = document(day, &[("bulk", 1.0)]);
        let kernel = kernel.map(|kernel| ("kernel".to_owned(), kernel.to_owned()));
        document.environment = kernel.into_iter().collect();
        document
    };
    let mut edited = night(5, Some("6.2"));
    edited.track_crc32 = "beef".to_owned();
    // The second night does not state its kernel: nothing changed.
    let (history, _) = history(vec![
        night(0, Some("6.1")),
        night(1, None),
        night(2, Some("6.1")),
        night(3, Some("6.2")),
        edited,
    ]);
    let texts: Vec<&str> = history
        .annotations
        .iter()
        .map(|one| one.text.as_str())
        .collect();
    assert_eq!(texts, ["kernel 6.2 (before: 6.1)", "track logs was edited"]);
    let kernel = &history.annotations[0];
    assert_eq!(kernel.from.to_string(), "2026-01-03T02:30:00Z");
    assert_eq!(kernel.to.to_string(), "2026-01-04T02:00:00Z");
    assert_eq!(history.annotations[1].kind, AnnotationKind::Track);
}

#[test]
fn tracks_that_alternate_are_told_apart_and_see_a_change_once() {
    let night = |day: i64, track: &str, kernel: &str| {
        let mut document = document(day, &[("bulk", 1.0)]);
        document.track = track.to_owned();
        document.track_crc32 = track.to_owned();
        document.environment = [("kernel".to_owned(), kernel.to_owned())].into();
        document
    };
    let (history, _) = history(vec![
        night(0, "logs", "6.1"),
        night(1, "metrics", "6.1"),
        night(2, "logs", "6.2"),
        night(3, "metrics", "6.2"),
    ]);
    let texts: Vec<&str> = history
        .annotations
        .iter()
        .map(|one| one.text.as_str())
        .collect();
    assert_eq!(texts, ["kernel 6.2 (before: 6.1)"]);
    // Between the end of the second night and the start of the third.
    let [kernel] = &history.annotations[..] else {
        panic!("{texts:?}");
    };
    assert_eq!(kernel.from.to_string(), "2026-01-02T02:30:00Z");
    assert_eq!(kernel.to.to_string(), "2026-01-03T02:00:00Z");
    let names: BTreeSet<&str> = history
        .metrics
        .iter()
        .map(|metric| metric.name.as_str())
        .collect();
    assert!(names.contains("logs: bulk throughput") && names.contains("metrics: bulk throughput"));
}

#[test]
fn jobs_within_trials_are_collected() {
    let mut night = document(0, &[("bulk", 1.0)]);
    let run = |name: &str, is_within| JobRun {
        name: name.to_owned(),
        started_at: night.started_at,
        is_logged: true,
        is_within,
    };
    night.jobs = vec![
        run("fstrim", true),
        run("backup", false),
        run("fstrim", true),
    ];
    let (history, _) = history(vec![night]);
    let [within] = &history.within[..] else {
        panic!("{:?}", history.within);
    };
    assert_eq!((within.job.as_str(), within.runs.len()), ("fstrim", 1));
}

#[test]
fn an_operation_of_two_phases_has_a_series_for_each() {
    let mut night = document(0, &[("bulk", 1.0), ("bulk", 2.0)]);
    night.operations[1].phase = "loaded".to_owned();
    let (history, skipped) = history(vec![night]);
    assert!(skipped.is_empty(), "{skipped:?}");
    for (name, value) in [("bulk in measured", 1.0), ("bulk in loaded", 2.0)] {
        let name = format!("{name} throughput");
        let metric = history.metrics.iter().find(|metric| metric.name == name);
        let found = metric.unwrap().samples[0].value;
        assert!((found - value).abs() < 1e-9, "{name}: {found}");
    }
}

#[test]
fn a_metric_that_a_trial_holds_twice_is_not_mixed_in_silence() {
    let (history, skipped) = history(vec![document(0, &[("bulk", 1.0), ("bulk", 2.0)])]);
    assert_eq!(history.metrics[0].samples.len(), 1);
    let named = |one: &Skipped| one.what == "bulk in measured throughput";
    assert!(skipped.iter().any(named), "{skipped:?}");
}
