//! `trimtab ssd`: JSON against its schema, pages that load nothing.

use crate::ssd::{file, number, ssd};
use crate::ssd_tools::msr_trace;
use crate::support::{stderr, stdout};
use jsonschema::Validator;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

/// A name that would be markup, were it not escaped.
const HOSTILE: &str = "<script>alert(1)<&'\".csv";

const BARE: &[&str] = &["run", "--logical-pages", "20000", "--op", "15%"];
const SCENARIO: &[&str] = &[
    "run",
    "--capacity",
    "1TB",
    "--writes-per-day",
    "250GB",
    "--reads",
    "0.5",
    "--host-written",
    "40TB",
    "--media-written",
    "80TB",
    "--simulated-pages",
    "32Ki",
    "--days",
    "14",
];
const BARE_SWEEP: &[&str] = &[
    "sweep",
    "--logical-pages",
    "20000",
    "--op",
    "15%,28%",
    "--policy",
    "greedy,fifo",
];
/// One of its settings cannot be simulated.
const SWEEP: &[&str] = &[
    "sweep",
    "--capacity",
    "1TB",
    "--writes-per-day",
    "250GB",
    "--op",
    "7%,28%",
    "--fill",
    "50%,99.5%",
    "--trim",
    "weekly,daily,never",
    "--workload",
    "lsm",
    "--simulated-pages",
    "32Ki",
    "--days",
    "7",
];

/// A decay from 480 to 150 MB/s, and one that is none.
fn series(directory: &Path, name: &str, decays: bool) -> String {
    let text = (0..80).fold(String::from("time_s,mb_s\n"), |mut text, index| {
        let late = f64::from((index - 20).max(0));
        let moved = if decays {
            2.2 * (1.0 - (-late / 15.0).exp())
        } else {
            0.0
        };
        let _ = writeln!(text, "{},{:.1}", index * 30, 480.0 / (1.0 + moved));
        text
    });
    let path = file(directory, name, &text);
    path.to_str().unwrap().to_owned()
}

/// Every kind of answer, with a way to ask for it.
fn asked(directory: &Path) -> Vec<(&'static str, Vec<String>)> {
    let trace = file(directory, HOSTILE, &msr_trace(3000));
    let words = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    vec![
        ("drive", words(BARE)),
        ("scenario", words(SCENARIO)),
        ("sweep", words(BARE_SWEEP)),
        ("sweep", words(SWEEP)),
        ("replay", words(&["replay", trace.to_str().unwrap()])),
        (
            "calibration",
            words(&["calibrate", &series(directory, "<b>decay.csv", true)]),
        ),
        (
            "calibration",
            words(&["calibrate", &series(directory, "<b>flat.csv", false)]),
        ),
        ("five-pages", words(&["example", "five-pages"])),
        ("ten-runs", words(&["example", "ten-runs"])),
        ("schedules", words(&["example", "schedules"])),
    ]
}

fn output(words: &[String], format: &str) -> String {
    let mut all: Vec<&str> = words.iter().map(String::as_str).collect();
    all.extend(["--format", format]);
    let output = ssd(&all);
    // A negative answer is an answer.
    assert!(
        matches!(output.status.code(), Some(0 | 1)),
        "{words:?}: {}",
        stderr(&output)
    );
    stdout(&output)
}

fn validator() -> Validator {
    let schema = ssd(&["--schema"]);
    assert_eq!(schema.status.code(), Some(0), "{}", stderr(&schema));
    let schema: Value = serde_json::from_str(&stdout(&schema)).unwrap();
    jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .unwrap()
}

/// For each kind some fields; what may be null may not be missing either.
const DAMAGED: &[(&str, &str, &str)] = &[
    ("drive", "/result", "theory"),
    ("drive", "/result/series/0", "write_amplification"),
    ("drive", "/result/counters", "host_pages"),
    ("scenario", "/result/summary/mean", "sustained_mb_s"),
    ("scenario", "/result/variants/0", "summary"),
    ("scenario", "/result/series/0", "trimmed"),
    ("sweep", "/result/rows/0", "over_provisioning"),
    ("sweep", "/result/rows/0", "error"),
    ("replay", "/result/latency/writes", "p99_us"),
    ("replay", "/result/lines", "bad"),
    ("calibration", "/result/over_provisioning", "low"),
    ("calibration", "/result", "verdict"),
    ("five-pages", "/result/drives/0/steps/0", "buffer"),
    ("five-pages", "/result/drives/0", "read_bytes"),
    ("ten-runs", "/result/cases/0/runs/0", "mb_s"),
    ("schedules", "/result/cases/0/series/0", "live_share"),
];

