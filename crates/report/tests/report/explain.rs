//! What people and programs see of an analysis.

use crate::explained::{self, Case};
use crate::schemas::assert_valid;
use explain::verdict::Kind;
use jsonschema::Validator;
use report::explain::{ExplainTextOptions, HtmlOptions, html, json, text};
use report::{ExplainResult, TextOptions, schema_of};
use serde_json::Value;

fn options(width: usize, unicode: bool, color: bool) -> ExplainTextOptions {
    ExplainTextOptions {
        text: TextOptions {
            width,
            unicode,
            color,
            verbose: false,
        },
        ..ExplainTextOptions::default()
    }
}

fn plain(case: &Case) -> String {
    text(&case.report(), &ExplainTextOptions::default())
}

#[test]
fn text_at_80_columns() {
    for (name, case) in explained::all() {
        insta::assert_snapshot!(format!("explain_text_{name}"), plain(&case));
    }
}

#[test]
fn text_in_ascii_and_in_colour() {
    let weekly = explained::weekly();
    let ascii = text(&weekly.report(), &options(80, false, false));
    assert!(ascii.is_ascii(), "{ascii}");
    insta::assert_snapshot!("explain_text_weekly_ascii", ascii);
    let color = text(&weekly.report(), &options(80, true, true));
    insta::assert_snapshot!("explain_text_weekly_color", color);
    // Colour adds nothing and takes nothing away.
    let mut without = String::new();
    let mut rest = color.as_str();
    while let Some(at) = rest.find('\u{1b}') {
        without.push_str(&rest[..at]);
        rest = &rest[at..];
        rest = &rest[rest.find('m').unwrap() + 1..];
    }
    without.push_str(rest);
    assert_eq!(without, plain(&weekly));
}

/// Columns as terminals count them: the wide characters of these cases take two.
fn columns(line: &str) -> usize {
    line.chars()
        .map(|c| {
            if ('日'..='本').contains(&c) || c == '日' {
                2
            } else {
                1
            }
        })
        .sum()
}

