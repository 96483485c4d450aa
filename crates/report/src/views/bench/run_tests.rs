use super::super::{BenchAnswer, page as page_of};
use super::*;
use crate::envelope::Envelope;
use bench::trial::{SCHEMA, State};
use bench::validity::{Check, Judgement};
use jiff::Timestamp;
use page::{Terminal, terminal};

fn trial(reasons: Vec<Reason>, unchecked: Vec<Check>) -> TrialDocument {
    let operation = |operation: &str, documents_per_s: Option<f64>, latency| OperationResult {
        phase: "steady".to_owned(),
        operation: operation.to_owned(),
        open: documents_per_s.is_none(),
        duration_s: 300.0,
        succeeded: 6_000,
        errors: BTreeMap::new(),
        unfinished: 0,
        requests_per_s: 20.0,
        documents_per_s,
        latency: Some(latency),
        service: None,
        lateness: None,
    };
    let latency = |p50_ms: f64| Latency {
        mean_ms: p50_ms * 1.2,
        p50_ms,
        p90_ms: 2.0 * p50_ms,
        p99_ms: 5.0 * p50_ms,
        p99_9_ms: None,
        max_ms: 9.0 * p50_ms,
    };
    TrialDocument {
        schema: SCHEMA.to_owned(),
        tool_version: "0.1.0".to_owned(),
        id: "20261123T020000Z".to_owned(),
        track: "logs".to_owned(),
        track_crc32: "00000000".to_owned(),
        target: "http://es1:9200".to_owned(),
        started_at: Timestamp::UNIX_EPOCH,
        ended_at: Some(Timestamp::UNIX_EPOCH),
        time_zone: None,
        state: State::Complete,
        state_detail: None,
        environment: BTreeMap::new(),
        operations: vec![
            operation("write", Some(41_300.0), latency(12.0)),
            operation("hour", None, latency(3.0)),
        ],
        server: [("merge_time_s".to_owned(), 20.5)].into(),
        host: [("discarded_bytes".to_owned(), 2_147_483_648.0)].into(),
        jobs: Vec::new(),
        judgement: Some(Judgement { reasons, unchecked }),
        notes: Vec::new(),
    }
}

fn text(trials: Vec<TrialDocument>) -> String {
    let trials = trials
        .into_iter()
        .map(|trial| RanTrial {
            folder: format!("trials/{}", trial.id),
            trial,
        })
        .collect();
    let ran = Ran {
        trials,
        comparison: None,
    };
    let answer = BenchAnswer::Run(Box::new(ran));
    let envelope = Envelope::new(
        "0.1.0",
        Timestamp::UNIX_EPOCH,
        "logs on http://es1:9200",
        answer,
    );
    terminal(&page_of(&envelope, true), &Terminal::default())
}

fn trimmed() -> Reason {
    Reason {
        check: Check::ScheduledJob,
        found: "fstrim.timer ran within the measured time, at 02:10".to_owned(),
        remedy: "Wait 40 min, or move fstrim.timer out of the time of trials.".to_owned(),
    }
}

#[test]
fn a_valid_trial_begins_with_its_figures() {
    let text = text(vec![trial(Vec::new(), vec![Check::Frequency])]);
    assert!(
        text.starts_with("VALID: write wrote 41,300 docs/s; latency p50 12 ms, p99 60 ms.\n"),
        "{text}"
    );
    for expected in [
        "Latency in steady, 5 min",
        "Not checked\n- CPU frequency: needs",
        "2 GiB",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(
        text.lines()
            .all(|line| units::escape::display_width(line) <= 80)
    );
}

#[test]
fn an_invalid_trial_begins_with_the_reason_and_says_what_to_do() {
    let text = text(vec![trial(vec![trimmed()], Vec::new())]);
    assert!(
        text.starts_with("INVALID: fstrim.timer ran within the measured time, at 02:10. Do not"),
        "{text}"
    );
    assert!(text.contains("fix      Wait 40 min"), "{text}");
}

#[test]
fn several_trials_are_a_table_and_the_reasons_of_the_invalid_ones() {
    let text = text(vec![
        trial(Vec::new(), Vec::new()),
        trial(vec![trimmed()], Vec::new()),
    ]);
    assert!(text.starts_with("2 trials, 1 of them INVALID.\n"), "{text}");
    assert!(
        text.contains("trials/20261123T020000Z is INVALID"),
        "{text}"
    );
}