#[test]
fn every_answer_fits_the_schema_and_a_damaged_one_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let validator = validator();
    for (kind, words) in asked(directory.path()) {
        let document: Value = serde_json::from_str(&output(&words, "json")).unwrap();
        assert_eq!(document["result"]["kind"], kind);
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{}: {error:.200}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{words:?}: {errors:#?}");
        let damaged = DAMAGED.iter().filter(|(of, _, _)| *of == kind);
        let common = [(kind, "", "generated_at"), (kind, "", "warnings")];
        for (_, pointer, field) in damaged.chain(&common) {
            let mut without = document.clone();
            let parent = without.pointer_mut(pointer).unwrap().as_object_mut();
            parent.unwrap().remove(*field).unwrap();
            // A list of switches stands nowhere.
            let mut other = document.clone();
            other.pointer_mut(pointer).unwrap()[*field] = serde_json::json!([true]);
            for damaged in [without, other] {
                assert!(
                    !validator.is_valid(&damaged),
                    "{words:?}: {pointer}/{field}"
                );
            }
        }
        for (pointer, value) in [
            ("/schema", "trimtab.ssd/2"),
            ("/result/kind", "prediction"),
            ("/generated_at", "yesterday"),
        ] {
            let mut other = document.clone();
            *other.pointer_mut(pointer).unwrap() = value.into();
            assert!(!validator.is_valid(&other), "{words:?}: {pointer}");
        }
    }
}

#[test]
fn the_schema_stands_alone() {
    let output = ssd(&["--schema", "example", "five-pages"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("stands alone"));
    let schema = stdout(&ssd(&["--schema"]));
    for words in [
        &["run", "--schema"][..],
        &["example", "five-pages", "--schema"],
    ] {
        assert_eq!(stdout(&ssd(words)), schema, "{words:?}");
    }
    // Without any command it is said which there are.
    for words in [&[][..], &["--quiet"]] {
        let output = ssd(words);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("calibrate"), "{words:?}");
    }
    // A global flag may still stand before the command.
    let output = ssd(&["--quiet", "example", "five-pages"]);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn every_page_loads_nothing_and_is_small() {
    let directory = tempfile::tempdir().unwrap();
    for (kind, words) in asked(directory.path()) {
        let text = output(&words, "html");
        assert!(text.starts_with("<!doctype html>") && text.ends_with("</html>\n"));
        assert!(text.len() < 1_000_000, "{words:?}: {}", text.len());
        for word in [
            "http://",
            "https://",
            "src=",
            "@import",
            "url(",
            "<link",
            "<img",
            "<script>alert",
            "<b>decay",
            "<b>flat",
            "NaN",
            "inf ",
        ] {
            assert!(!text.contains(word), "{words:?}: {word}");
        }
        assert!(text.contains("default-src 'none'"));
        assert!(!text.contains("<script"), "{words:?}");
        // Grids and blocks are tables.
        let has_drawing = !matches!(kind, "five-pages" | "sweep");
        assert_eq!(text.contains("<svg"), has_drawing, "{words:?}");
        // Tags are closed.
        for tag in [
            "svg", "table", "figure", "div", "p", "text", "tr", "td", "th",
        ] {
            let opened = text.matches(&format!("<{tag} ")).count()
                + text.matches(&format!("<{tag}>")).count();
            let closed = text.matches(&format!("</{tag}>")).count();
            assert_eq!(opened, closed, "{words:?}: {tag}");
        }
    }
}

#[test]
fn pages_show_the_numbers_of_the_documents() {
    let directory = tempfile::tempdir().unwrap();
    for (kind, words) in asked(directory.path()) {
        let wanted = |of: &dyn Fn(&Value) -> Vec<String>| {
            let document: Value = serde_json::from_str(&output(&words, "json")).unwrap();
            of(&document["result"])
        };
        let numbers = match kind {
            "sweep" => wanted(&|result| {
                let rows = result["rows"].as_array().unwrap().iter();
                rows.filter_map(|row| row["write_amplification"].as_f64())
                    .map(|value| format!("<b>{}</b>", units::number(value)))
                    .collect()
            }),
            "ten-runs" => wanted(&|result| {
                let cases = result["cases"].as_array().unwrap().iter();
                cases
                    .flat_map(|case| case["runs"].as_array().unwrap())
                    .map(|run| format!(">{}</td>", units::bytes_per_s(number(&run["mb_s"]) * 1e6)))
                    .collect()
            }),
            "five-pages" => vec![
                ">12 KB</td>".to_owned(),
                ">8 KB</td>".to_owned(),
                ">32 KB</td>".to_owned(),
                "<code>[(A)| B | B | . | . ]</code></td>".to_owned(),
                "<code>[-A-| B | B | . | . ]</code></td>".to_owned(),
            ],
            "calibration" => vec!["class=\"dots\"".to_owned(), "spare area".to_owned()],
            _ => continue,
        };
        assert!(numbers.len() >= 2, "{words:?}");
        let text = output(&words, "html");
        for number in numbers {
            assert!(text.contains(&number), "{words:?}: {number}");
        }
    }
}

#[test]
fn names_of_traces_and_series_stay_words() {
    let directory = tempfile::tempdir().unwrap();
    for (kind, words) in asked(directory.path()) {
        let shown = match kind {
            "replay" => "&lt;script&gt;alert(1)&lt;&amp;&#39;&quot;.csv",
            "calibration" => "&lt;b&gt;",
            _ => continue,
        };
        assert!(output(&words, "html").contains(shown), "{words:?}");
    }
}