#[test]
fn lines_fit_and_hold_no_controls() {
    for (name, case) in explained::all() {
        for width in [40, 60, 80, 120] {
            for unicode in [false, true] {
                let shown = text(&case.report(), &options(width, unicode, false));
                for line in shown.lines() {
                    // What stands between two backticks is never broken.
                    if !line.contains('`') {
                        assert!(columns(line) <= width, "{name} at {width}: {line:?}");
                    }
                    assert!(
                        !line.chars().any(|c| c.is_control() || c == '\u{202e}'),
                        "{name}: {line:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_sentence_comes_first_and_nothing_is_a_candidate() {
    let case = explained::weekly();
    let shown = plain(&case);
    assert!(
        shown.starts_with("Throughput decays 1.8 % a day"),
        "{shown}"
    );
    for (_, case) in explained::all() {
        let shown = plain(&case);
        let candidates = shown
            .lines()
            .filter(|line| line.ends_with("  nothing"))
            .count();
        assert_eq!(candidates, case.series.len().min(5), "{shown}");
    }
}

#[test]
fn a_class_and_its_candidate_are_one_line() {
    let shown = plain(&explained::weekly());
    let lines: Vec<&str> = shown.lines().filter(|line| line.contains(" %  ")).collect();
    assert_eq!(lines.len(), 4, "{lines:#?}");
    assert!(
        lines[0].contains("11") && lines[0].contains("heals"),
        "{}",
        lines[0]
    );
    assert!(
        lines[0].ends_with("cron.weekly (fstrim, man-db)"),
        "{}",
        lines[0]
    );
}

#[test]
fn series_of_one_name_are_told_apart_by_their_source() {
    let part = |name: &str, source: &str| {
        let values = vec![1.0; 20];
        let mut one = explained::series(name, "2026-01-01T00:00:00Z", explained::DAY_S, values);
        one.source = source.to_owned();
        (one, explained::bare(Kind::None, "Nothing recurs."))
    };
    let case = Case::new(vec![
        part(
            "latency_ms",
            "/srv/a very long directory, as they are/es1/d.csv",
        ),
        part(
            "latency_ms",
            "/srv/a very long directory, as they are/es10/<d>.csv",
        ),
        part("load", "/srv/load.csv"),
    ]);
    let shown = plain(&case);
    let page = html(&case.report(), &HtmlOptions::default());
    for (title, escaped) in [
        ("latency_ms of es1/d.csv", "latency_ms of es1/d.csv"),
        (
            "latency_ms of es10/<d>.csv",
            "latency_ms of es10/&lt;d&gt;.csv",
        ),
        ("load", "load"),
    ] {
        let rows = shown
            .lines()
            .filter(|line| line.ends_with(&format!("  {title}")));
        assert_eq!(rows.count(), 1, "{shown}");
        assert!(shown.contains(&format!("── {title} ──")), "{shown}");
        assert!(page.contains(&format!("\">{escaped}</a></td>")), "{page}");
        assert!(page.contains(&format!("<h2>{escaped}</h2>")), "{page}");
    }
    // By nothing, where the source is the same.
    let case = Case::new(vec![part("x", "/srv/a.csv"), part("x", "/srv/a.csv")]);
    assert_eq!(plain(&case).matches("── x ──").count(), 2);
}

#[test]
fn details_are_of_the_first_only() {
    let case = explained::several();
    let few = ExplainTextOptions {
        details_max: 1,
        ..ExplainTextOptions::default()
    };
    let shown = text(&case.report(), &few);
    assert!(shown.contains("3 more series"), "{shown}");
    assert!(!shown.contains("Throughput decays"), "{shown}");
    let page = html(&case.report(), &HtmlOptions { details_max: 1 });
    assert_eq!(page.matches("<section").count(), 1);
    assert!(page.contains("href=\"#s0\"") && !page.contains("href=\"#s1\""));
}

fn validator() -> Validator {
    jsonschema::options()
        .should_validate_formats(true)
        .build(&serde_json::from_str(&schema_of::<ExplainResult<'_>>()).unwrap())
        .unwrap()
}

#[test]
fn documents_follow_the_published_schema() {
    let validator = validator();
    for (_, case) in explained::all() {
        assert_valid(&validator, &json(&case.report()));
    }
    insta::assert_snapshot!("explain_json_weekly", json(&explained::weekly().report()));
}

#[test]
fn the_schema_demands_what_the_contract_names() {
    let validator = validator();
    let document: Value = serde_json::from_str(&json(&explained::weekly().report())).unwrap();
    assert_eq!(document["schema"], "trimtab.explain/1");
    for (pointer, field) in [
        ("", "schema"),
        ("", "source"),
        ("", "warnings"),
        ("/result", "series"),
        ("/result", "zone"),
        ("/result", "jobs_from"),
        ("/result/series/0", "verdict"),
        ("/result/series/0/verdict", "kind"),
        ("/result/series/0/verdict", "sentence"),
        ("/result/series/0/verdict/classes/0", "separate_by"),
    ] {
        let mut without = document.clone();
        let parent = without.pointer_mut(pointer).unwrap();
        parent.as_object_mut().unwrap().remove(field).unwrap();
        assert!(!validator.is_valid(&without), "{pointer}/{field}");
    }
}

/// Whether tags are balanced and attributes quoted, as HTML parsers and people expect it.
fn assert_well_formed(name: &str, page: &str) {
    const VOID: [&str; 3] = ["meta", "input", "br"];
    let mut open: Vec<String> = Vec::new();
    let mut rest = page.strip_prefix("<!doctype html>").unwrap();
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let end = rest
            .find('>')
            .unwrap_or_else(|| panic!("{name}: a tag does not end"));
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(closed), "{name}");
            continue;
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{name}: <{tag}>");
        let word = tag.split([' ', '\n', '/']).next().unwrap().to_owned();
        assert!(
            word.chars().all(|c| c.is_ascii_alphanumeric()),
            "{name}: <{tag}>"
        );
        if tag.ends_with('/') || VOID.contains(&word.as_str()) {
            continue;
        }
        if word == "script" || word == "style" {
            let end = rest.find(&format!("</{word}>")).unwrap();
            rest = &rest[end..];
        }
        open.push(word);
    }
    assert!(open.is_empty(), "{name}: {open:?} stay open");
}

#[test]
fn pages_are_well_formed_and_load_nothing() {
    for (name, case) in explained::all() {
        let page = html(&case.report(), &HtmlOptions::default());
        assert_well_formed(name, &page);
        for word in [
            "http:", "https:", "@import", "url(h", "url('", "//www", "fetch(", "XMLHttp",
        ] {
            assert!(!page.contains(word), "{name}: {word}");
        }
        assert!(page.contains("default-src 'none'"), "{name}");
        assert!(!page.contains("NaN") && !page.contains("inf "), "{name}");
    }
}

#[test]
fn words_stay_words_on_a_page() {
    let page = html(&explained::hostile().report(), &HtmlOptions::default());
    assert!(!page.contains("<img") && !page.contains("onerror=\"") && !page.contains('\u{202e}'));
    // The data of one series, and the page's own script.
    assert_eq!(page.matches("</script>").count(), 2);
    let data = data_of(&page);
    assert_eq!(data["unit"], explained::HOSTILE);
}

fn data_of(page: &str) -> Value {
    let start = page.find("<script type=\"application/json\">").unwrap();
    let json = &page[start + "<script type=\"application/json\">".len()..];
    serde_json::from_str(&json[..json.find("</script>").unwrap()]).unwrap()
}

#[test]
fn a_page_keeps_a_spike_of_a_long_series() {
    let mut values = vec![1.0; 100_000];
    values[77_777] = 9.0;
    let long = explained::series("long", "2026-01-01T00:00:00Z", 60, values);
    let verdict = explained::bare(explain::verdict::Kind::None, "Nothing explains it best.");
    let case = Case::new(vec![(long, verdict)]);
    let page = html(&case.report(), &HtmlOptions::default());
    let data = data_of(&page);
    let high = data["high"].as_array().unwrap();
    assert!(high.len() <= 2_880);
    assert_eq!(
        high.iter()
            .filter(|value| value.as_f64() == Some(9.0))
            .count(),
        1
    );
    assert!(page.len() < 400_000, "{}", page.len());
    // 100,000 samples in 2,880 columns.
    let caption = "mean and range of columns of 34.7 samples on average; a closer look";
    assert!(page.contains(caption));
    assert!(
        !html(&explained::weekly().report(), &HtmlOptions::default())
            .contains("samples on average")
    );
    assert!(plain(&case).contains(" 9 "));
}

#[test]
fn without_a_script_the_picture_is_there() {
    let page = html(&explained::weekly().report(), &HtmlOptions::default());
    for part in [
        "<svg class=\"series\"",
        "<svg class=\"fold\"",
        "class=\"event\"",
        "class=\"change\"",
        "data-row=\"0\"",
        ">Mon</text>",
        "What would change this verdict",
        "<td class=\"name\">nothing</td>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    insta::assert_snapshot!("explain_html_weekly", page);
}

#[test]
fn a_log_of_disks_is_told_as_a_whole() {
    let case = explained::disks();
    insta::assert_snapshot!("explain_text_disks", plain(&case));
    for width in [40, 80] {
        for line in text(&case.report(), &options(width, false, false)).lines() {
            assert!(
                line.contains('`') || columns(line) <= width,
                "{width}: {line:?}"
            );
            assert!(
                !line.chars().any(|c| c.is_control() || c == '\u{202e}'),
                "{line:?}"
            );
        }
    }
    let page = html(&case.report(), &HtmlOptions::default());
    assert_well_formed("disks", &page);
    assert!(!page.contains("<img") && page.contains("x15,625"));
    assert_valid(&validator(), &json(&case.report()));
    // All of them, where that is asked for.
    let options = ExplainTextOptions {
        details_max: usize::MAX,
        ..ExplainTextOptions::default()
    };
    assert_eq!(plain(&case).matches("Cannot tell.").count(), 0);
    assert_eq!(
        text(&case.report(), &options)
            .matches("Cannot tell.")
            .count(),
        3
    );
}
