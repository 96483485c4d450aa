//! `trimtab ssd`: JSON matches its schema, and HTML loads nothing.

use crate::ssd::{number, ssd};
use crate::support::{stderr, stdout};
use jsonschema::Validator;
use serde_json::Value;

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
/// One of its combinations cannot be simulated.
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

/// Returns a command for every kind of result.
fn commands() -> Vec<(&'static str, Vec<String>)> {
    let owned = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    vec![
        ("scenario", owned(SCENARIO)),
        ("sweep", owned(SWEEP)),
        ("five-pages", owned(&["example", "five-pages"])),
        ("ten-runs", owned(&["example", "ten-runs"])),
        ("schedules", owned(&["example", "schedules"])),
    ]
}

fn output(args: &[String], format: &str) -> String {
    let mut all: Vec<&str> = args.iter().map(String::as_str).collect();
    all.extend(["--format", format]);
    let output = ssd(&all);
    // Exit code 1 is a negative result, not an error.
    assert!(
        matches!(output.status.code(), Some(0 | 1)),
        "{args:?}: {}",
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

/// Fields whose removal or change must violate the schema; nullable fields are required too.
const DAMAGED: &[(&str, &str, &str)] = &[
    ("scenario", "/result/summary/mean", "sustained_mb_s"),
    ("scenario", "/result/variants/0", "summary"),
    ("scenario", "/result/series/0", "trimmed"),
    ("sweep", "/result/rows/0", "over_provisioning"),
    ("sweep", "/result/rows/0", "error"),
    ("five-pages", "/result/drives/0/steps/0", "buffer"),
    ("five-pages", "/result/drives/0", "read_bytes"),
    ("ten-runs", "/result/cases/0/runs/0", "mb_s"),
    ("schedules", "/result/cases/0/series/0", "live_share"),
];

#[test]
fn answers_match_the_schema_and_damaged_ones_do_not() {
    let validator = validator();
    for (kind, args) in commands() {
        let document: Value = serde_json::from_str(&output(&args, "json")).unwrap();
        assert_eq!(document["result"]["kind"], kind);
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{}: {error:.200}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{args:?}: {errors:#?}");
        let damaged = DAMAGED.iter().filter(|(of, _, _)| *of == kind);
        let common = [(kind, "", "generated_at"), (kind, "", "warnings")];
        for (_, pointer, field) in damaged.chain(&common) {
            let mut without = document.clone();
            let parent = without.pointer_mut(pointer).unwrap().as_object_mut();
            parent.unwrap().remove(*field).unwrap();
            // No field of the schema is a list of booleans.
            let mut other = document.clone();
            other.pointer_mut(pointer).unwrap()[*field] = serde_json::json!([true]);
            for damaged in [without, other] {
                assert!(!validator.is_valid(&damaged), "{args:?}: {pointer}/{field}");
            }
        }
        for (pointer, value) in [
            ("/schema", "trimtab.ssd/2"),
            ("/result/kind", "prediction"),
            ("/generated_at", "yesterday"),
        ] {
            let mut other = document.clone();
            *other.pointer_mut(pointer).unwrap() = value.into();
            assert!(!validator.is_valid(&other), "{args:?}: {pointer}");
        }
    }
}

#[test]
fn schema_takes_no_command() {
    let output = ssd(&["--schema", "example", "five-pages"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("takes no command"));
    let schema = stdout(&ssd(&["--schema"]));
    for args in [
        &["run", "--schema"][..],
        &["example", "five-pages", "--schema"],
    ] {
        assert_eq!(stdout(&ssd(args)), schema, "{args:?}");
    }
    // Without a command, the available ones are listed.
    for args in [&[][..], &["--quiet"]] {
        let output = ssd(args);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("sweep"), "{args:?}");
    }
    // A global flag may precede the command.
    let output = ssd(&["--quiet", "example", "five-pages"]);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn html_pages_load_nothing_and_are_small() {
    for (kind, args) in commands() {
        let text = output(&args, "html");
        assert!(text.starts_with("<!doctype html>") && text.ends_with("</html>\n"));
        assert!(text.len() < 1_000_000, "{args:?}: {}", text.len());
        for word in [
            "http://", "https://", "src=", "@import", "url(", "<link", "<img", "NaN", "inf ",
        ] {
            assert!(!text.contains(word), "{args:?}: {word}");
        }
        assert!(text.contains("default-src 'none'"));
        assert!(!text.contains("<script"), "{args:?}");
        // Block diagrams and sweeps are tables, not drawings.
        let has_drawing = !matches!(kind, "five-pages" | "sweep");
        assert_eq!(text.contains("<svg"), has_drawing, "{args:?}");
        for tag in [
            "svg", "table", "figure", "div", "p", "text", "tr", "td", "th",
        ] {
            let opened = text.matches(&format!("<{tag} ")).count()
                + text.matches(&format!("<{tag}>")).count();
            let closed = text.matches(&format!("</{tag}>")).count();
            assert_eq!(opened, closed, "{args:?}: {tag}");
        }
    }
}

#[test]
fn html_pages_show_the_numbers_of_the_json() {
    for (kind, args) in commands() {
        let wanted = |of: &dyn Fn(&Value) -> Vec<String>| {
            let document: Value = serde_json::from_str(&output(&args, "json")).unwrap();
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
            _ => continue,
        };
        assert!(numbers.len() >= 2, "{args:?}");
        let text = output(&args, "html");
        for number in numbers {
            assert!(text.contains(&number), "{args:?}: {number}");
        }
    }
}
